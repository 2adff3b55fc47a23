"""torch.utils._foreach_utils: helpers for functions of lists of tensors."""
from __future__ import annotations

from jtorch._optimizers.for_packages import (
    _get_foreach_kernels_supported_devices as _get_foreach_kernels_supported_devices,
)
from jtorch._optimizers.for_packages import _get_fused_kernels_supported_devices as _get_fused_kernels_supported_devices
from jtorch._optimizers.groups import by_device_and_dtype as _group_tensors_by_device_and_dtype  # noqa: F401 (PyTorch's name)
