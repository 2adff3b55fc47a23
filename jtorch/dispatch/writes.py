"""In-place calls and other calls that write into tensors, and the history that the writes create."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from jtorch import engine, speedups, storage
from jtorch._backward.view_history import (
    edge_of,
    forbidden_view,
    place_in,
    read_through,
    rebase,
    regenerate,
    requires_grad,
)
from jtorch._base import late_bindings, warned
from jtorch._base.error_notes import UPDATE_LEAF, with_note
from jtorch.dispatch.calls import (
    NUMBER_TYPES,
    UNSAVED,
    any_requires_grad,
    call,
    computing_in,
    inplace_name,
    make_node,
    merged,
    record,
    refuse_unusable,
    save_result,
    saved_ref,
    underived,
    value_aval,
)
from jtorch.dispatch.numbers import check_numbers, has_large_integer, in_int64, may_overflow
from jtorch.dispatch.returns import named
from jtorch.dtype import can_cast, of_numpy
from jtorch.engine import Call, Value, batched, call_of, constant, record_over
from jtorch.no_grad import mode
from jtorch.ops import check
from jtorch.ops.registry import NUMBERS, OPS, Op, T, argument_of
from jtorch.ops.strided import extent, is_expanded, overlaps
from jtorch.speedups.constants import LEAF
from jtorch.storage import check_writable, geometry_of, value_of
from jtorch.tape import CopySlices, Node, OpNode, node_class
from jtorch.tensor import Tensor


def call_inplace(c: Call, flat, name: str | None = None) -> Tensor:
    """Call ``c`` and write its result into its first argument, with PyTorch's rules and history.

    ``name``: PyTorch's name of the node, if the call implements another operation.
    """
    if int in map(type, flat) and has_large_integer(flat):
        c, flat = in_int64(c, flat)
    target = flat[0]
    if late_bindings.forward_write is not None and late_bindings.forward_write(c, flat, name) is not None:
        return target
    if late_bindings.aten is not None:
        made = late_bindings.aten.call_inplace(c, flat, name)
        if made is not None:
            return made
    needs = mode.grad and any_requires_grad(flat)
    if not needs and _is_plain(flat, target):
        return _update(c, flat, target)
    op = c.op
    tracked = needs and not mode.inference and op.has_history_in_place
    check_inplace(target, tracked or _refuses_leaves(op, flat), once=False)
    if op.out.takes_dtype:
        c = computing_in(c, target.dtype)
    w = _Write(c, flat, target)
    args = [t if t.__class__ in NUMBER_TYPES else value_of(t) for t in flat]
    out = _computed(w, args, tracked)
    fitted = out if out.aval is w.aval else fit(out, w.aval)
    if w.fills and not op.inplace.uniform and target._view is not None:
        fitted = merged(c, target, fitted)
    node = _node_of_write(w, args, out, fitted, name) if tracked and w.aval.is_inexact else None
    del args        # ``args`` may keep the content alive, and then the write could not reuse its memory
    write_with_history(target, fitted, node)
    if op.saves.result and node is not None and node.call is c:
        save_result(node, saved_ref(target), out.aval)
        if mode.saved_hooks:
            late_bindings.pack_result(node, target)
    return target


def _update(c: Call, flat, target: Tensor) -> Tensor:
    """Write the result of ``c`` into ``target``, a plain one (``_is_plain``), without history and without checks of memory."""
    if c.op.out.takes_dtype:
        c = computing_in(c, target.dtype)
    args = [t if t.__class__ in NUMBER_TYPES else value_of(t) for t in flat]
    try:
        if c.op.fits and may_overflow(flat):
            check_numbers(c, flat)
        if target._view is None:
            storage.will_be_written(target)
        out = record_over(c, args) if target._view is None else record(c, args)
    except Exception as error:
        _raise_instead(c, flat, target, error)
        raise
    del args        # a value in ``args`` may keep the content alive, and then the write could not reuse its memory
    aval = storage.aval_of(target)
    out = out[0] if out.__class__ is list else out
    storage.write(target, out if out.aval is aval else fit(out, aval))
    return target


class _Write:
    """The data that the checks and the node of an in-place call read."""

    __slots__ = ("aval", "call", "fills", "flat", "target")

    def __init__(self, c: Call, flat, target: Tensor):
        self.call, self.flat, self.target, view = c, flat, target, target._view
        self.aval = target._storage.aval if view is None else view.aval
        form = c.op.inplace
        self.fills = form.fills and form.fills_expanded(c.template, *geometry_of(target)[:2])


def _computed(w: _Write, args: list, tracked: bool) -> Value:
    """Check memory and numbers of an in-place call and return its result. Raise PyTorch's errors."""
    try:
        for check_memory in _CHECKS:
            check_memory(w)
        if w.call.op.fits and may_overflow(w.flat):
            check_numbers(w.call, w.flat)
        if tracked and engine.current().after_backward:
            engine.end()
        out = record(w.call, args)
    except Exception as error:
        _raise_instead(w.call, w.flat, w.target, error)
        raise
    return out[0] if out.__class__ is list else out


