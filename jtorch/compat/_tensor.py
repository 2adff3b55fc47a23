"""torch._tensor: the tensor class, and the function that rebuilds subclasses."""
from __future__ import annotations

from jtorch.serialization.rebuild import _rebuild_from_type_v2 as _rebuild_from_type_v2
from jtorch.tensor import Tensor as Tensor
