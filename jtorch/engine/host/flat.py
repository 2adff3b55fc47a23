"""Flatten a jaxpr into one list of equations without calls, over numbered values."""
from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import jax
import numpy as np
from jax.extend.core import ClosedJaxpr, Literal

from jtorch.ops.elementwise import ON_HOST

# Primitives that only wrap a jaxpr, and the parameters that may hold the jaxpr.
CALLS = frozenset({"jit", "pjit", "closed_call", "core_call", "call", "custom_jvp_call", "custom_vjp_call", "remat",
                   "remat2", "checkpoint", "composite", "custom_vmap_call"})
CALL_PARAMS = ("jaxpr", "call_jaxpr", "fun_jaxpr", "call")
# Primitives that return their inputs unchanged.
IDENTITIES = frozenset({"copy", "copy_p", "stop_gradient", "optimization_barrier", "sharding_constraint", "device_put",
                        "name", "pvary", "reshard", "layout_constraint", "relayout", "with_memory_space_constraint"})
# Elementwise primitives whose NumPy function broadcasts by itself. A broadcast of their operands can be left out.
BROADCASTING = frozenset({"add", "add_any", "sub", "mul", "div", "max", "min", "pow", "atan2", "eq", "ne", "lt", "le",
                          "gt", "ge", "and", "or", "xor", "select_n", "clamp", "rem", "mod"})


class Flat:
    """A list of equations without calls, over numbered values."""

    def __init__(self):
        self.avals: list = []
        self.constants: dict[int, np.ndarray] = {}
        self.equations: list[tuple[object, list[int], list[int]]] = []     # (equation, inputs, outputs)
        self.narrow: dict[int, int] = {}        # result of a broadcast -> a smaller value that broadcasts to it

    def new(self, aval) -> int:
        self.avals.append(aval)
        return len(self.avals) - 1

    def constant(self, value, aval) -> int:
        i = self.new(aval)
        self.constants[i] = np.asarray(value, aval.dtype)
        return i

    def inline(self, jaxpr, args: list[int]) -> list[int]:
        """Append the equations of ``jaxpr``, called with the values ``args``, and return the numbers of its results."""
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
        if name in CALLS:
            inside = _called(params)
            known = ON_HOST.get(params.get("name"))
            if known is not None and (self._are_of_one_rank(ins) or _broadcasts_as_numpy(inside)):
                return self._append(Stand(known, eqn.outvars), known, {}, ins)
            return self.inline(inside, ins)
        if name in IDENTITIES:
            return ins
        if name == "max" and self._is_least(ins[0]) and self.avals[ins[1]].shape == eqn.outvars[0].aval.shape:
            return ins[1:]
        if name == "call_hi_primitive":     # JAX 0.12 and later trace this primitive's function at lowering
            avals = [jax.ShapeDtypeStruct(v.aval.shape, v.aval.dtype) for v in eqn.invars]
            return self.inline(jax.make_jaxpr(lambda *arrays: eqn.primitive.to_lojax(*arrays, **params))(*avals), ins)
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

    def _is_least(self, i: int) -> bool:
        """Return whether a value is the constant minus infinity.

        JAX takes the maximum of minus infinity and a row's maximum, which changes nothing, not even NaN.
        """
        x = self.constants.get(i)
        return x is not None and not x.shape and x.dtype.kind in "fV" and x == -np.inf

    def _are_of_one_rank(self, ins: list[int]) -> bool:
        return len({len(self.avals[i].shape) for i in ins} - {0}) < 2

    def _append(self, eqn, name: str, params: dict, ins: list[int]) -> list[int]:
        outs = [self.new(v.aval) for v in eqn.outvars]
        if name in BROADCASTING:
            ins = self._without_broadcasts(ins, self.avals[outs[0]].shape)
        elif name == "broadcast_in_dim" and len(ins) == 1:
            narrow = self._narrowed(ins[0], params)
            if narrow is not None:
                self.narrow[outs[0]] = narrow
            if ins[0] in self.constants and self.constants[ins[0]].size == 1 and not any(self.constants[ins[0]].tobytes()):
                eqn = Stand("empty", eqn.outvars)       # zeros in new memory, which the system clears at first use
        elif name == "reshape" and params["dimensions"] is None and self._has_more_dims_only(outs[0], ins[0]):
            self.narrow[outs[0]] = self.narrow.get(ins[0], ins[0])
        self.equations.append((eqn, ins, outs))
        return outs

    def _has_more_dims_only(self, new: int, old: int) -> bool:
        new_shape, shape = self.avals[new].shape, self.avals[old].shape
        return new_shape == (1,) * (len(new_shape) - len(shape)) + shape

    def _narrowed(self, i: int, params: dict) -> int | None:
        """Return a value that NumPy broadcasts to the result of ``broadcast_in_dim`` of value ``i``.

        The value is ``i``, a value that broadcasts to ``i``, or a new value: ``i`` with dims of size 1 inserted.
        """
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
        self.equations.append((Stand("reshape", new_sizes=tuple(wide), dimensions=None), [i], [out]))
        return out

    def _without_broadcasts(self, ins: list[int], shape: tuple[int, ...]) -> list[int]:
        if not any(i in self.narrow for i in ins):
            return ins
        if any(self.avals[i].shape == shape and i not in self.narrow for i in ins):
            return [self.narrow.get(i, i) for i in ins]
        wide = next((i for i in ins if self.avals[i].shape == shape), None)     # one operand must keep the result's shape
        return ins if wide is None else [i if i == wide else self.narrow.get(i, i) for i in ins]


