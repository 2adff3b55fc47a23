"""Decisions: what is compiled, when, and how it runs. They are pure functions of counts and of estimated work.

No decision asks a clock, an address, the disk or another thread. So a program decides alike in each run, and its numbers
have the same bits. docs/engine.md explains the decisions.
"""
from __future__ import annotations

from math import ceil, inf
from typing import Any

from jtorch.engine.cost import COPYING, Work

# ---------------------------------------------------------------- compiling a trace

# How often a trace must end before it may be compiled, unless it is costly. A larger value compiles later.
MIN_REPEATS = 8
# How often a costly trace must end before it may be compiled. A trace is costly once its calls have cost more than its
# expected compile time. A larger value compiles later.
EARLY_REPEATS = 3
# A trace is compiled once it has cost 1/EAGERNESS of its expected compile time. A larger value compiles earlier.
EAGERNESS = 20
# Seconds of compile time. Above it the time that a program would save counts, not what the calls cost. A larger value
# compiles more.
MUCH_COMPILING = 1.0
# How often a trace must end on the path to a longer program before the shorter trace gets a program too. A larger value
# compiles later.
PASSED = 16
# How often a trace must end with another pattern of held values before that pattern gets a program too. A larger value
# compiles later.
VARIANTS = 4
# Seconds that one call costs besides its kernel if it runs at once. A larger value compiles earlier.
CALL_SECONDS = 15e-6
# Seconds that one call costs if it is held back. A larger value lets a thread compile more.
HELD_SECONDS = 2e-6
# Seconds to start a program and to read its results. A larger value refuses more small traces.
START_SECONDS = 50e-6
# Seconds that a program saves for each call, besides the call's work. A larger value refuses fewer traces.
SAVED_PER_CALL = 0.5e-6
# Seconds that a program saves for each call of backward, since the walk over the graph is known. A larger value
# refuses fewer traces.
SAVED_PER_WALKED = 10e-6
# Seconds that a held-back call costs in addition if no program runs it. A larger value refuses fewer traces.
CAUGHT_UP_SECONDS = 10e-6
# A program may take at most MARGIN times as long as its calls. A larger value refuses fewer traces.
MARGIN = 1.2

# Bytes. A smaller array is copied rather than written in place, because the check would take as long. A larger value
# copies more.
LEAST_OVERWRITTEN = 1 << 14

# ---------------------------------------------------------------- moving a kernel from the host to XLA

# Seconds that XLA takes to compile one small op on the CPU. A larger value keeps kernels on the host for longer.
KERNEL_SECONDS = 0.03
# Seconds of compile time for each step of a kernel's host program. A larger value keeps kernels on the host for longer.
STEP_SECONDS = 0.002
# Seconds to call a compiled kernel and to wait for it. A kernel with less work stays on the host. A larger value
# keeps more kernels on the host.
COMPILED_CALL = 50e-6
# A compiled kernel may take at most KERNEL_MARGIN times as long as the host. A larger value compiles more kernels.
KERNEL_MARGIN = 1.25

# A thread may compile for FIRST seconds, and then for SHARE (a fraction) of its estimated work. Larger values compile
# more.
FIRST, SHARE = 5.0, 0.3

# ---------------------------------------------------------------- how a program runs

# Seconds of a program's work. The first part of a shorter one does not start early. A larger value makes fewer early
# starts.
OVERLAPPED = 2.5e-4
# Seconds of work on the host. Programs and kernels with more use XLA's thread pool. A larger value uses the pool less.
POOL = 3e-3
# Seconds of work on the host. A program with less runs in the calling thread. A larger value runs more programs there.
INLINE = 5e-4

