"""torch.cuda.memory: statistics of JAX's allocator."""
from __future__ import annotations

import os
from typing import Any

from jtorch._base import warned
from jtorch._base.refused import refused
from jtorch.cuda import empty_cache as empty_cache
from jtorch.cuda import host_memory_stats as host_memory_stats
from jtorch.cuda import init as init
from jtorch.cuda import max_memory_allocated as max_memory_allocated
from jtorch.cuda import max_memory_reserved as max_memory_reserved
from jtorch.cuda import mem_get_info as mem_get_info
from jtorch.cuda import memory_allocated as memory_allocated
from jtorch.cuda import memory_reserved as memory_reserved
from jtorch.cuda import memory_stats as memory_stats
from jtorch.cuda import memory_summary as memory_summary
from jtorch.cuda import reset_peak_memory_stats as reset_peak_memory_stats
from jtorch.cuda import set_per_process_memory_fraction as set_per_process_memory_fraction

_INSTEAD = "is not built: JAX has one allocator, which XLA_PYTHON_CLIENT_ALLOCATOR chooses."


_PROFILE = "jax.profiler.save_device_memory_profile(path) writes what the memory of devices holds"
memory_snapshot = refused("cuda.memory_snapshot", _PROFILE)
_snapshot = refused("cuda.memory._snapshot", _PROFILE)
_dump_snapshot = refused("cuda.memory._dump_snapshot", _PROFILE)
_record_memory_history = refused("cuda.memory._record_memory_history", _PROFILE)
caching_allocator_alloc = refused("cuda.caching_allocator_alloc", "torch.empty of bytes has memory")
caching_allocator_delete = refused("cuda.caching_allocator_delete", "memory is free once nothing refers to its tensor")
change_current_allocator = refused("cuda.memory.change_current_allocator", "XLA_PYTHON_CLIENT_ALLOCATOR chooses JAX's allocator")


def get_per_process_memory_fraction(device: Any = None) -> float:
    """Return the fraction of the GPU's memory that JAX can use. See torch.cuda.get_per_process_memory_fraction."""
    init()
    return float(os.environ.get("XLA_PYTHON_CLIENT_MEM_FRACTION", "0.75"))      # JAX's default


def memory_cached(device: Any = None) -> int:
    """Return ``memory_reserved`` under its deprecated name. See torch.cuda.memory_cached."""
    warned.warn("`torch.cuda.memory_cached` has been renamed to `torch.cuda.memory_reserved`", FutureWarning)
    return memory_reserved(device)


def max_memory_cached(device: Any = None) -> int:
    """Return ``max_memory_reserved`` under its deprecated name. See torch.cuda.max_memory_cached."""
    warned.warn("`torch.cuda.max_memory_cached` has been renamed to `torch.cuda.max_memory_reserved`", FutureWarning)
    return max_memory_reserved(device)


def reset_max_memory_cached(device: Any = None) -> None:
    """Call ``reset_peak_memory_stats`` under its deprecated name. See torch.cuda.reset_max_memory_cached."""
    warned.warn("torch.cuda.reset_max_memory_cached now calls torch.cuda.reset_peak_memory_stats, which resets /all/ peak "
                "memory stats.", FutureWarning)
    reset_peak_memory_stats(device)


def reset_accumulated_memory_stats(device: Any = None) -> None:
    """Do nothing: only peaks are kept. See torch.cuda.reset_accumulated_memory_stats."""


class MemPool:
    """A memory pool with its own allocator. Not built. See torch.cuda.MemPool."""

    def __init__(self, *args: Any, **kwargs: Any):
        raise NotImplementedError(f"torch.cuda.{type(self).__name__} {_INSTEAD}")


class CUDAPluggableAllocator(MemPool):
    """A user-defined allocator. Not built. See torch.cuda.CUDAPluggableAllocator."""


class use_mem_pool(MemPool):  # noqa: N801
    """A context that allocates in a pool. Not built. See torch.cuda.use_mem_pool."""
