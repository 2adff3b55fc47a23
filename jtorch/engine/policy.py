"""Decisions: what is compiled, when, and how it runs. Pure functions of counts and of estimated work.

Nothing here asks a clock, an address, the disk or another thread, so a program decides alike in each of its runs, and its
numbers have the same bits. The constants stand here side by side; docs/engine.md says what they were measured by.
"""
from __future__ import annotations

from math import ceil, inf
from typing import Any

from jtorch.engine.cost import COPYING, Work

MIN_REPEATS = 8             # a trace comes back so often before it is compiled; a user who runs ten turns runs thousands
EARLY_REPEATS = 3           # and if it has cost as much as compiling it is expected to take: the kernels of a large step would be
                            # compiled one by one meanwhile, for nothing
EAGERNESS = 20              # and has cost 1/20 of what compiling it is expected to take (ski rental would say 1)
MUCH_COMPILING = 1.0        # seconds: from here on a program is to save 1/20 of it, and not only its calls to cost that
PASSED = 16                 # or has ended so often on the way to a longer program
VARIANTS = 4                # ends with other results still held come back so often before they get a program too
CALL_SECONDS = 15e-6        # what a call costs beside its kernel when it runs at once
HELD_SECONDS = 2e-6         # and when it is held back
START_SECONDS = 50e-6       # starting a program, with an input or two of the host's, and reading what it gives
SAVED_PER_CALL = 0.5e-6     # what a call held back saves beside its kernel
SAVED_PER_WALKED = 10e-6    # and one of backward, whose way over the tape is known then
CAUGHT_UP_SECONDS = 10e-6   # what a call costs that was held back for nothing
MARGIN = 1.2                # a program may be so much slower than its calls one by one

LEAST_OVERWRITTEN = 1 << 14 # bytes: a smaller array is copied in the time that it takes to see whether it may be written into

KERNEL_SECONDS = 0.03       # what XLA:CPU takes to compile one small op
STEP_SECONDS = 0.002        # and for each step that the host makes of it: 79 of attention's vjp 0.43 s, 870 of an AdamW step 1.1
COMPILED_CALL = 50e-6       # what calling a compiled kernel and waiting for it takes: below that the host is as quick
KERNEL_MARGIN = 1.25        # a compiled kernel may be so much slower than the host

FIRST, SHARE = 5.0, 0.3     # seconds of compiling that a thread may spend at once; then a share of what it has run

OVERLAPPED = 2.5e-4         # seconds of a program's work: below that its first part does not start before the trace has ended
POOL = 3e-3                 # seconds of work, call by call: below that XLA's pool of threads costs more than it wins
INLINE = 5e-4               # and below that a program runs in the thread that calls it

MIN_AHEAD = 3               # calls that follow the start and need nothing new: fewer are not worth a program of their own
MAX_CROSSING = 1 << 16      # bytes that the second program needs of the first and that nobody else wants, and as many as it
PER_SECOND = 1e8            # takes for each second of work: to write and read them back costs about 2 % of it
MAX_TRUST = 4
MUCH_MEMORY = 64 << 20      # bytes that a trace makes on the way; its program takes half of that, and runs in the calling thread
LONG = 0.03                 # seconds of work: behind a program that takes longer freed memory may be given back
MAX_CALLS = 500             # in one program: XLA took 2.3 GB for one of 1,667 calls, 0.9 for six of 278, which ran as quickly
MAX_CALLS_THERE = 2000      # the same for an accelerator, where starting many costs more than it saves
FEW_NUMBERS = 4             # outputs of an accelerator's program that go to the host unasked
MUCH_WORK = 1.0             # seconds that a CPU would take: less is done in about 1 ms by a GPU, which waits for the host then
CALL_COMPILES = 0.004       # seconds that a call adds to what its program takes to compile, beside what it does
CALL_COMPILES_THERE = 0.1   # the same for an accelerator, whatever it does
LONGEST_ALIKE = 200         # calls in a period of an accelerator's trace that is run in pieces
FEW_MET = 3                 # calls in a row of it, met in earlier traces, that are a piece apart from new ones
OFTEN_MET = 3               # traces with it from which on a kernel is compiled for itself, and makes no piece a program
OFTEN = 8                   # times that a piece without new calls has to come before it is a program
SHORT = 40                  # calls in a piece that comes once, up to which it is one program rather than as many kernels
FOREGROUND = 0.25           # seconds of compiling that a trace waits for; what takes longer is compiled in the background
SLACK = 2.0                 # the estimated work behind which that is used, in estimated seconds of compiling; more waits less
WORTH_A_PIECE = 0.5         # seconds of compiling on both sides of a place where little crosses, from which on it is cut there
OTHER_LOOPS = 0.1           # the same where there are convolutions on one side alone, whose loops XLA compiles in another way
PIECE = 0.15                # seconds of compiling at least in one of the equal pieces that a trace is cut into
PIECE_COSTS = 0.02          # so many seconds of compiling less are worth one more piece to start in each step
PIECE_SECONDS = 1e-3        # of work at least, on average, beside which starting a piece (50 to 100 µs) does not matter
MUCH_SAVED = 3.0            # seconds of compiling less, for which pieces may do less than that
SAVED = 0.5                 # seconds of compiling that repeat others in a stretch, from which on it is cut

