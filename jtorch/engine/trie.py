"""The trie of a thread's traces. A state represents all calls since a trace began; each child adds one call."""
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
    from jtorch.engine.early_start import Early
    from jtorch.engine.plan import Plan
    from jtorch.engine.region_programs import RegionPrograms


def starts_held(device: Any) -> bool:
    """Return whether calls on a device are held back before they have a program.

    An accelerator must compile each kernel before its first call. The kernels of a whole trace are compiled in parallel. On a
    mesh of several processes the ranks agree on a trace before it runs, see ``job``.
    """
    return ENGINE_MODE == "hot" or (ENGINE_MODE == "auto" and devices.is_accelerator(device)) \
        or (device is not None and devices.spans_processes(device))


class State:
    """A trace so far: its last call, its parent state, and the states after one more call."""

    __slots__ = ("args", "call", "depth", "device", "early", "first", "hot", "kernel", "leading", "line", "next", "nnumbers",
                 "outs", "parent", "profile", "single", "walks")

    def __init__(self, parent: State | None, call: Any, args: tuple[int, ...], kernel: Any, first: int):
        self.parent, self.call, self.args, self.kernel, self.first = parent, call, args, kernel, first
        self.next: dict[tuple, State | None] = {}       # Children by key. None marks a call at which a trace has strayed.
        self.early: Early | None = None     # The program that may start at this state, before the trace has ended.
        self.leading: Any = None            # The calls before a value check, see ``value_checks``.
        self.walks: dict[Any, Any] = {}     # The known walks of backward that begin at this state.
        self.profile: Profile | None = None     # Set once a trace has ended at this state.
        self.outs: tuple[Any, ...] = kernel.outs if kernel is not None else ()
        self.single = kernel.outs[0] if kernel is not None and not kernel.is_tuple else None
        self.device: Any = self.outs[0].device if self.outs else parent.device if parent is not None else None
        self.hot = starts_held(self.device)     # True if this call is held back. ``mark_hot`` sets it on paths to programs.
        self.depth: int = parent.depth + 1 if parent is not None else 0
        self.nnumbers: int = parent.nnumbers + sum([a < 0 for a in args]) if parent is not None else 0
        self.line: str = caller.line() if call is not None else ""

    @property
    def read(self) -> list[int]:
        """The slots of the arguments whose values the call reads. It reads only the shapes of the others."""
        start = self.call.op.read_from(self.call.template, len(self.args))
        return [i for i in self.args[start:] if i >= 0]

    def path(self) -> list[State]:
        """Return the states from the first call to this one."""
        out, state = [], self
        while state.parent is not None:
            out.append(state)
            state = state.parent
        out.reverse()
        return out

    def ends_here(self) -> Profile:
        """Return the profile of traces that end here."""
        if self.profile is None:
            self.profile = Profile()
        return self.profile


class Profile:
    """Counts of the ends at a state, and the programs of these ends."""

    __slots__ = ("_compiled_calls", "_ops", "_walked", "_work", "chains", "count", "programs", "refused", "reserved", "seen",
                 "why")

    def __init__(self):
        self.count = 0                      # How often a trace that ran call by call ended at this state.
        self.programs: dict[bytes, Plan] = {}   # Plans by the pattern of held values.
        # Programs for the repeated pieces of an accelerator's trace without a plan in ``programs``, by pattern of held values.
        self.chains: dict[bytes, RegionPrograms | None] = {}
        self.seen: dict[bytes, int] = {}    # How often a trace of held-back calls ended at this state, by pattern.
        self.why: str | None = None         # The reason to compile, once that is decided.
        self.reserved = 0.0                 # Seconds of the budget that are reserved for the first program.
        self.refused = False                # True if the trace is never compiled.
        self._work: Work | None = None
        self._compiled_calls: int | None = None
        self._walked: int | None = None
        self._ops: tuple[str, ...] | None = None

    def work(self, state: State) -> Work:
        """Return the estimated work of the calls on the path to ``state``."""
        if self._work is None:
            self._work = sum([s.kernel.work for s in state.path()], NOTHING)
        return self._work

    def compiled_calls(self, state: State) -> int:
        """Return how many calls on the path to ``state`` XLA would compile; equal pieces count once, see ``pieces``."""
        if self._compiled_calls is None:
            self._compiled_calls = state.depth if devices.is_accelerator(state.device) else \
                pieces.compiled_calls(state.path())
        return self._compiled_calls

    def walked(self, state: State) -> int:
        """Return how many calls on the path to ``state`` belong to backward."""
        if self._walked is None:
            self._walked = sum([s.call.op.is_backward for s in state.path()])
        return self._walked

    def ops(self, state: State) -> tuple[str, ...]:
        """Return the names of the ops on the path to ``state``."""
        if self._ops is None:
            self._ops = tuple([s.call.op.name for s in state.path()])
        return self._ops

    @property
    def known_work(self) -> Work:
        """The work if it has been computed before, else nothing."""
        return self._work or NOTHING


def _take_apart(root: State) -> None:
    """Drop all references from states to their children, since parents and children refer to each other.

    The garbage collector does not track states that C makes (see ``states.c``). The references to parents stay, so whoever
    holds a state can still read its path.
    """
    left = [root]
    while left:
        state = left.pop()
        left += [s for s in state.next.values() if s is not None]
        state.next, state.walks, state.profile, state.early = {}, {}, None, None


class Trie:
    """All traces of a thread, and its budget for compiling.

    Each thread has a trie of its own, so that its decisions do not depend on other threads.
    """

    __slots__ = ("budget", "marked", "pieces", "programs", "root", "states", "turn")

    def __init__(self):
        self.budget, self.turn = Budget(), 0        # ``turn`` counts the runs of plans.
        self._begin()

    def clear(self) -> None:
        """Forget all traces."""
        old = self.root
        self._begin()
        self.root.device = old.device
        _take_apart(old)

    def mark(self, device: Any) -> None:
        """Set the device of the root to a mark that no call has, or to None.

        With a mark, C leaves each new first call of a trace to Python, which decides which trace the call belongs to.
        """
        self.root.device = device

    def _begin(self) -> None:
        self.root, self.states = State(None, None, (), None, 0), 0
        self.budget.forget()
        self.programs: dict[Plan, tuple[State, bytes]] = {}     # Each plan with its state and its pattern of held values.
        self.marked: Counter[tuple] = Counter()      # Number of traces that ``mark_hot`` marked, by the names of their ops.
        # Maps the kernels of a piece to the number of such pieces in an accelerator's traces, see region_programs.py.
        self.pieces: Counter[tuple] = Counter()

    def __del__(self, take_apart: Any = _take_apart):
        take_apart(self.root)
