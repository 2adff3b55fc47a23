"""torch.backends.cudnn: settings of cuDNN. XLA decides itself when to call cuDNN."""
from __future__ import annotations

import types

import jtorch.device as devices
from jtorch.backends import _flags, precision
from jtorch.backends._flags import Computed, Flag, Settings


def is_available() -> bool:
    """Return whether there is a GPU, on which XLA can call cuDNN. See torch.backends.cudnn.is_available."""
    return devices.cuda_count() > 0


def version() -> None:
    """Return None: JAX does not report cuDNN's version. See torch.backends.cudnn.version."""


def is_acceptable(tensor) -> bool:
    """Return whether cuDNN could compute with ``tensor``. See torch.backends.cudnn."""
    return is_available() and tensor.device.type == "cuda" and tensor.dtype.is_floating_point


class _Conv(Settings):
    fp32_precision = Computed(lambda: precision.get("conv"), lambda value: precision.choose("conv", value))


class _Rnn(Settings):
    fp32_precision = Computed(lambda: precision.get("rnn"), lambda value: precision.choose("rnn", value))


def _allow_tf32(allowed) -> None:
    _flags.check_bool("set_allow_tf32_cublas", allowed)     # PyTorch's error also names cublas.
    precision.allow_tf32_of_cudnn(allowed)


class _Cudnn(types.ModuleType):
    enabled = Flag(True, "set_enabled_cudnn")
    benchmark = Flag(False, "set_benchmark_cudnn")
    deterministic = Flag(False, "set_deterministic_cudnn")
    allow_tf32 = Computed(precision.allows_tf32_of_cudnn, _allow_tf32)
    fp32_precision = Computed(lambda: precision.get("cudnn"), lambda value: precision.choose("cudnn", value))


benchmark_limit = None
conv, rnn = _Conv(), _Rnn()
_flags.become(__name__, _Cudnn)
_module = _Cudnn("")


def set_flags(_enabled=None, _benchmark=None, _benchmark_limit=None, _deterministic=None, _allow_tf32=None,
              _fp32_precision="none"):
    """Set the given settings, and return the previous values. See torch.backends.cudnn."""
    enabled, benchmark, deterministic, tf32, chosen = _flags.set_all(
        _module, enabled=_enabled, benchmark=_benchmark, deterministic=_deterministic, allow_tf32=_allow_tf32,
        fp32_precision=_fp32_precision)
    return enabled, benchmark, benchmark_limit, deterministic, tf32, chosen


def flags(enabled=False, benchmark=False, benchmark_limit=10, deterministic=False, allow_tf32=True,
          fp32_precision="none"):
    """Return a context that applies ``set_flags``. See torch.backends.cudnn.flags."""
    return _flags.inside(set_flags, enabled, benchmark, benchmark_limit, deterministic, allow_tf32, fp32_precision)

del Computed, Flag, Settings, _Conv, _Rnn, _Cudnn      # PyTorch's module does not have these names
