"""torch.fx.experimental.symbolic_shapes: guards on sizes, which are all known in jtorch."""
from __future__ import annotations

from typing import Any

from jtorch._base.not_built import placeholder


class GuardOnDataDependentSymNode(RuntimeError):
    """A decision on an unknown size. jtorch never raises this error."""


def guard_or_false(a: Any) -> bool:
    """Return the truth of ``a``; PyTorch's compiler assumes False if it is unknown."""
    return bool(a)


def guard_or_true(a: Any) -> bool:
    """Return the truth of ``a``; PyTorch's compiler assumes True if it is unknown."""
    return bool(a)


def guard_size_oblivious(expr: Any) -> bool:
    """Return the truth of a condition on sizes."""
    return bool(expr)


def statically_known_true(x: Any) -> bool:
    """Return whether ``x`` is true."""
    return bool(x)


def sym_eq(x: Any, y: Any) -> bool:
    """Return whether two sizes, or sequences of sizes, are equal."""
    return len(x) == len(y) and all(map(sym_eq, x, y)) if isinstance(x, (list, tuple)) else bool(x == y)


def is_concrete_int(a: Any) -> bool:
    """Return whether a size is known."""
    return isinstance(a, int)


def has_free_symbols(val: Any) -> bool:
    """Return False: no size is unknown."""
    return False


def free_symbols(val: Any) -> set:
    """Return an empty set: no size is unknown."""
    return set()


def free_unbacked_symbols(x: Any) -> set:
    """Return an empty set: no size is unknown."""
    return set()


ShapeEnv = placeholder("fx.experimental.symbolic_shapes", "ShapeEnv")
DimDynamic = placeholder("fx.experimental.symbolic_shapes", "DimDynamic")
StatelessSymbolicContext = placeholder("fx.experimental.symbolic_shapes", "StatelessSymbolicContext")
