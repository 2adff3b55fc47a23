"""torch._C._functions: nodes that PyTorch defines by hand."""
from jtorch.autograd.function import Error as DelayedError
from jtorch.tape import AccumulateGrad

__all__ = ["AccumulateGrad", "DelayedError"]
