"""Traces: the calls of a thread since the last end, as a path in a trie of all traces that the thread has seen.

A call looks itself up among the children of the trace's current state. If the path leads to a compiled program
(``state.hot``), calls are held back and run together at the trace's end. If a call leaves the path, the held-back calls run
kernel by kernel, and the rest of the trace runs call by call.

An exception can come at any moment, and a finalizer or a signal handler can call ops in the middle of another call. These
rules keep all results:

- The state changes last. A trace has recorded what its state says. Further entries of its lists belong to a call that did not
  happen. While a call is being recorded, ``noting`` is set. A call that finds it set begins a trace of its own.
- A trace leaves its thread before it runs. Its values refer to the trace, and are computed when somebody reads them.
- The trace has a program's results when the C call that runs the program returns. No exception can come before.
"""
from __future__ import annotations

import threading
from typing import Any

import numpy as np

import jtorch.device as devices
from jtorch import speedups
from jtorch._base import caller
from jtorch._base.config import ENGINE_MODE
from jtorch.engine import (
    batched,
    interpreter,
    job,
    malloc,
    policy,
    region_programs,
    schedule,
    stats,
    value_checks,
    wait,
)
from jtorch.engine.buffer_reuse import NOWHERE, is_own, is_spare  # noqa: F401  (is_own: for the extension)
from jtorch.engine.host import HostProgram, new_quiet_context, quiet_contexts  # noqa: F401  (for the extension, as Kernel and Aval)
from jtorch.engine.interpreter import NUMBER_AVALS, number
from jtorch.engine.kernel import Call, Kernel, are_too_many, call_of, clear_calls, flatten, kernel_of
from jtorch.engine.program import liveness_of
from jtorch.engine.trie import State, Trie, starts_held
from jtorch.engine.values import (  # noqa: F401  (Aval: for the extension)
    CPU,
    Aval,
    Value,
    aval_of,
    gather,
    put,
    sharding_of,
    traced_aval,
)
from jtorch.ops.registry import OPS, T
from jtorch.speedups.constants import DEFERRED, EAGER, EMPTY

LOCK = threading.RLock()    # Held while a trace's values are assigned, because another thread may read a value.
NEVER_COMPUTED = "This tensor was never computed: the run of recorded calls that was to compute it raised an error."


class Trace:
    """The calls of one thread since the last end.

    A value refers to the trace that made it (``born``), and to the trace that used it last (``stamp``).
    """

    __slots__ = ("after_backward", "begun", "is_done", "launched", "mode", "noting", "number", "numbers", "of_job", "over",
                 "state", "strayed", "values")

    def __init__(self, root: State, number: int = 0):
        self.state = root
        self.number = number                # Number of traces of the thread before this one.
        self.values: list[Value] = []       # Inputs and results of the calls, by slot.
        self.numbers: list = []
        self.mode = EMPTY
        self.is_done = False                # True after the end, once all held values are computed.
        self.noting = False                 # True while a call is being recorded; it stays True if an exception ends that call.
        self.begun: tuple | None = None     # The program that has started early, and its results.
        self.launched: tuple | None = None  # The program that was launched last, and a list for its results.
        self.after_backward = False         # True if backward has run since the last call that built a graph.
        self.over: Any = None               # Arguments of the call that may write into its first argument, see record_over.
        self.strayed = 0                    # Number of calls since the trace makes no more states, see _strays.
        self.of_job = job.is_root_of_job(root)      # True if its calls are on a mesh of several processes.

    def finish(self) -> None:
        """Mark the trace as done, and drop what is not needed once all held values are computed."""
        self.is_done, self.begun, self.launched = True, None, None
        if self.mode is DEFERRED:
            self.values = self.numbers = None       # type: ignore[assignment]

    def settle(self) -> None:
        """Assign the results of the last launched program to the values, unless that has been done."""
        if self.launched is not None:
            program, results = self.launched
            if results:
                program.assign(self.values, results[0])
            self.launched = None

    def roll_back(self, state: State) -> None:
        """Remove what was recorded after ``state``."""
        self.noting = True
        n = state.first + len(state.outs)
        for v in self.values[n:]:
            v.stamp = None
        self.state = state
        del self.values[n:]
        del self.numbers[state.nnumbers:]
        self.noting = False


_left: list[Trie] = []      # Tries of threads that have ended. A new thread takes one over.


