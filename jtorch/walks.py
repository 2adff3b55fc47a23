"""Walks: what backward recorded the last time it set out from the same state of the record.

Walking a tape costs about 5 µs a node, most of it looking up calls in the trie. Where a tape of the same form has been
walked from the same state before, it is known which calls follow, and the record goes to the state behind them in one
step. What the tape holds is compared with what it held then: calls, saved values by their place in the record, where
the gradients go, hooks and versions. Nothing is assumed of it.
"""
from __future__ import annotations

from typing import Any

from jtorch.engine import Value

MAX_WALKS = 4       # known from one state and one first call
LEAF = -1           # the output number in an edge whose target is a leaf tensor itself


def is_watched(leaf) -> bool:
    """Whether anybody sees how a gradient arrives at a leaf, which then needs a node."""
    return bool(leaf._leaf_hooks or leaf._post_accumulate_hooks) or (
        leaf._accumulator is not None and leaf._accumulator() is not None)


class Walk:
    """One known walk: its steps in order, and the state of the record behind them.

    A step is (call, which of the nodes met so far, the slots of the saved values, the edges as (number of the target in
    the order met, output number) or None).
    """

    __slots__ = ("after", "avals", "entering", "leaves", "root_slot", "steps")

    def __init__(self, trace: list[tuple[Any, list]], leaves: list[tuple[Any, Value]], root: Value, first: int, rec: Any):
        new = rec.values[first:]
        self.after = rec.state
        self.avals = [v.aval for v in new]
        self.entering = {first + i: v.aval for i, v in enumerate(new) if v.born is not rec.stamp}
        self.root_slot = root.slot
        met: dict[int, int] = {id(trace[0][0]): 0}
        self.steps = []
        for node, saved in trace:
            edges = [e and (met.setdefault(id(e[0]), len(met)), e[1]) for e in node.raw_edges]
            slots = [v.slot if v.__class__ is Value else -1 for v in saved]
            self.steps.append((node.call, met[id(node)], slots, edges))
        self.leaves = [(met[id(leaf)], value.slot) for leaf, value in leaves]    # (number in the order met, slot)

    def follow(self, root: Any, grad: Value, rec: Any) -> list | None:
        """Records the walk from ``root``. Gives what it met, nodes and leaves in order; None if this is not the walk."""
        entered: list[tuple[int, Value]] = []
        numbers: list = []
        found = self._meet(root, grad, rec.stamp, entered, numbers)
        if found is None:
            for _, v in entered:
                v.stamp = None
            return None
        values, stamp, n = rec.values, rec.stamp, len(rec.values)
        for aval in self.avals:
            values.append(Value(aval, None, stamp, n))
            n += 1
        for slot, v in entered:
            values[slot] = v
        rec.numbers += numbers
        rec.state, rec.held = self.after, True
        return found

    def _meet(self, root: Any, grad: Value, stamp: Any, entered: list, numbers: list) -> list | None:
        """What is on the way from ``root``, compared with what was there when the walk became known; changes only stamps."""
        if not self._enters(grad, self.root_slot, stamp, entered):
            return None
        found, met = [root], {id(root): 0}
        for call, at, slots, targets in self.steps:
            node = found[at]
            if node.call is not call or node.watched or node.saved is None:
                return None
            for counter, version in node.versions:
                if counter is not None and counter.version != version:
                    return None
            for v, slot in zip(node.saved, slots):          # noqa: B905  (the hot path)
                if v.__class__ is not Value:
                    if slot >= 0:       # then it was a value, and is now what a hook has packed
                        return None
                    numbers.append(v)
                elif (v.stamp is not stamp or v.slot != slot) and not self._enters(v, slot, stamp, entered):
                    return None
            for edge, target in zip(node.raw_edges, targets):       # noqa: B905
                if edge is not None:
                    key = id(edge[0])
                    number = met.get(key)
                    if number is None:
                        number = met[key] = len(found)
                        found.append(edge[0])
                    if target is None or target[0] != number or target[1] != edge[1]:
                        return None
                elif target is not None:
                    return None
        return None if any([is_watched(found[i]) for i, _ in self.leaves]) else found

    def _enters(self, v: Value, slot: int, stamp: Any, entered: list) -> bool:
        """Whether a value is where it was, or comes into the record now as it did then."""
        if v.stamp is stamp:
            return v.slot == slot
        if v.array is None or self.entering.get(slot) is not v.aval:
            return False
        v.stamp, v.slot = stamp, slot
        entered.append((slot, v))
        return True


def known(state: Any, root: Any, nr: int) -> list[Walk]:
    """The walks known from a state of the record and a first node with a gradient of its output ``nr``."""
    return state.walks.get((root.call, nr), ())


def learn(state: Any, root: Any, nr: int, walk: Walk) -> None:
    """Adds a walk, forgetting the oldest beyond the few that are kept."""
    walks = state.walks.setdefault((root.call, nr), [])
    walks.append(walk)
    del walks[:-MAX_WALKS]
