"""torch.utils._foreach_utils: lists of tensors taken together."""
from __future__ import annotations

from jtorch._optimizers.groups import by_device_and_dtype as _group_tensors_by_device_and_dtype  # noqa: F401 (PyTorch's name)


def _get_foreach_kernels_supported_devices() -> list[str]:
    """Where PyTorch has kernels for lists."""
    return ["cuda", "xpu", "mtia", "privateuseone"]


def _get_fused_kernels_supported_devices() -> list[str]:
    """Where PyTorch's optimizers have kernels of their own."""
    return ["mps", "cuda", "xpu", "hpu", "cpu", "mtia", "privateuseone"]
