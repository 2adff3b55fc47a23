"""From a jaxpr to a flat list of NumPy calls over numbered slots."""
from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from contextvars import Context
from typing import Any

import jax
import numpy as np
from jax.extend.core import ClosedJaxpr, Jaxpr, Literal

from jtorch.engine.host.rules import RULES, Equation, Unsupported
from jtorch.ops.elementwise import ON_HOST

# Primitives that only wrap a jaxpr, and the parameters it may be in.
CALLS = frozenset({"jit", "pjit", "closed_call", "core_call", "call", "custom_jvp_call", "custom_vjp_call", "remat",
                   "remat2", "checkpoint", "composite", "custom_vmap_call"})
CALL_PARAMS = ("jaxpr", "call_jaxpr", "fun_jaxpr", "call")
LOOPS = frozenset({"scan", "while"})
# Primitives that hand their inputs on unchanged.
IDENTITIES = frozenset({"copy", "copy_p", "stop_gradient", "optimization_barrier", "sharding_constraint", "device_put",
                        "name", "pvary", "reshard", "layout_constraint", "relayout", "with_memory_space_constraint"})
# Elementwise primitives whose NumPy function broadcasts by itself, so that a broadcast before them is needless.
BROADCASTING = frozenset({"add", "add_any", "sub", "mul", "div", "max", "min", "pow", "atan2", "eq", "ne", "lt", "le",
                          "gt", "ge", "and", "or", "xor", "select_n", "clamp", "rem"})
FOLD_LIMIT = 1 << 12        # a constant larger than this is made at each run rather than kept


def _new_quiet() -> Context:
    context = Context()
    context.run(np.seterr, all="ignore")
    return context


# Contexts in which NumPy does not warn, which it keeps in a context variable: entering one takes 0.1 µs, np.errstate 1.2.
# One that is in use is not here, since it cannot be entered twice.
_quiet: list[Context] = []


