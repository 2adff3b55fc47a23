"""torch.autograd.backward and torch.autograd.grad."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from jtorch import engine, storage
from jtorch.engine import Value
from jtorch.tape import as_tensor, as_value, run_backward
from jtorch.tensor import Tensor, edge_of, node_of, requires_grad, wrap

Tensors = Tensor | Sequence[Tensor]
_ones: dict = {}


def _ones_like(t: Tensor) -> Value:
    aval = storage.aval_of(t)
    if aval.traced:
        import jax.numpy as jnp
        return Value(engine.traced_aval(t._storage.value.array), jnp.ones_like(t._storage.value.array))
    found = _ones.get(aval)
    if found is None:
        if len(_ones) > 256:
            _ones.clear()
        ones = np.ones(aval.shape, aval.np)
        found = _ones[aval] = Value(aval, ones if aval.device is engine.CPU else engine.put(ones, aval.device))
    return found


def _as_tuple(x: Any) -> tuple:
    return () if x is None else (x,) if isinstance(x, Tensor) else tuple(x)


def _root_gradients(tensors: tuple, given: tuple) -> list:
    """A gradient for each root: the given one, checked, or 1 for a scalar."""
    if given and len(given) != len(tensors):
        raise RuntimeError(f"got {len(tensors)} tensors and {len(given)} gradients")
    out = []
    for i, (t, g) in enumerate(zip(tensors, given or (None,) * len(tensors), strict=True)):
        if g is None:
            if requires_grad(t) and t.numel() != 1:
                raise RuntimeError("grad can be implicitly created only for scalar outputs")
            if requires_grad(t) and not t.dtype.is_floating_point:
                raise RuntimeError(f"grad can be implicitly created only for real scalar outputs but got {t.dtype}")
            out.append(_ones_like(t))
            continue
        if not isinstance(g, Tensor):
            raise TypeError(f"gradients can be either Tensors or None, but got {type(g).__name__}")
        _check_root_gradient(t, g, i)
        out.append(g)
    return out


def _check_root_gradient(t: Tensor, g: Tensor, i: int) -> None:
    if tuple(t.shape) != tuple(g.shape):
        raise RuntimeError(f"Mismatch in shape: grad_output[{i}] has a shape of {g.shape} and output[{i}] has a shape of {t.shape}.")
    if t.dtype.is_complex != g.dtype.is_complex:
        raise RuntimeError("For complex Tensors, both grad_output and output are required to have the same dtype. Mismatch in "
                           f"dtype: grad_output[{i}] has a dtype of {g.dtype} and output[{i}] has a dtype of {t.dtype}.")


def _roots(tensors: tuple, gradients: list) -> list:
    out = []
    for i, (t, g) in enumerate(zip(tensors, gradients, strict=True)):
        if not requires_grad(t):
            raise RuntimeError(f"element {i} of tensors does not require grad and does not have a grad_fn")
        if isinstance(g, Tensor) and g.dtype is not t.dtype:
            g = g.to(t.dtype)       # type: ignore[attr-defined]
        out.append((*edge_of(t), g))
    return out


def backward(tensors: Tensors, grad_tensors: Any = None, retain_graph: bool | None = None, create_graph: bool = False,
             grad_variables: Any = None, inputs: Any = None) -> None:
    """Accumulates the gradients of ``tensors`` into the leaves they were made from. See torch.autograd.backward."""
    tensors = _as_tuple(tensors)
    if inputs is not None and len(_as_tuple(inputs)) == 0:
        raise RuntimeError("`inputs` argument to `backward()` cannot be empty.")
    given = _as_tuple(grad_tensors if grad_tensors is not None else grad_variables)
    roots = _roots(tensors, _prepared(_root_gradients(tensors, given), create_graph))
    retain = create_graph if retain_graph is None else retain_graph
    if inputs is None:
        run_backward(roots, retain_graph=retain, create_graph=create_graph)
        return
    wanted = _as_tuple(inputs)
    for t in wanted:
        if not requires_grad(t):
            raise RuntimeError("One of the differentiated Tensors does not require grad")
    edges = [edge_of(t) for t in wanted]
    found = run_backward(roots, retain_graph=retain, create_graph=create_graph, captures=edges)
    for t, edge in zip(wanted, edges, strict=True):
        if node_of(t) is not None and edge in found and not t._retains_grad:
            g = as_tensor(found[edge])
            t._grad = g if t._grad is None else t._grad + g     # type: ignore[operator]


def _prepared(gradients: list, create_graph: bool) -> list:
    return [as_tensor(g) if create_graph else g for g in gradients]


def grad(outputs: Tensors, inputs: Tensors, grad_outputs: Any = None, retain_graph: bool | None = None,
         create_graph: bool = False, only_inputs: bool = True, allow_unused: bool | None = None,
         is_grads_batched: bool = False, materialize_grads: bool = False) -> tuple:
    """The gradients of ``outputs`` with respect to ``inputs``, accumulating nothing. See torch.autograd.grad."""
    if materialize_grads and allow_unused is False:
        raise ValueError("Expected allow_unused to be True or not passed when materialize_grads=True, but got: allow_unused=False.")
    outputs, inputs, given = _as_tuple(outputs), _as_tuple(inputs), _as_tuple(grad_outputs)
    retain = create_graph if retain_graph is None else retain_graph
    if is_grads_batched:
        return _batched(outputs, inputs, given, retain, create_graph, allow_unused)
    for t in inputs:
        if not requires_grad(t):
            raise RuntimeError("One of the differentiated Tensors does not require grad")
    roots = _roots(outputs, _prepared(_root_gradients(outputs, given), create_graph))
    edges = [edge_of(t) for t in inputs]
    found = run_backward(roots, retain_graph=retain, create_graph=create_graph, captures=edges, accumulate=False)
    out = [as_tensor(found[e]) if e in found else None for e in edges]
    if any(g is None for g in out) and not (allow_unused or materialize_grads):
        raise RuntimeError("One of the differentiated Tensors appears to not have been used in the graph. Set allow_unused=True if "
                           "this is the desired behavior.")
    if materialize_grads:
        out = [wrap(Value(v.aval, v.array * 0)) if g is None else g for g, v in zip(out, map(_ones_like, inputs), strict=True)]
    return tuple(out)


def _batched(outputs: tuple, inputs: tuple, given: tuple, retain: bool, create_graph: bool, allow_unused: bool | None) -> tuple:
    """One backward per row of the batched gradients, stacked."""
    from jtorch.bind import stack
    n = given[0].shape[0]
    rows = [grad(outputs, inputs, [g[i] for g in given], True if i < n - 1 else retain, create_graph, True, allow_unused)
            for i in range(n)]
    return tuple(None if column[0] is None else stack(list(column)) for column in zip(*rows, strict=True))


__all__ = ["as_value", "backward", "grad"]