def _check_places(w: _Write) -> None:
    """Raise RuntimeError if elements of the target share memory. For some ops errors of shapes come first."""
    view, op = w.target._view, w.call.op
    if view is None or w.fills:
        if op.inplace.deprecated and view is not None and is_expanded(view.aval.shape, view.stride):
            warned.warn(f"Use of {op.name}_ on expanded tensors is deprecated. Please clone() the tensor before performing this "
                        f"operation. This also applies to advanced indexing e.g. {op.inplace.deprecated}")
        return
    if op.shapes_first and overlaps(view.aval.shape, view.stride):
        try:
            errors_of_shapes(w.call, w.flat)
        except NotImplementedError as error:        # PyTorch checks the memory before its kernel raises "not implemented"
            if "_cpu" in str(error):
                check_writable(w.target)
            raise
    check_writable(w.target)


def _check_shared(w: _Write) -> None:
    """Raise RuntimeError if an argument overlaps the target in part, or at all if the op demands separate memory."""
    op = w.call.op
    for place, t in enumerate(w.flat) if not op.inplace.uniform else ():
        if place not in (0, op.inplace.reads) and t.__class__ not in NUMBER_TYPES and t._storage is w.target._storage:
            if op.memory.apart:
                errors_of_shapes(w.call, w.flat)
            storage.check_overlap(w.target, t, entirely=not op.memory.apart)


_CHECKS = (_check_places, _check_shared)        # checks of memory in PyTorch's order; the checks of autograd come first


def _node_of_write(w: _Write, args: list, out: Value, fitted: Value, name: str | None) -> Any:
    """Return the node of an in-place call that has been recorded."""
    c, op = w.call, w.call.op
    if not (op.differentiable and out.aval.is_inexact):
        return underived(c, w.flat, args, "_")
    node = make_node(c, w.flat, args if not op.saves.idempotent else [out])
    if name is not None or op.inplace.name is not None:
        node.__class__ = node_class(name or inplace_name(c))
    if node.versions:       # the node saves the target's old value, so this write must not fail its version check
        node.versions = (UNSAVED, *node.versions[1:])
    return node if fitted is out else _cast_node(out, fitted, node)


def _raise_instead(c: Call, flat, target: Tensor, error: Exception) -> None:
    """Raise PyTorch's error instead of ``error``, if PyTorch raises another one first."""
    refuse_unusable(c, flat)
    if check.names_a_kernel(error):
        _refuse_shape(c, flat, target)
        _refuse_cast(c, flat, target)
    if str(error).startswith("setStorage") and _has_room(c, target):
        raise IndexError(f"index is out of bounds for dimension {c.template[1]} with size 0") from None


def _is_plain(flat, target: Tensor) -> bool:
    """Return whether an untracked update needs no checks: the target is contiguous, and no argument shares its memory."""
    for t in flat[1:]:
        if t.__class__ not in NUMBER_TYPES and t._storage is target._storage:
            return False
    view = target._view
    return (view is None or view.in_order) and not target._inference


