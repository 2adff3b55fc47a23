"""torch.autograd.backward and torch.autograd.grad."""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeGuard

from jtorch import engine, storage
from jtorch._api import functions
from jtorch._backward.backward import run_backward
from jtorch._backward.view_history import edge_of, node_of, requires_grad
from jtorch._base import late_bindings, warned
from jtorch._base.error_notes import with_note
from jtorch._base.size import Size
from jtorch._nodes.hooks import as_tensor
from jtorch.autograd import _parts as parts
from jtorch.autograd._calls import stack
from jtorch.autograd.graph import GradientEdge
from jtorch.engine import Aval, Value, batched
from jtorch.engine.values import ones_of
from jtorch.no_grad import mode
from jtorch.tape import Edge
from jtorch.tensor import Tensor

Tensors = Tensor | GradientEdge | Sequence[Tensor] | Sequence[GradientEdge]


def _ones_like(aval: Aval, t: Any) -> Value:
    value = storage.value_of(t) if aval.traced else None
    if value is not None and not batched.is_batched(value):
        import jax.numpy as jnp
        array = jnp.ones_like(value.array)
        return Value(engine.traced_aval(array), array)
    return ones_of(aval if value is None else engine.aval_of(aval.shape, aval.np, aval.device))


def _as_tuple(x: Any) -> tuple:
    return (x,) if isinstance(x, (Tensor, GradientEdge)) else tuple(x)


def _gradients_of(tensors: tuple, given: Any) -> tuple:
    """Return one gradient for each tensor; raise RuntimeError if there are too few."""
    if given is None:
        return (None,) * len(tensors)
    found = (given,) if isinstance(given, Tensor) else tuple(given)
    if len(found) < len(tensors):
        raise RuntimeError(f"got {len(tensors)} tensors and {len(found)} gradients")
    return found[:len(tensors)]


def _aval(t: Any) -> Aval:
    return storage.aval_of(t) if isinstance(t, Tensor) else t.node._input_metadata[t.output_nr]


def _inputs(inputs: Any, function: str) -> tuple:
    """Return the tensors or edges to differentiate with respect to, as a tuple.

    Raises:
        TypeError: for a mapping that is not a dict.
        RuntimeError: if there are none.

    """
    if type(inputs) is not dict and isinstance(inputs, Mapping):
        raise TypeError(f"`inputs` argument to `{function}()` must be a dict, not {type(inputs).__name__}. Other Mapping "
                        "types are not supported.")
    wanted = _as_tuple(inputs.values() if isinstance(inputs, dict) else inputs)
    if not wanted:
        raise RuntimeError(f"`inputs` argument to `{function}()` cannot be empty.")
    return wanted


def _check_inputs(inputs: tuple) -> None:
    for t in inputs:
        if not isinstance(t, (Tensor, GradientEdge)):
            raise RuntimeError(f"all inputs have to be Tensors or GradientEdges, but got {type(t).__name__}")


def _needs_grad(t: Any) -> bool:
    return not isinstance(t, Tensor) or requires_grad(t)


def _edge(t: Any) -> Edge:
    return edge_of(t) if isinstance(t, Tensor) else (t.node, t.output_nr)


# ---------------------------------------------------------------- where backward starts

def _root_gradients(tensors: tuple, given: tuple, batched: bool = False) -> list:
    """Return a gradient for each root: the given one, checked, or 1 for a scalar; None for a root that needs none."""
    out: list = []
    for i, (t, g) in enumerate(zip(tensors, given, strict=True)):
        if not isinstance(t, (Tensor, GradientEdge)):
            raise AssertionError("Expected output to be a torch.Tensor")
        if g is None:
            out.append(_implicit_gradient(t))
            continue
        if not isinstance(g, Tensor):
            raise TypeError(f"gradients can be either Tensors or None, but got {type(g).__name__}")
        _check_root_gradient(_aval(t), g, i, batched)
        out.append(g)
    return out


_NO_HISTORY = ("Nothing that it was computed from requires a gradient: w.requires_grad_(), and no torch.no_grad(), "
               "detach() or item() "
               "on the way from there.")


def _implicit_gradient(t: Any) -> Any:
    if not _needs_grad(t):
        return None
    aval = _aval(t)
    if aval.numel != 1:
        raise with_note(RuntimeError("grad can be implicitly created only for scalar outputs"),
                        "Reduce it first, as in loss.mean().backward(), or give a gradient: y.backward(torch.ones_like(y)).")
    if not aval.dtype.is_floating_point:
        raise RuntimeError(f"grad can be implicitly created only for real scalar outputs but got {aval.dtype}")
    seen = late_bindings.aten.ones_like(t) if late_bindings.aten is not None and isinstance(t, Tensor) else None
    if seen is not None:
        return seen
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


