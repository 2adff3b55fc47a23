"""biject_to and transform_to: transforms from unconstrained numbers to values that satisfy a constraint."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from jtorch.distributions import constraints, transforms
from jtorch.distributions.distribution import Number

__all__ = ["ConstraintRegistry", "biject_to", "transform_to"]


class ConstraintRegistry:
    """A table from constraint classes to functions that make a transform for a constraint of the class.

    See torch.distributions.constraint_registry.

    Example::

        >>> torch.distributions.biject_to(torch.distributions.constraints.positive)
        ComposeTransform(
            ExpTransform(),
            AffineTransform()
        )

    """

    def __init__(self) -> None:
        self._registry: dict[type, Callable] = {}

    def register(self, constraint: Any, factory: Callable | None = None) -> Callable:
        """Register the function that makes the transform for a constraint's class; also works as a decorator."""
        if factory is None:
            return lambda factory: self.register(constraint, factory)
        kind = type(constraint) if isinstance(constraint, constraints.Constraint) else constraint
        if not (isinstance(kind, type) and issubclass(kind, constraints.Constraint)):
            raise TypeError(f"Expected constraint to be either a Constraint subclass or instance, but got {constraint}")
        self._registry[kind] = factory
        return factory

    def __call__(self, constraint: Any) -> Any:
        factory = self._registry.get(type(constraint))
        if factory is None:
            raise NotImplementedError(f"Cannot transform {type(constraint).__name__} constraints")
        return factory(constraint)


biject_to, transform_to = ConstraintRegistry(), ConstraintRegistry()


def _register(registries: tuple, *kinds: Any) -> Callable:
    """Return a decorator that registers a function (registry, constraint) -> transform."""
    def decorate(make: Callable) -> Callable:
        for registry in registries:
            for kind in kinds:
                registry.register(kind, lambda constraint, registry=registry: make(registry, constraint))
        return make
    return decorate


_BOTH = (biject_to, transform_to)
_register(_BOTH, constraints.real)(lambda to, c: transforms.identity_transform)
_register(_BOTH, constraints.positive, constraints.nonnegative)(lambda to, c: transforms.ExpTransform())
_register(_BOTH, constraints.corr_cholesky)(lambda to, c: transforms.CorrCholeskyTransform())
_register((biject_to,), constraints.simplex)(lambda to, c: transforms.StickBreakingTransform())
_register((transform_to,), constraints.simplex)(lambda to, c: transforms.SoftmaxTransform())
_register((transform_to,), constraints.lower_cholesky)(lambda to, c: transforms.LowerCholeskyTransform())
_register((transform_to,), constraints.positive_definite, constraints.positive_semidefinite)(
    lambda to, c: transforms.PositiveDefiniteTransform())


@_register(_BOTH, constraints.independent)
def _independent(to: Any, c: Any) -> Any:
    return transforms.IndependentTransform(to(c.base_constraint), c.reinterpreted_batch_ndims)


@_register(_BOTH, constraints.greater_than, constraints.greater_than_eq)
def _above(to: Any, c: Any) -> Any:
    return transforms.ComposeTransform([transforms.ExpTransform(), transforms.AffineTransform(c.lower_bound, 1)])


@_register(_BOTH, constraints.less_than)
def _below(to: Any, c: Any) -> Any:
    return transforms.ComposeTransform([transforms.ExpTransform(), transforms.AffineTransform(c.upper_bound, -1)])


@_register(_BOTH, constraints.interval, constraints.half_open_interval)
def _interval(to: Any, c: Any) -> Any:
    low, high = c.lower_bound, c.upper_bound
    if isinstance(low, Number) and isinstance(high, Number) and (low, high) == (0, 1):
        return transforms.SigmoidTransform()
    return transforms.ComposeTransform([transforms.SigmoidTransform(), transforms.AffineTransform(low, high - low)])


@_register(_BOTH, constraints.cat)
def _cat(to: Any, c: Any) -> Any:
    return transforms.CatTransform([to(part) for part in c.cseq], c.dim, c.lengths)


@_register(_BOTH, constraints.stack)
def _stack(to: Any, c: Any) -> Any:
    return transforms.StackTransform([to(part) for part in c.cseq], c.dim)
