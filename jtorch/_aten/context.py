"""The context of a derivative rule: the node's arguments as tensors, its results and their gradients."""
from __future__ import annotations

from typing import Any

from jtorch import engine
from jtorch._aten.asking import ask
from jtorch._aten.fitting import arguments
from jtorch._aten.history import TensorNode, given_history, note_saved
from jtorch._aten.operators import exactly
from jtorch._backward.view_history import start_history
from jtorch._base import late_bindings
from jtorch._nodes.hooks import as_tensor
from jtorch._nodes.vjp import vjp_call
from jtorch.engine import Value
from jtorch.ops.registry import Marker
from jtorch.storage import is_dense, lay_out
from jtorch.tensor import wrap


def saved_tensors(node: Any, create_graph: bool) -> list:
    """Return a node's saved values as tensors, with their history if ``create_graph`` is set."""
    if isinstance(node, TensorNode):
        return list(node.saved)
    edges = node.edges if create_graph else (None,) * len(node.saved)
    made = [late_bindings.wrap(v, e) if v.__class__ is Value else v for v, e in zip(node.saved, edges, strict=False)]
    for t, (counter, _) in zip(made, node.versions, strict=False):
        view = getattr(counter, "view", None)
        if view is not None and not view.in_order and is_dense(view.aval.shape, view.stride):
            lay_out(t, view.stride)
    return made


class Context:
    """One run of a node's backward, as derivative rules see it."""

    def __init__(self, node: Any, grads: dict, create_graph: bool, needs: list[bool]):
        self.node, self.grads, self.create_graph, self.needs = node, grads, create_graph, needs
        self.flat = saved_tensors(node, create_graph)
        self.args = arguments(node.call, self.flat)
        self.wanted = arguments(node.call, needs)

    def __getattr__(self, name: str) -> Any:
        """Return an argument of the call by name."""
        try:
            return self.args[name]
        except KeyError:
            raise AttributeError(name) from None

    def grad(self, nr: int = 0) -> Any:
        """Return the gradient of a result, or None."""
        given = self.grads.get(nr)
        return None if given is None else as_tensor(given)

    def needs_of(self, *names: str) -> bool:
        """Return whether some of these arguments need gradients."""
        return any([_any(self.wanted.get(name)) for name in names])

    def result(self, nr: int = 0) -> Any:
        """Return a result of the call, with its history if ``create_graph`` is set."""
        made = note_saved(self.kept(nr))
        if self.create_graph and not made.requires_grad:
            start_history(made, self.node, nr)
        return made

    def kept(self, nr: int = 0) -> Any:
        """Return a result that the node has kept, or recompute it."""
        kept = self.node.__dict__.get("kept", ())
        if kept:
            return kept[nr]
        if self.node.call.op.saves.idempotent:
            return self.flat[0]
        out = engine.record(self.node.call, list(self.node.saved))
        return wrap(out[nr] if out.__class__ is list else out)

    def has_kept(self) -> bool:
        """Return whether the node has kept the operator's results, which may include more than the op's."""
        return bool(self.node.__dict__.get("kept", ()))

    def operator(self, name: str, given: dict[str, Any], picks: dict[str, int | None]) -> Any:
        """Compute gradients by one operator. ``picks`` maps the name of an argument to the number of the result that is its
        gradient, None if the operator has a single result.
        """
        named = exactly(name, given)
        if named is None:
            return NotImplemented
        made = ask(named.func, named.args, named.kwargs)
        if self.create_graph:
            made = self._differentiable(made, named, picks)
        return {name: made if at is None else made[at] for name, at in picks.items()}

    def _differentiable(self, made: Any, named: Any, picks: dict) -> Any:
        given = tuple(sorted(self.grads))
        wanted = tuple([i for i, n in enumerate(self.needs) if n])
        owners = arguments(self.node.call, range(len(self.flat)))
        places = [next(at for name, at in picks.items() if owners.get(name) == i) for i in wanted if i in owners.values()]
        outs = list(made) if isinstance(made, (list, tuple)) else [made]
        picked = named._replace(pick=lambda _: [outs[at or 0] for at in places])
        noted = given_history(vjp_call(self.node.call, wanted, given), [*self.flat, *[self.grad(i) for i in given]], made, picked)
        for at, t in zip(places, noted, strict=True):
            outs[at or 0] = t
        return outs if isinstance(made, (list, tuple)) else outs[0]

    def in_order(self, made: Any) -> list:
        """Convert gradients by argument name to a list of (gradient, is it needed) for the node's inputs."""
        found: list = []
        for p, t in zip(self.node.call.op.params, self.node.call.template, strict=True):
            given = made.get(p.name)
            if t.__class__ is Marker:
                found.append(given)
            elif t.__class__ is tuple:
                count = sum([x.__class__ is Marker for x in t])
                found += [None] * count if given is None else list(given) if isinstance(given, (list, tuple)) else [given]
        return list(zip(found, self.needs, strict=True))


def _any(x: Any) -> bool:
    return any(map(_any, x)) if isinstance(x, (list, tuple)) else x is True