def _roots(tensors: tuple, gradients: list, create_graph: bool) -> list:
    out = []
    for i, (t, g) in enumerate(zip(tensors, gradients, strict=True)):
        if not _needs_grad(t):
            raise with_note(RuntimeError(f"element {i} of tensors does not require grad and does not have a grad_fn"),
                            _NO_HISTORY)
        if isinstance(g, Tensor) and g.dtype is not _aval(t).dtype:
            g = g.to(_aval(t).dtype)        # type: ignore[attr-defined]
        edge = _edge(t)
        if edge is None:        # The tensor is a view made under no_grad.
            raise RuntimeError(f"element {i} of tensors does not require grad and does not have a grad_fn")
        out.append((*edge, as_tensor(g) if create_graph else g))
    return out


# ---------------------------------------------------------------- backward and grad

IN_A_TRANSFORM = ("backward() called inside a functorch transform. This is not supported, please use functorch.grad or "
                  "functorch.vjp instead or call backward() outside of functorch transforms.")
_CYCLE = ("Using backward() with create_graph=True will create a reference cycle between the parameter and its gradient which "
          "can cause a memory leak. We recommend using autograd.grad when creating the graph to avoid this. If you have to use "
          "this function, make sure to reset the .grad fields of your parameters to None after use to break the cycle and avoid "
          "the leak.")


def backward(tensors: Tensors, grad_tensors: Any = None, retain_graph: bool | None = None, create_graph: bool = False,
             grad_variables: Any = None, inputs: Any = None) -> None:
    """Accumulate the gradients of ``tensors`` in the leaves that they were computed from. See torch.autograd.backward.

    ``inputs`` limits the gradients to these tensors. A non-leaf among them keeps its gradient in ``grad``.

    Args:
        tensors (Tensor, GradientEdge or a sequence): the tensors to differentiate.
        grad_tensors (Tensor, None or a sequence): the gradient of each, of its shape; None stands for 1 where a
            tensor has one element.
        retain_graph (bool or None): whether nodes keep their saved values for another backward; by default
            ``create_graph``.
        create_graph (bool): whether to record the backward, so that gradients can be differentiated.
        grad_variables: the deprecated name of ``grad_tensors``.
        inputs (Tensor, GradientEdge or a sequence): where gradients are accumulated; by default all leaves.

    Raises:
        RuntimeError: nothing requires grad, a gradient is missing or of another shape, what was saved is gone (a
            second backward), or was written to since.

    Example::

        >>> x = torch.tensor([1.0, 2.0], requires_grad=True)
        >>> torch.autograd.backward((x * x).sum())
        >>> x.grad
        tensor([2., 4.])

    """
    if mode.transformed or batched.is_running():
        raise RuntimeError(IN_A_TRANSFORM)
    if grad_tensors is None and inputs is None and grad_variables is None and not create_graph and _is_plain(tensors) \
            and not (late_bindings.aten is not None and late_bindings.aten.is_on()):
        run_backward([(*edge_of(tensors), ones_of(storage.aval_of(tensors)))], retain_graph=bool(retain_graph),   # type: ignore[misc]
                     create_graph=False)
        return
    if create_graph:
        warned.warn_once(_CYCLE)
    if grad_variables is not None:
        grad_tensors = _renamed(grad_tensors, grad_variables)
    wanted = () if inputs is None else _inputs(inputs, "backward")
    tensors = _as_tuple(tensors)
    tensors, starts = parts.rooted(tensors, _gradients_of(tensors, grad_tensors))
    roots = _roots(tensors, _root_gradients(tensors, starts), create_graph)
    _check_inputs(wanted)
    retain = create_graph if retain_graph is None else retain_graph
    if inputs is None:
        run_backward(roots, retain_graph=retain, create_graph=create_graph)
        return
    for t in wanted:
        if isinstance(t, Tensor) and (not requires_grad(t) or node_of(t) is not None):
            t.retain_grad()
    edges = [e for e in map(_edge, wanted) if e is not None]
    run_backward(roots, retain_graph=retain, create_graph=create_graph, captures=edges)


def _renamed(grad_tensors: Any, grad_variables: Any) -> Any:
    warned.warn("`grad_variables` is deprecated. Use `grad_tensors` instead.", FutureWarning)
    if grad_tensors is not None:
        raise RuntimeError("`grad_tensors` and `grad_variables` (deprecated) arguments both passed to `backward()`. Please "
                           "only use `grad_tensors`.")
    return grad_variables


