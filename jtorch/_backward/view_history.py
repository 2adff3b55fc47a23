"""The history of tensors: the node that a gradient goes to. A view gets a new node after a write to its base."""
from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from jtorch import engine, storage, tape
from jtorch._nodes import hooks
from jtorch._nodes.version_errors import short_name
from jtorch.engine import Call
from jtorch.ops.registry import OPS, T
from jtorch.storage import geometry_of, value_of
from jtorch.tape import Node, accumulator_of, node_class

if TYPE_CHECKING:
    from jtorch.tensor import Tensor


def requires_grad(t: Tensor) -> bool:
    """Return whether a tensor requires grad. A view requires grad if its base does."""
    if t._requires_grad:
        return True
    base = t._base
    return base is not None and storage.aval_of(t).is_inexact and requires_grad(base)


def node_of(t: Tensor) -> Node | None:
    """Return the tensor's node. A view whose base was written to gets a new node first."""
    base = t._base
    if base is None or t._node_version == tape.counter_of(t).version or (t._node is None and not requires_grad(base)):
        return t._node
    regenerate(t, base)
    return t._node


def forbidden_view(t: Tensor, what: str) -> str:
    """Return PyTorch's message for a view that must not be written to. ``what``: "is being" or "its base ... has been"."""
    name, kind = short_name(t._node), t._creation
    if kind in _MODES or name is None:
        made = "is a view of a view which was created" if name is not None else "view was created"
        start = f"Output {t._output_nr} of {name} {made}" if name is not None else f"A {made}"
        start = f"{start} in {_MODES.get(kind, 'no_grad')} mode and {what} modified inplace with grad mode enabled."
    else:
        start = f"Output {t._output_nr} of {name} is a view and {what} modified inplace."
    return f"{start} {_FORBIDDEN[kind].format(mode='inference_mode' if kind == 'inference' else kind)}"


_MODES: dict = {"no_grad": "no_grad", "inference": "inference"}
_AMBIGUOUS = ("Given that this use case is ambiguous and error-prone, it is forbidden. You can clarify your code by moving both "
              "the view and the inplace either both inside the {mode} block (if you don't want the inplace to be tracked) or "
              "both outside (if you want the inplace to be tracked).")
_FORBIDDEN: dict = {
    "no_grad": _AMBIGUOUS, "inference": _AMBIGUOUS,
    "custom": "This view was created inside a custom Function (or because an input was returned as-is) and the autograd logic to "
              "handle view+inplace would override the custom backward associated with the custom Function, leading to incorrect "
              "gradients. This behavior is forbidden. You can fix this by cloning the output of the custom Function.",
    "multi": "This view is the output of a function that returns multiple views. Such functions do not allow the output views to "
             "be modified inplace. You should replace the inplace operation by an out-of-place one."}


def regenerate(t: Tensor, base: Tensor) -> None:
    """Give a view a new node after a write to its base: an AsStridedBackward0 of the present base.

    A view of another dtype is made again by its call. That raises if the base no longer allows the call. If the call would
    give another shape, gradients of the view do not fit.
    """
    if t._creation is not None:
        raise RuntimeError(forbidden_view(t, "its base or another view of its base has been"))
    geometry, aval = t._made_as or geometry_of(t), storage.aval_of(t)
    name, call, earlier = t._view_op or ("AsStridedBackward0", None, None)
    if earlier is not None:
        earlier.op.geometry(earlier.template, geometry_of(base), (storage.aval_of(base),))
    if call is None and aval.dtype is not storage.aval_of(base).dtype:
        shown = engine.aval_of(tuple(geometry[0]), aval.np, aval.device)
        storage.check_bounds(base, shown, *geometry[1:])        # ``set_`` may have given the base less memory
    if call is None or call.op.geometry(call.template, geometry_of(base), (storage.aval_of(base),))[0] == geometry[0]:
        call = read_through(base, geometry, aval.dtype)
    edge = edge_of(base) if base._requires_grad or requires_grad(base) else None
    set_history(t, node_class(name)(call, [value_of(base)], (edge,), ()), 0)
    note_version(t)


def place_in(base: Tensor, geometry: tuple) -> tuple:
    """Return a geometry relative to the base: static arguments of ``_read_through`` and ``_write_through``."""
    size, stride, offset = geometry
    bsize, bstride, boffset = geometry_of(base)
    return bsize, bstride, size, stride, offset - boffset


def read_through(base: Tensor, geometry: tuple, dtype: Any) -> Call:
    """Return the call that reads another geometry of the base's memory from ``base``."""
    return engine.call_of(OPS["_read_through"], (T, *place_in(base, geometry), dtype))