class Recorder:
    """A thread's current trace, and the trie of its earlier traces."""

    __slots__ = ("aside", "cuts", "longest", "trace", "trie")

    def __init__(self):
        # Trie, trace and length limit that ``switch`` swaps in: the job's, or the rank's own while the job records.
        self.aside: tuple | None = None
        self.trie = _left.pop() if _left else Trie()
        self.cuts = 0           # Traces that were cut at the length limit since one ended naturally: see ``_end``.
        self.longest = policy.MAX_CALLS         # The length limit of a trace, in calls. ``_grow`` raises it.
        self.trace = Trace(self.trie.root)

    def __del__(self, left: list[Trie] = _left):
        if len(left) < 16:
            left.append(self.trie)

    def begin(self) -> Trace:
        """Replace the current trace by a new one, and return it."""
        self.trace = made = Trace(self.trie.root, self.trace.number + 1)
        return made

    def switch(self) -> None:
        """Swap the trace of the rank's own devices with the trace of the job."""
        assert self.aside is not None
        aside = self.trie, self.trace, self.longest
        self.trie, self.trace, self.longest = self.aside
        self.aside = aside


class _Local(threading.local):
    def __init__(self):
        self.recorder = Recorder()


local = _Local()


def current() -> Trace:
    """Return the thread's current trace."""
    return local.recorder.trace


def record(call: Call, args) -> Any:
    """Record ``call`` of ``args`` (values and Python numbers), and run it now unless the trace's path is hot.

    Return the call's value, or a list of values if it has several results.
    """
    recorder = local.recorder
    trace = recorder.trace
    if trace.noting:
        trace = _set_aside(recorder)
    if trace.strayed:
        return _run_unnoted(recorder, trace, call, args)
    values, before = trace.values, trace.state
    trace.noting = True
    n = len(values)
    key: list = [call]
    for a in args:
        if a.__class__ is not Value:
            trace.numbers.append(a)
        elif a.stamp is trace:
            key.append(a.slot)
        elif a.array is None:
            trace.roll_back(before)
            if not _turns_to(recorder, a):
                finish(a)
            return record(call, args)
        else:
            key.append(a.aval)
            values.append(a)
            a.slot = n
            a.stamp = trace
            n += 1
    after = before.next.get(tuple(key))
    if after is None:
        trace.roll_back(before)
        return record_new(recorder, trace, call, args)
    single = after.single
    if single is not None:
        out: Any = Value(single, None, trace, n)
        values.append(out)
    else:
        out = [Value(aval, None, trace, n + i) for i, aval in enumerate(after.outs)]
        values.extend(out)
    if after.hot and trace.mode is not EAGER:
        trace.mode = DEFERRED
        trace.state = after
        trace.noting = False
        if after.kernel.check is not None:
            look_ahead(trace, before, after)
        if after.early is not None:
            begin_early(trace, after)
    else:
        trace.state = after
        trace.noting = False
        run_now(trace, before, after, args)
    if after.kernel.ends:
        end(read=True)
    elif after.depth >= recorder.longest:
        cut(recorder)
    return out


def look_ahead(trace: Trace, before: State, after: State) -> None:
    """Check the argument values of the last call, which is held back. If they are wrong, remove the call and raise."""
    try:
        value_checks.look_ahead(trace, after)
    except BaseException:
        take_back(trace, before, after)
        raise


def record_over(call: Call, args) -> Any:
    """Record a call whose result replaces its first argument's value in a storage.

    If nobody else holds that value or its array, the host writes into the array instead of copying it.
    """
    trace = local.recorder.trace
    trace.over = args
    try:
        return record(call, args)
    finally:
        trace.over = None


def _set_aside(recorder: Recorder) -> Trace:
    """Begin and return a new trace, because the current trace is in the middle of recording a call.

    An exception has ended that call, or it goes on after a finalizer or a signal handler has run.
    """
    stats.counters.set_aside += 1
    return recorder.begin()


def begin_early(trace: Trace, state: State) -> None:
    """Start the program that may start early at ``state``."""
    values, numbers = trace.values, trace.numbers
    if not trace.is_done and state.early is not None:       # A finalizer may have ended the trace.
        with LOCK:      # Threads share equal programs.
            state.early.begin(trace, values, numbers)


def cut(recorder: Recorder) -> None:
    """End a trace that has become too long."""
    recorder.cuts += 1
    end(natural=False)


def record_new(recorder: Recorder, trace: Trace, call: Call, args) -> Any:
    """Record a call that is new after the current state. A call of JAX tracers runs at once.

    A call on another device than the trace's ends the trace, because a program runs on one device.
    """
    kernel = _kernel_for(call, args)
    if kernel is None:
        return _run_traced(call, args)
    state = trace.state
    if trace is recorder.trace and not trace.noting:        # Making the kernel may have set the trace aside.
        if job.is_elsewhere(recorder, kernel):
            _switch(recorder)
        elif state.parent is not None and state.device is not None and kernel.outs and kernel.outs[0].device is not state.device:
            _end(recorder)
        else:
            key, slots, first = _described(trace, call, args)
            if _strays(trace, key, kernel):
                _stray(recorder, trace, key)
            elif state.next.get(key) is None:
                state.next[key] = State(state, call, slots, kernel, first)
                recorder.trie.states += 1
    return record(call, args)


