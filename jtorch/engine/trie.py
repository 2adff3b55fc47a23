"""The trie of a thread's traces: a state stands for all calls since a trace began, and its children for one call more."""
from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import jtorch.device as devices
from jtorch._base import caller
from jtorch._base.config import ENGINE_MODE
from jtorch.engine import pieces
from jtorch.engine.cost import NOTHING, Work
from jtorch.engine.policy import Budget

if TYPE_CHECKING:
    from jtorch.engine.alike import Alike
    from jtorch.engine.early_start import Early
    from jtorch.engine.plan import Plan


def starts_held(device: Any) -> bool:
    """Whether calls on a device are held back before there is a program for them.

    On an accelerator each kernel has to be compiled before its first call; those of a whole trace are compiled side by side.
    """
    return ENGINE_MODE == "hot" or (ENGINE_MODE == "auto" and devices.is_accelerator(device))


class State:
    """A trace so far: its last call, and the states that one more call has led to."""

    __slots__ = ("args", "call", "depth", "device", "early", "first", "hot", "kernel", "leading", "line", "next", "nnumbers",
                 "outs", "parent", "profile", "single", "walks")

    def __init__(self, parent: State | None, call: Any, args: tuple[int, ...], kernel: Any, first: int):
        self.parent, self.call, self.args, self.kernel, self.first = parent, call, args, kernel, first
        self.next: dict[tuple, State | None] = {}       # None: a trace has strayed there
        self.early: Early | None = None     # what may start here, before the trace has ended
        self.leading: Any = None            # see ``value_checks``
        self.walks: dict[Any, Any] = {}     # for the tape: what backward from here has recorded before
        self.profile: Profile | None = None     # once a trace has ended here
        self.outs: tuple[Any, ...] = kernel.outs if kernel is not None else ()
        self.single = kernel.outs[0] if kernel is not None and not kernel.is_tuple else None
        self.device: Any = self.outs[0].device if self.outs else parent.device if parent is not None else None
        self.hot = starts_held(self.device)     # whether calls are held back; later, because a program lies ahead
        self.depth: int = parent.depth + 1 if parent is not None else 0
        self.nnumbers: int = parent.nnumbers + sum([a < 0 for a in args]) if parent is not None else 0
        self.line: str = caller.line() if call is not None else ""

    @property
    def read(self) -> list[int]:
        """The slots of the arguments whose values the call uses; of others it uses the shapes."""
        start = self.call.op.read_from(self.call.template, len(self.args))
        return [i for i in self.args[start:] if i >= 0]

    def path(self) -> list[State]:
        """The states from the first call to this one."""
        out, state = [], self
        while state.parent is not None:
            out.append(state)
            state = state.parent
        out.reverse()
        return out

    def walked_calls(self) -> int:
        """How many of the calls on the way are of backward."""
        return sum([s.call.op.is_backward for s in self.path()])

    def ends_here(self) -> Profile:
        """What is known of traces that end here."""
        if self.profile is None:
            self.profile = Profile()
        return self.profile


class Profile:
    """How often traces have ended at a state, and what has been compiled for them."""

    __slots__ = ("_compiled_calls", "_ops", "_work", "chains", "count", "programs", "refused", "reserved", "seen", "why")

    def __init__(self):
        self.count = 0                      # ends of traces that ran call by call
        self.programs: dict[bytes, Plan] = {}   # by which values were still held
        self.chains: dict[bytes, Alike | None] = {}     # what serves before there is a program, see ``alike``; None: nothing does
        self.seen: dict[bytes, int] = {}    # ends of traces that were held back, by the same
        self.why: str | None = None         # why there is to be a program, once that is settled
        self.reserved = 0.0                # of the budget, while the first program is still to come
        self.refused = False                # whether XLA is expected to be slower than the calls one by one
        self._work: Work | None = None
        self._compiled_calls: int | None = None
        self._ops: tuple[str, ...] | None = None

    def work(self, state: State) -> Work:
        """What the calls on the way to ``state`` take."""
        if self._work is None:
            self._work = sum([s.kernel.work for s in state.path()], NOTHING)
        return self._work

    def compiled_calls(self, state: State) -> int:
        """How many of the calls on the way to ``state`` are compiled, see ``pieces``."""
        if self._compiled_calls is None:
            self._compiled_calls = state.depth if devices.is_accelerator(state.device) else \
                pieces.compiled_calls(state.path(), self.work(state))
        return self._compiled_calls

    def ops(self, state: State) -> tuple[str, ...]:
        """What is called on the way to ``state``, whatever the shapes."""
        if self._ops is None:
            self._ops = tuple([s.call.op.name for s in state.path()])
        return self._ops

    @property
    def known_work(self) -> Work:
        """The same where it has been asked for before."""
        return self._work or NOTHING


def _take_apart(root: State) -> None:
    """Cuts what leads from states to those behind them, by which they would hold each other for good.

    Those that C makes are not looked at when garbage is collected (see ``states.c``). Who still holds a state finds the calls
    on the way to it.
    """
    left = [root]
    while left:
        state = left.pop()
        left += [s for s in state.next.values() if s is not None]
        state.next, state.walks, state.profile, state.early = {}, {}, None, None


class Trie:
    """All traces of a thread, and what it may still spend on compiling them.

    A thread has its own, so that what it decides does not depend on what others do.
    """

    __slots__ = ("alike", "budget", "pieces", "programs", "root", "states", "turn")

    def __init__(self):
        self.budget, self.turn = Budget(), 0        # how many programs it has run
        self._begin()

    def clear(self) -> None:
        """Forgets all traces."""
        old = self.root
        self._begin()
        _take_apart(old)

    def _begin(self) -> None:
        self.root, self.states = State(None, None, (), None, 0), 0
        self.budget.forget()
        self.programs: dict[Plan, tuple[State, bytes]] = {}     # with where they hang
        self.alike: Counter[tuple] = Counter()      # programs by the ops that they are of
        self.pieces: Counter[tuple] = Counter()     # of an accelerator's traces, see ``alike``

    def __del__(self, take_apart: Any = _take_apart):
        take_apart(self.root)
