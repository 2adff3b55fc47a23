"""The one way through which every call goes: tensors in, a record and a node made, tensors out."""
from __future__ import annotations

import warnings
from collections import namedtuple
from typing import Any

from jtorch import engine, hooks, overwritten, storage, tape
from jtorch.engine import Call, Value, call_of
from jtorch.no_grad import mode
from jtorch.ops import check
from jtorch.ops.layout import ELEMENTWISE, KEPT, preserved
from jtorch.ops.matmul import c_name
from jtorch.ops.registry import OPS, Op, T
from jtorch.ops.strided import extent, is_expanded, overlaps
from jtorch.ops.view import ITSELF
from jtorch.ops.view_part import slices_of
from jtorch.storage import Seen, Storage, View, check_writable, geometry_of, value_of
from jtorch.tape import CopySlices, FewNode, Node, NotImplementedNode, OpNode, SometimesNode, node_class
from jtorch.tensor import Tensor, edge_of, forbidden_view, move_retaining, node_of, requires_grad, wrap
from jtorch.vjp import backward_name
from jtorch.walks import LEAF

NUMBER_TYPES = {int, float, bool, complex}
record, local = engine.record, engine.local
autocast: Any = None        # casts the arguments of a call, while some thread has autocast on


def call(c: Call, flat):
    """Calls ``c`` on tensors and Python numbers: a tensor, or a list of them for an op with several results."""
    if autocast is not None:
        flat = autocast(c, flat)
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


def refuse_unusable(c: Call, flat) -> None:
    """Raises the error of a view that may not be used any more: it comes before all others that a call's arguments have."""
    known = c.op.differentiable or c.op.not_derived or c.op.name.startswith("bitwise_")
    if mode.grad and not mode.inference and known and c.op.name not in _MADE_OF_OTHERS:
        _refuse(flat)


def _refuse(flat) -> None:
    for t in flat:
        if t.__class__ not in NUMBER_TYPES and t._base is not None and requires_grad(t):
            node_of(t)


_MADE_OF_DERIVED = {"isfinite", "isclose", "argsort"}       # of ops that ask for the history of a view (abs, sort)
_MADE_OF_OTHERS = {"flatten", "moveaxis", "movedim", "unflatten", "narrow", "chunk", "tensor_split", "repeat_interleave", "diff",
                   "take_along_dim"}


def _call_laid_out(c: Call, flat, args: list, needs: bool):
    """``call`` where an argument may not be contiguous, so that the op's rule says how results lie in memory."""
    made = _call_with_node(c, flat, args) if needs and mode.grad and not mode.inference else _wrapped(record(c, args))
    among = None
    if c.op.layout is KEPT and not is_expanded(*geometry_of(flat[0])[:2]):      # part of a copy of all that the storage holds
        among = flat[0]._storage.content()
        if overlaps(*geometry_of(flat[0])[:2]):
            storage.write(made, _merged(c, flat[0], value_of(made)))
            made._storage.version = 0
    for t in made if made.__class__ is list else (made,):
        stride, *offset = _layout(c, flat, t._storage.aval.shape)
        storage.lay_out(t, stride, offset[0] if offset else 0, among)
    if needs and c.op.keeps_result:
        _note_layout(made[0] if made.__class__ is list else made)
    return made


def _note_layout(t: Tensor) -> None:
    """Tells the node that has saved a result how it lies in memory."""
    node = t._node
    if isinstance(node, OpNode) and node.versions and node.versions[-1][0] is t._storage:
        node.versions = (*node.versions[:-1], (_seen(t), node.versions[-1][1]))


def call_kept(c: Call, flat) -> Tensor:
    """``call`` of an op whose result lies in memory as its first argument does, its offset included."""
    made, view = call(c, flat), flat[0]._view
    if view is not None and view.in_order:
        storage.lay_out(made, view.stride, view.offset, flat[0]._storage.content())
    return made


