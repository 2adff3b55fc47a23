"""Plain calls: they turn tensors into values, record the call, make its node and wrap the results."""
from __future__ import annotations

from typing import Any

from jtorch import engine, speedups, storage, tape
from jtorch._backward import untracked_writes
from jtorch._backward.view_history import edge_of, node_of, requires_grad
from jtorch._base import late_bindings
from jtorch._nodes.vjp import backward_name
from jtorch.dispatch import sample_layouts
from jtorch.dispatch.numbers import check_numbers, has_large_integer, in_int64, may_overflow
from jtorch.dtype import float32, float64  # noqa: F401  (for the extension)
from jtorch.engine import Call, Value, call_of
from jtorch.no_grad import mode
from jtorch.ops.layout import preserved
from jtorch.ops.registry import OPS, T
from jtorch.ops.strided import contiguous_strides, is_expanded, overlaps
from jtorch.speedups.constants import (
    CLASS_BY_SHAPES,
    DIFFERENTIABLE,
    FITS,
    HAS_CHECKS,
    IDEMPOTENT,
    INPLACE_IN_PYTHON,
    KEEPS_RESULT,
    LAID_OUT,
    LEAF,
    PLAIN_VIEW,
    RENAMED,
    SAVES,
    SAVES_BOTH,
)
from jtorch.storage import SavedTensorRef, Storage, geometry_of, value_of
from jtorch.tape import ConditionallySavedNode, Node, NotImplementedNode, OpNode, PartialVersionCheckNode, node_class
from jtorch.tensor import Tensor, wrap

NUMBER_TYPES = {int, float, bool, complex}
record = engine.record


def call(c: Call, flat):
    """Call ``c`` on tensors and Python numbers. Return a tensor, or a list if the op has several results."""
    if int in map(type, flat) and has_large_integer(flat):
        c, flat = in_int64(c, flat)
    if late_bindings.autocast is not None:
        flat = late_bindings.autocast(c, flat)
    if late_bindings.forward is not None or late_bindings.aten is not None:
        made = _taken_over(c, flat)
        if made is not None:
            return made
    args = []
    needs = viewed = False
    for t in flat:
        if t.__class__ in NUMBER_TYPES:
            args.append(t)
            continue
        view = t._view
        if view is None:
            args.append(t._storage.value or value_of(t))
        else:
            args.append(value_of(t))
            viewed = viewed or not view.in_order
        if t._requires_grad or (t._base is not None and requires_grad(t)):
            needs = True
    try:
        if c.op.fits and may_overflow(flat):
            check_numbers(c, flat)
        if viewed and c.op.layout is not None:
            return _call_laid_out(c, flat, args, needs)
        if needs and mode.grad and not mode.inference:
            return _call_with_node(c, flat, args)
        out = record(c, args)
    except Exception:
        refuse_unusable(c, flat)
        raise
    if out.__class__ is Value:
        return wrap(out) if not mode.inference else _inference(wrap(out))
    return _wrapped(out)


def _taken_over(c: Call, flat) -> Any:
    """Return the result of a mode or class that takes the call over, or None."""
    made = late_bindings.forward(c, flat) if late_bindings.forward is not None else None
    return late_bindings.aten.call(c, flat) if made is None and late_bindings.aten is not None else made


def any_requires_grad(flat) -> bool:
    """Return whether an argument of a call requires grad."""
    for t in flat:      # noqa: SIM110  (the hot path)
        if t.__class__ not in NUMBER_TYPES and (t._requires_grad or (t._base is not None and requires_grad(t))):
            return True
    return False


def refuse_unusable(c: Call, flat) -> None:
    """Raise the error of an invalidated view among the arguments, if the op raises this error before all others."""
    if c.op.asks_history_first and mode.grad and not mode.inference:
        _refuse(flat)


def _refuse(flat) -> None:
    for t in flat:
        if t.__class__ not in NUMBER_TYPES and t._base is not None and requires_grad(t):
            node_of(t)


def _call_laid_out(c: Call, flat, args: list, needs: bool):
    """Record a call whose arguments may not be contiguous. Return its results with the strides of the op's layout rule."""
    made = _call_with_node(c, flat, args) if needs and mode.grad and not mode.inference else _wrapped(record(c, args))
    return lay_out_results(c, flat, made, needs)


