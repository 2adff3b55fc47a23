"""Compiled programs kept on disk between processes, so that a script that runs again does not compile again.

``JTORCH_CACHE`` names the directory (default: ``jtorch`` in the user's cache directory); empty or ``0`` turns it off.
A file is named by a hash of the program's calls (see ``names``) or its text, and of all that its machine code depends on:
versions of JAX and XLA, device, CPU features, XLA_FLAGS. It is written aside and renamed, so several processes may share the
directory. What is loaded is code, so a directory that others may write to is not used.
"""
from __future__ import annotations

import contextlib
import functools
import hashlib
import io
import os
import pickle
import platform
import stat
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jaxlib
from jax.experimental.serialize_executable import deserialize_and_load, serialize

import jtorch.device as devices
from jtorch._base import caller, warned
from jtorch.engine import background, convolutions, memory, stats, temporaries, threads
from jtorch.engine.threads import ELSEWHERE, Threads
from jtorch.ops import _onednn

MAX_BYTES = 512 * 2**20     # the files used longest ago go first
FORMAT = "2"
# XLA would leave out the rounding of 16-bit floats between operations that it fuses: a program gave other numbers than its calls
# one by one.
EXACT = {"xla_allow_excess_precision": False}
# LLVM's higher levels take a quarter more of the compiling (3.8 for 2.9 s, a U-Net's step) and made no program quicker.
QUICKLY_COMPILED = {"xla_backend_optimization_level": 1}

# On a GPU XLA tries out which of many ways of a product or convolution is the quickest. For a large program that pays: a GPT-2's
# step takes 34 ms on an H100, and 41 by cuBLAS's advice, which is not to use what this GPU has; 2 of 16 s of compiling go to it.
# For a small one (``policy.is_worth_trying``) it does not, and a kernel of one op runs a few times until there is a program:
# `linear` takes 0.04 s to compile instead of 0.85, its gradients 0.1 instead of 1.5, and they are as quick. Convolutions, which
# XLA runs 150 times slower where it is told not to try, get the first way that gives the same bits in each run: 0.2 s instead of
# 0.5 to 0.8.
UNTRIED_PRODUCTS = {"xla_gpu_autotune_level": 0, "xla_gpu_enable_triton_gemm": False}
UNTRIED_CONVOLUTIONS = {"xla_gpu_deterministic_ops": True}


def _default() -> str | None:
    given = os.environ.get("JTORCH_CACHE")
    if given is not None:
        return given if given not in ("", "0") else None
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return os.path.join(base, "jtorch")


_directory: str | None = _default()
_checked: dict[str, bool] = {}      # directories, and whether they may be used


def set_cache_dir(path: str | os.PathLike | None) -> None:
    """Where compiled programs are kept between processes; None: nowhere. The environment's JTORCH_CACHE sets the same.

    Args:
        path (path or None): it is made when the first program is kept.

    Example::

        >>> before = torch.engine.get_cache_dir()
        >>> torch.engine.set_cache_dir(None)
        >>> torch.engine.set_cache_dir(before)

    """
    global _directory
    _directory = None if path is None else os.fspath(path)


def get_cache_dir() -> str | None:
    """The directory in which compiled programs are kept, or None.

    Returns:
        a path, or None where programs are not kept.

    Example::

        >>> isinstance(torch.engine.get_cache_dir(), (str, type(None)))
        True

    """
    return _directory


def kernel(lowered: Any, on: Threads = ELSEWHERE, device: devices.device | None = None) -> Any:
    """One op: ``lowered.compile()`` for these threads, or the same read from disk. ``device``: what for, the CPU if None."""
    return program(lambda: None, lambda: lowered, on, device, tries=False)


def program(name_of: Callable[[], str | None], lower: Callable[[], Any], on: Threads, device: devices.device | None,
            tries: bool = True) -> Any:
    """The same of many calls. ``lower()`` is not asked for if a program of the name (see ``names``) is on disk.

    ``tries``: whether XLA tries out on a GPU which way of a product or convolution is the quickest.
    """
    memory.trim_now_and_then()      # kernels come by the dozen, and take little; for a program memory was trimmed just now
    start = time.perf_counter()
    made = begun(name_of, lower, on, device, tries)()
    if jax.default_backend() == "cpu":
        temporaries.keep_those_of(made)
    memory.trim_behind(time.perf_counter() - start)
    return made


