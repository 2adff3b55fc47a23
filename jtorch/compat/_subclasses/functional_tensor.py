"""torch._subclasses.functional_tensor: tensors that record writes; they have no instances in jtorch."""
from __future__ import annotations

from typing import Any, NoReturn

from jtorch._base.not_built import placeholder
from jtorch.tensor import Tensor


class FunctionalTensor(Tensor):
    """PyTorch's class of tensors that record writes; it has no instances in jtorch."""

    @staticmethod
    def __new__(cls, *args: Any, **kwargs: Any) -> NoReturn:
        raise NotImplementedError("torch._subclasses.functional_tensor.FunctionalTensor is not built; torch.func.functionalize "
                                  "gives a function without writes.")


def mb_unwrap_functional_tensor(tensor: Any) -> Any:
    """Return the tensor unchanged."""
    return tensor


FunctionalTensorMode = placeholder("_subclasses.functional_tensor", "FunctionalTensorMode")
