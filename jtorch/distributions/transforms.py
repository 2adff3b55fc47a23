"""Transforms of numbers, vectors and matrices, with their log determinants. See torch.distributions.transforms."""
from __future__ import annotations

import math
from typing import Any

from jtorch._api import functions, nn_functions
from jtorch._base.dtype_info import finfo
from jtorch._base.size import Size
from jtorch.distributions import constraints
from jtorch.distributions.distribution import Number, broadcast_all
from jtorch.distributions.transform import (
    CatTransform,
    ComposeTransform,
    IndependentTransform,
    OfItsKind,
    ReshapeTransform,
    StackTransform,
    Transform,
    identity_transform,
    too_few,
)
from jtorch.distributions.transform import _InverseTransform as _InverseTransform
from jtorch.distributions.utils import tril_matrix_to_vec, vec_to_tril_matrix
from jtorch.tensor import Tensor

__all__ = ["AbsTransform", "AffineTransform", "CatTransform", "ComposeTransform", "CorrCholeskyTransform",
           "CumulativeDistributionTransform", "ExpTransform", "IndependentTransform", "LowerCholeskyTransform",
           "PositiveDefiniteTransform", "PowerTransform", "ReshapeTransform", "SigmoidTransform", "SoftmaxTransform",
           "SoftplusTransform", "StackTransform", "StickBreakingTransform", "TanhTransform", "Transform",
           "identity_transform"]


# ---- numbers -------------------------------------------------------------------------------------------------------

class _Rising(OfItsKind):
    """An increasing function of all real numbers."""

    domain = constraints.real
    bijective = True
    sign = 1


class ExpTransform(_Rising):
    """The transform exp(x). See torch.distributions.transforms.ExpTransform.

    Args:
        cache_size (int): 1 keeps the last argument and result, so that ``inv`` of the result is not computed; 0
            does not.

    Example::

        >>> torch.distributions.ExpTransform()(torch.zeros(2))
        tensor([1., 1.])

    """

    codomain = constraints.positive

    def _call(self, x: Any) -> Any:
        return x.exp()

    def _inverse(self, y: Any) -> Any:
        return y.log()

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return x


def _inside_unit(x: Any) -> Any:
    info = finfo(x.dtype)
    return x.clamp(min=info.tiny, max=1.0 - info.eps)


def _clipped_sigmoid(x: Any) -> Any:
    """Return the sigmoid, clamped to the open interval (0, 1)."""
    return _inside_unit(x.sigmoid())


class SigmoidTransform(_Rising):
    """The transform 1 / (1 + exp(-x)), clamped to the open interval (0, 1).

    See torch.distributions.transforms.SigmoidTransform.

    Args:
        cache_size (int): 1 keeps the last argument and result, so that ``inv`` of the result is not computed; 0
            does not.

    Example::

        >>> torch.distributions.SigmoidTransform()(torch.zeros(2))
        tensor([0.5000, 0.5000])

    """

    codomain = constraints.unit_interval

    def _call(self, x: Any) -> Any:
        return _clipped_sigmoid(x)

    def _inverse(self, y: Any) -> Any:
        y = _inside_unit(y)
        return y.log() - (-y).log1p()

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return -nn_functions.softplus(-x) - nn_functions.softplus(x)


class SoftplusTransform(_Rising):
    """The transform log(1 + exp(x)). See torch.distributions.transforms.SoftplusTransform.

    Args:
        cache_size (int): 1 keeps the last argument and result, so that ``inv`` of the result is not computed; 0
            does not.

    Example::

        >>> torch.distributions.SoftplusTransform()(torch.zeros(2))
        tensor([0.6931, 0.6931])

    """

    codomain = constraints.positive

    def _call(self, x: Any) -> Any:
        return nn_functions.softplus(x)

    def _inverse(self, y: Any) -> Any:
        return (-y).expm1().neg().log() + y

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return -nn_functions.softplus(-x)


class TanhTransform(_Rising):
    """The transform tanh(x). See torch.distributions.transforms.TanhTransform.

    Args:
        cache_size (int): 1 keeps the last argument and result, so that ``inv`` of the result is not computed; 0
            does not.

    Example::

        >>> torch.distributions.TanhTransform()(torch.zeros(2))
        tensor([0., 0.])

    """

    codomain = constraints.interval(-1.0, 1.0)

    def _call(self, x: Any) -> Any:
        return x.tanh()

    def _inverse(self, y: Any) -> Any:
        return y.atanh()

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return 2.0 * (math.log(2.0) - x - nn_functions.softplus(-2.0 * x))


