"""Untracked writes to saved memory: writes through ``.data`` or by NumPy, which autograd does not notice.

PyTorch's backward uses the memory's present content. jtorch's nodes save immutable values, so the nodes concerned get the new
values before a backward. Without untracked writes a backward only tests whether three collections are empty.
"""
from __future__ import annotations

import gc
import weakref
from typing import Any

import numpy as np

from jtorch import engine, storage, tape
from jtorch.engine import Value
from jtorch.ops.check import broadcast_shapes
from jtorch.ops.registry import OPS, T
from jtorch.ops.strided import contiguous_strides
from jtorch.storage import READ, SavedTensorRef, Storage, View, value_of

on_host: weakref.WeakSet = weakref.WeakSet()     # nodes that saved memory shared with NumPy arrays


def refresh(roots: list, create_graph: bool = False) -> None:
    """Update the saved values of the nodes that a backward from ``roots`` reaches."""
    for node in list(on_host):
        if node.saved is not None:
            _refresh(node, of_host=True, create_graph=create_graph)
    if storage.untracked_writes or storage.abandoned:
        for node in tape.reachable(roots, leaves=False):
            if getattr(node, "saved", None) is not None:
                _refresh(node, of_host=False, create_graph=create_graph)
        _forget_unsaved()


PATIENCE = 2        # backwards before the first search for a storage's nodes; larger values mean fewer searches
LONGER = 100        # backwards from one search to the next, whatever was written between them; larger values mean fewer searches


class _Search:
    """The number of backwards before the next search."""

    wait = 0


def _forget_unsaved() -> None:
    """Forget storages that no node saves any more.

    Their counts may be too high, since nodes that are dropped with their graph do not decrease them. So this searches all
    objects of the process for nodes, which is slow.
    """
    written = storage.untracked_writes
    for s in [s for s in written if not s.saved]:
        del written[s]
    waited = [s for s, turns in written.items() if turns >= PATIENCE]
    for s in list(written):
        written[s] += 1
    _Search.wait -= 1
    if not waited or _Search.wait > 0:
        return
    _Search.wait = LONGER
    # A node under construction has no ``saved``.
    nodes = [n for n in tape.nodes_with(_entries_of(waited)) if getattr(n, "saved", None) is not None]
    kept = {_place(counter)[0] for n in nodes for counter, _ in n.versions}
    for s in waited:
        if s not in kept:
            s.saved = 0
            del written[s]


def _entries_of(storages: list[Storage]) -> list[tuple]:
    """Return the (counter, version) pairs that refer to these storages."""
    holders = gc.get_referrers(*storages)
    seen = [h for h in holders if h.__class__ is SavedTensorRef]
    holders += gc.get_referrers(*seen) if seen else []
    return [h for h in holders if h.__class__ is tuple and len(h) == 2]


def _refresh(node: Any, *, of_host: bool, create_graph: bool) -> None:
    if node.call.op.saves.result and not of_host and node.versions:
        _refresh_result(node)
    saved, copied = None, node.copied()
    for i, (counter, version) in enumerate(node.versions):
        if counter is None or counter.version != version or i >= len(node.saved) or node.saved[i].__class__ is not Value \
                or node.call.op.saves.result_only or i in copied:
            continue
        s, view = _place(counter)
        written = s in storage.untracked_writes
        if s.__class__ is Storage and (s.host is not None if of_host else written or s in storage.abandoned):
            now = _elsewhere(node, i, counter) or (_now(s, view, node.saved[i]) if of_host or written else None)
            if now is not None:
                saved = list(node.saved) if saved is None else saved
                saved[i] = now
    if saved is not None and node.call.op.saves.both and has_change(node) and not create_graph:
        before = engine.record(node.call, tuple(node.saved))
        result = before[0] if before.__class__ is list else before
        take_derivative_from_result(node, _values(saved), result, node.versions[-1])
    elif saved is not None:
        node.saved = saved


def _values(saved: list) -> list[Value]:
    return [v for v in saved if v.__class__ is Value]


def has_change(node: Any) -> bool:
    """Return whether the op has a formula for the node's derivative in terms of its result."""
    return node.call.op.saves.change is not None and len(_values(node.saved)) in node.call.op.saves.takes


