"""Families: calls that differ in integers only. The integers are sizes of arrays, and what the caller computed from sizes.

A sequence that grows, a batch of another length or a mask makes calls of new sizes in each turn. A JAX trace of each call would
take long. If all integers of a family's calls depend linearly on one integer ``n``, one open trace is made that leaves ``n``
open (see ``host/sizes.py``). The host programs of further calls are made from it. If a call differs in another way, as the two
lengths of a translation do, a further trace leaves one more integer open.
"""
from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Iterator
from itertools import combinations
from operator import ne
from typing import Any

import jax
import jax.extend

from jtorch._base import caller, jax_private, warned
from jtorch.engine import policy, stats
from jtorch.engine.affine_sizes import AffineSizes
from jtorch.engine.host import HostProgram, Plan, Unsupported, has_loop, trace
from jtorch.engine.host.sizes import Unknowns
from jtorch.engine.values import Aval


class Family:
    """Calls that differ in integers only, and the open traces made for them."""

    __slots__ = ("dims", "failures", "indexed", "met", "most", "plans", "short", "traces")

    def __init__(self, dims: int, *, short: bool):
        self.dims = dims            # The number of integers that are sizes of arguments. These integers come first.
        self.met: list[tuple[int, ...]] = []                        # Integers of calls that no open trace has served.
        self.plans: list[tuple[AffineSizes, Unknowns, Plan]] = []
        self.failures = self.traces = 0
        self.most = policy.FEW        # The number of integers that one trace may leave open.
        self.indexed = 0            # The largest number of gathers and scatters in a trace of fixed sizes.
        self.short = short          # True if the body is expected to have no loop. Then its jits are inlined.

    def program(self, ints: tuple[int, ...], trace_open: Callable[[Iterator], Plan]) -> HostProgram | None:
        """Return the host program of an open trace for these integers, or None.

        A new open trace is made if the integers and those of earlier calls depend linearly on few unknowns.
        """
        if 0 in ints[:self.dims]:       # Empty arguments take other paths in the op's body.
            return None
        for span, unknowns, plan in self.plans:
            n = span.unknowns_of(ints)
            if n is not None and unknowns.admit(n):
                with contextlib.suppress(Unsupported):      # The host supports some functions up to a size only.
                    filled = plan.at(n)
                    stats.counters.open_sizes += 1
                    return filled
        new = self._span(ints) if self.failures < policy.FEW and self.traces < policy.MANY else None
        self.met = [*self.met[1 - policy.OFTEN:], ints]
        return None if new is None else self._opened(new, ints, trace_open)

    def _opened(self, span: AffineSizes, ints: tuple[int, ...], trace_open: Callable[[Iterator], Plan]) -> HostProgram | None:
        """Make an open trace over a span, and return its host program for these integers; None if that fails."""
        unknowns = Unknowns(*[ints[k] for k in span.at])
        self.traces += 1
        try:
            with jax_private.whole_tracebacks():
                plan = trace_open(iter([unknowns.size(start, *steps) for start, steps in span.rows]))
            made = plan.at(unknowns.values) if unknowns.admit(unknowns.values) else None
        except Exception as error:      # The function may do anything that an open size does not support.
            if caller.interrupts(error):
                raise
            if len(span.at) > 1:
                self.most = len(span.at) - 1
            else:
                self.failures += 1
            return None
        finally:
            unknowns.close()
        self.plans = [*self.plans[1 - policy.OFTEN:], (span, unknowns, plan)]
        stats.counters.open_traces += 1
        return made

    def _span(self, ints: tuple[int, ...]) -> AffineSizes | None:
        """Return the span of an open trace, widened by one unknown to include these integers; else the result of ``_line``."""
        for span, unknowns, _ in reversed(self.plans):
            if len(span.at) < self.most and span.unknowns_of(ints) is None:
                wider = AffineSizes.through(ints, *span.points(unknowns.values))
                if wider is not None:
                    return wider
        return self._line(ints)

    def _line(self, ints: tuple[int, ...]) -> AffineSizes | None:
        """Return a line through this call and an earlier one with other argument sizes.

        If there is none, return a line through two earlier calls that also includes this one, or None.
        """
        alike = [a for a in self.met if a[:self.dims] != ints[:self.dims]]
        for a in sorted(alike, key=lambda a: sum(map(ne, a, ints))):
            line = AffineSizes.through(a, ints)
            if line is not None:
                return line
        for a, b in combinations(self.met, 2):
            line = AffineSizes.through(a, b)
            if line is not None and line.unknowns_of(ints) is not None:
                return line
        return None

    def trace(self, fn: Callable, avals: list) -> Plan:
        """Return the plan for these avals alone, without open sizes."""
        plan = Plan(*self.traced(fn, avals))
        self.indexed = max(self.indexed, plan.indexed)
        return plan

    def traced(self, fn: Callable, avals: list) -> tuple[Any, bool]:
        """Return the jaxpr of ``fn``, and whether it returns a sequence."""
        if self.short:
            try:
                return trace(fn, avals, short=True)
            except Unsupported:
                raise
            except Exception as error:      # The body may have a loop after all. The function's own errors are raised below.
                if caller.interrupts(error):
                    raise
        closed, is_tuple = trace(fn, avals)
        self.short = not has_loop(closed.jaxpr)
        return closed, is_tuple

    def trace_open(self, function_of: Callable, template: tuple, avals: tuple[Aval, ...], sizes: Iterator) -> Plan:
        """Return the plan of an open trace, for all values of the open ``sizes``.

        Raise Unsupported if the function warns, because it should warn each time. Raise it also if the trace indexes more than
        a trace of fixed sizes: JAX gathers elements with an open size, and slices with a fixed one.
        """
        opened = [jax.ShapeDtypeStruct(tuple([next(sizes) for _ in a.shape]), a.np) for a in avals]
        fn = function_of(_with_ints(template, sizes))
        with warned.FILTERS, warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            plan = Plan(*trace(fn, opened, short=self.short), has_open=True)
        if caught or plan.indexed > self.indexed:
            raise Unsupported
        return plan


