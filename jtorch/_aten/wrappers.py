"""Tensors without memory, whose class's ``__torch_dispatch__`` handles all calls."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

from jtorch import engine, storage
from jtorch._aten import hooks  # noqa: F401  (its import lets modes see calls)
from jtorch._aten.asking import has_handler
from jtorch._aten.stack import expect_classes
from jtorch._base.layout import strided
from jtorch.device import canonical, default_device
from jtorch.dtype import get_default_dtype
from jtorch.storage import Storage, View
from jtorch.tensor import Tensor, blank

_SLOT: Any = Tensor.__dict__["_view"]


class NoMemory(Storage):
    """The storage of a tensor without memory. It has an aval but no value."""

    __slots__ = ()

    def __init__(self, aval: Any):
        super().__init__(engine.Value(aval))
        self.value = None

    def content(self) -> NoReturn:
        raise RuntimeError("Attempted to access the data pointer on an invalid python storage. A tensor that "
                           "torch.Tensor._make_wrapper_subclass has made has no memory: its class's __torch_dispatch__ has to "
                           "read what it stands for.")


def _view_of(self: Any) -> View | None:
    """Return a tensor's geometry, which is stored where the extension does not see it. So its calls go through Python."""
    return vars(self).get("_shown")


def _set_view(self: Any, view: View | None) -> None:
    vars(self)["_shown"] = view


def take_over(cls: type) -> bool:
    """Enable a class's ``__torch_dispatch__``. Return whether the class has one."""
    if has_handler(cls):
        cls._view = property(_view_of, _set_view)       # type: ignore[attr-defined]
        expect_classes()
    return has_handler(cls)


def moved(t: Any, view: View | None) -> None:
    """Move a tensor's geometry after its class has changed, so that the extension does or does not see it."""
    if has_handler(type(t)):
        _SLOT.__set__(t, None)
        _SLOT.__delete__(t)
    t._view = view


def make(cls: Any, size: Sequence[int], *, strides: Sequence[int] | None = None, storage_offset: int | None = None,
         memory_format: Any = None, dtype: Any = None, layout: Any = strided, device: Any = None, pin_memory: bool = False,
         requires_grad: bool = False, dispatch_sizes_strides_policy: str | None = None, dispatch_device: bool = False,
         dispatch_layout: bool = False, _extra_dispatch_keys: Any = None, storage_size: int | None = None) -> Any:
    """Make a tensor without memory of a class with ``__torch_dispatch__``."""
    if not isinstance(cls, type):
        raise TypeError("cls must be a type (got an instance of " + type(cls).__name__ + ")")
    if not has_handler(cls):
        raise TypeError(f"{cls.__name__} must define __torch_dispatch__")
    place = canonical(default_device() if device is None else device)
    shape = tuple([int(n) for n in size])
    aval = engine.aval_of(shape, (dtype or get_default_dtype()).np, place)
    t: Any = blank(cls)
    t._storage = NoMemory(aval)
    if strides is not None:
        stride = tuple([int(n) for n in strides])
        if len(stride) != len(shape):
            raise RuntimeError("mismatch in length of strides and shape")
        in_order = stride == storage.contiguous_strides(shape) and not storage_offset
        if not in_order:
            t._view = View(aval, stride, storage_offset or 0, None, -1)
            t._view.in_order = stride == storage.contiguous_strides(shape)
    return t.requires_grad_() if requires_grad else t
