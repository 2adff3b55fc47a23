"""Matching of a pattern in a graph. See torch.fx.passes.utils.matcher_utils."""
from __future__ import annotations

import copy
from dataclasses import dataclass, field
from typing import Any

from jtorch.fx.graph import Graph
from jtorch.fx.graph_module import _get_attr
from jtorch.fx.node import Node
from jtorch.tensor import Tensor

__all__ = ["InternalMatch", "SubgraphMatcher"]


@dataclass
class InternalMatch:
    """A match: the graph's node for each node of the pattern. See torch.fx.passes.utils.matcher_utils.InternalMatch."""

    anchors: list[Node]
    nodes_map: dict[Node, Any] = field(default_factory=dict)
    placeholder_nodes: list[Any] = field(default_factory=list)
    returning_nodes: list[Node] = field(default_factory=list)
    name_node_map: dict[str, Node] = field(default_factory=dict)

    def __copy__(self) -> InternalMatch:
        return InternalMatch(self.anchors, dict(self.nodes_map), list(self.placeholder_nodes), list(self.returning_nodes))


class SubgraphMatcher:
    """Matches a pattern from its last nodes upwards. See torch.fx.passes.utils.matcher_utils.SubgraphMatcher."""

    def __init__(self, pattern: Graph, match_output: bool = False, match_placeholder: bool = False,
                 remove_overlapping_matches: bool = True, ignore_literals: bool = False):
        self.pattern, self.match_output, self.match_placeholder = pattern, match_output, match_placeholder
        self.remove_overlapping_matches, self.ignore_literals = remove_overlapping_matches, ignore_literals
        if not len(pattern.nodes):
            raise ValueError("SubgraphMatcher cannot be initialized with an empty pattern")
        for node in pattern.nodes:
            if node.op != "output" and not node.is_impure() and not node.users:
                raise AssertionError("SubgraphMatcher cannot be initialized with an pattern with dead code")
        self.pattern_placeholder_nodes = [n for n in pattern.nodes if n.op == "placeholder"]
        output = pattern.output_node()
        self.pattern_returning_nodes = output.all_input_nodes
        self.pattern_anchors = [output] if match_output else [n for n in output.all_input_nodes if len(n.users) == 1]

    def match(self, graph: Graph, node_name_match: str = "") -> list[InternalMatch]:
        """Return all matches of the pattern. See torch.fx.passes.utils.matcher_utils.SubgraphMatcher.match."""
        candidates = [(a, [n for n in graph.nodes if self._alike(a, n, node_name_match)]) for a in self.pattern_anchors]
        candidates = [(a, found) for a, found in candidates if found]
        matches: list[InternalMatch] = []

        def search(at: int, match: InternalMatch) -> None:
            if at == len(candidates):
                match.placeholder_nodes = [match.nodes_map[p] for p in self.pattern_placeholder_nodes]
                match.returning_nodes = [match.nodes_map[p] for p in self.pattern_returning_nodes]
                matches.append(match)
                return
            anchor, nodes = candidates[at]
            for node in nodes:
                trial = copy.copy(match)
                if self._match_nodes(anchor, node, trial, node_name_match):
                    search(at + 1, trial)
        if candidates:
            search(0, InternalMatch(self.pattern_anchors))
        matches = [m for m in matches if self._is_contained(m.nodes_map) and _closed(_computing(m))]
        return _first_of_overlapping(matches) if self.remove_overlapping_matches else matches

    def _alike(self, pn: Node, gn: Node, name: str = "") -> bool:
        """Return whether ``gn`` can match the pattern's node ``pn``, apart from their arguments."""
        if (not self.match_placeholder and pn.op == "placeholder") or (name and name in gn.name):
            return True
        if pn.op != gn.op:
            return False
        if pn.op == "get_attr":
            mine, theirs = (_get_attr(n.graph.owning_module, str(n.target)) for n in (pn, gn))
            if type(mine) is type(theirs) and not isinstance(mine, Tensor):
                raise RuntimeError(f"Unsupported type {mine} when matching attributes")
            return type(mine) is type(theirs)
        return pn.op in ("placeholder", "output") or pn.target == gn.target

    def _match_nodes(self, pn: Node, gn: Node, match: InternalMatch, name: str = "") -> bool:
        if pn in match.nodes_map:
            return match.nodes_map[pn] is gn
        if any([gn is other for other in match.nodes_map.values()]) or not self._alike(pn, gn, name):
            return False
        before = dict(match.nodes_map)
        match.nodes_map[pn] = gn
        if pn.op == "placeholder":
            return True
        if len(pn.args) == len(gn.args) and list(pn.kwargs) == list(gn.kwargs) and self._match_args(
                [*pn.args, *pn.kwargs.values()], [*gn.args, *gn.kwargs.values()], match):
            return True
        match.nodes_map = before
        return False

    def _match_args(self, mine: Any, theirs: Any, match: InternalMatch) -> bool:
        return len(mine) == len(theirs) and all(self._match_arg(a, b, match) for a, b in zip(mine, theirs, strict=True))

    def _match_arg(self, a: Any, b: Any, match: InternalMatch) -> bool:
        if isinstance(a, Node) and isinstance(b, Node):
            return self._match_nodes(a, b, match)
        if isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)):
            return self._match_args(a, b, match)
        return self._match_literals(a, b, match) or self.ignore_literals

    def _match_literals(self, a: Any, b: Any, match: InternalMatch) -> bool:
        if isinstance(a, Node):
            if a.op != "placeholder":
                return False
            return match.nodes_map.setdefault(a, b) == b
        return not isinstance(b, Node) and type(a) is type(b) and a == b

    def _is_contained(self, nodes_map: dict[Node, Any]) -> bool:
        """Return whether inner nodes have no users outside the match, except for those that the pattern returns."""
        inside = {gn: pn for pn, gn in nodes_map.items() if pn.op != "placeholder"}
        return all([pn in self.pattern_returning_nodes or all([u in inside for u in gn.users]) for gn, pn in inside.items()])


def _computing(match: InternalMatch) -> list[Node]:
    return [gn for pn, gn in match.nodes_map.items() if pn.op not in ("placeholder", "output")]


def _first_of_overlapping(matches: list[InternalMatch]) -> list[InternalMatch]:
    taken: set[Node] = set()
    kept = []
    for match in matches:
        if not taken.intersection(_computing(match)):
            kept.append(match)
            taken.update(_computing(match))
    return kept


def _closed(nodes: list[Node]) -> bool:
    """Return whether no path leaves the nodes and enters them again, so that one node can replace them."""
    inside, seen = set(nodes), set()
    todo = [u for n in nodes for u in n.users if u not in inside]
    while todo:
        node = todo.pop()
        if node in inside:
            return False
        if node not in seen:
            seen.add(node)
            todo += list(node.users)
    return True
