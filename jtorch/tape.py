"""The tape: nodes that hold a call, its inputs and the edges that their gradients follow. ``backward`` walks it.

The tape has no formulas of derivatives. A node's backward is the ``jax.vjp`` of the op's body, recorded as a call that can
be compiled and differentiated like any other call.
"""
from __future__ import annotations

import gc
import itertools
import sys
import threading
import traceback
import weakref
from collections.abc import Callable
from typing import Any

from jtorch import engine
from jtorch._base import caller, late_bindings
from jtorch._base.error_notes import COPY_FIRST, with_note
from jtorch._nodes import saved_names, tangents
from jtorch._nodes.hooks import RemovableHandle, as_tensor, as_value
from jtorch._nodes.version_errors import DETACHED_IN_PLACE, FREED, describe_saved_tensor, modified_message, short_name
from jtorch._nodes.vjp import vjp_call
from jtorch.engine import Call, Value
from jtorch.engine.values import shape_only_value
from jtorch.no_grad import mode
from jtorch.ops import arithmetic
from jtorch.ops.check import broadcast_shapes, expands_to
from jtorch.ops.registry import OPS, T
from jtorch.ops.strided import contiguous_strides, is_contiguous
from jtorch.speedups.constants import LEAF
from jtorch.storage import Storage, aval_of, count_saved, geometry_of, is_dense, lay_out, set_version, value_of, write

sequence = itertools.count().__next__
AT_ONCE = 2 ** 64 - 1       # the sequence number of nodes that run before all other ready nodes
record = engine.record
Edge = tuple["Node", int]      # (node, output number); a raw edge may be (leaf tensor, LEAF)


_NOT_GENERATED = {"AccumulateGrad", "CopySlices", "CopyBackwards", "NotImplemented"}      # PyTorch's hand-written nodes


class Node:
    """A function in the graph that backward walks. See torch.autograd.graph.Node.

    Example::

        >>> x = torch.ones(1, requires_grad=True)
        >>> (x * 2).grad_fn.name()
        'MulBackward0'
    """

    hooks: Any = None           # ``hooks``, ``prehooks`` and ``tensor_hooks`` become dicts with the first hook of their kind
    prehooks: Any = None
    tensor_hooks: Any = None
    watched = False             # True if Python must run the node, for example because it has a hook
    runs_without_gradient = False       # True if backward runs the node even without a gradient
    call: Call | None = None    # an OpNode's call
    saved: Any = None
    trace: Any = None           # anomaly detection: the stack that made the node, and the node whose backward made it
    _metadata: Any = None

    def __init__(self, edges: tuple[Edge | None, ...]):
        self.edges = edges
        self.seq = sequence()

    @property
    def raw_edges(self) -> tuple[Edge | None, ...]:
        """The edges as recorded. An OpNode's raw edges may lead to leaf tensors instead of their nodes."""
        return self.edges

    def name(self) -> str:
        """Return PyTorch's name of the node."""
        name = type(self).__name__
        return f"torch::autograd::{name}" if name in _NOT_GENERATED else name

    def __repr__(self):
        return f"<{type(self).__name__} object at {hex(id(self))}>"

    def __call__(self, *grads: Any) -> Any:
        """Run the node alone: return the gradients of its inputs from those of its outputs. Raise TypeError for a wrong count."""
        wanted = max(len(self._input_metadata), 1)
        if len(grads) != wanted:
            raise TypeError(f"expected {wanted} arguments, got {len(grads)} instead")
        given = {i: g if mode.grad else as_value(g) for i, g in enumerate(grads) if g is not None}
        made = tuple([None if g is None else as_tensor(g)
                      for g in self.run(given, mode.grad, [e is not None for e in self.raw_edges])])
        return made[0] if len(made) == 1 else made

    @property
    def next_functions(self) -> tuple:
        """The nodes that receive this node's gradients, each with an output number."""
        return tuple([e if e is not None else (None, 0) for e in self.edges])

    @property
    def metadata(self) -> dict:
        """A dict for the user."""
        if self._metadata is None:
            self._metadata = {}
        return self._metadata

    def _sequence_nr(self) -> int:
        return self.seq

    @property
    def _input_metadata(self) -> tuple:
        """The avals of the forward's outputs, or () if the node does not know them."""
        return ()

    def register_hook(self, fn) -> RemovableHandle:
        """Run ``fn(grad_inputs, grad_outputs)`` after the node. Its result, unless None, replaces ``grad_inputs``."""
        self.hooks, self.watched = {} if self.hooks is None else self.hooks, True
        return RemovableHandle(self.hooks, fn)

    def register_prehook(self, fn) -> RemovableHandle:
        """Run ``fn(grad_outputs)`` before the node. Its result, unless None, replaces ``grad_outputs``."""
        self.prehooks, self.watched = {} if self.prehooks is None else self.prehooks, True
        return RemovableHandle(self.prehooks, fn)

    def tensor_hooks_of(self, nr: int) -> dict:
        """Return the hooks of the tensor that is output ``nr`` of the node."""
        if self.tensor_hooks is None:
            self.tensor_hooks, self.watched = {}, True
        return self.tensor_hooks.setdefault(nr, {})

    def run(self, grads: dict, create_graph: bool, needs: list[bool]) -> list:
        """Return the gradients of the inputs, None for those not needed. ``grads`` maps output numbers to gradients."""
        raise NotImplementedError

    def release(self) -> None:
        """Free the values saved for backward."""


