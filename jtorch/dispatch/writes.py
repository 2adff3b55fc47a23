"""Calls that write into a tensor, and what that does to its history."""
from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import Any

import numpy as np

from jtorch import engine, speedups, storage
from jtorch._backward.view_history import edge_of, forbidden_view, move_retaining, node_of, requires_grad
from jtorch._nodes.replay import LEAF
from jtorch.dispatch.calls import (
    NUMBER_TYPES,
    UNSAVED,
    call,
    computing_in,
    inplace_name,
    make_node,
    merged,
    record,
    refuse_unusable,
    save_result,
    seen,
    underived,
    value_aval,
)
from jtorch.dispatch.returns import named
from jtorch.dispatch.views import read_through
from jtorch.dtype import can_cast, of_numpy
from jtorch.engine import Call, Value, call_of
from jtorch.no_grad import mode
from jtorch.ops import check
from jtorch.ops.layout import ELEMENTWISE
from jtorch.ops.out_dtypes import ALWAYS_OF
from jtorch.ops.registry import OPS, Op, T
from jtorch.ops.strided import extent, overlaps
from jtorch.storage import check_writable, geometry_of, value_of
from jtorch.tape import CopySlices, Node, OpNode, node_class
from jtorch.tensor import Tensor


def call_inplace(c: Call, flat, target: Tensor | None = None, name: str | None = None) -> Tensor:
    """Calls ``c`` and writes its result into ``target`` (the first argument), with PyTorch's rules and history.

    ``name``: what PyTorch calls the node, where a call stands for another one.
    """
    target = flat[0] if target is None else target
    op, plain = c.op, not mode.grad and _is_plain(flat, target)
    tracked = fills = False
    if not plain:
        tracked = (op.differentiable or op.not_derived or op.inplace_name is not None) and mode.grad and not mode.inference \
            and any(t.__class__ not in NUMBER_TYPES and requires_grad(t) for t in flat)
        fills = op.fills and (op.name != "fill" or c.template[1] is not T) and not _of_batches(op, target)
        check_inplace(target, tracked or _refuses_leaves(op, flat), once=False)
    if op.takes_dtype_of_out:
        c = computing_in(c, target.dtype)
    args = [t if t.__class__ in NUMBER_TYPES else value_of(t) for t in flat]
    try:
        if target._view is not None and not fills:
            of_shapes = op.dtypes_first or (op.promote is None and op.layout not in ELEMENTWISE)
            if of_shapes and overlaps(*geometry_of(target)[:2]):
                try:
                    errors_of_shapes(c, flat)
                except NotImplementedError as error:        # "not implemented for 'Bool'" is the kernel's, which would come later
                    if "_cpu" in str(error):
                        check_writable(target)
                    raise
            check_writable(target)
        if not plain and len(flat) > 1 and op.name != "fill":
            _check_overlaps(c, flat, target)
        if mode.grad and tracked and engine.current().after_backward:
            engine.end()
        out = record(c, args)
    except Exception as error:
        _raise_instead(c, flat, target, error)
        raise
    if out.__class__ is list:
        out = out[0]
    fitted = fit(out, storage.aval_of(target))
    if plain:
        storage.write(target, fitted)
        return target
    if fills and op.name not in ("fill", "zero") and target._view is not None:
        fitted = merged(c, target, fitted)
    node: Any = None
    if tracked and storage.aval_of(target).kind and not (op.differentiable and out.aval.kind):
        node = underived(c, flat, args)
    elif tracked and storage.aval_of(target).kind:
        node = make_node(c, flat, args if not op.idempotent else [out])
        if name is not None or op.inplace_name is not None:
            node.__class__ = node_class(name or inplace_name(c))
        if node.versions:       # what the target was is kept, so that writing over it now is no error
            first = next((i for i, t in enumerate(flat) if t is target), -1)
            node.versions = tuple([UNSAVED if i == first else v for i, v in enumerate(node.versions)])
        if fitted is not out:
            node = _cast_node(out, fitted, node)
    write_with_history(target, fitted, node)
    if node is not None and c.op.keeps_result and node.call is c:
        save_result(node, seen(target), out.aval)
    return target