def _wrapped(out):
    made = [wrap(v) for v in out] if out.__class__ is list else wrap(out)
    if mode.inference:
        for t in made if made.__class__ is list else (made,):
            t._inference = True
    return made


def _layout(c: Call, flat, shape: tuple) -> tuple:
    """The strides (and for some the offset) of a result of this shape."""
    tensors = [t for t in flat if t.__class__ not in NUMBER_TYPES]
    if c.op.layout is KEPT:
        size, stride, offset = geometry_of(tensors[0])
        return (preserved(size, stride),) if is_expanded(size, stride) else (stride, offset)
    key = (shape, *[t._storage.aval if t._view is None else (t._view.aval, t._view.stride) for t in tensors])
    found = c.nodes.get(key)
    if found is None:
        if len(c.nodes) > 256:
            c.nodes.clear()
        cast = iter(c.op.uncast(c.template, [value_aval(t) for t in flat]))
        same = [next(cast) for t in flat]
        shown = [geometry_of(t)[:2] if s else (tuple(t.shape), preserved(*geometry_of(t)[:2]))
                 for t, s in zip(flat, same, strict=True) if t.__class__ not in NUMBER_TYPES]
        if c.op.counts_numbers and c.op.has_number(c.template):
            shown.append(((), ()))
        found = c.nodes[key] = (c.op.layout(shape, shown, c.template, tensors[0].dtype),)
    return found


def value_aval(t):
    """The aval of an argument of a call, a tensor or a number."""
    return engine.NUMBER_AVALS[t.__class__] if t.__class__ in NUMBER_TYPES else storage.aval_of(t)


def _inference(t: Tensor) -> Tensor:
    t._inference = True
    return t


def _call_with_node(c: Call, flat, args: list):
    if local.rec.after_backward:
        engine.end()
    out = record(c, args)
    op = c.op
    if out.__class__ is Value:
        if not (op.differentiable and out.aval.kind):
            if op.name in _MADE_OF_DERIVED:
                _refuse(flat)
            return wrap(out) if not (op.not_derived and out.aval.kind) else wrap(out, (_underived(c, flat, args), 0))
        node = make_node(c, flat, args)
        if op.keeps_result:
            return _saving_result(out, node)
        return wrap(out, (node, 0))
    if not (op.differentiable and any([v.aval.kind for v in out])):
        return [wrap(v) for v in out]
    node = make_node(c, flat, args)
    made = [wrap(v, (node, i)) if v.aval.kind else wrap(v) for i, v in enumerate(out)]
    if op.keeps_result:
        made[0] = _saving_result(out[0], node)
    return made


def _saving_result(out: Value, node: OpNode) -> Tensor:
    """The result of an op whose backward uses its result, which must not be written to until then."""
    s = Storage(out)
    _save_result(node, s, out.aval)
    return wrap(out, (node, 0), s)


def _save_result(node: OpNode, counter: Any, aval: Any) -> None:
    """Notes the version of a result that the backward uses; it stands behind those of the arguments, if they count too."""
    few = node.call.op.checks and node.call.op.checks(node.call.template, node.raw_edges)
    if few is not None and "result" not in few:
        return
    node.result = aval
    if mode.mutation_allowed:
        node.versions = ()
    elif node.call.op.saves == "both":
        node.versions = (*node.versions, (counter, counter.version))
    else:
        node.versions = ((counter, counter.version),)


