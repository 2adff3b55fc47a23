"""torch.distributed._tensor.device_mesh: the old place of torch.distributed.device_mesh."""
from __future__ import annotations

from jtorch.distributed.later import names

__getattr__ = names(__name__, {
    "distributed.device_mesh": "DeviceMesh init_device_mesh",
})
