"""Activations. See https://docs.pytorch.org/docs/stable/nn.html#non-linear-activations-weighted-sum-nonlinearity.

Each module keeps its arguments as attributes and calls the function of nn.functional with them.
"""
from __future__ import annotations

from typing import Any

from jtorch._base import warned
from jtorch.nn import functional as F
from jtorch.nn import init
from jtorch.nn.modules._make import parameter
from jtorch.nn.modules.module import Module
from jtorch.nn.modules.multihead import MultiheadAttention as MultiheadAttention

__all__ = [
    "CELU", "ELU", "GELU", "GLU", "SELU", "Hardshrink", "Hardsigmoid", "Hardswish", "Hardtanh", "LeakyReLU", "LogSigmoid",
    "LogSoftmax", "Mish", "PReLU", "RReLU", "ReLU", "ReLU6", "SiLU", "Sigmoid", "Softmax", "Softmax2d", "Softmin",
    "Softplus", "Softshrink", "Softsign", "Tanh", "Tanhshrink", "Threshold",
]



class _Activation(Module):
    """The base of activations: its repr shows the attributes in ``_shown``, and ``inplace`` if it is set."""

    _shown: tuple[str, ...] = ()
    inplace: bool

    def extra_repr(self) -> str:
        """Return the options."""
        shown = [f"{name}={getattr(self, name)!r}" for name in self._shown]
        return ", ".join([*shown, "inplace=True"] if self.__dict__.get("inplace") else shown)


class _Inplace(_Activation):
    """An activation whose only argument is ``inplace``."""

    __constants__ = ["inplace"]
    _function = ""

    def __init__(self, inplace: bool = False):
        super().__init__()
        self.inplace = inplace

    def forward(self, input):
        """Return the activation."""
        return getattr(F, self._function)(input, inplace=self.inplace)


# ---------------------------------------------------------------- activations without arguments except inplace

class Sigmoid(_Activation):
    """``1 / (1 + exp(-x))``. Shape: any. See torch.nn.Sigmoid.

    >>> nn.Sigmoid()(torch.zeros(1))
    tensor([0.5000])
    """

    def forward(self, input):
        """Return the activation."""
        return input.sigmoid()


class Tanh(_Activation):
    """The hyperbolic tangent. Shape: any. See torch.nn.Tanh.

    >>> nn.Tanh()(torch.tensor([1.0]))
    tensor([0.7616])
    """

    def forward(self, input):
        """Return the activation."""
        return input.tanh()


class LogSigmoid(_Activation):
    """``log(1 / (1 + exp(-x)))``. Shape: any. See torch.nn.LogSigmoid.

    >>> nn.LogSigmoid()(torch.zeros(1))
    tensor([-0.6931])
    """

    def forward(self, input):
        """Return the activation."""
        return F.logsigmoid(input)


class Softsign(_Activation):
    """``x / (1 + |x|)``. Shape: any. See torch.nn.Softsign.

    >>> nn.Softsign()(torch.tensor([3.0]))
    tensor([0.7500])
    """

    def forward(self, input):
        """Return the activation."""
        return F.softsign(input)


class Tanhshrink(_Activation):
    """``x - tanh(x)``. Shape: any. See torch.nn.Tanhshrink.

    >>> nn.Tanhshrink()(torch.tensor([1.0]))
    tensor([0.2384])
    """

    def forward(self, input):
        """Return the activation."""
        return F.tanhshrink(input)


class ReLU(_Inplace):
    """``max(x, 0)``. Shape: any. See torch.nn.ReLU.

    Args:
        inplace (bool): whether to write the result into the input.

    Example::

        >>> nn.ReLU()(torch.tensor([-1.0, 2.0]))
        tensor([0., 2.])

    """

    _function = "relu"


class SiLU(_Inplace):
    """``x * sigmoid(x)``, also known as swish. Shape: any. See torch.nn.SiLU.

    Args:
        inplace (bool): whether to write the result into the input.

    Example::

        >>> nn.SiLU()(torch.tensor([2.0]))
        tensor([1.7616])

    """

    _function = "silu"


class Mish(_Inplace):
    """``x * tanh(log(1 + exp(x)))`` (Misra, "Mish", 2019). Shape: any. See torch.nn.Mish.

    Args:
        inplace (bool): whether to write the result into the input.

    Example::

        >>> nn.Mish()(torch.tensor([1.0]))
        tensor([0.8651])

    """

    _function = "mish"


class SELU(_Inplace):
    """``scale * elu(x, alpha)``, which keeps mean 0 and variance 1 (Klambauer et al., 2017). Shape: any.

    See torch.nn.SELU.

    Args:
        inplace (bool): whether to write the result into the input.

    Example::

        >>> nn.SELU()(torch.tensor([1.0]))
        tensor([1.0507])

    """

    _function = "selu"


