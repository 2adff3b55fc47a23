"""Events and counters of the engine, which ``jtorch.engine.report()`` shows."""
from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from jtorch._base import caller


@dataclass
class Event:
    """One compilation: of a kernel (one call) or of a program (several calls)."""

    kind: str
    what: str
    why: str
    line: str
    seconds: float
    subject: object = field(repr=False, default=None)

    @property
    def runs(self) -> int:
        """The number of runs of the compiled program or kernel."""
        return getattr(self.subject, "runs", 0)


@dataclass
class Counters:
    """Totals since the start (or the last ``reset``)."""

    kernels: int = 0
    programs: int = 0
    compile_seconds: float = 0.0
    side_by_side: int = 0       # Kernels and programs of an accelerator that were compiled in parallel with others.
    background: int = 0         # Programs that were compiled in the background.
    equal_programs: int = 0     # Programs that took the executable of an equal program.
    region_programs: int = 0    # Traces of an accelerator that run in pieces, since they repeat themselves.
    handed_on: int = 0          # Calls of backward that read a residual from forward's piece of the trace.
    left_out: int = 0           # Values that programs do not take, since the calls read only the shapes.
    loaded: int = 0             # Programs and kernels that were read from disk.
    read_untraced: int = 0      # Programs that were read from disk without a JAX trace.
    traces: int = 0             # Traces that have ended.
    program_runs: int = 0       # Runs of programs.
    caught_up: int = 0          # Traces of held-back calls that ran call by call, since they had no program.
    departures: int = 0         # Traces that left a hot path.
    strayed: int = 0            # Traces that went on without states, because their state has many children already.
    set_aside: int = 0          # Traces that were set aside after an exception, or for a call in the middle of another.
    early_starts: int = 0       # Programs that started before their trace had ended.
    early_starts_used: int = 0  # Early starts whose results were used.
    sent_ahead: int = 0         # Numbers that an accelerator copied to the host before they were read.
    walks: int = 0              # Backwards that took a known walk over the graph.
    open_traces: int = 0        # JAX traces with open sizes.
    open_sizes: int = 0         # Kernels that were made from open traces.
    batched: int = 0            # Calls for all samples of a vmap.
    untraced: int = 0           # Kernels on the host that were made without a JAX trace.
    overwritten: int = 0        # Calls on the host that wrote into their argument's array, which nobody else held.
    fused: int = 0              # Fused steps in host programs: elementwise steps and reductions that run as one.
    in_blocks: int = 0          # Sequences of elementwise steps on large arrays that the host computes block by block.
    parts_written: int = 0      # Parts of large tensors that were written directly, without a call.
    onednn: int = 0             # Convolutions in host programs and compiled code that oneDNN computes.
    batch_norms: int = 0        # Sums of batch norms that batch_norm.cc computes, in host programs and compiled code.
    onednn_products: int = 0    # Matrix products in host programs and compiled code that oneDNN computes.
    refused: int = 0            # Traces that are not compiled, since XLA is expected to be slower.
    timing_loops: int = 0       # Traces that are not compiled, since they repeat a call and drop its results.
    kept_temporaries: int = 0   # Changes of malloc's limits.
    dropped: int = 0            # Programs that were dropped because there were too many.


events: deque[Event] = deque(maxlen=1000)
counters = Counters()


def kernel_compiled(kernel, seconds: float) -> None:
    """Count a compiled kernel and record an event."""
    counters.kernels += 1
    counters.compile_seconds += seconds
    why = "no host rule" if kernel.on_host is None else f"ran {kernel.runs - 1} times on the host"
    what = f"{kernel.call.op.name}({', '.join(map(repr, kernel.avals))})"
    events.append(Event("kernel", what, why, caller.line(), seconds, kernel))


def program_compiled(program, why: str, seconds: float) -> None:
    """Count a compiled program and record an event."""
    counters.programs += 1
    counters.compile_seconds += seconds
    events.append(Event("program", program.summary(), why, program.line, seconds, program))


def reset() -> None:
    """Forget all events and counts."""
    events.clear()
    counters.__init__()     # type: ignore[misc]