def make_node(c: Call, flat, args: list) -> OpNode:
    """The node of a call that has been recorded."""
    cls = c.nodes.get("class") or _class_of(c, args)
    saves = c.op.saves != "none"
    edges: list = []
    versions: list = []
    shared = False
    for t, a in zip(flat, args):        # noqa: B905  (the hot path)
        if a.__class__ is not Value:
            edges.append(None)
            if saves:
                versions.append(_UNSAVED)
            continue
        if t._requires_grad and t._base is None:
            node = t._node
            edges.append((node, t._output_nr) if node is not None else (t, LEAF))
        elif t._base is not None and a.aval.kind and requires_grad(t):
            edges.append(edge_of(t))
        else:
            edges.append(None)
            if saves and t._inference and not mode.inference:
                raise RuntimeError(_INFERENCE_SAVED)
        if saves:
            s = t._storage
            counter = s if t._view is None and t._counter is None else _seen(t)
            versions.append((counter, counter.version))
            shared = shared or s.host is not None
    node = cls(c, args, tuple(edges), tuple(versions))
    if shared:
        overwritten.on_host.add(node)
    if mode.special:
        _special_node(node, flat)
    return node


def _seen(t: Tensor) -> Any:
    """What says whether a tensor that was saved is written to, and where it lies."""
    s = t._storage
    return s if t._view is None and t._counter is None else Seen(t._counter or s, s, t._view)


def _class_of(c: Call, args: list) -> type:
    if c.op.backward_name_by_shapes is not None:
        return node_class(c.op.backward_name_by_shapes(*[a.aval.shape for a in args]))
    base = SometimesNode if c.op.frees is not None else FewNode if c.op.checks is not None else OpNode
    found = c.nodes["class"] = node_class(backward_name(c), base)
    return found


def _special_node(node: OpNode, flat) -> None:
    """What anomaly detection and saved-tensor hooks add to a new node."""
    if mode.mutation_allowed:
        node.versions = ()
    if mode.anomaly:
        node.trace = tape.stack()
    if mode.on_node is not None:
        mode.on_node(node, flat)


_UNSAVED = (None, 0)
_INFERENCE_SAVED = ("Inference tensors cannot be saved for backward. Please do not use Tensors created in inference mode in "
                    "computation tracked by autograd. To work around this, you can make a clone to get a normal tensor and use "
                    "it in autograd, or use `torch.no_grad()` instead of `torch.inference_mode()`.")


# ---------------------------------------------------------------- results that share memory

def call_view(c: Call, flat):
    """Calls a view op: the result shares the storage of the first argument, unless the geometry says to copy."""
    base = flat[0]
    avals = tuple([storage.aval_of(t) for t in flat])
    traced = avals[0].traced
    if traced:      # a tracer's aval is its own, but its geometry is that of any tensor of its shape
        avals = (engine.aval_of(avals[0].shape, avals[0].np, avals[0].device), *avals[1:])
    key = (geometry_of(base), avals)
    found = c.nodes.get(key)
    if found is None:
        if len(c.nodes) > 256:
            c.nodes.clear()
        try:
            found = _geometry(c, key[0], avals)
        except Exception:
            refuse_unusable(c, flat)
            raise
        c.nodes[key] = found
    if found.__class__ is str:
        return base if found == ITSELF else _copied(call(c, flat), c.op)
    shown = found if found.__class__ is list else [found]
    if traced:
        shown = [(engine.traced_aval(aval.sds), *rest) for aval, *rest in shown]
    made = _views(c, flat, shown)
    if not made:
        return made
    if c.op.name in _OF_OTHER_DTYPE:
        for t in made:
            t._view_op = backward_name(c), c if base._base is None else None
    if c.op.name in _REPLAYED or base._through:
        for t in made:
            t._through = (base, *base._through) if c.op.name in _REPLAYED else base._through
    if not c.op.differentiable:
        return _forgotten(made[0])
    if mode.grad and not mode.inference and requires_grad(base):
        _track_views(c, flat, made)
        if c.op.name in _RESHAPES and not base.is_contiguous():
            made[0]._node.__class__ = node_class("ReshapeAliasBackward0")       # type: ignore[union-attr]
    if base._inference:
        for t in made:
            t._base = None
        return made if found.__class__ is list else made[0]
    if not mode.grad:
        creation: str | None = "inference" if mode.inference else "no_grad"
    elif found.__class__ is list and c.op.backward_name != "SliceBackward0":
        creation = "multi"
    else:
        creation = base._creation
    if creation is not None:
        for t in made:
            t._creation = creation
    return made if found.__class__ is list else made[0]


