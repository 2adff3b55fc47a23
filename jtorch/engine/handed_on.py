"""What backward would compute again, handed on from the piece of a trace that has computed it.

The backward of an op is the vjp of its body, which begins with the body itself. In one program XLA computes that once; where
forward and backward are two, each computes it. That matters for attention, whose weights are a product and a softmax. So its op
says how it is done in two steps (``Op.in_parts``): forward gives the weights too, and backward begins with them.
"""
from __future__ import annotations

from typing import NamedTuple

from jtorch.engine import stats
from jtorch.engine.kernel import call_of, kernel_of
from jtorch.engine.trie import State
from jtorch.engine.values import Aval
from jtorch.ops.registry import OPS


class Part(NamedTuple):
    """A call that an op is done in: its op's name and template, and which of the arguments it takes, by number."""

    name: str
    template: tuple
    takes: tuple[int, ...]

    def state(self, like: State, slots: list[int], avals: list[Aval], first: int) -> State:
        """The call in the place of ``like``, of arguments that lie in these slots; its results are from ``first`` on."""
        call = call_of(OPS[self.name], self.template)
        return State(like.parent, call, tuple([slots[k] for k in self.takes]),
                     kernel_of(call, tuple([avals[k] for k in self.takes])), first)


def handed_on(pieces: list[list[State]], free: int) -> tuple[list[list[State]], list[Aval]]:
    """The pieces with what they hand on in addition, in slots from ``free`` on, and the avals of these."""
    forwards: dict[tuple, tuple[int, State]] = {(s.call.op, s.call.template, s.args): (at, s) for at, piece in enumerate(pieces)
                                                for s in piece if s.call.op.in_parts is not None}
    if not forwards:
        return pieces, []
    made: dict[State, State] = {}       # what is computed in addition behind a call of forward
    instead: dict[State, State] = {}
    for at, piece in enumerate(pieces):
        for s in piece:
            first, forward = forwards.get(_forward_of(s), (at, s))
            if first == at:     # or it has none
                continue
            parts = forward.call.op.in_parts(forward.call.template, s.call.template[2:], s.kernel.avals)
            if parts is None:
                continue
            more, rest = Part(*parts[0]), Part(*parts[1])
            if forward not in made:
                made[forward] = more.state(forward, [*forward.args], [*forward.kernel.avals], free + len(made))
            slot, aval = made[forward].first, made[forward].outs[0]
            instead[s] = rest.state(s, [*s.args, slot], [*s.kernel.avals, aval], s.first)
    stats.counters.handed_on += len(instead)
    out = [[t for s in piece for t in (instead.get(s, s), *([made[s]] if s in made else []))] for piece in pieces]
    return out, [s.outs[0] for s in made.values()]


def _forward_of(s: State) -> tuple:
    """What the call of forward is known by that a call of backward belongs to; nothing for others."""
    op = s.call.op
    if not op.is_backward or op.body.in_parts is None:      # type: ignore[attr-defined]
        return ()
    forward, given, *_ = s.call.template
    return op.body, forward, s.args[:len(s.args) - len(given)]
