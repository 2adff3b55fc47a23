"""Continuous distributions of numbers."""
from __future__ import annotations

import math
from typing import Any

from jtorch._api import functions
from jtorch._base.dtype_info import finfo
from jtorch._base.size import NO_DIMS
from jtorch.distributions import constraints
from jtorch.distributions._families import AtLoc, Parametrized
from jtorch.distributions.distribution import ExponentialFamily, checked, standard_normal
from jtorch.no_grad import no_grad

EULER = 0.57721566490153286060


class _Located(AtLoc, Parametrized):
    """A distribution with a location and a scale."""

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support: Any = constraints.real
    has_rsample = True
    loc: Any
    scale: Any

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None):
        self._set(validate_args, loc=loc, scale=scale)


class Normal(_Located, ExponentialFamily):
    """The normal distribution with mean ``loc`` and standard deviation ``scale``. See torch.distributions.Normal.

    The parameters broadcast to ``batch_shape``. Samples have their dtype.

    Args:
        loc (float or Tensor): the mean; any shape, floating dtype.
        scale (float or Tensor): the standard deviation, positive; any shape, floating dtype.
        validate_args (bool or None): whether to check parameters and values; None takes the default.

    Raises:
        ValueError: for a parameter outside its constraint, or for a value in ``log_prob`` outside the support.

    Example::

        >>> torch.distributions.Normal(0.0, 1.0).log_prob(torch.tensor(0.0))
        tensor(-0.9189)

    """

    _mean_carrier_measure = 0

    @property
    def stddev(self) -> Any:
        """Return ``scale``."""
        return self.scale

    @property
    def variance(self) -> Any:
        """Return scale ** 2."""
        return self.stddev.pow(2)

    def sample(self, sample_shape: Any = NO_DIMS) -> Any:
        """See Distribution.sample."""
        shape = self._extended_shape(sample_shape)
        with no_grad():
            return functions.normal(self.loc.expand(shape), self.scale.expand(shape))

    def rsample(self, sample_shape: Any = NO_DIMS) -> Any:
        """See Distribution.rsample."""
        return self.loc + standard_normal(self.loc, self._extended_shape(sample_shape)) * self.scale

    @checked
    def log_prob(self, value: Any) -> Any:
        """See Distribution.log_prob."""
        return -((value - self.loc) ** 2) / (2 * self.scale ** 2) - self.scale.log() - math.log(math.sqrt(2 * math.pi))

    @checked
    def cdf(self, value: Any) -> Any:
        """See Distribution.cdf."""
        return 0.5 * (1 + ((value - self.loc) * self.scale.reciprocal() / math.sqrt(2)).erf())

    def icdf(self, value: Any) -> Any:
        """See Distribution.icdf."""
        return self.loc + self.scale * (2 * value - 1).erfinv() * math.sqrt(2)

    def entropy(self) -> Any:
        """See Distribution.entropy."""
        return 0.5 + 0.5 * math.log(2 * math.pi) + self.scale.log()

    @property
    def _natural_params(self) -> tuple:         # type: ignore[override]
        return self.loc / self.scale.pow(2), -0.5 * self.scale.pow(2).reciprocal()

    def _log_normalizer(self, x: Any, y: Any) -> Any:       # type: ignore[override]
        return -0.25 * x.pow(2) / y + 0.5 * (-math.pi / y).log()


