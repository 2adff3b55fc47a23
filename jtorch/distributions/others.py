"""Angles, tails and mixtures: the von Mises and the generalized Pareto distribution, and mixtures of one family."""
from __future__ import annotations

import math
from typing import Any

from jtorch._api import functions
from jtorch.distributions import constraints
from jtorch.distributions._families import AtLoc, Parametrized
from jtorch.distributions.discrete import Categorical
from jtorch.distributions.distribution import Distribution, checked
from jtorch.dtype import bool_
from jtorch.no_grad import no_grad


class VonMises(AtLoc, Parametrized):
    """Angles from -pi to pi, about ``loc``: the normal distribution of a circle. See torch.distributions.VonMises.

    Samples, without gradient, by Best and Fisher, Efficient Simulation of the von Mises Distribution (1979). The Bessel
    functions are JAX's, to full precision.
    """

    arg_constraints = {"loc": constraints.real, "concentration": constraints.positive}
    support = constraints.real
    loc: Any
    concentration: Any

    def __init__(self, loc: Any, concentration: Any, validate_args: bool | None = None):
        self._set(validate_args, loc=loc, concentration=concentration)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        """See Distribution.expand; subclasses with an ``__init__`` of their own have it too."""
        return super().expand(batch_shape, self.__new__(type(self)) if _instance is None else _instance)

    @property
    def variance(self) -> Any:
        """1 - the mean's distance from the circle's centre."""
        special = functions.special
        return 1 - special.i1e(self.concentration) / special.i0e(self.concentration)

    def _proposal(self, k: Any) -> Any:
        tau = 1 + (1 + 4 * k ** 2).sqrt()
        rho = (tau - (2 * tau).sqrt()) / (2 * k)
        return functions.where(k < 1e-5, 1 / k + k, (1 + rho ** 2) / (2 * rho))

    def sample(self, sample_shape: Any = ()) -> Any:
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
    """What exceeds a high threshold: a tail of any weight, exponential at concentration 0.

    See torch.distributions.GeneralizedPareto.
    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive, "concentration": constraints.real}
    has_rsample = True
    loc: Any
    scale: Any
    concentration: Any

    def __init__(self, loc: Any, scale: Any, concentration: Any, validate_args: bool | None = None):
        self._set(validate_args, loc=loc, scale=scale, concentration=concentration)

    def _tail(self) -> tuple:
        """Where the concentration is 0, and the concentration with 1 there, so that nothing is divided by 0."""
        c = self.concentration
        exponential = functions.isclose(c, functions.zeros_like(c))
        return exponential, c.masked_fill(exponential, 1.0)

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> Any:           # type: ignore[override]
        """From loc on, up to where the density ends if the concentration is negative."""
        c = self.concentration
        return constraints.interval(self.loc, functions.where(c < 0, self.loc - self.scale / c, math.inf))

    @property
    def mean(self) -> Any:
        """The mean; nan from concentration 1 on."""
        return self.loc + self.scale / (1 - self.concentration.masked_fill(self.concentration >= 1, math.nan))

    @property
    def mode(self) -> Any:
        """loc."""
        return self.loc

    @property
    def variance(self) -> Any:
        """The variance; nan from concentration 1/2 on."""
        c = self.concentration.masked_fill(self.concentration >= 0.5, math.nan)
        return self.scale ** 2 / ((1 - c) ** 2 * (1 - 2 * c))

    def rsample(self, sample_shape: Any = ()) -> Any:
        return self.icdf(functions.rand(self._extended_shape(sample_shape), dtype=self.loc.dtype, device=self.loc.device))

    @checked
    def log_prob(self, value: Any) -> Any:
        exponential, c = self._tail()
        z, power = (value - self.loc) / self.scale, 1 / c + 1
        falls = functions.where(power == 0, power, power * (c * z).log1p())
        return -self.scale.log() - functions.where(exponential, z, falls)

    @checked
    def log_survival_function(self, value: Any) -> Any:
        """The logarithm of the probability of more than ``value``."""
        exponential, c = self._tail()
        z = (value - self.loc) / self.scale
        return functions.where(exponential, -z, -(c * z).log1p() / c)

    def log_cdf(self, value: Any) -> Any:
        """The logarithm of ``cdf``."""
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
    """One of the components along the last dimension of a batch, chosen by a Categorical.

    See torch.distributions.MixtureSameFamily.

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
        """That of the components."""
        return constraints.MixtureSameFamilyConstraint(self._component_distribution.support)

    @property
    def mixture_distribution(self) -> Any:
        """What chooses the component."""
        return self._mixture_distribution

    @property
    def component_distribution(self) -> Any:
        """The components."""
        return self._component_distribution

    def _mixed(self, values: Any) -> Any:
        """The mean of what the components say, weighed by their probabilities."""
        probs, n = self._mixture_distribution.probs, self._event_ndims
        missing = len(self._batch_shape) - len(self._mixture_distribution.batch_shape)
        if len(self._mixture_distribution.batch_shape) == 1:
            missing = 0
        probs = probs.reshape((*probs.shape[:-1], *(1,) * missing, probs.shape[-1], *(1,) * n))
        return (probs * values).sum(-1 - n)

    @property
    def mean(self) -> Any:
        """The mean."""
        return self._mixed(self._component_distribution.mean)

    @property
    def variance(self) -> Any:
        """The mean of the variances and the variance of the means."""
        away = self._component_distribution.mean - self._pad(self.mean)
        return self._mixed(self._component_distribution.variance) + self._mixed(away.pow(2.0))

    def _pad(self, x: Any) -> Any:
        return x.unsqueeze(-1 - self._event_ndims)

    def cdf(self, value: Any) -> Any:
        return (self._component_distribution.cdf(self._pad(value)) * self._mixture_distribution.probs).sum(-1)

    @checked
    def log_prob(self, value: Any) -> Any:
        each = self._component_distribution.log_prob(self._pad(value))
        return (each + self._mixture_distribution.logits.log_softmax(-1)).logsumexp(-1)

    def sample(self, sample_shape: Any = ()) -> Any:
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
