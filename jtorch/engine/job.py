"""The trace of a job: calls on a mesh whose devices belong to several processes.

XLA's programs on such a mesh have collectives, so all ranks must run the same programs in the same order. Each rank records the
calls on the mesh in a separate trace, beside the trace of the rank's own devices. None of these calls runs at once. At a
trace's end the ranks meet: they compare their calls, agree on the number of calls that run now, and on the values that anybody
holds. A rank that reads a value in the middle of a step ends its trace early. The others then run as many calls first as this
rank has.

All decisions of the job's trie follow from what the ranks have agreed on. So they are the same on all ranks.
"""
from __future__ import annotations

import hashlib
import zlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

import jtorch.device as devices
from jtorch._base import caller
from jtorch.engine import policy, wait
from jtorch.engine.program import liveness_of
from jtorch.engine.trie import State, Trie
from jtorch.engine.values import CPU

if TYPE_CHECKING:
    from jtorch.engine.trace import Recorder, Trace

LENGTH = policy.MAX_LENGTH      # Calls in a job's trace before it is cut.
# Marks of the roots of two tries: the rank's own and the job's.
_OWN, _OF_JOB = devices.interned("own"), devices.interned("job")


class Proposal(NamedTuple):
    """A rank's message at the end of its trace.

    ``calls`` is the number of calls. ``checked`` is a digest of the calls and of the numbers and host data that they take.
    ``held`` has a byte for each slot: 1 if the value is held. ``is_full`` says whether the rank wants all ranks to drop their
    traces, ``where`` why the trace ends.
    """

    calls: int
    checked: bytes
    held: bytes
    is_full: bool
    where: str


class Job:
    """The state of the job that this process has joined.

    Args:
        meet: exchanges a ``Proposal`` with the other ranks. It gets a function that returns the proposal for a number of calls,
            and one that describes each of the first calls. It returns the agreed proposal.
        running: a context manager, in which the programs of the job run.
        first_run: a context manager, in which each compiled program runs for the first time.

    """

    def __init__(self, meet: Callable, running: Callable, first_run: Callable):
        self.meet, self.running = meet, running
        wait.surround_first_runs(first_run)
        self.wants_new = False      # True if this rank's kernels are too many, see ``trace._start_anew``.
        self.digests: dict[State, bytes] = {}
        # Data from the host, each as (number of calls before the data, text, checksum).
        self.brought: list[tuple[int, str, int]] = []


class _Joined:
    job: Job | None = None


joined = _Joined()


def join(recorder: Recorder, job: Job) -> None:
    """Let this thread record calls on meshes of several processes. No other thread may."""
    joined.job = job
    recorder.trie.mark(_OWN)
    trie = Trie()
    trie.mark(_OF_JOB)
    recorder.aside = (trie, recorder.trace.__class__(trie.root), LENGTH)
    recorder.begin()


def leave(recorder: Recorder) -> None:
    """Forget the job. The values of its trace can be read only if they are computed."""
    joined.job = None
    if recorder.aside is not None:
        if recorder.trace.of_job:
            recorder.switch()
        recorder.aside = None
        recorder.trie.mark(None)


def is_root_of_job(root: State) -> bool:
    """Return whether a state is the root of a job's trie."""
    return root.device is _OF_JOB


def is_elsewhere(recorder: Recorder, kernel: Any) -> bool:
    """Return whether a call belongs to the trace that is not current: the job's, or that of the rank's own devices.

    Raise RuntimeError for a call on a job's mesh in a thread without the job's trace.
    """
    if recorder.aside is None:
        if joined.job is not None and kernel.outs and devices.spans_processes(kernel.outs[0].device):
            raise RuntimeError("Calls with tensors on a mesh of several processes belong to the thread that called "
                               "init_process_group(): the ranks would run them in different orders otherwise.")
        return False
    return bool(kernel.outs) and devices.spans_processes(kernel.outs[0].device) is not recorder.trace.of_job


def note_brought(array: np.ndarray, trace: Trace) -> None:
    """Note host data that each rank has put on the job's mesh, so that the ranks compare it."""
    if joined.job is not None:
        text = f"{array.dtype}{list(array.shape)} at {caller.line()}"
        checksum = zlib.crc32(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)
        joined.job.brought.append((trace.state.depth, text, checksum))


def want_new() -> None:
    """Ask all ranks to drop their traces and kernels at the next meeting."""
    if joined.job is not None:
        joined.job.wants_new = True


def forget() -> None:
    """Drop the digests of states that are dropped."""
    if joined.job is not None:
        joined.job.digests.clear()
        joined.job.wants_new = False


# ---------------------------------------------------------------- the end of a job's trace

def run(recorder: Recorder, trace: Trace, run_agreed: Callable, where: str) -> bool:
    """Run a job's trace, which has left the recorder, together with the other ranks.

    ``run_agreed(trace, held, natural)`` runs a trace of agreed calls. Return whether all ranks drop their traces now.
    """
    job, is_full = joined.job, False
    assert job is not None
    while True:
        agreed = job.meet(_Said(job, recorder, trace, where))
        is_full |= agreed.is_full
        job.brought = [(at - agreed.calls, text, checksum) for at, text, checksum in job.brought if at >= agreed.calls]
        head, rest = (trace, None) if agreed.calls == trace.state.depth else _split(trace, agreed.calls)
        with job.running():
            run_agreed(head, agreed.held, agreed.calls < LENGTH)
        if rest is None:
            return is_full
        trace = _recorded_anew(recorder, trace, rest)


