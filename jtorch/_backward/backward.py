"""Backward: walks the tape from the roots. A node is ready once all gradients of its outputs have arrived.

The order is PyTorch's: the ready node that was made last runs first, and leaves accumulate their gradients at once.
"""
from __future__ import annotations

import contextvars
import heapq  # noqa: F401  (for the extension)
import itertools
import sys
import threading
from collections.abc import Callable, Iterable
from typing import Any

import jax.numpy as jnp

from jtorch import engine, speedups, storage, tape
from jtorch._backward import ready_queue, untracked_writes
from jtorch._base import late_bindings, warned
from jtorch._nodes import replay, tangents
from jtorch._nodes.hooks import as_tensor, as_value, run_hooks, run_prehooks, run_tensor_hooks
from jtorch._nodes.replay import Walk, is_watched
from jtorch._nodes.version_errors import FREED
from jtorch._nodes.vjp import vjp_call
from jtorch.engine import Value, stats
from jtorch.engine.values import shape_only_value, zero_stride_arrays  # noqa: F401  (for the extension)
from jtorch.no_grad import Modes, mode
from jtorch.speedups.constants import DEFERRED, EAGER, LEAF
from jtorch.tape import (
    AT_ONCE,
    AccumulateGrad,
    ConditionallySavedNode,  # noqa: F401  (for the extension)
    CopySlices,
    Edge,
    Node,
    OpNode,
    accumulator_of,
    laid_out_like,
    running,
    to_accumulators,
)

record = engine.record
DEEP = 10       # each DEEP-th nested backward runs in a thread of its own; a larger value may exceed the recursion limit


def run_backward(roots: list[tuple[Node, int, Any]], *, retain_graph: bool, create_graph: bool,
                 captures: Iterable[Edge] | None = None, accumulate: bool = True) -> dict[Edge, Any]:
    """Walk the graph from ``roots`` (node, output number, gradient).

    Without ``captures`` every reachable leaf accumulates. With ``captures``, only paths to these edges are walked, and the
    gradients of the edges are returned. ``accumulate``: leaves among the edges accumulate too.
    """
    if untracked_writes.on_host or storage.untracked_writes or storage.abandoned:
        untracked_writes.refresh([r[0] for r in roots], create_graph)
    if tape.detached:
        tape.note_detached([r[0] for r in roots])
    if captures is not None or create_graph or mode.anomaly or tangents.opened \
            or (late_bindings.aten is not None and late_bindings.aten.is_walk_seen()):
        return GraphTask(roots, retain_graph, create_graph, captures, accumulate).run()
    learner = None
    if len(roots) == 1:
        node, nr, grad = roots[0]
        grad = tangents.value_unless_more(grad, as_value)       # first, since computing a view's value changes ``trace.state``
        roots, trace = [(node, nr, grad)], engine.current_at(grad) if grad.__class__ is Value else engine.current()
        if trace.mode is not EAGER and not trace.noting and grad.__class__ is Value:
            if _follow_known(trace, roots[0], retain_graph):
                return {}
            learner = _Learner(trace, roots[0])
    return PlainTask(roots, retain_graph, learner).run()


