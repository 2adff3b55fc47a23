"""torch.distributed.tensor._dtensor_spec: how PyTorch notes the layout of a DTensor."""
from __future__ import annotations

from jtorch.distributed.later import names

__getattr__ = names(__name__, {}, not_built="DTensorSpec TensorMeta")
