"""Storages: what tensors share. The only code that knows about aliasing.

A storage's content is one immutable value, replaced at each write, or host memory that a NumPy array shares. A tensor
shows a storage either whole (``tensor._view`` is None) or through a ``View``: size, stride and offset in elements.
"""
from __future__ import annotations

import functools
import gc
import sys
import weakref
from sys import getrefcount
from typing import TYPE_CHECKING, Any
from weakref import getweakrefcount

import numpy as np

import jtorch.dtype as dtypes
from jtorch import engine, speedups
from jtorch.engine import CPU, Aval, Value, mapped, out_of_memory
from jtorch.ops import memory  # noqa: F401  (declares the two ops)
from jtorch.ops import view as _views  # noqa: F401  (declares permute)
from jtorch.ops.layout import memory_order
from jtorch.ops.registry import OPS, T
from jtorch.ops.strided import (
    contiguous_strides,
    extent,
    is_non_overlapping_and_dense,
    overlaps,
    require_not_expanded,
    require_room,
)

if TYPE_CHECKING:
    from jtorch.tensor import Tensor

READ, WRITE, PERMUTE = OPS["_read_view"], OPS["_write_view"], OPS["permute"]


class Storage:
    """Content, and how often it was replaced. ``version`` is what autograd checks, ``generation`` what views look at."""

    __slots__ = ("__dict__", "__weakref__", "aval", "generation", "has_separate_version", "saved", "value", "version")

    laid: Any = None        # (value, dims from the slowest to the fastest): the content, until somebody needs it in memory order
    host: Any = None        # the NumPy array of memory that NumPy arrays share: the content, where there is any
    order: Any = None       # the dims of ``laid``, kept: the tensor made with this storage writes all of it at once
    was: Any = None         # the value that became host memory, where somebody may have saved it
    written_by: Any = None  # a weak reference to the node of the last write that has a history
    number = 0              # what ``address`` says of memory that is not the CPU's
    shared: Any = None      # the segment whose memory other processes have too; True where it is a file's, or nothing
    owned = False           # whether the host memory is known by its address, but to no NumPy array
    stays = False           # whether it is known by its address, so that it is not given up
    fixed = False           # whether NumPy has had it, so that it may not grow
    copied: Any = None      # the last value that was made of it
    sliced = 0              # how often rows were taken of it by an index
    starts: dict[tuple, int] | None = None      # where the first slice of rows of each length began
    parts: set[tuple] | None = None     # by which indices of other dims
    places: set[tuple] | None = None        # the first of those where parts of it were written, see ``_write_part``
    rows: Any = None        # what the rows have in common that an int takes, once many were taken: see jtorch._api.indexing

    def __init__(self, value: Value):
        self.value: Any = value         # None where the host memory or what is laid out is the content
        self.aval = value.aval
        self.version = self.generation = 0
        self.has_separate_version = False      # whether tensors with a version of their own have shared it
        self.saved = 0          # how often nodes have saved it that have not let go of it; too high for nodes that were dropped

    def host_view(self, view: View | None) -> np.ndarray:
        """The host memory as a view shows it: writes to the result are writes to the storage."""
        aval = self.aval if view is None else view.aval
        if not aval.numel:      # NumPy gives arrays of no elements no strides
            return np.ndarray(aval.shape, aval.np, self.host.view(np.uint8), 0, [0] * len(aval.shape))
        if view is None:
            return self.host.reshape(self.aval.shape)
        width = view.aval.np.itemsize
        return np.ndarray(view.aval.shape, view.aval.np, self.host.view(np.uint8), view.offset * width,
                          [s * width for s in view.stride])

    def content(self) -> Value:
        """The whole content as a value; host memory is copied as it is now."""
        if self.value is not None:
            return self.value
        if self.laid is not None:
            value, order = self.laid
            self.value, self.laid = engine.record(engine.call_of(PERMUTE, (T, order)), (value,)), None
            return self.value
        if self.is_only_here():
            self._take_back()
            return self.value       # type: ignore[return-value]
        self.copied = copied(self.copied, self.aval, self.host.reshape(self.aval.shape))
        return self.copied

    def is_only_here(self) -> bool:
        """Whether nobody else holds the host memory, nor the NumPy array whose it is."""
        if self.stays or getrefcount(self.host) > _ONLY_HERE:
            return False
        if self.host.base is None:
            return True
        if self.host.base.__class__ is not np.ndarray or getrefcount(self.host.base) > _ONLY_HERE:
            return False
        return self.host.base.base is None and self.host.base.flags.owndata and not getweakrefcount(self.host.base)

    def _take_back(self) -> None:
        """Nobody holds a NumPy view of this memory any more, so it may become an immutable value again."""
        self.generation += 1
        self.fixed = self.fixed or not self.owned
        self.value, self.host, self.was = Value(self.aval, self.host.reshape(self.aval.shape)), None, None
        self.copied = None

    def become(self, value: Value, aval: Aval) -> None:
        """Takes another content and form, which may be on another device."""
        self.value, self.host, self.aval = value, None, aval
        self.generation += 1

    def move_into(self, array: np.ndarray) -> None:
        """Makes host memory the content, which holds the same already or is to hold it from now on."""
        self.generation += 1
        self.host, self.value = array, None

    def give_form(self, aval: Aval) -> None:
        """Takes another dtype and shape over the same bytes, where that is free; no tensor shows all of it yet."""
        if self.host is not None:
            self.host = self.host.view(aval.np)
        elif aval.device.type == "meta":
            self.value = Value(aval, engine.zero_stride_array(aval.shape, aval.np))
        elif self.value.array.__class__ is np.ndarray:
            self.value = Value(aval, self.value.array.reshape(-1).view(aval.np).reshape(aval.shape))
        else:
            return
        self.aval = aval

    def to_host(self) -> None:
        """Moves the content into host memory that NumPy arrays may share and write to."""
        self.owned = False
        if self.host is None:
            value = self.content()
            engine.read(value)
            if self.saved:      # a node may have to look what NumPy has written
                self.was = None if self in untracked_writes else value
                untracked_writes[self] = 0
            self.generation += 1
            self.host = out_of_memory.allocated(np.empty, self.aval.numel, self.aval.np)
            self.host.reshape(self.aval.shape)[...] = engine.host_array(value)
            self.value = None

    @property
    def may_grow(self) -> bool:
        """Whether its memory may become larger: not where NumPy arrays, files or other processes share it, or have."""
        return self.owned or (self.host is None and not self.fixed)


