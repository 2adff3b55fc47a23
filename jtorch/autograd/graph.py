"""torch.autograd.graph: nodes and edges of the graph, hooks on several gradients, and hooks on saved tensors."""
from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Iterable, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from jtorch import tape
from jtorch._backward.view_history import edge_of, requires_grad
from jtorch._nodes.hooks import RemovableHandle
from jtorch.autograd.raw_saved import SavedTensor as SavedTensor
from jtorch.autograd.saved import pack_node
from jtorch.no_grad import mode as modes
from jtorch.storage import count_write
from jtorch.tape import Node
from jtorch.tensor import Tensor


class GradientEdge(NamedTuple):
    """A place in the graph where a gradient arrives: a node, and which of its outputs.

    Args:
        node (Node): a node of the graph.
        output_nr (int): the number of the node's output.
        ownership_token: an object that keeps the node alive.

    Example::

        >>> x = torch.ones(1, requires_grad=True)
        >>> torch.autograd.graph.get_gradient_edge(x * 2).output_nr
        0

    """

    node: Node
    output_nr: int
    ownership_token: Any = None


def get_gradient_edge(tensor: Tensor) -> GradientEdge:
    """Return the edge on which a tensor's gradient arrives, for use in ``grad`` and ``backward`` in the tensor's place.

    Args:
        tensor (Tensor): a tensor that requires grad.

    Returns:
        a GradientEdge.

    Raises:
        RuntimeError: the tensor does not require grad.

    Example::

        >>> x = torch.ones(1, requires_grad=True)
        >>> y = x * 2
        >>> torch.autograd.grad(y * 3, torch.autograd.graph.get_gradient_edge(y))
        (tensor([3.]),)

    """
    if not requires_grad(tensor):
        raise RuntimeError("It is not possible to get the gradient edge for a Tensor that does not require gradients")
    edge = edge_of(tensor)
    if edge is None:        # The tensor is a view made under no_grad.
        raise AssertionError("Expected gradient function to be set")
    return GradientEdge(*edge)


def increment_version(tensor: Tensor | Iterable[Tensor]) -> None:
    """Tell autograd that a tensor's elements were changed without its knowledge.

    Args:
        tensor (Tensor or iterable of Tensors): the tensors that were written to.

    Example::

        >>> x = torch.ones(2)
        >>> torch.autograd.graph.increment_version(x)
        >>> x._version
        1

    """
    tensors = (tensor,) if isinstance(tensor, Tensor) else tensor
    if not isinstance(tensors, Iterable):
        raise RuntimeError("increment_version expect a Iterable[Tensor] as input")
    for t in tensors:
        if t.is_inference():
            raise RuntimeError("Inference tensors do not track version counter.")
        count_write(t)


# ---------------------------------------------------------------- hooks on several gradients

class _MultiHandle(RemovableHandle):
    def __init__(self, handles: tuple[RemovableHandle, ...]):
        self.handles = handles

    def remove(self) -> None:
        for handle in self.handles:
            handle.remove()


def register_multi_grad_hook(tensors: Sequence[Tensor], fn: Callable, *, mode: str = "all") -> RemovableHandle:
    """Call ``fn`` once per backward, with all gradients or (``"any"``) with the first.

    Args:
        tensors (sequence of Tensors): tensors that require grad.
        fn: with "all" a function of a list of gradients (None where there is none), with "any" of one gradient.
        mode (str): "all" or "any".

    Returns:
        a handle whose ``remove()`` takes the hook off.

    Raises:
        ValueError: another mode.

    Example::

        >>> a, b = torch.ones(1, requires_grad=True), torch.ones(1, requires_grad=True)
        >>> handle = torch.autograd.graph.register_multi_grad_hook([a, b], lambda grads: print(len(grads)))
        >>> (a * b).backward()
        2

    """
    if mode not in ("all", "any"):
        raise ValueError(f"Expects mode to be one of ('all', 'any') but got {mode}")
    if mode == "any":
        return _any_hook(tensors, fn)
    gather = _Gather(tensors, fn)
    return _MultiHandle(tuple([t.register_hook(functools.partial(gather.arrive, i)) for i, t in enumerate(tensors)]))


class _Gather:
    """Collects the gradients of each backward, and calls ``fn`` once all expected ones have arrived."""

    def __init__(self, tensors: Sequence[Tensor], fn: Callable):
        self.fn, self.lock = fn, threading.Lock()
        self.nodes = []
        for t in tensors:
            edge = edge_of(t) if requires_grad(t) else None
            assert edge is not None, "Expected gradient function to be set"
            self.nodes.append(edge[0])
        # Maps the id of a backward to [number of gradients to come, gradients].
        self.waiting: dict[int, list] = {}

    def arrive(self, i: int, grad: Tensor) -> None:
        """Receive one tensor's gradient, as its hook."""
        task = tape.running.task
        with self.lock:
            state = self.waiting.get(task.id)       # type: ignore[union-attr]
            if state is None:
                expected = sum(task.will_run(n) for n in self.nodes)        # type: ignore[union-attr]
                state = self.waiting[task.id] = [expected, [None] * len(self.nodes)]        # type: ignore[union-attr]
            state[0] -= 1
            state[1][i] = grad
            # The count is negative if backward starts at one of these nodes: PyTorch does not count that node.
            if state[0]:
                return
            del self.waiting[task.id]       # type: ignore[union-attr]
        self.fn(state[1])