_RESHAPES = {"reshape", "reshape_as", "flatten"}
_OF_OTHER_DTYPE = {"view_as_real", "view_as_complex"}       # when the base was written to, they are made anew as what they were


_REPLAYED = {"view_as_real", "view_as_complex", "real", "imag", "conj"}


def _copied(t: Tensor, op: Op) -> Tensor:
    """What a view op gives where only a copy can show it."""
    if op.backward_name == "ViewBackward0" and t._node is not None:
        t._node.__class__ = node_class("UnsafeViewBackward0")
    return t


def _forgotten(t: Tensor) -> Tensor:
    """A view that autograd does not know: it shares memory and version, as ``detach`` does."""
    t._base, t._inference = None, mode.inference
    return t


def _views(c: Call, flat, shown: list[tuple[Any, tuple, int, bool]]) -> list[Tensor]:
    """The views of the base. Views of host memory show it as it is when they are read; others know their value."""
    base = flat[0]
    if c.op.through_storage:
        try:
            storage.check_bounds(base, *shown[0][:3])
        except RuntimeError:
            refuse_unusable(c, flat)
            raise
    if base._storage.host is not None or c.op.through_storage:
        return [_view_of(base, *g, None) for g in shown]
    out = record(c, [value_of(t) for t in flat])
    return [_view_of(base, *g, v) for g, v in zip(shown, out if out.__class__ is list else [out], strict=True)]


def _track_views(c: Call, flat, made: list[Tensor]) -> None:
    if local.rec.after_backward:
        engine.end()
    if c.op.through_storage:        # the gradient of what it shows goes to where the base shows the same
        c = _read_through(flat[0], made[0])
    args = [value_of(t) for t in flat]
    if c.op.name in _SLICING:       # each part has a node of its own
        dim, ranges = slices_of(c.op.name, c.template, args[0].aval.shape)
        nodes = [make_node(call_of(OPS["slice"], (T, dim, start, start + n, 1)), flat, args) for start, n in ranges]
    else:
        nodes = [make_node(c, flat, args)]
    if len(flat) > 1:       # of the second only the shape counts
        nodes[0].raw_edges = (nodes[0].raw_edges[0], *[None] * (len(nodes[0].raw_edges) - 1))
    for i, t in enumerate(made):
        if storage.aval_of(t).kind:
            t._requires_grad, t._node, t._output_nr = True, nodes[i] if len(nodes) > 1 else nodes[0], i if len(nodes) == 1 else 0


_SLICING = {"tensor_split", "hsplit", "vsplit", "dsplit"}


def _read_through(base: Tensor, shown: Tensor) -> Call:
    size, stride, offset = geometry_of(shown)
    bsize, bstride, boffset = geometry_of(base)
    return call_of(OPS["_read_through"], (T, bsize, bstride, size, stride, offset - boffset, shown.dtype))


def _geometry(c: Call, key: tuple, avals: tuple):
    """What the op's rule makes of the base's geometry: (aval, stride, offset, in order), a list of them, or 'copy'."""
    found = c.op.geometry(c.template, key, avals)
    if found is None or any(a.traced for a in avals):
        return "copy"
    if found.__class__ is str:
        return found
    if c.op.through_storage:
        return _shown(engine.aval_of(found[0], avals[0].np, avals[0].device), *found[1:])
    outs = engine.kernel_of(c, avals).outs
    if isinstance(found, list):
        return [_shown(aval, stride, offset) for aval, (_, stride, offset) in zip(outs, found, strict=True)]
    return _shown(outs[0], *found[1:])


def _shown(aval, stride: tuple, offset: int) -> tuple[Any, tuple, int, bool]:
    return aval, tuple(stride), offset, tuple(stride) == storage.contiguous_strides(aval.shape)