class GraphTask:
    """One backward. A node enters ``heap`` once it has received a gradient from each edge that leads to it."""

    _ids = itertools.count()
    depth = 0           # the number of backwards around this one
    callbacks: tuple = ()

    def __init__(self, roots: list, retain_graph: bool, create_graph: bool, captures: Iterable[Edge] | None, accumulate: bool):
        self.id = next(GraphTask._ids)
        self.retain_graph, self.create_graph, self.accumulate = retain_graph, create_graph, accumulate
        self.roots = roots
        self.wanted = None if captures is None else set(captures)
        self.captured: dict[Edge, Any] = {}
        self.pending: dict[Any, dict] = {}
        self.heap: list[tuple[float, int, Node]] = ready_queue.ReadyQueue() if accumulate else []
        self.order = itertools.count().__next__
        self.allowed = None if self.wanted is None else _leading_to({n for n, _ in self.wanted}, [r[0] for r in roots])
        self.waiting = self._count()

    def _count(self) -> dict[int, int]:
        """Return how many gradients each node and leaf will receive, by id."""
        waiting: dict[int, int] = {}
        todo = []
        for node, _, _ in self.roots:
            if id(node) not in waiting:
                todo.append(node)
            waiting[id(node)] = waiting.get(id(node), 0) + 1
        while todo:
            for edge in self.edges(todo.pop()):
                if edge is not None:
                    key = id(edge[0])
                    if key in waiting:
                        waiting[key] += 1
                    else:
                        waiting[key] = 1
                        if edge[1] != LEAF:
                            todo.append(edge[0])
        return waiting

    def edges(self, node: Node) -> tuple:
        """Return the edges of a node that the walk follows."""
        if self.allowed is None:
            return node.edges
        return tuple([e for e in node.edges if e is not None and e[0] in self.allowed]) if node in self.allowed else ()

    def will_run(self, node: Node) -> bool:
        """Return whether backward will run this node. A single root does not count."""
        if len(self.roots) == 1 and node is self.roots[0][0]:
            return False
        if self.allowed is None:
            return id(node) in self.waiting
        if node not in self.allowed:
            return False
        if not self.accumulate and not any(node.raw_edges) and any([n is node for n, _ in self.wanted]):    # type: ignore[union-attr]
            raise RuntimeError("A leaf node was passed to _will_engine_execute_node but we are currently running "
                               "autograd.grad(). This is currently not supported.")
        return True

    def run(self) -> dict[Edge, Any]:
        """Walk the graph and return the captured gradients."""
        outer = running.task
        if outer is not None:
            self.depth = outer.depth + 1
            if self.depth % DEEP == 0:
                return _in_another_thread(self._run)
        return self._run()

    def _run(self) -> dict[Edge, Any]:
        self.modes, mode.grad = Modes(), self.create_graph
        outer, running.task = running.task, self
        try:
            for node, nr, grad in self.roots:
                if self.allowed is None or node in self.allowed:
                    self.deliver((node, nr), grad if self.create_graph or self.takes_tensors(grad) else
                                 tangents.value_unless_more(grad, as_value))
            self._walk()
            for fn in self.callbacks:
                fn()
        except RuntimeError as error:
            _name_function(error, [node for node, _, _ in self.roots])
            raise
        finally:        # assign first, since an interrupt may arrive when ``restore`` is called
            mode.grad, running.task = self.modes.grad, outer
            self.modes.restore()
            engine.current().after_backward = not self.create_graph
        return self.captured

    @staticmethod
    def takes_tensors(grad: Any) -> bool:
        """Return whether a gradient must stay a tensor, for modes and classes with ``__torch_dispatch__``."""
        return late_bindings.aten is not None and grad.__class__ is not Value and late_bindings.aten.takes_over([grad])

    def queue_callback(self, fn: Callable[[], Any]) -> None:
        """Register ``fn``, to be called once all nodes have run."""
        self.callbacks = (*self.callbacks, fn)

    def _walk(self) -> None:
        heap, pending = self.heap, self.pending
        while heap:
            node = ready_queue.pop(heap)[2]
            self.step(node, pending.pop(node, {}))

    def step(self, node: Node, grads: dict) -> None:
        """Run a node with its hooks and deliver its gradients."""
        self._run_and_hand_on(node, grads)
        if node.watched or node.__class__.run is not OpNode.run:        # user code has run and may have changed modes
            self.modes.restore(self.create_graph)

    def _run_and_hand_on(self, node: Node, grads: dict) -> None:
        goes_on = self.wanted is None or self._goes_on(node)
        if self.wanted is not None and goes_on:     # PyTorch captures before the hooks if the walk goes on
            self._capture(node, grads)
        if node.tensor_hooks or node.prehooks:
            grads = _fitting(node, grads)
        if node.tensor_hooks:
            grads = run_tensor_hooks(node, grads, self.create_graph)
        if not goes_on:
            self._capture(node, grads)
            if self.accumulate and node.__class__ is not AccumulateGrad:
                self._run_for_hooks(node, grads)
            return
        edges = node.edges if self.__class__ is GraphTask else node.raw_edges
        if not grads and not node.runs_without_gradient:
            outs: list = [None] * len(edges)
        else:
            outs = self._run_node(node, grads, edges)
        for edge, grad in zip(edges, outs, strict=True) if outs else ():
            if edge is not None and (self.allowed is None or edge[0] in self.allowed):
                self.deliver(edge, grad)
        if not self.retain_graph:
            node.release()

    def _capture(self, node: Node, grads: dict) -> None:
        """Store the gradients that were requested."""
        wanted = [nr for nr in grads if (node, nr) in self.wanted]      # type: ignore[operator]
        for nr, grad in _fitting(node, {nr: grads[nr] for nr in wanted}).items():
            self.captured[node, nr] = grad

    def _goes_on(self, node: Node) -> bool:
        """Return whether the walk continues from a node."""
        if node.__class__ is AccumulateGrad:
            return self.accumulate
        return any(e is not None and e[0] in self.allowed for e in node.edges)      # type: ignore[operator]

    def _run_for_hooks(self, node: Node, grads: dict) -> None:
        """Run the hooks and checks of a node without requested gradients, as PyTorch's ``backward(inputs=...)`` does."""
        if node.prehooks:
            grads = run_prehooks(node, grads, self.create_graph)
        if node.call is not None and node.saved is None:
            raise RuntimeError(FREED)
        if isinstance(node, OpNode):
            if grads and not _unchanged(node):
                node._check_versions(tuple(sorted(grads)))
            if grads and node.__class__ is CopySlices:
                node.check_written()
        else:
            node.run(grads, self.create_graph, [False] * len(node.edges))
        if node.hooks:
            run_hooks(node, [None] * len(node.edges), grads, self.create_graph)
        if not self.retain_graph:
            node.release()

    def _run_node(self, node: Node, grads: dict, edges: tuple) -> list:
        if node.prehooks:
            grads = run_prehooks(node, grads, self.create_graph)
        needs = [e is not None and (self.allowed is None or e[0] in self.allowed) for e in edges]
        if node.hooks and node.__class__ is CopySlices and needs[1]:
            node.check_written()
        run = _run_watched if mode.anomaly else node.__class__.run
        try:
            outs = run(node, grads, self.create_graph, needs)
        except ValueError:
            outs = run(node, _mended(node, grads), self.create_graph, needs)
        return run_hooks(node, outs, grads, self.create_graph) if node.hooks else outs

    def deliver(self, edge: Edge, grad: Any) -> None:
        """Add a gradient to the pending ones of the edge's node. Queue the node after its last gradient. None counts too."""
        node, nr = edge
        if grad is not None:
            have = self.pending.get(node)
            if have is None:
                self.pending[node] = {nr: grad}
            else:
                have[nr] = grad if nr not in have else _added(node, nr, have[nr], grad)
        key = id(node)
        self.waiting[key] -= 1
        if not self.waiting[key]:
            ready_queue.push(self.heap, (-node.seq, self.order(), node))


