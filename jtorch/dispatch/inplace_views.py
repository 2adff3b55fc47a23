"""In-place calls that change a tensor's geometry or storage instead of its elements, such as ``t_`` and ``resize_``."""
from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from jtorch import engine, storage, tape
from jtorch._backward.view_history import (
    edge_of,
    node_of,
    note_version,
    requires_grad,
    set_requires_grad,
    start_history,
)
from jtorch._base.deterministic import number_for_new_memory
from jtorch._nodes import tangents
from jtorch._storage.typed import untyped_as
from jtorch.dispatch import call_view, check_inplace, rebase
from jtorch.engine import Value, call_of
from jtorch.no_grad import mode
from jtorch.ops import check
from jtorch.ops.facts import InPlaceView
from jtorch.ops.registry import OPS, Op, T, freeze
from jtorch.ops.strided import extent
from jtorch.storage import Storage, View
from jtorch.tape import NotImplementedNode, node_class
from jtorch.tensor import Tensor, keep_counter, wrap


def _inplace_view(op: Op, form: InPlaceView):

    def method(self: Tensor, *args: Any, **kw: Any) -> Tensor:
        tracked = mode.grad and requires_grad(self)
        check_inplace(self, tracked, once=False)
        given = dict(zip([p.name for p in op.params[1:]], args, strict=False), **kw)
        template = (T, *[freeze(given.get(p.name, p.default)) for p in op.params[1:]])
        if form.check is not None:
            form.check(self.dim())
        shown = call_view(call_of(op, template), (self,))
        tangents.take(shown, self)
        if shown._node is not None:
            shown._node.__class__ = node_class(_numbered(type(shown._node).__name__, form.further))
        tape.keep_shape(self)
        storage.show(self, shown._storage, shown._view)
        storage.count_write(self)
        if tracked:
            self._kept_hooks = self._hooks_to_keep()
            start_history(self, shown._node, shown._output_nr)
            note_version(self)
        return self
    method.__name__ = f"{op.name}_"
    method.__doc__ = f"The in-place form of {op.name}: changes how this tensor shows its memory. See torch.Tensor.{op.name}_."
    return method


def _numbered(name: str, further: int) -> str:
    """Return the node's name in the in-place form: ``TBackward0`` -> ``TBackward1``."""
    return f"{name[:-1]}{int(name[-1]) + further}"


def resize_(self: Tensor, *size: Any, memory_format: Any = None) -> Tensor:
    """Resize the tensor; new elements are 0. See torch.Tensor.resize_."""
    if requires_grad(self):
        raise RuntimeError("cannot resize variables that require grad")
    shape = tuple(int(n) for n in (size[0] if len(size) == 1 and isinstance(size[0], (tuple, list)) else size))
    if any(n < 0 for n in shape):
        raise RuntimeError(f"Trying to create tensor with negative dimension {min(shape)}: {list(shape)}")
    if shape != tuple(storage.aval_of(self).shape):
        _check_size(shape, storage.aval_of(self).dtype.itemsize)
        before = self._storage.aval.numel
        storage.resize(self, shape)
        storage.count_write(self)
        if self._storage.aval.numel > before:
            _fill_new(self, before)
    return self


def _check_size(shape: tuple[int, ...], width: int) -> None:
    """Raise RuntimeError for sizes whose bytes or strides overflow an int64."""
    if math.prod(shape) * width >= 1 << 63:
        raise RuntimeError(f"Storage size calculation overflowed with sizes={list(shape)}")
    if math.prod(max(n, 1) for n in shape[1:]) >= 1 << 63 or (0 in shape and math.prod(max(n, 1) for n in shape) >= 1 << 63):
        raise RuntimeError("Stride calculation overflowed")