class View:
    """The geometry of a tensor that does not simply show its whole storage, and what it last showed."""

    __slots__ = ("aval", "generation", "in_order", "offset", "order", "stride", "value")

    def __init__(self, aval: Aval, stride: tuple[int, ...], offset: int, value: Value | None, generation: int, order: Any = None):
        self.aval, self.stride, self.offset, self.value, self.generation = aval, stride, offset, value, generation
        self.in_order = False   # whether it is known to be contiguous
        self.order = order      # for a tensor that shows its whole storage with its dims in another order: that order

    def key(self) -> tuple:
        """The static arguments of the two memory ops."""
        return (self.aval.shape, self.stride, self.offset, self.aval.dtype)


def of_memory(aval: Aval, array: np.ndarray) -> Storage:
    """A storage whose content is memory that NumPy arrays share, or that belongs to others: writes to it are writes there."""
    s = Storage(Value(aval))
    s.value, s.host = None, array
    return s


_ONLY_HERE = 2      # the storage's reference and getrefcount's argument
_WORTH_COMPARING = 1 << 14      # bytes of host memory: less is copied in no time
_AT_ONCE = 1 << 20              # bytes that are compared at once


def copied(before: Value | None, aval: Aval, array: np.ndarray) -> Value:
    """Host memory as a value: that of ``before``, if it is the same still.

    Somebody may write into the memory at any time. To look whether he has takes less time than another copy, which XLA would copy
    again: 1,000,000 numbers that a model gets in each step 0.2 ms instead of 1.5.
    """
    if before is not None and before.aval is aval and _are_equal(engine.host_array(before), array):
        return before
    return Value(aval, array.copy())


def _are_equal(a: np.ndarray, b: np.ndarray) -> bool:
    """Whether two arrays of a dtype and shape have the same bytes; False for small ones."""
    if b.nbytes < _WORTH_COMPARING or not (a.flags.c_contiguous and b.flags.c_contiguous):
        return False
    unit = np.uint64 if b.nbytes % 8 == 0 else np.uint8
    x, y, n = a.reshape(-1).view(unit), b.reshape(-1).view(unit), _AT_ONCE // np.dtype(unit).itemsize
    return all((x[i:i + n] == y[i:i + n]).all() for i in range(0, x.size, n))


class VersionCounter:
    """The version of a tensor that shares content but not its version, as ``.data`` does."""

    __slots__ = ("version",)

    def __init__(self, version: int = 0):
        self.version = version


