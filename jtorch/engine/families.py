"""Families: calls that differ in integers only, which are sizes of arrays and what the caller computed from them.

Tracing a call takes a millisecond, and a sequence that grows, a batch of another length or a mask makes calls of new sizes
at every turn. When calls of a family have differed as an integer ``n`` does, one trace is made that leaves ``n`` open (see
``host/sizes.py``), and the host programs of further calls are made from it: 0.04 ms. When there comes one that differs in
another way, as the two lengths of a translation do, a trace is made that leaves both open.
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
from jax._src import config

from jtorch._base import caller, warned
from jtorch.engine import stats
from jtorch.engine.host import HostProgram, Plan, Unsupported, has_loop, trace
from jtorch.engine.host.sizes import Unknowns
from jtorch.engine.span import Span
from jtorch.engine.values import Aval

MET, PLANS, FAILURES = 6, 4, 3      # calls remembered, open traces kept and attempts that fail, each per family
UNKNOWNS, TRACES = 3, 12            # sizes left open at once, and open traces made, each per family
MAX_FAMILIES = 10_000


class Family:
    """What is known of calls that differ in integers only."""

    __slots__ = ("dims", "failures", "indexed", "met", "most", "plans", "short", "traces")

    def __init__(self, dims: int, *, short: bool):
        self.dims = dims            # how many of the integers are sizes of arguments; they come first
        self.met: list[tuple[int, ...]] = []                        # integers of calls that no open trace served
        self.plans: list[tuple[Span, Unknowns, Plan]] = []
        self.failures = self.traces = 0
        self.most = UNKNOWNS        # how many are left open at once
        self.indexed = 0            # equations of a trace for one size that gather or scatter
        self.short = short          # whether there is no loop, so that the jits inside may be left out of traces

    def program(self, ints: tuple[int, ...], trace_open: Callable[[Iterator], Plan]) -> HostProgram | None:
        """The program for these integers, of an open trace; one is made if they go with those of earlier calls."""
        if 0 in ints[:self.dims]:       # what reads arguments without elements differs from what reads others
            return None
        for span, unknowns, plan in self.plans:
            n = span.unknowns_of(ints)
            if n is not None and unknowns.admit(n):
                with contextlib.suppress(Unsupported):      # some functions are for the host up to a size
                    filled = plan.at(n)
                    stats.counters.open_sizes += 1
                    return filled
        new = self._span(ints) if self.failures < FAILURES and self.traces < TRACES else None
        self.met = [*self.met[1 - MET:], ints]
        return None if new is None else self._opened(new, ints, trace_open)

    def _opened(self, span: Span, ints: tuple[int, ...], trace_open: Callable[[Iterator], Plan]) -> HostProgram | None:
        """The program for these integers of a new open trace, if there can be one."""
        unknowns = Unknowns(*[ints[k] for k in span.at])
        self.traces += 1
        try:
            with _whole_tracebacks():
                plan = trace_open(iter([unknowns.size(start, *steps) for start, steps in span.rows]))
            made = plan.at(unknowns.values) if unknowns.admit(unknowns.values) else None
        except Exception as error:      # whatever a function does that can't be done with a size that is open
            if caller.interrupts(error):
                raise
            if len(span.at) > 1:
                self.most = len(span.at) - 1
            else:
                self.failures += 1
            return None
        finally:
            unknowns.close()
        self.plans = [*self.plans[1 - PLANS:], (span, unknowns, plan)]
        stats.counters.open_traces += 1
        return made

    def _span(self, ints: tuple[int, ...]) -> Span | None:
        """What an open trace was made for and these integers too, with one unknown more; else a line."""
        for span, unknowns, _ in reversed(self.plans):
            if len(span.at) < self.most and span.unknowns_of(ints) is None:
                wider = Span.through(ints, *span.points(unknowns.values))
                if wider is not None:
                    return wider
        return self._line(ints)

    def _line(self, ints: tuple[int, ...]) -> Span | None:
        """A line through an earlier call and this one, if their arguments have other sizes; else through two earlier ones."""
        alike = [a for a in self.met if a[:self.dims] != ints[:self.dims]]
        for a in sorted(alike, key=lambda a: sum(map(ne, a, ints))):
            line = Span.through(a, ints)
            if line is not None:
                return line
        for a, b in combinations(self.met, 2):
            line = Span.through(a, b)
            if line is not None and line.unknowns_of(ints) is not None:
                return line
        return None

    def trace(self, fn: Callable, avals: list) -> Plan:
        """The plan for these avals alone."""
        plan = Plan(*self.traced(fn, avals))
        self.indexed = max(self.indexed, plan.indexed)
        return plan

    def traced(self, fn: Callable, avals: list) -> tuple[Any, bool]:
        """The jaxpr of ``fn``, and whether it returns a sequence."""
        if self.short:
            try:
                return trace(fn, avals, short=True)
            except Unsupported:
                raise
            except Exception as error:      # a loop after all, perhaps; an error of the function itself is raised below
                if caller.interrupts(error):
                    raise
        closed, is_tuple = trace(fn, avals)
        self.short = not has_loop(closed.jaxpr)
        return closed, is_tuple

    def trace_open(self, function_of: Callable, template: tuple, avals: tuple[Aval, ...], sizes: Iterator) -> Plan:
        """The plan for all sizes that these may be.

        Raises Unsupported if the function warns, since it should each time, or if there is more indexing than in a trace for
        one size: where a size is open JAX gathers what it would slice.
        """
        opened = [jax.ShapeDtypeStruct(tuple([next(sizes) for _ in a.shape]), a.np) for a in avals]
        fn = function_of(_with_ints(template, sizes))
        with warned.FILTERS, warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            plan = Plan(*trace(fn, opened, short=self.short), has_open=True)
        if caught or plan.indexed > self.indexed:
            raise Unsupported
        return plan


def _whole_tracebacks() -> contextlib.AbstractContextManager:
    """JAX takes its own frames out of an exception's traceback, which takes 13 ms and is for somebody who will see it."""
    filtering = getattr(config, "traceback_filtering", None)
    return filtering("off") if filtering is not None else contextlib.nullcontext()


