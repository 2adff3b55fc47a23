"""torch.autograd.Variable: the old name of a tensor."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from jtorch.tape import running
from jtorch.tensor import Tensor, alias


class Engine:
    """The part of PyTorch's autograd engine that queues callbacks."""

    def queue_callback(self, fn: Callable[[], Any]) -> None:
        """Call ``fn`` at the end of the running backward; raise RuntimeError if none runs."""
        if running.task is None:
            raise RuntimeError("Final callbacks can only be installed during backward pass.")
        running.task.queue_callback(fn)


class VariableMeta(type):
    """The metaclass by which every tensor is a Variable."""

    def __instancecheck__(cls, other):
        return isinstance(other, Tensor)


class Variable(metaclass=VariableMeta):
    """``Variable(tensor, requires_grad)`` gives a tensor that shares the memory of the one given.

    Args:
        data (Tensor): the tensor whose memory is shared.
        requires_grad (bool): whether the result requires grad.
        volatile (bool): accepted; use ``no_grad`` instead.

    Returns:
        a Tensor.

    Example::

        >>> torch.autograd.Variable(torch.ones(2), requires_grad=True)
        tensor([1., 1.], requires_grad=True)

    """

    _execution_engine = Engine()

    def __new__(cls, data: Tensor, requires_grad: bool = False, volatile: bool = False):
        return alias(data).requires_grad_(requires_grad)


__all__ = ["Variable", "VariableMeta"]

del Engine      # PyTorch's module does not have this name.