def _raise_instead(c: Call, flat, target: Tensor, error: Exception) -> None:
    """Raises the error that PyTorch has in place of this one, if it is another."""
    refuse_unusable(c, flat)
    if str(error).startswith('"'):
        _refuse_cast(c, flat, target)
    if str(error).startswith("setStorage") and _has_room(c, target):
        raise IndexError(f"index is out of bounds for dimension {c.template[1]} with size 0") from None


def _is_plain(flat, target: Tensor) -> bool:
    """Whether an update without history is as optimizers written by hand make it: of a whole tensor, by other memory."""
    for t in flat[1:]:
        if t.__class__ not in NUMBER_TYPES and t._storage is target._storage:
            return False
    return target._view is None and not target._inference


def _refuse_cast(c: Call, flat, target: Tensor) -> None:
    """Raises the error of a result that is not cast to the target's dtype: it comes before that of a kernel that is missing."""
    require_cast(of_numpy(expected_dtype(c, [value_aval(t) for t in flat])), target.dtype)


def expected_dtype(c: Call, avals: Sequence) -> np.dtype:
    """The dtype that a call's result would have, where no kernel says so."""
    return np.dtype(ALWAYS_OF.get(c.op.name) or c.op.common_dtype(c.template, avals))


def _has_room(c: Call, target: Tensor) -> bool:
    """Whether the storage of a tensor without elements would hold a first slice along the dim of a call."""
    size, stride, offset = geometry_of(target)
    dim = c.template[1] % len(size)
    size, stride = (*size[:dim], 1, *size[dim + 1:]), (*stride[:dim], 0, *stride[dim + 1:])
    return (offset + extent(size, stride)) * target.element_size() <= target._storage.aval.nbytes


def errors_of_shapes(c: Call, flat) -> None:
    """Raises the errors of an op that come before those of shared memory; of ``index_copy`` only that of its dim does."""
    if c.op.name == "index_copy":
        check.wrap_dim(c.template[1], flat[0].dim())
    else:
        engine.kernel_of(c, tuple([value_aval(t) for t in flat]))


def _check_overlaps(c: Call, flat, target: Tensor) -> None:
    apart = c.op.apart
    for t in flat[1:]:
        if t.__class__ not in NUMBER_TYPES and t._storage is target._storage:
            if apart:
                errors_of_shapes(c, flat)
            storage.check_overlap(target, t, entirely=not apart)


def _refuses_leaves(op: Op, flat) -> bool:
    """Whether an op that autograd does not know is refused for leaves that require grad, as PyTorch refuses most."""
    return mode.grad and not op.differentiable and not op.writes_leaves and requires_grad(flat[0])


def fit(out: Value, aval) -> Value:
    """``out`` in the dtype of what it is to be written to; RuntimeError if it does not go in."""
    if out.aval.shape != aval.shape:
        raise RuntimeError(f"output with shape {list(aval.shape)} doesn't match the broadcast shape {list(out.aval.shape)}")
    return cast_value(out, aval) if out.aval.np is not aval.np and out.aval.np != aval.np else out


def require_cast(made: Any, to: Any) -> None:
    """RuntimeError where PyTorch does not cast a result of this dtype implicitly."""
    if not can_cast(made, to):
        raise RuntimeError(f"result type {made.scalar_name} can't be cast to the desired output type {to.scalar_name}")


def cast_value(out: Value, aval) -> Value:
    """``out`` cast to the dtype of ``aval``; RuntimeError where PyTorch does not cast implicitly."""
    require_cast(out.aval.dtype, aval.dtype)
    return record(call_of(OPS["_to_dtype"], (T, aval.dtype)), (out,))


def _cast_node(out: Value, fitted: Value, node: OpNode) -> OpNode:
    cast = call_of(OPS["_to_dtype"], (T, fitted.aval.dtype))
    return node_class(node.name())(cast, [out], ((node, 0),), ())


def _of_batches(op: Op, target: Tensor) -> bool:
    """Whether ``tril`` and ``triu`` copy their result, since the matrices do not lie one behind the other."""
    size, stride, _ = geometry_of(target)
    if op.name not in ("tril", "triu") or len(size) <= 3:
        return False
    apart = size[-1] * size[-2]
    for d in range(len(size) - 3, -1, -1):
        if d or (stride[d] and size[d] != 1):
            if stride[d] != apart:
                return True
            apart *= size[d]
    return False


