"""torch.distributed.tensor._dtensor_spec: how PyTorch notes the layout of a DTensor."""
from __future__ import annotations

from jtorch.distributed.lazy_exports import lazy_getattr

__getattr__ = lazy_getattr(__name__, {}, not_built="DTensorSpec TensorMeta")
