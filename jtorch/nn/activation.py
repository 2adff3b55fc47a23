"""Activations."""
from __future__ import annotations

from typing import Any

from jtorch.nn import functional, init
from jtorch.nn._make import parameter
from jtorch.nn.module import Module

F: Any = functional


def _plain(name: str, function: str) -> type[Module]:
    """A module without arguments."""
    def forward(self, input):
        return getattr(F, function)(input)
    return type(name, (Module,), {"forward": forward, "__doc__": f"See torch.nn.{name}.", "__module__": __name__})


def _inplace(name: str, function: str) -> type[Module]:
    """A module whose one argument is ``inplace``."""
    def __init__(self, inplace: bool = False):
        Module.__init__(self)
        self.inplace = inplace

    def forward(self, input):
        return getattr(F, function)(input, inplace=self.inplace)

    def extra_repr(self) -> str:
        return "inplace=True" if self.inplace else ""
    return type(name, (Module,), {"__init__": __init__, "forward": forward, "extra_repr": extra_repr,
                                  "__doc__": f"See torch.nn.{name}.", "__module__": __name__})


Sigmoid, Tanh = _plain("Sigmoid", "sigmoid"), _plain("Tanh", "tanh")
LogSigmoid, Softsign, Tanhshrink = (_plain(n, n.lower()) for n in ("LogSigmoid", "Softsign", "Tanhshrink"))
ReLU, SiLU, Mish, SELU = (_inplace(n, n.lower()) for n in ("ReLU", "SiLU", "Mish", "SELU"))
Hardsigmoid, Hardswish = _inplace("Hardsigmoid", "hardsigmoid"), _inplace("Hardswish", "hardswish")


class Hardtanh(Module):
    """See torch.nn.Hardtanh."""

    def __init__(self, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False):
        super().__init__()
        if not max_val > min_val:
            raise AssertionError("max_val must be greater than min_val")
        self.min_val, self.max_val, self.inplace = min_val, max_val, inplace

    def forward(self, input):
        """The activation."""
        return F.hardtanh(input, self.min_val, self.max_val, self.inplace)

    def extra_repr(self) -> str:
        """The limits."""
        return f"min_val={self.min_val}, max_val={self.max_val}" + (", inplace=True" if self.inplace else "")


class ReLU6(Hardtanh):
    """See torch.nn.ReLU6."""

    def __init__(self, inplace: bool = False):
        super().__init__(0.0, 6.0, inplace)

    def extra_repr(self) -> str:
        """Whether in place."""
        return "inplace=True" if self.inplace else ""


class ELU(Module):
    """See torch.nn.ELU."""

    def __init__(self, alpha: float = 1.0, inplace: bool = False):
        super().__init__()
        self.alpha, self.inplace = alpha, inplace

    def forward(self, input):
        """The activation."""
        return F.elu(input, self.alpha, self.inplace)

    def extra_repr(self) -> str:
        """The slope."""
        return f"alpha={self.alpha}" + (", inplace=True" if self.inplace else "")


class CELU(ELU):
    """See torch.nn.CELU."""

    def forward(self, input):
        """The activation."""
        return F.celu(input, self.alpha, self.inplace)


class LeakyReLU(Module):
    """See torch.nn.LeakyReLU."""

    def __init__(self, negative_slope: float = 0.01, inplace: bool = False):
        super().__init__()
        self.negative_slope, self.inplace = negative_slope, inplace

    def forward(self, input):
        """The activation."""
        return F.leaky_relu(input, self.negative_slope, self.inplace)

    def extra_repr(self) -> str:
        """The slope."""
        return f"negative_slope={self.negative_slope}" + (", inplace=True" if self.inplace else "")


class Threshold(Module):
    """See torch.nn.Threshold."""

    def __init__(self, threshold: float, value: float, inplace: bool = False):
        super().__init__()
        self.threshold, self.value, self.inplace = threshold, value, inplace

    def forward(self, input):
        """The activation."""
        return F.threshold(input, self.threshold, self.value, self.inplace)

    def extra_repr(self) -> str:
        """The limits."""
        return f"threshold={self.threshold}, value={self.value}" + (", inplace=True" if self.inplace else "")


