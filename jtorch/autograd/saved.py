"""Tensors that a custom function saves for backward, and the hooks on saved tensors (torch.autograd.graph)."""
from __future__ import annotations

from typing import Any

from jtorch import tape
from jtorch._backward import untracked_writes
from jtorch._backward.view_history import edge_of, requires_grad, start_history
from jtorch._base import late_bindings
from jtorch._nodes import saved_names
from jtorch._nodes.version_errors import modified_message, short_name
from jtorch.engine import Value, record
from jtorch.no_grad import mode, no_grad
from jtorch.ops.registry import OPS
from jtorch.storage import aval_of, value_of
from jtorch.tape import Node, OpNode
from jtorch.tensor import Tensor, alias, wrap


class Saved:
    """A tensor that a custom function has saved, with its version at that time.

    An output is kept without its history. The history is the function's own node, so keeping it would make a cycle.
    """

    __slots__ = ("kept", "number", "version")

    def __init__(self, t: Tensor, number: int | None):
        self.number, self.version = number, tape.counter_of(t).version
        edge = edge_of(t) if number is None and requires_grad(t) else None
        if mode.saved_hooks:
            self.kept: Any = (Packed(t), edge)
        elif mode.mutation_allowed:
            self.kept = (value_of(t), edge)
        else:
            self.kept = t if number is None else alias(t)

    def unpack(self, node: Node) -> Tensor:
        """Return the tensor with its history; raise if it was written to since it was saved."""
        edge = (node, self.number) if self.number is not None else None
        if self.kept.__class__ is tuple:
            kept, own = self.kept
            return wrap(kept.value() if kept.__class__ is Packed else kept, edge or own)
        counter = tape.counter_of(self.kept)
        if counter.version != self.version:
            name = short_name(node if edge is not None else self.kept.grad_fn)
            raise RuntimeError(modified_message(aval_of(self.kept), name, self.number or 0, counter.version, self.version))
        if edge is None:
            return self.kept
        t = alias(self.kept)
        start_history(t, *edge)
        return t


class Packed:
    """The result of a pack hook on a saved value, with the unpack hook that restores the value."""

    __slots__ = ("aval", "packed", "unpack")

    def __init__(self, t: Tensor, pair: tuple | None = None):
        pack, self.unpack = pair or mode.saved_hooks[-1]
        given, self.aval = alias(t), aval_of(t)
        version = tape.counter_of(given).version
        hooks, mode.saved_hooks = mode.saved_hooks, ()      # Calls within the hook save their values unpacked.
        try:
            with no_grad():
                self.packed = pack(given)
        finally:
            mode.saved_hooks = hooks
        if tape.counter_of(given).version != version:
            raise RuntimeError("A saved tensor pack hook is modifying its input in place. Tensors provided as input to pack hook "
                               "can not be modified by in-place operations as this can lead to unexpected side-effects. "
                               "Please open an issue if you need to perform in-place operations on the input to a pack hook.")

    def value(self) -> Value:
        """Restore the value by the unpack hook."""
        t = self.unpack(self.packed)
        if not isinstance(t, Tensor):
            raise TypeError("Output of saved tensor unpack_hook expected to be a Tensor but got result of type "
                            f"{type(t).__name__}")
        return value_of(t)


class PackedNode(OpNode):
    """The node of a call made under saved-tensor hooks: the values that its backward uses are packed."""

    __slots__ = ()

    def _histories(self) -> tuple:
        if self.call.op is not OPS["_along_result"]:
            return self.edges
        arguments = self.edges[:len(self.edges) // 2]
        return (*arguments, *arguments, (self, 0))

    def run(self, grads: dict, create_graph: bool, needs: list[bool]) -> list:
        """Unpack the saved values for the time of a backward. See Node.run."""
        packed = self.saved
        if packed is None:
            return OpNode.run(self, grads, create_graph, needs)
        self.saved = [p.value() if p.__class__ is Packed else p for p in packed]
        try:
            return OpNode.run(self, grads, create_graph, needs)
        finally:
            self.saved = packed


def pack_node(node: OpNode, flat) -> None:
    """Send what a new node saves through the pack hook. Arguments that its backward does not use stay as they are."""
    saves = node.call.op.saves
    if saves.anything and not saves.result:     # If the node saves its result too, ``pack_result`` packs it later.
        _pack(node, flat)


def pack_result(node: OpNode, result: Tensor) -> None:
    """Send what a new node saves through the pack hook: its result, if its derivative has a formula with the result."""
    values = [v for v in node.saved if v.__class__ is Value]
    if node.call.op.saves.idempotent:
        _pack(node, [result.detach()])
    elif node.result is not None and untracked_writes.has_change(node):
        untracked_writes.take_derivative_from_result(node, values, value_of(result))
        arguments = [wrap(v) for v in values]
        _pack(node, [*arguments, *arguments, result.detach()])
    else:
        _pack(node, [wrap(v) if v.__class__ is Value else v for v in node.saved])


def keep_result(node: OpNode) -> int:
    """Make a node take its derivative from its result, which it keeps from now on; return the result's place."""
    if node.call.op is not OPS["_along_result"] and not node.call.op.saves.idempotent:
        if not untracked_writes.has_change(node):
            raise NotImplementedError(f"hooks on the result that {node.name()} has saved are not built")
        values = [v for v in node.saved if v.__class__ is Value]
        out = record(node.call, tuple(node.saved))
        untracked_writes.take_derivative_from_result(node, values, out[0] if out.__class__ is list else out)
    return len(node.saved) - 1


def _pack(node: OpNode, tensors) -> None:
    used = tape.used_by_backward(node) if not node.call.op.saves.jointly else saved_names.held(node)
    node.saved = [Packed(t) if u and a.__class__ is Value else a for t, a, u in zip(tensors, node.saved, used, strict=False)]
    if node.call.op is OPS["_along_result"]:
        node._keep_avals()
    tape.forget_versions(node)
    node.__class__ = tape.node_class(node.name(), PackedNode)


late_bindings.pack_result = pack_result
