"""torch.backends.cuda."""
from __future__ import annotations

from typing import Any

import jtorch.device as devices
from jtorch.backends import _flags, _libraries, precision
from jtorch.backends._flags import Computed, Flag, Settings


def is_built() -> bool:
    """Return whether JAX has a GPU backend. See torch.backends.cuda.is_built."""
    return devices.cuda_count() > 0


def _set_tf32(allowed) -> None:
    _flags.check_bool("set_allow_tf32_cublas", allowed)
    precision.set_float32_matmul_precision("high" if allowed else "highest")


class ReducedPrecision(Flag):
    """A bool setting that also accepts PyTorch's pair. The pair's second entry, which allows split sums, is ignored."""

    def __set__(self, owner, value):
        first = value[0] if isinstance(value, (tuple, list)) and value else value
        if not isinstance(first, bool):
            raise TypeError(f"{self.setter} expects a bool or a tuple/list of bools, but got {type(value)}")
        self.value = first


class cuBLASModule(Settings):  # noqa: N801
    """``torch.backends.cuda.matmul``."""

    allow_tf32 = Computed(lambda: precision.get_float32_matmul_precision() != "highest", _set_tf32)
    allow_fp16_reduced_precision_reduction = ReducedPrecision(True, "allow_fp16_reduced_precision_reduction")
    allow_bf16_reduced_precision_reduction = ReducedPrecision(True, "allow_bf16_reduced_precision_reduction")
    allow_fp16_accumulation = Flag(False, "set_allow_fp16_accumulation_cublas")
    fp32_precision = Computed(lambda: precision.get("matmul"), lambda value: precision.choose("matmul", value))


matmul = cuBLASModule()
_sdp = {"flash": True, "mem_efficient": True, "math": True, "cudnn": True, "reduced": False}


def _enable(kind: str, enabled: bool) -> None:
    _flags.check_bool("set_sdp_use_math", enabled)
    _sdp[kind] = enabled


def flash_sdp_enabled() -> bool:
    """Return the setting of ``enable_flash_sdp``. See torch.backends.cuda."""
    return _sdp["flash"]


def enable_flash_sdp(enabled: bool) -> None:
    """Store whether attention may use FlashAttention. XLA ignores the setting. See torch.backends.cuda."""
    _enable("flash", enabled)


def mem_efficient_sdp_enabled() -> bool:
    """Return the setting of ``enable_mem_efficient_sdp``. See torch.backends.cuda."""
    return _sdp["mem_efficient"]


def enable_mem_efficient_sdp(enabled: bool) -> None:
    """Store whether attention may use the memory-efficient kernel. XLA ignores the setting. See torch.backends.cuda."""
    _enable("mem_efficient", enabled)


def math_sdp_enabled() -> bool:
    """Return the setting of ``enable_math_sdp``. See torch.backends.cuda."""
    return _sdp["math"]


def enable_math_sdp(enabled: bool) -> None:
    """Store whether attention may use the unfused implementation. XLA ignores the setting. See torch.backends.cuda."""
    _enable("math", enabled)


def cudnn_sdp_enabled() -> bool:
    """Return the setting of ``enable_cudnn_sdp``. See torch.backends.cuda."""
    return _sdp["cudnn"]


def enable_cudnn_sdp(enabled: bool) -> None:
    """Store whether attention may use cuDNN's kernel. XLA ignores the setting. See torch.backends.cuda."""
    _enable("cudnn", enabled)


def fp16_bf16_reduction_math_sdp_allowed() -> bool:
    """Return the setting of ``allow_fp16_bf16_reduction_math_sdp``. See torch.backends.cuda."""
    return _sdp["reduced"]


def allow_fp16_bf16_reduction_math_sdp(enabled: bool) -> None:
    """Store whether attention may sum in half precision. XLA ignores the setting. See torch.backends.cuda."""
    _enable("reduced", enabled)


def is_flash_attention_available() -> bool:
    """Return False: XLA computes attention. See torch.backends.cuda.is_flash_attention_available."""
    return False


class SDPAParams:
    """The arguments of an attention call, for ``can_use_flash_attention``. See torch.backends.cuda.SDPAParams."""

    def __init__(self, query: Any, key: Any, value: Any, attn_mask: Any, dropout: float, is_causal: bool, enable_gqa: bool):
        self.query, self.key, self.value, self.attn_mask = query, key, value, attn_mask
        self.dropout, self.is_causal, self.enable_gqa = dropout, is_causal, enable_gqa


def can_use_flash_attention(params: SDPAParams, debug: bool = False) -> bool:
    """Return False: XLA computes attention. See torch.backends.cuda.can_use_flash_attention."""
    return False


def can_use_efficient_attention(params: SDPAParams, debug: bool = False) -> bool:
    """Return False: XLA computes attention. See torch.backends.cuda.can_use_efficient_attention."""
    return False


def can_use_cudnn_attention(params: SDPAParams, debug: bool = False) -> bool:
    """Return False: XLA computes attention. See torch.backends.cuda.can_use_cudnn_attention."""
    return False


def _set_sdp(flash: bool, math: bool, mem_efficient: bool, cudnn: bool) -> tuple:
    before = tuple(_sdp[kind] for kind in ("flash", "math", "mem_efficient", "cudnn"))
    _sdp.update(flash=flash, math=math, mem_efficient=mem_efficient, cudnn=cudnn)
    return before


def sdp_kernel(enable_flash: bool = True, enable_math: bool = True, enable_mem_efficient: bool = True,
               enable_cudnn: bool = True):
    """Return a context that sets the allowed attention kernels. See torch.backends.cuda.sdp_kernel."""
    return _flags.inside(_set_sdp, enable_flash, enable_math, enable_mem_efficient, enable_cudnn)


_preferred: dict[str, _libraries._Backend] = {"linalg": _libraries._LinalgBackend.Default, "blas": _libraries._BlasBackend.Cublas}


def _prefer(kind: str, choices: type[_libraries._Backend], backend: Any) -> Any:
    if isinstance(backend, str):
        names = {name.lower(): member for name, member in choices.__members__.items()}
        if backend not in names:
            raise RuntimeError(f"Unknown input value. Choose from: {', '.join(names)}.")
        backend = names[backend]
    if backend is not None:
        if not isinstance(backend, choices):
            raise RuntimeError("Unknown input value type.")
        _preferred[kind] = backend
    return _preferred[kind]


def preferred_linalg_library(backend: Any = None) -> Any:
    """Store and return the preferred library of torch.linalg on a GPU. XLA ignores the choice.

    Args:
        backend (str or None): "default", "cusolver" or "magma"; None leaves it.

    Returns:
        the library, of an enumeration.

    Raises:
        RuntimeError: there is no such library.

    Example::

        >>> torch.backends.cuda.preferred_linalg_library()
        _libraries._LinalgBackend.Default

    """
    return _prefer("linalg", _libraries._LinalgBackend, backend)


def preferred_blas_library(backend: Any = None) -> Any:
    """Store and return the preferred library of matrix products on a GPU. XLA ignores the choice.

    Args:
        backend (str or None): "default", "cublas", "cublaslt" or "ck"; None leaves it.

    Returns:
        the library, of an enumeration.

    Raises:
        RuntimeError: there is no such library.

    Example::

        >>> torch.backends.cuda.preferred_blas_library()
        _libraries._BlasBackend.Cublas

    """
    return _prefer("blas", _libraries._BlasBackend, backend)

del Computed, Flag, Settings, ReducedPrecision      # PyTorch's module does not have these names