_holding_nothing: weakref.WeakSet = weakref.WeakSet()


class _Detached:
    """The version counter of a saved tensor that ``detach_`` has detached. ``DETACHED`` pairs it with another version."""

    version = 1


DETACHED = (_Detached(), 0)
# Maps a node to those of its outputs that ``detach_`` has detached: {output number: weak reference to the tensor}.
detached: weakref.WeakKeyDictionary[Node, dict[int, weakref.ref]] = weakref.WeakKeyDictionary()


def note_detached(roots: list[Node]) -> None:
    """Mark saved tensors that ``detach_`` has detached, so that the backward of their nodes raises."""
    for node in reachable(roots, leaves=False):
        if isinstance(node, OpNode) and node.saved is not None:
            node.mark_detached()


def _is_detached(edge: Edge | None) -> bool:
    cut_off = edge is not None and edge[1] != LEAF and detached.get(edge[0], {}).get(edge[1])
    if not cut_off:
        return False
    t = cut_off()
    return t is None or t._node is None


class OpNode(Node):
    """The node of a call. It saves the arguments' values and their tensors' versions."""

    # Each backward reads these attributes, so they are slots.
    __slots__ = ("call", "raw_edges", "result", "saved", "seq", "versions", "watched")

    shown: tuple = ()           # the avals of the results, kept for hooks after the saved values are freed
    call: Call
    raw_edges: Any
    result: Any                 # the aval of the result, if the backward uses the result

    def __init__(self, call: Call, saved: list, edges: tuple, versions: tuple):
        self.call, self.raw_edges, self.versions = call, edges, versions
        if versions:
            count_saved(versions, 1)
        self.saved = saved              # None once the values are freed
        self.seq = sequence()
        self.watched, self.result = False, None

    @property
    def edges(self) -> tuple:       # type: ignore[override]
        """The nodes that the gradients go to. Reading this makes nodes for leaves."""
        if any([e is not None and e[1] == LEAF for e in self.raw_edges]):
            self.raw_edges = to_accumulators(self)
        return self.raw_edges

    def run(self, grads: dict, create_graph: bool, needs: list[bool]) -> list:
        if self.saved is None:
            if self in _holding_nothing:
                return [None] * len(needs)
            raise RuntimeError(FREED)
        given = tuple(sorted(grads)) if len(grads) > 1 else tuple(grads)
        wanted = tuple([i for i, n in enumerate(needs) if n])
        call = vjp_call(self.call, wanted, given)
        for counter, version in self.versions:
            if counter is not None and counter.version != version:
                self._check_versions(given)
                break
        if late_bindings.aten is not None:
            made = late_bindings.aten.backward(self, grads, create_graph, needs)
            if made is not None:
                return made
            if not create_graph and not (tangents.opened and self._is_dual(grads)):
                grads = {nr: as_value(g) for nr, g in grads.items()}
        if not wanted and not any(self.raw_edges) and not any(self.held(given)[:len(self.saved)]):
            _holding_nothing.add(self)      # PyTorch's node has saved nothing, so a second backward must not raise
        if create_graph or (tangents.opened and self._is_dual(grads)):
            saved = self._with_history(call, grads) if create_graph else [as_tensor(v) for v in self.saved]
            arguments = [*tangents.dress(saved, tangents.of_saved(self)), *[as_tensor(grads[i]) for i in given]]
            outs = late_bindings.call(call, arguments)
        else:
            outs = engine.record(call, [*self.saved, *[grads[i] for i in given]])
        if len(outs) == len(needs):
            return outs
        found = iter(outs)
        return [next(found) if n else None for n in needs]

    def _is_dual(self, grads: dict) -> bool:
        """Return whether a saved value has tangents of forward mode, or a gradient is a tensor, which may have tangents."""
        return bool(tangents.of_saved(self)) or any([g.__class__ is not Value for g in grads.values()])

    def _with_history(self, call: Call, grads: dict) -> list:
        """Return the saved values as tensors. Those that the backward uses get their history."""
        used = self._used(call, [as_value(grads[i]).aval for i in call.template[3]])
        return [late_bindings.wrap(v, edge if u else None) if v.__class__ is Value else v
                for v, edge, u in zip(self.saved, self._histories(), used, strict=False)]

    def _histories(self) -> tuple:
        """Return the edge of each saved value's history."""
        return self.edges

    def _used(self, call: Call, given: list) -> tuple[bool, ...]:
        """Return which of the saved values, followed by gradients of these avals, the backward call uses."""
        if self.call.op.saves.everything:
            return (True,) * (len(self.saved) + len(given))
        if any([v.__class__ is Value and v.aval.traced for v in self.saved]) or any([a.traced for a in given]):
            return (True,) * (len(self.saved) + len(given))
        return engine.kernel_of(call, (*_avals(self.saved), *given)).used

    def _check_versions(self, given: tuple) -> None:
        """Raise RuntimeError if a tensor that PyTorch's node would hold was written to, even if this walk does not need it."""
        used = (True,) * len(self.versions) if self.call.op.saves.result_only else self.held(given)
        for i, (counter, version) in enumerate(self.versions):
            if counter is not None and counter.version != version and used[i]:
                raise with_note(RuntimeError(self._modified(i, counter, version)), COPY_FIRST)

    def held(self, given: tuple, every: bool = False) -> tuple[bool, ...]:
        """Return which arguments PyTorch's node holds.

        PyTorch saves an argument if the gradient of an edge uses it, if several gradients use it, or if only one argument can
        have a gradient (see ``Saves``). ``every``: answer as if each argument had an edge.
        """
        avals = _avals(self.saved)
        if self.call.op.saves.everything or any([a.traced for a in avals]):
            return (True,) * (len(avals) + len(given))
        try:        # PyTorch holds empty arguments too, so ask with sizes of 1 in place of 0
            avals = tuple([a if a.numel else engine.aval_of(tuple([n or 1 for n in a.shape]), a.np, a.device) for a in avals])
            outs = engine.kernel_of(self.call, avals).outs
        except Exception as error:
            if caller.interrupts(error):
                raise
            return (True,) * (len(avals) + len(given))
        copied = self.copied()
        each = [i for i, v in enumerate(self.saved) if v.__class__ is Value and v.aval.is_inexact]
        uses = [engine.kernel_of(vjp_call(self.call, (i,), given), (*avals, *[outs[nr] for nr in given])).used for i in each]
        alone = len(each) == 1 and (self.call.op.promote is None or sum([v.__class__ is Value for v in self.saved]) == 1)
        there = [every or alone or self.call.op.saves.jointly or self.edges[i] is not None for i in each]
        return tuple([i not in copied and (sum(u) > 1 or any([a and b for a, b in zip(u, there, strict=True)]))
                      for i, u in enumerate(zip(*uses, strict=True))])

    def copied(self) -> list[int]:
        """Return the numbers of the arguments that PyTorch copies before it saves them."""
        if self.call.op.saves.copies is None:
            return []
        views = [getattr(counter, "view", None) for counter, _ in self.versions]
        geometries = tuple([(v.aval.shape, v.stride) if v is not None else (a.shape, contiguous_strides(a.shape))
                            for v, a in zip(views, _avals(self.saved), strict=False)])
        copied = self.call.op.saves.copies(geometries, tuple([e is not None for e in self.raw_edges]))
        return [i for i, c in enumerate(copied) if c]

    def mark_detached(self) -> None:
        """Make the version check fail for arguments that ``detach_`` has detached since."""
        cut_off = [_is_detached(edge) for edge in self.raw_edges[:len(self.versions)]]
        if not self.call.op.saves.result_only and any(cut_off):
            self.versions = tuple([DETACHED if cut and entry[0] is not None else entry
                                   for entry, cut in itertools.zip_longest(self.versions, cut_off)])

    def _modified(self, i: int, counter, version: int) -> str:
        if counter is DETACHED[0]:
            return DETACHED_IN_PLACE
        if self.call.op.saves.result_only or i >= len(self.saved):
            return modified_message(self.result or self.saved[0].aval, short_name(self), 0, counter.version, version)
        return modified_message(*describe_saved_tensor(self.saved[i].aval, self.edges[i], counter), 0, counter.version, version)

    @property
    def _input_metadata(self) -> tuple:
        outs = engine.kernel_of(self.call, _avals(self.saved)).outs if self.saved else self.shown
        return outs if not outs or outs[-1].is_inexact else _without_last(outs)

    def release(self) -> None:
        if self.call.op.saves.anything:
            if self.watched:
                self.shown = self._input_metadata
            versions = self.versions
            self.saved, self.versions = None, ()     # versions keep storages alive, and with them values
            count_saved(versions, -1)
        elif self.saved is not None:
            self._keep_avals()

    def _keep_avals(self) -> None:
        """Replace the saved values by placeholders with their avals, which is all that this op's backward uses.

        A value that a node holds is live, so a compiled program would have to return it.
        """
        self.saved = [shape_only_value(v) if v.__class__ is Value else v for v in self.saved]

    def check_version_of(self, at: int) -> None:
        """Raise RuntimeError if argument ``at`` was written to. The number after the last argument means the result."""
        at = 0 if self.call.op.saves.result_only else at
        counter, version = self.versions[at] if at < len(self.versions) else (None, 0)
        if counter is not None and counter.version != version:
            raise with_note(RuntimeError(self._modified(at, counter, version)), COPY_FIRST)

    def __dir__(self):
        return [*[n for n in super().__dir__() if not n.startswith("_saved_")], *saved_names.names_of(self)]


