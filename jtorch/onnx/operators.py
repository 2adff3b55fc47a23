"""torch.onnx.operators: operations that take sizes as tensors."""
from __future__ import annotations

from jtorch._api.private_functions import _shape_as_tensor
from jtorch.tensor import Tensor

shape_as_tensor = _shape_as_tensor


def reshape_from_tensor_shape(x: Tensor, shape: Tensor) -> Tensor:
    """Reshape a tensor to the sizes that ``shape`` contains. See torch.onnx.operators.reshape_from_tensor_shape."""
    return x.reshape([int(n) for n in shape.tolist()])      # type: ignore[attr-defined]
