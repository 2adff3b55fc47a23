"""Traces: what a thread has called since the last end, as a path in a trie of all traces that it has seen.

A call looks itself up among the children of the trace's current state. Where the path leads to a compiled program
(``state.hot``) calls are held back and run together at the trace's end; a call that leaves the path makes what was
held back run kernel by kernel, and the rest of the trace runs call by call.

Nothing is lost, wherever an exception or a call of somebody else's (a finalizer's, a signal handler's) comes between:

- What a trace has noted is what its state says; further entries of its lists are of a call that did not come about. The state
  changes last. While a call is being noted the trace says so, and a call that finds it like this begins a trace of its own.
- A trace is taken off its thread before it is run. Its values lead to it, and are computed when they are asked for.
- A program's results lie with the trace when the call that runs it returns, before an exception can come.
"""
from __future__ import annotations

import threading
from typing import Any

import numpy as np

import jtorch.device as devices
from jtorch import speedups
from jtorch._base import caller  # noqa: F401  (for the extension)
from jtorch._base.config import ENGINE_MODE
from jtorch.engine import alike, mapped, memory, one_by_one, policy, schedule, stats, value_checks, wait
from jtorch.engine.host import HostProgram, new_quiet_context, quiet_contexts  # noqa: F401  (for the extension, as Kernel and Aval)
from jtorch.engine.kernel import Call, Kernel, are_too_many, clear_calls, flatten, kernel_of
from jtorch.engine.one_by_one import NUMBER_AVALS, number
from jtorch.engine.program import liveness_of
from jtorch.engine.spare import NOWHERE, is_own, is_spare  # noqa: F401  (is_own: for the extension)
from jtorch.engine.trie import State, Trie, starts_held
from jtorch.engine.values import CPU, Aval, Value, aval_of, traced_aval  # noqa: F401  (Aval: for the extension)
from jtorch.speedups.constants import DEFERRED, EAGER, EMPTY

LOCK = threading.RLock()    # held while a trace's values are assigned, so that another thread may ask for one
NEVER_COMPUTED = "This tensor was never computed: the run of recorded calls that was to compute it raised an error."


class Trace:
    """What one thread has called since the last end. Values carry the trace they were born in, and the last that met them."""

    __slots__ = ("after_backward", "begun", "is_done", "launched", "mode", "noting", "numbers", "over", "state", "strayed",
                 "values")

    def __init__(self, root: State):
        self.state = root
        self.values: list[Value] = []       # by slot: what the calls took that was new, and what they gave
        self.numbers: list = []
        self.mode = EMPTY
        self.is_done = False                # whether it has ended, and all that was wanted of it is there
        self.noting = False                 # whether a call is being noted, or was when an exception came
        self.begun: tuple | None = None     # what has started early, and its results
        self.launched: tuple | None = None  # a program, and a list that takes what it gives
        self.after_backward = False         # whether backward has walked since the last call that built a graph
        self.over: Any = None               # the arguments of the call that is to write into its first one, see record_over
        self.strayed = 0                    # calls since it has gone where no state is made, see _strays

    def finish(self) -> None:
        """Lets go of what is not needed once all values that anybody holds are there."""
        self.is_done, self.begun, self.launched = True, None, None
        if self.mode is DEFERRED:
            self.values = self.numbers = None       # type: ignore[assignment]

    def settle(self) -> None:
        """Gives the values what the program launched last has given, if that has not been done."""
        if self.launched is not None:
            program, results = self.launched
            if results:
                program.assign(self.values, results[0])
            self.launched = None

    def roll_back(self, state: State) -> None:
        """Takes back what was noted since ``state``."""
        self.noting = True
        n = state.first + len(state.outs)
        for v in self.values[n:]:
            v.stamp = None
        self.state = state
        del self.values[n:]
        del self.numbers[state.nnumbers:]
        self.noting = False


_left: list[Trie] = []      # of threads that have ended: the next takes it over, as where each request has a thread of its own


class Recorder:
    """A thread's current trace, and all it knows of earlier ones."""

    __slots__ = ("cuts", "longest", "trace", "trie")

    def __init__(self):
        self.trie = _left.pop() if _left else Trie()
        self.cuts, self.longest = 0, policy.FIRST_LENGTH        # cuts since the last natural end
        self.trace = Trace(self.trie.root)

    def __del__(self, left: list[Trie] = _left):
        if len(left) < 16:
            left.append(self.trie)

    def begin(self) -> Trace:
        """A new trace, in place of the one that there was."""
        self.trace = made = Trace(self.trie.root)
        return made


class _Local(threading.local):
    def __init__(self):
        self.recorder = Recorder()


local = _Local()


def current() -> Trace:
    """The thread's trace."""
    return local.recorder.trace


