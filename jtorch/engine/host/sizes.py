"""Sizes that are left open while a function is traced, so that one trace serves for many shapes.

A ``Size`` is an integer that depends on an unknown ``n``, as a polynomial. JAX takes it where it takes the symbolic dimensions
of ``jax.export``, which it knows by their attributes and not by their class. Those answer "different" where they can't tell
whether two sizes are the same, so a trace with them may be wrong for some sizes. Here the unknown notes what was asked and
how it was answered, and the trace serves for each ``n`` for which all those answers are right. What needs the integer itself
(an index of C, a loop over it) is a TypeError, as for any other object, and then the function is to be traced for each size.
"""
from __future__ import annotations

import itertools
from collections.abc import Callable
from itertools import zip_longest
from numbers import Integral
from operator import eq, ge, gt, index, le, lt
from typing import Any

import numpy as np
from jax import core
from jax.extend.core import ClosedJaxpr, Jaxpr, Primitive

_numbers = itertools.count()


class Unknown:
    """An integer ``n`` that a trace leaves open: an example of it, and what has been asked of it."""

    __slots__ = ("_asked", "_closed", "_raised", "number", "value")

    def __init__(self, value: int):
        self.value, self.number = value, next(_numbers)
        self._asked: dict[tuple, bool] = {}
        self._closed = False
        self._raised: list[TypeError] = []

    def size(self, *coefficients: int) -> Any:
        """The polynomial in ``n`` with these coefficients, that of 1 first: an int if it does not depend on ``n``."""
        count = len(coefficients)
        while count and not coefficients[count - 1]:
            count -= 1
        if count > 1:
            return Size(self, coefficients[:count])
        return coefficients[0] if count else 0

    def ask(self, compare: Callable, coefficients: tuple[int, ...]) -> bool:
        """How the polynomial compares with 0: as it does for the example. It is never 0, see ``Size.__eq__``."""
        answer = compare is not eq and compare(_evaluate(coefficients, self.value), 0)
        if not self._closed:
            self._asked[compare, coefficients] = answer
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

    def admits(self, n: int) -> bool:
        """Whether all that was asked has been answered as it is for ``n``."""
        return all([compare(_evaluate(c, n), 0) is answer for (compare, c), answer in self._asked.items()])


def _evaluate(coefficients: tuple[int, ...], n: int) -> int:
    result = 0
    for c in reversed(coefficients):
        result = result * n + c
    return result


def _compared(compare: Callable) -> Callable:
    def method(self: Size, other):
        difference = self.__sub__(other)
        if difference is NotImplemented:
            return NotImplemented
        return difference._ask(compare) if difference.__class__ is Size else compare(difference, 0)
    return method


class Size:
    """An integer that depends on an unknown. Supports the arithmetic of shapes; see the module."""

    __slots__ = ("coefficients", "unknown")
    __array_ufunc__ = None      # NumPy's integers leave arithmetic and comparisons to us

    def __init__(self, unknown: Unknown, coefficients: tuple[int, ...]):
        self.unknown, self.coefficients = unknown, coefficients

    def at(self, n: int) -> int:
        """The integer that it is if the unknown is ``n``."""
        c = self.coefficients
        return c[0] + c[1] * n if len(c) == 2 else _evaluate(c, n)

    def _ask(self, compare: Callable) -> bool:
        return self.unknown.ask(compare, self.coefficients)

    def _of(self, other) -> tuple[int, ...] | None:
        """The coefficients of another operand; None if it is no integer or depends on another unknown."""
        if other.__class__ is Size:
            return other.coefficients if other.unknown is self.unknown else None
        return (index(other),) if isinstance(other, (int, np.integer)) else None

    def __repr__(self):
        return f"Size({' + '.join([f'{c}n^{k}' if k else str(c) for k, c in enumerate(self.coefficients)])})"

    def __hash__(self):
        return hash((self.unknown.number, self.coefficients))       # not by address: what JAX's caches compare goes by hashes

    def __index__(self):
        raise self.unknown.not_known()

    def __bool__(self):
        return self != 0

    __lt__, __le__, __gt__, __ge__ = _compared(lt), _compared(le), _compared(gt), _compared(ge)

    def __eq__(self, other):
        """False but for the same polynomial, and an ``n`` for which it is wrong is not admitted.

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
        if b is None:
            return NotImplemented
        return self.unknown.size(*[x + y for x, y in zip_longest(self.coefficients, b, fillvalue=0)])

    def __sub__(self, other):
        b = self._of(other)
        return NotImplemented if b is None else self + self.unknown.size(*[-y for y in b])

    def __rsub__(self, other):
        return -self + other

    def __mul__(self, other):
        b = self._of(other)
        if b is None:
            return NotImplemented
        product = [0] * (len(self.coefficients) + len(b) - 1)
        for i, x in enumerate(self.coefficients):
            for j, y in enumerate(b):
                product[i + j] += x * y
        return self.unknown.size(*product)

    __radd__, __rmul__ = __add__, __mul__

    def __divmod__(self, other):
        b = self._of(other)
        return NotImplemented if b is None else _divided(self.unknown, self.coefficients, b)

    def __rdivmod__(self, other):
        a = self._of(other)
        return NotImplemented if a is None else _divided(self.unknown, a, self.coefficients)

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


def _divided(unknown: Unknown, a: tuple[int, ...], b: tuple[int, ...]) -> tuple[Any, Any]:
    """Quotient and remainder, where long division of the polynomials is that of the integers. Else TypeError."""
    rest, quotient = list(a), [0] * max(len(a) - len(b) + 1, 1)
    for k in reversed(range(len(a) - len(b) + 1)):
        quotient[k], left = divmod(rest[k + len(b) - 1], b[-1])
        if left and len(b) + k > 1:
            raise TypeError("the quotient of two sizes is no polynomial")
        for j, y in enumerate(b):
            rest[k + j] -= quotient[k] * y
    result, divisor, remainder = unknown.size(*quotient), unknown.size(*b), unknown.size(*rest)
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


def _is_jaxpr_open(jaxpr: Jaxpr) -> bool:
    variables = [*jaxpr.invars, *[v for e in jaxpr.eqns for v in e.outvars]]
    return any([is_open(v.aval.shape) for v in variables if isinstance(v.aval, core.ShapedArray)]) \
        or any([is_open(p) for e in jaxpr.eqns for p in e.params.values()])


def filled(value: Any, n: int) -> Any:
    """The same with ``n`` for the unknown."""
    if value.__class__ is Size:
        return value.at(n)
    if value.__class__ in (tuple, list):
        return value.__class__([filled(v, n) for v in value])
    return value.__class__(*[filled(v, n) for v in value]) if isinstance(value, tuple) else value
