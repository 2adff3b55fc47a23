"""The base classes of distributions, and helpers that distributions share."""
from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from jtorch import autograd
from jtorch._api import functions
from jtorch._api.creation import tensor
from jtorch._base import warned
from jtorch._base.dtype_info import finfo
from jtorch._base.size import NO_DIMS, Size
from jtorch.distributions.constraints import Constraint, is_dependent
from jtorch.no_grad import enable_grad, no_grad
from jtorch.tensor import Tensor

Number = (int, float, bool, complex)


def broadcast_all(*values: Any) -> tuple:
    """Broadcast numbers and tensors to tensors of one shape. See torch.distributions.utils.broadcast_all.

    Numbers take the dtype and device of the first tensor, or the default dtype.

    Args:
        values (numbers or Tensors): shapes that broadcast.

    Returns:
        a tuple of Tensors.

    Raises:
        ValueError: for values of other types.

    Example::

        >>> torch.distributions.utils.broadcast_all(1.0, torch.zeros(2))
        (tensor([1., 1.]), tensor([0., 0.]))

    """
    if not all([isinstance(v, (Tensor, *Number)) for v in values]):
        raise ValueError("Input arguments must all be instances of Number, torch.Tensor or objects implementing "
                         "__torch_function__.")
    first = next((v for v in values if isinstance(v, Tensor)), None)
    options = {"dtype": functions.get_default_dtype()} if first is None else {"dtype": first.dtype, "device": first.device}
    return tuple(functions.broadcast_tensors(*[v if isinstance(v, Tensor) else tensor(v, **options) for v in values]))


def standard_normal(like: Any, shape: Any) -> Any:
    """Draw standard normal numbers with the dtype and device of ``like``."""
    return functions.empty(shape, dtype=like.dtype, device=like.device).normal_()


def probs_of(logits: Any, binary: bool = False) -> Any:
    """Return probabilities, given log odds or unnormalized log probabilities along the last dim."""
    return logits.sigmoid() if binary else logits.softmax(-1)


def clamp_probs(probs: Any) -> Any:
    """Clamp probabilities away from 0 and 1 by the epsilon of their dtype."""
    eps = finfo(probs.dtype).eps
    return probs.clamp(min=eps, max=1 - eps)


def logits_of(probs: Any, binary: bool = False) -> Any:
    """Return log odds or log probabilities, given probabilities: the inverse of ``probs_of``."""
    inside = clamp_probs(probs)
    return inside.log() - (-inside).log1p() if binary else inside.log()


def sum_last(x: Any, n: int) -> Any:
    """Sum over the last ``n`` dims."""
    return x.sum(tuple(range(-n, 0))) if n else x


class _NotSaid:
    """A class attribute that raises NotImplementedError on instances whose class does not define it."""

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        if instance is None:
            return self
        raise NotImplementedError


class lazy_property(functools.cached_property):  # noqa: N801
    """An attribute that is computed, with its graph, on first access."""

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        with enable_grad():
            return super().__get__(instance, owner)


def _built_in(cls: type) -> type:
    """Return the first class in ``cls.__mro__`` that this package defines."""
    return next(c for c in cls.__mro__ if c.__module__.startswith((__package__, "torch.distributions.")))