def begun(name_of: Callable[[], str | None], lower: Callable[[], Any], on: Threads, device: devices.device | None,
          tries: bool, *, beside: bool = False) -> Callable[[], Any]:
    """The same in two steps: what is not on disk has been lowered, and the call that is given compiles it, in any thread.

    ``beside``: whether that is the background's.
    """
    places = devices.all_jax_devices(device or devices.interned("cpu"))
    keeps = _directory is not None and _usable(_directory)
    name = name_of() if keeps else None
    path = _path(name, on, places) if name is not None else None
    found = _load(path, on, places) if path is not None else None
    if found is not None:
        stats.counters.read_untraced += 1
        return lambda: found
    lowered = lower()
    return lambda: _compiled(lowered, path, on, places, tries, beside)


def _compiled(lowered: Any, path: Path | None, on: Threads, places: list[jax.Device], tries: bool,
              beside: bool) -> Any:
    keeps, found = _directory is not None and _usable(_directory), None
    text = lowered.as_text()
    options = _options(text, on, places[0].platform, tries)
    if keeps and path is None:
        path = _path(f"{text}{_taken(lowered)}{options}", on, places)
        found = _load(path, on, places)
    if found is None:
        client = threads.compile_by(background.Client, lowered) if beside else None
        found = threads.compiled(lowered, on, options)
        stats.counters.onednn += convolutions.by_onednn(text)
        stats.counters.batch_norms += _onednn.batch_norm.sums_in(text)
        stats.counters.onednn_products += _onednn.products_in(text)
        if path is not None:
            _save(path, found, "@lapack_" in text, client)
    return found


def _options(text: str, on: Threads, platform: str, tries: bool) -> dict[str, Any]:
    """Those of XLA for what has that text."""
    if platform == "cpu":
        return on.options | EXACT | QUICKLY_COMPILED | convolutions.options(text)
    if platform == "gpu" and not tries:
        return UNTRIED_CONVOLUTIONS if convolutions.are_in(text) else UNTRIED_PRODUCTS
    return {}


def _taken(lowered: Any) -> str:
    """Which of its arguments a program takes. JAX leaves out those that are not used, and its text does not say which."""
    kept = getattr(lowered._lowering, "compile_args", {}).get("kept_var_idx")
    return f"{lowered.in_tree}{sorted(kept or ())}"


def _usable(directory: str) -> bool:
    if directory not in _checked:
        try:
            os.makedirs(directory, mode=0o700, exist_ok=True)
            _checked[directory] = _is_private(directory)
        except (OSError, ValueError) as error:      # ValueError: a name that no file can have
            _checked[directory] = False
            _note(error)
    return _checked[directory]


def _is_private(directory: str) -> bool:
    found = os.stat(directory)
    if not hasattr(os, "getuid"):
        return os.access(directory, os.W_OK)
    return found.st_uid == os.getuid() and not found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def _path(name: str, on: Threads, places: list[jax.Device]) -> Path:
    """The file of a program of this name or text, of these threads (a callback is part of what is written) and this machine."""
    assert _directory is not None
    return Path(_directory) / hashlib.sha256(f"{name}|{_machine(tuple(places))}|{on}".encode()).hexdigest()


@functools.cache
def _machine(places: tuple[jax.Device, ...]) -> str:
    """What code compiled for a device depends on beside its source. The device itself is part of what is written."""
    place = places[0]
    return "|".join([FORMAT, jax.__version__, jaxlib.__version__, place.platform, place.device_kind,
                     ",".join([str(p.id) for p in places]),
                     str(jax.device_count()), str(place.client.platform_version),
                     platform.machine(), _cpu(), os.environ.get("XLA_FLAGS", "")])


def _cpu() -> str:
    with contextlib.suppress(OSError), open("/proc/cpuinfo") as f:
        return next((line for line in f if line.startswith(("flags", "Features"))), "")
    return platform.processor()