def lay_out_results(c: Call, flat, made, needs: bool):
    """Give the results of a call (a tensor or a list) the strides of the op's layout rule."""
    among = None
    several = made if made.__class__ is list else [made]
    if several and several[0]._storage.aval.traced:
        sample_layouts.lay_out(c, flat, several)
        return made
    if c.op.layout.kept and not is_expanded(*geometry_of(flat[0])[:2]):      # PyTorch copies the whole storage, with gaps
        among = flat[0]._storage.content()
        if overlaps(*geometry_of(flat[0])[:2]):
            storage.write(made, merged(c, flat[0], value_of(made)))
            storage.set_version(made, 0)
    for t in several:
        stride, *offset = layout_of(c, flat, t._storage.aval.shape)
        storage.lay_out(t, stride, offset[0] if offset else 0, among)
    if needs and c.op.saves.result:
        _note_layout(several[0])
    return made


def _note_layout(t: Tensor) -> None:
    """Give the node that has saved a result the result's geometry."""
    node = t._node
    if isinstance(node, OpNode) and node.versions and node.versions[-1][0] is t._storage:
        node.versions = (*node.versions[:-1], (saved_ref(t), node.versions[-1][1]))


def call_preserving_strides(c: Call, flat) -> Tensor:
    """Call an op whose result has the strides and the offset of its first argument."""
    made = call(c, flat)
    if late_bindings.aten is not None and late_bindings.aten.takes_over(flat):
        return made
    view = flat[0]._view
    if view is not None and view.in_order:
        storage.lay_out(made, view.stride, view.offset, flat[0]._storage.content())
    return made


def call_with_output_strides(c: Call, flat):
    """Call an op whose results may not be contiguous even if its arguments are."""
    made = call(c, flat)
    if late_bindings.aten is not None and late_bindings.aten.takes_over(flat):
        return made
    first = made[0] if made.__class__ is list else made
    return made if first._view is not None else lay_out_results(c, flat, made, requires_grad(first))


def _wrapped(out):
    made = [wrap(v) for v in out] if out.__class__ is list else wrap(out)
    if mode.inference:
        for t in made if made.__class__ is list else (made,):
            t._inference = True
    return made


def layout_of(c: Call, flat, shape: tuple) -> tuple:
    """Return (strides,) or (strides, offset) of a result of this shape. For C a cached pair means a contiguous result."""
    tensors = [t for t in flat if t.__class__ not in NUMBER_TYPES]
    if c.op.layout.kept:
        size, stride, offset = geometry_of(tensors[0])
        return (preserved(size, stride),) if is_expanded(size, stride) else (stride, offset)
    key = (shape, *[t._storage.aval if t._view is None else (t._view.aval, t._view.stride) for t in tensors])
    found = c.nodes.get(key)
    if found is None:
        if len(c.nodes) > 256:
            c.nodes.clear()
        cast = iter(c.op.uncast(c.template, [value_aval(t) for t in flat]))
        same = [next(cast) for t in flat]
        shown = [geometry_of(t)[:2] if s else (tuple(storage.aval_of(t).shape), preserved(*geometry_of(t)[:2]))
                 for t, s in zip(flat, same, strict=True) if t.__class__ not in NUMBER_TYPES]
        if c.op.counts_numbers and c.op.has_number(c.template):
            shown.append(((), ()))
        stride = c.op.layout.strides(shape, shown, c.template, storage.aval_of(tensors[0]).dtype)
        found = c.nodes[key] = (stride, 0) if stride == contiguous_strides(shape) else (stride,)
    return found


def computing_in(c: Call, dtype: Any) -> Call:
    """Return the call with ``dtype=dtype``, unless it has a dtype already."""
    at = [p.name for p in c.op.params].index("dtype")
    return c if c.template[at] is not None else engine.call_of(c.op, (*c.template[:at], dtype, *c.template[at + 1:]), c.creates)


def value_aval(t):
    """Return the aval of a call's argument, which is a tensor or a number."""
    return engine.NUMBER_AVALS[t.__class__] if t.__class__ in NUMBER_TYPES else storage.aval_of(t)


def _inference(t: Tensor) -> Tensor:
    t._inference = True
    return t


