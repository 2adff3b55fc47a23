"""torch.cuda: the GPUs that JAX finds.

JAX runs the work of a device in one queue. So streams have no effect, and an event with timing takes the host's time once the
queue is empty. JAX's allocator keeps fewer statistics than PyTorch's; missing ones are left out.
"""
from __future__ import annotations

import ctypes
import importlib
import itertools
import threading
import time
from collections import OrderedDict
from dataclasses import dataclass
from typing import Any, NoReturn

import jax
import numpy as np

import jtorch._base.streams as _any_device
import jtorch.device as devices
from jtorch import engine
from jtorch._api.typed_tensors import CUDA as _CLASSES
from jtorch._base import late_bindings
from jtorch._base.error_notes import with_note

_ABSENT = "Torch not compiled with CUDA enabled"
OutOfMemoryError = devices.OutOfMemoryError

# -- available GPUs ---------------------------------------------------------------------------------------------------


def is_available() -> bool:
    """Return whether JAX has a GPU. See torch.cuda.is_available."""
    return device_count() > 0


def device_count() -> int:
    """Return the number of this process's GPUs. See torch.cuda.device_count."""
    return devices.cuda_count()


def init() -> None:
    """Start the GPU backend; raise AssertionError if there is none. See torch.cuda.init."""
    if not is_available():
        raise with_note(AssertionError(_ABSENT), devices.NO_GPU)


def is_initialized() -> bool:
    """Return whether JAX has found and started a GPU. See torch.cuda.is_initialized."""
    return bool(devices._JAX_DEVICES.get("cuda"))


def _index(what, optional: bool = False) -> int:
    """Return the index of a GPU, given as ``cuda:1``, a device or a number; if ``optional``, also as None or
    ``cuda``.
    """
    if isinstance(what, int):
        return what
    if isinstance(what, device):
        return what.idx
    if isinstance(what, str):
        what = devices.device(what)
    if isinstance(what, devices.device) and what.type != "cuda":
        raise ValueError(f"Expected a cuda device, but got: {what}")
    found = what.index if isinstance(what, devices.device) else None
    if found is None and not optional:
        raise ValueError(f"Expected a torch.device with a specified index or an integer, but got:{what}")
    return devices.current_cuda_index() if found is None else found


def _existing(what=None) -> int:
    """Return the index of a GPU that exists; raise PyTorch's error otherwise."""
    index = _index(what, optional=True)
    init()
    if not 0 <= index < device_count():
        raise devices.invalid_ordinal("cuda")
    return index


def _jax_device(what=None):
    return devices.jax_devices("cuda")[_existing(what)]


def current_device() -> int:
    """Return the index of the current GPU. See torch.cuda.current_device."""
    init()
    return devices.current_cuda_index()


def set_device(device) -> None:
    """Set this thread's current GPU. See torch.cuda.set_device."""
    index = _index(device)
    if index >= 0:
        devices.set_current_cuda_index(_existing(index))


class device:  # noqa: N801
    """``with torch.cuda.device(1):`` makes this GPU the current one; None and negative numbers have no effect."""

    def __init__(self, device: Any):
        self.idx = -1 if device is None else _index(device, optional=True)

    def __enter__(self):
        if self.idx >= 0:
            if not is_available():
                raise RuntimeError("PyTorch was compiled without CUDA support")
            self.prev_idx = current_device()
            set_device(self.idx)

    def __exit__(self, *exc_info):
        if self.idx >= 0:
            devices.set_current_cuda_index(self.prev_idx)
        return False


class device_of(device):  # noqa: N801
    """``with torch.cuda.device_of(t):`` makes the GPU of ``t`` the current one, if ``t`` is on a GPU."""

    def __init__(self, obj):
        super().__init__(obj.get_device() if obj.is_cuda else -1)


# -- properties of GPUs -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _CudaDeviceProperties:
    name: str
    major: int
    minor: int
    total_memory: int
    multi_processor_count: int
    warp_size: int = 32
    is_integrated: int = 0
    is_multi_gpu_board: int = 0

    def __repr__(self):
        return (f"_CudaDeviceProperties(name='{self.name}', major={self.major}, minor={self.minor}, "
                f"total_memory={self.total_memory // 2**20}MB, multi_processor_count={self.multi_processor_count})")


