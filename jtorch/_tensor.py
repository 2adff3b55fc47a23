"""torch._tensor: the Tensor class, and the functions that rebuild pickled subclasses."""
from __future__ import annotations

from jtorch.serialization.rebuild import _rebuild_from_type_v2 as _rebuild_from_type_v2
from jtorch.tensor import Tensor as Tensor