class Hardsigmoid(_Inplace):
    """``relu6(x + 3) / 6``. Shape: any. See torch.nn.Hardsigmoid.

    Args:
        inplace (bool): whether to write the result into the input.

    Example::

        >>> nn.Hardsigmoid()(torch.tensor([-4.0, 0.0]))
        tensor([0.0000, 0.5000])

    """

    _function = "hardsigmoid"

    def extra_repr(self) -> str:
        """Return nothing, as PyTorch does."""
        return ""


class Hardswish(_Inplace):
    """``x * relu6(x + 3) / 6`` (Howard et al., "Searching for MobileNetV3", 2019). Shape: any. See torch.nn.Hardswish.

    Args:
        inplace (bool): whether to write the result into the input.

    Example::

        >>> nn.Hardswish()(torch.tensor([-4.0, 4.0]))
        tensor([-0., 4.])

    """

    _function = "hardswish"

    def extra_repr(self) -> str:
        """Return nothing, as PyTorch does."""
        return ""


# ---------------------------------------------------------------- activations with limits and slopes

class Hardtanh(_Activation):
    """x, at least ``min_val`` and at most ``max_val``. Shape: any. See torch.nn.Hardtanh.

    Raises AssertionError where the limits are not in order.

    Args:
        min_val (float): the smallest value.
        max_val (float): the largest value.
        inplace (bool): whether to write the result into the input.
        min_value (float or None): deprecated name of ``min_val``.
        max_value (float or None): deprecated name of ``max_val``.

    Example::

        >>> nn.Hardtanh(-2, 2)(torch.tensor([-3.0, 1.0, 3.0]))
        tensor([-2.,  1.,  2.])

    """

    __constants__ = ["min_val", "max_val", "inplace"]
    _shown: tuple[str, ...] = ("min_val", "max_val")

    def __init__(self, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False, min_value: float | None = None,
                 max_value: float | None = None):
        super().__init__()
        self.min_val = _renamed("min", min_val, min_value)
        self.max_val, self.inplace = _renamed("max", max_val, max_value), inplace
        if not self.min_val < self.max_val:
            raise AssertionError(f"max_val ({self.max_val}) must be greater than min_val ({self.min_val})")

    def forward(self, input):
        """Return the activation."""
        return F.hardtanh(input, self.min_val, self.max_val, self.inplace)


def _renamed(end: str, new: float, old: float | None) -> float:
    """Return an argument that can be given under its old name."""
    if old is None:
        return new
    warned.warn(f"keyword argument `{end}_value` is deprecated and renamed to `{end}_val`", FutureWarning)
    return old


class ReLU6(Hardtanh):
    """x, at least 0 and at most 6. Shape: any. See torch.nn.ReLU6.

    Args:
        inplace (bool): whether to write the result into the input.

    Example::

        >>> nn.ReLU6()(torch.tensor([-1.0, 3.0, 7.0]))
        tensor([0., 3., 6.])

    """

    _shown = ()

    def __init__(self, inplace: bool = False):
        super().__init__(0.0, 6.0, inplace)


class ELU(_Activation):
    """x where it is positive, else ``alpha * (exp(x) - 1)`` (Clevert et al., 2015). Shape: any. See torch.nn.ELU.

    Args:
        alpha (float): the factor in the formula.
        inplace (bool): whether to write the result into the input.

    Example::

        >>> nn.ELU(2.0)(torch.tensor([-1.0, 1.0]))
        tensor([-1.2642,  1.0000])

    """

    __constants__ = ["alpha", "inplace"]
    _shown = ("alpha",)

    def __init__(self, alpha: float = 1.0, inplace: bool = False):
        super().__init__()
        self.alpha, self.inplace = alpha, inplace

    def forward(self, input):
        """Return the activation."""
        return F.elu(input, self.alpha, self.inplace)


class CELU(_Activation):
    """x where it is positive, else ``alpha * (exp(x / alpha) - 1)`` (Barron, 2017). Shape: any. See torch.nn.CELU.

    Args:
        alpha (float): the factor in the formula.
        inplace (bool): whether to write the result into the input.

    Example::

        >>> nn.CELU(2.0)(torch.tensor([-1.0, 1.0]))
        tensor([-0.7869,  1.0000])

    """

    __constants__ = ["alpha", "inplace"]
    _shown = ("alpha",)

    def __init__(self, alpha: float = 1.0, inplace: bool = False):
        super().__init__()
        self.alpha, self.inplace = alpha, inplace

    def forward(self, input):
        """Return the activation."""
        return F.celu(input, self.alpha, self.inplace)