class Distribution:
    """The base class of distributions, with ``sample``, ``log_prob``, ``entropy`` and moments.

    A subclass defines the methods, ``arg_constraints`` and ``support``. Samples have the shape sample_shape +
    batch_shape + event_shape. See torch.distributions.Distribution.

    Args:
        batch_shape (sequence of ints): the shape of the parameters of independent draws.
        event_shape (sequence of ints): the shape of one draw.
        validate_args (bool or None): whether to check parameters and values; None takes the default.

    Raises:
        ValueError: for a parameter outside its constraint, or for a value in ``log_prob`` outside the support.

    Example::

        >>> torch.distributions.Normal(torch.zeros(2), 1.0).batch_shape
        torch.Size([2])

    """

    has_rsample = False
    has_enumerate_support = False
    arg_constraints: Any = _NotSaid()
    support: Any = _NotSaid()
    mean: Any = _NotSaid()
    variance: Any = _NotSaid()
    _validate_args = __debug__
    _not_of_batch: tuple[str, ...] = ()     # attributes that ``expand`` does not expand

    @staticmethod
    def set_default_validate_args(value: bool) -> None:
        """Set whether distributions check their arguments by default."""
        if value not in (True, False):
            raise ValueError
        Distribution._validate_args = value

    def __init__(self, batch_shape: Any = NO_DIMS, event_shape: Any = NO_DIMS, validate_args: bool | None = None):
        self._batch_shape, self._event_shape = Size(batch_shape), Size(event_shape)
        if validate_args is not None:
            self._validate_args = validate_args
        if self._validate_args:
            for name, constraint in self._constraints().items():
                computed = name not in vars(self) and isinstance(getattr(type(self), name, None), lazy_property)
                if not (computed or is_dependent(constraint)):
                    self._check_parameter(name, constraint)

    def _constraints(self) -> dict[str, Constraint]:
        try:
            return self.arg_constraints
        except NotImplementedError:
            self._warn_of_missing("`arg_constraints`. Please set `arg_constraints = {}` or initialize the distribution with")
            return {}

    def _warn_of_missing(self, what: str) -> None:
        warned.warn(f"{type(self)} does not define {what} `validate_args=False` to turn off validation.")

    def _check_parameter(self, name: str, constraint: Constraint) -> None:
        value = getattr(self, name)
        if not bool(constraint.check(value).all()):
            raise ValueError(f"Expected parameter {name} ({type(value).__name__} of shape {tuple(value.shape)}) of distribution "
                             f"{self!r} to satisfy the constraint {constraint!r}, but found invalid values:\n{value}")

    @property
    def batch_shape(self) -> Size:
        """Return the shape of the parameters of independent draws."""
        return self._batch_shape

    @property
    def event_shape(self) -> Size:
        """Return the shape of one draw."""
        return self._event_shape

    @property
    def mode(self) -> Any:
        """Return the value of highest density."""
        raise NotImplementedError(f"{type(self)} does not implement mode")

    @property
    def stddev(self) -> Any:
        """Return the square root of the variance."""
        return self.variance.sqrt()

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        """Return the same distribution over a larger batch; nothing is copied.

        A subclass with its own ``__init__`` must define ``expand`` and may pass the ``_instance`` to fill. Otherwise
        this method raises NotImplementedError.
        """
        new = self._get_checked_instance(_built_in(type(self)), _instance)
        for name, value in vars(self).items():
            if name not in vars(new):
                vars(new)[name] = value if name in self._not_of_batch else self._larger(value, batch_shape)
        new._batch_shape = Size(batch_shape)
        return new

    def _larger(self, value: Any, batch_shape: Any) -> Any:
        """Expand an attribute to a larger batch, if it has batch dims."""
        if isinstance(value, Distribution):
            return value.expand(batch_shape)
        n = len(self._batch_shape)
        if isinstance(value, Tensor) and tuple(value.shape)[:n] == tuple(self._batch_shape):
            return value.expand(tuple(batch_shape) + tuple(value.shape)[n:])
        return value

    def _get_checked_instance(self, cls: type, _instance: Any = None) -> Any:
        """Return ``_instance``, or an empty instance of the class if its ``__init__`` is that of ``cls``."""
        if _instance is None and type(self).__init__ != cls.__init__:       # type: ignore[misc]
            raise NotImplementedError(f"Subclass {type(self).__name__} of {cls.__name__} that defines a custom __init__ method "
                                      "must also define a custom .expand() method.")
        return self.__new__(type(self)) if _instance is None else _instance

    def sample(self, sample_shape: Any = NO_DIMS) -> Any:
        """Draw samples without history.

        Args:
            sample_shape (sequence of ints): the shape of the independent draws.

        Returns:
            a Tensor of shape sample_shape + batch_shape + event_shape.

        """
        with no_grad():
            return self.rsample(sample_shape)

    def rsample(self, sample_shape: Any = NO_DIMS) -> Any:
        """Draw samples as differentiable functions of the parameters.

        Args:
            sample_shape (sequence of ints): the shape of the independent draws.

        Returns:
            a Tensor of shape sample_shape + batch_shape + event_shape.

        Raises:
            NotImplementedError: if the distribution has no such sampler (``has_rsample`` is False).

        """
        raise NotImplementedError

    def sample_n(self, n: int) -> Any:
        """Return ``sample((n,))``."""
        warned.warn("`sample_n(n)` will be deprecated. Use `sample((n,))` instead.", FutureWarning)
        return self.sample((n,))

    def log_prob(self, value: Any) -> Any:
        """Return the logarithm of the density, or of the probability, at ``value``.

        Args:
            value (Tensor): of a shape that broadcasts with batch_shape + event_shape.

        Returns:
            a Tensor of the broadcast shape without the event's dims.

        Raises:
            ValueError: for a value outside the support, if arguments are validated.

        """
        raise NotImplementedError

    def cdf(self, value: Any) -> Any:
        """Return the probability of at most ``value``, a Tensor that broadcasts with batch_shape."""
        raise NotImplementedError

    def icdf(self, value: Any) -> Any:
        """Return the value whose ``cdf`` is ``value``: the inverse of ``cdf``."""
        raise NotImplementedError

    def enumerate_support(self, expand: bool = True) -> Any:
        """Return all values of a discrete distribution along a new first dim.

        Args:
            expand (bool): expand the result to batch_shape; otherwise the batch dims have size 1.

        """
        raise NotImplementedError

    def _enumerated(self, values: Any, expand: bool) -> Any:
        values = values.view((-1,) + (1,) * len(self._batch_shape) + tuple(self._event_shape))
        return values.expand((-1, *self._batch_shape, *self._event_shape)) if expand else values

    def entropy(self) -> Any:
        """Return the entropy, of shape batch_shape."""
        raise NotImplementedError

    def perplexity(self) -> Any:
        """Return exp(entropy)."""
        return self.entropy().exp()

    def _extended_shape(self, sample_shape: Any = NO_DIMS) -> Size:
        return Size(tuple(sample_shape) + tuple(self._batch_shape) + tuple(self._event_shape))

    def _validate_sample(self, value: Any) -> None:
        if not isinstance(value, Tensor):
            raise ValueError("The value argument to log_prob must be a Tensor")
        shape, expected = value.shape, self._batch_shape + self._event_shape
        if shape[len(shape) - len(self._event_shape):] != self._event_shape:
            raise ValueError(f"The right-most size of value must match event_shape: {shape} vs {self._event_shape}.")
        if any([1 not in (i, j) and i != j for i, j in zip(reversed(shape), reversed(expected), strict=False)]):
            raise ValueError(f"Value is not broadcastable with batch_shape+event_shape: {shape} vs {expected}.")
        try:
            support = self.support
        except NotImplementedError:
            self._warn_of_missing("`support` to enable sample validation. Please initialize the distribution with")
            return
        if not bool(support.check(value).all()):
            raise ValueError(f"Expected value argument ({type(value).__name__} of shape {tuple(shape)}) to be within the support "
                             f"({support!r}) of the distribution {self!r}, but found invalid values:\n{value}")

    def __repr__(self) -> str:
        given = {n: vars(self)[n] for n in self.arg_constraints if n in vars(self)}
        parts = ", ".join(f"{n}: {t if t.numel() == 1 else t.size()}" for n, t in given.items())
        return f"{type(self).__name__}({parts})"


