"""The backward of a stage: in one part, or with the parameters' gradients computed later than the inputs'."""
from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from jtorch._api import functions
from jtorch._backward.view_history import edge_of
from jtorch._parallel.pipelining.metadata import described
from jtorch.autograd.graph import GradientEdge
from jtorch.autograd.run import backward, grad
from jtorch.tape import Node
from jtorch.tensor import Parameter, Tensor


@contextmanager
def _explained(what: str, outputs: Any, output_grads: Any, inputs: Any) -> Iterator[None]:
    """Raise RuntimeError with a description of the backward's tensors, if the block fails."""
    try:
        yield
    except Exception as error:
        raise RuntimeError(f"\n        Failed to run {what}:\n        Stage output: {described(outputs)}\n        "
                           f"Output gradient: {described(output_grads)}\n        Input: {described(inputs)}\n        ") from error


# ---------------------------------------------------------------- full backward

def _pairs(output: Any, grads: Any) -> Iterator[tuple[Tensor, Tensor | None]]:
    """Yield the tensors of an output that require a gradient, each with its gradient."""
    if isinstance(output, Tensor):
        if output.requires_grad:
            if not isinstance(grads, (Tensor, type(None))):
                raise AssertionError(f"Expected Tensor or None gradient but got {type(grads)}")
            yield output, grads
    elif isinstance(output, (tuple, list)) and grads is not None:
        if not isinstance(grads, (tuple, list)):
            raise AssertionError(f"grad_value expected to have type {type(output)} but got {type(grads)}")
        if len(output) != len(grads):
            raise AssertionError(f"Expected len(output_val) == len(grad_val), got {len(output)} != {len(grads)}")
        for o, g in zip(output, grads, strict=True):
            yield from _pairs(o, g)
    elif isinstance(output, dict) and grads is not None:
        if not isinstance(grads, dict):
            raise AssertionError(f"Expected dict, got {type(grads)}")
        if set(output) != set(grads):
            raise AssertionError(f"Expected keys {set(output)}, got {set(grads)}")
        for key in output:
            yield from _pairs(output[key], grads[key])


def stage_backward(stage_output: Any, output_grads: Any, input_values: Sequence[Any],
                   outputs_with_grads_idxs: list[int] | None = None) -> tuple[Tensor | None, ...]:
    """Run a stage's backward, and return the gradients of its inputs.

    The gradients of the parameters are accumulated. The inputs do not keep their gradients.

    Args:
        stage_output: tensors in tuples, lists and dicts; or the loss, with None as ``output_grads``.
        output_grads: their gradients, in the same structure.
        input_values: the stage's inputs.
        outputs_with_grads_idxs: the indices of the outputs to differentiate; all, if None.

    Raises:
        RuntimeError: the backward fails; the message describes the tensors.

    """
    if outputs_with_grads_idxs is not None:
        stage_output = [stage_output[i] for i in outputs_with_grads_idxs]
        output_grads = [output_grads[i] for i in outputs_with_grads_idxs]
    with _explained("stage backward", stage_output, output_grads, input_values):
        pairs = list(_pairs(stage_output, output_grads))
        backward([o for o, _ in pairs], [g for _, g in pairs])
        return tuple([_taken(x) if isinstance(x, Tensor) else None for x in input_values])


def _taken(x: Tensor) -> Tensor | None:
    found, x.grad = x.grad, None
    return found


def _null_coalesce_accumulate(lhs: Tensor | None, rhs: Tensor | None) -> Tensor | None:
    """Return the sum of two values, of which either may be None."""
    return rhs if lhs is None else lhs if rhs is None else functions.add(lhs, rhs)


# ---------------------------------------------------------------- backward in two parts: inputs, then weights
#
# The inputs' gradients are computed first. Where a parameter's branch joins the path from inputs to outputs, the gradient of
# the node is kept. Later the branch is differentiated, beginning with this gradient.

def _node_of(t: Tensor) -> Node | None:
    """Return the node that receives a tensor's gradient; None if the tensor requires none."""
    edge = edge_of(t) if t.requires_grad else None
    return None if edge is None else edge[0]


def _nodes_of(values: Iterable[Any]) -> list[Node]:
    return [n for t in values if isinstance(t, Tensor) and (n := _node_of(t)) is not None]


def _users(roots: Iterable[Node]) -> dict[Node, list[Node]]:
    """Map each node reachable from ``roots`` to the nodes that use it."""
    made: dict[Node, list[Node]] = defaultdict(list)
    pending = deque(dict.fromkeys(roots))
    while pending:
        node = pending.popleft()
        for following, _ in node.next_functions:
            if following is not None:
                if following not in made:
                    pending.append(following)
                made[following].append(node)
    return made


def _reached(roots: Iterable[Node], ends: set[Node], users: dict[Node, list[Node]]) -> tuple[set[Node], set[Node]]:
    """Return the nodes that use ``roots``, directly or not, up to ``ends``; and the ``ends`` that were reached."""
    found, met, pending = set(roots), set(), deque(roots)
    while pending:
        for user in users.get(pending.popleft(), ()):
            if user in ends:
                met.add(user)
            elif user not in found:
                found.add(user)
                pending.append(user)
    return found, met


