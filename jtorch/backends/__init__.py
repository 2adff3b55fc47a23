"""torch.backends: available libraries, and their settings.

XLA computes, so most of PyTorch's libraries, such as MKL, are unavailable. All of PyTorch's settings can be set and read, but
most have no effect. The precision of float32 products has an effect on accelerators, and ``mha`` on layers with attention.
"""
from __future__ import annotations

import contextlib
import types
from collections.abc import Iterator

from jtorch.backends import _flags, precision


def flags_frozen() -> bool:
    """Return False: settings can always be changed, not only within ``flags()``. See torch.backends."""
    return False


@contextlib.contextmanager
def __allow_nonbracketed_mutation() -> Iterator[None]:
    """Do nothing: settings can always be changed. Packages enter this context before they change a setting."""
    yield


def set_flags(_fp32_precision="none"):
    """Set the float32 precision for all kinds of ops, and return the previous one."""
    return _flags.set_all(_generic, fp32_precision=_fp32_precision)


def flags(fp32_precision="none"):
    """Return a context that applies ``set_flags``."""
    return _flags.inside(set_flags, fp32_precision)


class _Generic(types.ModuleType):
    fp32_precision = _flags.Computed(lambda: precision.get("generic"), lambda value: precision.choose("generic", value))


_flags.become(__name__, _Generic)
_generic = _Generic("")
del _Generic      # PyTorch's module has no such name

from jtorch.backends import (  # noqa: E402
    cpu,
    cuda,
    cudnn,
    cusparselt,
    kleidiai,
    mha,
    miopen,
    mkl,
    mkldnn,
    mps,
    nnpack,
    openmp,
    opt_einsum,
    quantized,
    xnnpack,
)

__all__ = ["cpu", "cuda", "cudnn", "cusparselt", "flags", "flags_frozen", "kleidiai", "mha", "miopen", "mkl", "mkldnn",
           "mps", "nnpack", "openmp", "opt_einsum", "quantized", "set_flags", "xnnpack"]
