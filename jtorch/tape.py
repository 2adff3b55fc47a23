"""The tape: nodes that remember a call, its inputs and where their gradients go; and backward, which walks it.

Nobody writes a derivative here. A node's backward is the ``jax.vjp`` of the op's body, as a call of its own: it is
recorded, compiled and differentiated like any other.
"""
from __future__ import annotations

import heapq
import itertools
import re
import sys
import threading
import traceback
import warnings
import weakref
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import jax.numpy as jnp

from jtorch import engine
from jtorch.engine import Call, Value
from jtorch.hooks import Above, RemovableHandle, as_tensor, as_value, run_hooks, run_prehooks, run_tensor_hooks
from jtorch.no_grad import mode
from jtorch.storage import Storage, aval_of, value_of, write
from jtorch.vjp import vjp_call

sequence = itertools.count().__next__
record = engine.record
Edge = tuple["Node", int]


class Node:
    """A function in the graph that backward walks. See torch.autograd.graph.Node."""

    hooks: Any = None           # dicts, once there are any
    prehooks: Any = None
    tensor_hooks: Any = None
    trace: Any = None           # where the node was made, and the node whose backward that was
    _metadata: Any = None

    def __init__(self, edges: tuple[Edge | None, ...]):
        self.edges = edges
        self.seq = sequence()

    def name(self) -> str:
        """PyTorch's name of the node."""
        return type(self).__name__

    def __repr__(self):
        return f"<{type(self).__name__} object at {hex(id(self))}>"

    @property
    def next_functions(self) -> tuple:
        """The nodes that this one hands gradients to, with the number of their output."""
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
        """The avals of the outputs of the forward; empty where the node does not know them."""
        return ()

    def register_hook(self, fn) -> RemovableHandle:
        """``fn(grad_inputs, grad_outputs)`` runs after the node; what it returns replaces ``grad_inputs``."""
        self.hooks = {} if self.hooks is None else self.hooks
        return RemovableHandle(self.hooks, fn)

    def register_prehook(self, fn) -> RemovableHandle:
        """``fn(grad_outputs)`` runs before the node; what it returns replaces ``grad_outputs``."""
        self.prehooks = {} if self.prehooks is None else self.prehooks
        return RemovableHandle(self.prehooks, fn)

    def tensor_hooks_of(self, nr: int) -> dict:
        """The hooks of the tensor that is the node's output ``nr``."""
        if self.tensor_hooks is None:
            self.tensor_hooks = {}
        return self.tensor_hooks.setdefault(nr, {})

    def run(self, grads: dict, create_graph: bool, needs: list[bool]) -> list:
        """The gradients of the inputs (None where not needed) from those of the outputs, by output number."""
        raise NotImplementedError

    def release(self) -> None:
        """Frees what was saved for backward."""


FREED = ("Trying to backward through the graph a second time (or directly access saved tensors after they have already "
         "been freed). Saved intermediate values of the graph are freed when you call .backward() or autograd.grad(). "
         "Specify retain_graph=True if you need to backward through the graph a second time or if you need to access "
         "saved tensors after calling backward.")


class OpNode(Node):
    """The node of a call: its arguments' values, and the versions of the tensors they were."""

    result: Any = None          # the aval of the result, where that is what the backward uses

    def __init__(self, call: Call, saved: list, edges: tuple, versions: tuple):
        self.call, self.edges, self.versions = call, edges, versions
        self.saved: Any = saved         # None once they are freed
        self.seq = sequence()

    def run(self, grads: dict, create_graph: bool, needs: list[bool]) -> list:
        if self.saved is None:
            raise RuntimeError(FREED)
        given = tuple(sorted(grads)) if len(grads) > 1 else tuple(grads)
        wanted = tuple([i for i, n in enumerate(needs) if n])
        call = vjp_call(self.call, wanted, given)
        for counter, version in self.versions:
            if counter is not None and counter.version != version:
                self._check_versions(call, grads)
                break
        if create_graph:
            outs = Above.call(call, [*self._saved_tensors(call, grads), *[as_tensor(grads[i]) for i in given]])
        else:
            outs = engine.record(call, [*self.saved, *[grads[i] for i in given]])
        if len(outs) == len(needs):
            return outs
        found = iter(outs)
        return [next(found) if n else None for n in needs]

    def _saved_tensors(self, call: Call, grads: dict) -> list:
        """The saved values as tensors; those that the backward uses have their history."""
        used = self._used(call, grads)
        return [Above.wrap(v, edge if u else None) if v.__class__ is Value else v
                for v, edge, u in zip(self.saved, self.edges, used, strict=False)]

    def _used(self, call: Call, grads: dict) -> tuple[bool, ...]:
        """Which of the saved values (and gradients, behind them) the backward call uses."""
        given = [as_value(grads[i]).aval for i in call.template[3]]
        if any([v.__class__ is Value and v.aval.traced for v in self.saved]) or any([a.traced for a in given]):
            return (True,) * (len(self.saved) + len(given))
        return engine.kernel_of(call, (*_avals(self.saved), *given)).used

    def _check_versions(self, call: Call, grads: dict) -> None:
        """RuntimeError if a tensor that the backward really uses was written to since."""
        if self.call.op.saves == "result":
            used: tuple = (True,) * len(self.versions)
        else:
            used = self._used(call, grads)
        for i, (counter, version) in enumerate(self.versions):
            if counter is not None and counter.version != version and used[i]:
                raise RuntimeError(self._modified(i, counter, version))

    def _modified(self, i: int, counter, version: int) -> str:
        if self.call.op.saves == "result":
            return modified_message(self.result or self.saved[i].aval, (self, 0), counter.version, version)
        return modified_message(self.saved[i].aval, self.edges[i], counter.version, version)

    @property
    def _input_metadata(self) -> tuple:
        return engine.kernel_of(self.call, _avals(self.saved)).outs if self.saved else ()

    def release(self) -> None:
        if self.call.op.saves != "none":
            self.saved, self.versions = None, ()     # versions hold storages, and with them values

    @property
    def _saved_self(self):
        if self.saved is None:
            raise RuntimeError(FREED)
        return Above.wrap(self.saved[0], self.edges[0])

    _saved_result = _saved_self