saved_names.attach(OpNode)


class PartialVersionCheckNode(OpNode):
    """The node of an op whose PyTorch node saves fewer arguments than the vjp uses. Only those are checked for writes."""

    __slots__ = ()

    def __init__(self, call: Call, saved: list, edges: tuple, versions: tuple):
        few = call.op.saves.checks and call.op.saves.checks(call.template, edges)
        if few is not None:
            versions = tuple([v if i in few else (None, 0) for i, v in enumerate(versions)])
        super().__init__(call, saved, edges, versions)


class ConditionallySavedNode(PartialVersionCheckNode):
    """The node of an op that saves values only for some arguments, or only if certain arguments need gradients."""

    __slots__ = ()

    def release(self) -> None:
        if self.call.op.saves.frees(self.call.template, self.raw_edges):      # type: ignore[misc]
            super().release()
        elif self.saved is not None:
            self._keep_avals()


def _without_last(outs: tuple) -> tuple:
    """Return ``outs`` without trailing results that have no derivative, such as indices. PyTorch's node does not count them."""
    known = [i for i, a in enumerate(outs) if a.is_inexact]
    return outs[:known[-1] + 1] if known else outs


def _avals(saved) -> tuple:
    return tuple([engine.NUMBER_AVALS[v.__class__] if v.__class__ in engine.NUMBER_AVALS else v.aval for v in saved])


