"""Sizes that are left open while a function is traced, so that one trace serves for many shapes.

A ``Size`` is an integer that depends on some unknowns, as a polynomial. JAX takes it where it takes the symbolic dimensions
of ``jax.export``, which it knows by their attributes and not by their class. Those answer "different" where they can't tell
whether two sizes are the same, so a trace with them may be wrong for some sizes. Here the unknowns note what was asked and
how it was answered, and the trace serves for all their values for which all those answers are right. What needs the integer
itself (an index of C, a loop over it) is a TypeError, as for any other object: the function is to be traced for each size then.
"""
from __future__ import annotations

import itertools
from collections.abc import Callable
from math import prod
from numbers import Integral
from operator import add, eq, ge, gt, index, le, lt, mul, sub
from typing import Any

import numpy as np
from jax import core
from jax.extend.core import ClosedJaxpr, Jaxpr, Primitive

_numbers = itertools.count()

Powers = tuple[int, ...]                    # of each unknown, in a product of them
Terms = tuple[tuple[Powers, int], ...]      # of a polynomial: such products, the largest powers first, and how often it has each


class Unknowns:
    """Integers that a trace leaves open: an example of each, and what has been asked of them."""

    __slots__ = ("_asked", "_closed", "_raised", "number", "values")

    def __init__(self, *values: int):
        self.values, self.number = values, next(_numbers)
        self._asked: dict[tuple[Callable, Terms], bool] = {}
        self._closed = False
        self._raised: list[TypeError] = []

    def size(self, start: int, *steps: int) -> Any:
        """``start`` and each unknown as often as ``steps`` says: an int if it does not depend on them."""
        units = [tuple([int(i == k) for i in range(len(self.values))]) for k in range(len(steps))]
        return self.polynomial({(0,) * len(self.values): start, **dict(zip(units, steps, strict=True))})

    def polynomial(self, terms: dict[Powers, int]) -> Any:
        """What has these terms: an int if it does not depend on the unknowns."""
        kept = sorted([(powers, c) for powers, c in terms.items() if c], reverse=True)
        if kept and any(kept[0][0]):
            return Size(self, tuple(kept))
        return kept[0][1] if kept else 0

    def ask(self, compare: Callable, terms: Terms) -> bool:
        """How a polynomial compares with 0: as it does for the example. It is never 0, see ``Size.__eq__``."""
        answer = compare is not eq and compare(_evaluate(terms, self.values), 0)
        if not self._closed:
            self._asked[compare, terms] = answer
        return answer

    def not_known(self) -> TypeError:
        """What is raised where the integer itself is asked for."""
        error = TypeError("'Size' object cannot be interpreted as an integer")
        if not self._closed:
            self._raised.append(error)
        return error

    def close(self) -> None:
        """Ends the trace. What is asked from now on, by caches that hold sizes of it, does not count.

        Errors that were raised and caught let go of their frames: JAX keeps them in variables of these very frames, and such a
        circle would hold what the user's functions hold until garbage is collected.
        """
        self._closed = True
        for error in self._raised:
            error.__traceback__ = error.__context__ = None
        self._raised.clear()

    def admit(self, values: tuple[int, ...]) -> bool:
        """Whether all that was asked has been answered as it is for these values."""
        return all([compare(_evaluate(terms, values), 0) is answer for (compare, terms), answer in self._asked.items()])


def _evaluate(terms: Terms, values: tuple[int, ...]) -> int:
    return sum([c * prod(map(pow, values, powers)) for powers, c in terms])


def _compared(compare: Callable) -> Callable:
    def method(self: Size, other):
        difference = self.__sub__(other)
        if difference is NotImplemented:
            return NotImplemented
        return difference._ask(compare) if difference.__class__ is Size else compare(difference, 0)
    return method