def modified_message(aval, origin: Edge | None, version: int, expected: int) -> str:
    """PyTorch's text for a saved tensor, made by ``origin``, that was written to before backward used it."""
    made_by = ""
    if origin is not None and not isinstance(origin[0], AccumulateGrad):
        made_by = f", which is output {origin[1]} of {short_name(origin[0])},"
    return ("one of the variables needed for gradient computation has been modified by an inplace operation: "
            f"[torch.{aval.dtype.scalar_name}Tensor {list(aval.shape)}]{made_by} is at version {version}; expected version "
            f"{expected} instead. Hint: " + _HINT[mode.anomaly])


def short_name(node: Node) -> str:
    """The name that PyTorch's messages give the function that a node belongs to: ``MulBackward0`` -> ``Mul``."""
    return re.sub(r"Backward\d*$", "", node.name())


def _avals(saved) -> tuple:
    return tuple([engine.NUMBER_AVALS[v.__class__] if v.__class__ in engine.NUMBER_AVALS else v.aval for v in saved])


def used_by_backward(node: OpNode) -> tuple[bool, ...]:
    """Which arguments the backward of a node uses, all its outputs having gradients."""
    avals = _avals(node.saved)
    outs = engine.kernel_of(node.call, avals).outs
    given = tuple([i for i, a in enumerate(outs) if a.kind])
    needs = tuple([i for i, e in enumerate(node.edges) if e is not None])
    kernel = engine.kernel_of(vjp_call(node.call, needs, given), (*avals, *[outs[i] for i in given]))
    return kernel.used[:len(avals)]


_HINT = {False: "enable anomaly detection to find the operation that failed to compute its gradient, with "
                "torch.autograd.set_detect_anomaly(True, check_nan=False).",
         True: "the backtrace further above shows the operation that failed to compute its gradient. The variable in "
               "question was changed in there or anywhere later. Good luck!"}
_classes: dict[tuple[str, type], type] = {}


def node_class(name: str, base: type = OpNode) -> type:
    """The subclass of ``base`` called ``name``: ``type(y.grad_fn).__name__`` is PyTorch's."""
    found = _classes.get((name, base))
    if found is None:
        found = _classes[name, base] = type(name, (base,), {"__slots__": ()})
    return found


class CopySlices(OpNode):
    """The history of a tensor after a view of it was written to."""

    __slots__ = ()

    def name(self) -> str:
        """PyTorch's name of the node."""
        return "torch::autograd::CopySlices"


class AccumulateGrad(Node):
    """Where the gradient of a leaf goes."""

    edges = ()

    def __init__(self, variable):
        self.variable = variable
        self.seq = sequence()

    def name(self) -> str:
        """PyTorch's name of the node."""
        return "torch::autograd::AccumulateGrad"

    @property
    def _input_metadata(self) -> tuple:
        return (aval_of(self.variable),)

    def take(self, grad: Value) -> None:
        """Accumulates a gradient where nobody watches."""
        if self.variable._grad is None:
            self.variable._grad = Above.wrap(grad)
        else:
            self.run({0: grad}, False, [])

    def run(self, grads: dict, create_graph: bool, needs: list[bool]) -> list:
        t, grad = self.variable, grads[0]
        if t.grad is None:
            t._grad = as_tensor(grad)
        elif create_graph:
            t._grad = Above.call(ADD, [t.grad, as_tensor(grad)])
        else:
            write(t.grad, engine.record(ADD, (value_of(t.grad), grad)))
        if t._post_accumulate_hooks:
            for hook in list(t._post_accumulate_hooks.values()):
                hook(t)
        return []