def _refuse_shape(c: Call, flat, target: Tensor) -> None:
    """Raise RuntimeError if an elementwise result has another shape than the target, before a missing kernel is reported."""
    if c.op.elementwise:
        have, shape = tuple(target.shape), check.broadcast_shapes(*[value_aval(t).shape for t in flat])
        if have != shape:
            raise RuntimeError(f"output with shape {list(have)} doesn't match the broadcast shape {list(shape)}") from None


def _refuse_cast(c: Call, flat, target: Tensor) -> None:
    """Raise RuntimeError if the result cannot be cast to the target's dtype, before a missing kernel is reported."""
    require_cast(of_numpy(expected_dtype(c, [value_aval(t) for t in flat])), target.dtype)


def expected_dtype(c: Call, avals: Sequence) -> np.dtype:
    """Return the dtype that a call's result would have, for a call without a kernel."""
    return np.dtype(c.op.result_dtype or c.op.common_dtype(c.template, avals))


def _has_room(c: Call, target: Tensor) -> bool:
    """Return whether the storage of an empty tensor could hold one slice along the call's dim."""
    size, stride, offset = geometry_of(target)
    dim = c.template[1] % len(size)
    size, stride = (*size[:dim], 1, *size[dim + 1:]), (*stride[:dim], 0, *stride[dim + 1:])
    return (offset + extent(size, stride)) * target.element_size() <= target._storage.aval.nbytes


def errors_of_shapes(c: Call, flat) -> None:
    """Raise the op's errors that PyTorch raises before errors about shared memory."""
    if c.op.memory.checks_first is not None:
        c.op.memory.checks_first(c.template, flat[0].dim())
    else:
        engine.kernel_of(c, tuple([value_aval(t) for t in flat]))


def _refuses_leaves(op: Op, flat) -> bool:
    """Return whether an op without a derivative must not write to leaves that require grad. PyTorch refuses most such ops."""
    return mode.grad and not op.differentiable and not op.inplace.writes_leaves and requires_grad(flat[0])


def fit(out: Value, aval) -> Value:
    """Return ``out`` cast to the dtype of the target's aval. Raise RuntimeError if shape or dtype do not fit."""
    if out.aval.shape != aval.shape:
        raise RuntimeError(f"output with shape {list(aval.shape)} doesn't match the broadcast shape {list(out.aval.shape)}")
    return cast_value(out, aval) if out.aval.np is not aval.np and out.aval.np != aval.np else out


def require_cast(made: Any, to: Any) -> None:
    """Raise RuntimeError if PyTorch does not cast ``made`` to ``to`` implicitly."""
    if not can_cast(made, to):
        raise RuntimeError(f"result type {made.scalar_name} can't be cast to the desired output type {to.scalar_name}")


def cast_value(out: Value, aval) -> Value:
    """Return ``out`` cast to the dtype of ``aval``. Raise RuntimeError if PyTorch does not cast implicitly."""
    require_cast(out.aval.dtype, aval.dtype)
    return record(call_of(OPS["_to_dtype"], (T, aval.dtype)), (out,))


def _cast_node(out: Value, fitted: Value, node: OpNode) -> OpNode:
    cast = call_of(OPS["_to_dtype"], (T, fitted.aval.dtype))
    return node_class(node.name())(cast, [out], ((node, 0),), ())


def check_inplace(target: Tensor, tracked: bool, once: bool = True) -> None:
    """Raise PyTorch's error if an in-place call on ``target`` is not allowed. ``once``: raise for expanded targets too."""
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
            raise with_note(RuntimeError("a view of a leaf Variable that requires grad is being used in an in-place operation."),
                            UPDATE_LEAF)
    if target._node is None and requires_grad(target):
        raise with_note(RuntimeError("a leaf Variable that requires grad is being used in an in-place operation."), UPDATE_LEAF)


