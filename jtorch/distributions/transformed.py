"""Distributions of transformed samples."""
from __future__ import annotations

import math
from typing import Any

from jtorch._api import functions
from jtorch._base.dtype_info import finfo
from jtorch._base.size import NO_DIMS, Size
from jtorch.distributions import constraints
from jtorch.distributions.continuous import EULER, Cauchy, Exponential, Normal, Uniform
from jtorch.distributions.distribution import Distribution, broadcast_all, checked, sum_last
from jtorch.distributions.gamma import Gamma
from jtorch.distributions.transforms import (
    AbsTransform,
    AffineTransform,
    ComposeTransform,
    ExpTransform,
    PowerTransform,
    StickBreakingTransform,
    Transform,
)
from jtorch.distributions.vectors import Independent
from jtorch.no_grad import no_grad


def _listed(transforms: Any) -> list:
    if isinstance(transforms, Transform):
        return [transforms]
    if not isinstance(transforms, list):
        raise ValueError(f"transforms must be a Transform or list, but was {transforms}")
    if not all([isinstance(t, Transform) for t in transforms]):
        raise ValueError("transforms must be a Transform or a list of Transforms")
    return transforms


def _shape(d: Any) -> tuple[int, ...]:
    return (*d.batch_shape, *d.event_shape)


def _fitting(base: Any, whole: Any) -> Any:
    """Expand the base's batch to the shape that the transform needs, and move batch dims into the event if it needs more."""
    shape, n = _shape(base), len(base.event_shape)
    need = whole.domain.event_dim
    if len(shape) < need:
        raise ValueError(f"base_distribution needs to have shape with size at least {need}, but got {Size(shape)}.")
    wanted = tuple(whole.inverse_shape(whole.forward_shape(Size(shape))))
    if wanted != shape:
        base = base.expand(Size(wanted[:len(wanted) - n]))
    return Independent(base, need - n) if need > n else base