class Laplace(_Located):
    """The Laplace distribution: exp(-|x - loc| / scale) / (2 scale). See torch.distributions.Laplace.

    The parameters broadcast to ``batch_shape``. Samples have their dtype.

    Args:
        loc (float or Tensor): the mean; any shape, floating dtype.
        scale (float or Tensor): the scale, positive; any shape, floating dtype.
        validate_args (bool or None): whether to check parameters and values; None takes the default.

    Raises:
        ValueError: for a parameter outside its constraint, or for a value in ``log_prob`` outside the support.

    Example::

        >>> torch.distributions.Laplace(0.0, 1.0).log_prob(torch.tensor(0.0))
        tensor(-0.6931)

    """

    @property
    def stddev(self) -> Any:
        """Return the standard deviation."""
        return 2 ** 0.5 * self.scale

    @property
    def variance(self) -> Any:
        """Return the variance."""
        return 2 * self.scale.pow(2)

    def rsample(self, sample_shape: Any = NO_DIMS) -> Any:
        """See Distribution.rsample."""
        u = functions.empty_like(self.loc.expand(self._extended_shape(sample_shape)).contiguous())
        u = u.detach().uniform_(finfo(self.loc.dtype).eps - 1, 1)
        return self.loc - self.scale * u.sign() * (-u.abs()).log1p()

    @checked
    def log_prob(self, value: Any) -> Any:
        """See Distribution.log_prob."""
        return -(2 * self.scale).log() - (value - self.loc).abs() / self.scale

    @checked
    def cdf(self, value: Any) -> Any:
        """See Distribution.cdf."""
        away = value - self.loc
        return 0.5 - 0.5 * away.sign() * (-away.abs() / self.scale).expm1()

    def icdf(self, value: Any) -> Any:
        """See Distribution.icdf."""
        term = value - 0.5
        return self.loc - self.scale * term.sign() * (-2 * term.abs()).log1p()

    def entropy(self) -> Any:
        """See Distribution.entropy."""
        return 1 + (2 * self.scale).log()


class Cauchy(_Located):
    """The Cauchy distribution. Its mean is nan and its variance inf. See torch.distributions.Cauchy.

    The parameters broadcast to ``batch_shape``. Samples have their dtype.

    Args:
        loc (float or Tensor): the median; any shape, floating dtype.
        scale (float or Tensor): half the width at half the maximum, positive; any shape, floating dtype.
        validate_args (bool or None): whether to check parameters and values; None takes the default.

    Raises:
        ValueError: for a parameter outside its constraint, or for a value in ``log_prob`` outside the support.

    Example::

        >>> torch.distributions.Cauchy(0.0, 1.0).cdf(torch.tensor(1.0))
        tensor(0.7500)

    """

    @property
    def mean(self) -> Any:
        """Return nan."""
        return functions.full_like(self.loc, math.nan)

    @property
    def variance(self) -> Any:
        """Return inf."""
        return functions.full_like(self.loc, math.inf)

    def rsample(self, sample_shape: Any = NO_DIMS) -> Any:
        """See Distribution.rsample."""
        shape = self._extended_shape(sample_shape)
        return self.loc + functions.empty(shape, dtype=self.loc.dtype, device=self.loc.device).cauchy_() * self.scale

    @checked
    def log_prob(self, value: Any) -> Any:
        """See Distribution.log_prob."""
        return -math.log(math.pi) - self.scale.log() - (((value - self.loc) / self.scale) ** 2).log1p()

    @checked
    def cdf(self, value: Any) -> Any:
        """See Distribution.cdf."""
        return ((value - self.loc) / self.scale).atan() / math.pi + 0.5

    def icdf(self, value: Any) -> Any:
        """See Distribution.icdf."""
        return (math.pi * (value - 0.5)).tan() * self.scale + self.loc

    def entropy(self) -> Any:
        """See Distribution.entropy."""
        return math.log(4 * math.pi) + self.scale.log()


