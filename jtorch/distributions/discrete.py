"""Discrete distributions."""
from __future__ import annotations

import math
from typing import Any

from jtorch._api import functions, nn_functions
from jtorch._base.dtype_info import finfo
from jtorch._base.size import Size
from jtorch.distributions import constraints
from jtorch.distributions._families import Parametrized
from jtorch.distributions.distribution import (
    Distribution,
    ExponentialFamily,
    broadcast_all,
    checked,
    lazy_property,
    logits_of,
    one_of,
    probs_of,
)
from jtorch.no_grad import no_grad


def _cross_entropy(logits: Any, probs: Any) -> Any:
    return nn_functions.binary_cross_entropy_with_logits(logits, probs, reduction="none")


class Binary(Parametrized):
    """A distribution over the chance of a yes, given as ``probs`` or as ``logits``."""

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None):
        one_of(probs, logits)
        given = {"logits": logits} if probs is None else {"probs": probs}
        self._set(validate_args, **given)

    @lazy_property
    def logits(self) -> Any:
        """log odds."""
        return logits_of(self.probs, binary=True)

    @lazy_property
    def probs(self) -> Any:
        """The chance."""
        return probs_of(self.logits, binary=True)

    @property
    def param_shape(self) -> Size:
        """The shape of the parameter."""
        return (vars(self).get("probs", vars(self).get("logits"))).size()     # type: ignore[union-attr]


class Bernoulli(Binary, ExponentialFamily):
    """1 with the probability ``probs``, else 0. See torch.distributions.Bernoulli."""

    support = constraints.boolean
    has_enumerate_support = True

    @property
    def mean(self) -> Any:
        """probs."""
        return self.probs

    @property
    def mode(self) -> Any:
        """The likelier one; nan at 1/2."""
        return (self.probs >= 0.5).to(self.probs.dtype).masked_fill(self.probs == 0.5, math.nan)

    @property
    def variance(self) -> Any:
        """The variance."""
        return self.probs * (1 - self.probs)

    def sample(self, sample_shape: Any = ()) -> Any:
        """See Distribution.sample."""
        with no_grad():
            return functions.bernoulli(self.probs.expand(self._extended_shape(sample_shape)))

    @checked
    def log_prob(self, value: Any) -> Any:
        """See Distribution.log_prob."""
        return -_cross_entropy(*broadcast_all(self.logits, value))

    def entropy(self) -> Any:
        """See Distribution.entropy."""
        return _cross_entropy(self.logits, self.probs)

    @property
    def _natural_params(self) -> tuple:         # type: ignore[override]
        return self.probs.logit(),

    def _log_normalizer(self, x: Any) -> Any:       # type: ignore[override]
        return x.exp().log1p()

    def enumerate_support(self, expand: bool = True) -> Any:
        """0 and 1."""
        return self._enumerated(functions.arange(2, dtype=self.probs.dtype, device=self.probs.device), expand)


class Geometric(Binary):
    """How many noes come before the first yes. See torch.distributions.Geometric."""

    support = constraints.nonnegative_integer

    @property
    def mean(self) -> Any:
        """The mean."""
        return 1.0 / self.probs - 1.0

    @property
    def mode(self) -> Any:
        """0."""
        return functions.zeros_like(self.probs)

    @property
    def variance(self) -> Any:
        """The variance."""
        return (1.0 / self.probs - 1.0) / self.probs

    def sample(self, sample_shape: Any = ()) -> Any:
        """See Distribution.sample."""
        shape, dtype = self._extended_shape(sample_shape), self.probs.dtype
        with no_grad():
            u = functions.empty(shape, dtype=dtype, device=self.probs.device).uniform_(finfo(dtype).tiny, 1)
            return (u.log() / (-self.probs).log1p()).floor()

    @checked
    def log_prob(self, value: Any) -> Any:
        """See Distribution.log_prob."""
        value, probs = broadcast_all(value, self.probs)
        probs = probs.masked_fill((probs == 1) & (value == 0), 0)
        return value * (-probs).log1p() + self.probs.log()

    def entropy(self) -> Any:
        """See Distribution.entropy."""
        return _cross_entropy(self.logits, self.probs) / self.probs


class Poisson(Parametrized, ExponentialFamily):
    """How often something happens that happens ``rate`` times on average. See torch.distributions.Poisson."""

    arg_constraints = {"rate": constraints.nonnegative}
    support = constraints.nonnegative_integer
    rate: Any

    def __init__(self, rate: Any, validate_args: bool | None = None):
        self._set(validate_args, rate=rate)

    @property
    def mean(self) -> Any:
        """rate."""
        return self.rate

    @property
    def mode(self) -> Any:
        """The integer at or below rate."""
        return self.rate.floor()

    @property
    def variance(self) -> Any:
        """rate."""
        return self.rate

    def sample(self, sample_shape: Any = ()) -> Any:
        """See Distribution.sample."""
        with no_grad():
            return functions.poisson(self.rate.expand(self._extended_shape(sample_shape)))

    @checked
    def log_prob(self, value: Any) -> Any:
        """See Distribution.log_prob."""
        rate, value = broadcast_all(self.rate, value)
        return value.xlogy(rate) - rate - (value + 1).lgamma()

    @property
    def _natural_params(self) -> tuple:         # type: ignore[override]
        return self.rate.log(),

    def _log_normalizer(self, x: Any) -> Any:       # type: ignore[override]
        return x.exp()