class AbsTransform(OfItsKind):
    """The transform abs(x). Its inverse returns the nonnegative number; it is not bijective.

    See torch.distributions.transforms.AbsTransform.

    Args:
        cache_size (int): 1 keeps the last argument and result, so that ``inv`` of the result is not computed; 0
            does not.

    Example::

        >>> torch.distributions.AbsTransform()(torch.tensor([-1.0, 2.0]))
        tensor([1., 2.])

    """

    domain = constraints.real
    codomain = constraints.positive

    def _call(self, x: Any) -> Any:
        return x.abs()

    def _inverse(self, y: Any) -> Any:
        return y


def _broadcast(shape: Any, *parameters: Any) -> Size:
    return Size(functions.broadcast_shapes(shape, *[getattr(p, "shape", ()) for p in parameters]))


class PowerTransform(Transform):
    """The transform x ** exponent for positive x. See torch.distributions.transforms.PowerTransform.

    Args:
        exponent (float or Tensor): nonzero; broadcasts with the argument.
        cache_size (int): 1 keeps the last argument and result, so that ``inv`` of the result is not computed; 0
            does not.

    Example::

        >>> torch.distributions.PowerTransform(2.0)(torch.tensor([1.0, 3.0]))
        tensor([1., 9.])

    """

    domain = codomain = constraints.positive
    bijective = True

    def __init__(self, exponent: Any, cache_size: int = 0):
        super().__init__(cache_size)
        self.exponent, = broadcast_all(exponent)

    def _with_cache(self, cache_size: int) -> Any:
        return PowerTransform(self.exponent, cache_size)

    @property
    def sign(self) -> Any:
        return self.exponent.sign()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PowerTransform) and bool((self.exponent == other.exponent).all())

    __hash__ = None     # type: ignore[assignment]

    def _call(self, x: Any) -> Any:
        return x.pow(self.exponent)

    def _inverse(self, y: Any) -> Any:
        return y.pow(1 / self.exponent)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return (self.exponent * y / x).abs().log()

    def forward_shape(self, shape: Any) -> Any:
        return _broadcast(shape, self.exponent)

    inverse_shape = forward_shape


def _same(a: Any, b: Any) -> bool:
    same = a == b
    return bool(same.all()) if isinstance(same, Tensor) else same


class AffineTransform(Transform):
    """The transform loc + scale x. See torch.distributions.transforms.AffineTransform.

    Args:
        loc (float or Tensor): broadcasts with the argument.
        scale (float or Tensor): nonzero; broadcasts with the argument.
        event_dim (int): the number of dims of an event, over which the log determinant sums.
        cache_size (int): 1 keeps the last argument and result, so that ``inv`` of the result is not computed; 0
            does not.

    Example::

        >>> torch.distributions.AffineTransform(1.0, 2.0)(torch.tensor([0.0, 1.0]))
        tensor([1., 3.])

    """

    bijective = True

    def __init__(self, loc: Any, scale: Any, event_dim: int = 0, cache_size: int = 0):
        super().__init__(cache_size)
        self.loc, self.scale, self._event_dim = loc, scale, event_dim

    @property
    def event_dim(self) -> int:
        return self._event_dim

    @constraints.dependent_property(is_discrete=False)
    def domain(self) -> Any:
        """Return the constraint: real numbers, or arrays of them."""
        return constraints.independent(constraints.real, self.event_dim) if self.event_dim else constraints.real

    codomain = domain

    def _with_cache(self, cache_size: int) -> Any:
        return AffineTransform(self.loc, self.scale, self.event_dim, cache_size)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AffineTransform) and _same(self.loc, other.loc) and _same(self.scale, other.scale)

    __hash__ = None     # type: ignore[assignment]

    @property
    def sign(self) -> Any:
        if isinstance(self.scale, Number):
            return int(self.scale > 0) - int(self.scale < 0)       # type: ignore[operator]
        return self.scale.sign()

    def _call(self, x: Any) -> Any:
        return self.loc + self.scale * x

    def _inverse(self, y: Any) -> Any:
        return (y - self.loc) / self.scale

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        if isinstance(self.scale, Number):
            result = functions.full_like(x, math.log(abs(self.scale)))
        else:
            result = self.scale.abs().log()
        if not self.event_dim:
            return result.expand(x.shape)
        result = result.view((*result.shape[:-self.event_dim], -1)).sum(-1)
        return result.expand(x.shape[:-self.event_dim])

    def forward_shape(self, shape: Any) -> Any:
        return _broadcast(shape, self.loc, self.scale)

    inverse_shape = forward_shape


