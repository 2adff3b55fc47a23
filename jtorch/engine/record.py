"""Records: what a thread has called since the last end, as a path in a trie of all records seen.

A call looks itself up among the children of the record's current state. Where the path leads to a compiled program
(``state.hot``) calls are held back and run together at the record's end; a call that leaves the path makes what was
held back run kernel by kernel, and the rest of the record runs call by call.
"""
from __future__ import annotations

import threading
from math import inf
from typing import Any

import numpy as np

from jtorch import speedups, user_code
from jtorch.engine import heat, memory, stats, wait
from jtorch.engine.kernel import Call, are_too_many, clear_calls, flatten, kernel_of
from jtorch.engine.program import name_line, pattern
from jtorch.engine.split import Compiled, Early
from jtorch.engine.values import CPU, Aval, Value, aval_of, traced_aval  # noqa: F401  (Aval: for the extension)
from jtorch.flags import ENGINE_MODE

FIRST_LENGTH = 512          # calls in a record; a longer one is cut off, and is never compiled
MAX_LENGTH = 4096           # what that grows to where ends come a few cuts apart: a long training step is one record
MAX_STATES = 200_000        # states in the trie; beyond that it starts anew
CALL_SECONDS = 15e-6        # what a call costs beside its kernel when it runs at once
EAGERNESS = 20              # a record is compiled when it has cost 1/20 of what compiling it is expected to
MIN_REPEATS = 8
LONG = 0.03                 # seconds: behind a record that took longer, freed memory may be given back

NUMBER_AVALS = {float: aval_of((), np.dtype(np.float64), CPU), int: aval_of((), np.dtype(np.int64), CPU),
                bool: aval_of((), np.dtype(np.bool_), CPU), complex: aval_of((), np.dtype(np.complex128), CPU)}
LOCK = threading.RLock()    # held while a record's values are assigned, so that another thread may ask for one


class State:
    """A record so far: its last call, and the states that one more call has led to."""

    __slots__ = ("args", "best", "call", "cost", "count", "depth", "device", "early", "first", "hot", "kernel", "line", "next",
                 "nnumbers", "outs", "parent", "programs", "refused", "seen", "set_aside", "single",
                 "walks", "why")

    def __init__(self, parent: State | None, call: Any, args: tuple[int, ...], kernel: Any, first: int):
        self.parent, self.call, self.args, self.kernel, self.first = parent, call, args, kernel, first
        self.next: dict[tuple, State] = {}
        self.programs: dict[bytes, Compiled] = {}     # by pattern of held values
        self.seen: dict[bytes, int] = {}
        self.walks: dict[Any, Any] = {}     # for the tape: what backward from here has recorded before
        self.early: Early | None = None     # what may start here, before the record has ended
        self.why: str | None = None         # why the record was given a program, once it was
        self.outs: tuple[Any, ...] = kernel.outs if kernel is not None else ()
        self.single = kernel.outs[0] if kernel is not None and not kernel.is_tuple else None
        self.device: Any = self.outs[0].device if self.outs else parent.device if parent is not None else None
        self.hot = ENGINE_MODE == "hot"
        self.count, self.cost = 0, 0.0      # how often a record ended here that ran call by call, and what these took
        self.best = inf                     # what the kernels of the quickest of them took
        self.set_aside = 0.0                # of the time for compiling, while its first program is still to come
        self.refused = False                # whether a program has turned out slower than that
        self.depth: int = parent.depth + 1 if parent is not None else 0
        self.nnumbers: int = (parent.nnumbers if parent is not None else 0) + sum(a < 0 for a in args)
        self.line: str = user_code.line() if call is not None else ""

    def path(self) -> list[State]:
        """The states from the first call to this one."""
        out, state = [], self
        while state.parent is not None:
            out.append(state)
            state = state.parent
        out.reverse()
        return out


class _Trie:
    """The root of all records, replaced when it has grown too large."""

    def __init__(self):
        self.clear()

    def clear(self) -> None:
        self.root, self.states = State(None, None, (), None, 0), 0
        heat.forget()


class Stamp:
    """The identity of one record. Values carry the stamp of the record they were born in and of the last that met them."""

    __slots__ = ("rec",)

    def __init__(self, rec: Record):
        self.rec = rec


class Record:
    """What one thread has called since the last end. ``held``: None (empty), True (nothing has run), False (all has)."""

    __slots__ = ("after_backward", "begun", "cost", "cuts", "held", "longest", "numbers", "stamp", "state", "values")

    def __init__(self):
        self.cuts, self.longest = 0, FIRST_LENGTH       # cuts since the last natural end
        self.reset()

    def reset(self) -> None:
        """Starts a new, empty record."""
        self.state, self.stamp = TRIE.root, Stamp(self)
        self.values: list[Value] = []
        self.numbers: list = []
        self.held: bool | None = None
        self.begun: tuple[Early, list] | None = None        # what has started early, and its results
        self.cost, self.after_backward = 0.0, False