def _view_of(base: Tensor, aval, stride: tuple, offset: int, in_order: bool, value: Value | None) -> Tensor:
    s = base._storage
    t = wrap(value, None, s)
    if aval is not s.aval or offset or stride != storage.contiguous_strides(aval.shape):
        t._view = View(aval, stride, offset, value, s.generation if value is not None else -1)
        t._view.in_order = in_order
    t._counter = base._counter
    t._inference = base._inference
    t._base = base._base if base._base is not None else base
    t._node_version = tape.counter_of(t).version
    return t


# ---------------------------------------------------------------- writes

def call_inplace(c: Call, flat, target: Tensor | None = None, name: str | None = None) -> Tensor:
    """Calls ``c`` and writes its result into ``target`` (the first argument), with PyTorch's rules and history.

    ``name``: what PyTorch calls the node, where a call stands for another one.
    """
    target = flat[0] if target is None else target
    op = c.op
    tracked = (op.differentiable or op.not_derived or op.inplace_name is not None) and mode.grad and not mode.inference \
        and any(t.__class__ not in NUMBER_TYPES and requires_grad(t) for t in flat)
    fills = op.name in FILLS and (op.name != "fill" or c.template[1] is not T) and not _of_batches(op, target)
    check_inplace(target, tracked or _refuses_leaves(op, flat), once=False)
    args = [t if t.__class__ in NUMBER_TYPES else value_of(t) for t in flat]
    try:
        if target._view is not None and not fills:
            of_shapes = op.name in _DTYPES_FIRST or (op.promote is None and op.layout not in ELEMENTWISE)
            if of_shapes and overlaps(*geometry_of(target)[:2]):
                _errors_of_shapes(c, flat)
            check_writable(target)
        if len(flat) > 1 and op.name != "fill":
            _check_overlaps(c, flat, target)
        if mode.grad and tracked and local.rec.after_backward:
            engine.end()
        out = record(c, args)
    except Exception as error:
        refuse_unusable(c, flat)
        if str(error).startswith("setStorage") and _has_room(c, target):
            raise IndexError(f"index is out of bounds for dimension {c.template[1]} with size 0") from None
        raise
    if out.__class__ is list:
        out = out[0]
    fitted = fit(out, storage.aval_of(target))
    if fills and op.name not in ("fill", "zero") and target._view is not None:
        fitted = _merged(c, target, fitted)
    node: Any = None
    if tracked and storage.aval_of(target).kind and not (op.differentiable and out.aval.kind):
        node = _underived(c, flat, args)
    elif tracked and storage.aval_of(target).kind:
        node = make_node(c, flat, args)
        if name is not None or op.inplace_name is not None:
            node.__class__ = node_class(name or _inplace_name(c))
        if node.versions:       # what the target was is kept, so that writing over it now is no error
            first = next((i for i, t in enumerate(flat) if t is target), -1)
            node.versions = tuple([_UNSAVED if i == first else v for i, v in enumerate(node.versions)])
        if fitted is not out:
            node = _cast_node(out, fitted, node)
    write_with_history(target, fitted, node)
    if node is not None and c.op.keeps_result and node.call is c:
        _save_result(node, _seen(target), out.aval)
    return target


def _has_room(c: Call, target: Tensor) -> bool:
    """Whether the storage of a tensor without elements would hold a first slice along the dim of a call."""
    size, stride, offset = geometry_of(target)
    dim = c.template[1] % len(size)
    size, stride = (*size[:dim], 1, *size[dim + 1:]), (*stride[:dim], 0, *stride[dim + 1:])
    return (offset + extent(size, stride)) * target.element_size() <= target._storage.aval.nbytes


_DTYPES_FIRST = set("sign floor ceil trunc relu clamp clamp_min clamp_max clip neg sub subtract pow".split())     # before memory


def _errors_of_shapes(c: Call, flat) -> None:
    """Raises the errors of an op that come before those of shared memory; of ``index_copy`` only that of its dim does."""
    if c.op.name == "index_copy":
        check.wrap_dim(c.template[1], flat[0].dim())
    else:
        engine.kernel_of(c, tuple([value_aval(t) for t in flat]))