def _is_plain(t: Any) -> TypeGuard[Tensor]:
    """Return whether ``t`` is a plain loss: one real number with a node. ``backward`` needs no further checks for it."""
    if t.__class__ is not Tensor or t._node is None or t._base is not None or not t._requires_grad:
        return False
    aval = storage.aval_of(t)
    return aval.numel == 1 and aval.dtype.is_floating_point and not aval.traced


def grad(outputs: Tensors, inputs: Any, grad_outputs: Any = None, retain_graph: bool | None = None,
         create_graph: bool = False, only_inputs: bool = True, allow_unused: bool | None = None,
         is_grads_batched: bool = False, materialize_grads: bool = False) -> Any:
    """Return the gradients of ``outputs`` with respect to ``inputs`` without accumulating. See torch.autograd.grad.

    Args:
        outputs (Tensor, GradientEdge or a sequence): the tensors to differentiate.
        inputs (Tensor, GradientEdge or a sequence): the tensors to differentiate by; any part of the graph.
        grad_outputs (Tensor, None or a sequence): the gradient of each output, of its shape; None stands for 1
            where it has one element.
        retain_graph (bool or None): whether nodes keep their saved values for another backward; by default
            ``create_graph``.
        create_graph (bool): whether to record the backward, so that gradients can be differentiated.
        only_inputs (bool): deprecated.
        allow_unused (bool or None): whether an input that the outputs do not depend on gets None instead of
            an error.
        is_grads_batched (bool): whether ``grad_outputs`` have a leading batch dim, which the gradients then have too.
        materialize_grads (bool): whether to return zeros instead of None.

    Returns:
        a tuple with a Tensor of each input's shape and dtype.

    Raises:
        RuntimeError: as in ``backward``, and for inputs that were not used unless that is allowed.
        ValueError: ``materialize_grads`` with ``allow_unused=False``.

    Example::

        >>> x = torch.tensor(3.0, requires_grad=True)
        >>> first, = torch.autograd.grad(x ** 3, x, create_graph=True)
        >>> first.item(), torch.autograd.grad(first, x)[0].item()
        (27.0, 18.0)

    """
    if materialize_grads and allow_unused is False:
        raise ValueError("Expected allow_unused to be True or not passed when materialize_grads=True, but got: "
                         "allow_unused=False.")
    outputs, wanted = _as_tuple(outputs), _inputs(inputs, "grad")
    # A sparse tensor is differentiated with respect to its values.
    given, wanted = wanted, tuple([getattr(t, "entries", t) for t in wanted])
    if not only_inputs:
        warned.warn("only_inputs argument is deprecated and is ignored now (defaults to True). To accumulate gradient for "
                    "other parts of the graph, please use torch.autograd.backward.", FutureWarning)
    outputs, starts = parts.rooted(outputs, _gradients_of(outputs, grad_outputs))
    gradients = _root_gradients(outputs, starts, is_grads_batched)
    run = _batched if is_grads_batched else _gradients
    found = run(outputs, wanted, gradients, create_graph if retain_graph is None else retain_graph, create_graph,
                materialize_grads if allow_unused is None else allow_unused)
    if materialize_grads:
        found = _materialized(found, wanted, create_graph)
    found = tuple([parts.shown(g, t, of) for g, t, of in zip(found, wanted, given, strict=True)])
    return dict(zip(inputs, found, strict=True)) if type(inputs) is dict else found


def _materialized(found: tuple, inputs: tuple, create_graph: bool) -> tuple:
    """Replace missing gradients by zeros."""
    if any([g is None and not isinstance(t, Tensor) for g, t in zip(found, inputs, strict=True)]):
        raise RuntimeError("materialize_grads cannot be used when the given input is a GradientEdge")
    return tuple([functions.zeros_like(t, requires_grad=create_graph) if g is None else g
                  for g, t in zip(found, inputs, strict=True)])


def _gradients(outputs: tuple, inputs: tuple, gradients: list, retain: bool, create_graph: bool, allow_unused: bool) -> tuple:
    roots = _roots(outputs, gradients, create_graph)
    _check_inputs(inputs)
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
    """Run backward once per row of the batched gradients, and stack the results."""
    sizes = [g.shape[0] for g in gradients if g is not None]
    n = sizes[0]
    if set(sizes) != {n}:
        raise ValueError("vmap: Expected all tensors to have the same size in the mapped dimension, got sizes "
                         f"{sizes} for the mapped dimension")
    if not n:
        raise IndexError("index 0 is out of bounds for dimension 0 with size 0")
    rows = [_gradients(outputs, inputs, [None if g is None else g[i] for g in gradients], retain or i < n - 1, create_graph,
                       allow_unused) for i in range(n)]
    return tuple([None if column[0] is None else stack(column) for column in zip(*rows, strict=True)])


__all__ = ["backward", "grad"]
