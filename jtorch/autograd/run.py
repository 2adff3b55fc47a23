"""torch.autograd.backward and torch.autograd.grad."""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeGuard

from jtorch import engine, storage
from jtorch.autograd._calls import filled, stack
from jtorch.autograd.graph import GradientEdge
from jtorch.backward import run_backward
from jtorch.engine import Aval, Value
from jtorch.engine.values import ones_of
from jtorch.history import edge_of, node_of, requires_grad
from jtorch.hooks import as_tensor
from jtorch.size import Size
from jtorch.tape import Edge
from jtorch.tensor import Tensor

Tensors = Tensor | GradientEdge | Sequence[Tensor] | Sequence[GradientEdge]


def _ones_like(aval: Aval, t: Any) -> Value:
    if aval.traced:
        import jax.numpy as jnp
        array = jnp.ones_like(storage.value_of(t).array)
        return Value(engine.traced_aval(array), array)
    return ones_of(aval)


def _as_tuple(x: Any) -> tuple:
    return () if x is None else (x,) if isinstance(x, (Tensor, GradientEdge)) else tuple(x)


def _aval(t: Any) -> Aval:
    return storage.aval_of(t) if isinstance(t, Tensor) else t.node._input_metadata[t.output_nr]


def _needs_grad(t: Any) -> bool:
    return not isinstance(t, Tensor) or requires_grad(t)


def _edge(t: Any) -> Edge:
    return edge_of(t) if isinstance(t, Tensor) else (t.node, t.output_nr)


# ---------------------------------------------------------------- where backward starts

def _root_gradients(tensors: tuple, given: tuple, batched: bool = False) -> list:
    """A gradient for each root: the given one, checked, or 1 for a scalar; None for a root that needs none."""
    out: list = []
    for i, (t, g) in enumerate(zip(tensors, given or (None,) * len(tensors), strict=True)):
        if g is None:
            out.append(_implicit_gradient(t))
            continue
        if not isinstance(g, Tensor):
            raise TypeError(f"gradients can be either Tensors or None, but got {type(g).__name__}")
        _check_root_gradient(_aval(t), g, i, batched)
        out.append(g)
    return out


def _implicit_gradient(t: Any) -> Value | None:
    if not _needs_grad(t):
        return None
    aval = _aval(t)
    if aval.numel != 1:
        raise RuntimeError("grad can be implicitly created only for scalar outputs")
    if not aval.dtype.is_floating_point:
        raise RuntimeError(f"grad can be implicitly created only for real scalar outputs but got {aval.dtype}")
    return _ones_like(aval, t)


def _check_root_gradient(aval: Aval, g: Tensor, i: int, batched: bool) -> None:
    shape = tuple(g.shape)[1:] if batched else tuple(g.shape)
    if aval.shape != shape:
        has = f"grad_output[{i}] has a shape of {Size(shape)} and output[{i}] has a shape of {Size(aval.shape)}."
        if batched:
            raise RuntimeError("If `is_grads_batched=True`, we interpret the first dimension of each grad_output as the batch "
                               "dimension. The sizes of the remaining dimensions are expected to match the shape of "
                               f"corresponding output, but a mismatch was detected: {has} If you only want some tensors in "
                               "`grad_output` to be considered batched, consider using vmap.")
        raise RuntimeError(f"Mismatch in shape: {has}")
    if aval.dtype.is_complex != g.dtype.is_complex:
        raise RuntimeError("For complex Tensors, both grad_output and output are required to have the same dtype. Mismatch in "
                           f"dtype: grad_output[{i}] has a dtype of {g.dtype} and output[{i}] has a dtype of {aval.dtype}.")


def _checked_count(tensors: tuple, given: tuple) -> tuple:
    if given and len(given) < len(tensors):
        raise RuntimeError(f"got {len(tensors)} tensors and {len(given)} gradients")
    return given[:len(tensors)]


def _roots(tensors: tuple, gradients: list, create_graph: bool) -> list:
    out = []
    for i, (t, g) in enumerate(zip(tensors, gradients, strict=True)):
        if not _needs_grad(t):
            raise RuntimeError(f"element {i} of tensors does not require grad and does not have a grad_fn")
        if isinstance(g, Tensor) and g.dtype is not _aval(t).dtype:
            g = g.to(_aval(t).dtype)        # type: ignore[attr-defined]
        edge = _edge(t)
        if edge is None:        # a view made under no_grad
            raise RuntimeError(f"element {i} of tensors does not require grad and does not have a grad_fn")
        out.append((*edge, as_tensor(g) if create_graph else g))
    return out


# ---------------------------------------------------------------- the two functions