def _driver_memory(index: int) -> int | None:
    """Return the GPU's total memory, as its driver reports it. JAX only knows its allocator's limit."""
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return None
    handle, total = ctypes.c_int(), ctypes.c_size_t()
    failed = (driver.cuInit(0) or driver.cuDeviceGet(ctypes.byref(handle), ctypes.c_int(index))
              or driver.cuDeviceTotalMem_v2(ctypes.byref(total), handle))
    return None if failed else total.value


def get_device_properties(device=None) -> _CudaDeviceProperties:
    """Return a GPU's name, capability, memory and processor count. See torch.cuda.get_device_properties."""
    init()
    index = _index(device, optional=True)
    if not 0 <= index < device_count():
        raise AssertionError("Invalid device id")
    found = devices.jax_devices("cuda")[index]
    major, _, minor = str(getattr(found, "compute_capability", "0.0")).partition(".")
    memory = _driver_memory(getattr(found, "local_hardware_id", index) or 0) or _stats(index).get("bytes_limit", 0)
    return _CudaDeviceProperties(
        name=found.device_kind, major=int(major) if major.isdigit() else 0, minor=int(minor) if minor.isdigit() else 0,
        total_memory=memory, multi_processor_count=getattr(found, "core_count", 0))


def get_device_name(device=None) -> str:
    """Return the name of a GPU. See torch.cuda.get_device_name."""
    return get_device_properties(device).name


def get_device_capability(device=None) -> tuple[int, int]:
    """Return the compute capability of a GPU, such as (9, 0). See torch.cuda.get_device_capability."""
    properties = get_device_properties(device)
    return properties.major, properties.minor


def can_device_access_peer(device, peer_device) -> bool:
    """Return whether two devices are different GPUs, since JAX moves values between any two."""
    return _existing(device) != _existing(peer_device)


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """Return whether a GPU supports bfloat16: natively from capability 8.0, by emulation on all."""
    return is_available() and (including_emulation or get_device_capability() >= (8, 0))


def is_tf32_supported() -> bool:
    """Return whether the current GPU has TF32. See torch.cuda.is_tf32_supported."""
    return is_available() and get_device_capability() >= (8, 0)


def get_arch_list() -> list[str]:
    """Return an empty list: XLA compiles for the installed GPU. See torch.cuda.get_arch_list."""
    return []


def get_gencode_flags() -> str:
    """Return an empty string, like get_arch_list. See torch.cuda.get_gencode_flags."""
    return ""


# -- waiting ----------------------------------------------------------------------------------------------------------

def _wait_for(jax_device) -> None:
    # A device runs computations in order: when a new computation is done, all earlier ones are.
    jax.block_until_ready(jax.device_put(np.float32(0), jax_device) + np.float32(1))


def synchronize(device=None) -> None:
    """Wait until a GPU has finished all its work. See torch.cuda.synchronize."""
    found = _jax_device(device)
    engine.synchronize()        # This starts deferred calls.
    _wait_for(found)


def cudart() -> NoReturn:
    """Raise NotImplementedError (AssertionError without a GPU): only JAX calls CUDA's runtime.

    See torch.cuda.cudart.
    """
    init()
    raise NotImplementedError("torch.cuda.cudart is not built: JAX calls CUDA's run time, and no other code can here.")


def ipc_collect() -> None:
    """Do nothing: processes do not share GPU memory. See torch.cuda.ipc_collect."""
    init()


# -- streams and events -----------------------------------------------------------------------------------------------

_stream_ids = itertools.count(1)