class LeakyReLU(_Activation):
    """x where it is positive, else ``negative_slope * x``. Shape: any. See torch.nn.LeakyReLU.

    Args:
        negative_slope (float): the slope below 0.
        inplace (bool): whether to write the result into the input.

    Example::

        >>> nn.LeakyReLU(0.1)(torch.tensor([-1.0, 2.0]))
        tensor([-0.1000,  2.0000])

    """

    __constants__ = ["inplace", "negative_slope"]
    _shown = ("negative_slope",)

    def __init__(self, negative_slope: float = 0.01, inplace: bool = False):
        super().__init__()
        self.negative_slope, self.inplace = negative_slope, inplace

    def forward(self, input):
        """Return the activation."""
        return F.leaky_relu(input, self.negative_slope, self.inplace)


class RReLU(_Activation):
    """x where it is positive, else a slope times x (Xu et al., 2015). Shape: any. See torch.nn.RReLU.

    In training each element's slope is drawn uniformly from ``lower`` to ``upper``. In evaluation the slope is the mean
    of both.

    Args:
        lower (float): the smallest slope.
        upper (float): the largest slope.
        inplace (bool): whether to write the result into the input.

    Example::

        >>> nn.RReLU(0.1, 0.3).eval()(torch.tensor([-1.0, 2.0]))
        tensor([-0.2000,  2.0000])

    """

    __constants__ = ["lower", "upper", "inplace"]
    _shown = ("lower", "upper")

    def __init__(self, lower: float = 1.0 / 8, upper: float = 1.0 / 3, inplace: bool = False):
        super().__init__()
        self.lower, self.upper, self.inplace = lower, upper, inplace

    def forward(self, input):
        """Return the activation."""
        return F.rrelu(input, self.lower, self.upper, self.training, self.inplace)


