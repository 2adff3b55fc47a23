"""Storages: what tensors share. The only code that knows about aliasing.

A storage's content is one immutable value, replaced at each write, or host memory that a NumPy array shares. A tensor
shows a storage either whole (``tensor._view`` is None) or through a ``View``: size, stride and offset in elements.
"""
from __future__ import annotations

from sys import getrefcount
from typing import TYPE_CHECKING, Any

import numpy as np

import jtorch.dtype as dtypes
from jtorch import engine
from jtorch.engine import CPU, Aval, Value
from jtorch.ops import memory  # noqa: F401  (declares the two ops)
from jtorch.ops.registry import OPS, T
from jtorch.ops.strided import contiguous_strides, is_non_overlapping_and_dense

if TYPE_CHECKING:
    from jtorch.tensor import Tensor

READ, WRITE = OPS["_read_view"], OPS["_write_view"]


class Storage:
    """Content, and how often it was replaced. ``version`` is what autograd checks, ``generation`` what views look at."""

    host: Any = None        # the NumPy array of memory that NumPy arrays share: the content, where there is any
    version = generation = address = 0

    def __init__(self, value: Value):
        self.value: Any = value         # None where the host memory is the content
        self.aval = value.aval

    def host_view(self, view: View | None) -> np.ndarray:
        """The host memory as a view shows it: writes to the result are writes to the storage."""
        if view is None:
            return self.host.reshape(self.aval.shape)
        flat = self.host if self.host.dtype == view.aval.np else self.host.view(view.aval.np)
        width = flat.itemsize
        return np.lib.stride_tricks.as_strided(flat[view.offset:], view.aval.shape, [s * width for s in view.stride])

    def content(self) -> Value:
        """The whole content as a value; host memory is copied as it is now."""
        if self.value is not None:
            return self.value
        if getrefcount(self.host) <= _ONLY_HERE and self.host.base is None:
            self._take_back()
            return self.value       # type: ignore[return-value]
        return Value(self.aval, self.host.reshape(self.aval.shape).copy())

    def _take_back(self) -> None:
        """Nobody holds a NumPy view of this memory any more, so it may become an immutable value again."""
        self.value, self.host = Value(self.aval, self.host.reshape(self.aval.shape)), None
        self.generation += 1

    def to_host(self) -> None:
        """Moves the content into host memory that NumPy arrays may share and write to."""
        if self.host is None:
            engine.read(self.value)
            self.host = np.array(engine.host_array(self.value)).reshape(-1)
            self.value = None
            self.generation += 1


class View:
    """The geometry of a tensor that does not simply show its whole storage, and what it last showed."""

    __slots__ = ("aval", "generation", "offset", "stride", "value")

    def __init__(self, aval: Aval, stride: tuple[int, ...], offset: int, value: Value | None, generation: int):
        self.aval, self.stride, self.offset, self.value, self.generation = aval, stride, offset, value, generation

    def key(self) -> tuple:
        """The static arguments of the two memory ops."""
        return (self.aval.shape, self.stride, self.offset, self.aval.dtype)


_ONLY_HERE = 2      # the storage's reference and getrefcount's argument


class VersionCounter:
    """The version of a tensor that shares content but not its version, as ``.data`` does."""

    __slots__ = ("version",)

    def __init__(self, version: int = 0):
        self.version = version


def value_of(t: Tensor) -> Value:
    """What the tensor shows now."""
    view, storage = t._view, t._storage
    if view is None:
        return storage.value or storage.content()
    if storage.host is not None:
        if view.aval.numel and getrefcount(storage.host) <= _ONLY_HERE and storage.host.base is None:
            storage.content()
            return value_of(t)
        return Value(view.aval, storage.host_view(view).copy())
    if view.generation != storage.generation or view.value is None:
        view.value = engine.record(engine.call_of(READ, (T, *view.key())), (storage.value,))
        view.generation = storage.generation
    return view.value


def aval_of(t: Tensor) -> Aval:
    """The shape, dtype and device of the tensor, computing nothing."""
    return t._storage.aval if t._view is None else t._view.aval


def geometry_of(t: Tensor) -> tuple[tuple[int, ...], tuple[int, ...], int]:
    """(size, stride, offset) of the tensor in its storage."""
    if t._view is None:
        shape = t._storage.aval.shape
        return shape, contiguous_strides(shape), 0
    return t._view.aval.shape, t._view.stride, t._view.offset


def check_writable(t: Tensor) -> None:
    """RuntimeError where several elements of the tensor are one place in memory, as after ``expand``."""
    if t._view is None:
        return
    for n, s in zip(t._view.aval.shape, t._view.stride, strict=True):
        if n > 1 and s == 0:
            raise RuntimeError(
                "unsupported operation: more than one element of the written-to tensor refers to a single memory location. "
                "Please clone() the tensor before performing the operation.")


