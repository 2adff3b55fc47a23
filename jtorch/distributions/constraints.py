"""What parameters and samples have to be. See torch.distributions.constraints."""
from __future__ import annotations

from typing import Any

__all__ = ["Constraint", "boolean", "greater_than", "integer_interval", "interval", "lower_cholesky", "nonnegative",
           "nonnegative_integer", "one_hot", "positive", "positive_definite", "real", "real_vector", "simplex",
           "unit_interval"]


class Constraint:
    """A condition, for each event: ``check`` gives a bool tensor without the event's dimensions."""

    is_discrete = False
    event_dim = 0

    def check(self, value: Any) -> Any:
        """Where it holds."""
        raise NotImplementedError

    def __repr__(self) -> str:
        limits = ", ".join(f"{k}={v}" for k, v in vars(self).items())
        name = type(self).__name__.lstrip("_")
        return f"{name}({limits})"


class _Boolean(Constraint):
    is_discrete = True

    def check(self, value: Any) -> Any:
        return (value == 0) | (value == 1)


class _Real(Constraint):
    def check(self, value: Any) -> Any:
        return value == value       # not nan


class _RealVector(Constraint):
    event_dim = 1

    def check(self, value: Any) -> Any:
        return (value == value).all(-1)

    def __repr__(self) -> str:
        return "IndependentConstraint(Real(), 1)"


class _GreaterThan(Constraint):
    def __init__(self, lower_bound: Any):
        self.lower_bound = lower_bound

    def check(self, value: Any) -> Any:
        return self.lower_bound < value


class _GreaterThanEq(_GreaterThan):
    def check(self, value: Any) -> Any:
        return self.lower_bound <= value


class _IntegerGreaterThan(_GreaterThan):
    is_discrete = True

    def check(self, value: Any) -> Any:
        return (value % 1 == 0) & (value >= self.lower_bound)


class _Interval(Constraint):
    def __init__(self, lower_bound: Any, upper_bound: Any):
        self.lower_bound, self.upper_bound = lower_bound, upper_bound

    def check(self, value: Any) -> Any:
        return (self.lower_bound <= value) & (value <= self.upper_bound)


class _IntegerInterval(_Interval):
    is_discrete = True

    def check(self, value: Any) -> Any:
        return (value % 1 == 0) & super().check(value)


class _Simplex(Constraint):
    event_dim = 1

    def check(self, value: Any) -> Any:
        return (value >= 0).all(-1) & ((value.sum(-1) - 1).abs() < 1e-6)


class _OneHot(Constraint):
    is_discrete = True
    event_dim = 1

    def check(self, value: Any) -> Any:
        return ((value == 0) | (value == 1)).all(-1) & (value.sum(-1) == 1)


class _LowerCholesky(Constraint):
    event_dim = 2

    def check(self, value: Any) -> Any:
        triangular = (value.tril() == value).flatten(-2).all(-1)
        return triangular & (value.diagonal(dim1=-2, dim2=-1) > 0).all(-1)


class _PositiveDefinite(Constraint):
    event_dim = 2

    def check(self, value: Any) -> Any:
        from jtorch.nn._make import torch
        symmetric = torch("isclose")(value, value.mT, atol=1e-6).flatten(-2).all(-1)
        return symmetric & (torch("linalg").cholesky_ex(value).info == 0)


boolean, real, real_vector, simplex, one_hot = _Boolean(), _Real(), _RealVector(), _Simplex(), _OneHot()
positive, nonnegative, nonnegative_integer = _GreaterThan(0.0), _GreaterThanEq(0.0), _IntegerGreaterThan(0)
unit_interval, lower_cholesky, positive_definite = _Interval(0.0, 1.0), _LowerCholesky(), _PositiveDefinite()
interval, integer_interval, greater_than, greater_than_eq = _Interval, _IntegerInterval, _GreaterThan, _GreaterThanEq
