"""torch.distributed.tensor._dtensor_spec: PyTorch's record of a DTensor's layout, which is not built."""
from __future__ import annotations

from jtorch.distributed.lazy_exports import lazy_getattr

__getattr__ = lazy_getattr(__name__, {}, not_built="DTensorSpec TensorMeta")