def forget_versions(node: OpNode) -> None:
    """Allow writes to the tensors that a node has saved."""
    if node.versions:
        count_saved(node.versions, -1)
        node.versions = ()


def used_by_backward(node: OpNode) -> tuple[bool, ...]:
    """Return which arguments the node's backward uses if all its outputs have gradients."""
    avals = _avals(node.saved)
    outs = engine.kernel_of(node.call, avals).outs
    given = tuple([i for i, a in enumerate(outs) if a.is_inexact])
    needs = tuple([i for i, e in enumerate(node.edges) if e is not None])
    kernel = engine.kernel_of(vjp_call(node.call, needs, given), (*avals, *[outs[i] for i in given]))
    return kernel.used[:len(avals)]


_classes: dict[tuple[str, type], type] = {}


def node_class(name: str, base: type = OpNode) -> type:
    """Return the subclass of ``base`` called ``name``, so that ``type(y.grad_fn).__name__`` is PyTorch's."""
    found = _classes.get((name, base))
    if found is None:
        found = _classes[name, base] = type(name, (base,), {"__slots__": ()})
    return found


def reachable(roots: list[Node], *, leaves: bool = True) -> list[Node]:
    """Return ``roots`` and all nodes reachable from them. With ``leaves``, nodes of leaves are made and included."""
    order, seen, stack = [], set(roots), list(dict.fromkeys(roots))
    while stack:
        node = stack.pop()
        order.append(node)
        for edge in node.edges if leaves else node.raw_edges:
            if edge is not None and edge[1] != LEAF and edge[0] not in seen:
                seen.add(edge[0])
                stack.append(edge[0])
    return order