# Lower limit for the calls after an early start that need no new input. A trace with fewer does not start early. A larger
# value makes fewer early starts.
MIN_AHEAD = 3
# Bytes that may cross a cut from one program to the next. A larger value cuts in more places.
MAX_CROSSING = 1 << 16
# Further bytes that may cross for each second of a trace's work if its first part starts early. A larger value makes
# more early starts.
PER_SECOND = 1e8
# Upper limit for the trust of an early start. A larger value keeps trying for longer after wrong guesses.
MAX_TRUST = 4
# Bytes of a trace's intermediate results. A program with more runs in the calling thread. A larger value runs fewer
# programs there.
MUCH_MEMORY = 64 << 20
# Seconds of a program's work. After a longer program freed memory may go back to the system. A larger value gives
# memory back less often.
LONG = 0.03
# Calls in one program on the CPU. Larger values make fewer programs, and XLA needs more memory for each.
MAX_CALLS = 500
# Calls in one program on an accelerator, where each start of a program costs more. A larger value makes fewer and
# longer programs.
MAX_CALLS_THERE = 2000
# Float results that an accelerator's program copies to the host before they are read. A program with more copies none. A
# larger value copies more.
FEW_NUMBERS = 4
# Estimated seconds that a program would take on a CPU. If it takes longer, XLA tries out GPU kernels (autotuning). A larger
# value tunes fewer programs.
MUCH_WORK = 1.0

# ---------------------------------------------------------------- cutting a trace, and compiling in the background

# Seconds that one call adds to its program's compile time on the CPU, besides its work. A larger value
# compiles later and cuts more.
CALL_COMPILES = 0.004
# Seconds that one call adds to its program's compile time on an accelerator. A larger value cuts more between
# repeated parts.
CALL_COMPILES_THERE = 0.1
# Upper limit for the calls in one period of an accelerator's repeated trace. A larger value finds longer periods.
LONGEST_ALIKE = 200
# Known calls in a row that become a piece apart from new calls. A larger value makes fewer and longer pieces.
FEW_MET = 3
# Traces that use a kernel before the kernel is compiled alone rather than inside a piece. A larger value reuses
# kernels later.
OFTEN_MET = 3
# How often a piece of known kernels must occur before it becomes a program. A larger value compiles later.
OFTEN = 8
# Upper limit for the calls in a piece that occurs only once in a trace but becomes a program. A larger value makes longer
# programs and fewer kernels.
SHORT = 40
# Seconds of compile time. A trace waits for what takes less; the background compiles the rest. A larger value waits
# longer.
FOREGROUND = 0.25
# Estimated seconds of work for each second of compile time before a background result is used. A larger value uses
# the result later, and waits less.
SLACK = 2.0
# Seconds of compile time that both sides of a cut must have if little crosses it. A larger value cuts less.
WORTH_A_PIECE = 0.5
# The same if only one side has convolutions, because XLA compiles loops without convolutions faster. A larger value
# cuts less.
OTHER_LOOPS = 0.1
# Seconds of compile time that each of the equal pieces must have. A larger value makes fewer and longer pieces.
PIECE = 0.15
# Seconds of compile time that must be saved for one more piece. A larger value makes fewer pieces.
PIECE_COSTS = 0.02
# Average seconds of work that the pieces must have, so that their starts cost little. A larger value cuts less.
PIECE_SECONDS = 1e-3
# Seconds of saved compile time for which pieces may have less work. A larger value cuts less.
MUCH_SAVED = 3.0
# Seconds of repeated compile time from which on a stretch is cut into equal pieces. A larger value cuts less.
SAVED = 0.5

# ---------------------------------------------------------------- limits

# Calls in a trace at first; a longer trace is cut off and is not compiled. A larger value holds back more calls.
FIRST_LENGTH = 512
# Lower limit for a trace's length on an accelerator after its first cut. A larger value cuts off fewer traces.
LENGTH_THERE = 2048
# Upper limit for a trace's length, which grows while natural ends are a few cuts apart. A larger value records longer
# steps as one trace.
MAX_LENGTH = 4096
# Calls in a cut-off trace that the mode ``hot`` still compiles. A larger value lets XLA take longer.
MAX_CUT = 1000
# Programs of the same ops for other shapes. From there on each further one must pay for all. A larger value compiles
# more shapes.
FEW_ALIKE = 4
# Different next calls of a state. After these a new call gets states only when it comes again. A larger value makes
# more states.
MANY_WAYS = 16
# Upper limit for the states in a thread's trie; a full trie is emptied. A larger value takes more memory.
MAX_STATES = 200_000
# Programs that a thread keeps; the least recently used one is dropped. A larger value takes more memory.
MAX_PROGRAMS = 512


