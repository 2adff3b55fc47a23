"""Hand residuals from one piece of a trace to a later piece, so that backward need not compute them again.

The backward of an op is the vjp of its body, which begins with the body itself. In one program XLA computes the body once. If
forward and backward are in two programs, each computes it. That is costly for attention, whose weights are a product and a
softmax. So attention's op says how to compute backward in two steps (``Op.in_parts``). The first step computes the weights in
forward's piece. The second step computes the gradients from the weights in backward's piece.
"""
from __future__ import annotations

from typing import NamedTuple

from jtorch.engine import stats
from jtorch.engine.kernel import call_of, kernel_of
from jtorch.engine.trie import State
from jtorch.engine.values import Aval
from jtorch.ops.registry import OPS


class Part(NamedTuple):
    """One of the two steps of an op: a call's op name and template, and the indices of the arguments that it takes."""

    name: str
    template: tuple
    takes: tuple[int, ...]

    def state(self, like: State, slots: list[int], avals: list[Aval], first: int) -> State:
        """Return a state for this step's call, with the parent of ``like``.

        ``slots`` and ``avals`` are those of the arguments. The results have slots from ``first`` on.
        """
        call = call_of(OPS[self.name], self.template)
        return State(like.parent, call, tuple([slots[k] for k in self.takes]),
                     kernel_of(call, tuple([avals[k] for k in self.takes])), first)


def pass_residuals(pieces: list[list[State]], free: int) -> tuple[list[list[State]], list[Aval]]:
    """Return the pieces with calls that hand residuals on, and the avals of the residuals.

    The residuals have slots from ``free`` on.
    """
    forwards: dict[tuple, tuple[int, State]] = {(s.call.op, s.call.template, s.args): (at, s) for at, piece in enumerate(pieces)
                                                for s in piece if s.call.op.in_parts is not None}
    if not forwards:
        return pieces, []
    made: dict[State, State] = {}       # Maps a call of forward to an additional call that computes its residual.
    instead: dict[State, State] = {}    # Maps a call of backward to the call that reads the residual.
    for at, piece in enumerate(pieces):
        for s in piece:
            first, forward = forwards.get(_forward_of(s), (at, s))
            if first == at:     # Forward is in the same piece, or this is no call of backward.
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
    """Return the op, template and arguments of the forward call of a backward call; an empty tuple for other calls."""
    op = s.call.op
    if not op.is_backward or op.body.in_parts is None:      # type: ignore[attr-defined]
        return ()
    forward, given, *_ = s.call.template
    return op.body, forward, s.args[:len(s.args) - len(given)]
