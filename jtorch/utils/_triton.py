"""torch.utils._triton: whether Triton compiles kernels. It never does, since XLA compiles them."""
from __future__ import annotations

import importlib.util


def has_triton_package() -> bool:
    """Return whether the package ``triton`` is installed."""
    return importlib.util.find_spec("triton") is not None


def has_triton() -> bool:
    """Return False: Triton compiles no kernels."""
    return False


has_triton_tma = has_triton_tma_device = has_triton_stable_tma_api = has_triton
has_triton_experimental_host_tma = has_triton_tensor_descriptor_host_tma = has_datacenter_blackwell_tma_device = has_triton