def backward(tensors: Tensors, grad_tensors: Any = None, retain_graph: bool | None = None, create_graph: bool = False,
             grad_variables: Any = None, inputs: Any = None) -> None:
    """Accumulates the gradients of ``tensors`` into the leaves they were made from. See torch.autograd.backward.

    ``inputs`` limits it to some leaves (or non-leaves, which then keep their gradient).
    """
    if grad_tensors is None and inputs is None and grad_variables is None and not create_graph and _is_plain(tensors):
        run_backward([(*edge_of(tensors), ones_of(storage.aval_of(tensors)))], retain_graph=bool(retain_graph),   # type: ignore[misc]
                     create_graph=False)
        return
    tensors = _as_tuple(tensors)
    wanted = _backward_inputs(inputs)
    given = _checked_count(tensors, _as_tuple(grad_tensors if grad_tensors is not None else grad_variables))
    roots = _roots(tensors, _root_gradients(tensors, given), create_graph)
    retain = create_graph if retain_graph is None else retain_graph
    if inputs is None:
        run_backward(roots, retain_graph=retain, create_graph=create_graph)
        return
    for t in wanted:
        if isinstance(t, Tensor) and (not requires_grad(t) or node_of(t) is not None):
            t.retain_grad()
    edges = [e for e in map(_edge, wanted) if e is not None]
    run_backward(roots, retain_graph=retain, create_graph=create_graph, captures=edges)


def _is_plain(t: Any) -> TypeGuard[Tensor]:
    """Whether it is what training loops call backward of, which needs none of the other checks: a loss with a node."""
    if t.__class__ is not Tensor or t._node is None or t._base is not None or not t._requires_grad:
        return False
    aval = storage.aval_of(t)
    return aval.numel == 1 and aval.dtype.is_floating_point and not aval.traced


def _backward_inputs(inputs: Any) -> tuple:
    if inputs is not None and type(inputs) is not dict and isinstance(inputs, Mapping):
        raise TypeError(f"`inputs` argument to `backward()` must be a dict, not {type(inputs).__name__}. Other Mapping types are "
                        "not supported.")
    wanted = _as_tuple(inputs.values() if isinstance(inputs, dict) else inputs)
    if inputs is not None and not wanted:
        raise RuntimeError("`inputs` argument to `backward()` cannot be empty.")
    return wanted


def grad(outputs: Tensors, inputs: Any, grad_outputs: Any = None, retain_graph: bool | None = None,
         create_graph: bool = False, only_inputs: bool = True, allow_unused: bool | None = None,
         is_grads_batched: bool = False, materialize_grads: bool = False) -> Any:
    """The gradients of ``outputs`` with respect to ``inputs``, accumulating nothing. See torch.autograd.grad."""
    if materialize_grads and allow_unused is False:
        raise ValueError("Expected allow_unused to be True or not passed when materialize_grads=True, but got: "
                         "allow_unused=False.")
    if type(inputs) is dict:
        found = grad(outputs, tuple(inputs.values()), grad_outputs, retain_graph, create_graph, only_inputs, allow_unused,
                     is_grads_batched, materialize_grads)
        return dict(zip(inputs, found, strict=True))
    outputs, inputs, given = _as_tuple(outputs), _as_tuple(inputs), _as_tuple(grad_outputs)
    allow_unused = materialize_grads if allow_unused is None else allow_unused
    if not inputs:
        raise RuntimeError("`inputs` argument to `grad()` cannot be empty.")
    gradients = _root_gradients(outputs, _checked_count(outputs, given), is_grads_batched)
    retain = create_graph if retain_graph is None else retain_graph
    if is_grads_batched:
        out = _batched(outputs, inputs, gradients, retain, create_graph, allow_unused)
    else:
        out = _gradients(outputs, inputs, gradients, retain, create_graph, allow_unused)
    if materialize_grads:
        out = tuple([filled(_aval(t), 0) if g is None else g for g, t in zip(out, inputs, strict=True)])
    return out


def _gradients(outputs: tuple, inputs: tuple, gradients: list, retain: bool, create_graph: bool, allow_unused: bool) -> tuple:
    roots = _roots(outputs, gradients, create_graph)
    for t in inputs:
        if not _needs_grad(t):
            raise RuntimeError("One of the differentiated Tensors does not require grad")
    edges = [_edge(t) for t in inputs]
    found = run_backward(roots, retain_graph=retain, create_graph=create_graph, captures=[e for e in edges if e is not None],
                         accumulate=False)
    for i, edge in enumerate(edges):
        if edge not in found and not allow_unused:
            raise RuntimeError(f"The differentiated Tensor at index {i} appears to not have been used in the graph. Set "
                               "allow_unused=True if this is the desired behavior.")
    return tuple([as_tensor(found[e]) if e in found else None for e in edges])


def _batched(outputs: tuple, inputs: tuple, gradients: list, retain: bool, create_graph: bool, allow_unused: bool) -> tuple:
    """One backward per row of the batched gradients, stacked."""
    n = next(g for g in gradients if g is not None).shape[0]
    rows = [_gradients(outputs, inputs, [None if g is None else g[i] for g in gradients], retain or i < n - 1, create_graph,
                       allow_unused) for i in range(n)]
    return tuple([None if column[0] is None else stack(column) for column in zip(*rows, strict=True)])


__all__ = ["backward", "grad"]