class NotImplementedNode(Node):
    """The node of a call without a derivative."""

    def __init__(self, op_name: str, edges: tuple):
        self._edges, self.op_name, self.seq = edges, op_name, AT_ONCE

    edges = property(lambda self: self._edges)      # type: ignore[assignment]

    def name(self) -> str:
        """Return PyTorch's name of the node."""
        return "NotImplemented"

    def run(self, grads: dict, create_graph: bool, needs: list[bool]) -> list:
        name = self.op_name if self.op_name == "set_" else f"aten::{self.op_name}"
        raise RuntimeError(f"derivative for {name} is not implemented")


class UnderivedNode(NotImplementedNode):
    """The node of an op that PyTorch declares as not differentiable (``not_implemented`` in derivatives.yaml)."""

    name = Node.name

    def __init__(self, op_name: str, edges: tuple):
        super().__init__(op_name, edges)
        self.seq = sequence()

    def run(self, grads: dict, create_graph: bool, needs: list[bool]) -> list:
        if not any(needs):
            return [None] * len(needs)
        raise NotImplementedError(f"the derivative for '{self.op_name}' is not implemented.")


NotImplementedNode.__name__ = NotImplementedNode.__qualname__ = "NotImplemented"


class CopySlices(OpNode):
    """The history of a tensor after a view of it was written to."""

    __slots__ = ()

    def check_written(self) -> None:
        """Raise the version errors of the written value's node. PyTorch runs that node inside this one, before its hooks."""
        written = self.raw_edges[1]
        if written is not None and isinstance(written[0], OpNode) and written[0].saved is not None:
            written[0]._check_versions((written[1],))

    def release(self) -> None:
        self.saved = None       # a second backward raises as in PyTorch, even if it needs no freed value