class SavedTensorRef:
    """What a tensor showed when it was saved for backward, where it was not simply all of its storage: counter and geometry."""

    __slots__ = ("counter", "storage", "tensor", "view")

    def __init__(self, t: Tensor):
        self.counter, self.storage, self.view, self.tensor = t._counter or t._storage, t._storage, t._view, weakref.ref(t)

    @property
    def version(self) -> int:
        """The version of the tensor."""
        return self.counter.version


# Storages written to behind the back of nodes that may have saved them, and in how many backwards none was found that has.
untracked_writes: weakref.WeakKeyDictionary[Storage, int] = weakref.WeakKeyDictionary()
# And those that a tensor, which is the value, left by ``data =``.
abandoned: weakref.WeakKeyDictionary[Storage, weakref.ref] = weakref.WeakKeyDictionary()


def count_saved(versions: tuple, by: int) -> None:
    """Notes that a node has saved (1) or let go of (-1) what these are the counters of."""
    for counter, _ in versions:
        s = counter.storage if counter.__class__ is SavedTensorRef else counter
        if s.__class__ is Storage:
            s.saved += by


def put_in_place(s: Storage, value: Value) -> None:
    """Makes a value of the same elements the content, lying otherwise on its device: no write, and nothing to be seen."""
    s.value = value


def value_of(t: Tensor) -> Value:
    """What the tensor shows now."""
    view, storage = t._view, t._storage
    if view is None:
        return storage.value or storage.content()
    if storage.host is not None:
        if view.aval.numel and storage.is_only_here():
            storage.content()
            return value_of(t)
        view.value = copied(view.value, view.aval, storage.host_view(view))
        return view.value
    if view.generation != storage.generation or view.value is None:
        is_row = storage.rows is not None and view.in_order
        part = taken(storage, view.aval, view.stride, view.offset, in_order=True) if is_row else None
        view.value = part or engine.record(engine.call_of(READ, (T, *view.key())), (storage.value or storage.content(),))
        view.generation = storage.generation
    return view.value


def taken(s: Storage, aval: Aval, stride: tuple[int, ...], offset: int, in_order: bool) -> Value | None:
    """What a view of computed content shows, as a new input: no call is recorded. None where it takes one.

    Copied where it is XLA's memory, which may be given away later, or not in order.
    """
    source = s.value
    if source is None or source.array is None or source.born is engine.current():
        return None
    array = engine.host_array(source)
    if aval.np != array.dtype or not array.flags.c_contiguous:
        return None
    flat = array.reshape(-1)
    if in_order:
        part = flat[offset:offset + aval.numel].reshape(aval.shape)
        return Value(aval, part if source.array.__class__ is np.ndarray else part.copy())
    if not aval.np.isbuiltin or not aval.numel:     # other dtypes give no buffer
        return None
    width = aval.np.itemsize
    return Value(aval, np.ndarray(aval.shape, aval.np, flat, offset * width, [n * width for n in stride]).copy("C"))


def aval_of(t: Tensor) -> Aval:
    """The shape, dtype and device of the tensor, computing nothing."""
    return t._storage.aval if t._view is None else t._view.aval


@functools.lru_cache(1024)
def _whole(shape: tuple[int, ...]) -> tuple[tuple[int, ...], tuple[int, ...], int]:
    return shape, contiguous_strides(shape), 0


def geometry_of(t: Tensor) -> tuple[tuple[int, ...], tuple[int, ...], int]:
    """(size, stride, offset) of the tensor in its storage."""
    if t._view is None:
        return _whole(t._storage.aval.shape)
    return t._view.aval.shape, t._view.stride, t._view.offset


def show_part(t: Tensor, aval: Aval, stride: tuple[int, ...], offset: int = 0) -> None:
    """Makes a tensor show a part of its storage."""
    t._view = View(aval, stride, offset, None, -1)


def show(t: Tensor, s: Storage, view: View | None) -> None:
    """Makes a tensor show a storage: all of it, or through a view."""
    t._storage, t._view = s, view


def count_write(t: Tensor) -> None:
    """Notes that a tensor was written to, or is to be taken for it."""
    (t._counter or t._storage).version += 1


def own_version(t: Tensor, version: int = 0) -> None:
    """Gives a tensor a version of its own: writes to others that show its memory do not count for it, nor its for them."""
    t._counter = VersionCounter(version)
    count_apart(t)


def count_apart(t: Tensor) -> None:
    """Notes that not all tensors which show this memory have one version."""
    t._storage.has_separate_version = True