class Exponential(Parametrized, ExponentialFamily):
    """The exponential distribution: rate exp(-rate x) for x >= 0. See torch.distributions.Exponential.

    Samples have the dtype of ``rate``.

    Args:
        rate (float or Tensor): 1 over the mean, positive; any shape, floating dtype.
        validate_args (bool or None): whether to check parameters and values; None takes the default.

    Raises:
        ValueError: for a parameter outside its constraint, or for a value in ``log_prob`` outside the support.

    Example::

        >>> torch.distributions.Exponential(2.0).mean
        tensor(0.5000)

    """

    arg_constraints = {"rate": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True
    _mean_carrier_measure = 0
    rate: Any

    def __init__(self, rate: Any, validate_args: bool | None = None):
        self._set(validate_args, rate=rate)

    @property
    def mean(self) -> Any:
        """Return 1 / rate."""
        return self.rate.reciprocal()

    @property
    def mode(self) -> Any:
        """Return 0."""
        return functions.zeros_like(self.rate)

    @property
    def stddev(self) -> Any:
        """Return 1 / rate."""
        return self.rate.reciprocal()

    @property
    def variance(self) -> Any:
        """Return rate ** -2."""
        return self.rate.pow(-2)

    def rsample(self, sample_shape: Any = NO_DIMS) -> Any:
        """See Distribution.rsample."""
        shape = self._extended_shape(sample_shape)
        return functions.empty(shape, dtype=self.rate.dtype, device=self.rate.device).exponential_() / self.rate

    @checked
    def log_prob(self, value: Any) -> Any:
        """See Distribution.log_prob."""
        return self.rate.log() - self.rate * value

    @checked
    def cdf(self, value: Any) -> Any:
        """See Distribution.cdf."""
        return 1 - (-self.rate * value).exp()

    def icdf(self, value: Any) -> Any:
        """See Distribution.icdf."""
        return -(-value).log1p() / self.rate

    def entropy(self) -> Any:
        """See Distribution.entropy."""
        return 1.0 - self.rate.log()

    @property
    def _natural_params(self) -> tuple:         # type: ignore[override]
        return -self.rate,

    def _log_normalizer(self, x: Any) -> Any:       # type: ignore[override]
        return -(-x).log()


class Uniform(Parametrized):
    """The uniform distribution on [low, high). See torch.distributions.Uniform.

    The parameters broadcast to ``batch_shape``. Samples have their dtype.

    Args:
        low (float or Tensor): the lower limit; any shape, floating dtype.
        high (float or Tensor): the upper limit, above ``low``; any shape, floating dtype.
        validate_args (bool or None): whether to check parameters and values; None takes the default.

    Raises:
        ValueError: for a parameter outside its constraint, or for a value in ``log_prob`` outside the support.

    Example::

        >>> torch.distributions.Uniform(0.0, 4.0).variance
        tensor(1.3333)

    """

    has_rsample = True
    low: Any
    high: Any

    def __init__(self, low: Any, high: Any, validate_args: bool | None = None):
        self._set(validate_args, low=low, high=high)

    @property
    def arg_constraints(self) -> dict:      # type: ignore[override]
        """Return the constraints: low below high."""
        return {"low": constraints.less_than(self.high), "high": constraints.greater_than(self.low)}

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> Any:       # type: ignore[override]
        """Return the interval from low to high."""
        return constraints.interval(self.low, self.high)

    @property
    def mean(self) -> Any:
        """Return the center of the interval."""
        return (self.high + self.low) / 2

    @property
    def mode(self) -> Any:
        """Return nan, since all values are equally likely."""
        return math.nan * self.high

    @property
    def stddev(self) -> Any:
        """Return the standard deviation."""
        return (self.high - self.low) / 12 ** 0.5

    @property
    def variance(self) -> Any:
        """Return the variance."""
        return (self.high - self.low).pow(2) / 12

    def rsample(self, sample_shape: Any = NO_DIMS) -> Any:
        """See Distribution.rsample."""
        made = functions.rand(self._extended_shape(sample_shape), dtype=self.low.dtype, device=self.low.device)
        return self.low + made * (self.high - self.low)

    @checked
    def log_prob(self, value: Any) -> Any:
        """See Distribution.log_prob."""
        inside = self.low.le(value).type_as(self.low).mul(self.high.gt(value).type_as(self.low))
        return inside.log() - (self.high - self.low).log()

    @checked
    def cdf(self, value: Any) -> Any:
        """See Distribution.cdf."""
        return ((value - self.low) / (self.high - self.low)).clamp(min=0, max=1)

    def icdf(self, value: Any) -> Any:
        """See Distribution.icdf."""
        return value * (self.high - self.low) + self.low

    def entropy(self) -> Any:
        """See Distribution.entropy."""
        return (self.high - self.low).log()
