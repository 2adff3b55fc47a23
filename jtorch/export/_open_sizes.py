"""A program for all sizes, from traces for some: integers in a trace that change with a size become expressions of it.

A model's Python code runs with integer sizes, as always, at a few points: at v and 2v for each dynamic size, in all
combinations. The traces must contain the same operations. An integer that differs between them is a polynomial that is linear
in each size, perhaps divided by a number; its values at the points determine the coefficients. One further point checks the
result.
"""
from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Sequence
from fractions import Fraction
from math import lcm, prod
from typing import Any

import jax
import numpy as np
from jax.extend.core import ClosedJaxpr, Jaxpr, Literal

_INLINED = ("pjit", "jit", "closed_call", "core_call", "custom_jvp_call", "custom_vjp_call", "custom_vjp_call_jaxpr", "remat2",
            "checkpoint", "remat")
Terms = dict[tuple[int, ...], Fraction]


class NotOpenError(ValueError):
    """Raised if a model depends on a size in a way that no expression of sizes describes."""


class Points:
    """The points of the traces: corners, which determine expressions, and one further point, which checks them."""

    def __init__(self, examples: Sequence[int]):
        self.base = [max(int(v), 2) for v in examples]
        self.corners = list(itertools.product(*[(v, 2 * v) for v in self.base]))
        self.all = [*self.corners, tuple([3 * v for v in self.base])] if self.base else [()]

    def terms(self, values: Sequence[Any]) -> Terms | None:
        """Return the coefficient of each product of sizes for these values at the points; None if the last value does not
        fit.
        """
        found: Terms = {}
        for chosen in itertools.product((False, True), repeat=len(self.base)):
            total = sum([Fraction(value) * self._weight(chosen, corner)
                         for value, corner in zip(values[:-1], self.corners, strict=True)], Fraction(0))
            if total:
                found[tuple([i for i, c in enumerate(chosen) if c])] = total
        return found if evaluated(found, self.all[-1]) == Fraction(values[-1]) else None

    def _weight(self, chosen: tuple[bool, ...], corner: tuple[int, ...]) -> Fraction:
        """Return the weight of a corner's value in a coefficient: a factor for each size, for the slope or the constant."""
        low = [c == v for c, v in zip(corner, self.base, strict=True)]
        return prod([Fraction(-1 if at else 1, v) if slope else Fraction(2 if at else -1)
                     for slope, at, v in zip(chosen, low, self.base, strict=True)], start=Fraction(1))


def evaluated(terms: Terms, sizes: Sequence[Any]) -> Fraction:
    """Return the value of an expression."""
    return sum([c * prod([sizes[i] for i in chosen]) for chosen, c in terms.items()], Fraction(0))


def expression(terms: Terms, sizes: Sequence[Any]) -> Any:
    """Return an expression of symbols; a division comes last."""
    bottom = lcm(*[c.denominator for c in terms.values()])
    top: Any = 0
    for chosen, c in terms.items():
        product: Any = int(c * bottom)
        for i in chosen:
            product = product * sizes[i]
        top = product + top
    return top // bottom if bottom > 1 else top


