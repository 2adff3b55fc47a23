"""The one way through which every call goes: tensors in, a record and a node made, tensors out."""
from __future__ import annotations

import warnings
from collections import namedtuple

import numpy as np

from jtorch import engine, storage, tape
from jtorch.engine import Call, Value, call_of
from jtorch.no_grad import mode
from jtorch.ops import promotion
from jtorch.ops.registry import OPS, T
from jtorch.storage import Storage, View, check_writable, geometry_of, value_of
from jtorch.tape import CopySlices, Node, OpNode, accumulator_of, backward_name, node_class
from jtorch.tensor import Parameter, Tensor, edge_of, requires_grad, wrap

NUMBER_TYPES = {int, float, bool, complex}
record = engine.record


def call(c: Call, flat):
    """Calls ``c`` on tensors and Python numbers: a tensor, or a list of them for an op with several results."""
    args = []
    needs = False
    for t in flat:
        if t.__class__ in NUMBER_TYPES:
            args.append(t)
            continue
        args.append((t._storage.value or value_of(t)) if t._view is None else value_of(t))
        if t._requires_grad or (t._base is not None and requires_grad(t)):
            needs = True
    if needs and mode.grad:
        return _call_with_node(c, flat, args)
    out = record(c, args)
    if out.__class__ is Value:
        return wrap(out) if not mode.inference else _inference(wrap(out))
    return [wrap(v) if not mode.inference else _inference(wrap(v)) for v in out]


def _inference(t: Tensor) -> Tensor:
    t._inference = True
    return t


def _call_with_node(c: Call, flat, args: list):
    if engine.local.rec.after_backward:
        engine.end()
    out = record(c, args)
    single = out.__class__ is Value
    outs = [out] if single else out
    if not c.op.differentiable or not any([v.aval.kind for v in outs]):
        made = [wrap(v) for v in outs]
        return made[0] if single else made
    node = make_node(c, flat, args)
    if c.op.saves == "result":
        s = Storage(outs[0])
        node.versions, node.result = () if mode.mutation_allowed else ((s, 0),), outs[0].aval
        made = [wrap(outs[0], (node, 0), s)]
        made += [_output(v, node, i) for i, v in enumerate(outs) if i]
    else:
        made = [_output(v, node, i) for i, v in enumerate(outs)]
    return made[0] if single else made


def _output(v: Value, node: OpNode, nr: int) -> Tensor:
    return wrap(v, (node, nr)) if v.aval.kind else wrap(v)


def make_node(c: Call, flat, args: list) -> OpNode:
    """The node of a call that has been recorded."""
    cls = c.nodes.get("class")
    if cls is None:
        cls = c.nodes["class"] = node_class(backward_name(c))
    edges, versions = [], []
    for t, a in zip(flat, args, strict=True):
        if a.__class__ is not Value:
            edges.append(None)
            versions.append((None, 0))
            continue
        if a.aval.kind and (t._requires_grad or (t._base is not None and requires_grad(t))):
            edges.append((t._node, t._output_nr) if t._node is not None and t._base is None else edge_of(t))
        else:
            edges.append(None)
            if t._inference and not mode.inference and c.op.saves != "none":
                raise RuntimeError("Inference tensors cannot be saved for backward. Please do not use Tensors created in "
                                   "inference mode in computation tracked by autograd. To work around this, you can make "
                                   "a clone to get a normal tensor and use it in autograd, or use `torch.no_grad()` "
                                   "instead of `torch.inference_mode()`.")
        counter = t._counter or t._storage
        versions.append((counter, counter.version))
    node = cls(c, args, tuple(edges), () if c.op.saves == "none" or mode.mutation_allowed else tuple(versions))
    if mode.anomaly:
        node.trace = tape.stack()
    if mode.on_node is not None:
        mode.on_node(node, flat)
    return node


# ---------------------------------------------------------------- results that share memory

def call_view(c: Call, flat):
    """Calls a view op: the result shares the storage of the first argument, unless the geometry says to copy."""
    base = flat[0]
    avals = tuple([storage.aval_of(t) for t in flat])
    key = (geometry_of(base), avals)
    found = c.nodes.get(key)
    if found is None:
        if len(c.nodes) > 256:
            c.nodes.clear()
        found = c.nodes[key] = _geometry(c, key[0], avals)
    if found == "copy" or avals[0].traced:
        return call(c, flat)
    shown = found if found.__class__ is list else [found]
    made = _views(c, flat, shown)
    if mode.grad and c.op.differentiable and requires_grad(base):
        _track_views(c, flat, made)
    creation = "multi" if found.__class__ is list else (None if mode.grad else "no_grad")
    if creation is not None:
        for t in made:
            t._creation = creation
    return made if found.__class__ is list else made[0]


def _views(c: Call, flat, shown: list) -> list[Tensor]:
    """The views of the base. Views of host memory show it as it is when they are read; others know their value."""
    base = flat[0]
    if base._storage.host is not None:
        return [_view_of(base, *g, None) for g in shown]
    out = record(c, [value_of(t) for t in flat])
    return [_view_of(base, *g, v) for g, v in zip(shown, out if out.__class__ is list else [out], strict=True)]


