"""Calls whose results share the memory of their first argument."""
from __future__ import annotations

from typing import Any

from jtorch import engine, storage, tape
from jtorch._backward.view_history import node_of, requires_grad
from jtorch._nodes.vjp import backward_name
from jtorch.dispatch.calls import call, make_node, record, refuse_unusable
from jtorch.engine import Call, Value, call_of
from jtorch.no_grad import mode
from jtorch.ops.registry import OPS, Op, T
from jtorch.ops.view import ITSELF
from jtorch.ops.view_part import slices_of
from jtorch.storage import View, geometry_of, value_of
from jtorch.tape import node_class
from jtorch.tensor import Tensor, wrap


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
        if mode.grad and not mode.inference and requires_grad(base):
            node_of(base)       # a view that may not be used raises though nothing is made of it
        return made
    if c.op.remade or base._view_op is not None:
        earlier = base._view_op and (base._view_op[1] or base._view_op[2])
        for t in made:
            t._view_op = (backward_name(c), c if base._base is None else None, earlier) if c.op.remade else (
                "AsStridedBackward0", None, earlier)
    if c.op.replayed or base._through:
        for t in made:
            t._through = (base, *base._through) if c.op.replayed else base._through
    if not c.op.differentiable:
        return _forgotten(made[0])
    if mode.grad and not mode.inference and requires_grad(base):
        _track_views(c, flat, made)
        if c.op.reshapes and not base.is_contiguous():
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
        return [view_of(base, *g, None) for g in shown]
    out = record(c, [value_of(t) for t in flat])
    return [view_of(base, *g, v) for g, v in zip(shown, out if out.__class__ is list else [out], strict=True)]


def _track_views(c: Call, flat, made: list[Tensor]) -> None:
    if engine.current().after_backward:
        engine.end()
    if c.op.through_storage:        # the gradient of what it shows goes to where the base shows the same
        c = read_through(flat[0], made[0])
    args = [value_of(t) for t in flat]
    if c.op.node_each:
        dim, ranges = slices_of(c.op.name, c.template, args[0].aval.shape)
        nodes = [make_node(call_of(OPS["slice"], (T, dim, start, start + n, 1)), flat, args) for start, n in ranges]
    else:
        nodes = [make_node(c, flat[:1], args)]      # of a second only the shape counts
        nodes[0].raw_edges += (None,) * (len(args) - 1)
    for i, t in enumerate(made):
        if storage.aval_of(t).kind:
            t._requires_grad, t._node, t._output_nr = True, nodes[i] if len(nodes) > 1 else nodes[0], i if len(nodes) == 1 else 0


def read_through(base: Tensor, shown: Tensor) -> Call:
    """The call that gives of ``base`` what another view of its memory shows."""
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


def view_of(base: Tensor, aval, stride: tuple, offset: int, in_order: bool, value: Value | None) -> Tensor:
    """A view of ``base`` of this geometry; its value, where it is known."""
    s = base._storage
    t = wrap(value, None, s)
    if aval is not s.aval or offset or not in_order:
        t._view = View(aval, stride, offset, value, s.generation if value is not None else -1)
        t._view.in_order = in_order
    t._counter = base._counter
    t._inference = base._inference
    t._base = base._base if base._base is not None else base
    t._node_version = tape.counter_of(t).version
    return t
