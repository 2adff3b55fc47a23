"""The state of autocast in this thread, and the casts that it makes to a call's arguments.

``late_bindings.autocast`` is set only while some thread has autocast on, or ``watch`` has set a function. So other programs
pay nothing.
"""
from __future__ import annotations

import threading
import weakref
from collections.abc import Callable
from typing import Any

import jtorch.device as devices
import jtorch.dtype as dtypes
from jtorch import storage
from jtorch._base import late_bindings
from jtorch.dispatch import calls
from jtorch.engine import Call
from jtorch.no_grad import mode
from jtorch.ops.autocast import FP32, LOWER, REFUSED
from jtorch.tensor import Tensor

_BFLOAT16 = {"cpu", "maia", "xla", "hpu"}
AVAILABLE = ("cpu", "cuda", "ipu", "xpu", "maia", "xla", "mps", "hpu", "mtia", "privateuseone")


class _State(threading.local):
    """The state of autocast in one thread."""

    def __init__(self) -> None:
        self.dtypes: dict[str, dtypes.dtype] = {d: dtypes.bfloat16 if d in _BFLOAT16 else dtypes.float16 for d in AVAILABLE}
        self.enabled: tuple[str, ...] = ()
        self.cache_enabled = True
        self.nesting = 0
        self.cache: dict[int, tuple] = {}       # Maps a leaf's id to (weak reference, version, dtype, cast).


state = _State()
_lock = threading.Lock()
_count = 0      # The number of pairs (thread, device type) with autocast on.


def check_type(function: str, device_type: Any) -> str:
    """Return the type of a valid device; raise TypeError or RuntimeError for others."""
    if not isinstance(device_type, str):
        raise TypeError(f"{function}(): argument 'device_type' (position 1) must be str, not {type(device_type).__name__}")
    return devices.device(device_type).type


_watching: Callable[[Call, Any], None] | None = None


def _tell() -> None:
    late_bindings.autocast = cast_arguments if _count or _watching is not None else None
    calls.detour()


def watch(function: Callable[[Call, Any], None] | None) -> None:
    """Pass every call with its arguments to ``function`` before the casts; None ends that."""
    global _watching
    with _lock:
        _watching = function
        _tell()


def enable(device_type: str, enabled: bool) -> None:
    """Turn autocast on or off for a device type in this thread."""
    global _count
    if enabled == (device_type in state.enabled):
        return
    others = tuple([d for d in state.enabled if d != device_type])
    state.enabled = (*others, device_type) if enabled else others
    with _lock:
        _count += 1 if enabled else -1
        _tell()


def _of_thread() -> tuple:
    return state.enabled, state.dtypes


def _use(modes: tuple) -> None:
    """Restore the modes of autocast that ``_of_thread`` returned, in this thread or another."""
    enabled, state.dtypes = modes
    for device_type in {*state.enabled, *enabled}:
        enable(device_type, device_type in enabled)
    state.enabled = enabled     # The loop may have changed the order of the device types.


late_bindings.modes.append((_of_thread, _use))


# ---------------------------------------------------------------- casting

def cast_arguments(c: Call, flat: Any) -> Any:
    """Cast the arguments of a call as autocast's policy for its op says."""
    if _watching is not None:
        _watching(c, flat)
    for device_type in state.enabled:
        policy: Any = c.op.autocast and c.op.autocast.of(device_type)
        if callable(policy):
            policy = policy(c.op, c.template, [t for t in flat if isinstance(t, Tensor)])
        if policy == REFUSED:
            raise RuntimeError(_UNSAFE)
        if policy is not None:
            flat = _as_policy(policy, device_type, flat)
    return flat


_UNSAFE = ("torch.nn.functional.binary_cross_entropy and torch.nn.BCELoss are unsafe to autocast.\nMany models use a sigmoid "
           "layer right before the binary cross entropy layer. In this case, combine the two layers using "
           "torch.nn.functional.binary_cross_entropy_with_logits or torch.nn.BCEWithLogitsLoss, which are safe to autocast.")


def _as_policy(policy: str, device_type: str, flat: Any) -> Any:
    lower = state.dtypes[device_type]
    if policy == LOWER:
        wanted = lower
    else:
        wanted = dtypes.float32 if policy == FP32 else _widest(device_type, lower, flat)
    return [cast(t, device_type, wanted) if isinstance(t, Tensor) else t for t in flat]


def eligible(t: Tensor, device_type: str) -> bool:
    """Return whether autocast may cast a tensor: it is on the device and floating point, but not float64."""
    aval = storage.aval_of(t)
    return aval.dtype.is_floating_point and aval.dtype is not dtypes.float64 and devices.single(aval.device).type == device_type


def _widest(device_type: str, lower: dtypes.dtype, flat: Any) -> dtypes.dtype:
    found = [storage.aval_of(t).dtype for t in flat if isinstance(t, Tensor) and eligible(t, device_type)]
    if any(d is not lower and d is not dtypes.float32 for d in found):
        raise RuntimeError("Unexpected floating ScalarType in at::autocast::prioritize")
    return dtypes.float32 if dtypes.float32 in found else lower


def cast(t: Any, device_type: str, wanted: dtypes.dtype) -> Any:
    """Cast a tensor if autocast may cast it. Casts of weights are cached until autocast ends."""
    aval = storage.aval_of(t)
    if aval.dtype is wanted or not eligible(t, device_type):
        return t
    keep = (state.cache_enabled and t._requires_grad and t._node is None and t._base is None and mode.grad
            and aval.dtype is dtypes.float32 and wanted is state.dtypes[device_type])
    if not keep:
        return t.to(wanted)
    version = (t._counter or t._storage).version
    found = state.cache.get(id(t))
    if found is None or found[0]() is not t or found[1:3] != (version, wanted):
        found = state.cache[id(t)] = (weakref.ref(t), version, wanted, t.to(wanted))
    return found[3]