def _track_views(c: Call, flat, made: list[Tensor]) -> None:
    if engine.local.rec.after_backward:
        engine.end()
    node = make_node(c, flat, [value_of(t) for t in flat])
    for i, t in enumerate(made):
        if storage.aval_of(t).kind:
            t._requires_grad, t._node, t._output_nr = True, node, i


def _geometry(c: Call, key: tuple, avals: tuple):
    """What the op's rule makes of the base's geometry: (aval, stride, offset), a list of them, or 'copy'."""
    found = c.op.geometry(c.template, key, avals)
    if found is None or any(a.traced for a in avals):
        return "copy"
    outs = engine.kernel_of(c, avals).outs
    if isinstance(found, list):
        return [(aval, tuple(stride), offset) for aval, (_, stride, offset) in zip(outs, found, strict=True)]
    return outs[0], tuple(found[1]), found[2]


def _view_of(base: Tensor, aval, stride: tuple, offset: int, value: Value | None) -> Tensor:
    s = base._storage
    t = wrap(value, None, s)
    if aval is not s.aval or offset or stride != storage.contiguous_strides(aval.shape):
        t._view = View(aval, stride, offset, value, s.generation if value is not None else -1)
    t._counter = base._counter
    t._inference = base._inference
    t._base = base._base if base._base is not None else base
    t._node_version = tape.counter_of(t).version
    return t


# ---------------------------------------------------------------- writes

def call_inplace(c: Call, flat, target: Tensor | None = None) -> Tensor:
    """Calls ``c`` and writes its result into ``target`` (the first argument), with PyTorch's rules and history."""
    target = flat[0] if target is None else target
    tracked = mode.grad and any(t.__class__ not in NUMBER_TYPES and requires_grad(t) for t in flat)
    check_inplace(target, tracked)
    if mode.grad and tracked and engine.local.rec.after_backward:
        engine.end()
    args = [t if t.__class__ in NUMBER_TYPES else value_of(t) for t in flat]
    out = record(c, args)
    if out.__class__ is list:
        out = out[0]
    fitted = fit(out, storage.aval_of(target))
    node = None
    if tracked and out.aval.kind and storage.aval_of(target).kind:
        node = make_node(c, flat, args)
        if fitted is not out:
            node = _cast_node(out, fitted, node)
    write_with_history(target, fitted, node)
    if node is not None and c.op.saves == "result" and not mode.mutation_allowed:
        counter = tape.counter_of(target)
        node.versions, node.result = ((counter, counter.version),), out.aval
    return target


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
    return node_class("ToCopyBackward0")(cast, [out], ((node, 0),), ())


def can_cast(source, target) -> bool:
    """Whether PyTorch casts implicitly. See torch.can_cast."""
    if source.is_complex and not target.is_complex:
        return False
    if source.is_floating_point and not (target.is_floating_point or target.is_complex):
        return False
    return not (source.name != "bool" and target.name == "bool")


def check_inplace(target: Tensor, tracked: bool) -> None:
    """Raises PyTorch's error where an in-place call on ``target`` is not allowed."""
    check_writable(target)
    if target._inference and not mode.inference:
        if tracked or True:
            raise RuntimeError("Inplace update to inference tensor outside InferenceMode is not allowed.You can make a clone "
                               "to get a normal tensor before doing inplace update.See "
                               "https://github.com/pytorch/rfcs/pull/17 for more details.")
    if not tracked:
        if mode.grad and target._base is not None and requires_grad(target._base) and not requires_grad(target):
            pass
        return
    if target._base is None:
        if target._requires_grad and target._node is None:
            raise RuntimeError("a leaf Variable that requires grad is being used in an in-place operation.")
        return
    if target._base._requires_grad and target._base._node is None:
        raise RuntimeError("a view of a leaf Variable that requires grad is being used in an in-place operation.")
    _check_view_creation(target)


def _check_view_creation(target: Tensor) -> None:
    if target._creation == "multi":
        node = target._node
        raise RuntimeError(f"Output {target._output_nr} of {tape.short_name(node) if node is not None else 'a function'} is a view and "
                           "is being modified inplace. This view is the output of a function that returns multiple views. "
                           "Such functions do not allow the output views to be modified inplace. You should replace the "
                           "inplace operation by an out-of-place one.")
    if target._creation == "custom":
        raise RuntimeError(f"Output {target._output_nr} of {tape.short_name(target._node)} is a view and is being modified inplace. This "
                           "view was created inside a custom Function (or because an input was returned as-is) and the autograd "
                           "logic to handle view+inplace would override the custom backward associated with the custom Function, "
                           "leading to incorrect gradients. This behavior is forbidden. You can fix this by cloning the output of "
                           "the custom Function.")
    if target._creation == "no_grad":
        raise RuntimeError("A view was created in no_grad mode and is being modified inplace with grad mode enabled. Given "
                           "that this use case is ambiguous and error-prone, it is forbidden. You can clarify your code by "
                           "moving both the view and the inplace either both inside the no_grad block (if you don't want "
                           "the inplace to be tracked) or both outside (if you want the inplace to be tracked).")


