"""torch.distributed._tensor.device_mesh: the old place of torch.distributed.device_mesh."""
from __future__ import annotations

from jtorch.distributed.lazy_exports import lazy_getattr

__getattr__ = lazy_getattr(__name__, {
    "distributed.device_mesh": "DeviceMesh init_device_mesh",
})