def _switch(recorder: Recorder) -> None:
    """Go on with the trace that is aside. The trace of the rank's own devices ends, the trace of a job waits."""
    if not recorder.trace.of_job:
        _end(recorder)
    recorder.switch()


def _turns_to(recorder: Recorder, value: Value) -> bool:
    """Go on with the job's trace if that trace is aside and ``value`` waits in it; return whether that was so."""
    if recorder.aside is None or value.born is not recorder.aside[1] or not value.born.of_job:
        return False
    _switch(recorder)
    return True


def current_at(value: Value) -> Trace:
    """Make the trace that records calls with ``value`` the thread's current one, and return it."""
    recorder = local.recorder
    if recorder.aside is not None and devices.spans_processes(value.aval.device) is not recorder.trace.of_job:
        _switch(recorder)
    return recorder.trace


def _kernel_for(call: Call, args) -> Kernel | None:
    """Return the kernel of a call with these arguments; None if they are JAX tracers."""
    avals = tuple([a.aval if a.__class__ is Value else NUMBER_AVALS[a.__class__] for a in args])
    kernel = call.kernels.get(avals)
    if kernel is None and not any([a.traced for a in avals]):
        kernel = kernel_of(call, avals)
    return kernel


def _strays(trace: Trace, key: tuple, kernel: Kernel) -> bool:
    """Return whether a trace goes on without states: its current state has many children already, and this call is new.

    If a cache grows with each token, or each text has another length, such paths do not come back. Their states, one for each
    call up to the trace's end, would be of no use.
    """
    known = trace.state.next
    return len(known) >= policy.MANY and key not in known and trace.mode is not DEFERRED \
        and bool(kernel.outs) and kernel.outs[0].device is CPU and not starts_held(CPU)


def _stray(recorder: Recorder, trace: Trace, key: tuple) -> None:
    """Go on without states. The key is remembered, and the path gets its states if the call comes again."""
    trace.state.next[key] = None
    recorder.trie.states += 1
    stats.counters.strayed += 1
    trace.mode = EAGER
    trace.strayed = 1


def _run_unnoted(recorder: Recorder, trace: Trace, call: Call, args) -> Any:
    """Run a call of a trace that has strayed, without recording it. The results belong to the trace: reading them ends it."""
    kernel = _kernel_for(call, args)
    if kernel is None:
        return _run_traced(call, args)
    waiting = [a for a in args if a.__class__ is Value and a.array is None]
    if waiting or (kernel.outs and kernel.outs[0].device is not CPU):
        if waiting:
            finish(waiting[0])
        else:
            end()
        return record(call, args)
    outs = _outs_of(trace, kernel, args, NOWHERE)
    made = [_unnoted(aval, array, trace) for aval, array in zip(kernel.outs, outs, strict=True)]
    trace.strayed += 1
    if trace.strayed >= recorder.longest:
        cut(recorder)
    return made if kernel.is_tuple else made[0]


def _unnoted(aval: Aval, array: Any, trace: Trace) -> Value:
    made = Value(aval, array, trace)
    made.stamp = None
    return made


def _described(trace: Trace, call: Call, args) -> tuple[tuple, tuple[int, ...], int]:
    """Return a call's key in the trie, the slots of its arguments (negative for numbers), and its first result's slot."""
    key: list = [call]
    slots: list[int] = []
    n, number = len(trace.values), trace.state.nnumbers
    entering: dict[Value, int] = {}
    for a in args:
        if a.__class__ is not Value:
            number += 1
            slots.append(-number)
            continue
        if a.stamp is trace:
            slot = a.slot
            key.append(slot)
        elif a in entering:
            slot = entering[a]
            key.append(slot)
        else:
            slot = entering[a] = n
            key.append(a.aval)
            n += 1
        slots.append(slot)
    return tuple(key), tuple(slots), n