def _fill_new(self: Tensor, start: int) -> None:
    """Fill the new part of a grown storage, if deterministic mode asks for it."""
    number = number_for_new_memory(storage.aval_of(self).dtype)
    if number is not None:
        aval = self._storage.aval
        grown = wrap(None, None, self._storage)
        storage.show_part(grown, engine.aval_of((aval.numel - start,), aval.np, aval.device), (1,), start)
        grown.fill_(number)     # type: ignore[attr-defined]


def resize_as_(self: Tensor, other: Tensor, memory_format: Any = None) -> Tensor:
    """Resize the tensor to the size of ``other``. See torch.Tensor.resize_as_."""
    return resize_(self, *storage.aval_of(other).shape)


def set_(self: Tensor, source: Any = None, storage_offset: int = 0, size: Any = None, stride: Any = None) -> Tensor:
    """Make the tensor show the memory of another tensor or storage. See torch.Tensor.set_."""
    source = untyped_as(source, self.dtype)
    sources = [t for t in (self, source) if isinstance(t, Tensor)]
    tracked = mode.grad and any([requires_grad(t) for t in sources])
    check_inplace(self, tracked, once=False)
    if len(sources) == 2 and source.dtype is not self.dtype:
        names = [check.cpp_name(t.dtype.np) for t in (source, self)]
        raise RuntimeError(f"Could not set tensor of type {names[0]} to a tensor of type {names[1]}")
    node = NotImplementedNode("set_", tuple([edge_of(t) if requires_grad(t) else None for t in sources])) if tracked else None
    tape.keep_shape(self, anew=True)
    keep_counter(self)
    _show(self, source, storage_offset, size, stride)
    storage.count_apart(self)
    storage.count_write(self)
    if node is not None and self._base is not None:     # ``set_`` counts as a write to the view
        node.__class__ = node_class("CopySlices", NotImplementedNode)
        rebase(self._base, node, 0)
        set_requires_grad(self, True)
        node_of(self)
    elif node is not None:
        rebase(self, node, 0)
    return self


def _show(self: Tensor, source: Any, storage_offset: int, size: Any, stride: Any) -> None:
    if source is None:
        empty = Value(engine.aval_of((0,), self.dtype.np, self.device), np.zeros(0, self.dtype.np))
        storage.show(self, Storage(empty), None)
        return
    if isinstance(source, Tensor) and size is None:
        storage.show(self, source._storage, source._view)
        return
    s, dtype = source._storage, self.dtype
    shape = tuple(size) if size is not None else (s.aval.nbytes // dtype.itemsize,)
    if storage_offset < 0:
        raise RuntimeError(f"Tensor: invalid storage offset {storage_offset}")
    if shape == tuple(self.shape) and (stride is None or tuple(stride) == self.stride()):
        given, stride = stride, self.stride()       # the strides stay if the size stays
        _check_in_bounds(s, dtype, shape, stride, storage_offset, () if given is None else tuple(given))
    storage.show(self, s, View(engine.aval_of((), dtype.np, s.aval.device), (), storage_offset, None, -1))
    storage.resize(self, shape, tuple(stride) if stride is not None else None)


def _check_in_bounds(s: Storage, dtype: Any, shape: tuple, stride: tuple, offset: int, given: tuple) -> None:
    """Raise RuntimeError if a geometry reaches beyond a storage that must not grow."""
    needed = (offset + extent(shape, stride)) * dtype.itemsize if all(shape) else 0
    if needed > s.aval.nbytes:
        raise RuntimeError(f"setStorage: sizes {list(shape)}, strides {list(given)}, storage offset {offset}, and itemsize "
                           f"{dtype.itemsize} requiring a storage size of {needed} are out of bounds for storage of size "
                           f"{s.aval.nbytes}")


def methods() -> dict[str, Callable]:
    """Return the methods of this file by name."""
    forms = {f"{op.name}_": _inplace_view(op, op.view.inplace) for op in OPS.values() if op.view and op.view.inplace}
    return {**forms, **{f.__name__: f for f in (resize_, resize_as_, set_)}}