TRIE = _Trie()
ELSEWHERE = State(None, None, (), None, 0)


class _Local(threading.local):
    def __init__(self):
        self.rec = Record()


local = _Local()


def record(call: Call, args) -> Any:
    """Notes ``call`` of ``args`` (values and Python numbers), and runs it now unless the record's path is hot.

    Gives the call's value, or a list of them if it has several results.
    """
    rec = local.rec
    stamp, values, state = rec.stamp, rec.values, rec.state
    n = len(values)
    key: list = [call]
    for a in args:
        if a.__class__ is Value:
            if a.stamp is stamp:
                key.append(a.slot)
            else:
                if a.array is None:
                    _rollback(rec, state)
                    finish(a)
                    return record(call, args)
                key.append(a.aval)
                a.stamp = stamp
                a.slot = n
                n += 1
                values.append(a)
        else:
            rec.numbers.append(a)
    after = state.next.get(tuple(key))
    if after is None:
        try:
            after = _new_state(rec, state, call, args, tuple(key))
        except BaseException:
            _rollback(rec, state)
            raise
        if after is None:
            _rollback(rec, state)
            return _run_traced(call, args)
        if after is ELSEWHERE:
            _rollback(rec, state)
            end()
            return record(call, args)
    single = after.single
    if single is not None:
        out: Any = Value(single, None, stamp, n)
        values.append(out)
    else:
        out = [Value(aval, None, stamp, n + i) for i, aval in enumerate(after.outs)]
        values.extend(out)
    rec.state = after
    if after.hot and rec.held is not False:
        rec.held = True
        if after.early is not None:
            _begin_early(rec, after)
    else:
        _run_now(rec, state, after, args)
    if after.depth >= rec.longest:
        _cut(rec)
    return out


def _begin_early(rec: Record, state: State) -> None:
    with LOCK:      # threads that do the same share the program
        state.early.begin(rec)      # type: ignore[union-attr]


def _cut(rec: Record) -> None:
    """Ends a record that has become too long."""
    rec.cuts += 1
    end(natural=False)


def _new_state(rec: Record, state: State, call: Call, args, key: tuple) -> State | None:
    """The state after a call that this path has not led to before; None where the arguments are JAX tracers.

    ELSEWHERE if the call runs on another device than the record: a record becomes one program, on one device.
    """
    if any(a.__class__ is Value and a.aval.traced for a in args):
        return None
    kernel = kernel_of(call, tuple([a.aval if a.__class__ is Value else NUMBER_AVALS[a.__class__] for a in args]))
    if state.device is not None and kernel.outs and kernel.outs[0].device is not state.device:
        return ELSEWHERE
    number = state.nnumbers
    slots = []
    for a in args:
        if a.__class__ is Value:
            slots.append(a.slot)
        else:
            number += 1
            slots.append(-number)
    after = state.next[key] = State(state, call, tuple(slots), kernel, len(rec.values))
    TRIE.states += 1
    return after


def _rollback(rec: Record, state: State) -> None:
    """Takes back what a call that did not come about has noted since ``state``."""
    n = state.first + len(state.outs)
    for v in rec.values[n:]:
        v.stamp = None
    del rec.values[n:]
    del rec.numbers[state.nnumbers:]
    rec.state = state


def _run_traced(call: Call, args):
    """Under a JAX transformation the op runs at once on the tracers, unrecorded."""
    import jax
    for a in args:
        if a.__class__ is Value and a.array is None:
            finish(a)
    with jax.enable_x64(True):
        out = call.fn(*[jax.numpy.asarray(a.array) if a.__class__ is Value else np.asarray(a, NUMBER_AVALS[a.__class__].np)
                        for a in args])     # bodies want JAX's arrays, and a value on the host has NumPy's
    made = [Value(traced_aval(x), x) for x in flatten(out)]
    return made if isinstance(out, (tuple, list)) else made[0]


def _run_now(rec: Record, before: State, after: State, args) -> None:
    kept = before.first + len(before.outs)
    if rec.held:
        rec.begun = None
        _catch_up(rec, before)
        stats.counters.departures += 1
        rec.values[:kept] = [_GONE] * kept
    rec.held = False
    values = rec.values         # asked now: while the kernel runs garbage may be collected, and that run calls of its own
    wait.for_latest()
    kernel = after.kernel
    arrays = [a.array if a.__class__ is Value else _number(a) for a in args]
    try:
        if kernel.check is not None:
            kernel.raise_if_bad(arrays)
        outs = kernel.run(arrays)
    except BaseException:
        _rollback(rec, before)
        raise
    rec.cost += kernel.seconds
    first, behind = after.first, after.first + len(outs)
    for v, array in zip(values[first:behind], outs, strict=True):
        v.array = array
    values[kept:behind] = [_GONE] * (behind - kept)


