"""Compiled programs kept on disk between processes, so that a script that runs again does not compile again.

``JTORCH_CACHE`` names the directory (default: ``jtorch`` in the user's cache directory). An empty value or ``0`` turns the
cache off.
A file's name is a hash of the program's calls (``cache_key``) or of its text, and of all that its machine code depends on:
versions of JAX and XLA, device, CPU features, XLA_FLAGS. A file is written under another name and renamed, so several
processes may share the directory. The files are code, so a directory that others may write to is not used.
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
from jtorch._base import caller, jax_private, warned
from jtorch.engine import background, convolutions, malloc, stats, threads
from jtorch.engine.threads import ELSEWHERE, Threads
from jtorch.ops import _onednn

# Upper limit in bytes for the directory. The least recently used files beyond it are removed. A larger value takes more disk.
MAX_BYTES = 512 * 2**20
FORMAT = "2"                # Version of the file format. Files of other versions are not found.
# XLA would otherwise leave out the rounding of 16-bit floats between fused operations. Then a program and its calls would round
# differently.
EXACT = {"xla_allow_excess_precision": False}
# LLVM's higher optimization levels take longer to compile and make no program faster.
QUICKLY_COMPILED = {"xla_backend_optimization_level": 1}

# XLA tries out several GPU kernels for each product and convolution (autotuning). That pays for a large program only, see
# ``policy.is_worth_trying``. A kernel of one op runs a few times until its trace has a program, so products are not tuned.
# Untuned convolutions would be very slow, so XLA's deterministic mode takes the first algorithm with reproducible bits.
UNTRIED_PRODUCTS = {"xla_gpu_autotune_level": 0, "xla_gpu_enable_triton_gemm": False}
UNTRIED_CONVOLUTIONS = {"xla_gpu_deterministic_ops": True}


def _default() -> str | None:
    given = os.environ.get("JTORCH_CACHE")
    if given is not None:
        return given if given not in ("", "0") else None
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return os.path.join(base, "jtorch")


_directory: list[str | None] = []       # Empty until the first use, which reads JTORCH_CACHE.
_checked: dict[str, bool] = {}      # Says for each directory whether it may be used.


def set_cache_dir(path: str | os.PathLike | None) -> None:
    """Set the directory that keeps compiled programs between processes. The environment variable JTORCH_CACHE sets the same.

    Args:
        path (path or None): the directory, which is made when the first program is saved. None keeps no programs.

    Example::

        >>> before = torch.engine.get_cache_dir()
        >>> torch.engine.set_cache_dir(None)
        >>> torch.engine.set_cache_dir(before)

    """
    _directory[:] = [None if path is None else os.fspath(path)]


def get_cache_dir() -> str | None:
    """Return the directory that keeps compiled programs, or None.

    Returns:
        a path, or None if programs are not kept.

    Example::

        >>> isinstance(torch.engine.get_cache_dir(), (str, type(None)))
        True

    """
    if not _directory:
        set_cache_dir(_default())
    return _directory[0]


def kernel(lowered: Any, on: Threads = ELSEWHERE, device: devices.device | None = None) -> Any:
    """Compile the lowered module of one op for these threads, or read it from disk. ``device`` is the CPU if None."""
    return program(lambda: None, lambda: lowered, on, device, tries=False)


def program(name_of: Callable[[], str | None], lower: Callable[[], Any], on: Threads, device: devices.device | None,
            tries: bool = True) -> Any:
    """Compile a program, or read it from disk.

    ``name_of()`` returns the program's name (see ``cache_key``), or None. ``lower()`` returns the lowered module. It is not
    called if a program of this name is on disk. ``tries`` says whether XLA tries out GPU kernels for products and convolutions.
    """
    malloc.trim_now_and_then()      # Kernels are many and small, so memory is not trimmed before each.
    start = time.perf_counter()
    made = begun(name_of, lower, on, device, tries)()
    if jax.default_backend() == "cpu":
        malloc.keep_those_of(made)
    malloc.trim_behind(time.perf_counter() - start)
    return made


def begun(name_of: Callable[[], str | None], lower: Callable[[], Any], on: Threads, device: devices.device | None,
          tries: bool, *, beside: bool = False) -> Callable[[], Any]:
    """Return a function that returns the compiled program. Any thread may call it.

    A program on disk is loaded now. Another program is lowered now, and the function compiles it. ``beside`` says whether the
    background thread calls the function.
    """
    places = devices.all_jax_devices(device or devices.interned("cpu"))
    directory = get_cache_dir()
    keeps = directory is not None and _usable(directory) and (device is None or not devices.spans_processes(device))
    name = name_of() if keeps else None
    path = _path(name, on, places) if name is not None else None
    found = _load(path, on, places) if path is not None else None
    if found is not None:
        stats.counters.read_untraced += 1
        return lambda: found
    lowered = lower()
    return lambda: _compiled(lowered, path, on, places, tries, beside, keeps)


def _compiled(lowered: Any, path: Path | None, on: Threads, places: list[jax.Device], tries: bool,
              beside: bool, keeps: bool) -> Any:
    found = None
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
    """Return XLA's options for a program with this text."""
    if platform == "cpu":
        level_is_given = any(name in os.environ.get("XLA_FLAGS", "") for name in QUICKLY_COMPILED)
        return on.options | EXACT | ({} if level_is_given else QUICKLY_COMPILED) | convolutions.options(text)
    if platform == "gpu" and not tries:
        return UNTRIED_CONVOLUTIONS if convolutions.are_in(text) else UNTRIED_PRODUCTS
    return {}