def record(call: Call, args) -> Any:
    """Notes ``call`` of ``args`` (values and Python numbers), and runs it now unless the trace's path is hot.

    Gives the call's value, or a list of them if it has several results.
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
    """Take back the last call, which is held back, and raise if its arguments have wrong values."""
    try:
        value_checks.look_ahead(trace, after)
    except BaseException:
        take_back(trace, before, after)
        raise


def record_over(call: Call, args) -> Any:
    """``record`` of a call whose result takes the place of its first argument's value in the storage that holds it.

    Run at once on the host, it writes into that value's array, where nobody else holds either: a row of a table of 154 MB is
    written in 15 µs, and was in 38 ms.
    """
    trace = local.recorder.trace
    trace.over = args
    try:
        return record(call, args)
    finally:
        trace.over = None


def _set_aside(recorder: Recorder) -> Trace:
    """A new trace, where a call is being noted in the one that there is: an exception has ended that call, or it goes on."""
    stats.counters.set_aside += 1
    return recorder.begin()


def begin_early(trace: Trace, state: State) -> None:
    """Starts what may start where a trace has come to ``state``."""
    values, numbers = trace.values, trace.numbers
    if not trace.is_done and state.early is not None:       # or a finalizer has ended the trace
        with LOCK:      # threads that do the same share what was compiled
            state.early.begin(trace, values, numbers)


def cut(recorder: Recorder) -> None:
    """Ends a trace that has become too long."""
    recorder.cuts += 1
    end(natural=False)


def record_new(recorder: Recorder, trace: Trace, call: Call, args) -> Any:
    """``record`` of a call that this path has not led to before; at once where the arguments are JAX tracers.

    A call that runs on another device than the trace ends it: a trace becomes one program, on one device.
    """
    kernel = _kernel_for(call, args)
    if kernel is None:
        return _run_traced(call, args)
    state = trace.state
    if trace is recorder.trace and not trace.noting:        # or it has been set aside meanwhile
        if state.device is not None and kernel.outs and kernel.outs[0].device is not state.device:
            end()
        else:
            key, slots, first = _described(trace, call, args)
            if _strays(trace, key, kernel):
                _stray(recorder, trace, key)
            elif state.next.get(key) is None:
                state.next[key] = State(state, call, slots, kernel, first)
                recorder.trie.states += 1
    return record(call, args)


def _kernel_for(call: Call, args) -> Kernel | None:
    """The kernel of a call with these arguments; None where they are JAX tracers."""
    avals = tuple([a.aval if a.__class__ is Value else NUMBER_AVALS[a.__class__] for a in args])
    kernel = call.kernels.get(avals)
    if kernel is None and not any([a.traced for a in avals]):
        kernel = kernel_of(call, avals)
    return kernel


def _strays(trace: Trace, key: tuple, kernel: Kernel) -> bool:
    """Whether a trace goes on without states: from a place that has led many ways it goes one that it has not gone before.

    Where a cache becomes longer with each token, or each text has another length, such ways do not come back, and their states,
    one for each call up to the trace's end, would be made for nothing.
    """
    known = trace.state.next
    return len(known) >= policy.MANY_WAYS and key not in known and trace.mode is not DEFERRED \
        and bool(kernel.outs) and kernel.outs[0].device is CPU and not starts_held(CPU)


def _stray(recorder: Recorder, trace: Trace, key: tuple) -> None:
    """Goes a way that is only remembered: the next time it gets its states."""
    trace.state.next[key] = None
    recorder.trie.states += 1
    stats.counters.strayed += 1
    trace.mode = EAGER
    trace.strayed = 1


def _run_unnoted(recorder: Recorder, trace: Trace, call: Call, args) -> Any:
    """Runs a call of a trace that has strayed, and leaves nothing in it. Its results are the trace's: reading them ends it."""
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
    """What a call is looked up by, where its arguments stand (numbers below 0), and where its results will."""
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
    """Under a JAX transformation the op runs at once on tracers, unrecorded; under ``vmap`` it is recorded for all samples."""
    level = mapped.innermost(args)
    if level is not None:
        return mapped.record(record, call, args, level)
    import jax
    for a in args:
        if a.__class__ is Value and a.array is None:
            finish(a)
    with jax.enable_x64(True):
        out = call.fn(*[jax.numpy.asarray(a.array) if a.__class__ is Value else np.asarray(a, NUMBER_AVALS[a.__class__].np)
                        for a in args])     # bodies want JAX's arrays, and a value on the host has NumPy's
    made = [Value(traced_aval(x), x) for x in flatten(out)]
    return made if isinstance(out, (tuple, list)) else made[0]


def run_now(trace: Trace, before: State, after: State, args) -> None:
    """Runs the call that was noted last, behind all that was held back."""
    values = trace.values       # asked now: while the kernel runs garbage may be collected, and that run calls of its own
    kept = before.first + len(before.outs)
    if values is None:          # and such a call has ended the trace, and so run this one
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
    """Takes back a call that has raised, if it was the last and the trace goes on."""
    if trace.state is after and not trace.is_done:
        trace.roll_back(before)


_GONE: Any = None       # in a slot of a trace that runs call by call: its values are not needed, and their memory may go


