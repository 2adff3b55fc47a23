"""torch.nn.attention: which kernels attention may use. XLA has one way; the choice is kept, and changes nothing."""
from __future__ import annotations

import contextlib
from enum import IntEnum

from jtorch.backends import cuda as _cuda
from jtorch.nn.attention import bias as bias

__all__ = ["WARN_FOR_UNFUSED_KERNELS", "SDPBackend", "sdpa_kernel"]

WARN_FOR_UNFUSED_KERNELS = False


class SDPBackend(IntEnum):
    """A way to compute attention. See torch.nn.attention.SDPBackend."""

    ERROR = -1
    MATH = 0
    FLASH_ATTENTION = 1
    EFFICIENT_ATTENTION = 2
    CUDNN_ATTENTION = 3
    OVERRIDEABLE = 4

    def __repr__(self):
        return f"<SDPBackend.{self.name}: {self.value}>"

    def __str__(self):
        return f"SDPBackend.{self.name}"


_SWITCHES = {SDPBackend.MATH: (_cuda.math_sdp_enabled, _cuda.enable_math_sdp),
             SDPBackend.FLASH_ATTENTION: (_cuda.flash_sdp_enabled, _cuda.enable_flash_sdp),
             SDPBackend.EFFICIENT_ATTENTION: (_cuda.mem_efficient_sdp_enabled, _cuda.enable_mem_efficient_sdp),
             SDPBackend.CUDNN_ATTENTION: (_cuda.cudnn_sdp_enabled, _cuda.enable_cudnn_sdp)}


@contextlib.contextmanager
def sdpa_kernel(backends: list[SDPBackend] | SDPBackend, set_priority: bool = False):
    """Says in a ``with`` block which kernels attention may use. See torch.nn.attention.sdpa_kernel."""
    if not isinstance(backends, (list, SDPBackend)):
        raise AssertionError("Backend must be an instance of SDPBackend or a list of SDPBackend instances, got "
                             f"{type(backends).__name__}")
    wanted = [backends] if isinstance(backends, SDPBackend) else backends
    before = {backend: enabled() for backend, (enabled, _) in _SWITCHES.items()}
    try:
        for backend, (_, enable) in _SWITCHES.items():
            enable(backend in wanted)
        yield {}
    finally:
        for backend, (_, enable) in _SWITCHES.items():
            enable(before[backend])
