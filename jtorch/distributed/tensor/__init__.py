"""torch.distributed.tensor: tensors that are sharded over ranks."""
from __future__ import annotations

from jtorch.distributed.device_mesh import DeviceMesh as DeviceMesh
from jtorch.distributed.device_mesh import init_device_mesh as init_device_mesh
from jtorch.distributed.lazy_exports import lazy_getattr

__all__ = ["DTensor", "Partial", "Placement", "Replicate", "Shard", "distribute_module", "distribute_tensor", "empty", "full",
           "ones", "rand", "randn", "zeros"]

__getattr__ = lazy_getattr(__name__, {
    "_parallel.dtensor": "DTensor",
    "_parallel.create": "distribute_tensor empty full ones rand randn zeros",
    "_parallel.modules": "distribute_module",
    "_parallel.placements": "Partial Placement Replicate Shard _StridedShard",
})
