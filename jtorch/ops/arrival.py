"""The order in which gradients arrive at the arguments of PyTorch's composite ops: see ``arrival`` of ``op``.

Each function maps a node's template, avals and edges to turns by argument number. Gradients arrive in the order of turns.
Other arguments get their gradients at once.
"""
from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence

from jtorch.ops.registry import Marker

Turns = dict[int, int]


def in_order(numbers: Sequence[int]) -> Turns:
    """Return the turns of arguments that come one after another."""
    return {number: turn for turn, number in enumerate(numbers, 1)}


def these(*numbers: int) -> Callable[..., Turns]:
    """Return a function for an op whose arguments of these numbers come in this order."""
    turns = in_order(numbers)
    return lambda template, avals, edges: turns


def last_first(template: tuple, avals: Sequence, edges: Sequence) -> Turns:
    """Return turns in which the last of several arguments comes first, since its node was made last."""
    return in_order(range(len(edges))[::-1]) if len(edges) > 1 else {}


def numbers_of(template: tuple) -> list[list[int]]:
    """Return the numbers of the arguments that each parameter takes."""
    counter = itertools.count()
    return [[next(counter) for _ in _markers(entry)] for entry in template]


def _markers(entry: object) -> Iterator[Marker]:
    for item in entry if isinstance(entry, tuple) else (entry,):
        if isinstance(item, Marker):
            yield item


def params(*places: int) -> Callable[..., Turns]:
    """Return a function for an op whose parameters at these places of the template come in this order."""
    def turns(template: tuple, avals: Sequence, edges: Sequence) -> Turns:
        numbers = numbers_of(template)
        return in_order([number for place in places for number in numbers[place]])
    return turns