class Categorical(Distribution):
    """One of the indices of the last dimension, with the probabilities ``probs`` or e to ``logits``.

    Neither has to sum to 1. See torch.distributions.Categorical.

        >>> torch.distributions.Categorical(torch.tensor([0.25, 0.75])).log_prob(torch.tensor(1))
        tensor(-0.2877)
    """

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    has_enumerate_support = True

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None):
        one_of(probs, logits)
        name, given = ("logits", logits) if probs is None else ("probs", probs)
        if given.dim() < 1:
            raise ValueError(f"`{name}` parameter must be at least one-dimensional.")
        if probs is None:
            self.logits = logits - logits.logsumexp(dim=-1, keepdim=True)
        else:
            self.probs = probs / probs.sum(-1, keepdim=True)
        self._num_events = given.size(-1)
        super().__init__(given.size()[:-1], validate_args=validate_args)

    @lazy_property
    def logits(self) -> Any:
        """The logarithms of the probabilities."""
        return logits_of(self.probs)

    @lazy_property
    def probs(self) -> Any:
        """The probabilities."""
        return probs_of(self.logits)

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self) -> Any:       # type: ignore[override]
        """The indices."""
        return constraints.integer_interval(0, self._num_events - 1)

    @property
    def param_shape(self) -> Size:
        """The shape of the parameter."""
        return Size((*self._batch_shape, self._num_events))

    @property
    def mean(self) -> Any:
        """nan: indices have none."""
        return functions.full(self._extended_shape(), math.nan, dtype=self.probs.dtype, device=self.probs.device)

    variance = mean

    @property
    def mode(self) -> Any:
        """The likeliest index."""
        return self.probs.argmax(dim=-1)

    def sample(self, sample_shape: Any = ()) -> Any:
        """See Distribution.sample."""
        rows = self.probs.detach().reshape(-1, self._num_events)
        drawn = functions.multinomial(rows, Size(sample_shape).numel(), True).T
        return drawn.reshape(self._extended_shape(sample_shape))

    @checked
    def log_prob(self, value: Any) -> Any:
        """See Distribution.log_prob."""
        value, log_pmf = functions.broadcast_tensors(value.long().unsqueeze(-1), self.logits)
        return log_pmf.gather(-1, value[..., :1]).squeeze(-1)

    def entropy(self) -> Any:
        """See Distribution.entropy."""
        return -(self.logits.clamp(min=finfo(self.logits.dtype).min) * self.probs).sum(-1)

    def enumerate_support(self, expand: bool = True) -> Any:
        """The indices."""
        return self._enumerated(functions.arange(self._num_events, device=self.probs.device), expand)


class OfCategorical(Distribution):
    """A distribution over vectors with the probabilities, or logits, of a Categorical."""

    def _set(self, probs: Any, logits: Any, validate_args: bool | None) -> None:
        self._categorical = Categorical(probs, logits)
        super().__init__(self._categorical.batch_shape, self._categorical.param_shape[-1:], validate_args)

    @property
    def probs(self) -> Any:
        """The probabilities."""
        return self._categorical.probs

    @property
    def logits(self) -> Any:
        """The logarithms of the probabilities."""
        return self._categorical.logits

    @property
    def param_shape(self) -> Any:
        """The shape of the parameter."""
        return self._categorical.param_shape


class OneHotCategorical(OfCategorical):
    """Categorical's index as a vector with a 1 at it. See torch.distributions.OneHotCategorical."""

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    support = constraints.one_hot
    has_enumerate_support = True

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None):
        self._set(probs, logits, validate_args)

    @property
    def mean(self) -> Any:
        """The probabilities."""
        return self.probs

    @property
    def variance(self) -> Any:
        """The variance."""
        return self.probs * (1 - self.probs)

    @property
    def mode(self) -> Any:
        """The likeliest."""
        return self._one_hot(self._categorical.mode)

    def _one_hot(self, index: Any) -> Any:
        return nn_functions.one_hot(index, self.event_shape[0]).to(self.probs.dtype)

    def sample(self, sample_shape: Any = ()) -> Any:
        """See Distribution.sample."""
        return self._one_hot(self._categorical.sample(sample_shape))

    @checked
    def log_prob(self, value: Any) -> Any:
        """See Distribution.log_prob."""
        return self._categorical.log_prob(value.max(-1)[1])

    def entropy(self) -> Any:
        """See Distribution.entropy."""
        return self._categorical.entropy()

    def enumerate_support(self, expand: bool = True) -> Any:
        """The unit vectors."""
        return self._enumerated(functions.eye(self.event_shape[0], dtype=self.probs.dtype, device=self.probs.device), expand)


class OneHotCategoricalStraightThrough(OneHotCategorical):
    """OneHotCategorical whose samples pass gradients on to ``probs``. See torch.distributions."""

    has_rsample = True

    def rsample(self, sample_shape: Any = ()) -> Any:
        """See Distribution.rsample."""
        return self.sample(sample_shape) + (self.probs - self.probs.detach())