def accumulator_of(t) -> AccumulateGrad:
    """The node of a leaf; it lives as long as a graph needs it."""
    node = t._accumulator() if t._accumulator is not None else None
    if node is None:
        node = AccumulateGrad(t)
        t._accumulator = weakref.ref(node)
        if t._leaf_hooks:
            node.tensor_hooks = {0: t._leaf_hooks}
    return node


ADD: Call = None    # type: ignore[assignment]      # set by dispatch: the call of add on two tensors


def run_backward(roots: list[tuple[Node, int, Any]], *, retain_graph: bool, create_graph: bool,
                 captures: Iterable[Edge] | None = None, accumulate: bool = True) -> dict[Edge, Any]:
    """Walks the graph from ``roots`` (node, output number, gradient).

    Without ``captures`` every reachable leaf accumulates. With them only the paths to these edges are walked, and the
    gradients that arrive there are returned; ``accumulate`` says whether leaves among them accumulate as well.
    """
    wanted = set(captures) if captures is not None else None
    allowed = _leading_to({n for n, _ in wanted}, [r[0] for r in roots]) if wanted is not None else None
    task = GraphTask([r[0] for r in roots], allowed)
    pending: dict[Node, dict] = {}
    heap: list[tuple[int, Node]] = []
    for node, nr, grad in roots:
        if allowed is None or node in allowed:
            _deliver(pending, heap, (node, nr), grad if create_graph else as_value(grad))
    before, mode.grad = mode.grad, create_graph
    outer, running.task = running.task, task
    captured: dict[Edge, Any] = {}
    plain = wanted is None and not create_graph and not mode.anomaly
    leaves: dict[Any, Value] = {}       # gradients of leaves without hooks
    try:
        while heap:
            _, node = heapq.heappop(heap)
            grads = pending.pop(node)
            if plain and node.tensor_hooks is None and node.hooks is None and node.prehooks is None \
                    and _plain_step(node, grads, pending, heap, leaves, retain_graph):
                continue
            if node.tensor_hooks:
                grads = run_tensor_hooks(node, grads, create_graph)
            if wanted is not None:
                for nr in list(grads):
                    if (node, nr) in wanted:
                        captured[node, nr] = grads[nr]
                if (not accumulate and node.__class__ is AccumulateGrad) or not _has_work(node, allowed):
                    continue
            if node.prehooks:
                grads = run_prehooks(node, grads, create_graph)
            _step(node, grads, pending, heap, create_graph, allowed)
            if not retain_graph:
                node.release()
        for leaf, grad in leaves.items():
            leaf.take(grad)
    finally:
        mode.grad, running.task = before, outer
        engine.local.rec.after_backward = not create_graph
    return captured


class GraphTask:
    """One backward: what hooks that span several nodes ask about."""

    _ids = itertools.count()

    def __init__(self, roots: list[Node], allowed: set | None):
        self.id, self._roots, self._nodes = next(GraphTask._ids), roots, allowed

    def will_run(self, node: Node) -> bool:
        """Whether backward comes to this node."""
        if self._nodes is None:
            self._nodes = set(_reachable(self._roots))
        return node in self._nodes


class _Running(threading.local):
    task: GraphTask | None = None
    node: Node | None = None        # the node whose backward is being recorded, while anomaly detection is on


running = _Running()


def _has_work(node: Node, allowed: Any) -> bool:
    return node.__class__ is AccumulateGrad or any(e is not None and e[0] in allowed for e in node.edges)


def _plain_step(node: Any, grads: dict, pending: dict, heap: list, leaves: dict, retain_graph: bool) -> bool:
    """The step of a call's node without hooks or anything else that is special; False if it has to go the long way."""
    if node.__class__.run is not OpNode.run or node.saved is None or len(grads) > 1:
        return False
    for counter, version in node.versions:
        if counter is not None and counter.version != version:
            return False
    edges = node.edges
    wanted = tuple([i for i, e in enumerate(edges) if e is not None])
    (nr, grad), = grads.items()
    call = node.call.vjps.get((wanted, (nr,))) or vjp_call(node.call, wanted, (nr,))
    outs = record(call, [*node.saved, grad])
    for i, out in zip(wanted, outs):        # noqa: B905  (the hot path)
        edge = edges[i]
        target = edge[0]
        if target in pending or target in leaves:
            if target in leaves:
                leaves[target] = record(ADD, (leaves[target], out))
            else:
                _deliver(pending, heap, edge, out)
        elif target.__class__ is AccumulateGrad and target.tensor_hooks is None and target.hooks is None \
                and target.prehooks is None and not target.variable._post_accumulate_hooks:
            leaves[target] = out
        else:
            pending[target] = {edge[1]: out}
            heapq.heappush(heap, (-target.seq, target))
    if not retain_graph:
        node.release()
    return True