class HostProgram:
    """A function of arrays, run equation by equation: takes a list of ``np.ndarray``, returns a list of them.

    ``used`` says which inputs it reads; ``out_avals`` what it returns; ``is_tuple`` whether the traced function
    returned a sequence rather than one array. Outputs may share memory with inputs and are not to be written to.
    """

    __slots__ = ("_code", "_n", "_outs", "_slots", "is_tuple", "out_avals", "used")

    def __init__(self, used, out_avals, is_tuple, slots, code, outs):
        self.used, self.out_avals, self.is_tuple = used, out_avals, is_tuple
        self._slots, self._code, self._outs, self._n = slots, code, outs, len(used)

    def __len__(self):
        return len(self._code)

    def __call__(self, arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
        try:
            quiet = _quiet.pop()
        except IndexError:
            quiet = _new_quiet()
        try:
            outs = quiet.run(self.run, arrays)
        finally:
            _quiet.append(quiet)
        return [x if x.__class__ is np.ndarray else np.asarray(x) for x in outs]

    def run(self, arrays: Sequence) -> list:
        """The same without the guard against NumPy's warnings; 0-dim outputs may be NumPy scalars."""
        s = self._slots.copy()
        s[:self._n] = arrays
        for fn, a, b, out in self._code:
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


def compile_on_host(fn: Callable, avals: Sequence[jax.ShapeDtypeStruct]) -> HostProgram | None:
    """``fn`` of arrays like ``avals`` as a host program, or None if it is to be compiled by XLA instead.

    Errors that the function itself raises while it is traced are not caught.
    """
    with _short_trace(fn):
        traced = jax.jit(fn).trace(*avals)
    closed = traced.jaxpr
    if fn not in _without_loops:
        _without_loops[fn] = not _has_loop(closed.jaxpr)
    if closed.effects:
        return None
    is_tuple = not traced.out_tree.num_leaves or not jax.tree_util.treedef_is_leaf(traced.out_tree)     # [] is a leaf to JAX
    try:
        return build(closed, is_tuple)
    except (Unsupported, KeyError):     # a KeyError: this version of JAX calls a parameter otherwise
        return None


# Functions that have been traced: whether they are without loops, which would be unrolled if their jits were left out.
_without_loops: weakref.WeakKeyDictionary[Callable, bool] = weakref.WeakKeyDictionary()


def _short_trace(fn: Callable) -> AbstractContextManager:
    """For a trace of ``fn``: without the jits inside, those of ``jax.numpy``, if an earlier one has met no loop.

    That takes half the time: 1.0 ms instead of 1.9 for each of the 1,092 kernels of a transformer whose sequence grows. In a
    program, where calls with the same avals share these jits, it gains nothing.
    """
    return jax.disable_jit(_without_loops.get(fn, False))


def _has_loop(jaxpr: Jaxpr) -> bool:
    inner = [v for eqn in jaxpr.eqns for p in eqn.params.values() for v in (p if isinstance(p, (tuple, list)) else (p,))]
    return any(eqn.primitive.name in LOOPS for eqn in jaxpr.eqns) \
        or any(_has_loop(v.jaxpr if isinstance(v, ClosedJaxpr) else v) for v in inner if isinstance(v, (Jaxpr, ClosedJaxpr)))


def build(closed: ClosedJaxpr, is_tuple: bool = True) -> HostProgram:
    """The program of a jaxpr. Raises Unsupported if some equation has no rule."""
    flat = _Flat()
    ins = [flat.new(v.aval) for v in closed.jaxpr.invars]
    outs = flat.inline(closed, ins)
    return _emit(flat, ins, outs, is_tuple)


class _Flat:
    """One list of equations without calls, its values numbered."""

    def __init__(self):
        self.avals: list = []
        self.constants: dict[int, np.ndarray] = {}
        self.equations: list[tuple[object, list[int], list[int]]] = []     # (equation, inputs, outputs)
        self.narrow: dict[int, int] = {}        # result of a broadcast -> what broadcasts to it

    def new(self, aval) -> int:
        self.avals.append(aval)
        return len(self.avals) - 1

    def constant(self, value, aval) -> int:
        i = self.new(aval)
        self.constants[i] = np.asarray(value, aval.dtype)
        return i

    def inline(self, jaxpr, args: list[int]) -> list[int]:
        """Appends the equations of ``jaxpr`` called with ``args``; the numbers of its results."""
        jaxpr, consts = (jaxpr.jaxpr, jaxpr.consts) if isinstance(jaxpr, ClosedJaxpr) else (jaxpr, ())
        env = dict(zip(jaxpr.invars, args, strict=True))
        for v, c in zip(jaxpr.constvars, consts, strict=True):
            env[v] = self.constant(c, v.aval)

        def read(v) -> int:
            return self.constant(v.val, v.aval) if isinstance(v, Literal) else env[v]

        for eqn in jaxpr.eqns:
            results = self._equation(eqn, [read(v) for v in eqn.invars])
            env.update(zip(eqn.outvars, results, strict=True))
        return [read(v) for v in jaxpr.outvars]

    def _equation(self, eqn, ins: list[int]) -> list[int]:
        name, params = eqn.primitive.name, eqn.params
        if name in CALLS and params.get("name") in ON_HOST:
            known = ON_HOST[params["name"]]
            return self._append(_Stand(known, eqn.outvars), known, {}, ins)
        if name in CALLS:
            return self.inline(next(params[p] for p in CALL_PARAMS if p in params), ins)
        if name in IDENTITIES:
            return ins
        if name == "platform_index":
            platforms = params["platforms"]
            return [self.constant(next(i for i, p in enumerate(platforms) if p is None or "cpu" in p),
                                  eqn.outvars[0].aval)]
        if name == "cond" and ins[0] in self.constants:
            branches = params["branches"]
            return self.inline(branches[min(max(int(self.constants[ins[0]]), 0), len(branches) - 1)], ins[1:])
        if name == "custom_linear_solve":
            n = params["const_lengths"]
            first = n.matvec + n.vecmat
            rest = first + n.solve + n.transpose_solve
            return self.inline(params["jaxprs"].solve, ins[first:first + n.solve] + ins[rest:])
        return self._append(eqn, name, params, ins)

    def _append(self, eqn, name: str, params: dict, ins: list[int]) -> list[int]:
        outs = [self.new(v.aval) for v in eqn.outvars]
        if name in BROADCASTING:
            ins = self._without_broadcasts(ins, self.avals[outs[0]].shape)
        elif name == "broadcast_in_dim" and len(ins) == 1:
            narrow = self._narrowed(ins[0], params)
            if narrow is not None:
                self.narrow[outs[0]] = narrow
        self.equations.append((eqn, ins, outs))
        return outs

    def _narrowed(self, i: int, params: dict) -> int | None:
        """A value that NumPy broadcasts to what ``broadcast_in_dim`` gives, if ``i`` is one or reshapes into one."""
        shape, rank = self.avals[i].shape, len(params["shape"])
        dims = tuple(params["broadcast_dimensions"])
        if i in self.narrow:
            i = self.narrow[i] if dims == tuple(range(len(shape))) and rank == len(shape) else i
        if dims == tuple(range(rank - len(shape), rank)):
            return i
        wide = [1] * rank
        for d, n in zip(dims, shape, strict=True):
            wide[d] = n
        out = self.new(jax.ShapeDtypeStruct(tuple(wide), self.avals[i].dtype))
        self.equations.append((_Stand("reshape", new_sizes=tuple(wide), dimensions=None), [i], [out]))
        return out

    def _without_broadcasts(self, ins: list[int], shape: tuple[int, ...]) -> list[int]:
        if not any(i in self.narrow for i in ins):
            return ins
        if any(self.avals[i].shape == shape and i not in self.narrow for i in ins):
            return [self.narrow.get(i, i) for i in ins]
        wide = next((i for i in ins if self.avals[i].shape == shape), None)     # one must stay for the shape's sake
        return ins if wide is None else [i if i == wide else self.narrow.get(i, i) for i in ins]


class _Stand:
    """Stands for an equation that is in no jaxpr."""

    def __init__(self, name: str, outvars: Sequence = (), **params: Any):
        self.params, self.primitive, self.name, self.outvars = params, self, name, outvars


def _live(flat: _Flat, outs: list[int]) -> tuple[list, set[int]]:
    """The equations whose results are needed, in order, and all values needed."""
    needed, kept = set(outs), []
    for eqn, i, o in reversed(flat.equations):
        if needed.intersection(o):
            needed.update(i)
            kept.append((eqn, i, o))
    return kept[::-1], needed


def _resolve(flat: _Flat, kept: list) -> list[tuple[Callable, list[int], list[int], bool]]:
    """The NumPy function of each equation. Those that depend on nothing are run here, once."""
    calls, constants = [], flat.constants
    for eqn, ins, outs in kept:
        name, avals = eqn.primitive.name, [flat.avals[o] for o in outs]
        make = RULES.get(name)
        if make is None:
            raise Unsupported(name)
        fn = make(Equation(name, [flat.avals[i] for i in ins], avals, eqn.params))
        several = len(outs) != 1
        if all(i in constants for i in ins) and all(a.size <= FOLD_LIMIT for a in avals):
            with np.errstate(all="ignore"):
                results = fn(*[constants[i] for i in ins])
            constants.update(zip(outs, results if several else [results], strict=True))
        else:
            calls.append((fn, ins, outs, several))
    return calls


def _emit(flat: _Flat, ins: list[int], outs: list[int], is_tuple: bool) -> HostProgram:
    kept, needed = _live(flat, outs)
    calls = _resolve(flat, kept)
    slots: list = [None] * len(ins)
    slot_of = {v: k for k, v in enumerate(ins)}
    fixed = set(outs).union(ins)
    for v in {v for call in calls for v in call[1]}.union(outs):
        if v in flat.constants:
            slot_of[v] = len(slots)
            slots.append(flat.constants[v])
            fixed.add(v)
    code = _allocate(calls, slots, slot_of, fixed)
    avals = [jax.ShapeDtypeStruct(flat.avals[o].shape, flat.avals[o].dtype) for o in outs]
    return HostProgram(tuple(v in needed for v in ins), avals, is_tuple, slots, code, [slot_of[o] for o in outs])


def _allocate(calls: list, slots: list, slot_of: dict[int, int], fixed: set[int]) -> list[tuple]:
    """Gives each value a slot, that of a value which nobody reads any more if there is one."""
    last = {v: k for k, call in enumerate(calls) for v in (*call[1], *call[2])}
    free: list[int] = []
    code = []
    for k, (fn, ins, outs, several) in enumerate(calls):
        sources = [slot_of[v] for v in ins]
        free.extend({slot_of[v] for v in ins if last[v] == k and v not in fixed})
        for v in outs:
            if not free:
                free.append(len(slots))
                slots.append(None)
            slot_of[v] = free.pop()
        free.extend(slot_of[v] for v in outs if last[v] == k and v not in fixed)
        code.append(_instruction(fn, sources, [slot_of[v] for v in outs], several))
    return code


def _instruction(fn: Callable, sources: list[int], targets: list[int], several: bool) -> tuple:
    if several:
        return fn, None, tuple(sources), tuple(targets)
    match sources:
        case [a]:
            return fn, a, None, targets[0]
        case [a, b]:
            return fn, a, b, targets[0]
    return fn, None, tuple(sources), targets[0]
