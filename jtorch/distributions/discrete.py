"""Discrete distributions."""
from __future__ import annotations

import math
from typing import Any

from jtorch._api import functions, nn_functions
from jtorch._base.dtype_info import finfo
from jtorch._base.size import NO_DIMS, Size
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


def _computed(d: Distribution) -> Any:
    """Return ``probs`` or ``logits``, whichever needs no computation."""
    return vars(d).get("probs", vars(d).get("logits"))


def _cross_entropy(logits: Any, probs: Any) -> Any:
    return nn_functions.binary_cross_entropy_with_logits(logits, probs, reduction="none")


class Binary(Parametrized):
    """A distribution with one probability, given as ``probs`` or as ``logits``."""

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None):
        one_of(probs, logits)
        given = {"logits": logits} if probs is None else {"probs": probs}
        self._set(validate_args, **given)

    @lazy_property
    def logits(self) -> Any:
        """Return the log odds."""
        return logits_of(self.probs, binary=True)

    @lazy_property
    def probs(self) -> Any:
        """Return the probability."""
        return probs_of(self.logits, binary=True)

    @property
    def param_shape(self) -> Size:
        """Return the shape of the parameter."""
        return self._param.size()

    @property
    def _param(self) -> Any:
        return _computed(self)


class Bernoulli(Binary, ExponentialFamily):
    """The Bernoulli distribution: 1 with probability ``probs``, else 0. See torch.distributions.Bernoulli.

    Samples have the parameter's dtype.

    Args:
        probs (float or Tensor): the probability of 1, in [0, 1]; any shape, floating dtype.
        logits (float or Tensor): the log odds log(probs / (1 - probs)), instead of ``probs``.
        validate_args (bool or None): whether to check parameters and values; None takes the default.

    Raises:
        ValueError: unless exactly one of ``probs`` and ``logits`` is given, or if a parameter is outside its
            constraint.

    Example::

        >>> torch.distributions.Bernoulli(torch.tensor(0.25)).log_prob(torch.tensor(1.0))
        tensor(-1.3863)

    """

    support = constraints.boolean
    has_enumerate_support = True

    @property
    def mean(self) -> Any:
        """Return ``probs``."""
        return self.probs

    @property
    def mode(self) -> Any:
        """Return the more likely of 0 and 1; nan where both are equally likely."""
        return (self.probs >= 0.5).to(self.probs.dtype).masked_fill(self.probs == 0.5, math.nan)

    @property
    def variance(self) -> Any:
        """Return the variance."""
        return self.probs * (1 - self.probs)

    def sample(self, sample_shape: Any = NO_DIMS) -> Any:
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
        """Return 0 and 1."""
        return self._enumerated(functions.arange(2, dtype=self._param.dtype, device=self._param.device), expand)


