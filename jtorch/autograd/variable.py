"""torch.autograd.Variable: the old name of a tensor."""
from __future__ import annotations

from jtorch.tensor import Tensor, alias


class VariableMeta(type):
    """Every tensor is a Variable."""

    def __instancecheck__(cls, other):
        return isinstance(other, Tensor)


class Variable(metaclass=VariableMeta):
    """``Variable(tensor, requires_grad)`` gives a tensor that shares the memory of the one given."""

    def __new__(cls, data: Tensor, requires_grad: bool = False, volatile: bool = False):
        return alias(data).requires_grad_(requires_grad)


__all__ = ["Variable", "VariableMeta"]