def _call_with_node(c: Call, flat, args: list):
    if engine.current().after_backward:
        engine.end()
    return _with_node(c, flat, args, record(c, args))


def _with_node(c: Call, flat, args: list, out):
    """Return the result of a call that has been recorded, with its node."""
    op = c.op
    if out.__class__ is Value:
        if not (op.differentiable and out.aval.is_inexact):
            if op.composite:
                _refuse(flat)
            return wrap(out) if not (op.not_derived and out.aval.is_inexact) else wrap(out, (underived(c, flat, args), 0))
        node = make_node(c, flat, args if not op.saves.idempotent else [out])
        if op.saves.result:
            return _saving_result(out, node)
        return wrap(out, (node, 0))
    if not (op.differentiable and any([v.aval.is_inexact for v in out])):
        return [wrap(v) for v in out]
    node = make_node(c, flat, args)
    made = [wrap(v, (node, i)) if v.aval.is_inexact else wrap(v) for i, v in enumerate(out)]
    if op.saves.result:
        made[0] = _saving_result(out[0], node)
    return made


def _saving_result(out: Value, node: OpNode) -> Tensor:
    """Return the result of an op whose backward uses its result, which must not be written to until then."""
    s = Storage(out)
    save_result(node, s, out.aval)
    made = wrap(out, (node, 0), s)
    if mode.saved_hooks:
        late_bindings.pack_result(node, made)
    return made


def save_result(node: OpNode, counter: Any, aval: Any) -> None:
    """Record the version of a result that the backward uses, after the versions of the saved arguments, if any."""
    few = node.call.op.saves.checks and node.call.op.saves.checks(node.call.template, node.raw_edges)
    if few is not None and "result" not in few:
        return
    node.result = aval
    storage.count_saved(((counter, 0),), 1)
    if mode.mutation_allowed:
        node.versions = ()
    elif node.call.op.saves.both:
        node.versions = (*node.versions, (counter, counter.version))
    else:
        node.versions = ((counter, counter.version),)


def make_node(c: Call, flat, args: list) -> OpNode:
    """Return the node of a call that has been recorded."""
    cls = c.nodes.get("class") or _class_of(c, args)
    saves = c.op.saves.anything
    edges: list = []
    versions: list = []
    shared = False
    for t, a in zip(flat, args):        # noqa: B905  (the hot path)
        if a.__class__ is not Value:
            edges.append(None)
            if saves:
                versions.append(UNSAVED)
            continue
        if t._requires_grad and t._base is None:
            node = t._node
            edges.append((node, t._output_nr) if node is not None else (t, LEAF))
        elif t._base is not None and a.aval.is_inexact and requires_grad(t):
            edges.append(edge_of(t))
        else:
            edges.append(None)
            if saves and t._inference and not (mode.inference or mode.transformed):
                raise RuntimeError(_INFERENCE_SAVED)
        if saves:
            s = t._storage
            counter = s if t._view is None and t._counter is None and t._base is None else SavedTensorRef(t)
            versions.append((counter, counter.version))
            shared = shared or s.host is not None
    node = cls(c, args, tuple(edges), tuple(versions))
    if shared:
        untracked_writes.on_host.add(node)
    if mode.special:
        _special_node(node, flat)
    return node


def saved_ref(t: Tensor) -> Any:
    """Return the object that gives a saved tensor's version and geometry."""
    return t._storage if t._view is None and t._counter is None and t._base is None else SavedTensorRef(t)


def _class_of(c: Call, args: list) -> type:
    if c.op.backward_name_by_shapes is not None:
        return node_class(c.op.backward_name_by_shapes(c.template, *[a.aval.shape for a in args]))
    saves = c.op.saves
    base = ConditionallySavedNode if saves.frees is not None else PartialVersionCheckNode if saves.checks is not None else OpNode
    found = c.nodes["class"] = node_class(backward_name(c), base)
    return found


def _special_node(node: OpNode, flat) -> None:
    """Apply anomaly detection and the hooks of modes to a new node."""
    if mode.mutation_allowed:
        node.versions = ()
    if mode.anomaly:
        node.trace = tape.stack()
    if mode.on_node is not None:
        mode.on_node(node, flat)


