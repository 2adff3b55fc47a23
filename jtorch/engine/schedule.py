"""The schedule: which traces are compiled, when, and how long their programs are kept. It applies ``policy.py``."""
from __future__ import annotations

from typing import TYPE_CHECKING

import jtorch.device as devices
from jtorch._base.config import ENGINE_MODE
from jtorch.engine import malloc, plan, policy, stats
from jtorch.engine.program import unconsumed
from jtorch.engine.trie import State, Trie, starts_held
from jtorch.engine.values import CPU

if TYPE_CHECKING:
    from jtorch.engine.trace import Trace


def note_end(trie: Trie, state: State) -> None:
    """Count a natural end of a trace that ran call by call. Mark the trace as hot if compiling it pays."""
    if _is_due(trie, state):
        mark_hot(trie, state)


def _is_due(trie: Trie, state: State) -> bool:
    """Count an end of a trace that has no program, and return whether the trace should be compiled."""
    profile, calls = state.ends_here(), state.depth
    profile.count += 1
    trie.budget.ran(calls, profile.known_work.host)
    if profile.count < policy.FEW or profile.why is not None or profile.refused:
        return False
    return _pays(trie, state, profile.count, profile.walked(state), trie.marked[profile.ops(state)])


def _pays(trie: Trie, state: State, times: int, walked: int, others: int) -> bool:
    """Return whether a trace that has ended ``times`` times is compiled now. Remember it if it is never compiled.

    ``others`` programs serve the same ops with other shapes or other held values. The compile time of all of them counts, because
    one more program serves less of the whole.
    """
    profile = state.ends_here()
    work, compiled = profile.work(state), profile.compiled_calls(state)
    saved = policy.saving(work, state.depth, walked, on_host=state.device is CPU)
    if saved <= 0:
        stats.counters.refused += 1
        profile.refused = True
        return False
    compiling = (others + 1) * policy.compile_seconds_of(compiled, state.depth, work)
    return policy.pays(times, saved, compiling) and trie.budget.allows(compiled) and not _is_refused(state)


def _is_refused(state: State) -> bool:
    """Return and remember whether a trace is never compiled."""
    profile = state.ends_here()
    is_loop = is_timing_loop(state)
    stats.counters.timing_loops += is_loop
    profile.refused = is_loop or state.device.type == "meta"
    return profile.refused


def mark_hot(trie: Trie, state: State) -> None:
    """Hold back the calls on the path to ``state`` from now on, and let the trace be compiled at its next end."""
    profile = state.ends_here()
    profile.why = f"ran {profile.count} times call by call, about {profile.work(state).host * 1e3:.1f} ms each"
    profile.reserved = policy.compile_seconds(profile.compiled_calls(state))
    trie.budget.spent += profile.reserved
    trie.marked[profile.ops(state)] += 1
    at: State | None = state
    while at is not None and at.parent is not None and not at.hot:
        at.hot = True
        at = at.parent


def program_of(trie: Trie, trace: Trace, held: bytes, natural: bool, read: bool) -> plan.Plan | None:
    """Return the plan of a trace of held-back calls; None if all its calls should run one by one.

    The plan is made, and its programs are compiled or begun, if it is time for that. ``held`` says which values are held,
    ``natural`` and ``read`` how the trace has ended.
    """
    state = trace.state
    profile = state.ends_here()
    found = profile.programs.get(held)
    if found is None:
        why = _why_compile(trie, state, held, natural)
        if why is None:
            return None
        found = _begin(trie, trace, held, why, read)
    found.last_run = trie.turn = trie.turn + 1
    if found.is_whole or _advance(found, trie.budget.earned):
        trie.budget.ran_held(state.depth, profile.known_work.compiled)
        return found
    trie.budget.ran(state.depth, profile.known_work.host)
    return found if any([p.is_compiled for p in found.programs]) else None