class TransformedDistribution(Distribution):
    """The distribution of samples of ``base_distribution`` after ``transforms``.

    Its density follows from the base's by the change of variables. See torch.distributions.TransformedDistribution.

    Args:
        base_distribution (Distribution): draws the numbers that are transformed.
        transforms (Transform or list of Transforms): applied in order.
        validate_args (bool or None): whether to check parameters and values; None takes the default.

    Raises:
        ValueError: for transforms of another type, or a base with too few dims for them.

    Example::

        >>> D = torch.distributions
        >>> D.TransformedDistribution(D.Normal(0.0, 1.0), D.ExpTransform()).log_prob(torch.tensor(1.0))
        tensor(-0.9189)

    """

    arg_constraints = {}
    _not_of_batch = ("base_dist", "transforms")

    def __init__(self, base_distribution: Any, transforms: Any, validate_args: bool | None = None):
        self.transforms = _listed(transforms)
        whole = ComposeTransform(self.transforms)
        self.base_dist = _fitting(base_distribution, whole)
        shape = whole.forward_shape(Size(_shape(base_distribution)))
        taken, given = whole.domain.event_dim, whole.codomain.event_dim
        cut = len(shape) - max(given, len(base_distribution.event_shape) + given - taken)
        super().__init__(shape[:cut], shape[cut:], validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = super().expand(batch_shape, _instance)
        shape = ComposeTransform(self.transforms).inverse_shape(Size((*batch_shape, *self._event_shape)))
        new.base_dist = self.base_dist.expand(shape[:len(shape) - len(self.base_dist.event_shape)])
        return new

    @constraints.dependent_property(is_discrete=False)
    def support(self) -> Any:           # type: ignore[override]
        """Return the last transform's codomain."""
        if not self.transforms:
            return self.base_dist.support
        last = self.transforms[-1].codomain
        more = len(self._event_shape) - last.event_dim
        return constraints.independent(last, more) if more > 0 else last

    @property
    def has_rsample(self) -> bool:      # type: ignore[override]
        """Return whether the base distribution has ``rsample``."""
        return self.base_dist.has_rsample

    def _forward(self, x: Any) -> Any:
        for transform in self.transforms:
            x = transform(x)
        return x

    def sample(self, sample_shape: Any = NO_DIMS) -> Any:
        with no_grad():
            return self._forward(self.base_dist.sample(sample_shape))

    def rsample(self, sample_shape: Any = NO_DIMS) -> Any:
        return self._forward(self.base_dist.rsample(sample_shape))

    @checked
    def log_prob(self, value: Any) -> Any:
        n, total = len(self._event_shape), 0.0
        for t in reversed(self.transforms):
            x = t.inv(value)
            n += t.domain.event_dim - t.codomain.event_dim
            total = total - sum_last(t.log_abs_det_jacobian(x, value), n - t.domain.event_dim)
            value = x
        return total + sum_last(self.base_dist.log_prob(value), n - len(self.base_dist.event_shape))

    def _risen(self, probability: Any) -> Any:
        """Return the probability p, or 1 - p where the composed transform is decreasing."""
        sign = ComposeTransform(self.transforms).sign
        return probability if isinstance(sign, int) and sign == 1 else sign * (probability - 0.5) + 0.5

    def cdf(self, value: Any) -> Any:
        for transform in reversed(self.transforms):
            value = transform.inv(value)
        if self._validate_args:
            self.base_dist._validate_sample(value)
        return self._risen(self.base_dist.cdf(value))

    def icdf(self, value: Any) -> Any:
        return self._forward(self.base_dist.icdf(self._risen(value)))


# ---- transforms of a normal distribution ---------------------------------------------------------------------------

class LogNormal(TransformedDistribution):
    """The log-normal distribution: exp of a normally distributed number. See torch.distributions.LogNormal.

    The parameters broadcast to ``batch_shape``. Samples have their dtype.

    Args:
        loc (float or Tensor): the mean of the logarithm; any shape, floating dtype.
        scale (float or Tensor): the standard deviation of the logarithm, positive; any shape, floating dtype.
        validate_args (bool or None): whether to check parameters and values; None takes the default.

    Raises:
        ValueError: for a parameter outside its constraint, or for a value in ``log_prob`` outside the support.

    Example::

        >>> torch.distributions.LogNormal(0.0, 1.0).mean
        tensor(1.6487)

    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.positive
    has_rsample = True

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None):
        super().__init__(Normal(loc, scale, validate_args), ExpTransform(), validate_args)

    @property
    def loc(self) -> Any:
        """Return the mean of the logarithm."""
        return self.base_dist.loc

    @property
    def scale(self) -> Any:
        """Return the standard deviation of the logarithm."""
        return self.base_dist.scale

    @property
    def mean(self) -> Any:
        """Return exp(loc + scale ** 2 / 2)."""
        return (self.loc + self.scale.pow(2) / 2).exp()

    @property
    def mode(self) -> Any:
        """Return the value of highest density."""
        return (self.loc - self.scale.square()).exp()

    @property
    def variance(self) -> Any:
        """Return the variance."""
        square = self.scale.pow(2)
        return square.expm1() * (2 * self.loc + square).exp()

    def entropy(self) -> Any:
        return self.base_dist.entropy() + self.loc


class LogisticNormal(TransformedDistribution):
    """The logistic-normal distribution: normally distributed vectors mapped to the simplex by stick breaking.

    Samples have one element more than ``loc``, and sum to 1. See torch.distributions.LogisticNormal.

    Args:
        loc (float or Tensor): the mean before the mapping, (*batch, n - 1), floating dtype.
        scale (float or Tensor): the standard deviations before the mapping, (*batch, n - 1), positive.
        validate_args (bool or None): whether to check parameters and values; None takes the default.

    Raises:
        ValueError: for a parameter outside its constraint, or for a value in ``log_prob`` outside the support.

    Example::

        >>> torch.distributions.LogisticNormal(torch.zeros(2), torch.ones(2)).event_shape
        torch.Size([3])

    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.simplex
    has_rsample = True

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None):
        base = Normal(loc, scale, validate_args)
        super().__init__(base if base.batch_shape else base.expand((1,)), StickBreakingTransform(), validate_args)

    @property
    def loc(self) -> Any:
        """Return the mean of the vector before the mapping."""
        return self.base_dist.base_dist.loc

    @property
    def scale(self) -> Any:
        """Return the standard deviations before the mapping."""
        return self.base_dist.base_dist.scale


