"""What the engine did: the events behind ``jtorch.engine.report()``."""
from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from jtorch._base import caller


@dataclass
class Event:
    """One compilation: of a kernel (one op) or of a program (a whole trace)."""

    kind: str
    what: str
    why: str
    line: str
    seconds: float
    subject: object = field(repr=False, default=None)

    @property
    def runs(self) -> int:
        """How often what was compiled has run since."""
        return getattr(self.subject, "runs", 0)


@dataclass
class Counters:
    """Totals since the start (or the last ``reset``)."""

    kernels: int = 0
    programs: int = 0
    compile_seconds: float = 0.0
    side_by_side: int = 0       # kernels and programs of an accelerator that were compiled together with others
    background: int = 0         # of these, programs that were compiled while their calls went on one by one
    put_off: int = 0            # calls, as of running statistics, that are compiled with a trace's last piece
    equal_programs: int = 0     # that were compiled already, for another stretch of calls
    alike: int = 0              # traces of an accelerator that are run in pieces, since they repeat themselves
    handed_on: int = 0          # calls of backward that begin with what forward has computed, in another piece of a trace
    left_out: int = 0           # values that programs do not take, since they use their shapes only
    loaded: int = 0             # of the programs and kernels, those read from disk
    read_untraced: int = 0      # of these, programs known by their calls, so that JAX did not trace them
    traces: int = 0
    program_runs: int = 0
    caught_up: int = 0          # traces that were held back and then run call by call, since they had no program
    departures: int = 0         # traces that left the way to a program
    strayed: int = 0            # traces that have gone on without states, where ever new ways begin
    set_aside: int = 0          # traces that an exception, or a call in the midst of another, has ended
    early_starts: int = 0
    early_starts_used: int = 0
    sent_ahead: int = 0         # numbers that went from an accelerator to the host before they were asked for
    walks: int = 0              # backwards that were known
    open_traces: int = 0        # functions traced with a size left open
    open_sizes: int = 0         # kernels made of these
    mapped: int = 0             # calls for all samples of a vmap
    untraced: int = 0           # kernels that run on the host, made without a trace
    overwritten: int = 0        # calls on the host that have written into their argument's array, which nobody else held
    fused: int = 0              # runs of elementwise steps and reductions that kernels on the host compute as one
    in_blocks: int = 0          # runs of elementwise steps on large arrays that kernels on the host compute block by block
    parts_written: int = 0      # parts of large tensors that were written at one of many places, without a call
    onednn: int = 0             # convolutions, of host programs and of what was compiled, that oneDNN computes
    batch_norms: int = 0        # batch norms' sums, of host programs and of what was compiled, that are not XLA's
    onednn_products: int = 0    # products of matrices, of host programs and of what was compiled, that oneDNN computes
    refused: int = 0            # traces that XLA is expected to be slower at
    timing_loops: int = 0
    kept_temporaries: int = 0   # times malloc was told how much to keep
    dropped: int = 0            # programs beyond the limit


events: deque[Event] = deque(maxlen=1000)
counters = Counters()


def kernel_compiled(kernel, seconds: float) -> None:
    """Notes that one op was compiled."""
    counters.kernels += 1
    counters.compile_seconds += seconds
    why = "no host rule" if kernel.on_host is None else f"ran {kernel.runs - 1} times on the host"
    what = f"{kernel.call.op.name}({', '.join(map(repr, kernel.avals))})"
    events.append(Event("kernel", what, why, caller.line(), seconds, kernel))


def program_compiled(program, why: str, seconds: float) -> None:
    """Notes that a trace was compiled."""
    counters.programs += 1
    counters.compile_seconds += seconds
    events.append(Event("program", program.summary(), why, program.line, seconds, program))


def reset() -> None:
    """Forgets all events and counts."""
    events.clear()
    counters.__init__()     # type: ignore[misc]