class Stream(_any_device.Stream):
    """A named stream. All streams of a GPU are one queue, in the order of the calls. See torch.cuda.Stream."""

    cuda_stream = 0
    device_type = 1

    def __init__(self, device=None, priority: int = 0, *, stream_id: int | None = None, **kwargs):
        if not is_available():
            raise RuntimeError("torch.cuda.Stream requires CUDA support")
        self.device_index, self.priority = _existing(device), priority
        self.device = devices.interned("cuda", self.device_index)
        self.stream_id = next(_stream_ids) if stream_id is None else stream_id

    def query(self) -> bool:
        """Wait for all work, and return True."""
        self.synchronize()
        return True

    def synchronize(self) -> None:
        """Wait for all work on this GPU."""
        synchronize(self.device_index)

    def __repr__(self):
        return f"<torch.cuda.Stream device={self.device} cuda_stream={self.cuda_stream:#x}>"


class _Streams(threading.local):
    def __init__(self):
        self.current: dict[int, Stream] = {}


_streams = _Streams()


def default_stream(device=None) -> Stream:
    """Return the default stream. See torch.cuda.default_stream."""
    return Stream(_existing(device), stream_id=0)


def current_stream(device=None) -> Stream:
    """Return a GPU's current stream. See torch.cuda.current_stream."""
    index = _existing(device)
    return _streams.current.get(index) or default_stream(index)


def set_stream(stream: Stream | None) -> None:
    """Set the current stream, and make its GPU the current one. See torch.cuda.set_stream."""
    if stream is not None:
        set_device(stream.device_index)
        _streams.current[stream.device_index] = stream


class StreamContext:
    """``with torch.cuda.stream(s):`` sets the current stream for a block; None has no effect."""

    def __init__(self, stream: Stream | None):
        self.stream = stream

    def __enter__(self):
        if self.stream is not None:
            self.before = current_stream(), current_stream(self.stream.device)
            set_stream(self.stream)

    def __exit__(self, *exc_info):
        if self.stream is not None:
            here, there = self.before
            set_stream(there)
            set_stream(here)


def stream(stream: Stream | None) -> StreamContext:
    """Return a context that sets the current stream. See torch.cuda.stream."""
    return StreamContext(stream)


class Event(_any_device.Event):
    """A marker in a stream. Recording an event with timing waits for the GPU's earlier work. See torch.cuda.Event."""

    def __init__(self, enable_timing: bool = False, blocking: bool = False, interprocess: bool = False,
                 external: bool = False):
        if not is_available():
            raise RuntimeError("Tried to instantiate dummy base class Event")
        self.enable_timing = enable_timing
        self._index: int | None = None
        self._time: float | None = None

    def record(self, stream: Stream | None = None) -> None:
        """Record the event after a stream's work so far."""
        self._index = (stream or current_stream()).device_index
        if self.enable_timing:
            synchronize(self._index)
        self._time = time.perf_counter()

    @classmethod
    def from_ipc_handle(cls, device: Any, handle: bytes) -> NoReturn:
        """Raise NotImplementedError: processes do not share events."""
        raise NotImplementedError("torch.cuda.Event.from_ipc_handle is not built: events are of one process")

    def ipc_handle(self) -> NoReturn:
        """Raise NotImplementedError: processes do not share events."""
        raise NotImplementedError("torch.cuda.Event.ipc_handle is not built: events are of one process")

    def query(self) -> bool:
        """Wait for the event, and return True."""
        self.synchronize()
        return True

    def synchronize(self) -> None:
        """Wait until the GPU has reached the event."""
        if self._index is not None and not self.enable_timing:
            synchronize(self._index)

    def elapsed_time(self, end_event: Event) -> float:
        """Return the milliseconds from this event to ``end_event``."""
        if not (self.enable_timing and end_event.enable_timing):
            raise ValueError("Both events must be created with argument 'enable_timing=True'.")
        if self._time is None or end_event._time is None:
            raise ValueError("Both events must be recorded before calculating elapsed time.")
        return (end_event._time - self._time) * 1e3

    def __repr__(self):
        return "<torch.cuda.Event uninitialized>" if self._time is None else f"<torch.cuda.Event {id(self):#x}>"


class _EventOfDevice(Event):
    """The class of ``torch.Event("cuda")``, whose first argument is the device."""

    def __init__(self, device: Any = None, **kwargs: Any):
        super().__init__(**kwargs)


