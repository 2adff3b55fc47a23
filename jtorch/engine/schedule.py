"""Which traces are compiled and when, and for how long their programs are kept: the decisions of ``policy.py`` carried out."""
from __future__ import annotations

from typing import TYPE_CHECKING

from jtorch._base.config import ENGINE_MODE
from jtorch.engine import memory, plan, policy, stats
from jtorch.engine.program import unconsumed
from jtorch.engine.trie import State, Trie, starts_held
from jtorch.engine.values import CPU

if TYPE_CHECKING:
    from jtorch.engine.trace import Trace


def note_end(trie: Trie, state: State) -> None:
    """Notes that a trace which ran call by call has ended naturally; marks it for compiling where that pays."""
    if _is_due(trie, state):
        mark_hot(trie, state)


def _is_due(trie: Trie, state: State) -> bool:
    """Notes an end of a trace that no program is for, and says whether there is to be one."""
    profile, calls = state.ends_here(), state.depth
    profile.count += 1
    trie.budget.ran(calls, profile.known_work.host)
    if profile.count < policy.EARLY_REPEATS or profile.why is not None or profile.refused:
        return False
    work, compiled = profile.work(state), profile.compiled_calls(state)
    others = trie.alike[profile.ops(state)]
    return policy.has_paid(profile.count, calls, work, compiled, others) and trie.budget.allows(compiled) \
        and not _is_refused(state, policy.saved_seconds(calls, state.walked_calls()))


def _is_refused(state: State, saved: float) -> bool:
    """Whether a trace is never to be compiled, which is noted. ``saved``: seconds that its program would save beside its work."""
    profile, counters = state.ends_here(), stats.counters
    if is_timing_loop(state):
        counters.timing_loops += 1
        profile.refused = True
    elif state.device is CPU and policy.is_slower_compiled(profile.work(state), saved):
        counters.refused += 1
        profile.refused = True
    elif state.device.type == "meta":
        profile.refused = True
    return profile.refused


def mark_hot(trie: Trie, state: State) -> None:
    """Makes the calls on the way to ``state`` be held back from now on, and the trace be compiled at its next end."""
    profile = state.ends_here()
    profile.why = f"ran {profile.count} times call by call, about {profile.work(state).host * 1e3:.1f} ms each"
    profile.reserved = policy.compile_seconds(profile.compiled_calls(state))
    trie.budget.spent += profile.reserved
    trie.alike[profile.ops(state)] += 1
    at: State | None = state
    while at is not None and at.parent is not None and not at.hot:
        at.hot = True
        at = at.parent


def program_of(trie: Trie, trace: Trace, held: bytes, natural: bool, read: bool) -> plan.Plan | None:
    """The program of a trace that was held back, compiled now if it is time for it; None if its calls are to run one by one."""
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
    """Why a trace that was held back is compiled now; None if it has not come up often enough."""
    profile = state.ends_here()
    if state.device.type == "meta" or profile.refused or memory.is_short():
        return None
    if not natural and (ENGINE_MODE != "hot" or state.depth > policy.MAX_CUT):
        return None
    if profile.chains.get(held) is not None and state.depth > policy.MAX_CALLS_THERE:     # it would be several programs, too
        return None
    if ENGINE_MODE == "hot":
        return "JTORCH_ENGINE=hot"
    profile.seen[held] = times = profile.seen.get(held, 0) + 1
    if profile.why is None and starts_held(state.device) and _is_due(trie, state):
        mark_hot(trie, state)
    if profile.why is None:                 # others go on from here, but this end has not been compiled yet
        if times < policy.PASSED or not trie.budget.allows(profile.compiled_calls(state)) \
                or _is_refused(state, state.depth * policy.CAUGHT_UP_SECONDS):
            return None
        return f"ended here {times} times on the way to a program"
    return profile.why if not profile.programs or times >= policy.VARIANTS else None


def _begin(trie: Trie, trace: Trace, held: bytes, why: str, read: bool) -> plan.Plan:
    """The plan of a trace, whose programs are compiled now or begun."""
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
    """Compile the programs of a plan, in the background where that takes long."""
    missing = [*{p.key: p for p in reversed(made.programs) if not p.takes_equal()}.values()][::-1]
    seconds = sum([p.compile_seconds for p in missing])
    is_quick = policy.is_compiled_now(seconds) and not trie.budget.is_busy
    for program in missing:
        if is_quick or ENGINE_MODE == "hot" or program.device is not CPU:
            program.compile()
        else:
            program.begins_at, program.ready_at = trie.budget.reserve(program.compile_seconds)


def _advance(made: plan.Plan, now: float) -> bool:
    """Begin to compile those programs of a plan whose time has come, and take those that are done; whether all are.

    ``now``: the estimated work of the thread so far, in seconds.
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
    """Takes back ``mark_hot`` where no program is left on the way."""
    while state is not None and state.parent is not None and not any(s is not None and s.hot for s in state.next.values()):
        profile = state.profile
        if profile is not None and profile.programs:
            return
        state.hot = starts_held(state.device)
        if profile is not None:
            if profile.why is not None:
                trie.alike[profile.ops(state)] -= 1
            trie.budget.spent -= profile.reserved
            state.profile = None
        state = state.parent


def is_timing_loop(state: State) -> bool:
    """Whether the trace computes the same thing over and over and drops it. Compiled, it would compute it once."""
    path = state.path()
    calls = [(s.call, s.args) for s in path]
    if len(set(calls)) == len(calls):
        return False
    repeated = [s for s in unconsumed(path) if calls.count((s.call, s.args)) > 1]
    return len(repeated) > 1
