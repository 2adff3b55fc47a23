"""Relaxed discrete distributions: samples are continuous, so that gradients reach the probabilities."""
from __future__ import annotations

import math
from typing import Any

from jtorch._api import functions, nn_functions
from jtorch._base.size import NO_DIMS
from jtorch.distributions import constraints
from jtorch.distributions.discrete import Binary, OfCategorical
from jtorch.distributions.distribution import (
    Distribution,
    ExponentialFamily,
    Number,
    broadcast_all,
    checked,
    clamp_probs,
    lazy_property,
    one_of,
    probs_of,
)
from jtorch.distributions.transformed import TransformedDistribution
from jtorch.distributions.transforms import ExpTransform, SigmoidTransform
from jtorch.no_grad import no_grad


def _uniform(like: Any, shape: Any) -> Any:
    return functions.rand(shape, dtype=like.dtype, device=like.device)


class LogitRelaxedBernoulli(Binary):
    """The log odds of a RelaxedBernoulli number. See torch.distributions.relaxed_bernoulli.LogitRelaxedBernoulli.

    Samples have the parameter's dtype.

    Args:
        temperature (Tensor): the softness, positive; samples approach discrete choices as it goes to 0.
        probs (float or Tensor): the probability of 1, in [0, 1]; any shape, floating dtype.
        logits (float or Tensor): the log odds log(probs / (1 - probs)), instead of ``probs``.
        validate_args (bool or None): whether to check parameters and values; None takes the default.

    Raises:
        ValueError: unless exactly one of ``probs`` and ``logits`` is given, or if a parameter is outside its
            constraint.

    Example::

        >>> from jtorch.distributions.relaxed_bernoulli import LogitRelaxedBernoulli
        >>> LogitRelaxedBernoulli(torch.tensor(1.0), torch.tensor(0.5)).log_prob(torch.tensor(0.0))
        tensor(-1.3863)

    """

    support = constraints.real
    _not_of_batch = ("temperature",)

    def __init__(self, temperature: Any, probs: Any = None, logits: Any = None, validate_args: bool | None = None):
        self.temperature = temperature
        super().__init__(probs, logits, validate_args)

    def rsample(self, sample_shape: Any = NO_DIMS) -> Any:
        shape = self._extended_shape(sample_shape)
        probs, u = clamp_probs(self.probs.expand(shape)), clamp_probs(_uniform(self.probs, shape))
        return (u.log() - (-u).log1p() + probs.log() - (-probs).log1p()) / self.temperature

    @checked
    def log_prob(self, value: Any) -> Any:
        logits, value = broadcast_all(self.logits, value)
        away = logits - value.mul(self.temperature)
        return self.temperature.log() + away - 2 * away.exp().log1p()


class _Relaxed(TransformedDistribution):
    """A transformed distribution whose base has a temperature, probs and logits."""

    has_rsample = True

    @property
    def temperature(self) -> Any:
        """Return the temperature; samples approach discrete choices as it goes to 0."""
        return self.base_dist.temperature

    @property
    def probs(self) -> Any:
        """Return the probabilities."""
        return self.base_dist.probs

    @property
    def logits(self) -> Any:
        """Return the log odds, or the log probabilities."""
        return self.base_dist.logits


class RelaxedBernoulli(_Relaxed):
    """The relaxed Bernoulli distribution: Bernoulli's choice made continuous by ``temperature``.

    Samples lie in (0, 1) and carry gradients to the parameter. See torch.distributions.RelaxedBernoulli.

    Args:
        temperature (Tensor): the softness, positive; samples approach discrete choices as it goes to 0.
        probs (float or Tensor): the probability of 1, in [0, 1]; any shape, floating dtype.
        logits (float or Tensor): the log odds log(probs / (1 - probs)), instead of ``probs``.
        validate_args (bool or None): whether to check parameters and values; None takes the default.

    Raises:
        ValueError: unless exactly one of ``probs`` and ``logits`` is given, or if a parameter is outside its
            constraint.

    Source: Maddison, Mnih and Teh 2017, The Concrete Distribution; Jang, Gu and Poole 2017, Gumbel-Softmax.

    Example::

        >>> torch.distributions.RelaxedBernoulli(torch.tensor(1.0), torch.tensor(0.5)).log_prob(torch.tensor(0.5))
        tensor(0.)

    """

    arg_constraints = Binary.arg_constraints
    support = constraints.unit_interval

    def __init__(self, temperature: Any, probs: Any = None, logits: Any = None, validate_args: bool | None = None):
        super().__init__(LogitRelaxedBernoulli(temperature, probs, logits), SigmoidTransform(), validate_args)