def _run_traced(call: Call, args):
    """Run a call of JAX tracers at once, without recording it. Under ``vmap``, record the call for all samples."""
    level = batched.innermost(args)
    if level is not None:
        return batched.record(record, call, args, level)
    import jax
    for a in args:
        if a.__class__ is Value and a.array is None:
            finish(a)
    with jax.enable_x64(True):
        out = call.fn(*[jax.numpy.asarray(a.array) if a.__class__ is Value else np.asarray(a, NUMBER_AVALS[a.__class__].np)
                        for a in args])     # Op bodies need JAX arrays, but values on the host have NumPy arrays.
    made = [Value(traced_aval(x), x) for x in flatten(out)]
    return made if isinstance(out, (tuple, list)) else made[0]


def run_now(trace: Trace, before: State, after: State, args) -> None:
    """Run the last recorded call, after all calls that were held back."""
    values = trace.values       # Read now, because garbage collection during the kernel may end the trace.
    kept = before.first + len(before.outs)
    if values is None:          # A finalizer has ended the trace, which ran this call.
        return
    try:
        if trace.mode is DEFERRED:
            trace.begun = None
            catch_up(trace, before)
            stats.counters.departures += 1
            trace.mode = EAGER
            values[:kept] = [_GONE] * kept
        trace.mode = EAGER
        outs = _outs_of(trace, after.kernel, args, kept)
    except BaseException:
        take_back(trace, before, after)
        raise
    first, behind = after.first, after.first + len(outs)
    for v, array in zip(values[first:behind], outs, strict=True):
        v.array = array
    values[kept:behind] = [_GONE] * (behind - kept)


def take_back(trace: Trace, before: State, after: State) -> None:
    """Remove a call that has raised, if it was the last call and the trace has not ended."""
    if trace.state is after and not trace.is_done:
        trace.roll_back(before)


_GONE: Any = None       # Fills the slots of a trace that runs call by call, so that the memory of its values can be freed.


def _outs_of(trace: Trace, kernel: Kernel, args, kept: int) -> list:
    """Run a call now and return its results. The values that came with the call have slots from ``kept`` on."""
    wait.for_latest()
    over = trace.over is args and is_spare(kernel, args, kept)
    return _computed(kernel, [a.array if a.__class__ is Value else number(a) for a in args], over=over)


def _computed(kernel: Any, arrays: list, *, over: bool = False) -> list:
    if kernel.check is not None:
        kernel.raise_if_bad(arrays)
    return kernel.run(arrays, local.recorder.trie.budget, over=over)


def catch_up(trace: Trace, state: State, slot: int | None = None, held: bytes | None = None) -> None:
    """Run the held-back calls up to ``state`` kernel by kernel: all calls, or those that ``slot`` depends on.

    ``held`` says which slots are needed afterwards. The memory of the others is freed after the last call that reads them.
    If a call raises, the others run nevertheless, and the first error is raised at the end.
    """
    with LOCK:
        trace.settle()
        values = trace.values
        path = state.path() if slot is None else _leading_to(slot, state, values)
        spare = interpreter.spare_behind(path, held) if held is not None else {}
        interpreter.run(path, values, trace.numbers, local.recorder.trie.budget, spare)


def _leading_to(slot: int, state: State, values: list[Value]) -> list[State]:
    """Return the calls up to ``state`` that must run to compute a slot, in order. Calls with computed results are left out."""
    needed, out = {slot}, []
    for s in reversed(state.path()):
        made = range(s.first, s.first + len(s.outs))
        if any([i in needed and values[i].array is None for i in made]):
            out.append(s)
            needed.update(s.read)
    out.reverse()
    return out


def end(natural: bool = True, read: bool = False) -> None:
    """End the thread's trace and run its held-back calls. Traces with ``natural`` ends (reads, optimizer steps) may be compiled.

    ``read`` says whether the caller waits for the results. The trace of a job ends too.
    """
    recorder = local.recorder
    if recorder.aside is not None:
        _end_aside(recorder, natural, read)
    _end(recorder, natural, read)


def _end_aside(recorder: Recorder, natural: bool = True, read: bool = False) -> None:
    recorder.switch()
    try:
        _end(recorder, natural, read)
    finally:
        recorder.switch()


def _end(recorder: Recorder, natural: bool = True, read: bool = False) -> None:
    trace = recorder.trace
    state = trace.state
    if state.parent is None and not trace.noting and not trace.strayed:
        if trace.values or trace.after_backward:
            recorder.begin()
        return
    recorder.begin()        # If an exception comes from here on, the values can still find their trace.
    if trace.noting or trace.is_done:       # A finalizer may have ended the trace before ``begin``.
        return
    stats.counters.traces += 1
    if trace.of_job:
        _end_of_job(recorder, trace, read)
        return
    if natural and recorder.cuts:
        _grow(recorder, state.depth + trace.strayed)
    if trace.mode is DEFERRED:
        _run(recorder, trace, natural, read)
    else:
        if trace.strayed:
            recorder.trie.budget.ran(trace.strayed, 0.0)
        elif natural and ENGINE_MODE == "auto":
            schedule.note_end(recorder.trie, state)
        malloc.trim_now_and_then()
    trace.finish()
    if recorder.trie.states > policy.MAX_STATES or are_too_many():
        _start_anew(recorder)