def _check_overlaps(c: Call, flat, target: Tensor) -> None:
    apart = c.op.name in _APART
    for t in flat[1:]:
        if t.__class__ not in NUMBER_TYPES and t._storage is target._storage:
            if apart:
                _errors_of_shapes(c, flat)
            storage.check_overlap(target, t, entirely=not apart)


def _merged(c: Call, target: Tensor, value: Value) -> Value:
    """What is to be written to a tensor of which several elements are one place in memory: the same for all of these."""
    size, stride, _ = geometry_of(target)
    if not overlaps(size, stride):
        return value
    adds = c.op.name == "index_put" and storage.aval_of(target).dtype.name != "bool" and c.template[-1] is True
    return record(call_of(OPS["_merged"], (T, T, tuple(stride), adds)), (value_of(target), value))


def _refuses_leaves(op: Op, flat) -> bool:
    """Whether an op that autograd does not know is refused for leaves that require grad, as PyTorch refuses most."""
    return mode.grad and not op.differentiable and not op.name.startswith("logical_") and requires_grad(flat[0])


def _inplace_name(c: Call) -> str:
    name = c.op.inplace_name
    return name(c.template) if callable(name) else name     # type: ignore[return-value]


def _underived(c: Call, flat, args: list) -> Node:
    """The node of a call that is not differentiated: its gradients are 0, or asking for them raises."""
    tensors = [t for t in flat if t.__class__ not in NUMBER_TYPES]
    if c.op.not_derived:
        return NotImplementedNode(c.op.name, tuple([edge_of(t) if requires_grad(t) else None for t in tensors]))
    return zero_node(_inplace_name(c), tensors)


def zero_node(name: str, tensors: list) -> OpNode:
    """A node that gives all these tensors gradients of 0."""
    values = [value_of(t) for t in tensors]
    node = make_node(call_of(OPS["_zero_of"], ((T,) * len(tensors),)), tensors, values)
    node.__class__ = node_class(name)
    return node


def fit(out: Value, aval) -> Value:
    """``out`` in the dtype of what it is to be written to; RuntimeError if it does not go in."""
    if out.aval.shape != aval.shape:
        raise RuntimeError(f"output with shape {list(aval.shape)} doesn't match the broadcast shape {list(out.aval.shape)}")
    return cast_value(out, aval) if out.aval.np is not aval.np and out.aval.np != aval.np else out


def cast_value(out: Value, aval) -> Value:
    """``out`` cast to the dtype of ``aval``; RuntimeError where PyTorch does not cast implicitly."""
    if not can_cast(out.aval.dtype, aval.dtype):
        raise RuntimeError(f"result type {out.aval.dtype.scalar_name} can't be cast to the desired output type "
                           f"{aval.dtype.scalar_name}")
    return record(call_of(OPS["_to_dtype"], (T, aval.dtype)), (out,))


def _cast_node(out: Value, fitted: Value, node: OpNode) -> OpNode:
    cast = call_of(OPS["_to_dtype"], (T, fitted.aval.dtype))
    return node_class(node.name())(cast, [out], ((node, 0),), ())


def can_cast(source, target) -> bool:
    """Whether PyTorch casts implicitly. See torch.can_cast."""
    if source.is_complex and not target.is_complex:
        return False
    if source.is_floating_point and not (target.is_floating_point or target.is_complex):
        return False
    return not (source.name != "bool" and target.name == "bool")


