"""Decisions: what is compiled, when, and how it runs. They are pure functions of counts and of estimated work.

No decision asks a clock, an address, the disk or another thread. So a program decides alike in each run, and its numbers
have the same bits. docs/engine.md explains the decisions.
"""
from __future__ import annotations

from math import ceil, inf
from typing import Any

from jtorch.engine import cost
from jtorch.engine.cost import Work

# ---------------------------------------------------------------- how often something comes back

# How often something must come before it counts as repeated, and the number of calls, rows or open sizes that still counts as a
# few. A larger value compiles later, and cuts less.
FEW = 3
# Records of one kind that are kept to compare the next one with, and how often a piece must come to be compiled. A larger value
# compares more, and compiles later.
OFTEN = 8
# Different next calls of a state, or open traces of a family. A further one is not recorded before it comes again. A larger
# value records more.
MANY = 16
# Places of a storage, elements of a row or calls of a piece that are handled one by one. Beyond, they are handled together. A
# larger value handles more one by one.
DOZENS = 64

# ---------------------------------------------------------------- compiling, in seconds

# A program or a compiled kernel may take at most MARGIN times as long as its calls, and pieces MARGIN times as long as one
# program. A larger value compiles more, and cuts more.
MARGIN = 1.2
# A thread may compile for FIRST seconds and for SHARE (a fraction) of its estimated work. Larger values compile more.
FIRST, SHARE = 2.0, 0.3
# A trace waits for what compiles in less time; the background compiles the rest. A larger value waits longer.
FOREGROUND = 0.25
# Estimated seconds of work for each second of compile time before a result of the background is used. A larger value uses the
# result later, and waits less.
SLACK = 2.0
# Compile time that the cuts between equal pieces must save. Also the compile time of each of the two pieces beside another cut.
# A larger value cuts less.
SAVED = 0.5
# Compile time that each of several equal pieces must have. Also the compile time of each of the two pieces beside a cut if only
# one of them has convolutions. A larger value makes fewer and longer pieces.
PIECE = 0.15
# Work of a GPU's program, estimated for a CPU. With more work XLA tries out kernels (autotuning). A larger value tunes fewer
# programs.
MUCH_WORK = 1.0

# ---------------------------------------------------------------- running, in seconds of work

# A thread that waits sleeps after this time. A trace with less work starts no program early. The host runs calls ahead of a
# value check if they have less work. A larger value takes a core for longer.
QUICK = 2.5e-4
# A program with less work runs in the calling thread. A larger value runs more programs in the calling thread.
INLINE = 5e-4
# Programs and kernels with more work use XLA's thread pool. A larger value uses the pool less.
POOL = 3e-3
# After a longer program freed memory may go back to the system. The calling thread is expected to go on during a shorter one.
# XLA compiles a ``scan`` that would take the host longer. A larger value gives memory back less often.
LONG = 0.03
# Share of the time that giving memory back may take. A larger value gives it back more often.
TRIMMING = 0.001

# ---------------------------------------------------------------- bytes

# Bytes that may cross a cut from one program to the next. A larger value cuts in more places.
MAX_CROSSING = 1 << 16
# Further bytes for each second of a trace's work if its first part starts early. A larger value makes more early starts.
PER_SECOND = 1e8
# Intermediate results of a program. A program that has more of them runs in the calling thread. A larger value runs fewer
# programs in the calling thread.
MUCH_MEMORY = 64 << 20
# Temporary memory that malloc keeps for a program between its runs. A larger value keeps more memory.
MAX_KEPT = 1 << 30
# Address space that XLA may need to compile. With a larger value jtorch stops compiling earlier under a limit (RLIMIT_AS).
ROOM = 512 << 20

# ---------------------------------------------------------------- elements of arrays on the host

# For fewer elements or rows the call of a NumPy function costs more than its work. A larger value avoids fewer of NumPy's slow
# ways.
MEDIUM = 512
# A smaller array is simply copied, or kept as a constant of a host program. A larger value copies more.
LARGE = 1 << 12
# Elements that stay in a core's cache, so the size of a block. A larger value goes to memory more often.
CACHED = 1 << 14
# Elements or operations from which on threads share the work, and steps run in blocks. A larger value uses fewer threads.
SHARED = 1 << 18
# Elements or operations for which a NumPy step takes too much time or memory, so that XLA compiles it. Also the most bytes of
# parameters that one call of an optimizer updates on the CPU. A larger value compiles less.
MUCH = 1 << 24

# ---------------------------------------------------------------- limits

# Calls in one program on the CPU, and in a trace until the limit grows. A larger value makes fewer programs. XLA needs more
# memory for each.
MAX_CALLS = 512
# Calls in one program on an accelerator, where each start of a program costs more. A larger value makes fewer programs.
MAX_CALLS_ACCELERATOR = 2048
# Calls. A trace's length limit starts at MAX_CALLS and doubles until steps are not cut, up to this value. A larger value
# records longer steps as one trace.
MAX_LENGTH = 4096
# Kernels of all calls, and families of calls. If there are more, all are dropped. A larger value takes more memory.
MAX_KERNELS = 60_000
# States in a thread's trie; a full trie is emptied. A larger value takes more memory.
MAX_STATES = 200_000
# Programs that a thread keeps; the least recently used one is dropped. A larger value takes more memory.
MAX_PROGRAMS = 512