def _why_compile(trie: Trie, state: State, held: bytes, natural: bool) -> str | None:
    """Return why a trace of held-back calls is compiled now; None if it is not compiled yet, or never."""
    profile = state.ends_here()
    if state.device.type == "meta" or profile.refused or _is_memory_short(state):
        return None
    if not natural and (ENGINE_MODE != "hot" or state.depth > policy.MAX_CALLS_ACCELERATOR):
        return None
    # The programs of the trace's pieces (``RegionPrograms``) run it already, and a plan of that many calls would be several
    # programs too.
    if profile.chains.get(held) is not None and state.depth > policy.MAX_CALLS_ACCELERATOR:
        return None
    if ENGINE_MODE == "hot":
        return "JTORCH_ENGINE=hot"
    profile.seen[held] = times = profile.seen.get(held, 0) + 1
    if profile.why is None and starts_held(state.device) and _is_due(trie, state):
        mark_hot(trie, state)
    if profile.why is not None and not profile.programs:
        return profile.why
    # Calls on this path are held back for the programs of longer traces or of other patterns of held values. A held-back call
    # that no program runs costs more than an immediate call.
    if times < policy.FEW or not _pays(trie, state, times, state.depth, len(profile.programs)):
        return None
    return profile.why or f"ended here {times} times on the way to a program"


def _is_memory_short(state: State) -> bool:
    """Return whether memory is too short to compile. All ranks of a job compile alike, whatever memory each has."""
    return malloc.is_short() and not devices.spans_processes(state.device)


def _begin(trie: Trie, trace: Trace, held: bytes, why: str, read: bool) -> plan.Plan:
    """Make the plan of a trace, and compile its programs or begin to."""
    state, profile = trace.state, trace.state.ends_here()
    made = plan.plan(trace, held, why, read, trie.budget)
    _compile(trie, made)
    trie.budget.spent += policy.compile_seconds(profile.compiled_calls(state)) - profile.reserved
    profile.reserved = 0.0
    profile.programs[held] = made
    profile.chains.pop(held, None)
    trie.programs[made] = (state, held)
    if len(trie.programs) > policy.MAX_PROGRAMS:
        _drop(trie, min(trie.programs, key=lambda p: p.last_run))
    return made


def _compile(trie: Trie, made: plan.Plan) -> None:
    """Compile the programs of a plan, in the background if that takes long."""
    missing = [*{p.key: p for p in reversed(made.programs) if not p.takes_equal()}.values()][::-1]
    seconds = sum([p.compile_seconds for p in missing])
    is_quick = policy.is_compiled_now(seconds) and not trie.budget.is_busy
    for program in missing:
        if is_quick or ENGINE_MODE == "hot" or program.device is not CPU:
            program.compile()
        else:
            program.begins_at, program.ready_at = trie.budget.reserve(program.compile_seconds)


def _advance(made: plan.Plan, now: float) -> bool:
    """Begin and finish the programs of a plan that are due, and return whether all are compiled.

    ``now`` is the estimated work of the thread so far, in seconds.
    """
    for program in made.programs:
        if not program.is_compiled and not program.takes_equal() and program.begins_at <= now:
            if program.compiling is None:
                program.begin()
            if program.ready_at <= now:
                program.finish()
    if all([p.is_compiled for p in made.programs]):
        made.arm()
    return made.is_whole


def _drop(trie: Trie, program: plan.Plan) -> None:
    state, held = trie.programs.pop(program)
    state.ends_here().programs.pop(held, None)
    program.drop()
    stats.counters.dropped += 1
    _cool(trie, state)


def _cool(trie: Trie, state: State | None) -> None:
    """Undo ``mark_hot`` for the states on the path that no longer lead to a program."""
    while state is not None and state.parent is not None and not any(s is not None and s.hot for s in state.next.values()):
        profile = state.profile
        if profile is not None and profile.programs:
            return
        state.hot = starts_held(state.device)
        if profile is not None:
            if profile.why is not None:
                trie.marked[profile.ops(state)] -= 1
            trie.budget.spent -= profile.reserved
            state.profile = None
        state = state.parent


def is_timing_loop(state: State) -> bool:
    """Return whether a trace repeats the same call and drops the results, as a timing loop does.

    XLA would compute the repeated call once, and the measured time would be wrong.
    """
    path = state.path()
    calls = [(s.call, s.args) for s in path]
    if len(set(calls)) == len(calls):
        return False
    repeated = [s for s in unconsumed(path) if calls.count((s.call, s.args)) > 1]
    return len(repeated) > 1
