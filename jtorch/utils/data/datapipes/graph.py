"""The graph of the pipes that a pipe consists of."""
from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from jtorch.utils.data.datapipes.datapipe import IterDataPipe, MapDataPipe

Graph = dict[int, tuple[Any, "Graph"]]


def _sources(pipe: Any) -> Iterator[Any]:
    """Yield the pipes among a pipe's attributes, also in lists, tuples and dicts."""
    found = list(vars(pipe).values())
    while found:
        thing = found.pop(0)
        if isinstance(thing, (IterDataPipe, MapDataPipe)):
            yield thing
        elif isinstance(thing, (list, tuple)):
            found.extend(thing)
        elif isinstance(thing, dict):
            found.extend(thing.values())


def traverse_dps(datapipe: Any) -> Graph:
    """Map the id of a pipe to the pipe and the graphs of its sources."""
    below: Graph = {}
    for source in _sources(datapipe):
        below.update(traverse_dps(source))
    return {id(datapipe): (datapipe, below)}


def pipes_of(graph: Graph) -> list:
    """Return all pipes of a graph, each once."""
    found: dict[int, Any] = {}
    for key, (pipe, below) in graph.items():
        found[key] = pipe
        found.update({id(p): p for p in pipes_of(below)})
    return list(found.values())