class ExpRelaxedCategorical(OfCategorical):
    """The logarithms of a RelaxedOneHotCategorical vector.

    Samples have the shape (*sample, *batch, K). See torch.distributions.relaxed_categorical.ExpRelaxedCategorical.

    Args:
        temperature (Tensor): the softness, positive; samples approach discrete choices as it goes to 0.
        probs (Tensor): the categories' weights along the last dim, (*batch, K), nonnegative; they are normalized.
        logits (Tensor): unnormalized log probabilities, (*batch, K), instead of ``probs``.
        validate_args (bool or None): whether to check parameters and values; None takes the default.

    Raises:
        ValueError: unless exactly one of ``probs`` and ``logits`` is given, or if it is outside its constraint.

    Example::

        >>> from jtorch.distributions.relaxed_categorical import ExpRelaxedCategorical
        >>> ExpRelaxedCategorical(torch.tensor(1.0), torch.ones(3)).event_shape
        torch.Size([3])

    """

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    support = constraints.real_vector
    has_rsample = True
    _not_of_batch = ("temperature",)

    def __init__(self, temperature: Any, probs: Any = None, logits: Any = None, validate_args: bool | None = None):
        self.temperature = temperature
        self._set(probs, logits, validate_args)

    def rsample(self, sample_shape: Any = NO_DIMS) -> Any:
        u = clamp_probs(_uniform(self.logits, self._extended_shape(sample_shape)))
        return ((self.logits - (-u.log()).log()) / self.temperature).log_softmax(-1)

    @checked
    def log_prob(self, value: Any) -> Any:
        n = self._event_shape[0]
        logits, value = broadcast_all(self.logits, value)
        score = (logits - value.mul(self.temperature)).log_softmax(-1).sum(-1)
        return score + math.lgamma(n) + self.temperature.log() * (n - 1)


class RelaxedOneHotCategorical(_Relaxed):
    """The relaxed one-hot categorical distribution: vectors with sum 1 instead of one-hot vectors.

    Samples have the shape (*sample, *batch, K) and carry gradients to the parameter. See
    torch.distributions.RelaxedOneHotCategorical.

    Args:
        temperature (Tensor): the softness, positive; samples approach discrete choices as it goes to 0.
        probs (Tensor): the categories' weights along the last dim, (*batch, K), nonnegative; they are normalized.
        logits (Tensor): unnormalized log probabilities, (*batch, K), instead of ``probs``.
        validate_args (bool or None): whether to check parameters and values; None takes the default.

    Raises:
        ValueError: unless exactly one of ``probs`` and ``logits`` is given, or if it is outside its constraint.

    Source: Maddison, Mnih and Teh 2017, The Concrete Distribution; Jang, Gu and Poole 2017, Gumbel-Softmax.

    Example::

        >>> torch.distributions.RelaxedOneHotCategorical(torch.tensor(1.0), torch.ones(3)).event_shape
        torch.Size([3])

    """

    arg_constraints = ExpRelaxedCategorical.arg_constraints
    support = constraints.simplex

    def __init__(self, temperature: Any, probs: Any = None, logits: Any = None, validate_args: bool | None = None):
        super().__init__(ExpRelaxedCategorical(temperature, probs, logits, validate_args), ExpTransform(), validate_args)


