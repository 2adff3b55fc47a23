"""Distributions over counts of successes."""
from __future__ import annotations

import math
from typing import Any

from jtorch._api import functions, nn_functions
from jtorch._base.size import NO_DIMS
from jtorch.distributions import constraints
from jtorch.distributions.discrete import Binary, OfCategorical
from jtorch.distributions.distribution import Distribution, broadcast_all, checked, one_of
from jtorch.distributions.gamma import Gamma
from jtorch.no_grad import no_grad


class _Trials(Binary):
    """``total_count`` trials that succeed with probability ``probs``, or with the log odds ``logits``."""

    total_count: Any

    def __init__(self, total_count: Any, probs: Any, logits: Any, validate_args: bool | None):
        one_of(probs, logits)
        name, given = ("logits", logits) if probs is None else ("probs", probs)
        count, given = broadcast_all(total_count, given)
        self.total_count = count.type_as(given)
        vars(self)[name] = given
        Distribution.__init__(self, given.size(), validate_args=validate_args)


class Binomial(_Trials):
    """The binomial distribution: the number of successes in ``total_count`` trials of probability ``probs``.

    The parameters broadcast to ``batch_shape``. Samples have their dtype. See torch.distributions.Binomial.

    Args:
        total_count (int or Tensor): the number of trials, nonnegative.
        probs (float or Tensor): the probability of 1, in [0, 1]; any shape, floating dtype.
        logits (float or Tensor): the log odds log(probs / (1 - probs)), instead of ``probs``.
        validate_args (bool or None): whether to check parameters and values; None takes the default.

    Raises:
        ValueError: unless exactly one of ``probs`` and ``logits`` is given, or if a parameter is outside its
            constraint.

    Example::

        >>> torch.distributions.Binomial(4, torch.tensor(0.5)).mean
        tensor(2.)

    """

    arg_constraints = {"total_count": constraints.nonnegative_integer, **Binary.arg_constraints}
    has_enumerate_support = True

    def __init__(self, total_count: Any = 1, probs: Any = None, logits: Any = None, validate_args: bool | None = None):
        super().__init__(total_count, probs, logits, validate_args)

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self) -> Any:           # type: ignore[override]
        """Return the constraint: integers from 0 to total_count."""
        return constraints.integer_interval(0, self.total_count)

    @property
    def mean(self) -> Any:
        """Return total_count * probs."""
        return self.total_count * self.probs

    @property
    def mode(self) -> Any:
        """Return the most likely count."""
        return ((self.total_count + 1) * self.probs).floor().clamp(max=self.total_count)

    @property
    def variance(self) -> Any:
        """Return total_count * probs * (1 - probs)."""
        return self.total_count * self.probs * (1 - self.probs)

    def sample(self, sample_shape: Any = NO_DIMS) -> Any:
        shape = self._extended_shape(sample_shape)
        with no_grad():
            return functions.binomial(self.total_count.expand(shape), self.probs.expand(shape))

    @checked
    def log_prob(self, value: Any) -> Any:
        n, odds = self.total_count, self.logits
        ways = (n + 1).lgamma() - (value + 1).lgamma() - (n - value + 1).lgamma()
        above = (odds.clamp(min=0) + odds - odds.clamp(max=0)) / 2      # This is max(odds, 0) with gradient 1/2 at 0.
        return value * odds + ways - n * above - n * (-odds.abs()).exp().log1p()

    def _one_count(self, method: str) -> int:
        count = int(self.total_count.max())
        if bool(self.total_count.min() != count):
            raise NotImplementedError(f"Inhomogeneous total count not supported by `{method}`.")
        return count

    def entropy(self) -> Any:
        self._one_count("entropy")
        log_prob = self.log_prob(self.enumerate_support(False))
        return -(log_prob.exp() * log_prob).sum(0)

    def enumerate_support(self, expand: bool = True) -> Any:
        """Return 0 to total_count, which must be the same for the whole batch."""
        count = self._one_count("enumerate_support")
        return self._enumerated(functions.arange(1 + count, dtype=self.total_count.dtype, device=self.total_count.device), expand)


