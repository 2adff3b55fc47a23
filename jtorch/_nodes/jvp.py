"""The forward derivative of an op as an op: ``jax.jvp`` of its body, cached per call."""
from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp

from jtorch._base import warned
from jtorch._nodes.vjp import backward_name
from jtorch.engine import Call
from jtorch.engine.host import has_any
from jtorch.engine.kernel import flatten
from jtorch.ops.facts import INPUTS
from jtorch.ops.registry import Op, T


class JvpOp(Op):
    """The tangents of an op's inexact results as an op. Its template also names the arguments that have tangents."""

    def function_of(self, template: tuple) -> Callable:
        forward, _, which = template
        return _jvp_function(self.body.function_of(forward), which)     # type: ignore[attr-defined]


def _jvp_function(forward: Callable, which: tuple[int, ...]) -> Callable:
    def jvp(*arrays):
        inputs, tangents = list(arrays[:len(arrays) - len(which)]), arrays[len(arrays) - len(which):]

        def of_dual(*dual):
            for i, x in zip(which, dual, strict=True):
                inputs[i] = x
            with warned.silenced():
                outs = flatten(forward(*inputs))
            return [out for out in outs if jnp.issubdtype(out.dtype, jnp.inexact)]

        primals = [inputs[i] for i in which]
        if has_any(jax.make_jaxpr(of_dual)(*primals).jaxpr, _is_own_backward):
            return tuple(_by_transposing(of_dual, primals, tangents))
        return tuple(jax.jvp(of_dual, primals, list(tangents))[1])
    return jvp


def _is_own_backward(primitive: str) -> bool:
    """Return whether a primitive has a custom backward but no forward derivative. JAX reports that only when it compiles."""
    return primitive.startswith("custom_vjp")


def _by_transposing(function: Callable, primals: list, tangents: tuple) -> list:
    """Return the tangents of a function with a custom backward, by transposing its backward, which is linear."""
    outs, pull = jax.vjp(function, *primals)
    _, push = jax.vjp(lambda cts: pull(cts), [jnp.zeros_like(out) for out in outs])
    return push(tuple(tangents))[0]


_jvp_ops: dict[Op, JvpOp] = {}


def jvp_call(call: Call, which: tuple[int, ...]) -> Call:
    """Return the call that computes the results' tangents from the arguments followed by the tangents of those in ``which``."""
    found = call.vjps.get(("jvp", which))
    if found is None:
        op = _jvp_ops.get(call.op)
        if op is None:
            op = _jvp_ops[call.op] = JvpOp(f"{call.op.name}.jvp", call.op, (), "",     # type: ignore[arg-type]
                                           backward_name=backward_name(call),
                                           saves=call.op.saves if call.op.saves.what == "all" else INPUTS,
                                           loops=call.op.loops)
        found = call.vjps["jvp", which] = Call(op, (call.template, (T,) * len(which), which))
    return found