class GELU(Module):
    """See torch.nn.GELU."""

    def __init__(self, approximate: str = "none"):
        super().__init__()
        self.approximate = approximate

    def forward(self, input):
        """The activation."""
        return F.gelu(input, approximate=self.approximate)

    def extra_repr(self) -> str:
        """Which approximation."""
        return f"approximate={self.approximate!r}"


class GLU(Module):
    """See torch.nn.GLU."""

    def __init__(self, dim: int = -1):
        super().__init__()
        self.dim = dim

    def forward(self, input):
        """The activation."""
        return F.glu(input, self.dim)

    def extra_repr(self) -> str:
        """The dimension."""
        return f"dim={self.dim}"


class Hardshrink(Module):
    """See torch.nn.Hardshrink."""

    def __init__(self, lambd: float = 0.5):
        super().__init__()
        self.lambd = lambd

    def forward(self, input):
        """The activation."""
        return F.hardshrink(input, self.lambd)

    def extra_repr(self) -> str:
        """The limit."""
        return f"{self.lambd}"


class Softshrink(Hardshrink):
    """See torch.nn.Softshrink."""

    def forward(self, input):
        """The activation."""
        return F.softshrink(input, self.lambd)


class Softplus(Module):
    """See torch.nn.Softplus."""

    def __init__(self, beta: float = 1.0, threshold: float = 20.0):
        super().__init__()
        self.beta, self.threshold = beta, threshold

    def forward(self, input):
        """The activation."""
        return F.softplus(input, self.beta, self.threshold)

    def extra_repr(self) -> str:
        """The shape."""
        return f"beta={self.beta}, threshold={self.threshold}"


class PReLU(Module):
    """See torch.nn.PReLU."""

    def __init__(self, num_parameters: int = 1, init: float = 0.25, device: Any = None, dtype: Any = None):
        super().__init__()
        self.num_parameters, self.init = num_parameters, init
        self.weight = parameter(num_parameters, device=device, dtype=dtype)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Sets the slope."""
        init.constant_(self.weight, self.init)

    def forward(self, input):
        """The activation."""
        return F.prelu(input, self.weight)

    def extra_repr(self) -> str:
        """How many slopes."""
        return f"num_parameters={self.num_parameters}"


class Softmax(Module):
    """See torch.nn.Softmax."""

    def __init__(self, dim: int | None = None):
        super().__init__()
        self.dim = dim

    def forward(self, input):
        """The probabilities."""
        return F.softmax(input, self.dim, _stacklevel=5)

    def extra_repr(self) -> str:
        """The dimension."""
        return f"dim={self.dim}"


class Softmin(Softmax):
    """See torch.nn.Softmin."""

    def forward(self, input):
        """The probabilities."""
        return F.softmin(input, self.dim, _stacklevel=5)


class LogSoftmax(Module):
    """See torch.nn.LogSoftmax."""

    def __init__(self, dim: int | None = None):
        super().__init__()
        self.dim = dim

    def forward(self, input):
        """The logarithms of the probabilities."""
        return F.log_softmax(input, self.dim, _stacklevel=5)

    def extra_repr(self) -> str:
        """The dimension."""
        return f"dim={self.dim}"

__all__ = [
    "CELU",
    "ELU",
    "GELU",
    "GLU",
    "SELU",
    "Hardshrink",
    "Hardsigmoid",
    "Hardswish",
    "Hardtanh",
    "LeakyReLU",
    "LogSigmoid",
    "LogSoftmax",
    "Mish",
    "PReLU",
    "ReLU",
    "ReLU6",
    "SiLU",
    "Sigmoid",
    "Softmax",
    "Softmin",
    "Softplus",
    "Softshrink",
    "Softsign",
    "Tanh",
    "Tanhshrink",
    "Threshold",
]