class NegativeBinomial(_Trials):
    """The negative binomial distribution: the number of successes before ``total_count`` failures.

    The parameters broadcast to ``batch_shape``. Samples have their dtype. See torch.distributions.NegativeBinomial.

    Args:
        total_count (float or Tensor): the number of failures, nonnegative.
        probs (float or Tensor): the probability of success, in [0, 1); any shape, floating dtype.
        logits (float or Tensor): the log odds, instead of ``probs``.
        validate_args (bool or None): whether to check parameters and values; None takes the default.

    Raises:
        ValueError: unless exactly one of ``probs`` and ``logits`` is given, or if a parameter is outside its
            constraint.

    Example::

        >>> torch.distributions.NegativeBinomial(3, torch.tensor(0.5)).mean
        tensor(3.)

    """

    arg_constraints = {"total_count": constraints.greater_than_eq(0), "probs": constraints.half_open_interval(0.0, 1.0),
                       "logits": constraints.real}
    support = constraints.nonnegative_integer

    def __init__(self, total_count: Any, probs: Any = None, logits: Any = None, validate_args: bool | None = None):
        super().__init__(total_count, probs, logits, validate_args)

    @property
    def mean(self) -> Any:
        """Return the mean."""
        return self.total_count * self.logits.exp()

    @property
    def mode(self) -> Any:
        """Return the most likely count."""
        return ((self.total_count - 1) * self.logits.exp()).floor().clamp(min=0.0)

    @property
    def variance(self) -> Any:
        """Return the variance."""
        return self.mean / (-self.logits).sigmoid()

    def sample(self, sample_shape: Any = NO_DIMS) -> Any:
        with no_grad():
            rates = Gamma(self.total_count, (-self.logits).exp(), validate_args=False)
            return functions.poisson(rates.sample(sample_shape))

    @checked
    def log_prob(self, value: Any) -> Any:
        n, logsigmoid = self.total_count, nn_functions.logsigmoid
        ways = (n + value).lgamma() - (1.0 + value).lgamma() - n.lgamma()
        return n * logsigmoid(-self.logits) + value * logsigmoid(self.logits) + ways.masked_fill(n + value == 0.0, 0.0)


class Multinomial(OfCategorical):
    """The multinomial distribution: how often ``total_count`` draws of a Categorical give each index.

    Samples have the shape (*sample, *batch, K) and the parameter's dtype. See torch.distributions.Multinomial.

    Args:
        total_count (int): the number of draws.
        probs (Tensor): the categories' weights along the last dim, (*batch, K), nonnegative; they are normalized.
        logits (Tensor): unnormalized log probabilities, (*batch, K), instead of ``probs``.
        validate_args (bool or None): whether to check parameters and values; None takes the default.

    Raises:
        NotImplementedError: if ``total_count`` is no int.
        ValueError: unless exactly one of ``probs`` and ``logits`` is given, or if it is outside its constraint.

    Example::

        >>> torch.distributions.Multinomial(4, torch.tensor([0.25, 0.75])).mean
        tensor([1., 3.])

    """

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}

    def __init__(self, total_count: int = 1, probs: Any = None, logits: Any = None, validate_args: bool | None = None):
        if not isinstance(total_count, int):
            raise NotImplementedError("inhomogeneous total_count is not supported")
        self.total_count = total_count
        self._set(probs, logits, validate_args)

    @constraints.dependent_property(is_discrete=True, event_dim=1)
    def support(self) -> Any:           # type: ignore[override]
        """Return the constraint: counts with sum total_count."""
        return constraints.multinomial(self.total_count)

    @property
    def mean(self) -> Any:
        """Return total_count * probs."""
        return self.probs * self.total_count

    @property
    def variance(self) -> Any:
        """Return total_count * probs * (1 - probs)."""
        return self.total_count * self.probs * (1 - self.probs)

    def sample(self, sample_shape: Any = NO_DIMS) -> Any:
        drawn = self._categorical.sample((self.total_count, *sample_shape)).movedim(0, -1)
        counts = functions.zeros(self._extended_shape(sample_shape), dtype=drawn.dtype, device=drawn.device)
        return counts.scatter_add_(-1, drawn, functions.ones_like(drawn)).type_as(self.probs)

    @checked
    def log_prob(self, value: Any) -> Any:
        logits, value = broadcast_all(self.logits, value)
        logits = logits.masked_fill((value == 0) & (logits == -math.inf), 0)
        return (value.sum(-1) + 1).lgamma() - (value + 1).lgamma().sum(-1) + (logits * value).sum(-1)

    def entropy(self) -> Any:
        n, each = self.total_count, Binomial(self.total_count, probs=self.probs)
        counts = each.enumerate_support(expand=False)[1:]
        shared = (each.log_prob(counts).exp() * (counts + 1).lgamma()).sum([0, -1])
        return n * self._categorical.entropy() - math.lgamma(n + 1) + shared
