"""The Kullback-Leibler divergence: its registry, and the formulas for pairs of one class."""
from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from jtorch._api import nn_functions
from jtorch._base import warned
from jtorch.distributions.continuous import EULER, Cauchy, Exponential, Laplace, Normal, Uniform
from jtorch.distributions.counts import Binomial
from jtorch.distributions.discrete import Bernoulli, Categorical, Geometric, OneHotCategorical, Poisson
from jtorch.distributions.distribution import ExponentialFamily, sum_last
from jtorch.distributions.gamma import Beta, Dirichlet, Gamma
from jtorch.distributions.relaxed import ContinuousBernoulli
from jtorch.distributions.transformed import Gumbel, HalfNormal, Pareto, TransformedDistribution
from jtorch.distributions.vectors import Independent, LowRankMultivariateNormal, MultivariateNormal

if TYPE_CHECKING:
    from jtorch.distributions.vectors import Gaussian

__all__ = ["kl_divergence", "register_kl"]

_KL_REGISTRY: dict[tuple[type, type], Callable] = {}


def register_kl(type_p: type, type_q: type) -> Callable:
    """Return a decorator that registers a function as ``kl_divergence`` for two classes.

    Subclasses use it too, unless a closer pair is registered. See torch.distributions.kl.register_kl.

    Args:
        type_p (type): the first distribution's class.
        type_q (type): the second distribution's class.

    Returns:
        a decorator of (p, q) -> Tensor.

    Example::

        >>> class Coin(torch.distributions.Bernoulli):
        ...     pass
        ...
        >>> @torch.distributions.register_kl(Coin, Coin)
        ... def _coins(p, q):
        ...     return torch.tensor(0.0)
        ...
        >>> torch.distributions.kl_divergence(Coin(0.5), Coin(0.25))
        tensor(0.)

    """
    def decorator(fun: Callable) -> Callable:
        _KL_REGISTRY[type_p, type_q] = fun
        return fun
    return decorator


def kl_divergence(p: Any, q: Any) -> Any:
    """Return the Kullback-Leibler divergence KL(p ‖ q). See torch.distributions.kl_divergence.

    Args:
        p (Distribution): the distribution over which the mean is taken.
        q (Distribution): the distribution that is compared.

    Returns:
        a Tensor of shape batch_shape.

    Raises:
        NotImplementedError: for a pair of classes without a registered formula.

    Example::

        >>> D = torch.distributions
        >>> D.kl_divergence(D.Normal(0.0, 1.0), D.Normal(1.0, 1.0))
        tensor(0.5000)

    """
    found = [pair for pair in _KL_REGISTRY if isinstance(p, pair[0]) and isinstance(q, pair[1])]
    if not found:
        raise NotImplementedError(f"No KL(p || q) is implemented for p type {type(p).__name__} and q type {type(q).__name__}")
    far = {pair: (type(p).__mro__.index(pair[0]), type(q).__mro__.index(pair[1])) for pair in found}
    nearest, other = min(found, key=lambda pair: far[pair]), min(found, key=lambda pair: far[pair][::-1])
    if _KL_REGISTRY[nearest] is not _KL_REGISTRY[other]:
        warned.warn(f"Ambiguous kl_divergence({type(p).__name__}, {type(q).__name__}). Please register_kl("
                    f"{nearest[0].__name__}, {other[1].__name__})", RuntimeWarning)
    return _KL_REGISTRY[nearest](p, q)


# ---- general formulas ----------------------------------------------------------------------------------------------

@register_kl(ExponentialFamily, ExponentialFamily)
def _exponential_family(p: Any, q: Any) -> Any:
    """Return the Bregman divergence of the log normalizer."""
    if type(p) is not type(q):
        raise NotImplementedError("The cross KL-divergence between different exponential families cannot be computed using "
                                  "Bregman divergences")
    given, value, slopes = p._normalizer_and_slopes()
    n = len(p.batch_shape)
    away = [sum_last((b - a) * g, g.dim() - n) for a, b, g in zip(given, q._natural_params, slopes, strict=True)]
    return q._log_normalizer(*q._natural_params) - value - sum(away)


@register_kl(TransformedDistribution, TransformedDistribution)
def _transformed(p: Any, q: Any) -> Any:
    if p.transforms != q.transforms or p.event_shape != q.event_shape:
        raise NotImplementedError
    return kl_divergence(p.base_dist, q.base_dist)


@register_kl(Independent, Independent)
def _independent(p: Any, q: Any) -> Any:
    if p.reinterpreted_batch_ndims != q.reinterpreted_batch_ndims:
        raise NotImplementedError
    return sum_last(kl_divergence(p.base_dist, q.base_dist), p.reinterpreted_batch_ndims)


# ---- discrete ------------------------------------------------------------------------------------------------------

@register_kl(Bernoulli, Bernoulli)
def _bernoulli(p: Any, q: Any) -> Any:
    softplus = nn_functions.softplus
    yes = p.probs * (softplus(-q.logits) - softplus(-p.logits))
    yes = yes.masked_fill(q.probs == 0, math.inf).masked_fill(p.probs == 0, 0)
    no = (1 - p.probs) * (softplus(q.logits) - softplus(p.logits))
    return yes + no.masked_fill(q.probs == 1, math.inf).masked_fill(p.probs == 1, 0)


