"""Conditions on parameters and samples. See torch.distributions.constraints."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import Any

from jtorch._api import functions
from jtorch._base.dtype_info import finfo
from jtorch.dtype import bool_

__all__ = ["Constraint", "MixtureSameFamilyConstraint", "boolean", "cat", "corr_cholesky", "dependent", "dependent_property",
           "greater_than", "greater_than_eq", "half_open_interval", "independent", "integer_interval", "interval",
           "is_dependent", "less_than", "lower_cholesky", "lower_triangular", "multinomial", "nonnegative",
           "nonnegative_integer", "one_hot", "positive", "positive_definite", "positive_integer", "positive_semidefinite",
           "real", "real_vector", "simplex", "square", "stack", "symmetric", "unit_interval"]


class Constraint:
    """A condition on values: ``check`` returns a bool tensor without the dims of an event.

    See torch.distributions.constraints.Constraint.

    Example::

        >>> torch.distributions.constraints.positive.check(torch.tensor([1.0, -1.0]))
        tensor([ True, False])

    """

    is_discrete: Any = False
    event_dim: Any = 0

    def check(self, value: Any) -> Any:
        """Return a bool tensor that is True where the condition holds."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"{type(self).__name__[1:]}()"


def _must(holds: bool, message: str) -> None:
    if not holds:
        raise AssertionError(message)


def _constraint(given: Any, name: str) -> Any:
    _must(isinstance(given, Constraint), f"{name} must be a Constraint, got {type(given).__name__}")
    return given


# ---- constraints that depend on parameters -------------------------------------------------------------------------

class _Dependent(Constraint):
    """A condition that depends on another parameter, so that only an instance knows the exact constraint."""

    def __init__(self, *, is_discrete: Any = NotImplemented, event_dim: Any = NotImplemented):
        self._is_discrete, self._event_dim = is_discrete, event_dim

    @property
    def is_discrete(self) -> bool:          # type: ignore[override]
        """Return whether the constraint is on integers."""
        return self._known("is_discrete")

    @property
    def event_dim(self) -> int:             # type: ignore[override]
        """Return the number of dims of an event."""
        return self._known("event_dim")

    def _known(self, name: str) -> Any:
        value = vars(self)[f"_{name}"]
        if value is NotImplemented:
            raise NotImplementedError(f".{name} cannot be determined statically")
        return value

    def __call__(self, *, is_discrete: Any = NotImplemented, event_dim: Any = NotImplemented) -> Any:
        return _Dependent(is_discrete=self._is_discrete if is_discrete is NotImplemented else is_discrete,
                          event_dim=self._event_dim if event_dim is NotImplemented else event_dim)

    def check(self, value: Any) -> Any:
        """See Constraint.check."""
        raise ValueError("Cannot determine validity of dependent constraint")


def is_dependent(constraint: Any) -> bool:
    """Return whether only an instance of the distribution knows the exact constraint."""
    return isinstance(constraint, _Dependent)


class _DependentProperty(property, _Dependent):
    """A property whose value is a constraint; on the class, the property itself is a dependent constraint."""

    def __init__(self, fn: Callable | None = None, *, is_discrete: Any = NotImplemented, event_dim: Any = NotImplemented):
        property.__init__(self, fn)
        _Dependent.__init__(self, is_discrete=is_discrete, event_dim=event_dim)

    def __call__(self, fn: Callable) -> _DependentProperty:     # type: ignore[override]
        return _DependentProperty(fn, is_discrete=self._is_discrete, event_dim=self._event_dim)


# ---- constraints made of other constraints -------------------------------------------------------------------------

class _OfBase(Constraint):
    def __init__(self, base_constraint: Any):
        self.base_constraint = _constraint(base_constraint, "base_constraint")

    @property
    def is_discrete(self) -> bool:          # type: ignore[override]
        """Return whether the base constraint is on integers."""
        return self.base_constraint.is_discrete

    @property
    def event_dim(self) -> int:             # type: ignore[override]
        """Return the base constraint's number of event dims."""
        return self.base_constraint.event_dim


def _deep_enough(have: int, need: int, value: Any, expected: int) -> None:
    if have < need:
        raise ValueError(f"Expected value.dim() >= {expected} but got {value.dim()}")


