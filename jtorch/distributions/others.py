"""The von Mises and generalized Pareto distributions, and mixtures of one family."""
from __future__ import annotations

import math
from typing import Any

from jtorch._api import functions
from jtorch._base.size import NO_DIMS
from jtorch.distributions import constraints
from jtorch.distributions._families import AtLoc, Parametrized
from jtorch.distributions.discrete import Categorical
from jtorch.distributions.distribution import Distribution, checked
from jtorch.dtype import bool_
from jtorch.no_grad import no_grad


class VonMises(AtLoc, Parametrized):
    """The von Mises distribution: the analogue of a normal distribution for angles in [-pi, pi].

    Samples carry no gradient. See torch.distributions.VonMises.

    Args:
        loc (float or Tensor): the mean angle in radians; any shape, floating dtype.
        concentration (float or Tensor): the inverse spread, positive; any shape, floating dtype.
        validate_args (bool or None): whether to check parameters and values; None takes the default.

    Raises:
        ValueError: for a parameter outside its constraint, or for a value in ``log_prob`` outside the support.

    Source of the sampler: Best and Fisher 1979, Efficient Simulation of the von Mises Distribution.

    Example::

        >>> torch.distributions.VonMises(0.0, 1.0).log_prob(torch.tensor(0.0))
        tensor(-1.0738)

    """

    arg_constraints = {"loc": constraints.real, "concentration": constraints.positive}
    support = constraints.real
    loc: Any
    concentration: Any

    def __init__(self, loc: Any, concentration: Any, validate_args: bool | None = None):
        self._set(validate_args, loc=loc, concentration=concentration)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        """See Distribution.expand. It also works for subclasses that define ``__init__``."""
        return super().expand(batch_shape, self.__new__(type(self)) if _instance is None else _instance)

    @property
    def variance(self) -> Any:
        """Return the circular variance: 1 - the length of the mean unit vector."""
        special = functions.special
        return 1 - special.i1e(self.concentration) / special.i0e(self.concentration)

    def _proposal(self, k: Any) -> Any:
        tau = 1 + (1 + 4 * k ** 2).sqrt()
        rho = (tau - (2 * tau).sqrt()) / (2 * k)
        return functions.where(k < 1e-5, 1 / k + k, (1 + rho ** 2) / (2 * rho))

    def sample(self, sample_shape: Any = NO_DIMS) -> Any:
        with no_grad():
            loc, k = self.loc.double(), self.concentration.double()
            angle = self._angles(k, self._extended_shape(sample_shape))
            return ((angle + math.pi + loc) % (2 * math.pi) - math.pi).to(self.loc.dtype)

    def _angles(self, k: Any, shape: Any) -> Any:
        r, where = self._proposal(k), functions.where
        angle = functions.zeros(shape, dtype=k.dtype, device=k.device)
        done = functions.zeros(shape, dtype=bool_, device=k.device)
        while not bool(done.all()):
            u1, u2, u3 = functions.rand((3, *shape), dtype=k.dtype, device=k.device).unbind()
            z = (math.pi * u1).cos()
            f = (1 + r * z) / (r + z)
            c = k * (r - f)
            accept = (c * (2 - c) - u2 > 0) | ((c / u2).log() + 1 - c >= 0)
            angle, done = where(accept, (u3 - 0.5).sign() * f.acos(), angle), done | accept
        return angle

    @checked
    def log_prob(self, value: Any) -> Any:
        k = self.concentration
        return k * (value - self.loc).cos() - math.log(2 * math.pi) - (functions.special.i0e(k).log() + k)