class CumulativeDistributionTransform(Transform):
    """The transform by a distribution's ``cdf``, to [0, 1].

    See torch.distributions.transforms.CumulativeDistributionTransform.

    Args:
        distribution (Distribution): has ``cdf``, ``icdf`` and ``log_prob``.
        cache_size (int): 1 keeps the last argument and result, so that ``inv`` of the result is not computed; 0
            does not.

    Example::

        >>> D = torch.distributions
        >>> D.CumulativeDistributionTransform(D.Normal(0.0, 1.0))(torch.zeros(2))
        tensor([0.5000, 0.5000])

    """

    codomain = constraints.unit_interval
    bijective = True
    sign = 1

    def __init__(self, distribution: Any, cache_size: int = 0):
        super().__init__(cache_size)
        self.distribution = distribution

    @property
    def domain(self) -> Any:            # type: ignore[override]
        """Return the distribution's support."""
        return self.distribution.support

    def _with_cache(self, cache_size: int) -> Any:
        return CumulativeDistributionTransform(self.distribution, cache_size)

    def _call(self, x: Any) -> Any:
        return self.distribution.cdf(x)

    def _inverse(self, y: Any) -> Any:
        return self.distribution.icdf(y)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return self.distribution.log_prob(x)


# ---- vectors -------------------------------------------------------------------------------------------------------

class SoftmaxTransform(OfItsKind):
    """The transform softmax(x) along the last dim. Its inverse is the logarithm; it is not bijective.

    See torch.distributions.transforms.SoftmaxTransform.

    Args:
        cache_size (int): 1 keeps the last argument and result, so that ``inv`` of the result is not computed; 0
            does not.

    Raises:
        ValueError: for a shape without dims.

    Example::

        >>> torch.distributions.SoftmaxTransform()(torch.zeros(2))
        tensor([0.5000, 0.5000])

    """

    domain = constraints.real_vector
    codomain = constraints.simplex

    def _call(self, x: Any) -> Any:
        return x.softmax(-1)

    def _inverse(self, y: Any) -> Any:
        return y.log()

    def forward_shape(self, shape: Any) -> Any:
        too_few(shape, 1)
        return shape

    inverse_shape = forward_shape


class StickBreakingTransform(OfItsKind):
    """The transform of n numbers to n + 1 positive numbers with sum 1, by stick breaking.

    The sigmoid of each number is the fraction of the remainder that the next element takes. The numbers are shifted so
    that zeros give equal parts. See torch.distributions.transforms.StickBreakingTransform.

    Args:
        cache_size (int): 1 keeps the last argument and result, so that ``inv`` of the result is not computed; 0
            does not.

    Raises:
        ValueError: for a shape without dims.

    Example::

        >>> torch.distributions.StickBreakingTransform()(torch.zeros(1))
        tensor([0.5000, 0.5000])

    """

    domain = constraints.real_vector
    codomain = constraints.simplex
    bijective = True

    def _call(self, x: Any) -> Any:
        z = _clipped_sigmoid(x - _left(x).log())
        pad = nn_functions.pad
        return pad(z, [0, 1], value=1) * pad((1 - z).cumprod(-1), [1, 0], value=1)

    def _inverse(self, y: Any) -> Any:
        y = y[..., :-1]
        rest = (1 - y.cumsum(-1)).clamp(min=finfo(y.dtype).tiny)
        return y.log() - rest.log() + _left(y).log()

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        x = x - _left(x).log()
        return (-x + nn_functions.logsigmoid(x) + y[..., :-1].log()).sum(-1)

    def forward_shape(self, shape: Any) -> Any:
        return _longer(shape, 1)

    def inverse_shape(self, shape: Any) -> Any:
        return _longer(shape, -1)


def _longer(shape: Any, by: int) -> Size:
    too_few(shape, 1)
    return Size((*shape[:-1], shape[-1] + by))


def _left(x: Any) -> Any:
    """Return n, n - 1, …, 1 for n numbers. A shift of the numbers by the logarithms makes zeros give equal parts."""
    n = x.shape[-1]
    return functions.arange(n, 0, -1, dtype=x.dtype, device=x.device)


# ---- matrices ------------------------------------------------------------------------------------------------------

