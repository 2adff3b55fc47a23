"""torch.nested: batches of tensors that differ in the size of one dim."""
from __future__ import annotations

from jtorch.nested._internal.creation import as_nested_tensor as as_nested_tensor
from jtorch.nested._internal.creation import masked_select as masked_select
from jtorch.nested._internal.creation import narrow as narrow
from jtorch.nested._internal.creation import nested_tensor as nested_tensor
from jtorch.nested._internal.creation import nested_tensor_from_jagged as nested_tensor_from_jagged
from jtorch.nested._internal.creation import to_padded_tensor as to_padded_tensor
from jtorch.nested._internal.nested_tensor import _rebuild_njt as _rebuild_njt
from jtorch.tensor import Tensor as Tensor

__all__ = ["as_nested_tensor", "masked_select", "narrow", "nested_tensor", "nested_tensor_from_jagged", "to_padded_tensor"]