def _in_another_thread(run: Callable[[], Any]) -> Any:
    """Call ``run`` in a new thread with this thread's modes and wait for it. Each thread has its own recursion limit."""
    modes, node = Modes(), running.node
    made: list[tuple[Any, BaseException | None]] = []

    def begin() -> None:
        own = Modes()
        modes.restore()
        running.node = node
        try:
            found = run()
            engine.end(natural=False)       # runs the thread's deferred calls
            made.append((found, None))
        except BaseException as error:
            made.append((None, error))
        finally:
            own.restore()       # otherwise the ended thread would stay counted among the threads with autocast on

    thread = threading.Thread(target=contextvars.copy_context().run, args=(begin,))
    thread.start()
    thread.join()
    found, error = made.pop()
    try:
        if error is not None:
            raise error
    finally:
        del error       # its traceback refers to this frame, which would make a cycle
    return found


def _fitting(node: Node, grads: dict) -> dict:
    """Return the gradients in the shapes and dtypes of the node's outputs. Raise RuntimeError if they do not match.

    They may differ if a tensor got another geometry or memory of another dtype since the node was made.
    """
    if node.__class__ is AccumulateGrad:
        metadata: tuple = (node.aval,) if node.aval is not None else ()     # type: ignore[attr-defined]
    else:
        metadata = node._input_metadata
    return {nr: tape.fitted(grad, metadata[nr], node) if nr < len(metadata) else grad for nr, grad in grads.items()}


def _name_function(error: RuntimeError, roots: list) -> None:
    """Add the name of the function that returned a wrong gradient to its error, if only one name is possible."""
    node = getattr(error, "node", None)
    if node is None:
        return
    places = {(n.name(), i) for n in tape.reachable(roots) for i, e in enumerate(n.edges) if e is not None and e[0] is node}
    if len(places) == 1:
        (name, i), = places
        error.args = (error.args[0].replace("Function returned an invalid gradient at index 0",
                                            f"Function {name} returned an invalid gradient at index {i}"), *error.args[1:])


def _mended(node: Node, grads: dict) -> dict:
    """Return gradients with the shapes and dtypes of a node's outputs. Raise the current error again if nothing changes."""
    made = _fitting(node, grads)
    if all([made[nr] is grads[nr] for nr in made]):
        raise
    return made