_any_device.STREAMS["cuda"], _any_device.EVENTS["cuda"] = Stream, _EventOfDevice


# -- memory -----------------------------------------------------------------------------------------------------------

# Maps a GPU to (the allocator's peak at the reset, the largest value seen since).
_peaks_at_reset: dict[int, tuple[int, int]] = {}


def _stats(device=None) -> dict[str, int]:
    """Return the statistics of JAX's allocator; an empty dict without a GPU, as in PyTorch."""
    if not is_available():
        return {}
    return _jax_device(device).memory_stats() or {}


def _peak(device=None) -> int:
    """Return the peak of memory in use, since the last reset if there was one.

    JAX cannot reset its peak. A peak above the one at the reset is exact. Below it, the result is the largest value
    that a query saw.
    """
    stats, index = _stats(device), _index(device, optional=True)
    peak, in_use = stats.get("peak_bytes_in_use", 0), stats.get("bytes_in_use", 0)
    if index not in _peaks_at_reset:
        return peak
    at_reset, seen = _peaks_at_reset[index]
    seen = peak if peak > at_reset else max(seen, in_use)
    _peaks_at_reset[index] = at_reset, seen
    return seen


def memory_allocated(device=None) -> int:
    """Return the bytes in use by arrays. See torch.cuda.memory_allocated."""
    return _stats(device).get("bytes_in_use", 0)


def max_memory_allocated(device=None) -> int:
    """Return the peak of bytes in use. See torch.cuda.max_memory_allocated."""
    return _peak(device)


def memory_reserved(device=None) -> int:
    """Return the bytes that JAX's allocator has reserved. See torch.cuda.memory_reserved."""
    stats = _stats(device)
    return stats.get("pool_bytes", stats.get("bytes_in_use", 0))


def max_memory_reserved(device=None) -> int:
    """Return the peak of bytes that JAX's allocator has reserved. See torch.cuda.max_memory_reserved."""
    stats = _stats(device)
    return stats.get("peak_pool_bytes", stats.get("peak_bytes_in_use", 0))


def reset_peak_memory_stats(device=None) -> None:
    """Reset the peak of max_memory_allocated. See torch.cuda.reset_peak_memory_stats."""
    index = _existing(device)
    stats = _stats(index)
    _peaks_at_reset[index] = stats.get("peak_bytes_in_use", 0), stats.get("bytes_in_use", 0)


reset_max_memory_allocated = reset_peak_memory_stats


def memory_stats(device=None) -> OrderedDict[str, int]:
    """Return the statistics that JAX's allocator keeps, by PyTorch's names. See torch.cuda.memory_stats."""
    stats = _stats(device)
    if not stats:
        return OrderedDict()
    return OrderedDict(sorted({
        "allocated_bytes.all.current": memory_allocated(device),
        "allocated_bytes.all.peak": max_memory_allocated(device),
        "reserved_bytes.all.current": memory_reserved(device), "reserved_bytes.all.peak": max_memory_reserved(device),
        "allocation.all.allocated": stats.get("num_allocs", 0)}.items()))


def memory_summary(device=None, abbreviated: bool = False) -> str:
    """Return a table of memory_stats. See torch.cuda.memory_summary."""
    index = _existing(device)
    stats = memory_stats(index)
    rows = [("Allocated memory", "allocated_bytes"), ("GPU reserved memory", "reserved_bytes")]
    lines = ["=" * 55, f" PyTorch CUDA memory summary, device ID {index}", "=" * 55,
             f" {'Metric':<21} | {'Cur Usage':>12} | {'Peak Usage':>12}", "-" * 55]
    for title, key in rows:
        current, peak = (f"{stats.get(f'{key}.all.{when}', 0) // 2**20} MiB" for when in ("current", "peak"))
        lines.append(f" {title:<21} | {current:>12} | {peak:>12}")
    return "".join(f"|{line:<55}|\n" for line in [*lines, "=" * 55])


def mem_get_info(device=None) -> tuple[int, int]:
    """Return (free, total) bytes of the GPU memory that JAX can use. See torch.cuda.mem_get_info."""
    stats = _stats(_existing(device))
    limit = stats.get("bytes_limit", 0)
    return limit - stats.get("bytes_in_use", 0), limit