# They may write to expanded tensors, as all elements become the same.
FILLS = {"fill", "zero", "index_fill", "index_put", "masked_fill", "fill_diagonal", "tril", "triu"}


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
    if target._node is None and requires_grad(target) and node_of(target) is None:
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
    if isinstance(node, OpNode) and _watched_between(target._node, edge and edge[0]):
        _lead_past(target, node, base, before, edge)
    storage.write(target, value)
    size, stride, offset = geometry_of(target)
    bsize, bstride, boffset = geometry_of(base)
    c = call_of(OPS["_write_through"], (T, T, bsize, bstride, size, stride, offset - boffset, value.aval.dtype))
    rebase(base, CopySlices(c, [before, value], (edge, (node, nr)), ()), 0)
    target._requires_grad = True
    node_of(target)     # now, not when somebody asks, since the base's history may be another by then


def _watched_between(node: Node | None, end: Any) -> bool:
    """Whether a node of the views between a view and its base has hooks."""
    while isinstance(node, OpNode) and node is not end and node.raw_edges:
        if node.watched:
            return True
        first = node.raw_edges[0]
        node = first[0] if first is not None and first[1] != LEAF else None
    return False


def _lead_past(target: Tensor, node: OpNode, base: Tensor, before: Value, edge: Any) -> None:
    """Leads what ``node`` gives the target past the target's node, whose hooks PyTorch does not run then."""
    past = node_class("AsStridedBackward0")(_read_through(base, target), [before], (edge,), ())
    first, *others = node.raw_edges
    if first is not None and first[0] is target._node:
        node.raw_edges = ((past, 0), *others)


def rebase(t: Tensor, node: Node, nr: int) -> None:
    """Gives a tensor that was written to its new history. The hook of ``retain_grad`` moves to it; other hooks stay."""
    move_retaining(t, node, nr)
    t._node, t._output_nr, t._requires_grad = node, nr, True


# ---------------------------------------------------------------- out=

def call_out(c: Call, flat, out):
    """Calls ``c`` and writes its results into ``out``."""
    outs = list(out) if isinstance(out, (tuple, list)) else [out]
    name = c.op.name.split(".")[-1]
    for t in outs:
        if not isinstance(t, Tensor):
            raise TypeError(f"{name}(): argument 'out' must be Tensor, not {type(t).__name__}")
    known = c.op.differentiable or c.op.not_derived
    if known and mode.grad and any(t.__class__ not in NUMBER_TYPES and requires_grad(t) for t in [*flat, *outs]):
        raise RuntimeError(f"{name}(): functions with out=... arguments don't support automatic differentiation, but one of "
                           "the arguments requires grad.")
    _check_outs(c.op, flat, outs)
    if c.op.name == "index_select" and outs[0].dtype is not flat[0].dtype:
        _errors_of_shapes(c, flat)
        raise RuntimeError("index_select(): self and result must have the same scalar type")
    made = record(c, [t if t.__class__ in NUMBER_TYPES else value_of(t) for t in flat])
    made = made if made.__class__ is list else [made]
    fitted = [_cast_out(c.op, v, storage.aval_of(t)) if v.aval.np != storage.aval_of(t).np else v
              for v, t in zip(made, outs, strict=True)]
    viewed = c.op.layout is not None and any([t._view is not None for t in flat if t.__class__ not in NUMBER_TYPES])
    for v, t in zip(fitted, outs, strict=True):
        if v.aval.shape != storage.aval_of(t).shape and c.op.layout in ELEMENTWISE and any([x is t for x in flat]):
            raise RuntimeError(f"output with shape {list(t.shape)} doesn't match the broadcast shape {list(v.aval.shape)}")
    for v, t in zip(fitted, outs, strict=True):
        stride = _layout(c, flat, v.aval.shape)[0] if viewed and c.op.layout is not KEPT and not v.aval.traced else None
        write_resized(t, v, warn=not c.op.creates, stride=stride)
    return return_type(f"{name}_out", c.op.returns)(*outs) if c.op.returns and len(outs) == len(c.op.returns) else out