class GeneralizedPareto(Parametrized):
    """The generalized Pareto distribution: the amount by which numbers exceed a high threshold.

    Concentration 0 gives the exponential distribution. The mean is nan for concentration >= 1, the variance for >=
    1/2. The parameters broadcast to ``batch_shape``. Samples have their dtype. See
    torch.distributions.GeneralizedPareto.

    Args:
        loc (float or Tensor): the threshold; any shape, floating dtype.
        scale (float or Tensor): the scale, positive; any shape, floating dtype.
        concentration (float or Tensor): the shape of the tail; any shape, floating dtype.
        validate_args (bool or None): whether to check parameters and values; None takes the default.

    Raises:
        ValueError: for a parameter outside its constraint, or for a value in ``log_prob`` outside the support.

    Example::

        >>> torch.distributions.GeneralizedPareto(0.0, 1.0, 0.0).log_prob(torch.tensor(1.0))
        tensor(-1.)

    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive, "concentration": constraints.real}
    has_rsample = True
    loc: Any
    scale: Any
    concentration: Any

    def __init__(self, loc: Any, scale: Any, concentration: Any, validate_args: bool | None = None):
        self._set(validate_args, loc=loc, scale=scale, concentration=concentration)

    def _tail(self) -> tuple:
        """Return where the concentration is 0, and the concentration with each 0 replaced by 1, to avoid a division by 0."""
        c = self.concentration
        exponential = functions.isclose(c, functions.zeros_like(c))
        return exponential, c.masked_fill(exponential, 1.0)

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> Any:           # type: ignore[override]
        """Return the interval from loc to inf, or to loc - scale / concentration if the concentration is negative."""
        c = self.concentration
        return constraints.interval(self.loc, functions.where(c < 0, self.loc - self.scale / c, math.inf))

    @property
    def mean(self) -> Any:
        """Return the mean, or nan where concentration >= 1."""
        return self.loc + self.scale / (1 - self.concentration.masked_fill(self.concentration >= 1, math.nan))

    @property
    def mode(self) -> Any:
        """Return ``loc``."""
        return self.loc

    @property
    def variance(self) -> Any:
        """Return the variance, or nan where concentration >= 1/2."""
        c = self.concentration.masked_fill(self.concentration >= 0.5, math.nan)
        return self.scale ** 2 / ((1 - c) ** 2 * (1 - 2 * c))

    def rsample(self, sample_shape: Any = NO_DIMS) -> Any:
        return self.icdf(functions.rand(self._extended_shape(sample_shape), dtype=self.loc.dtype, device=self.loc.device))

    @checked
    def log_prob(self, value: Any) -> Any:
        exponential, c = self._tail()
        z, power = (value - self.loc) / self.scale, 1 / c + 1
        falls = functions.where(power == 0, power, power * (c * z).log1p())
        return -self.scale.log() - functions.where(exponential, z, falls)

    @checked
    def log_survival_function(self, value: Any) -> Any:
        """Return the logarithm of the probability of more than ``value``."""
        exponential, c = self._tail()
        z = (value - self.loc) / self.scale
        return functions.where(exponential, -z, -(c * z).log1p() / c)

    def log_cdf(self, value: Any) -> Any:
        """Return the logarithm of ``cdf``."""
        return (-self.log_survival_function(value).exp()).log1p()

    def cdf(self, value: Any) -> Any:
        return self.log_cdf(value).exp()

    def icdf(self, value: Any) -> Any:
        exponential, c = self._tail()
        log_rest = (-value).log1p()
        tail = self.loc + self.scale / c * (-c * log_rest).expm1()
        return functions.where(exponential, self.loc - self.scale * log_rest, tail)

    def entropy(self) -> Any:
        return self.scale.log() + self.concentration + 1


class MixtureSameFamily(Distribution):
    """A mixture whose components are the last batch dim of one distribution.

    See torch.distributions.MixtureSameFamily.

    Args:
        mixture_distribution (Categorical): chooses among K components; its batch shape broadcasts with
            ``batch_shape``.
        component_distribution (Distribution): the components, of batch shape (*batch, K).
        validate_args (bool or None): whether to check parameters and values; None takes the default.

    Raises:
        ValueError: for arguments of other types, or shapes that do not fit together.

    Example::

        >>> D = torch.distributions
        >>> D.MixtureSameFamily(D.Categorical(torch.ones(2)), D.Normal(torch.tensor([-1.0, 1.0]), 1.0)).mean
        tensor(0.)

    """

    arg_constraints = {}
    _not_of_batch = ("_mixture_distribution", "_component_distribution")

    def __init__(self, mixture_distribution: Any, component_distribution: Any, validate_args: bool | None = None):
        if not isinstance(mixture_distribution, Categorical):
            raise ValueError(" The Mixture distribution needs to be an  instance of torch.distributions.Categorical")
        if not isinstance(component_distribution, Distribution):
            raise ValueError("The Component distribution needs to be an instance of torch.distributions.Distribution")
        _compatible(mixture_distribution, component_distribution)
        self._mixture_distribution, self._component_distribution = mixture_distribution, component_distribution
        self._event_ndims = len(component_distribution.event_shape)
        super().__init__(component_distribution.batch_shape[:-1], component_distribution.event_shape, validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = super().expand(batch_shape, _instance)
        new._mixture_distribution = self._mixture_distribution.expand(batch_shape)
        new._component_distribution = self._component_distribution.expand(
            (*batch_shape, self._component_distribution.batch_shape[-1]))
        return new

    @constraints.dependent_property
    def support(self) -> Any:           # type: ignore[override]
        """Return the components' support."""
        return constraints.MixtureSameFamilyConstraint(self._component_distribution.support)

    @property
    def mixture_distribution(self) -> Any:
        """Return the distribution that chooses the component."""
        return self._mixture_distribution

    @property
    def component_distribution(self) -> Any:
        """Return the components."""
        return self._component_distribution

    def _mixed(self, values: Any) -> Any:
        """Average values of the components, weighted by their probabilities."""
        probs, n = self._mixture_distribution.probs, self._event_ndims
        missing = len(self._batch_shape) - len(self._mixture_distribution.batch_shape)
        if len(self._mixture_distribution.batch_shape) == 1:
            missing = 0
        probs = probs.reshape((*probs.shape[:-1], *(1,) * missing, probs.shape[-1], *(1,) * n))
        return (probs * values).sum(-1 - n)

    @property
    def mean(self) -> Any:
        """Return the mean."""
        return self._mixed(self._component_distribution.mean)

    @property
    def variance(self) -> Any:
        """Return the mean of the variances plus the variance of the means."""
        away = self._component_distribution.mean - self._pad(self.mean)
        return self._mixed(self._component_distribution.variance) + self._mixed(away.pow(2.0))

    def _pad(self, x: Any) -> Any:
        return x.unsqueeze(-1 - self._event_ndims)

    def cdf(self, x: Any) -> Any:
        return (self._component_distribution.cdf(self._pad(x)) * self._mixture_distribution.probs).sum(-1)

    @checked
    def log_prob(self, x: Any) -> Any:
        each = self._component_distribution.log_prob(self._pad(x))
        return (each + self._mixture_distribution.logits.log_softmax(-1)).logsumexp(-1)

    def sample(self, sample_shape: Any = NO_DIMS) -> Any:
        with no_grad():
            dim, event = len(sample_shape) + len(self._batch_shape), tuple(self._event_shape)
            chosen = self._mixture_distribution.sample(sample_shape)
            drawn = self._component_distribution.sample(sample_shape)
            index = chosen.reshape((*chosen.shape, *(1,) * (len(event) + 1)))
            index = index.repeat((*(1,) * chosen.dim(), 1, *event))
            return drawn.gather(dim, index).squeeze(dim)

    def __repr__(self) -> str:
        return f"MixtureSameFamily(\n  {self._mixture_distribution},\n  {self._component_distribution})"


def _compatible(mixture: Any, component: Any) -> None:
    of_mixture, of_component = mixture.batch_shape, component.batch_shape[:-1]
    for a, b in zip(reversed(of_mixture), reversed(of_component), strict=False):
        if 1 not in (a, b) and a != b:
            raise ValueError(f"`mixture_distribution.batch_shape` ({of_mixture}) is not compatible with "
                             f"`component_distribution.batch_shape`({of_component})")
    m, c = mixture.logits.shape[-1], component.batch_shape[-1]
    if m != c:
        raise ValueError(f"`mixture_distribution component` ({m}) does not equal `component_distribution.batch_shape[-1]` ({c})")
