"""Calls whose results share the memory of their first argument."""
from __future__ import annotations

from typing import Any

from jtorch import engine, speedups, storage
from jtorch._backward.view_history import node_of, read_through, requires_grad, start_history
from jtorch._base import late_bindings
from jtorch._nodes.vjp import backward_name
from jtorch.dispatch.calls import call, make_node, record, refuse_unusable
from jtorch.engine import Call, Value, call_of
from jtorch.no_grad import mode
from jtorch.ops.registry import OPS, Op, T
from jtorch.ops.view import ITSELF
from jtorch.storage import View, geometry_of, value_of
from jtorch.tape import node_class
from jtorch.tensor import Tensor, wrap


def call_view(c: Call, flat):
    """Call a view op. The result shares the storage of the first argument, unless only a copy can show it."""
    if late_bindings.forward_view is not None:
        made = late_bindings.forward_view(c, flat)
        if made is not None:
            return made
    if late_bindings.aten is not None:
        made = late_bindings.aten.call_view(c, flat)
        if made is not None:
            return made
    base, op = flat[0], c.op
    shown = _what_is_shown(c, flat)
    if (shown.__class__ is tuple and op.is_plain_view and base._storage.host is None and len(flat) == 1 and base._view_op is None
            and not base._through and not base._inference and not mode.inference):
        return _with_notes(plain_view(c, flat, shown, mode.grad), op.view.alias_name, base)
    if shown.__class__ is str:
        return base if shown == ITSELF else _copied(call(c, flat), op)
    several = shown.__class__ is list
    return note_views(c, flat, _views(c, flat, shown if several else [shown]), several)


def note_views(c: Call, flat, made: list[Tensor], several: bool) -> Any:
    """Give the views that a call has made their history. Return the list if ``several``, else the only view."""
    base, op = flat[0], c.op
    tracked = mode.grad and not mode.inference and (base._requires_grad or requires_grad(base))
    if not made:
        if tracked:
            node_of(base)       # raises for an invalidated base, even though no view is made
        return made
    if op.notes_origin or base._view_op is not None or base._through:
        _note_origin(c, base, made)
    if not op.differentiable:
        return _forgotten(made[0])
    if tracked:
        _track_views(c, flat, made)
    if several or base._creation is not None or base._inference or not mode.grad:
        _mark(base, made, several and op.view.node_each is None)
    return made if several else made[0]


def plain_view(c: Call, flat, shown: Any, tracks: bool) -> Tensor:
    """Return the view of one tensor whose storage is not host memory. ``tracks``: give the view its history."""
    base, args = flat[0], [value_of(flat[0])]
    aval, stride, offset, in_order = shown
    made = view_of(base, aval, stride, offset, in_order, record(c, args))
    if tracks and requires_grad(base):
        if engine.current().after_backward:
            _end()
        node = make_node(c, flat, args)
        if aval.is_inexact:
            start_history(made, node)
    return made


def _with_notes(made: Tensor, alias: str | None, base: Tensor) -> Tensor:
    """Rename a view's node if its base is not contiguous, and record the mode in which the view was made."""
    if alias is not None and made._node is not None:
        _rename(made._node, alias, base)
    creation = _creation_of(base, among_several=False)
    if creation is not None:
        made._creation = creation
    return made


def _rename(node: Any, alias: str, base: Tensor) -> None:
    """Rename a view's node if the base is not contiguous, as PyTorch uses another op then."""
    if not base.is_contiguous():
        node.__class__ = node_class(alias)


def _what_is_shown(c: Call, flat) -> Any:
    """Return the geometry of the result, cached by the arguments' geometries: see ``_geometry``."""
    avals, view = tuple(map(storage.aval_of, flat)), flat[0]._view
    traced = avals[0].traced
    if traced:      # each tracer has an aval of its own, so tracers of equal shape share the key of a plain aval
        avals = tuple([engine.aval_of(a.shape, a.np, a.device) if a.traced else a for a in avals])
    key = ("shown", *avals) if view is None else ("shown", *avals, view.stride, view.offset)
    found = c.nodes.get(key)
    if found is None:
        if len(c.nodes) > 256:
            c.nodes.clear()
        try:
            found = c.nodes[key] = _geometry(c, geometry_of(flat[0]), avals)
        except Exception:
            refuse_unusable(c, flat)
            raise
    if not traced or found.__class__ is str:
        return found
    return [_as_traced(*g) for g in found] if found.__class__ is list else _as_traced(*found)


def _as_traced(aval, *rest) -> tuple:
    return (engine.traced_aval(aval.sds), *rest)


def _note_origin(c: Call, base: Tensor, made: list[Tensor]) -> None:
    """Record the calls of views of another dtype, and the bases of replayed views: see ``ViewRule``."""
    op = c.op
    earlier = base._view_op and (base._view_op[1] or base._view_op[2])
    for t in made:
        if op.view.remade:
            t._view_op = (backward_name(c), c if base._base is None else None, earlier)
        elif base._view_op is not None:
            t._view_op = ("AsStridedBackward0", None, earlier)
        if op.view.replayed or base._through:
            t._through = (base, *base._through) if op.view.replayed else base._through


