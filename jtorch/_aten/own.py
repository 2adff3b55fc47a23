"""Operators of the namespace ``jtorch`` for calls that PyTorch has no operator for, named after the op or its backward."""
from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from jtorch import engine
from jtorch._aten.fitting import Named
from jtorch._library.namespaces import OpOverload, overload_of
from jtorch._library.operators import OPERATORS, PACKETS, Operator
from jtorch._library.schema import parse_schema
from jtorch.dispatch import call, call_view
from jtorch.dispatch.calls import value_aval
from jtorch.engine import Call
from jtorch.tensor import Tensor

_made: dict[Call, OpOverload] = {}


def named_after_op(c: Call, flat: Sequence[Any]) -> Named:
    """Return a call as an operator of its own. The operator's arguments are the call's tensors and numbers."""
    func = _made.get(c)
    if func is None:
        func = _made[c] = _overload(c, flat)
    return Named(func, tuple(flat), {})


def _overload(c: Call, flat: Sequence[Any]) -> OpOverload:
    """Make the overload of a call. Each combination of static arguments gets its own overload."""
    name = c.op.name.removesuffix(".vjp").removeprefix("nn.functional.") + ("_backward" if c.op.is_backward else "")
    packet = f"jtorch::{re.sub(r'[^0-9A-Za-z_]', '_', name)}"
    earlier = PACKETS.setdefault(packet, [])
    full = packet if not earlier else f"{packet}.v{len(earlier)}"
    record = Operator(full)
    record.define(parse_schema(f"{full}({_parameters(flat)}) -> {_results(c, flat)}"), [], "")
    compute = call if c.op.view is None else call_view

    def kernel(*args: Any) -> Any:
        made = compute(c, list(args))
        return tuple(made) if made.__class__ is list else made

    record.kernels["CompositeExplicitAutograd"] = kernel
    OPERATORS[full] = record
    earlier.append(record)
    return overload_of(full)


def _parameters(flat: Sequence[Any]) -> str:
    return ", ".join([f"{'Tensor' if isinstance(x, Tensor) else 'Scalar'} a{i}" for i, x in enumerate(flat)])


def _results(c: Call, flat: Sequence[Any]) -> str:
    if c.op.is_backward:
        return f"({', '.join(['Tensor'] * len(c.template[2]))})"
    outs = engine.kernel_of(c, tuple(map(value_aval, flat))).outs
    return "Tensor" if len(outs) == 1 else f"({', '.join(['Tensor'] * len(outs))})"