_GONE: Any = None       # in a slot of a record that runs call by call: its values are not needed, and their memory may go


def _arguments(state: State, values: list[Value], numbers: list) -> list:
    return [values[i].array if i >= 0 else _number(numbers[-i - 1]) for i in state.args]


def _number(x) -> np.ndarray:
    return np.asarray(x, NUMBER_AVALS[x.__class__].np)


def _catch_up(rec: Record, state: State, upto: int | None = None) -> None:
    """Runs kernel by kernel what was held back on the way to ``state`` (to slot ``upto``)."""
    values, numbers = rec.values, rec.numbers
    with LOCK:
        for s in state.path():
            if upto is not None and s.first > upto:
                break
            if all([v.array is not None for v in values[s.first:s.first + len(s.outs)]]):
                continue
            arrays = _arguments(s, values, numbers)
            if s.kernel.check is not None:
                _check_late(s, arrays)
            for v, array in zip(values[s.first:s.first + len(s.outs)], s.kernel.run(arrays), strict=True):
                v.array = array
            rec.cost += s.kernel.seconds


def _check_late(state: State, arrays: list) -> None:
    try:
        state.kernel.raise_if_bad(arrays)
    except Exception as error:
        name_line(error, state)
        raise


def end(natural: bool = True, read: bool = False) -> None:
    """Ends the thread's record: runs what it holds back. ``natural`` ends (reads, optimizer steps) may become programs.

    ``read``: whether what it gives is waited for.
    """
    rec = local.rec
    state = rec.state
    if state.parent is None:
        if rec.values:
            rec.reset()
        return
    stats.counters.records += 1
    if natural and rec.cuts:
        _grow(rec)
    try:
        if rec.held:
            _end_held(rec, state, natural, read)
        else:
            if natural and ENGINE_MODE == "auto":
                _note_cost(state, rec.cost)
            if rec.cost > LONG:
                memory.trim_now_and_then()
    finally:
        rec.reset()
        if TRIE.states > MAX_STATES or are_too_many():
            _start_anew(rec)


def _start_anew(rec: Record) -> None:
    TRIE.clear()
    clear_calls()
    rec.reset()


def _grow(rec: Record) -> None:
    """Lets records become as long as this one would have been without its cuts. A loop that never reads would be endless."""
    whole = rec.cuts * rec.longest + rec.state.depth
    rec.cuts = 0
    while rec.longest < whole <= MAX_LENGTH:
        rec.longest *= 2


def _end_held(rec: Record, state: State, natural: bool, read: bool) -> None:
    held = pattern(rec.values)
    found = state.programs.get(held) or heat.wanted(rec, held, natural, read)
    if found is None:
        _catch_up(rec, state)
        return
    with LOCK:
        if found.trials:
            heat.on_trial(found, rec)
        else:
            found.run(rec)
    if LONG < found.best < inf:
        memory.trim_now_and_then()


def _note_cost(state: State, seconds: float) -> None:
    state.count += 1
    state.cost += seconds + state.depth * CALL_SECONDS
    state.best = min(state.best, seconds)
    budget = heat.budget
    if state.count >= MIN_REPEATS and state.cost * EAGERNESS > budget.expected(state.depth) and budget.allows(state.depth) \
            and not state.refused and not heat.is_timing_loop(state):
        heat.heat(state)


def finish(value: Value) -> None:
    """Computes a value that waits in a record: this thread's record ends, another's is caught up with."""
    stamp = value.born
    rec = stamp.rec if stamp is not None else None
    if rec is None or rec.stamp is not stamp:
        if value.array is None:
            raise RuntimeError("This tensor was never computed: the run of recorded calls that was to compute it raised "
                               "an error.")
        return
    if rec is local.rec:
        end(read=True)
        if value.array is None:
            finish(value)
        return
    with LOCK:
        if rec.stamp is stamp and value.array is None:
            _catch_up(rec, rec.state, value.slot)


def read(value: Value) -> None:
    """Makes sure ``value`` is computed. Reading what the current record made ends the record."""
    if value.array is None or value.born is local.rec.stamp:
        finish(value)


def synchronize() -> None:
    """Ends the thread's record and waits until all of it is done."""
    end()
    wait.for_latest()


def forget() -> None:
    """Drops everything learnt: records, programs and kernels. For when a setting that they depend on has changed."""
    end(natural=False)
    _start_anew(local.rec)


if speedups.native is not None:
    speedups.native.connect_record(globals())
    record = speedups.native.record
