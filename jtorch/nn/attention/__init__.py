"""torch.nn.attention: the choice of attention kernels. jtorch stores the choice, which has no effect on XLA."""
from __future__ import annotations

import contextlib
from enum import IntEnum

from jtorch.backends import cuda as _cuda
from jtorch.nn.attention import bias as bias
from jtorch.nn.attention._registry import activate_flash_attention_impl as activate_flash_attention_impl
from jtorch.nn.attention._registry import current_flash_attention_impl as current_flash_attention_impl
from jtorch.nn.attention._registry import list_flash_attention_impls as list_flash_attention_impls
from jtorch.nn.attention._registry import register_flash_attention_impl as register_flash_attention_impl
from jtorch.nn.attention._registry import restore_flash_attention_impl as restore_flash_attention_impl

__all__ = ["WARN_FOR_UNFUSED_KERNELS", "SDPBackend", "activate_flash_attention_impl", "current_flash_attention_impl",
           "list_flash_attention_impls", "register_flash_attention_impl", "restore_flash_attention_impl", "sdpa_kernel"]

WARN_FOR_UNFUSED_KERNELS = False


class SDPBackend(IntEnum):
    """A kind of attention kernel. See torch.nn.attention.SDPBackend."""

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


_backend_names = {"cudnn": "CUDNN_ATTENTION", "flash": "FLASH_ATTENTION", "mem_efficient": "EFFICIENT_ATTENTION", "math": "MATH",
                  "overrideable": "OVERRIDEABLE"}
_SWITCHES = {SDPBackend.MATH: (_cuda.math_sdp_enabled, _cuda.enable_math_sdp),
             SDPBackend.FLASH_ATTENTION: (_cuda.flash_sdp_enabled, _cuda.enable_flash_sdp),
             SDPBackend.EFFICIENT_ATTENTION: (_cuda.mem_efficient_sdp_enabled, _cuda.enable_mem_efficient_sdp),
             SDPBackend.CUDNN_ATTENTION: (_cuda.cudnn_sdp_enabled, _cuda.enable_cudnn_sdp)}


@contextlib.contextmanager
def sdpa_kernel(backends: list[SDPBackend] | SDPBackend, set_priority: bool = False):
    """Set the allowed attention kernels within a ``with`` block. See torch.nn.attention.sdpa_kernel."""
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