def set_version(t: Tensor, version: int) -> None:
    """Takes back writes to a tensor that autograd need not know of, or notes one."""
    (t._counter or t._storage).version = version


def check_writable(t: Tensor) -> None:
    """RuntimeError where several elements of the tensor are one place in memory, as after ``expand``."""
    if t._view is not None and 0 in t._view.stride:
        require_not_expanded(t._view.aval.shape, t._view.stride)


def check_bounds(t: Tensor, aval: Aval, stride: tuple[int, ...], offset: int) -> None:
    """RuntimeError where a geometry reaches beyond the end of the tensor's storage."""
    require_room(aval.shape, stride, offset, aval.np.itemsize, t._storage.aval.nbytes)


def check_overlap(target: Tensor, source: Tensor, entirely: bool = True) -> None:
    """RuntimeError where what is read shares memory with what is written to, unless both are the same memory (``entirely``)."""
    if source._storage is not target._storage:
        return
    if source is not target:
        places = [_span(t) for t in (target, source)]
        if None in places:
            return      # PyTorch too does not look closer
        (begin, end, _stride), (from_begin, from_end, _from_stride) = places      # type: ignore[misc]
        if end <= from_begin or from_end <= begin or (entirely and places[0] == places[1]):
            return
    elif entirely:
        return
    raise RuntimeError("unsupported operation: some elements of the input tensor and the written-to tensor refer to a single "
                       "memory location. Please clone() the tensor before performing the operation.")


def _span(t: Tensor) -> tuple[int, int, tuple[int, ...]] | None:
    """Where in memory a dense tensor begins and ends, and its strides; None for others."""
    size, stride, offset = geometry_of(t)
    aval = aval_of(t)
    if not aval.numel or not is_dense(size, stride):
        return None
    return offset * aval.np.itemsize, (offset + aval.numel) * aval.np.itemsize, tuple(stride)