def _added(node: Node, nr: int, a: Any, b: Any) -> Any:
    if a.__class__ is Value and b.__class__ is Value:
        if a.aval.shape != b.aval.shape:
            a, b = [_fitting(node, {nr: grad})[nr] for grad in (a, b)]
        return record(tape.ADD, (a, b))
    a, b = as_tensor(a), as_tensor(b)
    if a._storage.value is None or b._storage.value is None:
        return tape.with_sparse(a, b)
    if tape.aval_of(a).shape != tape.aval_of(b).shape:
        a, b = [_fitting(node, {nr: grad})[nr] for grad in (a, b)]
    return late_bindings.call(tape.ADD, [a, b])


class PlainTask(GraphTask):
    """The backward of training loops: to all leaves, without ``create_graph``. Leaves without hooks need no node."""

    def __init__(self, roots: list, retain_graph: bool, learner: _Learner | None):
        self.learner = learner
        self.leaves: dict[int, Value] = {}
        super().__init__(roots, retain_graph, False, None, True)

    def edges(self, node: Node) -> tuple:
        """Return the raw edges. Watched leaves get nodes first."""
        edges = node.raw_edges
        for e in edges:
            if e is not None and e[1] == LEAF and is_watched(e[0]):
                self.heap = self.heap if isinstance(self.heap, ready_queue.ReadyQueue) else ready_queue.ReadyQueue()
                node.raw_edges = to_accumulators(node, is_watched)      # type: ignore[misc, arg-type]
                return node.raw_edges
        return edges

    def run(self) -> dict[Edge, Any]:
        """Walk the graph. Return an empty dict, since no gradients are captured."""
        super().run()
        return {}

    def _walk(self) -> None:
        super()._walk()
        if self.learner is not None:
            self.learner.learn()
            self._stop_learning()

    def step(self, node: Any, grads: dict) -> None:
        """See GraphTask.step. An op's node without hooks is run by ``hand_on``."""
        if not hand_on(self, node, grads):
            if self.learner is not None:
                self._stop_learning()
            super().step(node, grads)

    def deliver(self, edge: Edge, grad: Any) -> None:
        """See GraphTask.deliver. A leaf accumulates its gradient after the last edge has delivered."""
        leaf, nr = edge
        if nr != LEAF:
            super().deliver(edge, grad)
            return
        key = id(leaf)
        have = self.leaves.get(key)
        if grad is not None:
            grad = tangents.value_unless_more(grad, as_value)
            have = self.leaves[key] = grad if have is None else _added(leaf, 0, have, grad)
        self.waiting[key] -= 1
        if not self.waiting[key] and have is not None:
            if self.heap and self.heap[0][0] == -AT_ONCE:       # nodes of other leaves are ready and must run first
                node = accumulator_of(leaf)
                self.pending[node] = {0: have}
                ready_queue.push(self.heap, (-AT_ONCE, self.order(), node))
            elif self.learner is not None:
                self.learner.leaves.append((leaf, have))
            else:
                _accumulate(leaf, have)

    def _stop_learning(self) -> None:
        """Stop recording the walk and accumulate the gradients that were kept back from leaves.

        A known walk must not contain writes to old gradients, so leaves wait while a walk is recorded.
        """
        leaves, self.learner = self.learner.leaves, None        # type: ignore[union-attr]
        for leaf, grad in leaves:
            _accumulate(leaf, grad)


def hand_on(task: PlainTask, node: Any, grads: dict) -> bool:
    """Run an op's node and deliver its gradients. Return False, without effect, for a node with hooks or other special cases."""
    edges = node.raw_edges
    wanted = tuple([i for i, e in enumerate(edges) if e is not None])
    if node.watched or node.__class__.run is not OpNode.run or node.saved is None or not (grads and wanted) \
            or not _unchanged(node):
        return False
    given = tuple(grads) if len(grads) == 1 else tuple(sorted(grads))
    call = node.call.vjps.get((wanted, given)) or vjp_call(node.call, wanted, given)
    try:
        outs = record(call, [*node.saved, *[grads[nr] for nr in given]])
    except ValueError:
        grads = _mended(node, grads)
        if task.learner is not None:
            task._stop_learning()
        outs = record(call, [*node.saved, *[grads[nr] for nr in given]])
    if task.learner is not None:
        task.learner.steps.append((node, node.saved))
    for i, out in zip(wanted, outs):        # noqa: B905  (the hot path)
        task.deliver(edges[i], out)
    if not task.retain_graph:
        node.release()
    return True


def _unchanged(node: Any) -> bool:
    return all([counter is None or counter.version == version for counter, version in node.versions])