def get_param_groups(inputs: list[Node], params: list[Node], reverse_edges_dict: dict[Node, list[Node]]) -> list[dict[str, Any]]:
    """Group the parameters whose branches join the path to the inputs at the same nodes ("intermediates")."""
    on_the_way, _ = _reached(inputs, set(), reverse_edges_dict)
    group_of: dict[Node, dict[str, Any]] = {}
    for param in params:
        _, met = _reached([param], on_the_way, reverse_edges_dict)
        group: dict[str, Any] = {"params": {param}, "intermediates": met}
        for other in {id(g): g for n in met if (g := group_of.get(n)) is not None}.values():
            group["params"] |= other["params"]
            group["intermediates"] |= other["intermediates"]
        group_of.update(dict.fromkeys(group["intermediates"], group))
    return list({id(g): g for g in group_of.values()}.values())


def _keeping(group: dict[str, Any], i: int) -> Callable[[Any], None]:
    def hook(grads: Any) -> None:
        group.setdefault("grads", [None] * len(group["intermediates"]))[i] = grads
    return hook


def _autograd_grad_for_inputs(outputs: Sequence[Tensor], inputs: Sequence[Any], grad_outputs: Any = None,
                              retain_graph: bool = False, allow_unused: bool = False) -> tuple[Tensor | None, ...]:
    """Return the inputs' gradients, with None for inputs that have none."""
    wanted = [x for x in inputs if isinstance(x, Tensor) and x.requires_grad]
    if not wanted:
        return (None,) * len(inputs)
    found = iter(grad(outputs, wanted, grad_outputs, retain_graph=retain_graph, allow_unused=allow_unused))
    return tuple([next(found) if isinstance(x, Tensor) and x.requires_grad else None for x in inputs])


def _accumulate(t: Tensor, found: Tensor | None) -> None:
    if t.grad is None:
        t.grad = found
    elif found is not None:
        t.grad += found


def stage_backward_input(stage_outputs_or_loss: Sequence[Tensor], output_grads: Sequence[Tensor] | None,
                         input_values: Sequence[Any],
                         weights: Iterator[Parameter]) -> tuple[tuple[Tensor | None, ...], list[dict[str, Any]]]:
    """Compute the gradients of a stage's inputs, and keep what ``stage_backward_weight`` needs.

    Args:
        stage_outputs_or_loss: the outputs, which lose their history, or the loss.
        output_grads: their gradients; ones, if None.
        input_values: the stage's inputs, whose ``grad`` is accumulated.
        weights: the parameters.

    Returns:
        The gradients of the inputs, and the groups of parameters for ``stage_backward_weight``.

    Raises:
        RuntimeError: the backward fails; the message describes the tensors.

    """
    used = [i for i, t in enumerate(stage_outputs_or_loss) if t.requires_grad]
    outputs = [stage_outputs_or_loss[i] for i in used]
    given = [functions.ones_like(t) if output_grads is None else output_grads[i] for i, t in zip(used, outputs, strict=True)]
    groups = get_param_groups(_nodes_of(input_values), _nodes_of(weights), _users(_nodes_of(outputs)))
    handles = []
    for group in groups:
        group["intermediates"] = list(group["intermediates"])
        handles += [node.register_prehook(_keeping(group, i)) for i, node in enumerate(group["intermediates"])]
    try:
        with _explained("stage backward input", stage_outputs_or_loss, output_grads, input_values):
            found: tuple[Tensor | None, ...] = (None,) * len(input_values)
            if outputs:
                found = _autograd_grad_for_inputs(outputs, input_values, given, True, True)
            for x, g in zip(input_values, found, strict=True):
                if g is not None:
                    _accumulate(x, g)
            for t in stage_outputs_or_loss:
                t.detach_()         # type: ignore[attr-defined]
    finally:
        for handle in handles:
            handle.remove()
    return found, groups


def stage_backward_weight(weights: Iterator[Parameter], param_groups: list[dict[str, Any]],
                          retain_graph: bool = False) -> tuple[Tensor | None, ...]:
    """Accumulate the gradients of parameters from what ``stage_backward_input`` kept; return the parameters' old gradients."""
    listed = list(weights)
    before = tuple([w.grad for w in listed])
    by_node = {node: w for w in listed if (node := _node_of(w)) is not None}
    for group in param_groups:
        nodes, grads = group.pop("intermediates"), group.pop("grads", [])
        kept = [(node, own) for node, own in zip(nodes, grads, strict=False) if own is not None]
        edges = [(GradientEdge(node, i), g) for node, own in kept for i, g in enumerate(own) if g is not None]
        if edges:
            params = list(group["params"])
            found = _from_edges(kept, edges, params, retain_graph)
            for node, g in zip(params, found, strict=True):
                _accumulate(by_node[node], g)
    return before


def _from_edges(kept: list, edges: list, params: list[Node], retain_graph: bool) -> Sequence[Tensor | None]:
    """Return gradients of parameters from those at some nodes; if one node leads to another, nothing is counted twice."""
    handles = [node.register_prehook(lambda _, own=own: own) for node, own in kept] if len(kept) > 1 else []
    try:
        return grad([e for e, _ in edges], [GradientEdge(p, 0) for p in params], [g for _, g in edges], retain_graph=retain_graph,
                    allow_unused=True)
    finally:
        for handle in handles:
            handle.remove()