def resize(t: Tensor, shape: tuple[int, ...], stride: tuple[int, ...] | None = None) -> None:
    """Gives a tensor another size where it starts in its storage, which grows if it has to; what is new is 0."""
    held, (_, _, offset) = t._storage.aval, geometry_of(t)
    aval = engine.aval_of(shape, aval_of(t).np, held.device)
    stride = contiguous_strides(shape) if stride is None else stride
    needed = (offset + extent(shape, stride)) * aval.np.itemsize if aval.numel else 0
    if needed > held.nbytes:
        _grow(t, -(-needed // held.np.itemsize))
    whole = aval is t._storage.aval and not offset and stride == contiguous_strides(shape)
    t._view = None if whole else View(aval, stride, offset, None, -1)


def _grow(t: Tensor, numel: int) -> None:
    others = [] if sys.getrefcount(t._storage) == 2 else sharing(t._storage)      # 2: by t, and for the question
    s = t._storage
    if not s.may_grow:
        raise RuntimeError("Trying to resize storage that is not resizable")
    _exchange(s, numel * s.aval.np.itemsize, others)


def resize_memory(s: Storage, nbytes: int) -> None:
    """Gives a storage another size. What is new is 0; tensors that show more than is left must not be read."""
    if not s.may_grow:
        raise RuntimeError("Trying to resize storage that is not resizable")
    if nbytes != s.aval.nbytes:
        _exchange(s, nbytes, sharing(s))


def _exchange(s: Storage, nbytes: int, others: list) -> None:
    """Puts memory of another size in the place of a storage's; where it is no whole number of elements, as bytes."""
    value = s.content()
    engine.read(value)
    flat = out_of_memory.allocated(np.zeros, nbytes, np.uint8)
    old = np.ascontiguousarray(engine.host_array(value)).reshape(-1).view(np.uint8)[:nbytes]
    flat[:old.size] = old
    flat = flat if nbytes % s.aval.np.itemsize else flat.view(s.aval.np)
    for other in others:
        if other._view is None:
            other._view = View(s.aval, contiguous_strides(s.aval.shape), 0, None, -1)
    s.aval = engine.aval_of(flat.shape, flat.dtype, s.aval.device)
    s.value = Value(s.aval, flat if s.aval.device is CPU else engine.put(flat, s.aval.device))
    s.order = s.laid = s.host = None
    s.owned = s.stays = False
    s.number = 0
    s.generation += 1


def sharing(s: Storage) -> list:
    """The tensors of a storage. Slow: it looks at all objects that there are."""
    holders = gc.get_referrers(s)
    owners = [o for h in holders if h.__class__ is dict for o in gc.get_referrers(h)]
    return [o for o in (*holders, *owners) if getattr(o, "_storage", None) is s and hasattr(o, "_view")]


MANY_PLACES = 64        # of a storage; from then on a write to another one is no call


def _write_part(s: Storage, view: View, value: Value) -> bool:
    """Writes computed numbers to one of many places of computed content, without a call: whether it did.

    A cache of keys, a replay buffer or a table is written at a new place each time, and a call of each place is one that never
    comes back: 0.1 ms. What is written then is a new input of the trace, as a part of such a tensor is that is read (``taken``).
    """
    if s.value is None or s.value.array is None or value.array is None or s.value.born is engine.current():
        return False
    key = view.aval, view.stride, view.offset
    s.places = s.places or set()
    if key in s.places or len(s.places) < MANY_PLACES:
        s.places.add(key)
        return False
    if s.aval.device is not CPU or s.aval.traced or value.aval is not view.aval or view.aval.np != s.aval.np \
            or not s.aval.np.isbuiltin or not view.aval.numel or overlaps(view.aval.shape, view.stride):
        return False
    array = s.value.array if _is_spare(s) else np.array(engine.host_array(s.value), order="C")
    width = s.aval.np.itemsize
    shown = np.ndarray(view.aval.shape, s.aval.np, array, view.offset * width, [n * width for n in view.stride])
    shown[...] = engine.host_array(value)
    s.value = Value(s.aval, array)
    engine.stats.counters.parts_written += 1
    return True


def _is_spare(s: Storage) -> bool:
    """Whether only a storage holds its value, only that the array, and only that its memory."""
    return getrefcount(s.value) <= _ONLY_HERE and getrefcount(s.value.array) <= _ONLY_HERE and engine.is_own(s.value.array)


def will_be_written(t: Tensor) -> None:
    """Has views of a tensor's storage look anew: before its memory is written to, behind which an interrupt may come."""
    t._storage.generation += 1


def let_go(t: Tensor) -> None:
    """Forgets what a view, which is to be written over, last showed: by that it may hold the content that is to be written to."""
    if t._view is not None:
        t._view.value = None


def write(t: Tensor, value: Value) -> None:
    """Makes ``value``, of the tensor's shape and dtype, what the tensor and all that share its memory show."""
    storage, view = t._storage, t._view
    if value.aval.traced:
        mapped.check_writable(storage.value or (storage.laid and storage.laid[0]), value)
    if storage.saved and storage.has_separate_version:
        untracked_writes[storage] = 0
    if storage.host is not None:
        engine.read(value)
        storage.generation += 1
        storage.host_view(view)[...] = engine.host_array(value)
    elif view is None:
        storage.generation += 1
        storage.value, storage.laid = value, None
    elif view.order is not None and view.order is storage.order:
        storage.generation += 1
        storage.laid = value, view.order
        storage.value, view.value = None, value
    else:
        let_go(t)
        will_be_written(t)
        if not _write_part(storage, view, value):
            call = engine.call_of(WRITE, (T, T, *view.key()))
            storage.value = engine.record_over(call, (storage.value or storage.content(), value))
        view.value = None if overlaps(view.aval.shape, view.stride) else value
    if view is not None:
        view.generation = storage.generation if storage.host is None else -1
    if t._counter is None:
        storage.version += 1
    else:
        t._counter.version += 1


def write_all(tensors: list[Tensor], values: list[Value]) -> None:
    """Gives each tensor its new value, in place of all that it shows."""
    for t, v in zip(tensors, values, strict=True):
        s = t._storage
        if t._view is None and s.value is not None and not v.aval.traced:
            s.generation += 1
            s.value = v
            (t._counter or s).version += 1
        else:
            write(t, v)


def values_of(tensors: list[Tensor]) -> list[Value]:
    """What the tensors show now."""
    values = [t._storage.value if t._view is None else None for t in tensors]
    return [value_of(t) for t in tensors] if None in values else values      # type: ignore[return-value]


def lay_out(t: Tensor, stride: tuple[int, ...], offset: int = 0, among: Value | None = None) -> None:
    """Gives a tensor just made, which owns its storage, other strides. Where they are dense nothing is computed for it.

    ``among``: the content of the storage around the tensor, where it is a part of a copy of a larger one.
    """
    s = t._storage
    if t._view is not None:
        s.value, s.aval, s.laid, s.order, t._view = t._view.value, t._view.aval, None, None, None
    aval, value = s.aval, s.value
    if among is not None and (among.aval.np != aval.np or among.aval.numel <= aval.numel):
        among = None
    if aval.traced:
        return
    is_contiguous, order, laid = _order_of(aval, stride) if not offset and among is None else (False, None, None)
    if is_contiguous:
        return
    if order is None:
        room = among if among is not None else _empty(offset + extent(aval.shape, stride) if aval.numel else 0, aval)
        s.value = engine.record(engine.call_of(WRITE, (T, T, aval.shape, stride, offset, aval.dtype)), (room, value))
    else:
        s.value, s.laid = None, (value, order)
        s.order = order
    s.aval = room.aval if laid is None else laid
    t._view = View(aval, stride, offset, value, s.generation, order)


@functools.lru_cache(1024)
def _order_of(aval: Aval, stride: tuple[int, ...]) -> tuple[bool, tuple[int, ...] | None, Aval | None]:
    """Whether these strides are contiguous; else the order of dims in memory, and its aval, None where it has gaps."""
    order = memory_order(aval.shape, stride)
    if stride == contiguous_strides(aval.shape) or order is None:
        return order is not None, None, None
    return False, order, engine.aval_of(tuple([aval.shape[d] for d in order]), aval.np, aval.device)


def _empty(numel: int, aval: Aval) -> Value:
    made = Value(engine.aval_of((numel,), aval.np, aval.device))
    room = out_of_memory.allocated(np.zeros, numel, aval.np)
    made.array = room if aval.device is CPU else engine.put(room, aval.device)
    return made


def contiguous(shape: tuple[int, ...], dtype: dtypes.dtype, device=CPU) -> Aval:
    """The aval of a tensor of this shape, dtype and device."""
    return engine.aval_of(shape, dtype.np, device)


def is_dense(size, stride) -> bool:
    """Whether a geometry covers each element of one block of memory once."""
    return is_non_overlapping_and_dense(size, stride)


_free = [1 << 26]       # the next of the numbers that stand for memory which is not the CPU's


def address(s: Storage) -> int:
    """Where the content is in the CPU's memory, in which it stays from now on; 0 where there is none.

    A GPU's memory is another after each write. Its number only says which storage it is.
    """
    if s.aval.traced:
        raise RuntimeError("Cannot access data pointer of Tensor that doesn't have storage: it stands for the values of a JAX "
                           "transformation.")
    if not s.aval.numel or s.aval.device.type == "meta":
        return 0
    if s.aval.device.type == "cpu":
        return pinned(s).__array_interface__["data"][0]
    if not s.number:
        _free[0], s.number = _free[0] + s.aval.nbytes + 512, _free[0]
    return s.number


def pinned(s: Storage) -> np.ndarray:
    """The host memory of a storage, which will not be given up though no array shares it."""
    if s.host is None:
        s.to_host()
        s.owned = True
    s.stays = True
    return s.host


def deepcopy(s: Storage, memo: dict) -> Storage:
    """A storage of its own with the same content, the same one for all tensors that share ``s``."""
    if id(s) in memo:
        return memo[id(s)]
    made = Storage(s.content())
    memo[id(s)] = made
    memo[id(made)] = s      # keeps ``s`` alive while its id is in the memo
    return made


def sent(s: Storage) -> tuple:
    """Return (function, arguments) that make a storage again in another process of the same program: by a NumPy array."""
    if s.host is not None:
        array = s.host.reshape(s.aval.shape).copy()
    else:
        value = s.content()
        engine.read(value)
        array = np.array(engine.host_array(value))
    return unpickled, (array, str(s.aval.device))


def unpickled(array: np.ndarray, device: str) -> Storage:
    """Return the storage of what ``sent`` gave, or of a pickle that an earlier version wrote."""
    from jtorch.device import device as make_device
    place = make_device(device)
    return Storage(Value(engine.aval_of(array.shape, array.dtype, place), array if place is CPU else engine.put(array, place)))


def _load_from_bytes(b: bytes) -> Any:
    """Return the storage that is saved in these bytes. Plain pickles call this function, as PyTorch's do."""
    from jtorch.serialization.plain import storage_of
    return storage_of(b)


def reduced(s: Any) -> tuple:
    """Return (function, arguments) that make a storage again: one of a tensor, or one that users see."""
    from jtorch.serialization.plain import bytes_of
    return _load_from_bytes, (bytes_of(s),)


Storage.__reduce__ = reduced        # type: ignore[method-assign,assignment]


speedups.connect(globals(), "storage")