def compile_seconds(calls: int) -> float:
    """Return the estimated seconds to compile a trace of so many calls, whatever the calls do."""
    return cost.COMPILING_PROGRAM + cost.COMPILING_CALL * calls


def compile_seconds_of(compiled: int, calls: int, work: Work) -> float:
    """Return the estimated seconds to compile ``compiled`` of the calls of a trace with this work. Equal pieces compile once."""
    return compile_seconds(compiled) + work.compiling * compiled / max(calls, 1)


def call_compile_seconds(work: Work) -> float:
    """Return the estimated seconds that a call with this work adds to the compile time of its program."""
    return cost.COMPILING_CALL + work.compiling


def running_seconds(work: Work) -> float:
    """Return the estimated seconds of a call in a program, with the recording of the call."""
    return cost.HELD + work.compiled


def shortest_piece() -> float:
    """Return the seconds that a piece of a trace must run for, so that its start costs no more than ``MARGIN`` allows."""
    return cost.START / (MARGIN - 1)


def is_worth_trying(seconds: float) -> bool:
    """Return whether XLA should try out GPU kernels for a program that would take a CPU so many ``seconds``."""
    return seconds >= MUCH_WORK


def pays(times: int, saved: float, compiling: float) -> bool:
    """Return whether a trace is expected to save more time than compiling it takes.

    The trace has ended ``times`` times. A program would save ``saved`` seconds in each run, and takes ``compiling`` seconds to
    compile. After n = FEW ends the trace is expected to end n times more, as in ski rental. A loop that has run longer is more
    likely to be one of a thousand turns. So the expectation after n ends is n (n / FEW)².
    """
    return times >= FEW and times * (times / FEW) ** 2 * saved > compiling


def is_compiled_now(seconds: float) -> bool:
    """Return whether a trace waits for a compilation that takes so many seconds."""
    return seconds <= FOREGROUND


def saving(work: Work, calls: int, walked: int, *, on_host: bool = True) -> float:
    """Return the estimated seconds that a program saves in each run; ``walked`` of its calls belong to backward.

    A negative result means that the program takes longer than its calls: BLAS is faster than XLA at a plain product, and a few
    small calls end before a program has started. If ``on_host`` is false, each call would be a compiled kernel of its own. Then
    a program saves the starts of these kernels, and the estimates of work for the CPU do not hold.
    """
    if not on_host:
        return calls * cost.START + walked * cost.SAVED_WALKED
    return MARGIN * (work.host + calls * cost.SAVED_CALL + walked * cost.SAVED_WALKED) - work.compiled - cost.START


def runs_on_host(work: Work, steps: int, taken: int = 0) -> int | None:
    """Return how often a kernel runs on the host before it is compiled; None if it is never compiled.

    ``steps`` is the length of its host program, ``taken`` the bytes of its arguments.
    """
    if work.host <= cost.START or work.compiled + cost.COPYING * taken + cost.START > MARGIN * work.host:
        return None
    turns = (cost.COMPILING_PROGRAM + cost.COMPILING_STEP * steps) / work.host
    return ceil(turns) if turns < inf else None         # cost.COMPILING_PROGRAM is infinite without a compiler, see ``forked``.


class Budget:
    """The compile time that a thread may still spend.

    A program whose shapes vary would otherwise compile without end. The estimated compile time of a trace counts as spent from
    the moment at which the trace is marked. Otherwise many traces could be marked before the first one is compiled.
    """

    __slots__ = ("_busy_until", "earned", "runs", "spent")

    def __init__(self):
        self.spent, self.earned = 0.0, 0.0      # Estimated seconds: compile time, and work that has run.
        self.runs: dict[Any, int] = {}      # Runs on the host of each kernel that will be compiled.
        self._busy_until = 0.0      # The value of ``earned`` at which the background thread will have finished its jobs.

    def forget(self) -> None:
        """Forget the counts of kernels and the jobs of the background thread, but not the time spent."""
        self.runs.clear()
        self._busy_until = 0.0

    @property
    def is_busy(self) -> bool:
        """Whether the background thread is expected to be compiling. A compilation in the foreground would wait for it."""
        return self.earned < self._busy_until

    def reserve(self, seconds: float) -> tuple[float, float]:
        """Return the values of ``earned`` at which the background thread begins and ends a job of so many seconds."""
        start = max(self._busy_until, self.earned)
        self._busy_until = start + SLACK * seconds
        return start, self._busy_until

    def allows(self, calls: int) -> bool:
        """Return whether the budget has room to compile a trace of so many calls."""
        return self.spent + compile_seconds(calls) <= FIRST + SHARE * self.earned

    def ran(self, calls: int, seconds: float) -> None:
        """Count calls that have run one by one. Their work is estimated at so many seconds."""
        self.earned += calls * cost.CALL + seconds

    def ran_held(self, calls: int, seconds: float) -> None:
        """Count a program that has run so many calls. Its work is estimated at so many seconds."""
        self.earned += calls * cost.HELD + seconds
