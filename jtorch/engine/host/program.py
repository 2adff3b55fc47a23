"""Turn a jaxpr into a flat list of NumPy calls over numbered slots."""
from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextvars import Context
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np
from jax.extend.core import ClosedJaxpr, Jaxpr

from jtorch.engine import cost, policy
from jtorch.engine.host import blocks, fused
from jtorch.engine.host.flat import Flat, keeping_dims, live
from jtorch.engine.host.rules import RULES, Equation, Overwriting, Shaped, Unsupported
from jtorch.engine.host.sizes import filled, is_open
from jtorch.engine.jax_settings import left_as_found

LOOPS = frozenset({"scan", "while"})


def new_quiet_context() -> Context:
    """Return a context in which NumPy does not warn."""
    context = Context()
    context.run(np.seterr, all="ignore")
    return context


# Free contexts in which NumPy does not warn. NumPy keeps this setting in a context variable, and entering a context is cheaper
# than np.errstate. A context in use is not in the list, because a context cannot be entered twice.
quiet_contexts: list[Context] = []


class HostProgram:
    """A function from a list of ``np.ndarray`` to a list of ``np.ndarray``, which runs one step after another.

    ``used`` has a flag for each input of the traced function: whether the program reads it. ``out_avals`` are the shapes and
    dtypes of the outputs. ``is_tuple`` is True if the traced function returned a sequence, and False for a single array.
    ``work`` estimates a run. Outputs may share memory with inputs, so callers must not write into outputs. ``over`` has the steps
    for a caller that allows a write into the first input; the output is that input then. ``over`` is None for other programs.
    """

    __slots__ = ("_code", "_n", "_outs", "_slots", "_steps", "is_tuple", "out_avals", "over", "used", "work")

    def __init__(self, used, out_avals, is_tuple, slots, code, outs, work: cost.Work,
                 steps: int | None = None):
        self.used, self.out_avals, self.is_tuple, self.work = used, out_avals, is_tuple, work
        self._slots, self._code, self._outs, self._n = slots, code, outs, len(used)
        self._steps = len(code) if steps is None else steps
        self.over = _overwriting(code, outs)

    def __len__(self):
        return self._steps

    def __call__(self, arrays: Sequence[np.ndarray], *, over: bool = False) -> list[np.ndarray]:
        """Return the outputs for these arrays. With ``over`` the program may write into the first array."""
        try:
            quiet = quiet_contexts.pop()
        except IndexError:
            quiet = new_quiet_context()
        try:
            outs = quiet.run(self.run, arrays, over=over)
        finally:
            quiet_contexts.append(quiet)
        return [x if x.__class__ is np.ndarray else np.asarray(x) for x in outs]

    def run(self, arrays: Sequence, *, over: bool = False) -> list:
        """Run the steps without the guard against NumPy's warnings. Outputs without dims may be NumPy scalars."""
        s = self._slots.copy()
        s[:self._n] = arrays
        for fn, a, b, out in (self.over or self._code) if over else self._code:
            if b is None:
                s[out] = fn(s[a])
            elif b.__class__ is int:
                s[out] = fn(s[a], s[b])
            elif out.__class__ is int:
                s[out] = fn(*[s[i] for i in b])
            else:
                for i, x in zip(out, fn(*[s[i] for i in b]), strict=True):
                    s[i] = x
        return [s[i] for i in self._outs]


def _overwriting(code: list[tuple], outs: list[int]) -> list[tuple] | None:
    """Return the steps, the last of which writes into the first input; None if the last step cannot do so.

    The last step must be an ``Overwriting`` of slot 0, take slot 0 once, and give the only output.
    """
    if not code or code[-1][0].__class__ is not Overwriting:
        return None
    fn, a, b, out = code[-1]
    first, *others = (a, b) if b.__class__ is int else b
    return [*code[:-1], (fn.over, a, b, out)] if first == 0 and 0 not in others and outs == [out] else None