def _outs_of(trace: Trace, kernel: Kernel, args, kept: int) -> list:
    """What a call gives that runs now. From slot ``kept`` on the trace's list holds the values that have come with it."""
    wait.for_latest()
    over = trace.over is args and is_spare(kernel, args, kept)
    return _computed(kernel, [a.array if a.__class__ is Value else number(a) for a in args], over=over)


def _computed(kernel: Any, arrays: list, *, over: bool = False) -> list:
    if kernel.check is not None:
        kernel.raise_if_bad(arrays)
    return kernel.run(arrays, local.recorder.trie.budget, over=over)


def catch_up(trace: Trace, state: State, slot: int | None = None, held: bytes | None = None) -> None:
    """Runs kernel by kernel what was held back on the way to ``state``: all of it, or what a slot needs.

    ``held``: which slots are wanted behind it; the memory of others goes when no call needs them any more.
    A call that raises keeps none of the others from running; the first error is raised behind them.
    """
    with LOCK:
        trace.settle()
        values = trace.values
        path = state.path() if slot is None else _leading_to(slot, state, values)
        one_by_one.run(path, values, trace.numbers, local.recorder.trie.budget, held)


def _leading_to(slot: int, state: State, values: list[Value]) -> list[State]:
    """The calls on the way to ``state`` that a slot depends on, in order, but behind what is there already."""
    needed, out = {slot}, []
    for s in reversed(state.path()):
        made = range(s.first, s.first + len(s.outs))
        if any([i in needed and values[i].array is None for i in made]):
            out.append(s)
            needed.update(s.read)
    out.reverse()
    return out


def end(natural: bool = True, read: bool = False) -> None:
    """Ends the thread's trace: runs what it holds back. ``natural`` ends (reads, optimizer steps) may become programs.

    ``read``: whether what it gives is waited for.
    """
    recorder = local.recorder
    trace = recorder.trace
    state = trace.state
    if state.parent is None and not trace.noting and not trace.strayed:
        if trace.values or trace.after_backward:
            recorder.begin()
        return
    recorder.begin()        # whatever comes between from here on, this trace's values lead to it
    if trace.noting or trace.is_done:       # done by a finalizer that ran before this line was behind us
        return
    stats.counters.traces += 1
    if natural and recorder.cuts:
        _grow(recorder, state.depth + trace.strayed)
    if trace.mode is DEFERRED:
        _run(recorder, trace, natural, read)
    else:
        if trace.strayed:
            recorder.trie.budget.ran(trace.strayed, 0.0)
        elif natural and ENGINE_MODE == "auto":
            schedule.note_end(recorder.trie, state)
        memory.trim_now_and_then()
    trace.finish()
    if recorder.trie.states > policy.MAX_STATES or are_too_many():
        _start_anew(recorder)


def _start_anew(recorder: Recorder) -> None:
    recorder.trie.clear()
    clear_calls()
    recorder.begin()


def _grow(recorder: Recorder, calls: int) -> None:
    """Lets traces become as long as this one of so many calls would have been uncut. A loop that never reads would be endless."""
    whole = recorder.cuts * recorder.longest + calls
    recorder.cuts = 0
    while recorder.longest < whole <= policy.MAX_LENGTH:
        recorder.longest *= 2


def _run(recorder: Recorder, trace: Trace, natural: bool, read: bool) -> None:
    """Runs a trace that was held back: its program, or what it holds call by call."""
    held = liveness_of(trace.values)
    found = schedule.program_of(recorder.trie, trace, held, natural, read)
    if found is None and devices.is_accelerator(trace.state.device):
        found = alike.chain_of(recorder.trie, trace.state, held)
        if not natural:
            recorder.longest = max(recorder.longest, policy.LENGTH_THERE)
    if found is None:
        stats.counters.caught_up += 1
        catch_up(trace, trace.state, held=held)
        return
    with LOCK:
        found.run(trace)
    if found.is_long:
        memory.trim_now_and_then()


def finish(value: Value) -> None:
    """Computes a value that waits in a trace: the thread's own ends, another is caught up with."""
    trace = value.born
    if trace is local.recorder.trace:
        end(read=True)
    with LOCK:
        if value.array is None:
            if trace is None or trace.is_done:
                raise RuntimeError(NEVER_COMPUTED)
            catch_up(trace, trace.state, value.slot)
            if value.array is None:
                raise RuntimeError(NEVER_COMPUTED)


def read(value: Value) -> None:
    """Makes sure ``value`` is computed. Reading what the current trace made ends the trace."""
    if value.array is None or value.born is local.recorder.trace:
        finish(value)


def synchronize() -> None:
    """Ends the thread's trace and waits until all of it is done.

    Example::

        >>> x = torch.ones(2) + 1
        >>> torch.engine.synchronize()
    """
    end()
    wait.for_latest()


def forget() -> None:
    """Drops everything learnt: traces, programs and kernels. For when a setting that they depend on has changed.

    Example::

        >>> torch.engine.forget()
    """
    end(natural=False)
    _start_anew(local.recorder)


speedups.connect(globals(), "trace")