def host_memory_stats() -> OrderedDict[str, int]:
    """Return an empty dict: JAX keeps no such statistics. See torch.cuda.host_memory_stats."""
    return OrderedDict()


def empty_cache() -> None:
    """Do nothing: JAX's allocator keeps its memory for later arrays. See torch.cuda.empty_cache."""


def set_per_process_memory_fraction(fraction: float, device=None) -> None:
    """Raise RuntimeError: JAX reads XLA_PYTHON_CLIENT_MEM_FRACTION only when it starts."""
    init()
    raise RuntimeError("JAX sets its share of the GPU's memory when it starts. Instead of\n"
                       f"    torch.cuda.set_per_process_memory_fraction({fraction})\n"
                       f"start Python with\n    XLA_PYTHON_CLIENT_MEM_FRACTION={fraction}")


# -- seeds ------------------------------------------------------------------------------------------------------------

_generators: dict[int, Any] = {}


def _generator(what=None):
    index = _existing(what)
    if index not in _generators:
        _generators[index] = late_bindings.generator_of(devices.interned("cuda", index))
    return _generators[index]


_LATER = {**dict.fromkeys(("CUDAGraph", "graph", "graph_pool_handle", "is_current_stream_capturing", "make_graphed_callables"),
                         "graphs"),
          **dict.fromkeys(("CUDAPluggableAllocator", "MemPool", "use_mem_pool", "memory_cached", "max_memory_cached",
                           "get_per_process_memory_fraction", "reset_max_memory_cached", "reset_accumulated_memory_stats",
                           "memory_snapshot", "caching_allocator_alloc", "caching_allocator_delete"), "memory"),
          "ExternalStream": "streams"}
_MODULES = ("graphs", "memory", "nccl", "nvtx", "profiler", "random", "sparse", "streams")


def __getattr__(name: str):
    if name == "default_generators":
        return tuple(_generator(index) for index in range(device_count()))
    if name == "_initialized":
        return is_initialized()
    if name in _MODULES:
        return importlib.import_module(f"jtorch.cuda.{name}")
    if name in _CLASSES:
        return _CLASSES[name]
    if name in _LATER:
        return getattr(importlib.import_module(f"jtorch.cuda.{_LATER[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def manual_seed(seed: int) -> None:
    """Seed the current GPU's generator, if there is a GPU. See torch.cuda.manual_seed."""
    seed = int(seed)
    if is_available():
        _generator().manual_seed(seed)


def manual_seed_all(seed: int) -> None:
    """Seed each GPU's generator. See torch.cuda.manual_seed_all."""
    seed = int(seed)
    for index in range(device_count()):
        _generator(index).manual_seed(seed)


def seed() -> None:
    """Seed the current GPU's generator with a random number. See torch.cuda.seed."""
    if is_available():
        _generator().seed()


def seed_all() -> None:
    """Seed each GPU's generator with the same random number. See torch.cuda.seed_all."""
    if is_available():
        manual_seed_all(_generator(0).seed())


def initial_seed() -> int:
    """Return the seed of the current GPU's generator. See torch.cuda.initial_seed."""
    return _generator().initial_seed()


def get_rng_state(device="cuda"):
    """Return the state of a GPU's generator. See torch.cuda.get_rng_state."""
    return _generator(device).get_state()


def get_rng_state_all() -> list:
    """Return the state of each GPU's generator. See torch.cuda.get_rng_state_all."""
    return [get_rng_state(index) for index in range(device_count())]


def set_rng_state(new_state, device="cuda") -> None:
    """Set the state of a GPU's generator, if there is a GPU. See torch.cuda.set_rng_state."""
    if is_available():
        _generator(device).set_state(new_state)


def set_rng_state_all(new_states) -> None:
    """Set the state of each GPU's generator. See torch.cuda.set_rng_state_all."""
    for index, state in enumerate(new_states):
        set_rng_state(state, index)

del _Streams, _EventOfDevice      # PyTorch's module does not have these names