def _accumulate(leaf: Any, grad: Value) -> None:
    """Add a gradient to a leaf that has no hooks."""
    if leaf._base is not None:
        tape.check_is_leaf(leaf)
    if not leaf._requires_grad:
        return
    if grad.__class__ is not Value or (leaf._grad is not None and leaf._grad._storage.value is None):
        AccumulateGrad(leaf).run({0: grad}, False, [])
    elif leaf._grad is None:
        made = late_bindings.wrap(grad)
        leaf._grad = made if leaf._view is None and grad.aval is leaf._storage.aval else laid_out_like(leaf, made)
    else:
        tape.add_to_grad(leaf, grad)


# ---------------------------------------------------------------- known walks

def _follow_known(trace: Any, root: tuple[Node, int, Any], retain_graph: bool) -> bool:
    """Replay a known walk that begins at the trace's state and at ``root``. Return False if no known walk matches."""
    node, nr, grad = root
    for walk in replay.known(trace.state, node, nr):
        if walk.after.hot and follow(walk, node, grad, trace, bool(retain_graph)):
            stats.counters.walks += 1
            return True
    return False


def follow(walk: Walk, root: Node, grad: Value, trace: Any, retain_graph: bool) -> bool:
    """Replay a known walk. Return False, without effect, if the tape differs from it."""
    values = trace.values
    found = walk.follow(root, grad, trace)
    if found is None:
        return False
    for leaf, value in [(found[number], values[slot]) for number, slot in walk.leaves]:
        _accumulate(leaf, value)
    if not retain_graph:
        for at in walk.through:
            found[at].release()
    engine.current().after_backward = True
    return True


class _Learner:
    """A recorder of one walk: the trace's state at its start, its steps, and the gradients of leaves."""

    def __init__(self, trace: Any, root: tuple[Node, int, Any]):
        self.trace, self.root, self.state, self.first = trace, root, trace.state, len(trace.values)
        self.steps: list[tuple[Any, list]] = []
        self.leaves: list[tuple[Any, Value]] = []

    def learn(self) -> None:
        """Store the walk if all its calls were deferred in one trace."""
        trace, (node, nr, grad) = self.trace, self.root
        if trace is engine.current() and trace.mode is DEFERRED and not trace.noting and self.steps:
            replay.learn(self.state, node, nr, self.steps, self.leaves, grad, self.first, trace)


# ---------------------------------------------------------------- reachable nodes

def _leading_to(targets: set[Node], roots: list[Node]) -> set[Node]:
    """Return the nodes on paths from ``roots`` to ``targets``."""
    order = tape.reachable(roots)
    above: dict[Node, list[Node]] = {}
    for node in order:
        for edge in node.edges:
            if edge is not None:
                above.setdefault(edge[0], []).append(node)
    leading = targets & set(order)
    todo = list(leading)
    while todo:
        for node in above.get(todo.pop(), ()):
            if node not in leading:
                leading.add(node)
                todo.append(node)
    return leading


# ---------------------------------------------------------------- anomaly detection

def _run_watched(node: Node, grads: dict, create_graph: bool, needs: list[bool]) -> list:
    """Run a node and raise RuntimeError for a nan in its result. Before an error, warn with the stack of the forward call."""
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
    name = node.name()
    if node.trace is None:
        _warn(f"Error detected in {name}. No forward pass information available. Enable detect anomaly during "
              "forward pass for more information.")
        return
    text, parent = node.trace
    _warn(f"Error detected in {name}. Traceback of forward call that caused the error:\n{text}")
    while parent is not None:
        name, (text, above) = parent.name(), parent.trace or ("No forward pass information available.\n", None)
        _warn(f"\n\nPrevious calculation was induced by {name}. Traceback of forward call that induced the previous "
              f"calculation:\n{text}")
        parent = above


def _warn(message: str) -> None:
    """Warn, or print to stderr if warnings are errors, since another error is being raised."""
    try:
        warned.warn(message)
    except UserWarning:
        sys.stderr.write(f"{message}\n")


def _check_nan(node: Node, outs: list) -> None:
    for i, grad in enumerate(outs):
        if grad is not None and _has_nan(grad):
            raise RuntimeError(f"Function '{node.name()}' returned nan values in its {i}th output.")


def _has_nan(grad: Any) -> bool:
    if late_bindings.aten is not None and late_bindings.aten.has_handler(type(grad)):
        return bool(grad.isnan()._is_any_true().item())
    value = as_value(grad)
    engine.read(value)
    return bool(jnp.isnan(jnp.asarray(engine.host_array(value))).any())


speedups.connect(globals(), "walks")
