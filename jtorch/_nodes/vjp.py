"""The backward of an op as an op (``jax.vjp`` of its body, cached for each call), and PyTorch's names of nodes."""
from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp

from jtorch._base import warned
from jtorch.engine import Call
from jtorch.engine.kernel import flatten
from jtorch.ops.facts import INPUTS
from jtorch.ops.registry import Op, T


class VjpOp(Op):
    """The backward of an op as an op. Its template also names the gradients that are needed and those that are given."""

    __slots__ = ()
    is_backward = True

    def function_of(self, template: tuple) -> Callable:
        forward, _, needs, given = template
        return _vjp_function(self.body.function_of(forward), needs, given)     # type: ignore[attr-defined]

    def read_from(self, template: tuple, count: int) -> int:
        return 0 if self.body.saves.anything else count - len(template[3])      # type: ignore[attr-defined]


def _vjp_function(forward: Callable, needs: tuple[int, ...], given: tuple[int, ...]) -> Callable:
    def vjp(*arrays):
        inputs, cts = list(arrays[:len(arrays) - len(given)]), arrays[len(arrays) - len(given):]

        def of_needed(*needed):
            for i, x in zip(needs, needed, strict=True):
                inputs[i] = x
            with warned.silenced():
                outs = flatten(forward(*inputs))
            return [outs[i] for i in given]

        _, pull = jax.vjp(of_needed, *[inputs[i] for i in needs])
        return tuple([_conj(g) for g in pull([_conj(ct) for ct in cts])])      # PyTorch's gradients are the conjugates of JAX's
    return vjp


def _as_arguments(template: tuple) -> tuple[int, ...]:
    """Return, for each gradient, the number of its argument. On a mesh the gradient has the argument's sharding."""
    return template[2]


def _conj(x):
    return jnp.conj(x) if jnp.iscomplexobj(x) else x


_vjp_ops: dict[Op, VjpOp] = {}


def vjp_call(call: Call, needs: tuple[int, ...], given: tuple[int, ...]) -> Call:
    """Return the call that computes the gradients of the inputs ``needs`` from the gradients of the outputs ``given``."""
    found = call.vjps.get((needs, given))
    if found is None:
        op = _vjp_ops.get(call.op)
        if op is None:
            op = _vjp_ops[call.op] = VjpOp(f"{call.op.name}.vjp", call.op, (), "",     # type: ignore[arg-type]
                                           backward_name=_second_name(call),
                                           saves=call.op.saves if call.op.saves.what == "all" else INPUTS, loops=call.op.loops,
                                           sharding_rule=_as_arguments)
        found = call.vjps[needs, given] = Call(op, (call.template, (T,) * len(given), needs, given))
    return found


def _second_name(call: Call) -> str:
    return f"{backward_name(call)[:-1]}Backward0"


def backward_name(call: Call) -> str:
    """Return PyTorch's name of a call's node."""
    if call.backward_name is None:
        name = call.op.backward_name
        if callable(name):
            name = name(call.template)
        call.backward_name = name or f"{camel_case(call.op.name)}Backward0"
    return call.backward_name


def camel_case(name: str) -> str:
    """Return an op's name as PyTorch spells it in nodes: ``nn.functional.log_softmax`` is ``LogSoftmax``."""
    return "".join(part[:1].upper() + part[1:] for part in name.replace("linalg.", "linalg_").split(".")[-1].split("_"))