_families: dict[tuple, Family] = {}


def host_program(function_of: Callable, template: tuple, fn: Callable, avals: tuple[Aval, ...], *,
                 loops: bool) -> HostProgram | None:
    """Return the host program of ``fn``, which ``function_of`` makes of ``template``; None if only XLA can run it.

    Errors that the function itself raises during tracing are not caught.
    """
    family, ints = _family(function_of, template, avals, loops=loops)
    made = family.program(ints, lambda sizes: family.trace_open(function_of, template, avals, sizes))
    if made is not None:
        return made
    try:
        return family.trace(fn, [a.sds for a in avals]).at()
    except (Unsupported, KeyError):     # A KeyError means that this version of JAX has another name for a parameter.
        return None


def traced(function_of: Callable, template: tuple, fn: Callable, avals: tuple[Aval, ...], *, loops: bool) -> Callable:
    """Return a function of arrays that runs the jaxpr of ``fn`` for these avals.

    If the call has run on the host, JAX has the trace in its cache. Otherwise JAX traces the function in the same way, so the
    compiled code does not depend on other calls.
    """
    family, _ = _family(function_of, template, avals, loops=loops)
    closed, is_tuple = family.traced(fn, [a.sds for a in avals])
    run = jax.extend.core.jaxpr_as_fun(closed)
    return run if is_tuple else lambda *arrays: run(*arrays)[0]


def _family(function_of: Callable, template: tuple, avals: tuple[Aval, ...], *, loops: bool) -> tuple[Family, tuple[int, ...]]:
    """Return the family of a call, and its integers."""
    ints = [n for a in avals for n in a.shape]
    dims = len(ints)
    key = function_of, _without_ints(template, ints), tuple([(len(a.shape), a.np) for a in avals])
    family = _families.get(key)
    if family is None:
        if len(_families) >= policy.MAX_KERNELS:
            _families.clear()
        family = _families[key] = Family(dims, short=not loops)
    return family, tuple(ints)


def clear() -> None:
    """Forget all families."""
    _families.clear()


def _without_ints(value: Any, ints: list[int]) -> Any:
    """Return a template without its integers, which are appended to ``ints``."""
    if value.__class__ is int:
        ints.append(value)
        return int
    return tuple([_without_ints(v, ints) for v in value]) if value.__class__ is tuple else value


def _with_ints(value: Any, ints: Iterator) -> Any:
    """Return the template with other integers."""
    if value.__class__ is int:
        return next(ints)
    return tuple([_with_ints(v, ints) for v in value]) if value.__class__ is tuple else value