def trace(fn: Callable, avals: Sequence[jax.ShapeDtypeStruct], *, short: bool = False) -> tuple[ClosedJaxpr, bool]:
    """Return the jaxpr of ``fn``, and whether ``fn`` returns a sequence. Raise Unsupported for a jaxpr with effects.

    A ``short`` trace inlines the jits of ``jax.numpy``, which takes less time. It is for functions without loops, since JAX would
    unroll these. A trace of a whole program is not short: its calls with equal avals share the traces of inner jits.
    """
    with left_as_found(), jax.disable_jit(short):
        traced = jax.jit(fn).trace(*avals)
    if traced.jaxpr.effects:
        raise Unsupported
    is_tuple = not traced.out_tree.num_leaves or not jax.tree_util.treedef_is_leaf(traced.out_tree)     # [] is a leaf, too
    return traced.jaxpr, is_tuple


def has_any(jaxpr: Jaxpr, is_wanted: Callable[[str], bool]) -> bool:
    """Return whether a jaxpr, or a jaxpr inside it, has a primitive whose name ``is_wanted``."""
    given = [v for eqn in jaxpr.eqns for p in eqn.params.values() for v in (p if isinstance(p, (tuple, list)) else (p,))]
    inner = [v.jaxpr if isinstance(v, ClosedJaxpr) else v for v in given if isinstance(v, (Jaxpr, ClosedJaxpr))]
    return any(is_wanted(eqn.primitive.name) for eqn in jaxpr.eqns) or any(has_any(v, is_wanted) for v in inner)


def has_loop(jaxpr: Jaxpr) -> bool:
    """Return whether a jaxpr, or a jaxpr inside it, has a loop."""
    return has_any(jaxpr, LOOPS.__contains__)


def build(closed: ClosedJaxpr, is_tuple: bool = True) -> HostProgram:
    """Return the host program of a jaxpr. Raise Unsupported if an equation has no rule."""
    return Plan(closed, is_tuple).at()


def of_function(fn: Callable, used: Sequence[bool], outs: Sequence[jax.ShapeDtypeStruct], work: cost.Work, *,
                is_tuple: bool) -> HostProgram:
    """Return a host program with one step: ``fn`` of the used arrays.

    ``fn`` returns an array, or a list of arrays if ``is_tuple``. ``outs`` are the shapes and dtypes of the outputs.
    """
    n, sources = len(used), [k for k, is_used in enumerate(used) if is_used]
    targets = list(range(n, n + len(outs)))
    step = (fn, None, tuple(sources), tuple(targets)) if is_tuple else _instruction(fn, sources, targets)
    return HostProgram(tuple(used), list(outs), is_tuple, [None] * (n + len(outs)), [step], targets, work)


def work_of(closed: ClosedJaxpr) -> cost.Work:
    """Return the estimated work of a jaxpr. Its equations need no rules."""
    flat = Flat()
    flat.inline(closed, [flat.new(v.aval) for v in closed.jaxpr.invars])
    return sum([cost.of_equation(_equation(flat, *e)) for e in flat.equations], cost.NOTHING)


def _equation(flat: Flat, eqn: Any, ins: list[int], outs: list[int]) -> Equation:
    return Equation(eqn.primitive.name, [flat.avals[i] for i in ins], [flat.avals[o] for o in outs], eqn.params)


