"""Leave sizes open while JAX traces a function, so that one trace serves many shapes.

A ``Size`` is a polynomial of unknown integers. JAX accepts a ``Size`` as it accepts the symbolic dimensions of ``jax.export``,
because JAX recognizes these by their attributes, not by their class. JAX's own symbolic dimensions answer "different" if they
cannot decide whether two sizes are equal, so a trace with them can be wrong for some sizes. ``Unknowns`` record each question
with its answer instead. The trace serves all values of the unknowns that give the same answers. A caller that needs the
integer itself, as an index in C does, gets a TypeError; then the function is traced for each size.
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

Powers = tuple[int, ...]                    # the exponent of each unknown in a product of unknowns
Terms = tuple[tuple[Powers, int], ...]      # a polynomial: products with their coefficients, the largest powers first


class Unknowns:
    """Integers that a trace leaves open. It has an example of each, and the recorded questions with their answers."""

    __slots__ = ("_asked", "_closed", "_raised", "number", "values")

    def __init__(self, *values: int):
        self.values, self.number = values, next(_numbers)
        self._asked: dict[tuple[Callable, Terms], bool] = {}
        self._closed = False
        self._raised: list[TypeError] = []

    def size(self, start: int, *steps: int) -> Any:
        """Return ``start`` plus ``steps[k]`` times unknown k, summed over k. The result is an int if all steps are 0."""
        units = [tuple([int(i == k) for i in range(len(self.values))]) for k in range(len(steps))]
        return self.polynomial({(0,) * len(self.values): start, **dict(zip(units, steps, strict=True))})

    def polynomial(self, terms: dict[Powers, int]) -> Any:
        """Return the size with these terms. The result is an int if it depends on no unknown."""
        kept = sorted([(powers, c) for powers, c in terms.items() if c], reverse=True)
        if kept and any(kept[0][0]):
            return Size(self, tuple(kept))
        return kept[0][1] if kept else 0

    def ask(self, compare: Callable, terms: Terms) -> bool:
        """Compare a polynomial with 0 at the example, and record the answer.

        The answer to "is it 0" is always False, see ``Size.__eq__``.
        """
        answer = compare is not eq and compare(_evaluate(terms, self.values), 0)
        if not self._closed:
            self._asked[compare, terms] = answer
        return answer

    def not_known(self) -> TypeError:
        """Return the error for a caller that needs the integer itself."""
        error = TypeError("'Size' object cannot be interpreted as an integer")
        if not self._closed:
            self._raised.append(error)
        return error

    def close(self) -> None:
        """End the trace. Later questions, which caches that hold sizes may ask, are not recorded.

        Errors that were raised and caught drop their frames. JAX keeps these errors in variables of the same frames. Such a cycle
        would keep the variables of the user's functions alive until garbage is collected.
        """
        self._closed = True
        for error in self._raised:
            error.__traceback__ = error.__context__ = None
        self._raised.clear()

    def admit(self, values: tuple[int, ...]) -> bool:
        """Return whether each recorded question has the recorded answer for these values of the unknowns."""
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
    """An integer that depends on unknowns, with the arithmetic of shapes. See the module's docstring."""

    __slots__ = ("_start", "_steps", "terms", "unknowns")
    __array_ufunc__ = None      # NumPy's integers leave arithmetic and comparisons to this class

    def __init__(self, unknowns: Unknowns, terms: Terms):
        self.unknowns, self.terms = unknowns, terms
        self._steps: tuple[int, ...] | None = None      # the coefficients of a linear polynomial; None for others
        if all([sum(powers) <= 1 for powers, _ in terms]):
            self._start = next((c for powers, c in terms if not any(powers)), 0)
            self._steps = tuple([next((c for powers, c in terms if powers[k]), 0) for k in range(len(unknowns.values))])

    def at(self, values: tuple[int, ...]) -> int:
        """Return the integer for these values of the unknowns."""
        steps = self._steps
        if steps is None:
            return _evaluate(self.terms, values)
        return self._start + (steps[0] * values[0] if len(steps) == 1 else sum(map(mul, steps, values)))

    def _ask(self, compare: Callable) -> bool:
        return self.unknowns.ask(compare, self.terms)

    def _of(self, other) -> dict[Powers, int] | None:
        """Return the terms of another operand; None if it is no integer or depends on unknowns of another trace."""
        if other.__class__ is Size:
            return dict(other.terms) if other.unknowns is self.unknowns else None
        return {(0,) * len(self.unknowns.values): index(other)} if isinstance(other, (int, np.integer)) else None

    def __repr__(self):
        products = [f"{c}*{'*'.join([f'n{k}^{p}' for k, p in enumerate(powers) if p])}".rstrip("*") for powers, c in self.terms]
        return f"Size({' + '.join(products)})"

    def __hash__(self):
        # Hashes decide which sizes JAX's caches compare. Addresses would change the recorded questions from run to run.
        return hash((self.unknowns.number, self.terms))

    def __index__(self):
        raise self.unknowns.not_known()

    def __bool__(self):
        return self != 0

    __lt__, __le__, __gt__, __ge__ = _compared(lt), _compared(le), _compared(gt), _compared(ge)

    def __eq__(self, other):
        """Return True for the same polynomial only. ``admit`` rejects values for which the answer False is wrong.

        The other comparisons use the example. Equality does not: JAX's caches also compare shapes with different hashes, and
        must not take the entry of another shape.
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

    # JAX calls the following methods of a dimension.

    def _larger(self, other):
        return max(self, other)

    def _smaller(self, other):
        return min(self, other)

    max, rmax, min, rmin = _larger, _larger, _smaller, _smaller

    def dimension_as_value(self):
        """Return the size as a scalar array of the current JAX trace."""
        return size_p.bind(size=self)

    def __jax_array__(self):
        return self.dimension_as_value()


def _times(a: Powers, b: Powers) -> Powers:
    return tuple(map(add, a, b))


def _sum(a: dict[Powers, int], b: dict[Powers, int], times: int) -> dict[Powers, int]:
    """Add ``times`` times the terms of ``b`` to ``a``, and return ``a``."""
    for powers, c in b.items():
        a[powers] = a.get(powers, 0) + times * c
    return a


def _divided(unknowns: Unknowns, a: dict[Powers, int], b: dict[Powers, int]) -> tuple[Any, Any]:
    """Return quotient and remainder by long division of polynomials.

    Raise TypeError if quotient and remainder of the integers would not be these polynomials.
    """
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
    """Return whether a shape or a parameter of an equation has an open size.

    Raise TypeError for a jaxpr that has open sizes, because ``filled`` cannot fill them in.
    """
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
    """Return a shape with each open size replaced by its terms. Comparing terms records no question."""
    return tuple([d.terms if d.__class__ is Size else d for d in shape])


def _is_jaxpr_open(jaxpr: Jaxpr) -> bool:
    variables = [*jaxpr.invars, *[v for e in jaxpr.eqns for v in e.outvars]]
    return any([is_open(v.aval.shape) for v in variables if isinstance(v.aval, core.ShapedArray)]) \
        or any([is_open(p) for e in jaxpr.eqns for p in e.params.values()])


def filled(value: Any, values: tuple[int, ...]) -> Any:
    """Return a shape or a parameter with these values filled in for the unknowns."""
    if value.__class__ is Size:
        return value.at(values)
    if value.__class__ in (tuple, list):
        return value.__class__([filled(v, values) for v in value])
    return value.__class__(*[filled(v, values) for v in value]) if isinstance(value, tuple) else value