def write_with_history(target: Tensor, value: Value, node: Node | None, nr: int = 0) -> None:
    """Writes ``value`` and makes ``node`` (its output ``nr``) the history of ``target``; of its base too, if it is a view."""
    base = target._base
    if node is None or base is None:
        storage.write(target, value)
        if node is not None:
            _rebase(target, node, nr)
        return
    before = value_of(base)
    edge = edge_of(base) if requires_grad(base) else None
    storage.write(target, value)
    size, stride, offset = geometry_of(target)
    bsize, bstride, boffset = geometry_of(base)
    c = call_of(OPS["_write_through"], (T, T, bsize, bstride, size, stride, offset - boffset, value.aval.dtype))
    _rebase(base, CopySlices(c, [before, value], (edge, (node, nr)), ()), 0)
    target._requires_grad = True


def _rebase(t: Tensor, node: Node, nr: int) -> None:
    """Gives a tensor that was written to its new history. The hook of ``retain_grad`` moves to it; other hooks stay."""
    keep = t._node.tensor_hooks_of(t._output_nr).pop(tape.RETAIN, None) if t._retains_grad and t._node is not None else None
    t._node, t._output_nr, t._requires_grad = node, nr, True
    if keep is not None:
        node.tensor_hooks_of(nr)[tape.RETAIN] = keep


# ---------------------------------------------------------------- out=

def call_out(c: Call, flat, out):
    """Calls ``c`` and writes its results into ``out``."""
    outs = list(out) if isinstance(out, (tuple, list)) else [out]
    name = c.op.name.split(".")[-1]
    for t in outs:
        if not isinstance(t, Tensor):
            raise TypeError(f"{name}(): argument 'out' must be Tensor, not {type(t).__name__}")
    if mode.grad and any(t.__class__ not in NUMBER_TYPES and requires_grad(t) for t in [*flat, *outs]):
        raise RuntimeError(f"{name}(): functions with out=... arguments don't support automatic differentiation, but one of "
                           "the arguments requires grad.")
    made = record(c, [t if t.__class__ in NUMBER_TYPES else value_of(t) for t in flat])
    made = made if made.__class__ is list else [made]
    fitted = [cast_value(v, storage.aval_of(t)) if v.aval.np != storage.aval_of(t).np else v
              for v, t in zip(made, outs, strict=True)]
    for v, t in zip(fitted, outs, strict=True):
        write_resized(t, v)
    return out


def write_resized(t: Tensor, value: Value) -> None:
    """Writes ``value`` into ``t``, which takes its shape (with PyTorch's warning where it held something else)."""
    if storage.aval_of(t).shape == value.aval.shape:
        check_inplace(t, False)
        storage.write(t, value)
        return
    if storage.aval_of(t).numel:
        warnings.warn("An output with one or more elements was resized since it had shape "
                      f"{list(t.shape)}, which does not match the required output shape {list(value.aval.shape)}. This "
                      "behavior is deprecated, and in a future PyTorch release outputs will not be resized unless they have "
                      "zero elements. You can explicitly reuse an out tensor t by resizing it, inplace, to zero elements "
                      "with t.resize_(0).", UserWarning, stacklevel=4)
    t._storage, t._view = Storage(value), None


# ---------------------------------------------------------------- the shape of the result

_return_types: dict[tuple, type] = {}


def named(c: Call, out: list):
    """The results as PyTorch returns them: a named tuple where the op names its fields, else a tuple."""
    op = c.op
    if op.writes:
        return _written(c, out)
    if not op.returns:
        return tuple(out)
    return return_type(op.name.split(".")[-1], op.returns)(*out)


def _written(c: Call, out: list):
    raise AssertionError("handled by call_writing")


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
    made = namedtuple(name, fields)     # noqa: PYI024
    made.__repr__ = show                # type: ignore[assignment]
    return made


def call_writing(c: Call, flat, targets: list[Tensor | None]):
    """Calls an op whose last results are written into some of its arguments (``writes``)."""
    out = call(c, flat)
    out = out if out.__class__ is list else [out]
    targets = [t for t in targets if t is not None]
    kept, written = out[:len(out) - len(targets)], out[len(out) - len(targets):]
    for t, new in zip(targets, written, strict=True):
        storage.write(t, fit(value_of(new), storage.aval_of(t)))
    return kept[0] if len(kept) == 1 else tuple(kept)


def _add_two() -> Call:
    return call_of(OPS["add"], (T, T, 1))


tape.Above.call = staticmethod(call)
promotion_of_numbers = promotion.NUMBER
__all__ = ["Parameter", "accumulator_of", "call", "call_inplace", "call_out", "call_view", "call_writing", "named", "np"]