class PReLU(Module):
    """x where it is positive, else ``weight * x`` with a learned weight (He et al., 2015). See torch.nn.PReLU.

    ``num_parameters`` is 1 or the number of channels (dimension 1). Each weight starts as ``init``. Shape: any. Another
    number of channels raises RuntimeError.

    Args:
        num_parameters (int): 1, or one for each channel.
        init (float): the parameters' first value.
        device (device or None): the device of parameters and buffers.
        dtype (dtype or None): their dtype, floating or complex.

    Example::

        >>> nn.PReLU()(torch.tensor([-1.0, 2.0])).tolist()
        [-0.25, 2.0]

    """

    __constants__ = ["num_parameters"]

    def __init__(self, num_parameters: int = 1, init: float = 0.25, device: Any = None, dtype: Any = None):
        super().__init__()
        self.num_parameters, self.init = num_parameters, init
        self.weight = parameter(num_parameters, device=device, dtype=dtype)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Set the slope."""
        init.constant_(self.weight, self.init)

    def forward(self, input):
        """Return the activation."""
        return F.prelu(input, self.weight)

    def extra_repr(self) -> str:
        """Return the number of slopes."""
        return f"num_parameters={self.num_parameters}"


class Threshold(_Activation):
    """x where it is above ``threshold``, else ``value``. Shape: any. See torch.nn.Threshold.

    Args:
        threshold (float): the bound in the formula.
        value (float): the value that replaces others.
        inplace (bool): whether to write the result into the input.

    Example::

        >>> nn.Threshold(1.0, 20.0)(torch.tensor([0.5, 2.0]))
        tensor([20.,  2.])

    """

    __constants__ = ["threshold", "value", "inplace"]
    _shown = ("threshold", "value")

    def __init__(self, threshold: float, value: float, inplace: bool = False):
        super().__init__()
        self.threshold, self.value, self.inplace = threshold, value, inplace

    def forward(self, input):
        """Return the activation."""
        return F.threshold(input, self.threshold, self.value, self.inplace)


class GELU(_Activation):
    """``x * P(X <= x)`` for a standard normal X (Hendrycks and Gimpel, 2016). Shape: any. See torch.nn.GELU.

    ``approximate="tanh"`` uses a hyperbolic tangent instead of the error function.

    Args:
        approximate (str): "none", or "tanh" for the approximation.

    Example::

        >>> nn.GELU()(torch.tensor([1.0]))
        tensor([0.8413])

    """

    __constants__ = ["approximate"]
    _shown = ("approximate",)

    def __init__(self, approximate: str = "none"):
        super().__init__()
        self.approximate = approximate

    def forward(self, input):
        """Return the activation."""
        return F.gelu(input, approximate=self.approximate)


class GLU(_Activation):
    """``a * sigmoid(b)`` of the halves a, b along ``dim`` (Dauphin et al., 2016). See torch.nn.GLU.

    Shape: any with an even size along ``dim``, which is halved; RuntimeError for an odd one.

    Args:
        dim (int): the dim along which it is computed.

    Example::

        >>> nn.GLU()(torch.tensor([3.0, 0.0]))
        tensor([1.5000])

    """

    __constants__ = ["dim"]
    _shown = ("dim",)

    def __init__(self, dim: int = -1):
        super().__init__()
        self.dim = dim

    def forward(self, input):
        """Return the activation."""
        return F.glu(input, self.dim)


class _Shrink(_Activation):
    __constants__ = ["lambd"]
    _function = ""

    def __init__(self, lambd: float = 0.5):
        super().__init__()
        self.lambd = lambd

    def forward(self, input):
        """Return the activation."""
        return getattr(F, self._function)(input, self.lambd)

    def extra_repr(self) -> str:
        """Return the limit."""
        return str(self.lambd)


class Hardshrink(_Shrink):
    """x, or 0 where |x| <= ``lambd``. Shape: any. See torch.nn.Hardshrink.

    Args:
        lambd (float): the threshold.

    Example::

        >>> nn.Hardshrink()(torch.tensor([0.3, 2.0]))
        tensor([0., 2.])

    """

    _function = "hardshrink"


class Softshrink(_Shrink):
    """x shrunk towards 0 by ``lambd``, or 0 where |x| <= ``lambd``. Shape: any. See torch.nn.Softshrink.

    Raises RuntimeError for a negative ``lambd``, when called.

    Args:
        lambd (float): the threshold.

    Example::

        >>> nn.Softshrink()(torch.tensor([0.3, 2.0]))
        tensor([0.0000, 1.5000])

    """

    _function = "softshrink"


class Softplus(_Activation):
    """``log(1 + exp(beta * x)) / beta``, and x itself where ``beta * x > threshold``. Shape: any.

    See torch.nn.Softplus.

    Args:
        beta (float): the sharpness of the bend.
        threshold (float): the bound in the formula.

    Example::

        >>> nn.Softplus()(torch.tensor([0.0, 30.0]))
        tensor([ 0.6931, 30.0000])

    """

    __constants__ = ["beta", "threshold"]
    _shown = ("beta", "threshold")

    def __init__(self, beta: float = 1.0, threshold: float = 20.0):
        super().__init__()
        self.beta, self.threshold = beta, threshold

    def forward(self, input):
        """Return the activation."""
        return F.softplus(input, self.beta, self.threshold)


# ---------------------------------------------------------------- softmax

class _Softmax(_Activation):
    __constants__ = ["dim"]
    _shown = ("dim",)
    _function = ""

    def __init__(self, dim: int | None = None):
        super().__init__()
        self.dim = dim

    def forward(self, input):
        """Return the result along ``dim``."""
        return getattr(F, self._function)(input, self.dim)


class Softmax(_Softmax):
    """``exp(x)`` scaled to sum 1 along ``dim``. Shape: any. See torch.nn.Softmax.

    Args:
        dim (int): the dim along which it is computed.

    Example::

        >>> nn.Softmax(dim=0)(torch.zeros(2))
        tensor([0.5000, 0.5000])

    """

    _function = "softmax"


class Softmin(_Softmax):
    """``exp(-x)`` scaled to sum 1 along ``dim``. Shape: any. See torch.nn.Softmin.

    Args:
        dim (int): the dim along which it is computed.

    Example::

        >>> nn.Softmin(dim=0)(torch.zeros(2))
        tensor([0.5000, 0.5000])

    """

    _function = "softmin"


class LogSoftmax(_Softmax):
    """The logarithm of softmax along ``dim``. Shape: any. See torch.nn.LogSoftmax.

    Args:
        dim (int): the dim along which it is computed.

    Example::

        >>> nn.LogSoftmax(dim=0)(torch.zeros(2))
        tensor([-0.6931, -0.6931])

    """

    _function = "log_softmax"


class Softmax2d(_Activation):
    """Softmax over the channels, at each place of an image. See torch.nn.Softmax2d.

    Shape: (N, C, H, W) or (C, H, W); ValueError for others.

    >>> nn.Softmax2d()(torch.zeros(2, 1, 1)).flatten()
    tensor([0.5000, 0.5000])
    """

    def forward(self, input):
        """Return the probabilities."""
        if input.dim() not in (3, 4):
            raise ValueError(f"Softmax2d: expected input to be 3D or 4D, got {input.dim()}D instead")
        return F.softmax(input, -3)

del _Activation, _Inplace, _Shrink, _Softmax      # PyTorch's module does not have these names