class _IndependentConstraint(_OfBase):
    """A base constraint that must hold for all elements of the last dims."""

    def __init__(self, base_constraint: Any, reinterpreted_batch_ndims: int):
        super().__init__(base_constraint)
        n = self.reinterpreted_batch_ndims = reinterpreted_batch_ndims
        _must(isinstance(n, int), f"reinterpreted_batch_ndims must be an int, got {type(n).__name__}")
        _must(n >= 0, f"reinterpreted_batch_ndims must be >= 0, got {n}")

    @property
    def event_dim(self) -> int:             # type: ignore[override]
        """Return the base's number of event dims plus the reinterpreted batch dims."""
        return self.base_constraint.event_dim + self.reinterpreted_batch_ndims

    def check(self, value: Any) -> Any:
        """See Constraint.check."""
        result, n = self.base_constraint.check(value), self.reinterpreted_batch_ndims
        _deep_enough(result.dim(), n, value, self.event_dim)
        return result.reshape((*result.shape[:result.dim() - n], -1)).all(-1)

    def __repr__(self) -> str:
        return f"IndependentConstraint({self.base_constraint!r}, {self.reinterpreted_batch_ndims})"


class MixtureSameFamilyConstraint(_OfBase):
    """A base constraint that must hold for all components of a mixture.

    See torch.distributions.constraints.MixtureSameFamilyConstraint.
    """

    def check(self, value: Any) -> Any:
        """See Constraint.check."""
        result = self.base_constraint.check(value.unsqueeze(-1 - self.event_dim))
        _deep_enough(value.dim(), self.event_dim, value, self.event_dim)
        return result.reshape((*result.shape[:value.dim() - self.event_dim], -1)).all(-1)

    def __repr__(self) -> str:
        return f"MixtureSameFamilyConstraint({self.base_constraint!r})"


class _Several(Constraint):
    """Constraints for the parts of a value along ``dim``."""

    def __init__(self, cseq: Sequence[Any], dim: int = 0):
        _must(all([isinstance(c, Constraint) for c in cseq]), "All elements of cseq must be Constraint instances")
        self.cseq, self.dim = list(cseq), dim

    @property
    def is_discrete(self) -> bool:          # type: ignore[override]
        """Return whether one of the constraints is on integers."""
        return any([c.is_discrete for c in self.cseq])

    def _has_dim(self, value: Any) -> None:
        _must(-value.dim() <= self.dim < value.dim(), f"dim {self.dim} out of range for value with {value.dim()} dimensions")


class _Cat(_Several):
    def __init__(self, cseq: Sequence[Any], dim: int = 0, lengths: Sequence[int] | None = None):
        super().__init__(cseq, dim)
        self.lengths = [1] * len(self.cseq) if lengths is None else list(lengths)
        _must(len(self.lengths) == len(self.cseq), f"lengths ({len(self.lengths)}) must match cseq ({len(self.cseq)})")

    @property
    def event_dim(self) -> int:             # type: ignore[override]
        """Return the largest number of event dims of the constraints."""
        return max([c.event_dim for c in self.cseq])

    def check(self, value: Any) -> Any:
        """See Constraint.check."""
        self._has_dim(value)
        starts = accumulate(self.lengths, initial=0)
        parts = [value.narrow(self.dim, i, n) for i, n in zip(starts, self.lengths, strict=False)]
        return functions.cat([c.check(v) for c, v in zip(self.cseq, parts, strict=True)], self.dim)


class _Stack(_Several):
    @property
    def event_dim(self) -> int:             # type: ignore[override]
        """Return the largest number of event dims, plus 1 if ``dim`` is one of the event's dims."""
        most = max([c.event_dim for c in self.cseq])
        return most + 1 if self.dim + most < 0 else most

    def check(self, value: Any) -> Any:
        """See Constraint.check."""
        self._has_dim(value)
        parts = value.unbind(self.dim)
        return functions.stack([c.check(v) for c, v in zip(self.cseq, parts, strict=True)], self.dim)


# ---- numbers -------------------------------------------------------------------------------------------------------

class _Boolean(Constraint):
    is_discrete = True

    def check(self, value: Any) -> Any:
        return (value == 0) | (value == 1)


class _Real(Constraint):
    def check(self, value: Any) -> Any:
        return value == value       # nan fails


class _Bounded(Constraint):
    """A constraint whose repr shows the limits, which are its attributes."""

    def __repr__(self) -> str:
        return f"{type(self).__name__[1:]}({', '.join([f'{k}={v}' for k, v in vars(self).items()])})"


class _Below(_Bounded):
    def __init__(self, upper_bound: Any):
        self.upper_bound = upper_bound


class _Above(_Bounded):
    def __init__(self, lower_bound: Any):
        self.lower_bound = lower_bound


class _Between(_Bounded):
    def __init__(self, lower_bound: Any, upper_bound: Any):
        self.lower_bound, self.upper_bound = lower_bound, upper_bound


