"""torch.utils.swap_tensors: exchange the contents of two tensor objects."""
from __future__ import annotations

import contextlib
import gc
import sys
import threading
import weakref
from collections.abc import Iterator
from typing import Any

from jtorch._backward.view_history import node_of
from jtorch.autograd.graph import get_gradient_edge
from jtorch.speedups.constants import LEAF
from jtorch.storage import SavedTensorRef
from jtorch.tape import AccumulateGrad, Node, OpNode, detached, is_leaf_edge, lead_to_node, leads_to, nodes_with
from jtorch.tensor import Tensor

_POISONED = ("Trying to execute AccumulateGrad node that was poisoned by swap_tensors this can happen when you try to run "
             "backward on a tensor that was swapped. For a module m with "
             "`torch.__future__.set_swap_module_params_on_conversion(True)` you should not change the device or dtype of the "
             "module (e.g. `m.cpu()` or `m.half()`) between running forward and backward. To resolve this, please only change "
             "the device/dtype before running forward (or after both forward and backward).")


def swap_tensors(t1: Tensor, t2: Tensor) -> None:
    """Exchange all attributes of two tensors; the objects keep their identity. See torch.utils.swap_tensors.

    Args:
        t1: a tensor.
        t2: another tensor.

    Raises:
        RuntimeError: one of the tensors has views, or was saved for a backward. A backward through a swapped leaf raises too.

    >>> a, b = torch.zeros(1), torch.ones(2)
    >>> torch.utils.swap_tensors(a, b)
    >>> a
    tensor([1., 1.])

    """
    if t1 is t2:
        return
    unknown = [(f"t{i}", t) for i, t in ((1, t1), (2, t2)) if not _is_free(t)]
    referrers = _Referrers([t for _, t in unknown])
    nodes = {id(t): _checked(t, name, referrers) for name, t in unknown}
    referrers.found.clear()
    poisoned = [nodes.get(id(t)) for t in (t1, t2)]
    # As in PyTorch, a swap that fails here has poisoned the AccumulateGrad nodes already (see ``_checked``).
    for i, t in ((1, t1), (2, t2)):
        if t.retains_grad:
            raise RuntimeError(f"Expected no weakrefs to t{i}'s Tensor object but got  1")
    t1.__class__, t2.__class__ = t2.__class__, t1.__class__     # type: ignore[assignment]
    for name in (n for n in Tensor.__slots__ if n != "__weakref__"):
        ours, theirs = getattr(t1, name), getattr(t2, name)
        setattr(t1, name, theirs)
        setattr(t2, name, ours)
    for t, node in zip((t2, t1), poisoned, strict=True):
        if isinstance(node, AccumulateGrad):
            node.variable = t


class _Many(threading.local):
    """The ids that ``_held_by_others`` returned when this thread entered ``swapping_many``; None outside of it."""

    held: set[int] | None = None


_many = _Many()


@contextlib.contextmanager
def swapping_many() -> Iterator[None]:
    """Search for references to tensors once for all swaps in this block. The tensors must not get new views or nodes in it."""
    if _many.held is not None:
        yield
        return
    _many.held = _held_by_others()
    try:
        yield
    finally:
        _many.held = None


_KINDS = (_Many, Tensor, AccumulateGrad, tuple, OpNode)


def _saved_counters(node: OpNode) -> list[int]:
    """Return the ids of the storages, or tensors, whose versions a node keeps."""
    counters = [v[0] for v in node.versions or () if v is not None]
    return [id(c.tensor() if c.__class__ is SavedTensorRef else c) for c in counters]


def _held_by_others() -> set[int]:
    """Return the ids of tensors that have views, are gradients or are leaves of a graph, and of what nodes have saved."""
    kinds: dict[type, int] = {tuple: 3, OpNode: 4}
    held: set[int] = set()
    for o in gc.get_objects():
        kind = kinds.get(type(o))
        if kind is None:
            kind = kinds[type(o)] = next((k for k, c in enumerate(_KINDS) if issubclass(type(o), c)), 0)
        if kind == 1:
            held.update((id(_held(o, "_base")), id(_held(o, "_grad"))))
        elif kind == 2:
            held.add(id(_held(o, "variable")))
        elif kind == 3 and is_leaf_edge(o):
            held.add(id(o[0]))
        elif kind == 4:
            held.update(_saved_counters(o))
    return held


def _is_free(t: Tensor) -> bool:
    """Return whether autograd does not hold the tensor. This is known, and can be True, only in ``swapping_many``."""
    held = _many.held
    return (held is not None and id(t) not in held and id(t._storage) not in held and t._node is None
            and t._base is None and t._accumulator is None and not weakref.getweakrefs(t))


class _Referrers:
    """The objects that refer to one of the tensors. Both tensors share a search, since it visits all objects of the process."""

    def __init__(self, tensors: list[Tensor]):
        self.tensors, self.found = tensors, gc.get_referrers(*tensors) if tensors else []

    def search_again(self) -> None:
        """Search after a garbage collection, which frees dead views that the frames of a caught error may hold."""
        self.found.clear()
        gc.collect()
        self.found.extend(gc.get_referrers(*self.tensors))


