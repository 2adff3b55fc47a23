"""torch.cuda.memory: what allocators hold."""
from __future__ import annotations

from typing import Any

from jtorch.cuda import empty_cache as empty_cache
from jtorch.cuda import host_memory_stats as host_memory_stats
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


class MemPool:
    """A part of memory with an allocator of its own: not built. See torch.cuda.MemPool."""

    def __init__(self, *args: Any, **kwargs: Any):
        raise NotImplementedError(f"torch.cuda.{type(self).__name__} {_INSTEAD}")


class CUDAPluggableAllocator(MemPool):
    """An allocator of one's own: not built. See torch.cuda.CUDAPluggableAllocator."""


class use_mem_pool(MemPool):  # noqa: N801
    """A block that allocates in a pool: not built. See torch.cuda.use_mem_pool."""