def set_history(t: Tensor, node: Node, nr: int) -> None:
    """Make a node's output the history of a tensor. The hook of ``retain_grad`` moves to the node; other hooks stay."""
    if t._retains_grad:
        move_retaining(t, node, nr)
    t._node, t._output_nr, t._requires_grad, t._kept_hooks = node, nr, True, None


def rebase(t: Tensor, node: Node, nr: int) -> None:
    """Give a tensor its new history after a write."""
    set_history(t, node, nr)
    t._storage.written_by = weakref.ref(node)


def start_history(t: Tensor, node: Node | None, nr: int = 0) -> None:
    """Make a node's output the history of a tensor without history."""
    t._node, t._output_nr, t._requires_grad = node, nr, True


def drop_history(t: Tensor) -> None:
    """Make a tensor a leaf that requires no grad."""
    t._node, t._output_nr, t._requires_grad = None, 0, False


def set_requires_grad(t: Tensor, value: bool) -> None:
    """Set whether gradients are computed for a leaf."""
    t._requires_grad = value


def note_version(t: Tensor) -> None:
    """Record that a view's node is up to date with all writes to the base."""
    t._node_version = (t._counter or t._storage).version


def move_retaining(t: Tensor, node: Node, nr: int) -> None:
    """Move the hook of ``retain_grad`` to the node that the tensor is about to get."""
    if t._node is not None and t._node.tensor_hooks:
        keep = t._node.tensor_hooks_of(t._output_nr).pop(hooks.RETAIN, None)
        if keep is not None:
            node.tensor_hooks_of(nr)[hooks.RETAIN] = keep


def edge_of(t: Tensor):
    """Return the edge of a tensor that requires grad."""
    node = t._node if t._base is None else node_of(t)
    if node is not None:
        return (node, t._output_nr)
    if t._base is not None and not t._requires_grad:
        return None         # a view made under no_grad
    return (accumulator_of(t), 0)


def retain_grad(t: Tensor) -> None:
    """Make ``backward`` fill ``grad`` of a non-leaf too."""
    if t._node is None or t._retains_grad:
        return
    node: Any = node_of(t)
    t._retains_grad = True
    ref = weakref.ref(t)

    def keep(grad):
        kept = ref()
        if kept is not None:
            kept._grad = grad if kept._grad is None else kept._grad + grad
    node.tensor_hooks_of(t._output_nr)[hooks.RETAIN] = keep


def add_hook(t: Tensor, hook: Callable) -> hooks.RemovableHandle:
    """Register ``hook(grad)`` with the node that the tensor's gradient goes to."""
    if t._kept_hooks is not None:
        return hooks.RemovableHandle(t._kept_hooks, hook)
    known = t._hooks_to_keep() is not None       # a tensor with hooks gets no new node, so that its hooks stay together
    leaf_hooks = t._leaf_hooks = {} if t._leaf_hooks is None else t._leaf_hooks
    try:
        node = t._node if known else node_of(t)
    except RuntimeError:        # an invalidated view: PyTorch raises for the first hook, and never runs later ones
        if t._unheard_hooks is not None:
            return hooks.RemovableHandle(t._unheard_hooks, hook)
        t._unheard_hooks = {}
        raise
    if node is not None:
        return hooks.RemovableHandle(node.tensor_hooks_of(t._output_nr), hook)
    return hooks.RemovableHandle(leaf_hooks, hook)


def check_grad(t: Tensor, value: Tensor) -> None:
    """Raise PyTorch's errors for an assignment of ``value`` to ``t.grad``."""
    if value is t:
        raise RuntimeError("can't assign Variable as its own grad")
    if value.device != t.device:
        raise RuntimeError(f"attempting to assign a gradient with device type '{value.device.type}' to a tensor with device type "
                           f"'{t.device.type}'. Please ensure that the gradient and the tensor are on the same device")
    if tuple(value.shape) != tuple(t.shape):
        raise RuntimeError(f"attempting to assign a gradient of size '{list(value.shape)}' to a tensor of size "
                           f"'{list(t.shape)}'. "
                           "Please ensure that the gradient and the tensor are the same size")
    if value.dtype is not t.dtype:
        raise RuntimeError(f"attempting to assign a gradient with dtype '{value.dtype.scalar_name.lower()}' to a "
                           f"tensor with grad_dtype "
                           f"'{t.dtype.scalar_name}'. The gradient must match the tensor's grad_dtype (defaults to the tensor's "
                           "dtype). You can set the tensor's grad_dtype attribute with a specific dtype, or None to "
                           "allow any dtype. "
                           "Set grad_dtype with caution. Diverging the dtypes of a tensor and its gradient may break downstream "
                           "systems that assume they match.")