def _end_of_job(recorder: Recorder, trace: Trace, read: bool) -> None:
    """Run a job's trace together with the other ranks."""
    def run_agreed(agreed: Trace, held: bytes, natural: bool) -> None:
        _run(recorder, agreed, natural, False, held)
        agreed.finish()
    if job.run(recorder, trace, run_agreed, f"{'a read' if read else 'the end of a step'} at {caller.line()}"):
        _start_all_anew(recorder)


def _start_anew(recorder: Recorder) -> None:
    recorder.trie.clear()
    if recorder.aside is None:
        clear_calls()
    else:       # The job's states refer to kernels, which all ranks drop together.
        job.want_new()
    recorder.begin()


def _start_all_anew(recorder: Recorder) -> None:
    for _ in range(2):
        recorder.trie.clear()
        recorder.begin()
        if recorder.aside is not None:
            recorder.switch()
    job.forget()
    clear_calls()


def _grow(recorder: Recorder, calls: int) -> None:
    """Raise the length limit so that a step like this one is not cut again; do not if it has more than ``MAX_LENGTH`` calls.

    A limit is needed for loops without reads: their traces would never end. ``calls`` is the number of calls after the last
    cut.
    """
    whole = recorder.cuts * recorder.longest + calls
    recorder.cuts = 0
    while recorder.longest < whole <= policy.MAX_LENGTH:
        recorder.longest *= 2


def _run(recorder: Recorder, trace: Trace, natural: bool, read: bool, held: bytes | None = None) -> None:
    """Run a trace that was held back: by its plan, or call by call. ``held`` is given if ranks have agreed on it."""
    held = liveness_of(trace.values) if held is None else held
    found = schedule.program_of(recorder.trie, trace, held, natural, read)
    if found is None and devices.is_accelerator(trace.state.device):
        found = region_programs.chain_of(recorder.trie, trace.state, held)
        if not natural:
            recorder.longest = max(recorder.longest, policy.MAX_CALLS_ACCELERATOR)
    if found is None:
        stats.counters.caught_up += 1
        catch_up(trace, trace.state, held=held)
        return
    with LOCK:
        found.run(trace)
    if found.is_long:
        malloc.trim_now_and_then()


def finish(value: Value) -> None:
    """Compute a value that waits in a trace. The thread's own trace ends; another trace catches up to the value."""
    recorder = local.recorder
    if value.born is recorder.trace:
        _end(recorder, read=True)
    elif recorder.aside is not None and value.born is recorder.aside[1]:
        _end_aside(recorder, read=True)
    trace = value.born
    with LOCK:
        if value.array is None:
            if trace is None or trace.is_done or trace.of_job:
                raise RuntimeError(NEVER_COMPUTED)
            catch_up(trace, trace.state, value.slot)
            if value.array is None:
                raise RuntimeError(NEVER_COMPUTED)


def read(value: Value) -> None:
    """Make sure that ``value`` is computed. Reading a value of the current trace ends the trace."""
    if value.array is None or value.born is local.recorder.trace:
        finish(value)


def bring(array: np.ndarray, device: devices.device, spec: Any = None) -> Any:
    """Copy a host array to a device. All ranks of a job bring the same array to their mesh, and compare it when they meet."""
    recorder = local.recorder
    if recorder.aside is not None and devices.spans_processes(device):
        job.note_brought(array, recorder.trace if recorder.trace.of_job else recorder.aside[1])
    return put(array, device, spec)


def gathered(value: Value) -> Value:
    """Return a value of a mesh with all elements on each device, computed. All ranks of a job call this together."""
    made = record(call_of(OPS["_lie"], (T, sharding_of(value.aval.device))), (value,))
    finish(made)
    return made


gather.append(gathered)


def synchronize() -> None:
    """End the thread's trace, and wait until its work is done.

    Example::

        >>> x = torch.ones(2) + 1
        >>> torch.engine.synchronize()
    """
    end()
    wait.for_latest()


def forget() -> None:
    """Drop the thread's traces and programs, and all kernels. Call this after a change of a setting that they depend on.

    Example::

        >>> torch.engine.forget()
    """
    end(natural=False)
    _start_all_anew(local.recorder)


speedups.connect(globals(), "trace")