class Geometric(Binary):
    """The geometric distribution: the number of failures before the first success. See torch.distributions.Geometric.

    Samples have the parameter's dtype.

    Args:
        probs (float or Tensor): the probability of 1, in [0, 1]; any shape, floating dtype.
        logits (float or Tensor): the log odds log(probs / (1 - probs)), instead of ``probs``.
        validate_args (bool or None): whether to check parameters and values; None takes the default.

    Raises:
        ValueError: unless exactly one of ``probs`` and ``logits`` is given, or if a parameter is outside its
            constraint.

    Example::

        >>> torch.distributions.Geometric(torch.tensor(0.25)).mean
        tensor(3.)

    """

    support = constraints.nonnegative_integer

    @property
    def mean(self) -> Any:
        """Return the mean."""
        return 1.0 / self.probs - 1.0

    @property
    def mode(self) -> Any:
        """Return 0."""
        return functions.zeros_like(self.probs)

    @property
    def variance(self) -> Any:
        """Return the variance."""
        return (1.0 / self.probs - 1.0) / self.probs

    def sample(self, sample_shape: Any = NO_DIMS) -> Any:
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
    """The Poisson distribution: the number of independent events that occur ``rate`` times on average.

    Samples have the dtype of ``rate``. They carry no gradient. See torch.distributions.Poisson.

    Args:
        rate (float or Tensor): the mean, nonnegative; any shape, floating dtype.
        validate_args (bool or None): whether to check parameters and values; None takes the default.

    Raises:
        ValueError: for a parameter outside its constraint, or for a value in ``log_prob`` outside the support.

    Example::

        >>> torch.distributions.Poisson(3.0).variance
        tensor(3.)

    """

    arg_constraints = {"rate": constraints.nonnegative}
    support = constraints.nonnegative_integer
    rate: Any

    def __init__(self, rate: Any, validate_args: bool | None = None):
        self._set(validate_args, rate=rate)

    @property
    def mean(self) -> Any:
        """Return ``rate``."""
        return self.rate

    @property
    def mode(self) -> Any:
        """Return the integer part of ``rate``."""
        return self.rate.floor()

    @property
    def variance(self) -> Any:
        """Return ``rate``."""
        return self.rate

    def sample(self, sample_shape: Any = NO_DIMS) -> Any:
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
    """The categorical distribution: an index 0 to K - 1 with the probabilities ``probs``.

    Samples are int64. See torch.distributions.Categorical.

    Args:
        probs (Tensor): the categories' weights along the last dim, (*batch, K), nonnegative; they are normalized.
        logits (Tensor): unnormalized log probabilities, (*batch, K), instead of ``probs``.
        validate_args (bool or None): whether to check parameters and values; None takes the default.

    Raises:
        ValueError: unless exactly one parameter is given, or if it has no dims or is outside its constraint.

    Example::

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
        """Return the logarithms of the probabilities."""
        return logits_of(self.probs)

    @lazy_property
    def probs(self) -> Any:
        """Return the probabilities."""
        return probs_of(self.logits)

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self) -> Any:       # type: ignore[override]
        """Return the indices 0 to K - 1."""
        return constraints.integer_interval(0, self._num_events - 1)

    @property
    def param_shape(self) -> Size:
        """Return the shape of the parameter."""
        return Size((*self._batch_shape, self._num_events))

    @property
    def _param(self) -> Any:
        return _computed(self)

    @property
    def mean(self) -> Any:
        """Return nan, since indices have no mean."""
        return functions.full(self._extended_shape(), math.nan, dtype=self.probs.dtype, device=self.probs.device)

    variance = mean

    @property
    def mode(self) -> Any:
        """Return the most likely index."""
        return self.probs.argmax(dim=-1)

    def sample(self, sample_shape: Any = NO_DIMS) -> Any:
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
        """Return the indices 0 to K - 1."""
        return self._enumerated(functions.arange(self._num_events, device=self._param.device), expand)


class OfCategorical(Distribution):
    """A distribution over vectors that has the parameters of a Categorical."""

    def _set(self, probs: Any, logits: Any, validate_args: bool | None) -> None:
        self._categorical = Categorical(probs, logits)
        super().__init__(self._categorical.batch_shape, self._categorical.param_shape[-1:], validate_args)

    @property
    def probs(self) -> Any:
        """Return the probabilities."""
        return self._categorical.probs

    @property
    def logits(self) -> Any:
        """Return the logarithms of the probabilities."""
        return self._categorical.logits

    @property
    def param_shape(self) -> Any:
        """Return the shape of the parameter."""
        return self._categorical.param_shape

    @property
    def _param(self) -> Any:
        return self._categorical._param


class OneHotCategorical(OfCategorical):
    """The categorical distribution over one-hot vectors. See torch.distributions.OneHotCategorical.

    Samples have the shape (*sample, *batch, K) and the parameter's dtype.

    Args:
        probs (Tensor): the categories' weights along the last dim, (*batch, K), nonnegative; they are normalized.
        logits (Tensor): unnormalized log probabilities, (*batch, K), instead of ``probs``.
        validate_args (bool or None): whether to check parameters and values; None takes the default.

    Raises:
        ValueError: unless exactly one parameter is given, or if it has no dims or is outside its constraint.

    Example::

        >>> torch.distributions.OneHotCategorical(torch.tensor([0.25, 0.75])).mode
        tensor([0., 1.])

    """

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    support = constraints.one_hot
    has_enumerate_support = True

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None):
        self._set(probs, logits, validate_args)

    @property
    def mean(self) -> Any:
        """Return the probabilities."""
        return self.probs

    @property
    def variance(self) -> Any:
        """Return the variance."""
        return self.probs * (1 - self.probs)

    @property
    def mode(self) -> Any:
        """Return the one-hot vector of the most likely index."""
        return self._one_hot(self._categorical.mode)

    def _one_hot(self, index: Any) -> Any:
        return nn_functions.one_hot(index, self.event_shape[0]).to(self.probs.dtype)

    def sample(self, sample_shape: Any = NO_DIMS) -> Any:
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
        """Return all one-hot vectors."""
        return self._enumerated(functions.eye(self.event_shape[0], dtype=self._param.dtype, device=self._param.device), expand)


class OneHotCategoricalStraightThrough(OneHotCategorical):
    """OneHotCategorical whose samples pass gradients to ``probs`` by the straight-through estimator.

    See torch.distributions.OneHotCategoricalStraightThrough.

    Args:
        probs (Tensor): the categories' weights along the last dim, (*batch, K), nonnegative; they are normalized.
        logits (Tensor): unnormalized log probabilities, (*batch, K), instead of ``probs``.
        validate_args (bool or None): whether to check parameters and values; None takes the default.

    Raises:
        ValueError: unless exactly one parameter is given, or if it has no dims or is outside its constraint.

    Source: Bengio, Leonard and Courville 2013, Estimating or Propagating Gradients Through Stochastic Neurons,
    arXiv:1308.3432.

    Example::

        >>> torch.distributions.OneHotCategoricalStraightThrough(torch.tensor([0.5, 0.5])).has_rsample
        True

    """

    has_rsample = True

    def rsample(self, sample_shape: Any = NO_DIMS) -> Any:
        """See Distribution.rsample."""
        return self.sample(sample_shape) + (self.probs - self.probs.detach())
