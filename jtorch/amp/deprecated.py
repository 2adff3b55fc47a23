"""torch.cuda.amp and torch.cpu.amp: deprecated names for mixed precision, without ``device_type``."""
from __future__ import annotations

import sys
import types
from typing import Any

import jtorch.dtype as dtypes
from jtorch import cuda
from jtorch._base import warned
from jtorch.amp import autocast_mode, grad_scaler


def _warn(device_type: str, name: str, instead: str = "") -> None:
    instead = instead or f"torch.amp.{name}('{device_type}', args...)"
    warned.warn(f"`torch.{device_type}.amp.{name}(args...)` is deprecated. Please use `{instead}` instead.", FutureWarning)


class _CudaAutocast(autocast_mode.autocast):
    """See torch.autocast: ``torch.amp.autocast('cuda', ...)``."""

    def __init__(self, enabled: bool = True, dtype: dtypes.dtype = dtypes.float16, cache_enabled: bool = True):
        _warn("cuda", "autocast")
        super().__init__("cuda", enabled=enabled, dtype=dtype, cache_enabled=cache_enabled)


class _CpuAutocast(autocast_mode.autocast):
    """See torch.autocast: ``torch.amp.autocast('cpu', ...)``."""

    def __init__(self, enabled: bool = True, dtype: dtypes.dtype = dtypes.bfloat16, cache_enabled: bool = True):
        _warn("cpu", "autocast")
        super().__init__("cpu", enabled=enabled, dtype=dtype, cache_enabled=cache_enabled)


class _CudaGradScaler(grad_scaler.GradScaler):
    """See torch.amp.GradScaler: ``torch.amp.GradScaler('cuda', ...)``."""

    def __init__(self, init_scale: float = 2.0**16, growth_factor: float = 2.0, backoff_factor: float = 0.5,
                 growth_interval: int = 2000, enabled: bool = True):
        _warn("cuda", "GradScaler")
        super().__init__("cuda", init_scale, growth_factor, backoff_factor, growth_interval, enabled)


class _CpuGradScaler(grad_scaler.GradScaler):
    """See torch.amp.GradScaler: ``torch.amp.GradScaler('cpu', ...)``."""

    def __init__(self, init_scale: float = 2.0**16, growth_factor: float = 2.0, backoff_factor: float = 0.5,
                 growth_interval: int = 2000, enabled: bool = True):
        _warn("cpu", "GradScaler")
        super().__init__("cpu", init_scale, growth_factor, backoff_factor, growth_interval, enabled)


def custom_fwd(fwd: Any = None, *, cast_inputs: dtypes.dtype | None = None) -> Any:
    """See torch.amp.custom_fwd, with ``device_type='cuda'``."""
    _warn("cuda", "custom_fwd", "torch.amp.custom_fwd(args..., device_type='cuda')")
    return autocast_mode.custom_fwd(fwd, device_type="cuda", cast_inputs=cast_inputs)


def custom_bwd(bwd: Any) -> Any:
    """See torch.amp.custom_bwd, with ``device_type='cuda'``."""
    _warn("cuda", "custom_bwd", "torch.amp.custom_bwd(args..., device_type='cuda')")
    return autocast_mode.custom_bwd(bwd, device_type="cuda")


def amp_definitely_not_available() -> bool:
    """Return whether no GPU is available."""
    return not cuda.is_available()


def _module(name: str, **names: Any) -> types.ModuleType:
    made = sys.modules[name] = types.ModuleType(name, f"See {name.replace('jtorch', 'torch')}.")
    made.__dict__.update(names)
    parent, _, short = name.rpartition(".")
    setattr(sys.modules[parent], short, made)
    return made


def make_modules() -> None:
    """Create the modules torch.cuda.amp and torch.cpu.amp, with PyTorch's submodules."""
    for device_type, autocast, scaler, others in (
            ("cuda", _CudaAutocast, _CudaGradScaler, {"custom_fwd": custom_fwd, "custom_bwd": custom_bwd}),
            ("cpu", _CpuAutocast, _CpuGradScaler, {})):
        autocast.__name__, scaler.__name__ = autocast.__qualname__, scaler.__qualname__ = "autocast", "GradScaler"
        package = f"jtorch.{device_type}.amp"
        _module(package, autocast=autocast, GradScaler=scaler, **others, __path__=[])
        _module(f"{package}.autocast_mode", autocast=autocast, **others)
        _module(f"{package}.grad_scaler", GradScaler=scaler, OptState=grad_scaler.OptState)
    sys.modules["jtorch.cuda.amp"].amp_definitely_not_available = amp_definitely_not_available     # type: ignore[attr-defined]
    _module("jtorch.cuda.amp.common", amp_definitely_not_available=amp_definitely_not_available)