UNSAVED = (None, 0)
_INFERENCE_SAVED = ("Inference tensors cannot be saved for backward. Please do not use Tensors created in inference mode in "
                    "computation tracked by autograd. To work around this, you can make a clone to get a normal tensor and use "
                    "it in autograd, or use `torch.no_grad()` instead of `torch.inference_mode()`.")


def merged(c: Call, target: Tensor, value: Value) -> Value:
    """Return ``value`` with one number for all elements of ``target`` that share a place in memory."""
    size, stride, _ = geometry_of(target)
    if not overlaps(size, stride):
        return value
    adds = c.op.inplace.adds is not None and storage.aval_of(target).dtype.name != "bool" and c.op.inplace.adds(c.template)
    return record(call_of(OPS["_merged"], (T, T, tuple(stride), adds)), (value_of(target), value))


def underived(c: Call, flat, args: list, suffix: str = "") -> Node:
    """Return the node of an op without a derivative: its gradients are 0, or its backward raises.

    ``suffix``: follows the op's name in the error; "_" for an in-place call.
    """
    tensors = [t for t in flat if t.__class__ not in NUMBER_TYPES]
    if c.op.not_derived:
        edges = tuple([edge_of(t) if requires_grad(t) else None for t in tensors])
        return NotImplementedNode(c.op.underived_name(c.template) + suffix, edges)
    return zero_node(inplace_name(c), tensors)


def zero_node(name: str, tensors: list) -> OpNode:
    """Return a node that gives each of ``tensors`` a gradient of 0."""
    values = [value_of(t) for t in tensors]
    node = make_node(call_of(OPS["_zero_of"], ((T,) * len(tensors),)), tensors, values)
    node.__class__ = node_class(name)
    return node


def inplace_name(c: Call) -> str:
    """Return the name of the node of an in-place call."""
    name = c.op.inplace.name
    return name(c.template) if callable(name) else name     # type: ignore[return-value]


def tape_flags(c: Call) -> int:
    """Return the facts of a call that the extension reads, as flags. Set ``c.tape_flags`` and ``c.node_class`` too."""
    op, saves = c.op, c.op.saves
    by_shapes = op.backward_name_by_shapes is not None
    if op.differentiable and not by_shapes:
        c.node_class = c.nodes.get("class") or _class_of(c, [])
    holds = {
        DIFFERENTIABLE: op.differentiable, SAVES: saves.anything, SAVES_BOTH: saves.both,
        KEEPS_RESULT: saves.result, HAS_CHECKS: saves.checks is not None, IDEMPOTENT: saves.idempotent,
        LAID_OUT: op.layout is not None, CLASS_BY_SHAPES: by_shapes,
        INPLACE_IN_PYTHON: op.out.takes_dtype, PLAIN_VIEW: op.is_plain_view,
        RENAMED: op.view is not None and op.view.alias_name is not None, FITS: bool(op.fits)}
    c.tape_flags = facts = sum([fact for fact, is_so in holds.items() if is_so])
    return facts


def class_by_shapes(c: Call, args: list, key: tuple) -> type:
    """Return the class of a call's nodes that depends on the arguments' shapes, and cache it under ``key``."""
    if len(c.nodes) > 256:
        c.nodes.clear()
    found = c.nodes[key] = _class_of(c, args)
    return found


def checked(c: Call, edges: tuple, key: int) -> tuple | None:
    """Return the arguments that the version check compares, and cache them under ``key``, which encodes the edges."""
    found = c.op.saves.checks(c.template, edges)      # type: ignore[misc]
    c.nodes[key] = found
    return found


_modes_are_on = False       # True while some thread has a mode with __torch_dispatch__ on


def detour(modes_are_on: bool | None = None) -> None:
    """Tell the extension to leave all calls to Python, or to stop doing so.

    The extension leaves calls to Python while ``late_bindings.autocast`` or ``late_bindings.forward`` is set, or while a mode
    with ``__torch_dispatch__`` is on. ``modes_are_on`` says whether such a mode is on; None means no change.
    """
    global _modes_are_on
    if modes_are_on is not None:
        _modes_are_on = modes_are_on
    if speedups.native is not None:
        speedups.native.set_detour(late_bindings.autocast is not None or late_bindings.forward is not None or _modes_are_on)


_end, _next_number = engine.end, tape.sequence
speedups.connect(globals(), "calls")
late_bindings.call = call