def _step(node: Node, grads: dict, pending: dict, heap: list, create_graph: bool, allowed: set | None) -> None:
    edges = node.edges
    if allowed is None:
        needs = [e is not None for e in edges]
    else:
        needs = [e is not None and e[0] in allowed for e in edges]
    outs = node.run(grads, create_graph, needs) if not mode.anomaly else _run_watched(node, grads, create_graph, needs)
    if node.hooks:
        outs = run_hooks(node, outs, grads, create_graph)
    for edge, grad in zip(edges, outs, strict=True) if outs else ():
        if edge is not None and grad is not None:
            _deliver(pending, heap, edge, grad)


def _deliver(pending: dict, heap: list, edge: Edge, grad) -> None:
    node, nr = edge
    have = pending.get(node)
    if have is None:
        pending[node] = {nr: grad}
        heapq.heappush(heap, (-node.seq, node))
    elif nr not in have:
        have[nr] = grad
    elif grad.__class__ is Value and have[nr].__class__ is Value:
        have[nr] = engine.record(ADD, (have[nr], grad))
    else:
        have[nr] = Above.call(ADD, [as_tensor(have[nr]), as_tensor(grad)])


def _leading_to(targets: set[Node], roots: list[Node]) -> set[Node]:
    """The nodes reachable from ``roots`` from which a target is reachable, without recursion."""
    order = _reachable(roots)
    leading = set(targets) & set(order)
    for node in sorted(order, key=lambda n: n.seq):
        if any(e is not None and e[0] in leading for e in node.edges):
            leading.add(node)
    return leading


def _reachable(roots: list[Node]) -> list[Node]:
    order, seen, stack = [], set(roots), list(dict.fromkeys(roots))
    while stack:
        node = stack.pop()
        order.append(node)
        for edge in node.edges:
            if edge is not None and edge[0] not in seen:
                seen.add(edge[0])
                stack.append(edge[0])
    return order


# ---------------------------------------------------------------- anomaly detection

def stack() -> tuple[str, Node | None]:
    """Where the user's program stands, and the node whose backward it is in, if any."""
    frames = traceback.extract_stack(sys._getframe(1))
    while len(frames) > 1 and _is_ours(frames[-1].filename):
        frames.pop()
    return "".join(traceback.format_list(frames)), running.node


_PACKAGE = str(Path(__file__).parent)


def _is_ours(filename: str) -> bool:
    return filename.startswith((_PACKAGE, "<jtorch"))


def _run_watched(node: Node, grads: dict, create_graph: bool, needs: list[bool]) -> list:
    """Runs a node; if it raises or gives a nan, a warning shows the forward call that made it."""
    outer, running.node = running.node, node
    try:
        outs = node.run(grads, create_graph, needs)
        if mode.anomaly_check_nan:
            _check_nan(node, outs)
        return outs
    except Exception:
        _show_origin(node)
        raise
    finally:
        running.node = outer


def _show_origin(node: Node) -> None:
    name, level = node.name(), _user_level()
    if node.trace is None:
        warnings.warn(f"Error detected in {name}. No forward pass information available. Enable detect anomaly during "
                      "forward pass for more information.", UserWarning, stacklevel=level)
        return
    text, parent = node.trace
    warnings.warn(f"Error detected in {name}. Traceback of forward call that caused the error:\n{text}", UserWarning,
                  stacklevel=level)
    while parent is not None:
        name, (text, above) = parent.name(), parent.trace or ("No forward pass information available.\n", None)
        warnings.warn(f"\n\nPrevious calculation was induced by {name}. Traceback of forward call that induced the previous "
                      f"calculation:\n{text}", UserWarning, stacklevel=level)
        parent = above


def _user_level() -> int:
    """How many frames above the caller the user's program is, for warnings."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and _is_ours(frame.f_code.co_filename):
        level, frame = level + 1, frame.f_back
    return level


def _check_nan(node: Node, outs: list) -> None:
    for i, grad in enumerate(outs):
        if grad is None:
            continue
        value = as_value(grad)
        engine.read(value)
        if bool(jnp.isnan(jnp.asarray(engine.host_array(value))).any()):
            raise RuntimeError(f"Function '{node.name()}' returned nan values in its {i}th output.")


def counter_of(t) -> Storage:
    """What holds the version of a tensor."""
    return t._counter or t._storage
