"""Known walks: the calls that backward recorded from a state of the trace, to be replayed in one step.

Most of a walk's time goes into looking up calls in the trie. If a tape of the same form was walked from the same state
before, the calls are known, and the trace goes to the state after them directly. First the tape is compared with the known
walk: its calls, the slots of its saved values, its edges, hooks and versions. Any difference means an ordinary walk.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from jtorch.engine import Value, policy
from jtorch.speedups.constants import DEFERRED


def is_watched(leaf) -> bool:
    """Return whether a leaf has hooks or a node, so that its gradient must go through the node."""
    return bool(leaf._leaf_hooks or leaf._post_accumulate_hooks) or (
        leaf._accumulator is not None and leaf._accumulator() is not None)


class Walk:
    """One known walk: its steps, its leaves and the state of the trace after it."""

    __slots__ = ("_meet", "after", "avals", "count", "entering", "leaves", "steps", "through")

    def __init__(self, nodes: list[tuple[Any, list]], leaves: list[tuple[Any, Value]], root: Value, first: int, trace: Any):
        new = trace.values[first:]
        self.after = trace.state
        self.avals = [v.aval for v in new]
        self.entering = {first + i: v.aval for i, v in enumerate(new) if v.born is not trace}
        met: dict[int, int] = {id(nodes[0][0]): 0}
        steps = []
        for node, saved in nodes:
            edges = [e and (met.setdefault(id(e[0]), len(met)), e[1]) for e in node.raw_edges]
            slots = [v.slot if v.__class__ is Value else None for v in saved]
            steps.append((node.call, met[id(node)], tuple(slots), tuple(edges)))
        self.through = tuple([at for _, at, _, _ in steps])        # the number of each step's node; numbers count nodes as met
        self.leaves = tuple([(met[id(leaf)], value.slot) for leaf, value in leaves])    # (leaf's number, gradient's slot)
        self.steps, self.count = (root.slot, *steps), len(met)
        self._meet: Callable | None = None      # generated when Python first follows the walk

    def follow(self, root: Any, grad: Value, trace: Any) -> list | None:
        """Record the walk from ``root``. Return the nodes and leaves in the order met, or None if the tape differs."""
        entered: list[tuple[int, Value]] = []
        numbers: list = []
        if self._meet is None:
            self._meet = _meeting(self.steps[0], self.steps[1:], self.leaves, self.count)
        found = self._meet(root, grad, trace, self._enters, entered, numbers)
        if found is None:
            for _, v in entered:
                v.stamp = None
            return None
        self._enter(trace, entered, numbers)
        return found

    def _enter(self, trace: Any, entered: list[tuple[int, Value]], numbers: list) -> None:
        """Append the walk's values to the trace and move the trace to the state after the walk."""
        trace.noting = True
        values, n = trace.values, len(trace.values)
        for aval in self.avals:
            values.append(Value(aval, None, trace, n))
            n += 1
        for slot, v in entered:
            values[slot] = v
        trace.numbers += numbers
        trace.mode = DEFERRED
        trace.state = self.after
        trace.noting = False

    def _enters(self, v: Value, slot: int, stamp: Any, entered: list) -> bool:
        """Return whether a value has this slot, or can enter the trace at this slot as an input."""
        if v.stamp is stamp:
            return v.slot == slot
        if v.array is None or self.entering.get(slot) is not v.aval:
            return False
        v.stamp, v.slot = stamp, slot
        entered.append((slot, v))
        return True


def _meeting(root_slot: int, steps: tuple, leaves: tuple[tuple[int, int], ...], count: int) -> Callable:
    """Generate a function that compares a tape with these steps. It returns the nodes and leaves met, or None if they differ.

    A step is (call, node, slots of the saved values, edges). Nodes and leaves are numbered in the order met. An edge is
    (number of its target, output number) or None. The function only changes the stamps of values that enter the trace, which
    it appends to ``entered``. Generated source is faster than a loop over the steps.
    """
    lines = [*_value_lines("grad", root_slot)]
    met = {0}
    for k, (_, at, slots, targets) in enumerate(steps):
        lines += [f"if n{at}.call is not calls[{k}] or n{at}.watched or n{at}.saved is None: return",
                  f"for counter, version in n{at}.versions:",
                  "    if counter is not None and counter.version != version: return",
                  "".join(f"v{i}, " for i in range(len(slots))) + f"= n{at}.saved",
                  *[line for i, slot in enumerate(slots) for line in _value_lines(f"v{i}", slot)],
                  "".join(f"e{i}, " for i in range(len(targets))) + f"= n{at}.raw_edges"]
        for i, target in enumerate(targets):
            if target is None:
                lines.append(f"if e{i} is not None: return")
                continue
            lines += [f"if e{i} is None or e{i}[1] != {target[1]}: return",
                      f"if e{i}[0] is not n{target[0]}: return" if target[0] in met else f"n{target[0]} = e{i}[0]"]
            met.add(target[0])
    names = [f"n{i}" for i in range(count)]
    lines += [f"if is_watched(n{i}): return" for i, _ in leaves]
    lines += [f"if len({{{', '.join([f'id({n})' for n in names])}}}) != {count}: return", f"return [{', '.join(names)}]"]
    source = "\n    ".join(["def meet(n0, grad, stamp, enters, entered, numbers):", *lines])
    space: dict[str, Any] = {"calls": tuple([call for call, *_ in steps]), "Value": Value, "is_watched": is_watched}
    exec(compile(source, "<jtorch walk>", "exec"), space)
    return space["meet"]


def _value_lines(name: str, slot: int | None) -> list[str]:
    """Return lines of source that compare a saved value with the known slot. ``slot`` is None for a Python number."""
    if slot is None:
        return [f"if {name}.__class__ is Value: return", f"numbers.append({name})"]
    return [f"if {name}.__class__ is not Value: return",
            f"if ({name}.stamp is not stamp or {name}.slot != {slot}) and not enters({name}, {slot}, stamp, entered): return"]


def known(state: Any, root: Any, nr: int) -> list[Walk]:
    """Return the walks known from a state of the trace that begin at output ``nr`` of ``root``."""
    found = state.walks.get((root.call, nr))
    return found.walks if found is not None else []


class _Known:
    """The walks known from one state and first call, and how many such walks were ever learnt."""

    __slots__ = ("learnt", "walks")

    def __init__(self):
        self.learnt, self.walks = 0, []


def learn(state: Any, root: Any, nr: int, nodes: list[tuple[Any, list]], leaves: list[tuple[Any, Value]], grad: Value, first: int,
          trace: Any) -> None:
    """Add a walk (see ``Walk``) and drop the oldest beyond ``policy.OFTEN``."""
    found = state.walks.setdefault((root.call, nr), _Known())
    if found.learnt < policy.MANY:
        found.learnt += 1
        found.walks.append(Walk(nodes, leaves, grad, first, trace))
        del found.walks[:-policy.OFTEN]
