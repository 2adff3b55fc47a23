"""The Kullback-Leibler divergence of distributions of different classes.

The divergence is -(entropy of p) - E_p[log q(x)]. The expectation needs only a few moments of p: its mean, its
variance, and the means of log x, log(1 - x) or exp(-t x). So each class of p defines its moments, and each class of q
defines the moments it needs. Only the pair (Normal, Laplace) needs its own formula. The divergence is infinite if p has
mass outside q's support.
"""
from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from jtorch._api import functions
from jtorch.distributions.continuous import EULER, Exponential, Laplace, Normal, Uniform
from jtorch.distributions.counts import Binomial
from jtorch.distributions.discrete import Bernoulli, Poisson
from jtorch.distributions.gamma import Beta, Gamma
from jtorch.distributions.kl import register_kl
from jtorch.distributions.relaxed import ContinuousBernoulli
from jtorch.distributions.transformed import Gumbel, Pareto

# ---- means over p --------------------------------------------------------------------------------------------------

def _x_log_x(x: Any) -> Any:
    return x.xlogy(x)


def _mean_log_of_uniform(low: Any, high: Any) -> Any:
    return (_x_log_x(high) - _x_log_x(low)) / (high - low) - 1


_MEAN_LOG: dict[type, Callable] = {
    Beta: lambda p: p.concentration1.digamma() - (p.concentration1 + p.concentration0).digamma(),
    Exponential: lambda p: -EULER - p.rate.log(),
    Gamma: lambda p: p.concentration.digamma() - p.rate.log(),
    Pareto: lambda p: p.scale.log() + p.alpha.reciprocal(),
    Uniform: lambda p: _mean_log_of_uniform(p.low, p.high),
}

# The mean of exp(-t x) under p.
_MEAN_EXP: dict[type, Callable] = {
    Exponential: lambda p, t: p.rate / (p.rate + t),
    Gamma: lambda p, t: (1 + t / p.rate).pow(-p.concentration),
    Normal: lambda p, t: (-t * p.loc + 0.5 * (t * p.scale).pow(2)).exp(),
    Uniform: lambda p, t: ((-t * p.low).exp() - (-t * p.high).exp()) / (t * (p.high - p.low)),
}


def _of(table: dict[type, Callable], p: Any) -> Callable:
    return next(table[c] for c in type(p).__mro__ if c in table)


def _mean_log(p: Any) -> Any:
    return _of(_MEAN_LOG, p)(p)


# ---- the mean of q's log density -----------------------------------------------------------------------------------

def _log_beta(p: Any, q: Any) -> Any:
    """Return the mean of Beta's log density under a uniform p: 1 - x is then uniform too."""
    a, b = q.concentration1, q.concentration0
    norm = a.lgamma() + b.lgamma() - (a + b).lgamma()
    return (a - 1) * _mean_log(p) + (b - 1) * _mean_log_of_uniform(1 - p.high, 1 - p.low) - norm


def _log_gamma(p: Any, q: Any) -> Any:
    a = q.concentration
    return a * q.rate.log() - a.lgamma() + (a - 1) * _mean_log(p) - q.rate * p.mean


def _log_gumbel(p: Any, q: Any) -> Any:
    t, z = q.scale.reciprocal(), q.loc / q.scale
    return z - q.scale.log() - p.mean * t - z.exp() * _of(_MEAN_EXP, p)(p, t)


def _log_normal(p: Any, q: Any) -> Any:
    square = q.scale.pow(2)
    return -0.5 * (2 * math.pi * square).log() - (p.variance + (p.mean - q.loc).pow(2)) / (2 * square)


_LOG_DENSITY: dict[type, Callable] = {
    Beta: _log_beta,
    ContinuousBernoulli: lambda p, q: p.mean * q.logits + (-q.probs).log1p() + q._cont_bern_log_norm(),
    Exponential: lambda p, q: q.rate.log() - q.rate * p.mean,
    Gamma: _log_gamma,
    Gumbel: _log_gumbel,
    Normal: _log_normal,
    Pareto: lambda p, q: q.alpha.log() + q.alpha * q.scale.log() - (q.alpha + 1) * _mean_log(p),
    Poisson: lambda p, q: p.mean * q.rate.log() - q.rate,       # p is Bernoulli, so x is 0 or 1 and x! is 1
    Uniform: lambda p, q: -(q.high - q.low).log(),
}

# Each function tests if p has mass outside q's support. As in PyTorch, ContinuousBernoulli's support counts as open.
_OUTSIDE: dict[tuple[type, type], Callable] = {
    (Beta, Uniform): lambda p, q: (q.low > 0) | (q.high < 1),
    (ContinuousBernoulli, Uniform): lambda p, q: (q.low >= 0) | (q.high <= 1),
    (Uniform, Beta): lambda p, q: (p.high > 1) | (p.low < 0),
    (Uniform, ContinuousBernoulli): lambda p, q: (p.high >= 1) | (p.low <= 0),
    (Uniform, Exponential): lambda p, q: p.low < 0,
    (Uniform, Gamma): lambda p, q: p.low < 0,
    (Uniform, Pareto): lambda p, q: p.low < q.scale,
}

_Classes = dict[type, tuple[type, ...]]
_POSITIVE = (Exponential, Gamma, Pareto)
_BOUNDED = (Beta, ContinuousBernoulli, Uniform)
_FINITE: _Classes = {
    Bernoulli: (Poisson,),
    Beta: (ContinuousBernoulli, Exponential, Gamma, Normal, Uniform),
    ContinuousBernoulli: (Exponential, Normal, Uniform),
    Exponential: (Gamma, Gumbel, Normal),
    Gamma: (Exponential, Gumbel, Normal),
    Gumbel: (Normal,),
    Laplace: (Normal,),
    Normal: (Gumbel,),
    Pareto: (Exponential, Gamma, Normal),
    Uniform: (Beta, ContinuousBernoulli, Exponential, Gamma, Gumbel, Normal, Pareto),
}
_INFINITE: _Classes = {
    Beta: (Pareto,),
    ContinuousBernoulli: (Pareto,),
    Exponential: (*_BOUNDED, Pareto),
    Gamma: (*_BOUNDED, Pareto),
    Gumbel: (*_BOUNDED, *_POSITIVE),
    Laplace: (*_BOUNDED, *_POSITIVE),
    Normal: (*_BOUNDED, *_POSITIVE),
    Pareto: _BOUNDED,
    Poisson: (Bernoulli, Binomial),
}


def _infinite(p: Any, q: Any) -> Any:
    return functions.full_like(p.mean, math.inf)


def _finite(type_p: type, type_q: type) -> Callable:
    log_density, outside = _LOG_DENSITY[type_q], _OUTSIDE.get((type_p, type_q))

    def divergence(p: Any, q: Any) -> Any:
        value = -p.entropy() - log_density(p, q)
        return value if outside is None else value.masked_fill(outside(p, q), math.inf)
    return divergence


def _register() -> None:
    for p, qs in _FINITE.items():
        for q in qs:
            register_kl(p, q)(_finite(p, q))
    for p, qs in _INFINITE.items():
        for q in qs:
            register_kl(p, q)(_infinite)


_register()


@register_kl(Normal, Laplace)
def _normal_laplace(p: Any, q: Any) -> Any:
    away, width = p.loc - q.loc, p.scale / q.scale
    z = away / p.scale
    inside = math.sqrt(2 / math.pi) * p.scale * (-0.5 * z.pow(2)).exp() + away * (math.sqrt(0.5) * z).erf()
    return -width.log() + inside / q.scale - 0.5 * math.log(0.5 * math.pi) - 0.5