@register_kl(Binomial, Binomial)
def _binomial(p: Any, q: Any) -> Any:
    if bool((p.total_count < q.total_count).any()):
        raise NotImplementedError("KL between Binomials where q.total_count > p.total_count is not implemented")
    each = p.probs * (p.logits - q.logits) + (-p.probs).log1p() - (-q.probs).log1p()
    return (p.total_count * each).masked_fill(p.total_count > q.total_count, math.inf)


@register_kl(Categorical, Categorical)
def _categorical(p: Any, q: Any) -> Any:
    t = p.probs * (p.logits - q.logits)
    return t.masked_fill((q.probs == 0).expand_as(t), math.inf).masked_fill((p.probs == 0).expand_as(t), 0).sum(-1)


@register_kl(OneHotCategorical, OneHotCategorical)
def _one_hot(p: Any, q: Any) -> Any:
    return _categorical(p._categorical, q._categorical)


@register_kl(Geometric, Geometric)
def _geometric(p: Any, q: Any) -> Any:
    return -p.entropy() - (-q.probs).log1p() / p.probs - q.logits


@register_kl(Poisson, Poisson)
def _poisson(p: Any, q: Any) -> Any:
    return p.rate * (p.rate.log() - q.rate.log()) - (p.rate - q.rate)


# ---- continuous ----------------------------------------------------------------------------------------------------

@register_kl(Exponential, Exponential)
def _exponential(p: Any, q: Any) -> Any:
    ratio = q.rate / p.rate
    return -ratio.log() + ratio - 1


@register_kl(Gamma, Gamma)
def _gamma(p: Any, q: Any) -> Any:
    a, b = p.concentration, q.concentration
    return b * (p.rate / q.rate).log() + b.lgamma() - a.lgamma() + (a - b) * a.digamma() + (q.rate - p.rate) * (a / p.rate)


@register_kl(Dirichlet, Dirichlet)
def _dirichlet(p: Any, q: Any) -> Any:
    return _of_concentrations(p.concentration, q.concentration)


@register_kl(Beta, Beta)
def _beta(p: Any, q: Any) -> Any:
    return _of_concentrations(p._dirichlet.concentration, q._dirichlet.concentration)


def _of_concentrations(a: Any, b: Any) -> Any:
    of_sums = a.sum(-1).lgamma() - b.sum(-1).lgamma()
    mean_logs = a.digamma() - a.sum(-1, True).digamma()
    return of_sums - (a.lgamma() - b.lgamma()).sum(-1) + ((a - b) * mean_logs).sum(-1)


@register_kl(ContinuousBernoulli, ContinuousBernoulli)
def _continuous_bernoulli(p: Any, q: Any) -> Any:
    norms = [d._cont_bern_log_norm() + (-d.probs).log1p() for d in (p, q)]
    return p.mean * (p.logits - q.logits) + norms[0] - norms[1]


@register_kl(Normal, Normal)
def _normal(p: Any, q: Any) -> Any:
    ratio = (p.scale / q.scale).pow(2)
    return 0.5 * (ratio + ((p.loc - q.loc) / q.scale).pow(2) - 1 - ratio.log())


@register_kl(HalfNormal, HalfNormal)
def _half_normal(p: Any, q: Any) -> Any:
    return _normal(p.base_dist, q.base_dist)


@register_kl(Laplace, Laplace)
def _laplace(p: Any, q: Any) -> Any:
    ratio, away = p.scale / q.scale, (p.loc - q.loc).abs()
    return -ratio.log() + away / q.scale + ratio * (-away / p.scale).exp() - 1


@register_kl(Cauchy, Cauchy)
def _cauchy(p: Any, q: Any) -> Any:
    return ((p.scale + q.scale).pow(2) + (p.loc - q.loc).pow(2)).log() - (4 * p.scale * q.scale).log()


@register_kl(Gumbel, Gumbel)
def _gumbel(p: Any, q: Any) -> Any:
    a, b, c = p.scale / q.scale, q.loc / q.scale, p.loc / q.scale
    return -a.log() - b + c + a * EULER + (b + (1 + a).lgamma() - c).exp() - (1 + EULER)


@register_kl(Pareto, Pareto)
def _pareto(p: Any, q: Any) -> Any:
    ratio = q.alpha / p.alpha
    value = q.alpha * (p.scale / q.scale).log() - ratio.log() + ratio - 1
    return value.masked_fill(p.scale < q.scale, math.inf)


@register_kl(Uniform, Uniform)
def _uniform(p: Any, q: Any) -> Any:
    return ((q.high - q.low) / (p.high - p.low)).log().masked_fill((q.low > p.low) | (q.high < p.high), math.inf)


# ---- vectors -------------------------------------------------------------------------------------------------------

@register_kl(MultivariateNormal, MultivariateNormal)
@register_kl(MultivariateNormal, LowRankMultivariateNormal)
@register_kl(LowRankMultivariateNormal, MultivariateNormal)
@register_kl(LowRankMultivariateNormal, LowRankMultivariateNormal)
def _multivariate(p: Gaussian, q: Gaussian) -> Any:
    if p.event_shape != q.event_shape:
        low = [isinstance(d, LowRankMultivariateNormal) for d in (p, q)]
        which = "Low Rank " if all(low) else "(Low Rank) " if any(low) else ""
        raise ValueError(f"KL-divergence between two {which}Multivariate Normals with different event shapes cannot be computed")
    trace = sum([q._squares(factor) for factor in p._factors()])
    away = q._squares((q.loc - p.loc).unsqueeze(-1))
    return q._half_log_det() - p._half_log_det() + 0.5 * (trace + away - p.event_shape[0])