class AccumulateGrad(Node):
    """The node of a leaf, which adds gradients to ``leaf.grad``."""

    edges = ()
    aval: Any = None            # the leaf's aval before its shape changed, for the graphs of that time
    replaced = False            # True if ``leaf.data = other`` changed the shape

    seq = AT_ONCE

    def __init__(self, variable):
        self.variable = variable

    @property
    def tensor_hooks(self) -> dict | None:      # type: ignore[override]
        """The leaf's hooks, including those registered after the leaf got another node."""
        return {0: self.variable._leaf_hooks} if self.variable._leaf_hooks else None

    @property
    def _input_metadata(self) -> tuple:
        return (aval_of(self.variable),)

    def run(self, grads: dict, create_graph: bool, needs: list[bool]) -> list:
        t, grad = self.variable, grads[0]
        check_is_leaf(t)
        if self.aval is not None:
            grad = fitted(grad, self.aval, self)
        if not t._requires_grad:        # the leaf required grad when the graph was made, but no longer does
            return []
        if late_bindings.aten is not None and late_bindings.aten.accumulate(t, grad, create_graph):
            return self._hooked()
        if not (create_graph or grad.__class__ is Value or _is_sparse(grad)):       # a leaf accumulates no tangents
            grad = value_of(grad)
        if t.grad is None:
            t._grad = laid_out_like(t, as_tensor(grad), self.replaced) if not create_graph else _copied(t, as_tensor(grad))
        elif create_graph:
            t._grad = late_bindings.call(ADD, [t.grad, as_tensor(grad)])
        elif _is_sparse(grad) or _is_sparse(t.grad):
            t._grad = with_sparse(t.grad, as_tensor(grad))
        else:
            add_to_grad(t, grad)
        return self._hooked()

    def _hooked(self) -> list:
        t = self.variable
        if t._post_accumulate_hooks:
            for hook in list(t._post_accumulate_hooks.values()):
                _check_returned(hook(t))
        return []


def _check_returned(made: Any) -> None:
    """Raise PyTorch's errors if a hook that must return None returned something else."""
    if hasattr(made, "grad_fn"):
        raise RuntimeError("Tensor post accumulate grad hooks should return None.")
    if made is not None:
        raise TypeError(f"expected Variable, but hook returned '{type(made).__name__}'")


def _is_sparse(grad: Any) -> bool:
    return grad.__class__ is not Value and grad._storage.__class__ is not Storage


def with_sparse(a: Any, b: Any) -> Any:
    """Return the sum of two gradients, at least one of them sparse."""
    return b + a if _is_sparse(a) and not _is_sparse(b) else a + b


def add_to_grad(t, grad: Any) -> None:
    """Add to a leaf's gradient in place. Raise RuntimeError if the sum has another shape, since the leaf's shape changed."""
    have = value_of(t.grad)
    made = record(ADD, (have, grad))
    if made.aval.shape != have.aval.shape:
        raise RuntimeError(f"output with shape {list(have.aval.shape)} doesn't match the broadcast shape {list(made.aval.shape)}")
    write(t.grad, made)


def check_is_leaf(t) -> None:
    """Raise RuntimeError for a view that was a leaf until a tracked write to its base."""
    if t.grad_fn is not None:
        raise RuntimeError("leaf variable has been moved into the graph interior")