def _taken(lowered: Any) -> str:
    """Return a text of the arguments that a program takes. JAX leaves out unused ones, and the module does not say so. It checks
    their shapes nevertheless.
    """
    kept = getattr(lowered._lowering, "compile_args", {}).get("kept_var_idx")
    return f"{lowered.in_avals}{sorted(kept or ())}"


def _usable(directory: str) -> bool:
    if directory not in _checked:
        try:
            os.makedirs(directory, mode=0o700, exist_ok=True)
            _checked[directory] = _is_private(directory)
        except (OSError, ValueError) as error:      # ValueError means a name that no file can have.
            _checked[directory] = False
            _note(error)
    return _checked[directory]


def _is_private(directory: str) -> bool:
    found = os.stat(directory)
    if not hasattr(os, "getuid"):
        return os.access(directory, os.W_OK)
    return found.st_uid == os.getuid() and not found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def _path(name: str, on: Threads, places: list[jax.Device]) -> Path:
    """Return the file of a program with this name or text, for these threads and this machine.

    The threads are part of the name, because the file of an inline program has a callback (see ``threads``).
    """
    directory = get_cache_dir()
    assert directory is not None
    return Path(directory) / hashlib.sha256(f"{name}|{_machine(tuple(places))}|{on}".encode()).hexdigest()


@functools.cache
def _machine(places: tuple[jax.Device, ...]) -> str:
    """Return a text of all that machine code depends on besides its source. A file also fixes the devices that run it."""
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
            jax_private.initialize_lapack()     # Lowering does the same, but another process has lowered the program.
        found = deserialize_and_load(serialized, in_tree, out_tree, threads.client(places[0].client, on), places)
    except MemoryError:
        return None
    except Exception as error:      # The file comes from another build or is damaged, so the program is compiled again.
        if caller.interrupts(error):
            raise
        _remove(path)
        return None
    with contextlib.suppress(OSError):      # The time of the file says when it was used last.
        os.utime(path)
    stats.counters.loaded += 1
    return threads.quick(found, on)


_failures: list[str] = []      # Texts for the warning; only the first failure is kept.
_said = [False]


def _go_on_without(error: Exception) -> None:
    """Remember a failure of memory or of the file system. Raise an interrupt, and ignore other errors."""
    if isinstance(error, MemoryError) or (isinstance(error, OSError) and error.errno is not None):
        _note(error)
    elif caller.interrupts(error):
        raise error     # Other errors mean that the program cannot be written, for example because of a callback.


def _note(error: Exception) -> None:
    _failures[:] = [*_failures, f"{type(error).__name__}: {error}"][:1]
    warn_of_failure()


def warn_of_failure() -> None:
    """Warn once in a process that the cache cannot be used. Wait while all warnings are ignored, as during tracing."""
    if not _failures or _said[0] or (warnings.filters and warnings.filters[0] == ("ignore", None, Warning, None, 0)):
        return
    _said[0] = True
    warned.warn(f"The cache of compiled programs in {get_cache_dir()} cannot be used, and programs are compiled without it: "
                f"{_failures[0]}. JTORCH_CACHE names another directory, and JTORCH_CACHE=0 turns the cache off.")


def _remove(path: str | Path) -> None:
    try:
        os.unlink(path)
    except FileNotFoundError:
        pass
    except OSError as error:
        _go_on_without(error)


def _save(path: Path, made: Any, calls_lapack: bool, client: background.Client | None) -> None:
    """Write a program under another name and rename it. A program with a callback is not saved, nor one on a full disk.

    ``client`` is the client that compiled the program in the background, if any.
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
    """Return the result of JAX's ``serialize`` with this machine code. A loaded executable cannot be serialized again."""
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
    """Remove the least recently used files if the directory is too large. Look at most once a minute."""
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