class LowerCholeskyTransform(OfItsKind):
    """The transform of square matrices to lower triangular ones with a positive diagonal.

    The transform applies exp to the diagonal and sets elements above the diagonal to 0. See
    torch.distributions.transforms.LowerCholeskyTransform.

    Args:
        cache_size (int): 1 keeps the last argument and result, so that ``inv`` of the result is not computed; 0
            does not.

    Example::

        >>> torch.distributions.LowerCholeskyTransform()(torch.zeros(2, 2))
        tensor([[1., 0.],
                [0., 1.]])

    """

    domain = constraints.independent(constraints.real, 2)
    codomain = constraints.lower_cholesky

    def _call(self, x: Any) -> Any:
        return x.tril(-1) + x.diagonal(dim1=-2, dim2=-1).exp().diag_embed()

    def _inverse(self, y: Any) -> Any:
        return y.tril(-1) + y.diagonal(dim1=-2, dim2=-1).log().diag_embed()


class PositiveDefiniteTransform(OfItsKind):
    """The transform of square matrices to positive definite ones, by LowerCholeskyTransform's factor.

    See torch.distributions.transforms.PositiveDefiniteTransform.

    Args:
        cache_size (int): 1 keeps the last argument and result, so that ``inv`` of the result is not computed; 0
            does not.

    Example::

        >>> torch.distributions.PositiveDefiniteTransform()(torch.zeros(2, 2))
        tensor([[1., 0.],
                [0., 1.]])

    """

    domain = constraints.independent(constraints.real, 2)
    codomain = constraints.positive_definite

    def _call(self, x: Any) -> Any:
        lower = LowerCholeskyTransform()(x)
        return lower @ lower.mT

    def _inverse(self, y: Any) -> Any:
        return LowerCholeskyTransform().inv(functions.linalg.cholesky(y))


class CorrCholeskyTransform(Transform):
    """The transform of n (n - 1) / 2 numbers to the lower Cholesky factor of an n x n correlation matrix.

    Each row becomes a vector of length 1, by stick breaking. See
    torch.distributions.transforms.CorrCholeskyTransform.

    Args:
        cache_size (int): 1 keeps the last argument and result, so that ``inv`` of the result is not computed; 0
            does not.

    Raises:
        ValueError: for a number of elements that fills no triangle.

    Source: Lewandowski, Kurowicka and Joe 2009, Generating random correlation matrices.

    Example::

        >>> torch.distributions.CorrCholeskyTransform()(torch.zeros(1))
        tensor([[1., 0.],
                [0., 1.]])

    """

    domain = constraints.real_vector
    codomain = constraints.corr_cholesky
    bijective = True

    def _call(self, x: Any) -> Any:
        eps = finfo(x.dtype).eps
        r = vec_to_tril_matrix(x.tanh().clamp(min=-1 + eps, max=1 - eps), -1)
        left = (1 - r ** 2).sqrt().cumprod(-1)[..., :-1]
        return (r + functions.eye(r.shape[-1], dtype=r.dtype, device=r.device)) * nn_functions.pad(left, [1, 0], value=1)

    def _inverse(self, y: Any) -> Any:
        left = nn_functions.pad((1 - (y * y).cumsum(-1))[..., :-1], [1, 0], value=1)
        t = tril_matrix_to_vec(y, -1) / tril_matrix_to_vec(left, -1).sqrt()
        return (t.log1p() - (-t).log1p()) / 2

    def log_abs_det_jacobian(self, x: Any, y: Any, intermediates: Any = None) -> Any:
        left = tril_matrix_to_vec(1 - (y * y).cumsum(-1), -2)
        return 0.5 * left.log().sum(-1) - 2 * (x + nn_functions.softplus(-2 * x) - math.log(2.0)).sum(-1)

    def forward_shape(self, shape: Any) -> Any:
        too_few(shape, 1)
        count = shape[-1]
        n = round((0.25 + 2 * count) ** 0.5 + 0.5)
        if n * (n - 1) // 2 != count:
            raise ValueError("Input is not a flattened lower-diagonal number")
        return Size((*shape[:-1], n, n))

    def inverse_shape(self, shape: Any) -> Any:
        too_few(shape, 2)
        if shape[-2] != shape[-1]:
            raise ValueError("Input is not square")
        return Size((*shape[:-2], shape[-1] * (shape[-1] - 1) // 2))

del OfItsKind, _Rising      # PyTorch's module does not have these names
