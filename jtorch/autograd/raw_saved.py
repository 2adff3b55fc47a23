"""Saved tensors as objects that take hooks: ``y.grad_fn._raw_saved_self.register_hooks(pack, unpack)``."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from jtorch._nodes import saved_names
from jtorch.autograd.saved import Packed, PackedNode, keep_result
from jtorch.engine import Value
from jtorch.ops.registry import Marker
from jtorch.tape import OpNode, forget_versions, node_class
from jtorch.tensor import wrap

_FREED = ("Calling register_hooks on a saved tensor after it has been freed. Saved intermediate values of the graph are freed "
          "when you call .backward() or autograd.grad(). Specify retain_graph=True if you need to backward through the graph a "
          "second time or if you need to access saved variables after calling backward.")


class SavedTensor:
    """A tensor that a node has saved. See torch.autograd.graph.

    Example::

        >>> y = torch.ones(2, requires_grad=True).tanh()
        >>> y.grad_fn._raw_saved_result.register_hooks(lambda t: t.numpy(), lambda a: torch.from_numpy(a))
        >>> y.sum().backward()

    """

    __module__ = "torch._C._autograd"
    __slots__ = ("_place", "_saver")
    _saver: Any
    _place: int | None

    def __init__(self, *args: Any):
        raise RuntimeError("Trying to create a SavedTensor object from Python is forbidden.")

    def register_hooks(self, pack_hook: Callable, unpack_hook: Callable, /) -> None:
        """Pass the tensor through ``pack_hook`` now, and its result through ``unpack_hook`` when the tensor is used.

        Args:
            pack_hook: a function of the tensor.
            unpack_hook: a function of what ``pack_hook`` returned, which returns a tensor.

        Raises:
            RuntimeError: the tensor was freed, was not saved, or has hooks.
            TypeError: a hook cannot be called.

        """
        if not (callable(pack_hook) and callable(unpack_hook)):
            raise TypeError("register_hooks(): incompatible function arguments. The following argument types are supported:\n"
                            "    1. (self: torch._C._autograd.SavedTensor, arg0: collections.abc.Callable, arg1: "
                            "collections.abc.Callable) -> None")
        node = self._saver
        if node.saved is None:
            raise RuntimeError(_FREED)
        at = keep_result(node) if self._place is None else self._place
        kept = node.saved[at]
        if kept.__class__ is Packed:
            raise RuntimeError("Calling register_hooks on a saved tensor whose hooks have already been set. Hint: only one pair "
                               "of hooks is allowed at a time.")
        if kept.__class__ is not Value or (self._place is not None and not saved_names.is_held(node, at)):
            raise RuntimeError("Calling register_hooks on a saved tensor with value None is forbidden")
        packed = Packed(wrap(kept), (pack_hook, unpack_hook))
        node.saved = [packed if i == at else v for i, v in enumerate(node.saved)]
        forget_versions(node)
        node.__class__ = node_class(node.name(), PackedNode)


def _raw_saved(name: str, node: OpNode) -> SavedTensor:
    source = saved_names.attributes(node).get(name)
    entry, place = saved_names.entries(node).get(source, (None, None)) if source is not None else (None, None)
    if source != "result" and entry.__class__ is not Marker:
        raise AttributeError(f"'{type(node).__name__}' object has no attribute '_raw_saved_{name}'")
    made = object.__new__(SavedTensor)
    made._saver, made._place = node, None if source == "result" else place
    return made


saved_names.attach(OpNode, "_raw_saved_", _raw_saved)