def checked(method: Callable) -> Callable:
    """Wrap a method so that its value is validated first."""
    @functools.wraps(method)
    def wrapper(self: Any, value: Any) -> Any:
        if self._validate_args:
            self._validate_sample(value)
        return method(self, value)
    return wrapper


class ExponentialFamily(Distribution):
    """The base class for densities h(x) exp(sum of parameter * t(x) - log_normalizer(parameters)).

    A subclass defines ``_natural_params``, ``_log_normalizer`` and ``_mean_carrier_measure`` (the mean of log h). The
    entropy, and the divergence from a distribution of the same class, follow from these. See
    torch.distributions.ExponentialFamily.

    Args:
        batch_shape (sequence of ints): the shape of the parameters of independent draws.
        event_shape (sequence of ints): the shape of one draw.
        validate_args (bool or None): whether to check parameters and values; None takes the default.

    Raises:
        ValueError: for a parameter outside its constraint, or for a value in ``log_prob`` outside the support.

    Source: Nielsen and Nock 2010, Entropies and Cross-entropies of Exponential Families.

    Example::

        >>> isinstance(torch.distributions.Gamma(1.0, 1.0), torch.distributions.ExponentialFamily)
        True

    """

    _natural_params: Any = _NotSaid()
    _mean_carrier_measure: Any = _NotSaid()

    def _log_normalizer(self, *natural_params: Any) -> Any:
        raise NotImplementedError

    def _normalizer_and_slopes(self) -> tuple:
        """Return the natural parameters, their log normalizer, and its gradients, which are the means of t(x)."""
        given = [p.detach().requires_grad_() for p in self._natural_params]
        value = self._log_normalizer(*given)
        return given, value, autograd.grad(value.sum(), given, create_graph=True)

    def entropy(self) -> Any:
        """See Distribution.entropy."""
        mean = -self._mean_carrier_measure
        given, value, slopes = self._normalizer_and_slopes()
        n = len(self._batch_shape)
        return mean + value - sum([sum_last(p * g, p.dim() - n) for p, g in zip(given, slopes, strict=True)])


def one_of(probs: Any, logits: Any) -> None:
    """Raise ValueError unless exactly one is given."""
    if (probs is None) == (logits is None):
        raise ValueError("Either `probs` or `logits` must be specified, but not both.")

del _NotSaid      # PyTorch's module does not have this name