class _LessThan(_Below):
    def check(self, value: Any) -> Any:
        return value < self.upper_bound


class _GreaterThan(_Above):
    def check(self, value: Any) -> Any:
        return self.lower_bound < value


class _GreaterThanEq(_Above):
    def check(self, value: Any) -> Any:
        return self.lower_bound <= value


class _IntegerGreaterThan(_Above):
    is_discrete = True

    def check(self, value: Any) -> Any:
        return (value % 1 == 0) & (value >= self.lower_bound)


class _Interval(_Between):
    def check(self, value: Any) -> Any:
        return (self.lower_bound <= value) & (value <= self.upper_bound)


class _HalfOpenInterval(_Between):
    def check(self, value: Any) -> Any:
        return (self.lower_bound <= value) & (value < self.upper_bound)


class _IntegerInterval(_Between):
    is_discrete = True

    def check(self, value: Any) -> Any:
        return (value % 1 == 0) & (self.lower_bound <= value) & (value <= self.upper_bound)


# ---- vectors -------------------------------------------------------------------------------------------------------

class _Simplex(Constraint):
    event_dim = 1

    def check(self, value: Any) -> Any:
        return (value >= 0).all(-1) & ((value.sum(-1) - 1).abs() < 1e-6)


class _OneHot(Constraint):
    is_discrete = True
    event_dim = 1

    def check(self, value: Any) -> Any:
        return ((value == 0) | (value == 1)).all(-1) & (value.sum(-1) == 1)


class _Multinomial(Constraint):
    is_discrete = True
    event_dim = 1

    def __init__(self, upper_bound: Any):
        self.upper_bound = upper_bound

    def check(self, x: Any) -> Any:
        return (x >= 0).all(-1) & (x.sum(-1) <= self.upper_bound)


# ---- matrices ------------------------------------------------------------------------------------------------------

class _LowerTriangular(Constraint):
    event_dim = 2

    def check(self, value: Any) -> Any:
        return (value.tril() == value).flatten(-2).all(-1)


class _LowerCholesky(_LowerTriangular):
    def check(self, value: Any) -> Any:
        return super().check(value) & (value.diagonal(dim1=-2, dim2=-1) > 0).all(-1)


class _CorrCholesky(_LowerCholesky):
    """A Cholesky factor of a correlation matrix: rows have length 1 within a tolerance."""

    def check(self, value: Any) -> Any:
        away = (value.detach().norm(dim=-1) - 1.0).abs()
        return super().check(value) & (away <= finfo(value.dtype).eps * value.size(-1) * 10).all(-1)


class _Square(Constraint):
    event_dim = 2

    def check(self, value: Any) -> Any:
        square = value.shape[-2] == value.shape[-1]
        return functions.full(value.shape[:-2], square, dtype=bool_, device=value.device)


class _Symmetric(_Square):
    def check(self, value: Any) -> Any:
        square = super().check(value)
        if not bool(square.all()):
            return square
        return functions.isclose(value, value.mT, atol=1e-6).all(-2).all(-1)


class _PositiveSemidefinite(_Symmetric):
    def check(self, value: Any) -> Any:
        symmetric = super().check(value)
        return (functions.linalg.eigvalsh(value) >= 0).all(-1) if bool(symmetric.all()) else symmetric


class _PositiveDefinite(_Symmetric):
    def check(self, value: Any) -> Any:
        symmetric = super().check(value)
        return functions.linalg.cholesky_ex(value).info == 0 if bool(symmetric.all()) else symmetric


dependent, dependent_property = _Dependent(), _DependentProperty
independent, cat, stack, multinomial = _IndependentConstraint, _Cat, _Stack, _Multinomial
boolean, real, simplex, one_hot = _Boolean(), _Real(), _Simplex(), _OneHot()
real_vector = independent(real, 1)
positive, nonnegative, unit_interval = _GreaterThan(0.0), _GreaterThanEq(0.0), _Interval(0.0, 1.0)
nonnegative_integer, positive_integer = _IntegerGreaterThan(0), _IntegerGreaterThan(1)
interval, half_open_interval, integer_interval = _Interval, _HalfOpenInterval, _IntegerInterval
less_than, greater_than, greater_than_eq = _LessThan, _GreaterThan, _GreaterThanEq
lower_triangular, lower_cholesky, corr_cholesky = _LowerTriangular(), _LowerCholesky(), _CorrCholesky()
square, symmetric = _Square(), _Symmetric()
positive_semidefinite, positive_definite = _PositiveSemidefinite(), _PositiveDefinite()

del _OfBase, _Several, _Bounded, _Below, _Above, _Between      # PyTorch's module does not have these names
