"""In-place calls that change a tensor's geometry or storage rather than its elements: ``t_``, ``squeeze_``, ``resize_`` …"""
from __future__ import annotations

from typing import Any

import numpy as np

from jtorch import engine, tape
from jtorch.dispatch import call_view
from jtorch.engine import Value, call_of
from jtorch.no_grad import mode
from jtorch.ops.registry import OPS, T, freeze
from jtorch.ops.strided import contiguous_strides
from jtorch.storage import Storage, VersionCounter, View, geometry_of
from jtorch.tensor import Tensor, requires_grad


def _inplace_view(name: str):
    op = OPS[name]

    def method(self: Tensor, *args: Any, **kw: Any) -> Tensor:
        if mode.grad and self._requires_grad and self._node is None:
            raise RuntimeError("a leaf Variable that requires grad is being used in an in-place operation.")
        given = dict(zip([p.name for p in op.params[1:]], args, strict=False), **kw)
        template = (T, *[freeze(given.get(p.name, p.default)) for p in op.params[1:]])
        shown = call_view(call_of(op, template), (self,))
        self._view, self._storage = shown._view, shown._storage
        self._node, self._output_nr, self._requires_grad = shown._node, shown._output_nr, shown._requires_grad
        tape.counter_of(self).version += 1
        self._node_version = tape.counter_of(self).version
        return self
    method.__name__ = f"{name}_"
    method.__doc__ = f"The in-place form of {name}: changes how this tensor shows its memory. See torch.Tensor.{name}_."
    return method


def resize_(self: Tensor, *size: Any, memory_format: Any = None) -> Tensor:
    """Gives the tensor another size; elements beyond the old ones are 0 here. See torch.Tensor.resize_."""
    if requires_grad(self):
        raise RuntimeError("cannot resize variables that require grad")
    shape = tuple(int(n) for n in (size[0] if len(size) == 1 and isinstance(size[0], (tuple, list)) else size))
    if any(n < 0 for n in shape):
        raise RuntimeError(f"Trying to create tensor with negative dimension {min(shape)}: {list(shape)}")
    _, _, offset = geometry_of(self)
    aval = engine.aval_of(shape, self.dtype.np, self.device)
    needed = offset + aval.numel
    if needed > self._storage.aval.numel:
        _grow(self, needed)
    s = self._storage
    if aval.shape != tuple(self.shape):
        tape.counter_of(self).version += 1
    same = aval is s.aval and not offset
    self._view = None if same else View(aval, contiguous_strides(shape), offset, None, -1)
    return self


def _grow(t: Tensor, numel: int) -> None:
    """Gives the storage room for ``numel`` elements, in place, so that all who share it see the old ones."""
    s = t._storage
    if s.host is not None:
        raise RuntimeError("Trying to resize storage that is not resizable")
    engine.read(s.value)
    flat = np.zeros(numel, s.aval.np)
    old = engine.host_array(s.value).reshape(-1)
    flat[:old.size] = old
    s.aval = engine.aval_of((numel,), s.aval.np, s.aval.device)
    s.value = Value(s.aval, flat if s.aval.device is engine.CPU else engine.put(flat, s.aval.device))
    s.generation += 1


def resize_as_(self: Tensor, other: Tensor, memory_format: Any = None) -> Tensor:
    """Gives the tensor the size of another. See torch.Tensor.resize_as_."""
    return resize_(self, *other.shape)


def set_(self: Tensor, source: Any = None, storage_offset: int = 0, size: Any = None, stride: Any = None) -> Tensor:
    """Makes the tensor show another tensor's memory. See torch.Tensor.set_."""
    version = tape.counter_of(self).version + 1
    _show(self, source, storage_offset, size, stride)
    self._counter = VersionCounter(version)
    return self


def _show(self: Tensor, source: Any, storage_offset: int, size: Any, stride: Any) -> None:
    if source is None:
        self._storage = Storage(Value(engine.aval_of((0,), self.dtype.np, self.device), np.zeros(0, self.dtype.np)))
        self._view = None
        return
    if isinstance(source, Tensor) and size is None:
        self._storage, self._view = source._storage, source._view
        return
    s = source._storage
    shape = tuple(size) if size is not None else (s.aval.numel,)
    aval = engine.aval_of(shape, self.dtype.np, s.aval.device)
    self._storage, self._view = s, View(aval, tuple(stride or contiguous_strides(shape)), storage_offset, None, -1)


def bind(cls: type) -> None:
    """Puts the methods of this file on the tensor class."""
    for name in ("t", "transpose", "swapaxes", "swapdims", "squeeze", "unsqueeze", "as_strided", "movedim"):
        if name in OPS:
            setattr(cls, f"{name}_", _inplace_view(name))
    for fn in (resize_, resize_as_, set_):
        setattr(cls, fn.__name__, fn)