class Opened:
    """Runs the traces of one function as one trace with dynamic sizes."""

    def __init__(self, points: Points, symbols: Sequence[Any]):
        self.points, self.symbols = points, symbols

    def run(self, traces: Sequence[ClosedJaxpr], args: Sequence[Any]) -> list[Any]:
        """Return the function's results for arguments with dynamic sizes."""
        consts = [self.constant(c) for c in zip(*[t.consts for t in traces], strict=True)]
        return self._run([t.jaxpr for t in traces], consts, args)

    def _run(self, jaxprs: Sequence[Jaxpr], consts: Sequence[Any], args: Sequence[Any]) -> list[Any]:
        env: dict[Any, Any] = {}
        first = jaxprs[0]
        env.update(zip([*first.constvars, *first.invars], [*consts, *args], strict=True))
        if len({len(j.eqns) for j in jaxprs}) > 1:
            raise NotOpenError("the model does different things for different sizes")

        def read(atoms: Sequence[Any]) -> Any:
            if isinstance(atoms[0], Literal):
                return self.literal(atoms)
            return env[atoms[0]]
        for equations in zip(*[j.eqns for j in jaxprs], strict=True):
            if len({e.primitive for e in equations}) > 1:
                raise NotOpenError("the model does different things for different sizes: "
                                   + ", ".join(sorted({e.primitive.name for e in equations})))
            given = [read(atoms) for atoms in zip(*[e.invars for e in equations], strict=True)]
            env.update(zip(equations[0].outvars, self.equation(equations, given), strict=True))
        return [read(atoms) for atoms in zip(*[j.outvars for j in jaxprs], strict=True)]

    def equation(self, equations: Sequence[Any], given: list[Any]) -> list[Any]:
        """Return the results of one equation."""
        first = equations[0]
        name, inner = first.primitive.name, [_inner(e.params) for e in equations]
        if name in _INLINED and inner[0] is not None:
            return self.run(inner, given) if isinstance(inner[0], ClosedJaxpr) else self._run(inner, (), given)
        params = {key: self.parameter([e.params[key] for e in equations]) for key in first.params}
        bound = first.primitive.get_bind_params(params)
        made = first.primitive.bind(*given, **bound)
        return list(made) if first.primitive.multiple_results else [made]

    # ------------------------------------------------------------ merging parameters, literals and functions

    def parameter(self, values: Sequence[Any]) -> Any:
        """Return an equation's parameter: integers that differ become expressions, and functions are merged recursively."""
        first = values[0]
        if isinstance(first, (ClosedJaxpr, Jaxpr)):
            return self.function(values)
        if isinstance(first, (int, np.integer)) and not isinstance(first, bool):
            return first if all([v == first for v in values]) else self.integer(values)
        if isinstance(first, (tuple, list)):
            if len({len(v) for v in values}) > 1:
                raise NotOpenError("the number of dims depends on a size")
            parts = [self.parameter(v) for v in zip(*values, strict=True)]
            return type(first)(*parts) if hasattr(first, "_fields") else type(first)(parts)
        if dataclasses.is_dataclass(first) and not isinstance(first, type):
            new = {f.name: self.parameter([getattr(v, f.name) for v in values]) for f in dataclasses.fields(first)}
            return first if all([new[n] is getattr(first, n) for n in new]) else dataclasses.replace(first, **new)
        return first

    def integer(self, values: Sequence[Any]) -> Any:
        """Return the expression of an integer with these values at the points."""
        terms = self.points.terms(values)
        if terms is None:
            shown = ", ".join([f"{v} for {p if len(p) > 1 else p[0]}" for v, p in zip(values, self.points.all, strict=True)])
            raise NotOpenError(f"an integer depends on a size in a way that is not built ({shown}). Export with this size fixed "
                               "(leave it out of dynamic_shapes).")
        return expression(terms, self.symbols)

    def literal(self, atoms: Sequence[Any]) -> Any:
        """Return the value of a literal: an expression if it differs between the traces."""
        values = [np.asarray(a.val) for a in atoms]
        if all([v == values[0] or (v != v and values[0] != values[0]) for v in values]):
            return atoms[0].val
        return self.number(values)

    def number(self, values: Sequence[np.ndarray]) -> Any:
        """Return a number that depends on a size: an expression, or the reciprocal of one."""
        kind = values[0].dtype
        whole = [float(v) for v in values]
        if all([v.is_integer() for v in whole]):
            return jax.numpy.asarray(_as_array(self.integer([int(v) for v in whole])), kind)
        for more in (0, 1):     # The forms are 1 / n, and n / (n - 1), which corrects an unbiased variance.
            inverse = [round(1 / (v - more)) if v != more else 0 for v in whole]
            near = 4 * jax.numpy.finfo(kind).eps
            if all([n and abs(more + 1 / n - v) <= near * abs(v) for n, v in zip(inverse, whole, strict=True)]):
                return more + 1 / jax.numpy.asarray(_as_array(self.integer(inverse)), kind)
        raise NotOpenError(f"a number depends on a size in a way that is not built: {', '.join(map(str, whole))}")

    def constant(self, values: Sequence[Any]) -> Any:
        """Return a constant array: the same for all sizes, or filled with one number, or a range."""
        arrays = [np.asarray(v) for v in values]
        if all([a.shape == arrays[0].shape and np.array_equal(a, arrays[0], equal_nan=a.dtype.kind in "fc") for a in arrays]):
            return values[0]
        shape = self.parameter([a.shape for a in arrays])
        if all([a.size and (a == a.flat[0]).all() for a in arrays]):
            fill = self.number([a.flat[0] for a in arrays]) if len({a.flat[0] for a in arrays}) > 1 else arrays[0].flat[0]
            return jax.numpy.broadcast_to(jax.numpy.asarray(fill, arrays[0].dtype), shape)
        for axis in range(arrays[0].ndim):
            if all([np.array_equal(a, _counting(a.shape, axis, a.dtype)) for a in arrays]):
                return jax.lax.broadcasted_iota(arrays[0].dtype, shape, axis)
        raise NotOpenError("a tensor that is made from a size, and is no constant and no arange, can't be written for all sizes. "
                           "Make it from the input's own values, or export with this size fixed.")

    def function(self, values: Sequence[Any]) -> Any:
        """Return the merged body of a loop or branch."""
        closed = [v if isinstance(v, ClosedJaxpr) else ClosedJaxpr(v, ()) for v in values]
        shapes = [self.parameter([v.aval.shape for v in each])
                  for each in zip(*[c.jaxpr.invars for c in closed], strict=True)]
        specs = [jax.ShapeDtypeStruct(s, v.aval.dtype) for s, v in zip(shapes, closed[0].jaxpr.invars, strict=True)]
        made = jax.make_jaxpr(lambda *args: self.body(closed, args))(*specs)
        return made if isinstance(values[0], ClosedJaxpr) else made.jaxpr

    def body(self, traces: Sequence[ClosedJaxpr], args: Sequence[Any]) -> list[Any]:
        """Run the body of a loop or branch."""
        return self.run(traces, args)


def _as_array(size: Any) -> Any:
    return size.dimension_as_value() if hasattr(size, "dimension_as_value") else size


def _counting(shape: tuple[int, ...], axis: int, dtype: Any) -> np.ndarray:
    along = np.arange(shape[axis], dtype=dtype).reshape([-1 if i == axis else 1 for i in range(len(shape))])
    return np.broadcast_to(along, shape)


def _inner(params: dict[str, Any]) -> Any:
    """Return the function that an equation calls; None if it calls none."""
    return next((params[k] for k in ("jaxpr", "call_jaxpr", "fun_jaxpr") if k in params), None)
