"""torch.onnx.operators: sizes as tensors."""
from __future__ import annotations

from jtorch._api.private_functions import _shape_as_tensor
from jtorch.tensor import Tensor

shape_as_tensor = _shape_as_tensor


def reshape_from_tensor_shape(x: Tensor, shape: Tensor) -> Tensor:
    """Return a tensor in the shape that another one has as its elements. See torch.onnx.operators.reshape_from_tensor_shape."""
    return x.reshape([int(n) for n in shape.tolist()])      # type: ignore[attr-defined]