def take_derivative_from_result(node: Any, arguments: list[Value], result: Value, version: tuple = (None, 0)) -> None:
    """Change a node so that it computes its derivative from the present arguments and result."""
    n = len(arguments)
    nothing = [(None, 0)] * n
    checked = node.versions[:n] if len(node.versions) > 1 else nothing
    node.call = engine.call_of(OPS["_along_result"], ((T,) * n, (T,) * n, T, node.call.op.name, node.call.template[n:]))
    node.saved, node.versions = [*arguments, *arguments, result], (*nothing, *checked, version)
    node.raw_edges = (*node.raw_edges[:n], *[None] * (n + 1))


def _place(counter: Any) -> tuple[Any, View | None]:
    return (counter.storage, counter.view) if counter.__class__ is SavedTensorRef else (counter, None)


def _refresh_result(node: Any) -> None:
    """Change the node of an overwritten result so that it computes its derivative from the present content."""
    counter, version = node.versions[-1]
    s, view = _place(counter)
    if counter is None or counter.version != version or s not in storage.untracked_writes or not has_change(node):
        return
    view = _as_it_was(s, view, node.result)
    aval = s.aval if view is None else view.aval
    if aval is not node.result or not _written_by_numpy(s):
        return
    take_derivative_from_result(node, _values(node.saved), _content(s, view), (counter, version))


def _as_it_was(s: Storage, view: View | None, aval: Any) -> View | None:
    """Return a view of the part that was the whole storage before it grew. Return other views unchanged."""
    if view is None and s.aval is not aval and s.aval.np == aval.np and s.aval.numel > aval.numel:
        return View(aval, contiguous_strides(aval.shape), 0, None, -1)
    return view


def _written_by_numpy(s: Storage) -> bool:
    """Return whether host memory has changed since NumPy shares it, or True if that is unknown."""
    if s.host is None or s.previous is None:
        return True
    return s.host.tobytes() != engine.host_array(s.previous).tobytes()


def _content(s: Storage, view: View | None) -> Value:
    if s.host is not None:
        aval = s.aval if view is None else view.aval
        return Value(aval, s.host_view(view).copy())
    content = s.content()
    return content if view is None else engine.record(engine.call_of(READ, (T, *view.key())), (content,))


def _elsewhere(node: Any, i: int, counter: Any) -> Value | None:
    """Return the new value of a saved tensor that got other memory by ``data =``, or None."""
    if node.call.op.composite:      # PyTorch's composite ops save views, which keep the old memory
        return None
    s, _ = _place(counter)
    t = counter.tensor() if counter.__class__ is SavedTensorRef else storage.abandoned[s]() if s in storage.abandoned else None
    if t is None or t._storage is s or not (counter.__class__ is SavedTensorRef or _was_it(t, s, node, i)):
        return None
    if storage.aval_of(t) is node.saved[i].aval:
        return value_of(t)
    _require_shape(node, i, storage.aval_of(t).shape)
    return None


def _require_shape(node: Any, i: int, shape: tuple[int, ...]) -> None:
    """Raise RuntimeError if the new shape of a saved tensor does not broadcast with the gradient."""
    avals = tuple([engine.NUMBER_AVALS[v.__class__] if v.__class__ in engine.NUMBER_AVALS else v.aval for v in node.saved])
    if node.call.op.elementwise and node.held((0,))[i]:
        broadcast_shapes(engine.kernel_of(node.call, avals).outs[0].shape, shape)


def _was_it(t: Any, s: Storage, node: Any, i: int) -> bool:
    """Return whether the tensor that left storage ``s``, and not another tensor of ``s``, is the node's saved argument ``i``."""
    edge = node.raw_edges[i]
    if edge is not None:
        return tape.leads_to(edge, t)
    is_result = i == len(node.saved) - 1 and (node.call.op.saves.result or node.call.op is OPS["_along_result"])
    if is_result and t._base is not None:       # a view is not the result itself
        return False
    return all([o._base is not None or o._requires_grad for o in storage.sharing(s)])


def _now(s: Storage, view: View | None, before: Value) -> Value | None:
    """Return the memory's present value, or None if it has not changed."""
    if s.value is before if view is None else view.value is before and view.generation == s.generation:
        return None
    view = _as_it_was(s, view, before.aval)
    aval = s.aval if view is None else view.aval
    if aval is not before.aval:
        return None
    if s.host is not None:
        shown = s.host_view(view)
        engine.read(before)
        return None if np.array_equal(shown, engine.host_array(before)) else Value(aval, shown.copy())
    return _content(s, view)