def keep_shape(t, anew: bool = False, replaced: bool = False) -> None:
    """Record a tensor's shape for existing graphs, before the tensor takes another shape.

    ``anew``: later graphs get another AccumulateGrad node. ``replaced``: ``leaf.data = other`` causes the change.
    """
    if (t._view_op is not None or t._through) and t._made_as is None:
        t._made_as = geometry_of(t)
    if isinstance(t._node, OpNode) and not (t._node.saved or t._node.shown or t._output_nr):    # a freed node has no avals
        t._node.shown = (aval_of(t),)
    if t._node is not None or (not t._requires_grad and t._accumulator is None):
        return
    node = lead_to_node(t)
    if node is not None and node.aval is None:
        node.aval, node.replaced = aval_of(t), replaced
    if anew:
        t._accumulator = None


def is_leaf_edge(entry: object) -> bool:
    """Return whether an object is a raw edge to a leaf tensor."""
    return entry.__class__ is tuple and len(entry) == 2 and entry[1].__class__ is int and entry[1] == LEAF


def lead_to_node(t) -> AccumulateGrad | None:
    """Replace raw edges to a leaf by edges to its node. Return the node, or None if the leaf has none."""
    node = t._accumulator() if t._accumulator is not None else None
    edges = [r for r in gc.get_referrers(t) if is_leaf_edge(r)]
    if edges:
        node = accumulator_of(t)
    for n in nodes_with(edges):
        n.edges     # noqa: B018  (replaces the raw edges)
    return node


def no_accumulator() -> None:
    """Return None, in place of a reference to a leaf's node. It marks former leaves, which graphs may still lead to."""


def nodes_with(entries: list[tuple]) -> list[OpNode]:
    """Return the nodes with one of these edges or versions. This is slow, since it searches all objects of the process."""
    tuples = [r for r in gc.get_referrers(*entries) if r.__class__ is tuple] if entries else []
    holders = gc.get_referrers(*tuples) if tuples else []
    dicts = [h for h in holders if h.__class__ is dict]
    return [o for o in (*holders, *(gc.get_referrers(*dicts) if dicts else ())) if isinstance(o, OpNode)]


def _copied(t, grad):
    """Return a differentiable copy of a gradient."""
    view = t._view
    if view is None or is_dense(view.aval.shape, view.stride):
        made = late_bindings.call(engine.call_of(OPS["_copy_into"], (T, aval_of(t).shape, aval_of(t).dtype)), [grad])
        set_version(made, 1)
        return laid_out_like(t, made)
    return late_bindings.call(engine.call_of(OPS["clone"], (T,)), [grad])


def laid_out_like(t, grad, replaced: bool = False):
    """Return a gradient with its leaf's strides if they are dense. ``replaced``: ``leaf.data = other`` changed the shape."""
    if aval_of(grad).shape != aval_of(t).shape:
        return _in_new_shape(t, grad, replaced)
    view = t._view
    if view is not None and not view.in_order and grad._view is None and grad._storage.value is not None:
        size, stride = view.aval.shape, view.stride
        if is_dense(size, stride) and not is_contiguous(size, stride):
            lay_out(grad, stride)
    return grad


def _in_new_shape(t, grad, replaced: bool):
    """Return a gradient for a leaf whose shape has changed: unchanged if its strides are the leaf's, else a copy."""
    size, stride, _ = geometry_of(t)
    have = aval_of(grad)
    strides = contiguous_strides(have.shape)
    # After ``leaf.data = other`` the gradient may have more dims than the leaf. These have no stride to compare, so they must
    # have size 1.
    theirs = (*(stride or (1,)), *[None] * len(strides)) if replaced else stride
    alike = [n == 1 or a == b for n, a, b in zip(have.shape, strides, theirs, strict=False)]
    if not is_dense(size, stride) or all(alike):
        return grad
    if not expands_to(have.shape, size):
        raise RuntimeError(f"output with shape {list(size)} doesn't match the broadcast shape "
                           f"{list(broadcast_shapes(size, have.shape))}")
    made = late_bindings.wrap(record(engine.call_of(OPS["_copy_into"], (T, size, have.dtype)), (value_of(grad),)))
    lay_out(made, stride)
    return made