def _load(path: Path, on: Threads, places: list[jax.Device]) -> Any:
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return None
    except Exception as error:
        _go_on_without(error)
        return None
    try:
        serialized, in_tree, out_tree, calls_lapack = pickle.loads(content)
        if calls_lapack:
            _prepare_lapack()
        found = deserialize_and_load(serialized, in_tree, out_tree, threads.client(places[0].client, on), places)
    except MemoryError:
        return None
    except Exception as error:      # written by another build, or damaged: it is made anew
        if caller.interrupts(error):
            raise
        _remove(path)
        return None
    with contextlib.suppress(OSError):      # the order in which files go is kept where it can be written
        os.utime(path)
    stats.counters.loaded += 1
    return threads.quick(found, on)


_failures: list[str] = []      # what to warn of; only the first is said
_said = [False]


def _go_on_without(error: Exception) -> None:
    """Note a failure of memory or of the file system. Raise what has nothing to do with the cache."""
    if isinstance(error, MemoryError) or (isinstance(error, OSError) and error.errno is not None):
        _note(error)
    elif caller.interrupts(error):
        raise error     # else the program cannot be written down, as one with a callback in it


def _note(error: Exception) -> None:
    _failures[:] = [*_failures, f"{type(error).__name__}: {error}"][:1]
    warn_of_failure()


def warn_of_failure() -> None:
    """Warn once in a process of a cache that cannot be used. While all warnings are ignored, as during tracing, wait."""
    if not _failures or _said[0] or (warnings.filters and warnings.filters[0] == ("ignore", None, Warning, None, 0)):
        return
    _said[0] = True
    warned.warn(f"The cache of compiled programs in {_directory} cannot be used, and programs are compiled without it: "
                f"{_failures[0]}. JTORCH_CACHE names another directory, and JTORCH_CACHE=0 turns the cache off.")


def _remove(path: str | Path) -> None:
    try:
        os.unlink(path)
    except FileNotFoundError:
        pass
    except OSError as error:
        _go_on_without(error)


def _prepare_lapack() -> None:
    """What JAX does when it lowers a call of LAPACK: a program that is read untraced would call what is not there."""
    from jaxlib import lapack  # here, so that a JAX without it compiles anew
    lapack._lapack.initialize()


def _save(path: Path, made: Any, calls_lapack: bool, client: background.Client | None) -> None:
    """Write a program aside and rename it. A callback in it or a full disk leaves the program out.

    ``client``: the one that compiled it in the background.
    """
    temporary = None
    try:
        content = pickle.dumps((*(serialize(made) if client is None else _serialized(made, client.made)), calls_lapack))
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".new-")
        with open(handle, "wb") as f:
            f.write(content)
        os.replace(temporary, path)
    except Exception as error:
        if temporary is not None:
            _remove(temporary)
        _go_on_without(error)
        return
    with contextlib.suppress(OSError):
        _trim(path.parent)


def _serialized(made: Any, code: bytes | None) -> tuple:
    """Return what JAX's ``serialize`` gives, but with this machine code: what was loaded cannot be written whole again."""
    from jax.experimental import serialize_executable as jaxs

    class Pickler(jaxs._JaxPjrtPickler):
        def persistent_id(self, obj: Any) -> Any:
            if isinstance(obj, background.Client):
                return ("client",)
            given = super().persistent_id(obj)
            return ("exec", code) if code is not None and given is not None and given[0] == "exec" else given
    arguments, in_tree = jax.tree_util.tree_flatten(made.args_info)
    with io.BytesIO() as file:
        Pickler(file).dump((made._executable._unloaded_executable, arguments, made._no_kwargs))
        return file.getvalue(), in_tree, made.out_tree


_trimmed = 0.0


def _trim(directory: Path) -> None:
    """Removes the files used longest ago where there are too many; looked at once a minute."""
    global _trimmed
    if time.monotonic() - _trimmed < 60 and _trimmed:
        return
    _trimmed = time.monotonic()
    files = []
    for entry in os.scandir(directory):
        with contextlib.suppress(OSError):
            files.append((entry.stat().st_mtime, entry.stat().st_size, entry.path))
    total = sum(size for _, size, _ in files)
    for _, size, path in sorted(files):
        if total <= MAX_BYTES:
            return
        with contextlib.suppress(OSError):
            os.unlink(path)
            total -= size