FIRST_LENGTH = 512          # calls in a trace; a longer one is cut off, and is never compiled
LENGTH_THERE = 2048         # behind a first cut on an accelerator, where each leaves pieces that are like no others
MAX_LENGTH = 4096           # what that grows to where ends come a few cuts apart: a long training step is one trace
MAX_CUT = 1000              # calls in a cut-off trace that ``hot`` compiles: XLA takes minutes for one with thousands of outputs
FEW_ALIKE = 4               # programs of the same ops, for other shapes; behind them each comes later than the one before
MANY_WAYS = 16              # that a trace has gone on from a state, from which on another gets states when it comes again
MAX_STATES = 200_000        # states in a thread's trie; beyond that it starts anew
MAX_PROGRAMS = 512          # of a thread; the one not run for the longest goes first


def compile_seconds(calls: int) -> float:
    """About what compiling a trace of so many calls takes, whatever they do."""
    return KERNEL_SECONDS + CALL_COMPILES * calls


def full_compile_seconds(compiled: int, work: Work) -> float:
    """The same with what the calls do: 1.15 for a language model's 121, which took 1.27 (the calls alone say 0.51)."""
    return compile_seconds(compiled) + work.compiling


def call_compile_seconds(work: Work) -> float:
    """About what a call that does so much adds to what its program takes to compile."""
    return CALL_COMPILES + work.compiling


def are_worth_starting(pieces: int, work: Work, saved: float) -> bool:
    """Whether pieces of a trace do so much that starting each does not matter, or save much compiling (``saved`` seconds)."""
    return work.compiled >= PIECE_SECONDS * pieces or saved >= MUCH_SAVED


def is_worth_trying(seconds: float) -> bool:
    """Whether a GPU's program is to be made of the quickest ways, which have to be found; ``seconds`` of a CPU's work."""
    return seconds >= MUCH_WORK


def has_paid(count: int, calls: int, work: Work, compiled: int, others: int = 0) -> bool:
    """Whether a trace that has ended ``count`` times, call by call, has cost what compiling ``compiled`` of them is worth.

    Where that takes long, a program would have to have saved as much: one of 600 calls on a few numbers saves a millisecond.
    ``others``: how many programs there are of the same ops, for other shapes. Behind a few, the more there are the less one
    of them does for the whole, so it has to have cost what all cost: of 600 steps with 41 lengths compiling took 16 of 24 s.
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
    """Whether a trace waits for what takes so many seconds to compile."""
    return seconds <= FOREGROUND


def saved_seconds(calls: int, walked: int) -> float:
    """About what a program saves beside the work of its calls, ``walked`` of which are of backward."""
    return calls * SAVED_PER_CALL + walked * SAVED_PER_WALKED


def is_slower_compiled(work: Work, saved: float) -> bool:
    """Whether a program on the CPU takes longer than its calls one by one, beside whose work it saves ``saved`` seconds.

    BLAS is quicker than XLA at a plain product, and a few calls are over before a program has started.
    """
    return work.compiled + START_SECONDS > MARGIN * (work.host + saved)


def runs_on_host(work: Work, steps: int, taken: int = 0) -> int | None:
    """How often a kernel runs on the host before it is compiled; None if it stays there. It takes ``taken`` bytes."""
    if work.host <= COMPILED_CALL or work.compiled + COPYING * taken + COMPILED_CALL > KERNEL_MARGIN * work.host:
        return None
    turns = (KERNEL_SECONDS + STEP_SECONDS * steps) / work.host
    return ceil(turns) if turns < inf else None         # there may be no compiler, see ``forked``


class Budget:
    """How much compiling a thread may do.

    A program whose shapes vary would otherwise spend its life in the compiler (800 steps with 32 batch sizes: 22 of 24 s). What
    a trace is expected to take counts as spent from where it is marked, since all lengths of a language model's batches are
    marked in one round and compiled in the next.
    """

    __slots__ = ("_busy_until", "earned", "runs", "spent")

    def __init__(self):
        self.spent, self.earned = 0.0, 0.0      # seconds: of compiling, and of what has run, both estimated
        self.runs: dict[Any, int] = {}      # of kernels that will be compiled when they have run often enough
        self._busy_until = 0.0      # when the background thread will have compiled what it was given, in ``earned``

    def forget(self) -> None:
        """Forget what is known of kernels, and what the background thread was given; not what was spent."""
        self.runs.clear()
        self._busy_until = 0.0

    @property
    def is_busy(self) -> bool:
        """Whether the background thread is expected to be compiling. What is compiled meanwhile would wait for it."""
        return self.earned < self._busy_until

    def reserve(self, seconds: float) -> tuple[float, float]:
        """Return when the background thread begins with what takes so many seconds, and when it is done, in ``earned``."""
        start = max(self._busy_until, self.earned)
        self._busy_until = start + SLACK * seconds
        return start, self._busy_until

    def allows(self, calls: int) -> bool:
        """Whether there is time left for a trace of so many calls."""
        return self.spent + compile_seconds(calls) <= FIRST + SHARE * self.earned

    def ran(self, calls: int, seconds: float) -> None:
        """Notes that calls have run one by one which are known to work for so long."""
        self.earned += calls * CALL_SECONDS + seconds

    def ran_held(self, calls: int, seconds: float) -> None:
        """Notes that a program has run."""
        self.earned += calls * HELD_SECONDS + seconds