class ContinuousBernoulli(Binary, ExponentialFamily):
    """The continuous Bernoulli distribution on [0, 1], proportional to probs ** x (1 - probs) ** (1 - x).

    Near probs = 1/2, within ``lims``, the formulas are 0/0; Taylor series replace them. See
    torch.distributions.ContinuousBernoulli.

    Args:
        probs (float or Tensor): the probability of 1, in [0, 1]; any shape, floating dtype.
        logits (float or Tensor): the log odds log(probs / (1 - probs)), instead of ``probs``.
        lims (tuple of two floats): the interval of ``probs`` in which the series are used.
        validate_args (bool or None): whether to check parameters and values; None takes the default.

    Raises:
        ValueError: unless exactly one of ``probs`` and ``logits`` is given, or if a parameter is outside its
            constraint.

    Source: Loaiza-Ganem and Cunningham 2019, The continuous Bernoulli.

    Example::

        >>> torch.distributions.ContinuousBernoulli(torch.tensor(0.5)).mean
        tensor(0.5000)

    """

    support = constraints.unit_interval
    has_rsample = True
    _mean_carrier_measure = 0

    def __init__(self, probs: Any = None, logits: Any = None, lims: tuple[float, float] = (0.499, 0.501),
                 validate_args: bool | None = None):
        one_of(probs, logits)
        name, given = ("logits", logits) if probs is None else ("probs", probs)
        value, = broadcast_all(given)
        if name == "probs":
            if validate_args is not None and not bool(constraints.unit_interval.check(value).all()):
                raise ValueError("The parameter probs has invalid values")
            value = clamp_probs(value)
        vars(self)[name], self._lims = value, lims
        Distribution.__init__(self, () if isinstance(given, Number) else value.size(), validate_args=validate_args)

    @lazy_property
    def probs(self) -> Any:
        """Return the parameter, clamped away from 0 and 1."""
        return clamp_probs(probs_of(self.logits, binary=True))

    def _stable(self) -> Any:
        return (self.probs <= self._lims[0]) | (self.probs > self._lims[1])

    def _cut(self) -> Any:
        """Return ``probs``, replaced by the lower limit where the series is used."""
        return functions.where(self._stable(), self.probs, self._lims[0])

    def _or_series(self, value: Any, series: Any) -> Any:
        return functions.where(self._stable(), value, series)

    def _cont_bern_log_norm(self) -> Any:
        p, x = self._cut(), (self.probs - 0.5).pow(2)
        value = ((-p).log1p() - p.log()).abs().log() - (1.0 - 2.0 * p).abs().log()
        return self._or_series(value, math.log(2.0) + (4.0 / 3.0 + 104.0 / 45.0 * x) * x)

    @property
    def mean(self) -> Any:
        """Return the mean."""
        p, x = self._cut(), self.probs - 0.5
        value = p / (2.0 * p - 1.0) + 1.0 / ((-p).log1p() - p.log())
        return self._or_series(value, 0.5 + (1.0 / 3.0 + 16.0 / 45.0 * x.pow(2)) * x)

    @property
    def variance(self) -> Any:
        """Return the variance."""
        p, x = self._cut(), (self.probs - 0.5).pow(2)
        value = p * (p - 1.0) / (1.0 - 2.0 * p).pow(2) + 1.0 / ((-p).log1p() - p.log()).pow(2)
        return self._or_series(value, 1.0 / 12.0 - (1.0 / 15.0 - 128.0 / 945.0 * x) * x)

    def sample(self, sample_shape: Any = NO_DIMS) -> Any:
        with no_grad():
            return self.rsample(sample_shape)

    def rsample(self, sample_shape: Any = NO_DIMS) -> Any:
        return self.icdf(_uniform(self.probs, self._extended_shape(sample_shape)))

    @checked
    def log_prob(self, value: Any) -> Any:
        logits, value = broadcast_all(self.logits, value)
        entropy = nn_functions.binary_cross_entropy_with_logits(logits, value, reduction="none")
        return self._cont_bern_log_norm() - entropy

    @checked
    def cdf(self, value: Any) -> Any:
        p = self._cut()
        inside = (p.pow(value) * (1.0 - p).pow(1.0 - value) + p - 1.0) / (2.0 * p - 1.0)
        inside = self._or_series(inside, value)
        return inside.masked_fill(value <= 0.0, 0.0).masked_fill(value >= 1.0, 1.0)

    def icdf(self, value: Any) -> Any:
        p = self._cut()
        low = (-p).log1p()
        return self._or_series(((-p + value * (2.0 * p - 1.0)).log1p() - low) / (p.log() - low), value)

    def entropy(self) -> Any:
        low = (-self.probs).log1p()
        return self.mean * (low - self.probs.log()) - self._cont_bern_log_norm() - low

    @property
    def _natural_params(self) -> tuple:         # type: ignore[override]
        return self.logits,

    def _log_normalizer(self, x: Any) -> Any:       # type: ignore[override]
        low, high = self._lims[0] - 0.5, self._lims[1] - 0.5
        stable = (x <= low) | (x > high)
        cut = functions.where(stable, x, low)
        series = 0.5 * x + x.pow(2) / 24.0 - x.pow(4) / 2880.0
        return functions.where(stable, cut.expm1().abs().log() - cut.abs().log(), series)
