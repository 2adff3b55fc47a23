"""The machine's GPUs, counted without starting JAX: a rank of a job has to join the job before JAX starts."""
from __future__ import annotations

import ctypes
import importlib.util
import os
import pkgutil

import jax

import jtorch.device as devices
from jtorch._base import config, jax_private


def counted() -> int | None:
    """Return the number of GPUs that this process may use, as their driver reports it.

    If CPUs stand in for GPUs (``JTORCH_CUDA=cpu``), return the job's number of processes on this machine. The result is None
    once JAX has started, or if only JAX can tell.
    """
    if jax_private.backends_are_initialized() is not False:
        return None
    if config.CUDA == "cpu":
        return int(os.environ["LOCAL_WORLD_SIZE"]) if "LOCAL_WORLD_SIZE" in os.environ else None
    return _visible(_of_driver()) or None if _may_be_used() else None


def _may_be_used() -> bool:
    """Return whether JAX has a plugin for NVIDIA's GPUs and uses it."""
    platforms = jax.config.jax_platforms        # type: ignore[attr-defined]
    if platforms and not {"cuda", "gpu"} & set(platforms.split(",")):
        return False
    plugins = importlib.util.find_spec("jax_plugins")
    return plugins is not None and any(m.name.startswith("xla_cuda")
                                       for m in pkgutil.iter_modules(plugins.submodule_search_locations))


def _of_driver() -> int:
    """Return the number of the machine's GPUs; 0 without NVIDIA's driver. The management library starts no GPU."""
    try:
        library = ctypes.CDLL("libnvidia-ml.so.1")
    except OSError:
        return 0
    count = ctypes.c_uint()
    failed = library.nvmlInit_v2() or library.nvmlDeviceGetCount_v2(ctypes.byref(count))
    return 0 if failed else count.value


def _visible(count: int) -> int:
    """Return how many of the machine's GPUs CUDA_VISIBLE_DEVICES leaves, as CUDA reads it: up to the first invalid name."""
    named = os.environ.get("CUDA_VISIBLE_DEVICES")
    if named is None:
        return count
    left = 0
    for name in named.split(","):
        name = name.strip()
        if not name or name.startswith("-") or (name.isdigit() and int(name) >= count):
            break
        left += 1
    return min(left, count)


devices.count_gpus.append(counted)
if config.CUDA == "cpu":
    devices.let_cpus_stand_in()
