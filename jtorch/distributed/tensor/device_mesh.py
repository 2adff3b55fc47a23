"""torch.distributed.tensor.device_mesh: another place of torch.distributed.device_mesh."""
from __future__ import annotations

from jtorch.distributed.device_mesh import DeviceMesh, init_device_mesh

__all__ = ["DeviceMesh", "init_device_mesh"]