def _called(params: dict) -> Any:
    """Return the jaxpr that a primitive of ``CALLS`` wraps."""
    return next(params[p] for p in CALL_PARAMS if p in params)


def _broadcasts_as_numpy(jaxpr: Any) -> bool:
    """Return whether each broadcast inside aligns an array of fewer dims with the last dims, as NumPy does.

    A batched scalar under ``vmap`` is aligned with the first dim instead.
    """
    for eqn in getattr(jaxpr, "jaxpr", jaxpr).eqns:
        if eqn.primitive.name in CALLS:
            if not _broadcasts_as_numpy(_called(eqn.params)):
                return False
        elif eqn.primitive.name == "broadcast_in_dim":
            dims, rank = tuple(eqn.params["broadcast_dimensions"]), len(eqn.params["shape"])
            if dims != tuple(range(rank - len(dims), rank)):
                return False
    return True


class Stand:
    """A replacement for an equation of a jaxpr. It has the attributes that ``Flat`` and the rules read."""

    def __init__(self, name: str, outvars: Sequence = (), **params: Any):
        self.params, self.primitive, self.name, self.outvars = params, self, name, outvars


def live(flat: Flat, outs: list[int]) -> tuple[list, set[int]]:
    """Return the equations whose results are needed, in order, and the set of all needed values."""
    needed, kept = set(outs), []
    for eqn, i, o in reversed(flat.equations):
        if needed.intersection(o):
            needed.update(i)
            kept.append((eqn, i, o))
    return kept[::-1], needed


# Reductions whose rules know ``keeps_dims``: the result keeps the reduced dims, with size 1.
KEEPING = frozenset({"reduce_sum", "reduce_prod", "reduce_max", "reduce_min"})


def keeping_dims(flat: Flat, kept: list, outs: list[int]) -> list:
    """Merge each reduction with the broadcast or reshape that restores its dims with size 1.

    A reduction that another equation also reads stays as it is.
    """
    made = {o[0]: k for k, (eqn, _, o) in enumerate(kept) if eqn.primitive.name in KEEPING}
    readers = Counter([*outs, *[i for _, ins, _ in kept for i in ins]])
    done: list = list(kept)
    for k, (eqn, ins, result) in enumerate(kept):
        at = made.get(ins[0]) if eqn.primitive.name in ("broadcast_in_dim", "reshape") and len(ins) == 1 else None
        if at is None or readers[ins[0]] > 1:
            continue
        reduction, reduced, _ = kept[at]
        axes = reduction.params["axes"]
        shape = tuple([1 if d in axes else n for d, n in enumerate(flat.avals[reduced[0]].shape)])
        if flat.avals[result[0]].shape == shape:
            done[at], done[k] = (Stand(reduction.primitive.name, axes=axes, keeps_dims=True), reduced, result), None
    return [entry for entry in done if entry is not None]
