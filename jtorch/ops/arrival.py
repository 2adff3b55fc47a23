"""The order in which gradients arrive at the arguments of PyTorch's composite ops: see ``arrival`` of ``op``.

Each function maps a node's template, avals and edges to ``Turns``: the position of an argument's gradient, from 1, by the
argument's number. Arguments without a position get their gradients first.
"""
from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence

from jtorch.ops.registry import Marker

Turns = dict[int, int]


def in_order(numbers: Sequence[int]) -> Turns:
    """Return ``Turns`` in the order of ``numbers``."""
    return {number: turn for turn, number in enumerate(numbers, 1)}


def these(*numbers: int) -> Callable[..., Turns]:
    """Return a function for an op whose arguments get their gradients in the order of ``numbers``."""
    turns = in_order(numbers)
    return lambda template, avals, edges: turns


def last_first(template: tuple, avals: Sequence, edges: Sequence) -> Turns:
    """Return ``Turns`` from the last of several arguments to the first, since the last argument's node was made last."""
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
    """Return a function for an op whose parameters, by place in the template, get their gradients in the order of ``places``."""
    def turns(template: tuple, avals: Sequence, edges: Sequence) -> Turns:
        numbers = numbers_of(template)
        return in_order([number for place in places for number in numbers[place]])
    return turns