class Plan:
    """The steps of a host program, of which some may wait for sizes that the trace left open (see ``sizes.py``).

    ``at`` fills the open sizes in and returns the program. ``indexed`` is the number of equations that gather or scatter.
    """

    __slots__ = ("_avals", "_code", "_late", "_late_work", "_open", "_out_avals", "_outs", "_slots", "_steps", "_work", "indexed",
                 "is_tuple", "used")

    def __init__(self, closed: ClosedJaxpr, is_tuple: bool, *, has_open: bool = False):
        """Raise Unsupported if an equation has no rule. ``has_open`` tells whether the trace left a size open."""
        flat = Flat()
        ins = [flat.new(v.aval) for v in closed.jaxpr.invars]
        outs = flat.inline(closed, ins)
        kept, needed = live(flat, outs)
        kept = keeping_dims(flat, kept, outs)
        calls, late = _resolve(flat, kept, has_open=has_open)
        self._steps = len(calls)
        if fused.is_there():
            calls = fused.merged(calls, flat.avals, outs, _Opened)
        calls = blocks.merged(calls, flat.avals, outs)
        self._work = sum([step.work for step in calls if step.fn is not None], cost.NOTHING)
        self._late_work: list[_Opened] = [opened for step in calls for opened in getattr(step, "late", ())]
        self.is_tuple, self.used = is_tuple, tuple([v in needed for v in ins])
        self.indexed = sum([eqn.primitive.name.startswith(("gather", "scatter")) for eqn, _, _ in kept])
        self._out_avals = [jax.ShapeDtypeStruct(flat.avals[o].shape, flat.avals[o].dtype) for o in outs]
        slot_of = {v: k for k, v in enumerate(ins)}
        self._slots = self._with_constants(flat, calls, late, outs, slot_of)
        fixed = set(slot_of).union(outs)
        self._code = _allocate(calls, self._slots, slot_of, fixed)
        self._open = [(k, _Opened(step)) for k, step in enumerate(calls) if step.fn is None]
        self._late = [(_Opened(step), [slot_of[v] for v in step.ins], [slot_of[v] for v in step.outs]) for step in late]
        waiting = [*[opened for _, opened in self._open], *[opened for opened, _, _ in self._late], *self._late_work]
        self._avals = {v: _filled_if_closed(flat.avals[v]) for opened in waiting for v in (*opened.ins, *opened.outs)}
        self._outs = [slot_of[o] for o in outs]

    @staticmethod
    def _with_constants(flat: Flat, calls: list[_Step], late: list[_Step], outs: list[int], slot_of: dict[int, int]) -> list:
        """Return the slots of inputs and constants. A constant that depends on an open size has an empty slot."""
        slots: list = [None] * len(slot_of)
        made = {v for step in late for v in step.outs}
        for v in sorted({v for step in (*calls, *late) for v in step.ins}.union(outs).union(made)):
            if v in flat.constants or v in made:
                slot_of[v] = len(slots)
                slots.append(flat.constants.get(v))
        return slots

    def at(self, n: tuple[int, ...] | None = None) -> HostProgram:
        """Return the program. ``n`` has a value for each unknown of the open sizes."""
        slots, code, avals, work = self._slots, self._code, self._out_avals, self._work
        if n is not None:
            shaped = {v: a if a.__class__ is Shaped else _shaped(a, n) for v, a in self._avals.items()}
            slots, code = self._constants_at(n, shaped), code.copy()
            for k, opened in self._open:
                equation = opened.at(n, shaped)
                code[k] = (_function(equation), *code[k][1:])
                work += cost.of_equation(equation)
            work += sum([cost.of_equation(opened.at(n, shaped)) for opened in self._late_work], cost.NOTHING)
            avals = [jax.ShapeDtypeStruct(filled(a.shape, n), a.dtype) for a in avals]
        return HostProgram(self.used, avals, self.is_tuple, slots, code, self._outs, work, self._steps)

    def _constants_at(self, n: tuple[int, ...], shaped: dict[int, Shaped]) -> list:
        slots = self._slots.copy()
        if self._late:
            with np.errstate(all="ignore"):
                for opened, ins, outs in self._late:
                    for o, x in _results(_function(opened.at(n, shaped)), [slots[i] for i in ins], outs):
                        slots[o] = x
        return slots


def _filled_if_closed(aval: Any) -> Any:
    return aval if is_open(aval.shape) else Shaped(aval.shape, aval.dtype)


def _shaped(aval: Any, n: tuple[int, ...]) -> Shaped:
    return Shaped(tuple([d if d.__class__ is int else d.at(n) for d in aval.shape]), aval.dtype)