def check_bounds(t: Tensor, aval: Aval, stride: tuple[int, ...], offset: int) -> None:
    """RuntimeError where a geometry reaches beyond the end of the tensor's storage."""
    if not aval.numel:
        return
    width, room = aval.np.itemsize, t._storage.aval.nbytes
    needed = (offset + 1 + sum((n - 1) * s for n, s in zip(aval.shape, stride, strict=True))) * width
    if needed > room:
        raise RuntimeError(f"setStorage: sizes {list(aval.shape)}, strides {list(stride)}, storage offset {offset}, and "
                           f"itemsize {width} requiring a storage size of {needed} are out of bounds for storage of size {room}")


def check_overlap(target: Tensor, source: Tensor) -> None:
    """RuntimeError where a tensor that is read shares some memory with the one written to, but does not show it the same way."""
    if source._storage is not target._storage or source is target:
        return
    (size, stride, offset), (from_size, from_stride, from_offset) = geometry_of(target), geometry_of(source)
    if not is_dense(size, stride) or not is_dense(from_size, from_stride) or 0 in size or 0 in from_size:
        return      # PyTorch too does not look closer
    if offset == from_offset and aval_of(target).numel == aval_of(source).numel:
        if stride == from_stride and size == from_size:
            return
    elif offset + aval_of(target).numel <= from_offset or from_offset + aval_of(source).numel <= offset:
        return
    raise RuntimeError("unsupported operation: some elements of the input tensor and the written-to tensor refer to a single "
                       "memory location. Please clone() the tensor before performing the operation.")


def write(t: Tensor, value: Value) -> None:
    """Makes ``value``, of the tensor's shape and dtype, what the tensor and all that share its memory show."""
    storage, view = t._storage, t._view
    if storage.host is not None:
        engine.read(value)
        storage.host_view(view)[...] = engine.host_array(value)
    elif view is None:
        storage.value = value
    else:
        call = engine.call_of(WRITE, (T, T, *view.key()))
        storage.value = engine.record(call, (storage.content(), value))
        view.value = value
    storage.generation += 1
    if view is not None:
        view.generation = storage.generation if storage.host is None else -1
    (t._counter or storage).version += 1


def contiguous(shape: tuple[int, ...], dtype: dtypes.dtype, device=CPU) -> Aval:
    """The aval of a tensor of this shape, dtype and device."""
    return engine.aval_of(shape, dtype.np, device)


def is_dense(size, stride) -> bool:
    """Whether a geometry covers each element of one block of memory once."""
    return is_non_overlapping_and_dense(size, stride)


_addresses = iter(range(1 << 20, 1 << 60, 1 << 12))


def address(s: Storage) -> int:
    """A number that stands for the storage's place in memory (host memory's real address where it has one)."""
    if s.host is not None:
        return s.host.__array_interface__["data"][0]
    if not s.aval.numel:
        return 0
    if not s.address:
        s.address = next(_addresses) * 64
    return s.address


class UntypedStorage:
    """The memory behind tensors, as ``Tensor.untyped_storage()`` shows it."""

    def __init__(self, s: Storage):
        self._storage = s

    def data_ptr(self) -> int:
        """The same number for tensors that share memory."""
        return address(self._storage)

    def nbytes(self) -> int:
        """The size of the memory in bytes."""
        return self._storage.aval.nbytes

    size = __len__ = nbytes

    def __eq__(self, other):
        return isinstance(other, UntypedStorage) and other._storage is self._storage

    def __hash__(self):
        return hash(id(self._storage))

    @property
    def device(self):
        """Where the memory is."""
        return self._storage.aval.device


def deepcopy(s: Storage, memo: dict) -> Storage:
    """A storage of its own with the same content, the same one for all tensors that share ``s``."""
    if id(s) in memo:
        return memo[id(s)]
    made = Storage(s.content())
    memo[id(s)] = made
    memo[id(made)] = s      # keeps ``s`` alive while its id is in the memo
    return made


def pickled(s: Storage):
    """How a storage is pickled: its elements as a NumPy array, its dtype and device."""
    if s.host is not None:
        return s.host.reshape(s.aval.shape).copy()
    engine.read(s.value)
    return np.array(engine.host_array(s.value))


def unpickled(array: np.ndarray, device: str) -> Storage:
    """The storage of a pickle."""
    from jtorch.device import device as make_device
    place = make_device(device)
    return Storage(Value(engine.aval_of(array.shape, array.dtype, place), array if place is CPU else engine.put(array, place)))


Storage.__reduce__ = lambda self: (unpickled, (pickled(self), str(self.aval.device)))     # type: ignore[method-assign,arg-type,attr-defined]
