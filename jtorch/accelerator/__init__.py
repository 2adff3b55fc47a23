"""torch.accelerator: the accelerator that JAX finds, for code that runs on any accelerator."""
from __future__ import annotations

import importlib
from typing import Any

from jtorch import cuda, engine
from jtorch.device import accelerator_type, as_device, interned, jax_devices, set_current_cuda_index
from jtorch.device import device as _device

__all__ = ["current_accelerator", "current_device_idx", "current_device_index", "current_stream", "device_count",
           "device_index", "empty_cache", "empty_host_cache", "get_device_capability", "get_memory_info", "is_available",
           "max_memory_allocated", "max_memory_reserved", "memory_allocated", "memory_reserved", "memory_stats",
           "reset_accumulated_memory_stats", "reset_peak_memory_stats", "set_device_idx", "set_device_index", "set_stream",
           "synchronize"]

NONE = "Cannot access accelerator device when none is available."


def current_accelerator(check_available: bool = False) -> _device | None:
    """Return the accelerator, without an index; None if there is only a CPU.

    See torch.accelerator.current_accelerator.
    """
    found = accelerator_type()
    return None if found is None else interned(found)


def is_available() -> bool:
    """Return whether there is an accelerator. See torch.accelerator.is_available."""
    return accelerator_type() is not None


def device_count() -> int:
    """Return the number of accelerators. See torch.accelerator.device_count."""
    found = accelerator_type()
    return 0 if found is None else cuda.device_count() if found == "cuda" else len(jax_devices(found))


def _required() -> str:
    found = accelerator_type()
    if found is None:
        raise RuntimeError(NONE)
    return found


def _required_cuda(name: str) -> None:
    if _required() != "cuda":
        raise NotImplementedError(f"torch.accelerator.{name} is only built for JAX's GPUs")


def current_device_index() -> int:
    """Return the index of the current accelerator. See torch.accelerator.current_device_index."""
    return cuda.current_device() if _required() == "cuda" else 0


def set_device_index(device: Any, /) -> None:
    """Set the current accelerator. See torch.accelerator.set_device_index."""
    index = device if isinstance(device, int) else (as_device(device).index or 0)
    if _required() == "cuda":
        set_current_cuda_index(index)


current_device_idx, set_device_idx = current_device_index, set_device_index


def synchronize(device: Any = None, /) -> None:
    """Wait until the accelerator has finished its work. See torch.accelerator.synchronize."""
    if _required() == "cuda":
        cuda.synchronize(device)
    else:
        engine.synchronize()


def current_stream(device: Any = None, /) -> Any:
    """Return the current stream. See torch.cuda.current_stream."""
    _required_cuda("current_stream")
    return cuda.current_stream(device)


def set_stream(stream: Any) -> None:
    """Set the current stream. See torch.cuda.set_stream."""
    _required_cuda("set_stream")
    cuda.set_stream(stream)


class device_index:  # noqa: N801
    """Sets the current accelerator within a ``with`` block; None has no effect.

    See torch.accelerator.device_index.
    """

    def __init__(self, device: int | None, /):
        self.idx, self.prev_idx = device, -1

    def __enter__(self) -> None:
        if self.idx is not None:
            self.prev_idx = current_device_index()
            set_device_index(self.idx)

    def __exit__(self, *exc_info: object) -> None:
        if self.idx is not None:
            set_device_index(self.prev_idx)


def get_device_capability(device: Any = None, /) -> dict:
    """Return the dtypes that the accelerator supports. See torch.accelerator.get_device_capability."""
    from jtorch.dtype import ALL
    _required()
    return {"supported_dtypes": set(ALL.values())}


def _memory(name: str, *args: Any) -> Any:
    _required_cuda(name)
    return getattr(cuda, name)(*args)


def memory_allocated(device_index: Any = None, /) -> int:
    """Return the bytes in use, or 0 without an accelerator. See torch.cuda.memory_allocated."""
    return _memory("memory_allocated", device_index) if is_available() else 0


def max_memory_allocated(device_index: Any = None, /) -> int:
    """Return the peak of bytes in use, or 0 without an accelerator. See torch.cuda.max_memory_allocated."""
    return _memory("max_memory_allocated", device_index) if is_available() else 0


def memory_reserved(device_index: Any = None, /) -> int:
    """Return the reserved bytes, or 0 without an accelerator. See torch.cuda.memory_reserved."""
    return _memory("memory_reserved", device_index) if is_available() else 0


def max_memory_reserved(device_index: Any = None, /) -> int:
    """Return the peak of reserved bytes, or 0 without an accelerator. See torch.cuda.max_memory_reserved."""
    return _memory("max_memory_reserved", device_index) if is_available() else 0


def memory_stats(device_index: Any = None, /) -> Any:
    """Return memory statistics, empty without an accelerator. See torch.cuda.memory_stats."""
    return _memory("memory_stats", device_index) if is_available() else {}


def get_memory_info(device_index: Any = None, /) -> tuple[int, int]:
    """Return (free, total) bytes. See torch.accelerator.get_memory_info."""
    return _memory("mem_get_info", device_index)


def reset_peak_memory_stats(device_index: Any = None, /) -> None:
    """Reset the peak statistics, if there is an accelerator. See torch.cuda.reset_peak_memory_stats."""
    if is_available():
        _memory("reset_peak_memory_stats", device_index)


def reset_accumulated_memory_stats(device_index: Any = None, /) -> None:
    """Do nothing: only peaks are kept. See torch.accelerator.reset_accumulated_memory_stats."""


def empty_cache() -> None:
    """Call ``torch.cuda.empty_cache``, if there is an accelerator."""
    if is_available():
        _memory("empty_cache")


def empty_host_cache() -> None:
    """Do nothing: JAX caches no pinned memory. See torch.accelerator.empty_host_cache."""


def __getattr__(name: str) -> Any:
    if name == "memory":
        return importlib.import_module("jtorch.accelerator.memory")
    raise AttributeError(f"module 'torch.accelerator' has no attribute {name!r}")