class Size:
    """An integer that depends on unknowns. Supports the arithmetic of shapes; see the module."""

    __slots__ = ("_start", "_steps", "terms", "unknowns")
    __array_ufunc__ = None      # NumPy's integers leave arithmetic and comparisons to us

    def __init__(self, unknowns: Unknowns, terms: Terms):
        self.unknowns, self.terms = unknowns, terms
        self._steps: tuple[int, ...] | None = None      # of a linear one, which most are
        if all([sum(powers) <= 1 for powers, _ in terms]):
            self._start = next((c for powers, c in terms if not any(powers)), 0)
            self._steps = tuple([next((c for powers, c in terms if powers[k]), 0) for k in range(len(unknowns.values))])

    def at(self, values: tuple[int, ...]) -> int:
        """The integer that it is for these values of the unknowns."""
        steps = self._steps
        if steps is None:
            return _evaluate(self.terms, values)
        return self._start + (steps[0] * values[0] if len(steps) == 1 else sum(map(mul, steps, values)))

    def _ask(self, compare: Callable) -> bool:
        return self.unknowns.ask(compare, self.terms)

    def _of(self, other) -> dict[Powers, int] | None:
        """The terms of another operand; None if it is no integer or depends on others' unknowns."""
        if other.__class__ is Size:
            return dict(other.terms) if other.unknowns is self.unknowns else None
        return {(0,) * len(self.unknowns.values): index(other)} if isinstance(other, (int, np.integer)) else None

    def __repr__(self):
        products = [f"{c}*{'*'.join([f'n{k}^{p}' for k, p in enumerate(powers) if p])}".rstrip("*") for powers, c in self.terms]
        return f"Size({' + '.join(products)})"

    def __hash__(self):
        return hash((self.unknowns.number, self.terms))     # not by address: what JAX's caches compare goes by hashes

    def __index__(self):
        raise self.unknowns.not_known()

    def __bool__(self):
        return self != 0

    __lt__, __le__, __gt__, __ge__ = _compared(lt), _compared(le), _compared(gt), _compared(ge)

    def __eq__(self, other):
        """False but for the same polynomial, and values for which that is wrong are not admitted.

        It does not go by the example as the comparisons above do, since JAX's caches compare shapes whose hashes differ.
        """
        same = _compared(eq)(self, other)
        return False if same is NotImplemented else same

    def __neg__(self):
        return self * -1

    def __pos__(self):
        return self

    def __abs__(self):
        return self if self >= 0 else -self

    def __add__(self, other):
        b = self._of(other)
        return NotImplemented if b is None else self.unknowns.polynomial(_sum(dict(self.terms), b, 1))

    def __sub__(self, other):
        b = self._of(other)
        return NotImplemented if b is None else self.unknowns.polynomial(_sum(dict(self.terms), b, -1))

    def __rsub__(self, other):
        return -self + other

    def __mul__(self, other):
        b = self._of(other)
        if b is None:
            return NotImplemented
        product: dict[Powers, int] = {}
        for powers, c in self.terms:
            _sum(product, {_times(powers, q): y for q, y in b.items()}, c)
        return self.unknowns.polynomial(product)

    __radd__, __rmul__ = __add__, __mul__

    def __divmod__(self, other):
        b = self._of(other)
        return NotImplemented if b is None else _divided(self.unknowns, dict(self.terms), b)

    def __rdivmod__(self, other):
        a = self._of(other)
        return NotImplemented if a is None else _divided(self.unknowns, a, dict(self.terms))

    def __floordiv__(self, other):
        return divmod(self, other)[0]

    def __rfloordiv__(self, other):
        return divmod(other, self)[0]

    def __mod__(self, other):
        return divmod(self, other)[1]

    def __rmod__(self, other):
        return divmod(other, self)[1]

    def __pow__(self, exponent):
        result: Any = 1
        for _ in range(exponent):
            result = result * self
        return result

    # What JAX asks of a dimension.

    def _larger(self, other):
        return max(self, other)

    def _smaller(self, other):
        return min(self, other)

    max, rmax, min, rmin = _larger, _larger, _smaller, _smaller

    def dimension_as_value(self):
        """A scalar array of a trace."""
        return size_p.bind(size=self)

    def __jax_array__(self):
        return self.dimension_as_value()


def _times(a: Powers, b: Powers) -> Powers:
    return tuple(map(add, a, b))


def _sum(a: dict[Powers, int], b: dict[Powers, int], times: int) -> dict[Powers, int]:
    """``a``, to which the terms of ``b`` are added so often."""
    for powers, c in b.items():
        a[powers] = a.get(powers, 0) + times * c
    return a


def _divided(unknowns: Unknowns, a: dict[Powers, int], b: dict[Powers, int]) -> tuple[Any, Any]:
    """Quotient and remainder, where long division of the polynomials is that of the integers. Else TypeError."""
    first, quotient = max(b), {}
    while True:
        divisible = [powers for powers, c in a.items() if c and all(map(ge, powers, first))]
        if not divisible:
            break
        powers = max(divisible)
        factor, left = divmod(a[powers], b[first])
        if left and any(powers):
            raise TypeError("the quotient of two sizes is no polynomial")
        behind = tuple(map(sub, powers, first))
        quotient[behind] = factor
        _sum(a, {_times(behind, q): c for q, c in b.items()}, -factor)
        if left:
            break
    result, divisor, remainder = map(unknowns.polynomial, (quotient, b, a))
    if remainder != 0 and (remainder < 0) is not (divisor < 0):
        result, remainder = result - 1, remainder + divisor
    if divisor == 0 or not (0 <= remainder < divisor or divisor < remainder <= 0):
        raise TypeError("the quotient of two sizes is no polynomial")
    return result, remainder


Integral.register(Size)
size_p = Primitive("size")


@size_p.def_abstract_eval
def _abstract_size(*, size: Size) -> core.ShapedArray:
    return core.ShapedArray((), np.dtype(np.int64), weak_type=True)


def is_open(value: Any) -> bool:
    """Whether there is a size in a shape or in a parameter of an equation. TypeError for a jaxpr, which can't be filled."""
    if value.__class__ is Size:
        return True
    if isinstance(value, (tuple, list)):
        return any([is_open(v) for v in value])
    if isinstance(value, ClosedJaxpr):
        value = value.jaxpr
    if isinstance(value, Jaxpr) and _is_jaxpr_open(value):
        raise TypeError("a loop or a choice depends on a size that is left open")
    return False


def spelled(shape: tuple) -> tuple:
    """Return a shape whose open sizes are their terms. Comparing these asks nothing of the unknowns."""
    return tuple([d.terms if d.__class__ is Size else d for d in shape])


def _is_jaxpr_open(jaxpr: Jaxpr) -> bool:
    variables = [*jaxpr.invars, *[v for e in jaxpr.eqns for v in e.outvars]]
    return any([is_open(v.aval.shape) for v in variables if isinstance(v.aval, core.ShapedArray)]) \
        or any([is_open(p) for e in jaxpr.eqns for p in e.params.values()])


def filled(value: Any, values: tuple[int, ...]) -> Any:
    """The same with these values for the unknowns."""
    if value.__class__ is Size:
        return value.at(values)
    if value.__class__ in (tuple, list):
        return value.__class__([filled(v, values) for v in value])
    return value.__class__(*[filled(v, values) for v in value]) if isinstance(value, tuple) else value
