"""The directed graph of modules and pickles, of which each edge leads to a module that is needed."""
from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Iterator
from typing import Any


class DiGraph:
    """A directed graph without data on its edges. Nodes have attributes, and keep the order in which they came."""

    def __init__(self) -> None:
        self._node: dict[Hashable, dict[str, Any]] = {}
        self._succ: dict[Hashable, dict[Hashable, bool]] = {}
        self._pred: dict[Hashable, dict[Hashable, bool]] = {}

    def add_node(self, n: Hashable, **kwargs: Any) -> None:
        """Add a node, or set further attributes of one that exists."""
        self._node.setdefault(n, {}).update(kwargs)
        self._succ.setdefault(n, {})
        self._pred.setdefault(n, {})

    def add_edge(self, u: Hashable, v: Hashable) -> None:
        """Add an edge from ``u`` to ``v``, and those of the two nodes that are missing."""
        self.add_node(u)
        self.add_node(v)
        self._succ[u][v] = self._pred[v][u] = True

    def successors(self, n: Hashable) -> Iterator:
        """Return an iterator over the nodes to which edges lead from ``n``. Raise ValueError if there is no node ``n``."""
        return self._neighbours(self._succ, n)

    def predecessors(self, n: Hashable) -> Iterator:
        """Return an iterator over the nodes from which edges lead to ``n``. Raise ValueError if there is no node ``n``."""
        return self._neighbours(self._pred, n)

    def _neighbours(self, of: dict, n: Hashable) -> Iterator:
        if n not in self:
            raise ValueError(f"The node {n} is not in the digraph.")
        return iter(of[n])

    @property
    def edges(self) -> Iterator[tuple]:
        """The edges, as pairs of nodes."""
        return ((u, v) for u, found in self._succ.items() for v in found)

    @property
    def nodes(self) -> dict:
        """The nodes' attributes, by node."""
        return self._node

    def __iter__(self) -> Iterator:
        return iter(self._node)

    def __contains__(self, n: object) -> bool:
        try:
            return n in self._node
        except TypeError:       # The object has no hash.
            return False

    def forward_transitive_closure(self, src: str) -> set:
        """Return the nodes that can be reached from ``src``, with ``src``."""
        return _closure(src, self.successors)

    def backward_transitive_closure(self, src: str) -> set:
        """Return the nodes from which ``src`` can be reached, with ``src``."""
        return _closure(src, self.predecessors)

    def all_paths(self, src: str, dst: str) -> Any:
        """Return the part of the graph on paths from ``src`` to ``dst`` in the DOT language; an empty graph without a path."""
        reachable, found = self.forward_transitive_closure(src), DiGraph()
        if dst not in reachable:
            return found
        seen, waiting = {dst}, deque([dst])
        while waiting:
            n = waiting.popleft()
            for before in self.predecessors(n):
                if before in reachable:
                    found.add_edge(before, n)
                    if before not in seen:
                        seen.add(before)
                        waiting.append(before)
        return found.to_dot()

    def first_path(self, dst: str) -> list[str]:
        """Return the nodes by way of which ``dst`` first came into the graph."""
        order = {n: i for i, n in enumerate(self._node)}
        path: list[Any] = [dst]
        while self._pred[path[0]]:
            path.insert(0, min(self._pred[path[0]], key=order.__getitem__))
            if path[0] in path[1:]:
                break
        return path

    def to_dot(self) -> str:
        """Return the graph in the DOT language."""
        edges = "\n".join(f'"{u}" -> "{v}";' for u, v in self.edges)
        return f"digraph G {{\nrankdir = LR;\nnode [shape=box];\n{edges}\n}}\n"


def _closure(src: Any, following: Callable[[Any], Iterator]) -> set:
    """Return all nodes that ``following`` reaches from ``src`` in any number of steps, with ``src``."""
    found, waiting = {src}, deque([src])
    while waiting:
        for n in following(waiting.popleft()):
            if n not in found:
                found.add(n)
                waiting.append(n)
    return found