class _Opened:
    """An equation whose shapes or parameters have open sizes."""

    __slots__ = ("_name", "_open", "_params", "ins", "outs")

    def __init__(self, step: _Step):
        self._name, self._params, self.ins, self.outs = step.equation.name, step.equation.params, step.ins, step.outs
        self._open = [name for name, p in self._params.items() if is_open(p)]

    def at(self, n: tuple[int, ...], shaped: dict[int, Shaped]) -> Equation:
        """Return the equation for the unknowns ``n``. ``shaped`` maps value numbers to avals for these unknowns."""
        params = self._params
        if self._open:
            params = params.copy()
            for name in self._open:
                params[name] = filled(params[name], n)
        return Equation(self._name, [shaped[v] for v in self.ins], [shaped[v] for v in self.outs], params)


def _depends_on_size(equation: Equation) -> bool:
    """Return whether a shape or a parameter of an equation has an open size."""
    return any([is_open(a.shape) for a in (*equation.ins, *equation.outs)]) or any([is_open(p) for p in equation.params.values()])


@dataclass(slots=True)
class _Step:
    """An equation with its NumPy function. ``fn`` is None if the function depends on an open size."""

    equation: Equation
    fn: Callable | None
    ins: list[int]
    outs: list[int]

    @property
    def work(self) -> cost.Work:
        return cost.of_equation(self.equation)


def _function(equation: Equation) -> Callable:
    make = RULES.get(equation.name)
    if make is None:
        raise Unsupported(equation.name)
    return make(equation)


def _results(fn: Callable, arrays: list, outs: list[int]) -> Iterator[tuple[int, Any]]:
    results = fn(*arrays)
    return zip(outs, results if len(outs) != 1 else [results], strict=True)


def _resolve(flat: Flat, kept: list, *, has_open: bool) -> tuple[list[_Step], list[_Step]]:
    """Return the steps to run, and the steps of small constants that depend on an open size.

    Other small constants are computed here, once.
    """
    calls, late, constants = [], [], flat.constants
    waiting: set[int] = set()
    for eqn, ins, outs in kept:
        avals = [flat.avals[o] for o in outs]
        equation = _equation(flat, eqn, ins, outs)
        step = _Step(equation, None if has_open and _depends_on_size(equation) else _function(equation), ins, outs)
        if not all([i in constants or i in waiting for i in ins]) or not all([a.size <= policy.LARGE for a in avals]):
            calls.append(step)
        elif step.fn is None or waiting.intersection(ins):
            late.append(step)
            waiting.update(outs)
        else:
            with np.errstate(all="ignore"):
                constants.update(_results(step.fn, [constants[i] for i in ins], outs))
    return calls, late


def _allocate(calls: list[_Step], slots: list, slot_of: dict[int, int], fixed: set[int]) -> list[tuple]:
    """Assign a slot to each value, and reuse the slots of values that no later step reads.

    Values in ``fixed`` keep their slots. Return the instructions, one for each step.
    """
    last = {v: k for k, step in enumerate(calls) for v in (*step.ins, *step.outs)}
    free: list[int] = []
    code = []
    for k, step in enumerate(calls):
        ins, outs = step.ins, step.outs
        sources = [slot_of[v] for v in ins]
        free.extend({slot_of[v] for v in ins if last[v] == k and v not in fixed})
        for v in outs:
            if not free:
                free.append(len(slots))
                slots.append(None)
            slot_of[v] = free.pop()
        free.extend(slot_of[v] for v in outs if last[v] == k and v not in fixed)
        code.append(_instruction(step.fn, sources, [slot_of[v] for v in outs]))
    return code


def _instruction(fn: Callable | None, sources: list[int], targets: list[int]) -> tuple:
    if len(targets) != 1:
        return fn, None, tuple(sources), tuple(targets)
    match sources:
        case [a]:
            return fn, a, None, targets[0]
        case [a, b]:
            return fn, a, b, targets[0]
    return fn, None, tuple(sources), targets[0]
