"""Loading of oneDNN and of the library that calls it, and registration of its handlers with JAX."""
from __future__ import annotations

import contextlib
import ctypes
import importlib
import importlib.metadata
import importlib.util
import math
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jax
import numpy as np

from jtorch._base.config import ONEDNN
from jtorch._base.once import once
from jtorch.speedups import is_stale

PACKAGE, LIBRARY, MODULE = "onednn-cpu-gomp", "libdnnl.so.3", "jtorch.ops._onednn._handlers"
CONVOLUTION, PRODUCT, SHARED_PRODUCT, STATISTICS, GRADIENTS = HANDLERS = (         # names in XLA's programs
    "jtorch_onednn_convolution", "jtorch_onednn_product", "jtorch_onednn_shared_product", "jtorch_batch_statistics",
    "jtorch_batch_norm_gradients")
_POINTER = ctypes.c_void_p


@once
def version() -> str | None:
    """Return oneDNN's version, such as ``"3.2.0"``, or None if it is not installed or cannot be loaded."""
    library = _library()
    if library is None:
        return None
    found = library.jtorch_onednn_found
    return f"{found // 10000}.{found // 100 % 100}.{found % 100}"


def is_quick(numbers: np.ndarray) -> bool:
    """Return whether oneDNN, or ``filters.cc``, has an optimized kernel on this processor for ``Geometry.numbers``."""
    return bool(_library().jtorch_onednn_is_quick(numbers.ctypes.data))


def convolve(numbers: np.ndarray, a: np.ndarray, b: np.ndarray, made: np.ndarray) -> None:
    """Compute ``made`` from the two other arrays of a convolution. All arrays are float32 and contiguous."""
    if not _library().jtorch_onednn_convolve(numbers.ctypes.data, a.ctypes.data, b.ctypes.data, made.ctypes.data):
        raise MemoryError("oneDNN could not compute a convolution")


def batch_statistics(x: np.ndarray, eps: float, correction: float, made: list[np.ndarray]) -> None:
    """Compute mean, variance and scale of channels into ``made``. All arrays are contiguous float32."""
    _library().jtorch_host_batch_statistics(_sizes(x).ctypes.data, eps, correction, x.ctypes.data, *[m.ctypes.data for m in made])


def batch_norm_gradients(arrays: list[np.ndarray], made: list[np.ndarray]) -> None:
    """Compute the gradients of input, weight and bias. ``arrays``: input, mean, scale, weight and the result's gradient."""
    _library().jtorch_host_batch_norm_gradients(_sizes(arrays[0]).ctypes.data, *[a.ctypes.data for a in (*arrays, *made)])


def _sizes(x: np.ndarray) -> np.ndarray:
    return np.array([*x.shape[:2], math.prod(x.shape[2:])], np.int64)


def multiply(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return ``a @ b`` of float32 matrices, or of batches of equally many matrices. oneDNN must be loaded."""
    compute, made = _loaded[0].multiply, np.empty((*a.shape[:-1], b.shape[-1]), np.float32)
    if not compute(a, b, made):
        compute(np.ascontiguousarray(a), np.ascontiguousarray(b), made)
    return made


def fuse(program: bytes, width: int, rows: int, kinds: bytes, *arrays: np.ndarray) -> None:
    """Run a program of fused steps (see ``fused.cc``) for each row of its arrays, the last of which it writes."""
    _loaded[0].fuse(program, width, rows, kinds, *arrays)


def operations() -> tuple[str, ...]:
    """Return the names of the operations that ``fuse`` knows, in the order of their numbers."""
    return _loaded[0].operations()


_threads = [0]
_loaded: list[Any] = []


def use_threads(n: int) -> None:
    """Set the upper limit for the threads of an op. 0 means no limit.

    Without a limit an op uses all of XLA's threads in a program, and OpenMP's number of threads on the host.
    """
    _threads[0] = n
    for library in _loaded:
        library.jtorch_onednn_use_threads(n)


@once
def _library() -> Any:
    """Load oneDNN and the library that calls it. Return that library; None if one is missing, unloadable or turned off."""
    if not ONEDNN:
        return None
    built, installed = _built(), _installed()
    if built is None or installed is None:
        return None
    with contextlib.suppress(OSError, AttributeError, jax.errors.JaxRuntimeError):    # built for another JAX or oneDNN
        library: Any = ctypes.CDLL(str(built))
        for name, count in (("load", 1), ("is_quick", 1), ("convolve", 4)):
            getattr(library, f"jtorch_onednn_{name}").argtypes = [_POINTER] * count
        library.jtorch_host_batch_statistics.argtypes = [_POINTER, ctypes.c_double, ctypes.c_double, *[_POINTER] * 4]
        library.jtorch_host_batch_norm_gradients.argtypes = [_POINTER] * 9
        with _threads_that_sleep():
            found = library.jtorch_onednn_load(os.fsencode(installed))
        if found:
            for name in HANDLERS:
                jax.ffi.register_ffi_target(name, jax.ffi.pycapsule(getattr(library, name)), platform="cpu")
            library.jtorch_onednn_use_threads(_threads[0])
            library.jtorch_onednn_found = found
            module = importlib.import_module(MODULE)
            library.multiply, library.fuse, library.operations = module.multiply, module.fuse, module.operations
            _loaded.append(library)
            return library
    return None


def _built() -> Path | None:
    found = importlib.util.find_spec(MODULE)
    return Path(found.origin) if found is not None and found.origin and not is_stale(found.origin) else None


def _installed() -> Path | None:
    try:
        files = importlib.metadata.files(PACKAGE) or []
    except importlib.metadata.PackageNotFoundError:
        return None
    return next((path for f in files if f.name == LIBRARY and (path := Path(str(f.locate()))).exists()), None)


@contextlib.contextmanager
def _threads_that_sleep() -> Iterator[None]:
    """Make OpenMP's threads sleep between convolutions, so that XLA's threads get the cores.

    OpenMP reads ``OMP_WAIT_POLICY`` when it is loaded.
    """
    if "OMP_WAIT_POLICY" in os.environ:
        yield
        return
    os.environ["OMP_WAIT_POLICY"] = "PASSIVE"
    try:
        yield
    finally:
        os.environ.pop("OMP_WAIT_POLICY", None)
