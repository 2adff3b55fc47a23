"""The backward of a node, computed by PyTorch's operators."""
from __future__ import annotations

from typing import Any

from jtorch._api import functions as torch
from jtorch._aten import derivatives
from jtorch._aten.asking import ask, takes_over
from jtorch._aten.composites import COMPOSITES
from jtorch._aten.composites.shapes import summed_to
from jtorch._aten.context import Context, saved_tensors
from jtorch._aten.fitting import arguments, described
from jtorch._aten.history import TensorNode, given_history, is_plain
from jtorch._aten.own import named_after_op
from jtorch._aten.stack import state, switched_off
from jtorch._backward.backward import run_backward
from jtorch._backward.view_history import edge_of
from jtorch._library.namespaces import ops
from jtorch._nodes.hooks import as_tensor
from jtorch._nodes.vjp import vjp_call
from jtorch.engine import Value
from jtorch.no_grad import enable_grad, no_grad
from jtorch.storage import geometry_of, value_of
from jtorch.tensor import Tensor

aten = ops.aten


def backward(node: Any, grads: dict, create_graph: bool, needs: list[bool]) -> list | None:
    """Return the gradients of a node's inputs by operators, or None if nothing takes them over or no gradient is needed."""
    if state.off or not (state.modes or isinstance(node, TensorNode) or any([not is_plain(g) for g in grads.values()])):
        return None
    if node.call.op.is_backward:
        return _by_own_operator(node, grads, create_graph, needs)
    rule = derivatives.RULES.get(node.call.op.name)
    context = Context(node, grads, create_graph, needs)
    if rule is not None:
        made = rule(context)
        if made is not NotImplemented:
            return _handed_on(node, context.in_order(made), create_graph)
    if node.call.op.name in COMPOSITES:
        made = _of_composite(context)
        if made is not None:
            return _handed_on(node, made, create_graph)
    return _by_own_operator(node, grads, create_graph, needs)


def _by_own_operator(node: Any, grads: dict, create_graph: bool, needs: list[bool]) -> list | None:
    """Return the gradients by the op's vjp as one operator of the namespace ``jtorch``, or None without gradients to compute."""
    wanted, given = tuple([i for i, n in enumerate(needs) if n]), tuple(sorted(grads))
    if not wanted or not given:
        return None
    c = vjp_call(node.call, wanted, given)
    flat = [*saved_tensors(node, create_graph), *[as_tensor(grads[i]) for i in given]]
    named = named_after_op(c, flat)
    made = ask(named.func, named.args, named.kwargs)
    outs = given_history(c, flat, list(made), named) if create_graph else list(made)
    left = iter(outs)
    return _handed_on(node, [(next(left) if n else None, n) for n in needs], create_graph)


def _handed_on(node: Any, outs: list, create_graph: bool) -> list:
    """Return gradients for the walk: values, unless modes, classes or ``create_graph`` need tensors."""
    made = [_fitted(node, i, g) if needed else None for i, (g, needed) in enumerate(outs)]
    if state.modes or create_graph:
        return made
    for edge, g in zip(node.raw_edges, made, strict=True):
        if g is not None and not is_plain(g) and edge is not None and hasattr(edge[0], "watched"):
            edge[0].watched = True      # Python must run the node that gets a tensor as gradient: C takes only values
    return [value_of(g) if g is not None and is_plain(g) else g for g in made]


def _fitted(node: Any, i: int, g: Any) -> Any:
    """Return a gradient summed to the shape of the argument."""
    if g is None:
        return None
    g = as_tensor(g)
    t = node.saved[i]
    shape = tuple(t.shape) if isinstance(t, Tensor) else t.aval.shape if t.__class__ is Value else tuple(g.shape)
    return g if tuple(g.shape) == shape else summed_to(g, shape)


def _of_composite(context: Context) -> list | None:
    """Return the gradients of a composite op by running its operators again and going backward through them."""
    node = context.node
    flat = context.flat
    leaves = [t if not isinstance(t, Tensor) or not n else (t if context.create_graph else _leaf(t))
              for t, n in zip(flat, context.needs, strict=True)]
    with enable_grad(), switched_off():
        made = COMPOSITES[node.call.op.name](**arguments(node.call, leaves))
    if made is NotImplemented:
        return None
    outs = list(made) if isinstance(made, (list, tuple)) else [made]
    roots = [(*edge_of(outs[nr]), context.grad(nr)) for nr in context.grads if outs[nr].requires_grad]
    wanted = {i: edge_of(t) for i, t in enumerate(leaves) if context.needs[i]}
    found = run_backward(roots, retain_graph=context.create_graph, create_graph=context.create_graph,
                         captures=list(wanted.values()), accumulate=False)
    return [(found.get(wanted[i]) if n else None, n) for i, n in enumerate(context.needs)]


def _leaf(t: Tensor) -> Tensor:
    with no_grad(), switched_off():
        return t.detach().requires_grad_()


# ---------------------------------------------------------------- the start and the end of a backward

def ones_like(t: Tensor) -> Any:
    """Return the gradient that backward starts from, made by an operator, or None if nothing takes the call over."""
    if not takes_over([t]):
        return None
    with no_grad():
        return torch.ones_like(t)


def accumulate(t: Tensor, grad: Any, create_graph: bool) -> bool:
    """Accumulate a leaf's gradient by operators if something takes them over. Return whether it did."""
    grad = as_tensor(grad)
    if not takes_over([t, grad, *([t.grad] if t.grad is not None else [])]) or (grad._storage.value is None and is_plain(grad)):
        return False
    if t.grad is not None:
        if create_graph:
            t._grad = t.grad + grad
        else:
            with no_grad():
                t.grad.add_(grad) if is_plain(t.grad) else setattr(t, "_grad", t.grad + grad)
        return True
    if create_graph:
        t._grad = grad.clone()
        return True
    t._grad = _taken(t, grad)
    return True


def _taken(t: Tensor, grad: Tensor) -> Tensor:
    """Return a leaf's first gradient: detached if its strides are the leaf's, else a copy."""
    with no_grad():
        if not is_plain(grad) or geometry_of(grad)[1] == geometry_of(t)[1]:
            return grad.detach()
        size, stride, _ = geometry_of(t)
        made = aten.new_empty_strided.default(t, list(size), list(stride), **described(grad.dtype, grad.device))
        return made.copy_(grad)
