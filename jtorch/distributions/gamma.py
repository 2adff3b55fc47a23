"""Gamma and Dirichlet distributions, and distributions derived from them."""
from __future__ import annotations

import math
from typing import Any

from jtorch._api import functions
from jtorch._api.creation import as_tensor, tensor
from jtorch._base.dtype_info import finfo
from jtorch._base.size import NO_DIMS
from jtorch.distributions import constraints
from jtorch.distributions._families import AtLoc, Parametrized
from jtorch.distributions.distribution import ExponentialFamily, Number, broadcast_all, checked, standard_normal


class Gamma(Parametrized, ExponentialFamily):
    """The gamma distribution with shape ``concentration`` and ``rate``. See torch.distributions.Gamma.

    The parameters broadcast to ``batch_shape``. Samples have their dtype. Samples carry gradients to both parameters.
    The gradient with respect to ``concentration`` is implicit: see jtorch/ops/random_gradients.py.

    Args:
        concentration (float or Tensor): the shape, positive; any shape, floating dtype.
        rate (float or Tensor): 1 over the scale, positive; any shape, floating dtype.
        validate_args (bool or None): whether to check parameters and values; None takes the default.

    Raises:
        ValueError: for a parameter outside its constraint, or for a value in ``log_prob`` outside the support.

    Example::

        >>> torch.distributions.Gamma(2.0, 0.5).mean
        tensor(4.)

    """

    arg_constraints: Any = {"concentration": constraints.positive, "rate": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True
    _mean_carrier_measure = 0
    concentration: Any
    rate: Any

    def __init__(self, concentration: Any, rate: Any, validate_args: bool | None = None):
        self._set(validate_args, concentration=concentration, rate=rate)

    @property
    def mean(self) -> Any:
        """Return concentration / rate."""
        return self.concentration / self.rate

    @property
    def mode(self) -> Any:
        """Return the value of highest density."""
        return ((self.concentration - 1) / self.rate).clamp(min=0)

    @property
    def variance(self) -> Any:
        """Return concentration / rate ** 2."""
        return self.concentration / self.rate.pow(2)

    def rsample(self, sample_shape: Any = NO_DIMS) -> Any:
        shape = self._extended_shape(sample_shape)
        value = functions._standard_gamma(self.concentration.expand(shape)) / self.rate.expand(shape)
        # The clamp changes only the elements: the gradient stays that of the unclamped value.
        value.detach().clamp_(min=finfo(value.dtype).tiny)
        return value

    def log_prob(self, value: Any) -> Any:
        value = as_tensor(value, dtype=self.rate.dtype, device=self.rate.device)
        if self._validate_args:
            self._validate_sample(value)
        a = self.concentration
        return a.xlogy(self.rate) + (a - 1).xlogy(value) - self.rate * value - a.lgamma()

    @checked
    def cdf(self, value: Any) -> Any:
        return functions.special.gammainc(self.concentration, self.rate * value)

    def entropy(self) -> Any:
        a = self.concentration
        return a - self.rate.log() + a.lgamma() + (1.0 - a) * a.digamma()

    @property
    def _natural_params(self) -> tuple:         # type: ignore[override]
        return self.concentration - 1, -self.rate

    def _log_normalizer(self, x: Any, y: Any) -> Any:       # type: ignore[override]
        return (x + 1).lgamma() + (x + 1) * (-y.reciprocal()).log()


class Chi2(Gamma):
    """The chi-squared distribution: the sum of ``df`` squared standard normal numbers. See torch.distributions.Chi2.

    It is a gamma distribution of concentration df / 2 and rate 1/2.

    Args:
        df (float or Tensor): the degrees of freedom, positive; any shape, floating dtype.
        validate_args (bool or None): whether to check parameters and values; None takes the default.

    Raises:
        ValueError: for a parameter outside its constraint, or for a value in ``log_prob`` outside the support.

    Example::

        >>> torch.distributions.Chi2(torch.tensor(3.0)).mean
        tensor(3.)

    """

    arg_constraints = {"df": constraints.positive}

    def __init__(self, df: Any, validate_args: bool | None = None):
        super().__init__(0.5 * df, 0.5, validate_args)

    @property
    def df(self) -> Any:
        """Return the degrees of freedom."""
        return self.concentration * 2


class StudentT(AtLoc, Parametrized):
    """Student's t-distribution with ``df`` degrees of freedom. See torch.distributions.StudentT.

    The mean is nan for df <= 1. The variance is nan for df <= 1 and inf for 1 < df <= 2. The parameters broadcast to
    ``batch_shape``. Samples have their dtype.

    Args:
        df (float or Tensor): the degrees of freedom, positive; any shape, floating dtype.
        loc (float or Tensor): the center; any shape, floating dtype.
        scale (float or Tensor): the scale, positive; any shape, floating dtype.
        validate_args (bool or None): whether to check parameters and values; None takes the default.

    Raises:
        ValueError: for a parameter outside its constraint, or for a value in ``log_prob`` outside the support.

    Example::

        >>> torch.distributions.StudentT(4.0).variance
        tensor(2.)

    """

    arg_constraints = {"df": constraints.positive, "loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True
    df: Any
    scale: Any

    def __init__(self, df: Any, loc: Any = 0.0, scale: Any = 1.0, validate_args: bool | None = None):
        self._chi2 = Chi2(broadcast_all(df, loc, scale)[0])
        self._set(validate_args, df=df, loc=loc, scale=scale)

    @property
    def mean(self) -> Any:
        """Return ``loc``, or nan where df <= 1."""
        return self.loc.masked_fill(self.df <= 1, math.nan)

    @property
    def variance(self) -> Any:
        """Return the variance: inf where df <= 2, nan where df <= 1."""
        df = self.df
        many = self.scale.pow(2) * df / (df.masked_fill(df <= 2, math.nan) - 2)
        return many.masked_fill(df <= 2, math.inf).masked_fill(df <= 1, math.nan)

    def rsample(self, sample_shape: Any = NO_DIMS) -> Any:
        normal = standard_normal(self.df, self._extended_shape(sample_shape))
        return self.loc + self.scale * (normal * (self._chi2.rsample(sample_shape) / self.df).rsqrt())

    @checked
    def log_prob(self, value: Any) -> Any:
        df, y = self.df, (value - self.loc) / self.scale
        scaled = self.scale.log() + 0.5 * df.log() + 0.5 * math.log(math.pi) + (0.5 * df).lgamma() - (0.5 * (df + 1.0)).lgamma()
        return -0.5 * (df + 1.0) * (y ** 2.0 / df).log1p() - scaled

    def entropy(self) -> Any:
        half, more = 0.5 * self.df, 0.5 * (self.df + 1)
        log_beta = half.lgamma() + math.lgamma(0.5) - more.lgamma()
        return self.scale.log() + more * (more.digamma() - half.digamma()) + 0.5 * self.df.log() + log_beta


class FisherSnedecor(Parametrized):
    """The F-distribution: the ratio of two chi-squared numbers, each divided by its degrees of freedom.

    The mean is nan for df2 <= 2, and the variance is nan for df2 <= 4. The parameters broadcast to ``batch_shape``.
    Samples have their dtype. See torch.distributions.FisherSnedecor.

    Args:
        df1 (float or Tensor): the numerator's degrees of freedom, positive; any shape, floating dtype.
        df2 (float or Tensor): the denominator's degrees of freedom, positive; any shape, floating dtype.
        validate_args (bool or None): whether to check parameters and values; None takes the default.

    Raises:
        ValueError: for a parameter outside its constraint, or for a value in ``log_prob`` outside the support.

    Example::

        >>> torch.distributions.FisherSnedecor(2.0, 4.0).mean
        tensor(2.)

    """

    arg_constraints = {"df1": constraints.positive, "df2": constraints.positive}
    support = constraints.positive
    has_rsample = True
    df1: Any
    df2: Any

    def __init__(self, df1: Any, df2: Any, validate_args: bool | None = None):
        one, two = broadcast_all(df1, df2)
        self._gamma1, self._gamma2 = Gamma(one * 0.5, one), Gamma(two * 0.5, two)
        self._set(validate_args, df1=df1, df2=df2)

    def _df2_above(self, least: int) -> Any:
        return self.df2.masked_fill(self.df2 <= least, math.nan)

    @property
    def mean(self) -> Any:
        """Return the mean, or nan where df2 <= 2."""
        df2 = self._df2_above(2)
        return df2 / (df2 - 2)

    @property
    def mode(self) -> Any:
        """Return the value of highest density, or nan where df1 <= 2."""
        return ((self.df1 - 2) / self.df1 * self.df2 / (self.df2 + 2)).masked_fill(self.df1 <= 2, math.nan)

    @property
    def variance(self) -> Any:
        """Return the variance, or nan where df2 <= 4."""
        df2 = self._df2_above(4)
        return 2 * df2.pow(2) * (self.df1 + df2 - 2) / (self.df1 * (df2 - 2).pow(2) * (df2 - 4))

    def rsample(self, sample_shape: Any = NO_DIMS) -> Any:
        tiny = finfo(self.df1.dtype).tiny
        return (self._gamma1.rsample(sample_shape) / self._gamma2.rsample(sample_shape).clamp(min=tiny)).clamp(min=tiny)

    @checked
    def log_prob(self, value: Any) -> Any:
        a, b, ratio = self.df1 * 0.5, self.df2 * 0.5, self.df1 / self.df2
        log_beta = a.lgamma() + b.lgamma() - (a + b).lgamma()
        return a * ratio.log() + (a - 1) * value.log() - (a + b) * (ratio * value).log1p() - log_beta


class Dirichlet(ExponentialFamily):
    """The Dirichlet distribution over vectors of positive numbers with sum 1. See torch.distributions.Dirichlet.

    Samples carry gradients to ``concentration``, by the implicit gradient of each element's beta distribution.

    Args:
        concentration (Tensor): (*batch, n), positive, floating dtype.
        validate_args (bool or None): whether to check parameters and values; None takes the default.

    Raises:
        ValueError: if ``concentration`` has no dims or is not positive, or for a value outside the simplex.

    Example::

        >>> torch.distributions.Dirichlet(torch.tensor([1.0, 3.0])).mean
        tensor([0.2500, 0.7500])

    """

    arg_constraints = {"concentration": constraints.independent(constraints.positive, 1)}
    support = constraints.simplex
    has_rsample = True

    def __init__(self, concentration: Any, validate_args: bool | None = None):
        if concentration.dim() < 1:
            raise ValueError("`concentration` parameter must be at least one-dimensional.")
        self.concentration = concentration
        super().__init__(concentration.shape[:-1], concentration.shape[-1:], validate_args)

    @property
    def mean(self) -> Any:
        """Return the mean."""
        return self.concentration / self.concentration.sum(-1, True)

    @property
    def mode(self) -> Any:
        """Return the point of highest density; if all concentrations are below 1, the first corner."""
        above = (self.concentration - 1).clamp(min=0.0)
        corner = functions.zeros_like(above)
        corner[..., 0] = 1
        return functions.where((self.concentration < 1).all(-1, True), corner, above / above.sum(-1, True))

    @property
    def variance(self) -> Any:
        """Return the variance of each element."""
        total = self.concentration.sum(-1, True)
        return self.concentration * (total - self.concentration) / (total.pow(2) * (total + 1))

    def rsample(self, sample_shape: Any = ()) -> Any:
        return functions._sample_dirichlet(self.concentration.expand(self._extended_shape(sample_shape)))

    @checked
    def log_prob(self, value: Any) -> Any:
        a = self.concentration
        return (a - 1.0).xlogy(value).sum(-1) + a.sum(-1).lgamma() - a.lgamma().sum(-1)

    def entropy(self) -> Any:
        a, total = self.concentration, self.concentration.sum(-1)
        log_beta = a.lgamma().sum(-1) - total.lgamma()
        return log_beta - (a.size(-1) - total) * total.digamma() - ((a - 1.0) * a.digamma()).sum(-1)

    @property
    def _natural_params(self) -> tuple:         # type: ignore[override]
        return self.concentration,

    def _log_normalizer(self, x: Any) -> Any:       # type: ignore[override]
        return x.lgamma().sum(-1) - x.sum(-1).lgamma()


class Beta(ExponentialFamily):
    """The beta distribution on [0, 1], proportional to x ** (concentration1 - 1) (1 - x) ** (concentration0 - 1).

    The parameters broadcast to ``batch_shape``. Samples have their dtype. See torch.distributions.Beta.

    Args:
        concentration1 (float or Tensor): positive; any shape, floating dtype.
        concentration0 (float or Tensor): positive; any shape, floating dtype.
        validate_args (bool or None): whether to check parameters and values; None takes the default.

    Raises:
        ValueError: for a parameter outside its constraint, or for a value in ``log_prob`` outside the support.

    Example::

        >>> torch.distributions.Beta(1.0, 3.0).mean
        tensor(0.2500)

    """

    arg_constraints = {"concentration1": constraints.positive, "concentration0": constraints.positive}
    support = constraints.unit_interval
    has_rsample = True

    def __init__(self, concentration1: Any, concentration0: Any, validate_args: bool | None = None):
        if isinstance(concentration1, Number) and isinstance(concentration0, Number):
            both = tensor([concentration1 * 1.0, concentration0 * 1.0])
        else:
            both = functions.stack(broadcast_all(concentration1, concentration0), -1)
        self._dirichlet = Dirichlet(both, validate_args)
        super().__init__(self._dirichlet.batch_shape, validate_args=validate_args)

    @property
    def concentration1(self) -> Any:
        """Return the first parameter; the density has the factor x ** (concentration1 - 1)."""
        return self._dirichlet.concentration[..., 0]

    @property
    def concentration0(self) -> Any:
        """Return the second parameter; the density has the factor (1 - x) ** (concentration0 - 1)."""
        return self._dirichlet.concentration[..., 1]

    @property
    def mean(self) -> Any:
        """Return the mean."""
        return self.concentration1 / (self.concentration1 + self.concentration0)

    @property
    def mode(self) -> Any:
        """Return the value of highest density."""
        return self._dirichlet.mode[..., 0]

    @property
    def variance(self) -> Any:
        """Return the variance."""
        total = self.concentration1 + self.concentration0
        return self.concentration1 * self.concentration0 / (total.pow(2) * (total + 1))

    def rsample(self, sample_shape: Any = ()) -> Any:
        return self._dirichlet.rsample(sample_shape).select(-1, 0)

    @checked
    def log_prob(self, value: Any) -> Any:
        return self._dirichlet.log_prob(functions.stack([value, 1.0 - value], -1))

    def entropy(self) -> Any:
        return self._dirichlet.entropy()

    @property
    def _natural_params(self) -> tuple:         # type: ignore[override]
        return self.concentration1, self.concentration0

    def _log_normalizer(self, x: Any, y: Any) -> Any:       # type: ignore[override]
        return x.lgamma() + y.lgamma() - (x + y).lgamma()

del AtLoc, Parametrized      # PyTorch's module does not have these names