_families: dict[tuple, Family] = {}


def host_program(function_of: Callable, template: tuple, fn: Callable, avals: tuple[Aval, ...], *,
                 loops: bool) -> HostProgram | None:
    """``fn``, which ``function_of`` makes of ``template``, as a host program; None if it is to be compiled by XLA instead.

    Errors that the function itself raises while it is traced are not caught.
    """
    family, ints = _family(function_of, template, avals, loops=loops)
    made = family.program(ints, lambda sizes: family.trace_open(function_of, template, avals, sizes))
    if made is not None:
        return made
    try:
        return family.trace(fn, [a.sds for a in avals]).at()
    except (Unsupported, KeyError):     # a KeyError: this version of JAX calls a parameter otherwise
        return None


def traced(function_of: Callable, template: tuple, fn: Callable, avals: tuple[Aval, ...], *, loops: bool) -> Callable:
    """``fn`` for these avals, of the trace that JAX keeps of it if it has run on the host.

    Of a step of ResNet-50 that leaves 0.2 of 0.5 s of tracing. It is traced anew in the same way if there is none, so that what
    is compiled depends on no other calls.
    """
    family, _ = _family(function_of, template, avals, loops=loops)
    closed, is_tuple = family.traced(fn, [a.sds for a in avals])
    run = jax.extend.core.jaxpr_as_fun(closed)
    return run if is_tuple else lambda *arrays: run(*arrays)[0]


def _family(function_of: Callable, template: tuple, avals: tuple[Aval, ...], *, loops: bool) -> tuple[Family, tuple[int, ...]]:
    """The family of a call, and its integers."""
    ints = [n for a in avals for n in a.shape]
    dims = len(ints)
    key = function_of, _without_ints(template, ints), tuple([(len(a.shape), a.np) for a in avals])
    family = _families.get(key)
    if family is None:
        if len(_families) >= MAX_FAMILIES:
            _families.clear()
        family = _families[key] = Family(dims, short=not loops)
    return family, tuple(ints)


def clear() -> None:
    """Forgets all families."""
    _families.clear()


def _without_ints(value: Any, ints: list[int]) -> Any:
    """A template with its integers taken out, which go to ``ints``."""
    if value.__class__ is int:
        ints.append(value)
        return int
    return tuple([_without_ints(v, ints) for v in value]) if value.__class__ is tuple else value


def _with_ints(value: Any, ints: Iterator) -> Any:
    """The template with others put in."""
    if value.__class__ is int:
        return next(ints)
    return tuple([_with_ints(v, ints) for v in value]) if value.__class__ is tuple else value