def _any_hook(tensors: Sequence[Tensor], fn: Callable) -> RemovableHandle:
    seen, lock = [-1], threading.Lock()

    @functools.wraps(fn)
    def first(grad: Tensor) -> None:
        with lock:
            again, seen[0] = seen[0] == tape.running.task.id, tape.running.task.id     # type: ignore[union-attr]
        if not again:
            fn(grad)
    return _MultiHandle(tuple([t.register_hook(first) for t in tensors if requires_grad(t)]))


# ---------------------------------------------------------------- hooks on saved tensors

class saved_tensors_hooks:
    """A context in which tensors saved for backward pass through ``pack_hook``, and through ``unpack_hook`` when read.

    ``pack_hook(tensor)`` may return any object. ``unpack_hook`` gets this object and must return a tensor with the same
    content. The set of saved tensors can differ from PyTorch's: jtorch saves the arguments that the backward uses.

    Args:
        pack_hook: a function of a Tensor that returns anything.
        unpack_hook: a function of the packed object that returns a Tensor of the same shape, dtype and content.

    Raises:
        TypeError: in the backward, where ``unpack_hook`` returns no Tensor.

    Example::

        >>> x = torch.ones(2, requires_grad=True)
        >>> with torch.autograd.graph.saved_tensors_hooks(lambda t: t.tolist(), torch.tensor):
        ...     y = (x * x).sum()
        >>> y.backward()
        >>> x.grad
        tensor([2., 2.])

    """

    def __init__(self, pack_hook: Callable[[Tensor], Any], unpack_hook: Callable[[Any], Tensor]):
        self.pack_hook, self.unpack_hook = pack_hook, unpack_hook

    def __enter__(self) -> None:
        if modes.hooks_refused is not None:
            raise RuntimeError(modes.hooks_refused)
        modes.saved_hooks = (*modes.saved_hooks, (self.pack_hook, self.unpack_hook))
        modes.on_node = pack_node
        modes.refresh()

    def __exit__(self, *exc) -> None:
        modes.saved_hooks = modes.saved_hooks[:-1]
        modes.on_node = pack_node if modes.saved_hooks else None
        modes.refresh()


class save_on_cpu(saved_tensors_hooks):
    """A context in which tensors saved for backward are kept on the CPU and moved back when they are used.

    Args:
        pin_memory (bool): accepted.
        device_type (str): accepted.

    Example::

        >>> x = torch.ones(2, requires_grad=True)
        >>> with torch.autograd.graph.save_on_cpu():
        ...     y = (x * x).sum()
        >>> y.backward()

    """

    def __init__(self, pin_memory: bool = False, device_type: str = "cuda"):
        super().__init__(lambda t: (t.device, t.cpu()), lambda packed: packed[1].to(packed[0]))


@contextmanager
def disable_saved_tensors_hooks(error_message: str):
    """Return a context in which ``saved_tensors_hooks`` raises RuntimeError with this message.

    Args:
        error_message (str): the RuntimeError's message.

    Returns:
        a context manager.

    Example::

        >>> with torch.autograd.graph.disable_saved_tensors_hooks("not here"), torch.autograd.graph.save_on_cpu():
        ...     pass
        Traceback (most recent call last):
        RuntimeError: not here

    """
    if modes.saved_hooks:
        raise RuntimeError(error_message)
    before, modes.hooks_refused = modes.hooks_refused, error_message
    try:
        yield
    finally:
        modes.hooks_refused = before


@contextmanager
def allow_mutation_on_saved_tensors():
    """Return a context in which saved tensors may be written to: backward uses the values that were saved.

    Arrays are immutable here, so nothing needs a clone. Calls recorded in the context only skip the version check.

    Returns:
        a context manager.

    Example::

        >>> x = torch.ones(2, requires_grad=True)
        >>> with torch.autograd.graph.allow_mutation_on_saved_tensors():
        ...     y = x * 1
        ...     out = (y * y).sum()
        ...     _ = y.mul_(10)
        ...     out.backward()
        >>> x.grad
        tensor([2., 2.])

    """
    if modes.mutation_allowed:
        raise RuntimeError("allow_mutation_on_saved_tensors contexts cannot be nested")
    modes.mutation_allowed = True
    modes.refresh()
    try:
        yield None
    finally:
        modes.mutation_allowed = False
        modes.refresh()


__all__ = ["GradientEdge", "Node", "allow_mutation_on_saved_tensors", "disable_saved_tensors_hooks", "get_gradient_edge",
           "increment_version", "register_multi_grad_hook", "save_on_cpu", "saved_tensors_hooks"]