class _Half(TransformedDistribution):
    """The absolute value of a number whose distribution is symmetric about 0."""

    arg_constraints = {"scale": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True
    _base: type

    def __init__(self, scale: Any, validate_args: bool | None = None):
        super().__init__(self._base(0, scale, validate_args=False), AbsTransform(), validate_args)

    @property
    def scale(self) -> Any:
        """Return the scale of the symmetric distribution."""
        return self.base_dist.scale

    @property
    def mode(self) -> Any:
        """Return 0."""
        return functions.zeros_like(self.scale)

    @checked
    def log_prob(self, value: Any) -> Any:
        return functions.where(value >= 0, self.base_dist.log_prob(value) + math.log(2), -math.inf)

    @checked
    def cdf(self, value: Any) -> Any:
        return 2 * self.base_dist.cdf(value) - 1

    def icdf(self, prob: Any) -> Any:
        return self.base_dist.icdf((prob + 1) / 2)

    def entropy(self) -> Any:
        return self.base_dist.entropy() - math.log(2)


class HalfNormal(_Half):
    """The half-normal distribution: the absolute value of a normal number with mean 0.

    Samples have the dtype of ``scale``. See torch.distributions.HalfNormal.

    Args:
        scale (float or Tensor): the normal distribution's standard deviation, positive; any shape, floating
            dtype.
        validate_args (bool or None): whether to check parameters and values; None takes the default.

    Raises:
        ValueError: for a parameter outside its constraint, or for a value in ``log_prob`` outside the support.

    Example::

        >>> torch.distributions.HalfNormal(1.0).mean
        tensor(0.7979)

    """

    _base = Normal

    @property
    def mean(self) -> Any:
        """Return the mean."""
        return self.scale * math.sqrt(2 / math.pi)

    @property
    def variance(self) -> Any:
        """Return the variance."""
        return self.scale.pow(2) * (1 - 2 / math.pi)


class HalfCauchy(_Half):
    """The half-Cauchy distribution: the absolute value of a Cauchy number with median 0. Its mean is inf.

    Samples have the dtype of ``scale``. See torch.distributions.HalfCauchy.

    Args:
        scale (float or Tensor): the Cauchy distribution's scale, positive; any shape, floating dtype.
        validate_args (bool or None): whether to check parameters and values; None takes the default.

    Raises:
        ValueError: for a parameter outside its constraint, or for a value in ``log_prob`` outside the support.

    Example::

        >>> torch.distributions.HalfCauchy(1.0).cdf(torch.tensor(1.0))
        tensor(0.5000)

    """

    _base = Cauchy

    @property
    def mean(self) -> Any:
        """Return inf."""
        return functions.full_like(self.scale, math.inf)

    @property
    def variance(self) -> Any:
        """Return inf."""
        return self.base_dist.variance


# ---- transforms of other distributions -----------------------------------------------------------------------------

class Gumbel(TransformedDistribution):
    """The Gumbel distribution: loc - scale log(-log(u)) for a uniform number u. See torch.distributions.Gumbel.

    It is the limit distribution of the largest of many numbers. The parameters broadcast to ``batch_shape``. Samples
    have their dtype.

    Args:
        loc (float or Tensor): the mode; any shape, floating dtype.
        scale (float or Tensor): the scale, positive; any shape, floating dtype.
        validate_args (bool or None): whether to check parameters and values; None takes the default.

    Raises:
        ValueError: for a parameter outside its constraint, or for a value in ``log_prob`` outside the support.

    Example::

        >>> torch.distributions.Gumbel(0.0, 1.0).mean
        tensor(0.5772)

    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None):
        self.loc, self.scale = broadcast_all(loc, scale)
        info, log = finfo(self.loc.dtype), ExpTransform().inv
        one = functions.ones_like(self.scale)
        base = Uniform(one * info.tiny, one * (1 - info.eps), validate_args)
        steps = [log, AffineTransform(0, -one), log, AffineTransform(self.loc, -self.scale)]
        super().__init__(base, steps, validate_args)

    @property
    def mean(self) -> Any:
        """Return the mean."""
        return self.loc + self.scale * EULER

    @property
    def mode(self) -> Any:
        """Return ``loc``."""
        return self.loc

    @property
    def stddev(self) -> Any:
        """Return the standard deviation."""
        return (math.pi / math.sqrt(6)) * self.scale

    @property
    def variance(self) -> Any:
        """Return the variance."""
        return self.stddev.pow(2)

    @checked
    def log_prob(self, value: Any) -> Any:
        y = (self.loc - value) / self.scale
        return (y - y.exp()) - self.scale.log()

    def entropy(self) -> Any:
        return self.scale.log() + (1 + EULER)


class InverseGamma(TransformedDistribution):
    """The inverse gamma distribution: 1 over a gamma distributed number. See torch.distributions.InverseGamma.

    The mean is inf for concentration <= 1, and the variance for concentration <= 2. The parameters broadcast to
    ``batch_shape``. Samples have their dtype.

    Args:
        concentration (float or Tensor): the shape, positive; any shape, floating dtype.
        rate (float or Tensor): the gamma distribution's rate, positive; any shape, floating dtype.
        validate_args (bool or None): whether to check parameters and values; None takes the default.

    Raises:
        ValueError: for a parameter outside its constraint, or for a value in ``log_prob`` outside the support.

    Example::

        >>> torch.distributions.InverseGamma(3.0, 1.0).mean
        tensor(0.5000)

    """

    arg_constraints = {"concentration": constraints.positive, "rate": constraints.positive}
    support = constraints.positive
    has_rsample = True

    def __init__(self, concentration: Any, rate: Any, validate_args: bool | None = None):
        base = Gamma(concentration, rate, validate_args)
        super().__init__(base, PowerTransform(-base.rate.new_ones(())), validate_args)

    @property
    def concentration(self) -> Any:
        """Return the gamma distribution's concentration."""
        return self.base_dist.concentration

    @property
    def rate(self) -> Any:
        """Return the gamma distribution's rate."""
        return self.base_dist.rate

    @property
    def mean(self) -> Any:
        """Return the mean, or inf where concentration <= 1."""
        return functions.where(self.concentration > 1, self.rate / (self.concentration - 1), math.inf)

    @property
    def mode(self) -> Any:
        """Return the value of highest density."""
        return self.rate / (self.concentration + 1)

    @property
    def variance(self) -> Any:
        """Return the variance, or inf where concentration <= 2."""
        a = self.concentration
        return functions.where(a > 2, self.rate.square() / ((a - 1).square() * (a - 2)), math.inf)

    def entropy(self) -> Any:
        a = self.concentration
        return a + self.rate.log() + a.lgamma() - (1 + a) * a.digamma()


class Kumaraswamy(TransformedDistribution):
    """The Kumaraswamy distribution on [0, 1], with density a b x**(a-1) (1-x**a)**(b-1).

    It resembles the beta distribution; its ``cdf`` has a closed form. The parameters broadcast to ``batch_shape``.
    Samples have their dtype. See torch.distributions.Kumaraswamy.

    Args:
        concentration1 (float or Tensor): a, positive; any shape, floating dtype.
        concentration0 (float or Tensor): b, positive; any shape, floating dtype.
        validate_args (bool or None): whether to check parameters and values; None takes the default.

    Raises:
        ValueError: for a parameter outside its constraint, or for a value in ``log_prob`` outside the support.

    Example::

        >>> torch.distributions.Kumaraswamy(1.0, 1.0).mean
        tensor(0.5000)

    """

    arg_constraints = {"concentration1": constraints.positive, "concentration0": constraints.positive}
    support = constraints.unit_interval
    has_rsample = True

    def __init__(self, concentration1: Any, concentration0: Any, validate_args: bool | None = None):
        a, b = self.concentration1, self.concentration0 = broadcast_all(concentration1, concentration0)
        base = Uniform(functions.zeros_like(b), functions.ones_like(b), validate_args)
        super().__init__(base, [PowerTransform(b.reciprocal()), AffineTransform(1.0, -1.0), PowerTransform(a.reciprocal())],
                         validate_args)

    def _moment(self, n: int) -> Any:
        above, b = 1 + n / self.concentration1, self.concentration0
        return b * (above.lgamma() + b.lgamma() - (above + b).lgamma()).exp()

    @property
    def mean(self) -> Any:
        """Return the mean."""
        return self._moment(1)

    @property
    def mode(self) -> Any:
        """Return the value of highest density, or nan where a concentration is below 1."""
        a, b = self.concentration1, self.concentration0
        log_mode = b.reciprocal() * (-b).log1p() - (-b * a).log1p()
        return log_mode.masked_fill((b < 1) | (a < 1), math.nan).exp()

    @property
    def variance(self) -> Any:
        """Return the variance."""
        return self._moment(2) - self.mean.pow(2)

    def entropy(self) -> Any:
        a, b = self.concentration1, self.concentration0
        return 1 - b.reciprocal() + (1 - a.reciprocal()) * ((b + 1).digamma() + EULER) - a.log() - b.log()


class Weibull(TransformedDistribution):
    """The Weibull distribution: scale times an exponential number to the power 1 / concentration.

    The parameters broadcast to ``batch_shape``. Samples have their dtype. See torch.distributions.Weibull.

    Args:
        scale (float or Tensor): the scale, positive; any shape, floating dtype.
        concentration (float or Tensor): the shape, positive; any shape, floating dtype.
        validate_args (bool or None): whether to check parameters and values; None takes the default.

    Raises:
        ValueError: for a parameter outside its constraint, or for a value in ``log_prob`` outside the support.

    Example::

        >>> torch.distributions.Weibull(1.0, 1.0).mean
        tensor(1.)

    """

    arg_constraints = {"scale": constraints.positive, "concentration": constraints.positive}
    support = constraints.positive

    def __init__(self, scale: Any, concentration: Any, validate_args: bool | None = None):
        self.scale, self.concentration = broadcast_all(scale, concentration)
        self.concentration_reciprocal = self.concentration.reciprocal()
        base = Exponential(functions.ones_like(self.scale), validate_args)
        super().__init__(base, [PowerTransform(self.concentration_reciprocal), AffineTransform(0, self.scale)], validate_args)

    def _log_moment(self, n: int) -> Any:
        return (1 + n * self.concentration_reciprocal).lgamma()

    @property
    def mean(self) -> Any:
        """Return the mean."""
        return self.scale * self._log_moment(1).exp()

    @property
    def mode(self) -> Any:
        """Return the value of highest density."""
        return self.scale * ((self.concentration - 1) / self.concentration) ** self.concentration.reciprocal()

    @property
    def variance(self) -> Any:
        """Return the variance."""
        return self.scale.pow(2) * (self._log_moment(2).exp() - (2 * self._log_moment(1)).exp())

    def entropy(self) -> Any:
        inverse = self.concentration_reciprocal
        return EULER * (1 - inverse) + (self.scale * inverse).log() + 1


class Pareto(TransformedDistribution):
    """The Pareto distribution on [scale, inf), with density alpha scale ** alpha / x ** (alpha + 1).

    The mean is inf for alpha <= 1, and the variance for alpha <= 2. The parameters broadcast to ``batch_shape``.
    Samples have their dtype. See torch.distributions.Pareto.

    Args:
        scale (float or Tensor): the smallest value, positive; any shape, floating dtype.
        alpha (float or Tensor): the tail's exponent, positive; any shape, floating dtype.
        validate_args (bool or None): whether to check parameters and values; None takes the default.

    Raises:
        ValueError: for a parameter outside its constraint, or for a value in ``log_prob`` outside the support.

    Example::

        >>> torch.distributions.Pareto(1.0, 3.0).mean
        tensor(1.5000)

    """

    arg_constraints = {"alpha": constraints.positive, "scale": constraints.positive}

    def __init__(self, scale: Any, alpha: Any, validate_args: bool | None = None):
        self.scale, self.alpha = broadcast_all(scale, alpha)
        base = Exponential(self.alpha, validate_args)
        super().__init__(base, [ExpTransform(), AffineTransform(0, self.scale)], validate_args)

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> Any:           # type: ignore[override]
        """Return the interval from scale to inf."""
        return constraints.greater_than_eq(self.scale)

    @property
    def mean(self) -> Any:
        """Return the mean, or inf where alpha <= 1."""
        a = self.alpha.clamp(min=1)
        return a * self.scale / (a - 1)

    @property
    def mode(self) -> Any:
        """Return ``scale``."""
        return self.scale

    @property
    def variance(self) -> Any:
        """Return the variance, or inf where alpha <= 2."""
        a = self.alpha.clamp(min=2)
        return self.scale.pow(2) * a / ((a - 1).pow(2) * (a - 2))

    def entropy(self) -> Any:
        return (self.scale / self.alpha).log() + (1 + self.alpha.reciprocal())