class _Said:
    """This rank's part of a meeting about a trace."""

    def __init__(self, job: Job, recorder: Recorder, trace: Trace, where: str):
        self._job, self._trace, self._path, self._where = job, trace, trace.state.path(), where
        self._is_full = job.wants_new or recorder.trie.states > policy.MAX_STATES
        self._held = liveness_of(trace.values)

    def proposal(self, calls: int | None = None) -> Proposal:
        """Return the proposal to run the first ``calls`` calls; all, if None."""
        n = len(self._path) if calls is None else calls
        state = self._path[n - 1]
        held = bytearray(self._held[:state.first + len(state.outs)])
        for s in self._path[n:]:
            for i in s.args:
                if 0 <= i < len(held):
                    held[i] = 1
        digest = hashlib.blake2b(_digest(self._job, state), digest_size=16)
        digest.update(repr((self._trace.numbers[:state.nnumbers], self._foreign(n), self._brought(n))).encode())
        return Proposal(n, digest.digest(), bytes(held), self._is_full, self._where)

    def calls(self, n: int) -> list[tuple[str, str]]:
        """Return (text to compare, text to show) for each of the first calls, and for the data that these calls take."""
        numbers = [[self._trace.numbers[-i - 1] for i in s.args if i < 0] for s in self._path[:n]]
        said = [(f"{_text(s)} {given}", _shown(s, given)) for s, given in zip(self._path, numbers, strict=False)]
        for at, text, checksum in reversed(self._job.brought):
            if at < n:
                said.insert(at, (f"{text} {checksum}", f"putting other data on the mesh, {text}"))
        return said + [(repr(self._foreign(n)), "numbers on the CPU among the arguments")]

    def _foreign(self, n: int) -> list:
        """Return the numbers in the 0-dim CPU tensors among the arguments."""
        taken = dict.fromkeys([i for s in self._path[:n] for i, a in zip(s.args, s.kernel.avals, strict=True)
                               if i >= 0 and a.device is CPU])
        return [np.asarray(self._trace.values[i].array).tolist() for i in taken]

    def _brought(self, n: int) -> list:
        return [checksum for at, _, checksum in self._job.brought if at < n]


def _digest(job: Job, state: State) -> bytes:
    """Return a digest of the calls up to a state. It is the same in all processes."""
    missing = []
    at: State | None = state
    while at is not None and at.parent is not None and at not in job.digests:
        missing.append(at)
        at = at.parent
    found = job.digests.get(at, b"") if at is not None else b""
    for s in reversed(missing):
        found = job.digests[s] = hashlib.blake2b(found + _text(s).encode(), digest_size=16).digest()
    return found


def _text(s: State) -> str:
    return f"{s.call.op.name} {_plain(s.call.template)} {s.args} {s.kernel.avals}"


def _shown(s: State, numbers: list) -> str:
    left = iter(numbers)
    avals = zip(s.args, s.kernel.avals, strict=True)
    given = [f"{a.dtype.name}{list(a.shape)}" if i >= 0 else repr(next(left)) for i, a in avals]
    return f"{s.call.op.name.strip('_')}({', '.join(given)}) at {s.line}"


def _plain(x: Any) -> str:
    """Return a text of a static argument that is the same in all processes."""
    if isinstance(x, (tuple, list)):
        return f"({','.join(map(_plain, x))})"
    if x is None or isinstance(x, (bool, int, float, complex, str)):
        return repr(x)
    return str(getattr(x, "spec", None) or getattr(x, "name", None) or type(x).__name__)


def _split(trace: Trace, calls: int) -> tuple[Trace, list[State]]:
    """Return a trace of the first calls, and the states of the other calls."""
    path = trace.state.path()
    state = path[calls - 1]
    head = trace.__class__(_root_of(state))
    head.state, head.mode = state, trace.mode
    head.values, head.numbers = trace.values[:state.first + len(state.outs)], trace.numbers[:state.nnumbers]
    for v in head.values:
        if v.born is trace:
            v.born = head
    return head, path[calls:]


def _root_of(state: State) -> State:
    while state.parent is not None:
        state = state.parent
    return state


def _recorded_anew(recorder: Recorder, trace: Trace, rest: list[State]) -> Trace:
    """Return a trace of the calls that have not run yet, with the same values."""
    made = trace.__class__(recorder.trie.root)
    values, numbers = trace.values, trace.numbers
    trace.values = []       # The liveness counts only holders outside of traces, so the old trace must not hold values.
    for s in rest:
        key: list = [s.call]
        slots: list[int] = []
        for i in s.args:
            if i < 0:
                made.numbers.append(numbers[-i - 1])
                slots.append(-len(made.numbers))
                continue
            v = values[i]
            if v.stamp is made:
                key.append(v.slot)
            else:
                key.append(v.aval)
                v.stamp, v.slot = made, len(made.values)
                made.values.append(v)
            slots.append(v.slot)
        first = len(made.values)
        after = made.state.next.get(tuple(key))
        if after is None:
            after = made.state.next[tuple(key)] = State(made.state, s.call, tuple(slots), s.kernel, first)
            after.line = s.line
            recorder.trie.states += 1
        for k, v in enumerate(values[s.first:s.first + len(s.outs)], first):
            v.born = v.stamp = made
            v.slot = k
            made.values.append(v)
        made.state, made.mode = after, trace.mode
    return made