def _cast_out(op: Op, value: Value, aval) -> Value:
    """A result in the dtype of ``out=``, with the errors of the ops that have their own."""
    if op.name in _JOINS and not can_cast(value.aval.dtype, aval.dtype):
        raise TypeError(f"torch.cat(): input types can't be cast to the desired output type {aval.dtype.scalar_name}")
    if op.name == "where":
        raise RuntimeError(f"Expected out type to be {value.aval.dtype.scalar_name} but got {aval.dtype.scalar_name}")
    return cast_value(value, aval)


_JOINS = {"cat", "stack", "hstack", "vstack", "dstack", "column_stack"}
_APART = set("cat stack hstack vstack dstack column_stack index_select gather take take_along_dim index_copy index_add "
             "index_reduce index_put put scatter scatter_add scatter_reduce".split())


_OF_ONE_DTYPE = {"amax", "amin", "tril", "triu"}


def _other_dtype(op: Op, input: Tensor, out: Tensor) -> RuntimeError:
    """The error of ``out=`` of another dtype than the argument's."""
    if op.name in ("amax", "amin"):
        return RuntimeError(f"Expected the dtype for input and out to match, but got {input.dtype.scalar_name} for input's dtype "
                            f"and {out.dtype.scalar_name} for out's dtype.")
    names = [c_name(storage.aval_of(x).sds).replace("long long", "long int") for x in (input, out)]
    return RuntimeError(f"Expected out tensor to have dtype {names[0]}, but got {names[1]} instead")


def _check_outs(op: Op, flat, outs: list) -> None:
    """RuntimeError where ``out=`` is of a dtype, or shares memory with an argument in a way, that the op does not allow."""
    if op.name in _OF_ONE_DTYPE and flat[0].dtype is not outs[0].dtype:
        raise _other_dtype(op, flat[0], outs[0])
    if op.layout not in ELEMENTWISE and op.name not in _APART:
        return
    for t in outs if op.layout in ELEMENTWISE else ():
        check_writable(t)
    for t in flat:
        if t.__class__ not in NUMBER_TYPES:
            for target in outs:
                storage.check_overlap(target, t, entirely=op.name not in _APART)


def write_resized(t: Tensor, value: Value, warn: bool = True, stride: tuple[int, ...] | None = None) -> None:
    """Writes ``value`` into ``t``, which takes its shape (with PyTorch's warning where it held something else)."""
    shape = value.aval.shape
    check_inplace(t, False, once=storage.aval_of(t).shape == shape)
    if storage.aval_of(t).shape != shape:
        if storage.aval_of(t).numel and warn:
            warnings.warn("An output with one or more elements was resized since it had shape "
                          f"{list(t.shape)}, which does not match the required output shape {list(shape)}. This "
                          "behavior is deprecated, and in a future PyTorch release outputs will not be resized unless they have "
                          "zero elements. You can explicitly reuse an out tensor t by resizing it, inplace, to zero elements "
                          "with t.resize_(0).", UserWarning, stacklevel=4)
        storage.resize(t, shape, stride)
    storage.write(t, value)


# ---------------------------------------------------------------- the shape of the result

_return_types: dict[tuple, type] = {}


def named(c: Call, out: list):
    """The results as PyTorch returns them: a named tuple where the op names its fields, else a tuple."""
    op = c.op
    if not op.returns:
        return tuple(out)
    return return_type(op.name.replace("linalg.", "linalg_").split(".")[-1], op.returns)(*out)


def return_type(name: str, fields: tuple[str, ...]) -> type:
    """``torch.return_types.max`` and the like."""
    key = (name, fields)
    found = _return_types.get(key)
    if found is None:
        found = _return_types[key] = _make_return_type(name, fields)
    return found


def _make_return_type(name: str, fields: tuple[str, ...]) -> type:
    def show(self):
        return f"torch.return_types.{name}(\n" + ",\n".join(f"{f}={v!r}" for f, v in zip(fields, self, strict=True)) + ")"
    made = namedtuple(name, fields)     # type: ignore[misc]    # noqa: PYI024
    made.__repr__ = show                # type: ignore[assignment]
    return made


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


hooks.Above.call = staticmethod(call)