def _checked(t: Tensor, name: str, referrers: _Referrers) -> Node | None:
    """Check that a tensor can be swapped. Make its AccumulateGrad node raise in backward, and return it; None without one."""
    count = _count(t, referrers.found)
    if count > 1:
        referrers.search_again()
        count = _count(t, referrers.found)
    if count > 2 or (count == 2 and node_of(t) is not None):
        raise RuntimeError(f"Expected use_count of {name} to be 1 or 2 with an AccumulateGrad node but got {count} make sure you "
                           "are not holding references to the tensor in other places.")
    if count < 2:
        return None
    node = get_gradient_edge(t).node
    node.register_prehook(_raise)
    return node


_ALONE = 2      # The reference count of a storage with one tensor: the tensor's reference, and getrefcount's argument.


def _count(t: Tensor, referrers: list) -> int:
    """Count the references that PyTorch would: the Python object, views, nodes that saved it, and its role as a gradient."""
    alive = [r for r in referrers if _held(r, "_base") is t]
    bases = [r for r in referrers if r.__class__ is tuple and id(t) in map(id, r) and all([isinstance(x, Tensor) for x in r])]
    views = len(alive) + sum([_held(s, "_through") is r for r in bases for s in gc.get_referrers(r)])
    grads = sum([_held(r, "_grad") is t for r in referrers])
    in_graph = any([_held(r, "variable") is t or (is_leaf_edge(r) and r[0] is t) for r in referrers])
    known = in_graph or t._node is not None or weakref.getweakrefs(t) or sys.getrefcount(t._storage) > _ALONE
    nodes = _may_have_saved(t) if known else []
    saved = sum([_is_of(t, v, e) for n in nodes for v, e in _saved_by(n)]) + len(_views_only_saved(nodes, t, alive))
    return 1 + views + saved + in_graph + grads


def _held(o: Any, name: str) -> Any:
    """Return the attribute ``name`` of a tensor or AccumulateGrad node, or the item ``name`` of a dict; else None."""
    if isinstance(o, dict):
        return o.get(name)
    return getattr(o, name, None) if isinstance(o, (Tensor, AccumulateGrad)) else None


def _saved_by(node: OpNode) -> list[tuple[tuple, tuple | None]]:
    """Return the version and the edge of each argument that a node saved and uses in its backward."""
    if node.saved is None or node.call.op.saves.result_only:    # The node was released, or saved only its result.
        return []
    return [(v, e) for v, used, e in zip(node.versions, _used(node), node.raw_edges, strict=False) if used]


def _views_only_saved(near: list[OpNode], t: Tensor, alive: list) -> set:
    """Return the edges of the tensor's views that nodes have saved, except for those of views that are still ``alive``."""
    edges: set = set()
    views = [n for n in near if _of_view(n) and leads_to(n.raw_edges[0], t)]
    while views:
        users = _nodes_with_any(views)
        edges.update([e for user in users for v, e in _saved_by(user)
                      if v[0] is not None and e is not None and any([e[0] is n for n in views])])
        views = [n for n in users if _of_view(n)]
    return {e for e in edges if not any([isinstance(view, Tensor) and leads_to(e, view) for view in alive])}


def _of_view(node: OpNode) -> bool:
    return node.call.op.view is not None and node.raw_edges[0] is not None


def _is_of(t: Tensor, version: tuple, edge: tuple | None) -> bool:
    """Return whether a saved (counter, version) with this edge refers to the tensor."""
    counter = version[0]
    if counter is None:
        return False
    if counter.__class__ is SavedTensorRef:
        return counter.tensor() is t
    whole = t._base is None and counter is t._storage
    if edge is None:
        return whole
    regenerated = whole and t._node is not None and counter.version != version[1] and not (
        edge[1] == LEAF or isinstance(edge[0], AccumulateGrad))
    return regenerated or leads_to(edge, t) or edge == _edge_before_detach(t)


def _edge_before_detach(t: Tensor) -> tuple | None:
    """Return the edge that the tensor had before ``detach_``; None if it was not detached."""
    return next(((node, nr) for node, outputs in detached.items() for nr, ref in outputs.items() if ref() is t), None)


def _may_have_saved(t: Tensor) -> list[OpNode]:
    """Return the nodes that saved the tensor, or another tensor with its memory or history."""
    refs = [s for ref in weakref.getweakrefs(t) for s in gc.get_referrers(ref) if s.__class__ is SavedTensorRef]
    counters = [*refs, t._storage]
    before = _edge_before_detach(t)
    heads = [h for h in (t, t._node, lead_to_node(t), before and before[0], *counters) if h is not None]
    return [n for n in _nodes_with_any(heads) if n.saved is not None]


def _nodes_with_any(heads: list) -> list[OpNode]:
    """Return the nodes that have an edge to one of ``heads``, or saved the version of one."""
    ids = {id(h) for h in heads}
    entries = [r for r in gc.get_referrers(*heads) if r.__class__ is tuple and len(r) == 2 and id(r[0]) in ids]
    return list({id(n): n for n in nodes_with(entries)}.values())


def _used(node: OpNode) -> tuple[bool, ...]:
    return node.held(tuple([i for i, a in enumerate(node._input_metadata) if a.is_inexact]))


def _raise(grad_outputs):
    raise RuntimeError(_POISONED)