def compile_seconds(calls: int) -> float:
    """Return the estimated seconds to compile a trace of so many calls, whatever the calls do."""
    return KERNEL_SECONDS + CALL_COMPILES * calls


def full_compile_seconds(compiled: int, work: Work) -> float:
    """Return the estimated seconds to compile so many calls that do this work."""
    return compile_seconds(compiled) + work.compiling


def call_compile_seconds(work: Work) -> float:
    """Return the estimated seconds that a call with this work adds to the compile time of its program."""
    return CALL_COMPILES + work.compiling


def are_worth_starting(pieces: int, work: Work, saved: float) -> bool:
    """Return whether a trace may be cut into pieces: they do enough work, or save enough compile time (``saved`` seconds)."""
    return work.compiled >= PIECE_SECONDS * pieces or saved >= MUCH_SAVED


def is_worth_trying(seconds: float) -> bool:
    """Return whether XLA should try out GPU kernels for a program that would take a CPU so many ``seconds``."""
    return seconds >= MUCH_WORK


def has_paid(count: int, calls: int, work: Work, compiled: int, others: int = 0) -> bool:
    """Return whether a trace has cost enough to be compiled.

    The trace has ended ``count`` times and has ``calls`` calls. ``compiled`` of the calls are compiled, since equal pieces are
    compiled once. If compiling takes long, the time that a program would save counts instead of the cost. ``others`` is the
    number of programs of the same ops for other shapes. From a few on, the compile time of all of them counts, because a program
    for one more shape serves less of the whole.
    """
    seconds, compiling = work.host + calls * CALL_SECONDS, compile_seconds(compiled)
    if count < MIN_REPEATS:
        return count >= EARLY_REPEATS and count * seconds > compiling
    if compiling > MUCH_COMPILING:
        seconds = min(seconds, work.host - work.compiled + saved_seconds(calls, 0))
    if others >= FEW_ALIKE:
        compiling = (others + 1) * full_compile_seconds(compiled, work)
    return count * seconds * EAGERNESS > compiling


def is_compiled_now(seconds: float) -> bool:
    """Return whether a trace waits for a compilation that takes so many seconds."""
    return seconds <= FOREGROUND


def saved_seconds(calls: int, walked: int) -> float:
    """Return the estimated seconds that a program saves besides its work; ``walked`` of its calls belong to backward."""
    return calls * SAVED_PER_CALL + walked * SAVED_PER_WALKED


def is_slower_compiled(work: Work, saved: float) -> bool:
    """Return whether a program on the CPU takes longer than its calls. It saves ``saved`` seconds besides the work.

    BLAS is faster than XLA at a plain product, and a few small calls end before a program has started.
    """
    return work.compiled + START_SECONDS > MARGIN * (work.host + saved)


def runs_on_host(work: Work, steps: int, taken: int = 0) -> int | None:
    """Return how often a kernel runs on the host before it is compiled; None if it is never compiled.

    ``steps`` is the length of its host program, ``taken`` the bytes of its arguments.
    """
    if work.host <= COMPILED_CALL or work.compiled + COPYING * taken + COMPILED_CALL > KERNEL_MARGIN * work.host:
        return None
    turns = (KERNEL_SECONDS + STEP_SECONDS * steps) / work.host
    return ceil(turns) if turns < inf else None         # KERNEL_SECONDS is infinite without a compiler, see ``forked``.


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
        self.earned += calls * CALL_SECONDS + seconds

    def ran_held(self, calls: int, seconds: float) -> None:
        """Count a program that has run so many calls. Its work is estimated at so many seconds."""
        self.earned += calls * HELD_SECONDS + seconds