def check_inplace(target: Tensor, tracked: bool, once: bool = True) -> None:
    """Raises PyTorch's error where an in-place call on ``target`` is not allowed; ``once``: on expanded tensors too."""
    if once:
        check_writable(target)
    if target._inference and not mode.inference:
        raise RuntimeError("Inplace update to inference tensor outside InferenceMode is not allowed.You can make a clone to get "
                           "a normal tensor before doing inplace update.See https://github.com/pytorch/rfcs/pull/17 for more "
                           "details.")
    if not tracked:
        return
    if target._base is not None:
        if target._creation is not None:
            raise RuntimeError(forbidden_view(target, "is being"))
        if target._base._node is None and requires_grad(target):
            raise RuntimeError("a view of a leaf Variable that requires grad is being used in an in-place operation.")
    if target._node is None and requires_grad(target):
        raise RuntimeError("a leaf Variable that requires grad is being used in an in-place operation.")


def write_with_history(target: Tensor, value: Value, node: Node | None, nr: int = 0) -> None:
    """Writes ``value`` and makes ``node`` (its output ``nr``) the history of ``target``; of its base too, if it is a view."""
    base = target._base
    if node is None or base is None:
        storage.write(target, value)
        if node is not None:
            rebase(target, node, nr)
        return
    before = value_of(base)
    edge = edge_of(base) if requires_grad(base) else None
    elsewhere = target._storage is not base._storage
    if isinstance(node, OpNode) and (elsewhere or _unlike_the_geometry(target._node, edge and edge[0])):
        _lead_past(target, node, base, before, edge)
    storage.write(target, value)
    size, stride, offset = geometry_of(target)
    bsize, bstride, boffset = geometry_of(base)
    c = call_of(OPS["_write_through"], (T, T, bsize, bstride, size, stride, offset - boffset, value.aval.dtype))
    rebase(base, CopySlices(c, [before, value], (edge, (node, nr)), ()), 0)
    target._requires_grad = True
    node_of(target)     # now, not when somebody asks, since the base's history may be another by then


def _unlike_the_geometry(node: Node | None, end: Any) -> bool:
    """Whether a way from a view to its base gives other gradients than the memory they share: by hooks, or past its ends."""
    while isinstance(node, OpNode) and node is not end and node.raw_edges:
        first = node.raw_edges[0]
        if node.watched or (node.call.op.name in _ANYWHERE and first is not None and first[0] is not end):
            return True
        node = first[0] if first is not None and first[1] != LEAF else None
    return False


_ANYWHERE = ("as_strided", "_read_through")     # what they show need not be a part of what they were called on


def _lead_past(target: Tensor, node: OpNode, base: Tensor, before: Value, edge: Any) -> None:
    """Leads what ``node`` gives the target past the target's node, which PyTorch does not run then.

    Nor does it ask how the target was a view of its base, if it is elsewhere by now (``target.data = other``).
    """
    past = node_class("AsStridedBackward0")(read_through(base, target), [before], (edge,), ())
    first, *others = node.raw_edges
    if first is not None and first[0] is target._node:
        node.raw_edges = ((past, 0), *others)


def rebase(t: Tensor, node: Node, nr: int) -> None:
    """Gives a tensor that was written to its new history. The hook of ``retain_grad`` moves to it; other hooks stay."""
    move_retaining(t, node, nr)
    t._node, t._output_nr, t._requires_grad, t._kept_hooks = node, nr, True, None
    t._storage.written_by = weakref.ref(node)


def call_writing(c: Call, flat, targets: list[Tensor | None]):
    """Calls an op whose last results are written into some of its arguments (``writes``), where it gives such results."""
    out = call(c, flat)
    if out.__class__ is not list:
        return out
    given = [t for t in targets if t is not None]
    kept = len(out) - len(given)
    if kept < 1:
        return named(c, out)
    for t, new in zip(given, out[kept:], strict=True):
        storage.write(t, fit(value_of(new), storage.aval_of(t)))
    node = out[0]._node
    if node is not None:        # its vjp knows of the write, which is part of the op
        node.versions = tuple([(counter, version if counter is None else counter.version)
                               for counter, version in node.versions])
    return out[0] if kept == 1 else tuple(out[:kept])


if speedups.native is not None:
    speedups.native.connect_inplace(globals())
    call_inplace = speedups.native.call_inplace