def _mark(base: Tensor, made: list[Tensor], among_several: bool) -> None:
    """Record the mode in which views were made, or that one call made several views. Both restrict writes."""
    if base._inference:
        for t in made:
            t._base = None
        return
    creation = _creation_of(base, among_several)
    if creation is not None:
        for t in made:
            t._creation = creation


def _creation_of(base: Tensor, among_several: bool) -> str | None:
    """Return the ``_creation`` of a view made now, or None if PyTorch does not restrict writes to it."""
    if not mode.grad:
        return "inference" if mode.inference else "no_grad"
    return "multi" if among_several else base._creation


def restrict(t: Tensor, creation: str) -> None:
    """Record how a view was made, which restricts writes to it: see ``view_history.forbidden_view``."""
    t._creation = creation


def _copied(t: Tensor, op: Op) -> Tensor:
    """Return a view op's result that had to be a copy, with the name of its node."""
    if op.view.copy_name is not None and t._node is not None:
        t._node.__class__ = node_class(op.view.copy_name)
    return t


def _forgotten(t: Tensor) -> Tensor:
    """Turn a view into one that autograd does not track. It shares memory and version, as after ``detach``."""
    t._base, t._inference = None, mode.inference
    return t


def _views(c: Call, flat, shown: list[tuple[Any, tuple, int, bool]]) -> list[Tensor]:
    """Return the views of the base.

    Views of host memory, and views that read the whole storage (``through_storage``), get a value when they are used. Other
    views get their value now.
    """
    base = flat[0]
    if c.op.through_storage:
        try:
            storage.check_bounds(base, *shown[0][:3])
        except RuntimeError:
            refuse_unusable(c, flat)
            raise
    if base._storage.host is not None or c.op.through_storage:
        return [view_of(base, *g, None) for g in shown]
    out = record(c, list(map(value_of, flat)))
    return [view_of(base, *g, v) for g, v in zip(shown, out if out.__class__ is list else [out], strict=True)]


def _track_views(c: Call, flat, made: list[Tensor]) -> None:
    if engine.current().after_backward:
        engine.end()
    rule = c.op.view
    if c.op.through_storage:        # the gradient goes to the elements of the base that share the memory
        c = read_through(flat[0], geometry_of(made[0]), made[0].dtype)
    args = list(map(value_of, flat))
    if rule.node_each is not None:
        dim, ranges = rule.node_each(c.template, args[0].aval.shape)
        nodes = [make_node(call_of(OPS["slice"], (T, dim, start, start + n, 1)), flat, args) for start, n in ranges]
    else:
        nodes = [make_node(c, flat[:1], args)]      # a second argument has no edge, since only its shape matters
        nodes[0].raw_edges += (None,) * (len(args) - 1)
    for i, t in enumerate(made):
        if storage.aval_of(t).is_inexact:
            start_history(t, *((nodes[i], 0) if len(nodes) > 1 else (nodes[0], i)))
    if rule.alias_name is not None:
        _rename(nodes[0], rule.alias_name, flat[0])


def _geometry(c: Call, key: tuple, avals: tuple):
    """Return the op's geometry for a base: (aval, stride, offset, is contiguous), a list of these, 'copy' or ITSELF."""
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
    """Return a view of ``base`` with this geometry. ``value``: its value, if known."""
    s = base._storage
    t = wrap(value, None, s)
    if aval is not s.aval or offset or not in_order:
        part = View if base._view is None else base._view.part
        t._view = part(aval, stride, offset, value, s.generation if value is not None else -1)
        t._view.in_order = in_order
    t._counter = base._counter
    t._inference = base._inference
    t._base = base._base if base._base is not None else base
    t._node_version = (base._counter or s).version
    return t


def row_of(t: Tensor, rows: tuple, i: int) -> Tensor | None:
    """Return ``t[i]`` faster than ``view_of``; None if ``t`` is a view, requires grad, or has no computed value.

    ``rows`` is (aval of the storage, number of rows, aval of a row, strides of a row, elements between the starts of rows). The
    row's value is computed when it is used. Stacking rows to a batch never needs it.
    """
    aval, n, shown, inner, apart = rows
    s = t._storage
    if t._view is not None or t._base is not None or s.aval is not aval or t._requires_grad or not -n <= i < n:
        return None
    if late_bindings.forward_view is not None or (late_bindings.aten is not None and late_bindings.aten.is_on()):
        return None
    if s.host is None and (s.value is None or s.value.array is None or s.value.born is engine.current()):
        return None
    made = wrap(None, None, s)
    made._view = view = View(shown, inner, (i if i >= 0 else i + n) * apart, None, -1)
    view.in_order, made._base = True, t
    if t._counter is not None:
        made._counter = t._counter
    if t._inference:
        made._inference = True
    made._node_version = (t._counter or s).version
    if not mode.grad:
        made._creation = "no_grad"
    return made


_end = engine.end
speedups.connect(globals(), "views")
