"""Walks: what backward recorded the last time it set out from the same state of the trace.

Walking a tape costs about 5 µs a node, most of it looking up calls in the trie. Where a tape of the same form has been
walked from the same state before, it is known which calls follow, and the trace goes to the state behind them in one
step. What the tape holds is compared with what it held then: calls, saved values by their place in the trace, where
the gradients go, hooks and versions. Nothing is assumed of it.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from jtorch.engine import Value
from jtorch.speedups.constants import DEFERRED

MAX_WALKS = 4       # known from one state and one first call
MAX_LEARNT = 32     # and learnt there in all: generating a function costs about as much as 30 walks without


def is_watched(leaf) -> bool:
    """Whether anybody sees how a gradient arrives at a leaf, which then needs a node."""
    return bool(leaf._leaf_hooks or leaf._post_accumulate_hooks) or (
        leaf._accumulator is not None and leaf._accumulator() is not None)


class Walk:
    """One known walk: which of the nodes met it goes through, and the state of the trace behind it."""

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
        self.through = tuple([at for _, at, _, _ in steps])        # as numbers in the order met
        self.leaves = tuple([(met[id(leaf)], value.slot) for leaf, value in leaves])    # (number in the order met, slot)
        self.steps, self.count = (root.slot, *steps), len(met)
        self._meet: Callable | None = None      # generated when Python first follows the walk

    def follow(self, root: Any, grad: Value, trace: Any) -> list | None:
        """Records the walk from ``root``. Gives what it met, nodes and leaves in order; None if this is not the walk."""
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
        """Puts the walk's values into the trace, and the trace where the walk ends."""
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
        """Whether a value is where it was, or comes into the trace now as it did then."""
        if v.stamp is stamp:
            return v.slot == slot
        if v.array is None or self.entering.get(slot) is not v.aval:
            return False
        v.stamp, v.slot = stamp, slot
        entered.append((slot, v))
        return True


def _meeting(root_slot: int, steps: tuple, leaves: tuple[tuple[int, int], ...], count: int) -> Callable:
    """A function that goes from a root along these steps: what it met, or None where anything is not as it was.

    A step is (call, which of the nodes met so far, the slots of the saved values, the edges as (number of the target in
    the order met, output number) or None). The function changes nothing but the stamps of values that enter the trace,
    which it notes in ``entered``. Its source is generated, since a loop over the steps takes two to three times as long.
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
    """Where a saved value is no longer where it was (or a number is a value now, or packed by a hook), it is another walk."""
    if slot is None:
        return [f"if {name}.__class__ is Value: return", f"numbers.append({name})"]
    return [f"if {name}.__class__ is not Value: return",
            f"if ({name}.stamp is not stamp or {name}.slot != {slot}) and not enters({name}, {slot}, stamp, entered): return"]


def known(state: Any, root: Any, nr: int) -> list[Walk]:
    """The walks known from a state of the trace and a first node with a gradient of its output ``nr``."""
    found = state.walks.get((root.call, nr))
    return found.walks if found is not None else []


class _Known:
    """The walks known from one place, and how many have been learnt there."""

    __slots__ = ("learnt", "walks")

    def __init__(self):
        self.learnt, self.walks = 0, []


def learn(state: Any, root: Any, nr: int, nodes: list[tuple[Any, list]], leaves: list[tuple[Any, Value]], grad: Value, first: int,
          trace: Any) -> None:
    """Adds a walk (see ``Walk``), forgetting the oldest beyond the few that are kept."""
    found = state.walks.setdefault((root.call, nr), _Known())
    if found.learnt < MAX_LEARNT:
        found.learnt += 1
        found.walks.append(Walk(nodes, leaves, grad, first, trace))
        del found.walks[:-MAX_WALKS]