def write_with_history(target: Tensor, value: Value, node: Node | None, nr: int = 0) -> None:
    """Write ``value`` and make output ``nr`` of ``node`` the history of ``target``. A view's base gets a history too."""
    base = target._base
    if node is None or base is None:
        storage.write(target, value)
        if node is not None:
            rebase(target, node, nr)
        return
    before = value_of(base)
    edge = edge_of(base) if base._requires_grad or requires_grad(base) else None
    elsewhere = target._storage is not base._storage
    if isinstance(node, OpNode) and (elsewhere or _unlike_the_geometry(target._node, edge and edge[0])):
        _lead_past(target, node, base, before, edge)
    place = place_in(base, geometry_of(target))
    storage.write(target, value)
    c = call_of(OPS["_write_through"], (T, T, *place, value.aval.dtype))
    rebase(base, CopySlices(c, [before, value], (edge, (node, nr)), ()), 0)
    regenerate(target, base)        # at once, since later the base may have another history


def _unlike_the_geometry(node: Node | None, end: Any) -> bool:
    """Return whether the nodes from a view to its base change gradients in other ways than their geometries say.

    A hook may change them, or an ``as_strided`` may reach beyond its argument.
    """
    while isinstance(node, OpNode) and node is not end and node.raw_edges:
        first = node.raw_edges[0]
        if node.watched or (node.call.op.through_storage and first is not None and first[0] is not end):
            return True
        node = first[0] if first is not None and first[1] != LEAF else None
    return False


def _lead_past(target: Tensor, node: OpNode, base: Tensor, before: Value, edge: Any) -> None:
    """Lead the gradient for the target's old value to the base directly, without the view's own nodes, as PyTorch does.

    This also serves a target that left its base's memory by ``target.data = other``.
    """
    past = node_class("AsStridedBackward0")(read_through(base, geometry_of(target), target.dtype), [before], (edge,), ())
    first, *others = node.raw_edges
    if first is not None and first[0] is target._node:
        node.raw_edges = ((past, 0), *others)


_STATISTICS_OF_SAMPLES = (
    "Batch norm got a batched tensor as input while the running_mean or running_var, which will be updated in place, were not "
    "batched.\nIf you are using a module and do not need eval mode, please set `track_running_stats` to be False.If you are "
    "using a prebuilt module and do not need eval mode, please see the functorch website for resources on how to patch your "
    "module to work with vmap")


def call_writing(c: Call, flat, targets: list[Tensor | None]):
    """Call an op that returns new values for some arguments (``writes``) after its results, and write them to ``targets``."""
    if late_bindings.aten is not None:
        made: Any = late_bindings.aten.call_writing(c, flat, targets)
        if made is not None:
            return made
    out = call(c, flat)
    if out.__class__ is not list:
        return out
    given = [t for t in targets if t is not None]
    kept = len(out) - len(given)
    if kept < 1:
        return named(c, out)
    made = list(map(value_of, out[kept:]))
    if batched.is_batched(made[0]) and not all([batched.is_batched(value_of(t)) for t in given]):
        raise RuntimeError(_STATISTICS_OF_SAMPLES if c.op.update_op else
                           f"vmap: {c.op.name} can't write for each sample into a tensor that is the same for all")
    if c.op.update_op:
        made = _written_by(c, flat, [*map(value_of, given), *made])
    for t, new in zip(given, made, strict=True):
        storage.write(t, fit(new, storage.aval_of(t)))
    node = out[0]._node
    if node is not None:        # the write is part of the op, so it must not fail the version check
        node.versions = tuple([(counter, version if counter is None else counter.version)
                               for counter, version in node.versions])
    return out[0] if kept == 1 else tuple(out[:kept])


def _written_by(c: Call, flat, values: list[Value]) -> Any:
    """Return the results of the update op (``Op.update_op``) for the old values, the new values and a number of the call.

    On the CPU the number is a value too. Other devices would transfer the value in each run, so they get the number itself.
    """
    op = OPS[c.op.update_op]
    number = argument_of(c.op, c.template, flat, op.params[-1].name)
    last, mark = (constant(number), T) if values[0].aval.device is engine.CPU else (number, NUMBERS[type(number)])
    return record(call_of(op, (*[T] * len(values), mark)), [*values, last])


speedups.connect(globals(), "inplace")
