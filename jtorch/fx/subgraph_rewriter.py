"""Replacement of patterns in graphs. See torch.fx.replace_pattern."""
from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from jtorch.fx._symbolic_trace import symbolic_trace
from jtorch.fx.graph import Graph
from jtorch.fx.graph_module import GraphModule, _get_attr, _has_attr
from jtorch.fx.node import Node
from jtorch.fx.passes.utils.matcher_utils import InternalMatch, SubgraphMatcher
from jtorch.nn.modules.module import Module

__all__ = ["Match", "ReplacedPatterns", "replace_pattern", "replace_pattern_with_filters"]


class Match(NamedTuple):
    """A place where a pattern was found. See torch.fx.subgraph_rewriter.Match."""

    anchor: Node
    nodes_map: dict[Node, Node]


@dataclass
class ReplacedPatterns:
    """A place where a pattern was found, and the nodes that replace it. See torch.fx.subgraph_rewriter.ReplacedPatterns."""

    anchor: Node
    nodes_map: dict[Node, Node]
    replacements: list[Node]


def replace_pattern(gm: GraphModule, pattern: Any, replacement: Any) -> list[Match]:
    """Replace all occurrences of a pattern in a graph. See torch.fx.replace_pattern.

    Args:
        gm: the module, whose graph is changed.
        pattern: a function or module that describes the pattern.
        replacement: a function or module of the same inputs that describes the replacement.

    Returns:
        The matches.

    >>> m = torch.fx.symbolic_trace(lambda x: torch.relu(x) + 1)
    >>> len(torch.fx.replace_pattern(m, lambda x: torch.relu(x), lambda x: torch.tanh(x)))
    1
    >>> m(torch.zeros(2))
    tensor([1., 1.])

    """
    return [Match(m.anchor, m.nodes_map) for m in replace_pattern_with_filters(gm, pattern, replacement)]


def _graph_of(what: Any) -> Graph:
    return what.graph if isinstance(what, GraphModule) else what if isinstance(what, Graph) else symbolic_trace(what).graph


def replace_pattern_with_filters(gm: GraphModule, pattern: Any, replacement: Any = None,
                                 match_filters: list[Callable] | None = None, ignore_literals: bool = False,
                                 replacement_callback: Callable | None = None,
                                 node_name_match: str = "") -> list[ReplacedPatterns]:
    """Replace the occurrences that all filters accept. See torch.fx.subgraph_rewriter.replace_pattern_with_filters."""
    graph, wanted = gm.graph, _graph_of(pattern)
    matches = SubgraphMatcher(wanted, ignore_literals=ignore_literals).match(graph, node_name_match)
    matches = [m for m in matches if all(f(m, graph, wanted) for f in match_filters or ())]
    if replacement is None and replacement_callback is None:
        raise AssertionError("Must provide either a replacement GraphModule or a replacement callback")
    common = None if replacement is None else _graph_of(replacement)
    changed: dict[Node, Node] = {}
    made = []
    for match in matches:
        new = common if replacement_callback is None else replacement_callback(match, graph, wanted)
        made.append(_replace(graph, wanted, match, new, changed))       # type: ignore[arg-type]
    gm.recompile()
    if isinstance(replacement, Module):
        _bring_attributes(gm, replacement)
    return made


def _replace(graph: Graph, pattern: Graph, match: InternalMatch, new: Graph, changed: dict[Node, Node]) -> ReplacedPatterns:
    inputs = [n for n in new.nodes if n.op == "placeholder"]
    if len(match.placeholder_nodes) != len(inputs):
        raise AssertionError(f"Placeholder count mismatch: {len(match.placeholder_nodes)} vs {len(inputs)}")
    now = {n: changed[n] for n in match.placeholder_nodes if isinstance(n, Node) and n in changed}
    match.placeholder_nodes = [now.get(n, n) if isinstance(n, Node) else n for n in match.placeholder_nodes]
    match.nodes_map = {pn: now.get(gn, gn) if isinstance(gn, Node) else gn for pn, gn in match.nodes_map.items()}
    known = dict(zip(inputs, match.placeholder_nodes, strict=True))
    with graph.inserting_before(_place(graph, match.returning_nodes)):
        results = graph.graph_copy(new, known)
    results = (results,) if isinstance(results, Node) else results
    if len(match.returning_nodes) != len(results):
        raise AssertionError(f"Returning nodes count mismatch: {len(match.returning_nodes)} vs {len(results)}")
    for old, result in zip(match.returning_nodes, results, strict=True):
        old.replace_all_uses_with(result)
        changed[old] = result
    for node in reversed(pattern.nodes):
        if node.op not in ("placeholder", "output"):
            graph.erase_node(match.nodes_map[node])
    added = [n for n in known.values() if not any([n is p for p in match.placeholder_nodes])]
    return ReplacedPatterns(match.anchors[0], match.nodes_map, added)


def _place(graph: Graph, returning: list[Node]) -> Node:
    """Return the node before which the replacement goes: the first user of a result, or the node after the last result."""
    users = {u for n in returning for u in n.users}
    if users:
        return min(users)
    return max(returning).next


def _bring_attributes(gm: GraphModule, replacement: Any) -> None:
    """Remove submodules that are no longer used, and copy the attributes that the replacement uses to the module."""
    gm.delete_all_unused_submodules()
    if isinstance(replacement, GraphModule):
        replacement.graph.lint()
    for node in gm.graph.nodes:
        if node.op not in ("call_module", "get_attr") or _has_attr(gm, str(node.target)):
            continue
        if not _has_attr(replacement, str(node.target)):
            raise RuntimeError('Attempted to create a "', node.op, f'" node during subgraph rewriting with target {node.target}, '
                               "but the referenced attribute does not exist in the replacement GraphModule")
        new = copy.deepcopy(_get_attr(replacement, str(node.target)))
        if isinstance(new, Module):
            gm.add_submodule(str(node.target), new)
        else:
            setattr(gm, str(node.target), new)
    gm.graph.lint()
