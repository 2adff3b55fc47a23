"""Memory that was saved for backward and then written to where autograd does not notice: through ``.data``, or by NumPy.

PyTorch's backward then uses what the memory holds by now. Here a node has saved immutable values, so before a backward the
nodes concerned take the new ones. Where nothing of the kind has happened, two tests for empty sets are all it costs.
"""
from __future__ import annotations

import weakref
from typing import Any

import numpy as np

from jtorch import engine, storage, tape
from jtorch.engine import Value
from jtorch.ops.of_result import CHANGES
from jtorch.ops.registry import OPS, T
from jtorch.storage import READ, Seen, Storage, View

on_host: weakref.WeakSet = weakref.WeakSet()     # nodes that have saved memory which NumPy arrays may share


def refresh(roots: list) -> None:
    """Gives the nodes that backward from these will come to what the memory they have saved holds now."""
    for node in list(on_host):
        if node.saved is not None:
            _refresh(node, of_host=True)
    if storage.silent:
        for node in tape.reachable(roots):
            if getattr(node, "saved", None) is not None:
                _refresh(node, of_host=False)


def _refresh(node: Any, *, of_host: bool) -> None:
    if node.call.op.keeps_result and not of_host and node.versions:
        _refresh_result(node)
    saved = None
    for i, (counter, version) in enumerate(node.versions):
        if counter is None or counter.version != version or i >= len(node.saved) or node.saved[i].__class__ is not Value \
                or node.call.op.saves == "result":
            continue
        s, view = _place(counter)
        if s.__class__ is Storage and (s.host is not None if of_host else s in storage.silent):
            now = _now(s, view, node.saved[i])
            if now is not None:
                saved = list(node.saved) if saved is None else saved
                saved[i] = now
    if saved is not None and node.call.op.saves == "both" and node.call.op.name in CHANGES and len(_values(saved)) == 1:
        before = engine.record(node.call, tuple(node.saved))
        result = before[0] if before.__class__ is list else before
        if result.aval.dtype.is_complex is saved[0].aval.dtype.is_complex:
            _along(node, saved[0], result, node.versions[-1])
    elif saved is not None:
        node.saved = saved


def _values(saved: list) -> list[Value]:
    return [v for v in saved if v.__class__ is Value]


def _along(node: Any, argument: Value, result: Value, version: tuple) -> None:
    """Makes a node one that takes its derivative from what its argument and its result are now."""
    first = node.versions[0] if len(node.versions) > 1 else (None, 0)
    node.call = engine.call_of(OPS["_along_result"], (T, T, T, node.call.op.name, node.call.template[1:]))
    node.saved, node.versions = [argument, argument, result], ((None, 0), first, version)
    node.raw_edges = (node.raw_edges[0], None, None)


def _place(counter: Any) -> tuple[Any, View | None]:
    return (counter.storage, counter.view) if counter.__class__ is Seen else (counter, None)


def _refresh_result(node: Any) -> None:
    """Makes the node of a result that was overwritten one that takes its derivative from what is there now."""
    counter, version = node.versions[-1]
    s, view = _place(counter)
    if counter is None or counter.version != version or s not in storage.silent or node.call.op.name not in CHANGES:
        return
    aval = s.aval if view is None else view.aval
    if aval is not node.result or aval.dtype.is_complex != node.saved[0].aval.dtype.is_complex or not _written_by_numpy(s):
        return
    if len(_values(node.saved)) == 1:       # not a function of several tensors
        _along(node, node.saved[0], _content(s, view), (counter, version))


def _written_by_numpy(s: Storage) -> bool:
    """Whether host memory is not what it was when it became that; True where it is not known."""
    if s.host is None or s.was is None:
        return True
    return s.host.tobytes() != engine.host_array(s.was).tobytes()


def _content(s: Storage, view: View | None) -> Value:
    if s.host is not None:
        aval = s.aval if view is None else view.aval
        return Value(aval, s.host_view(view).copy())
    content = s.content()
    return content if view is None else engine.record(engine.call_of(READ, (T, *view.key())), (content,))


def _now(s: Storage, view: View | None, before: Value) -> Value | None:
    """What the memory holds, if that is something else than before."""
    aval = s.aval if view is None else view.aval
    if aval is not before.aval:
        return None
    if s.host is not None:
        shown = s.host_view(view)
        engine.read(before)
        return None if np.array_equal(shown, engine.host_array(before)) else Value(aval, shown.copy())
    return _content(s, view)