def leads_to(edge: Any, t: Any) -> bool:
    """Return whether an edge leads to this tensor."""
    node, nr = edge
    if nr == LEAF or isinstance(node, AccumulateGrad):
        return t is (node if nr == LEAF else node.variable)
    return node is t._node and nr == t._output_nr


def check_fits(shape: tuple, to: tuple) -> None:
    """Raise RuntimeError if a gradient of shape ``shape`` cannot be summed to shape ``to``."""
    if not expands_to(to, shape):
        raise RuntimeError(f"Function returned an invalid gradient at index 0 - got {list(shape)} but expected shape "
                           f"compatible with {list(to)}")


def fitted(grad: Any, aval: Any, node: Node | None = None) -> Any:
    """Return a gradient summed and cast to ``aval``. Raise RuntimeError, with ``node`` attached, if the shapes do not match."""
    have = grad.aval if grad.__class__ is Value else aval_of(grad)
    try:
        check_fits(have.shape, aval.shape)
    except RuntimeError as error:
        error.node = node       # type: ignore[attr-defined]
        raise
    calls = [engine.call_of(OPS["sum_to_size"], (T, aval.shape))] * (have.shape != aval.shape)
    calls += [engine.call_of(OPS["_to_dtype"], (T, aval.dtype))] * (have.dtype is not aval.dtype)
    for call in calls:
        grad = record(call, (grad,)) if grad.__class__ is Value else late_bindings.call(call, [grad])
    return grad


def accumulator_of(t) -> AccumulateGrad:
    """Return the node of a leaf, making one if necessary. The leaf does not keep its node alive."""
    node = t._accumulator() if t._accumulator is not None else None
    if node is None:
        node = AccumulateGrad(t)
        t._accumulator = weakref.ref(node)
    return node


class TBackward0(Node):
    """A node that PyTorch puts between an op's node and a leaf. In jtorch it only delays the leaf's gradient as in PyTorch."""

    def __init__(self, edge: Edge, seq: float):
        self.edges, self.seq = (edge,), seq     # type: ignore[assignment]

    @property
    def _input_metadata(self) -> tuple:
        return self.edges[0][0]._input_metadata     # type: ignore[index]

    def run(self, grads: dict, create_graph: bool, needs: list[bool]) -> list:
        return [grads[0]]


def to_accumulators(node: OpNode, chosen: Callable[[Any], bool] = lambda leaf: True) -> tuple[Edge | None, ...]:
    """Return a node's edges, with nodes in place of the leaves that ``chosen`` accepts.

    The nodes ``TBackward0`` make the gradients arrive in the order of ``Op.arrival``.
    """
    arrival, made = node.call.op.arrival, []
    turns = arrival(node.call.template, _avals(node.saved), node.raw_edges) if arrival and node.saved else {}
    for i, edge in enumerate(node.raw_edges):
        if edge is not None and edge[1] == LEAF and chosen(edge[0]):
            edge = (accumulator_of(edge[0]), 0)
            if turns.get(i):
                edge = (TBackward0(edge, node.seq - turns[i] / 2 ** 20), 0)
        made.append(edge)
    return tuple(made)


ADD = engine.call_of(arithmetic.ADD, (T, T, 1))        # adds two tensors


class _Running(threading.local):
    task: Any = None                # the GraphTask that is running
    node: Node | None = None        # the node whose backward is running, while anomaly detection is on


running = _Running()


# ---------------------------------------------------------------- anomaly detection

def stack() -> tuple[str, Node | None]:
    """Return the user's stack as text, and the node whose backward is running, if any."""
    frames = traceback.extract_stack(sys._getframe(1))
    while len(frames) > 1 and caller.is_ours(frames[-1].filename):
        frames.pop()
    return "".join(traceback.format_list(frames)), running.node


def counter_of(t) -> Storage:
    """Return the object that holds a tensor's version."""
    return t._counter or t._storage
