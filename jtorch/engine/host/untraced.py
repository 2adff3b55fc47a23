"""Make host programs without a JAX trace, for ops whose calls have new arguments or shapes again and again."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jtorch.engine import stats
from jtorch.engine.host.attention import attended
from jtorch.engine.host.indexed import MAKERS, checked, indexed
from jtorch.engine.host.lists import joined, padded
from jtorch.engine.host.parts import cut
from jtorch.engine.host.places import read, written
from jtorch.engine.host.program import HostProgram
from jtorch.ops.registry import Op

_MAKERS = {
    "stack": joined, "cat": joined, "_pad_sequence": padded,
    "_read_view": read, "_read_through": read, "_write_view": written, "_write_through": written,
    "nn.functional.scaled_dot_product_attention": attended,
    **dict.fromkeys(["select", "slice", "narrow", "unbind", "split", "split_with_sizes", "chunk", "tensor_split"], cut),
}


def host_program(op: Op, template: tuple, avals: Sequence[Any]) -> HostProgram | None:
    """Return the host program of a call; None if ``MAKERS`` and ``_MAKERS`` lack the op, or for unusual arguments."""
    make = indexed if op.name in MAKERS else _MAKERS.get(op.name.removesuffix(".vjp"))
    made = make(op, template, avals) if make is not None and avals else None
    stats.counters.untraced += made is not None
    return made


def check_program(op: Op, template: tuple, avals: Sequence[Any]) -> HostProgram | None:
    """Return the host program that tells whether values of a call's arguments are wrong; None if it needs a JAX trace."""
    made = checked(op, template, avals)
    stats.counters.untraced += made is not None
    return made
