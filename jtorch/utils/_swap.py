"""torch.utils.swap_tensors: two tensor objects exchange what they are."""
from __future__ import annotations

import gc

from jtorch.autograd.graph import get_gradient_edge
from jtorch.storage import Seen
from jtorch.tape import AccumulateGrad, Node, OpNode, leads_to
from jtorch.tensor import Tensor, node_of
from jtorch.walks import LEAF

_POISONED = ("Trying to execute AccumulateGrad node that was poisoned by swap_tensors this can happen when you try to run "
             "backward on a tensor that was swapped. For a module m with "
             "`torch.__future__.set_swap_module_params_on_conversion(True)` you should not change the device or dtype of the "
             "module (e.g. `m.cpu()` or `m.half()`) between running forward and backward. To resolve this, please only change "
             "the device/dtype before running forward (or after both forward and backward).")


def swap_tensors(t1: Tensor, t2: Tensor) -> None:
    """Exchanges everything about two tensors but the objects themselves. See torch.utils.swap_tensors.

    RuntimeError where one of them has views, or was saved for a backward. A backward through a leaf that was swapped raises.
    """
    if t1 is t2:
        return
    poisoned = [_checked(t, f"t{i}") for i, t in ((1, t1), (2, t2))]
    t1.__class__, t2.__class__ = t2.__class__, t1.__class__     # type: ignore[assignment]
    t1.__dict__, t2.__dict__ = t2.__dict__, t1.__dict__
    for t, node in zip((t1, t2), poisoned, strict=True):
        if node is not None:        # edges lead to the object, which now is another tensor
            t._accumulator = lambda node=node: node     # type: ignore[misc]


def _checked(t: Tensor, name: str) -> Node | None:
    """The node that must not run any more, if the tensor is a leaf of some graph; RuntimeError where it cannot be swapped."""
    referrers = gc.get_referrers(t)
    views = sum([r.get("_base") is t for r in _states(referrers)])
    views += sum([s.get("_through") is r for r in referrers if r.__class__ is tuple for s in _states(gc.get_referrers(r))])
    grads = sum([s.get("_grad") is t for s in _states(referrers)])
    in_graph = any([isinstance(r, AccumulateGrad) or _leads_to_a_leaf(r) for r in referrers])
    seen = [r for r in gc.get_referrers(t._view or t._storage) if r.__class__ is Seen and r.tensor() is t]
    seen += [t._storage] if t._view is None and t._base is None else []     # type: ignore[list-item]
    saved = sum([_uses(r, t) for s in seen for r in gc.get_referrers(s) if r.__class__ is tuple and len(r) == 2 and r[0] is s])
    count = 1 + views + saved + in_graph + grads
    if count > 2 or (count == 2 and node_of(t) is not None):
        raise RuntimeError(f"Expected use_count of {name} to be 1 or 2 with an AccumulateGrad node but got {count} make sure you "
                           "are not holding references to the tensor in other places.")
    if t.retains_grad:
        raise RuntimeError(f"Expected no weakrefs to {name}'s Tensor object but got  1")
    if count < 2:
        return None
    node = get_gradient_edge(t).node
    node.register_prehook(_raise)
    return node


def _states(objects: list) -> list[dict]:
    """What the tensors and dicts among some objects hold."""
    return [o.__dict__ if isinstance(o, Tensor) else o for o in objects if isinstance(o, (Tensor, dict))]


def _leads_to_a_leaf(entry: object) -> bool:
    return entry.__class__ is tuple and len(entry) == 2 and entry[1].__class__ is int and entry[1] == LEAF


def _uses(entry: tuple, t: Tensor) -> int:
    """How many nodes with this entry (counter, version) of a tensor among what they have saved use it in their backward."""
    nodes = [n for versions in gc.get_referrers(entry) if versions.__class__ is tuple for n in _owners(versions)]
    return sum([any(v is entry and u and _leads_to(e, t, v) for v, u, e in zip(n.versions, _used(n), n.raw_edges, strict=False))
                for n in nodes if n.call.op.saves != "result"])        # of a result the node holds the memory, not the tensor


def _leads_to(edge: tuple | None, t: Tensor, entry: tuple) -> bool:
    """Whether what was saved beside this edge may be the tensor, and not another one of the same memory."""
    if edge is None or entry[0].__class__ is Seen:
        return True
    regenerated = t._node is not None and entry[0].version != entry[1] and not (
        edge[1] == LEAF or isinstance(edge[0], AccumulateGrad))
    return regenerated or leads_to(edge, t)


def _used(node: OpNode) -> tuple[bool, ...]:
    return node.held(tuple([i for i, a in enumerate(node._input_metadata) if a.kind]))


def _owners(versions: tuple) -> list:
    holders = gc.get_referrers(versions)
    found = [o for h in holders if h.__class__ is dict for o in gc.get_referrers(h)] + holders
    return [n for n in found if isinstance(n, OpNode) and n.versions is versions and n.saved is not None]


def _raise(grad_outputs):
    raise RuntimeError(_POISONED)
