"""What the engine did: the events behind ``jtorch.engine.report()``."""
from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from jtorch import user_code


@dataclass
class Event:
    """One compilation: of a kernel (one op) or of a program (a whole record)."""

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
    program_runs: int = 0
    departures: int = 0
    records: int = 0
    loaded: int = 0             # of the programs and kernels, those read from disk


events: deque[Event] = deque(maxlen=1000)
counters = Counters()


def kernel_compiled(kernel, seconds: float) -> None:
    """Notes that one op was compiled."""
    counters.kernels += 1
    counters.compile_seconds += seconds
    why = "no host rule" if kernel.on_host is None else f"cost {kernel.cost * 1e3:.0f} ms on the host"
    what = f"{kernel.call.op.name}({', '.join(map(repr, kernel.avals))})"
    events.append(Event("kernel", what, why, user_code.line(), seconds, kernel))


def program_compiled(program, why: str, seconds: float) -> None:
    """Notes that a record was compiled."""
    counters.programs += 1
    counters.compile_seconds += seconds
    events.append(Event("program", program.summary(), why, program.line, seconds, program))


def given_up(program, why: str) -> None:
    """Notes that a program will not run any more."""
    for event in events:
        if event.subject in program.parts:
            event.why += f"; {why}"


def reset() -> None:
    """Forgets all events and counts."""
    events.clear()
    counters.__init__()     # type: ignore[misc]
