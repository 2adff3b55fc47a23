"""Storages, which tensors share, and the views through which tensors show them.

A storage's content is one immutable value, which each write replaces, or host memory that a NumPy array shares. A tensor
shows its storage either whole (``tensor._view`` is None) or through a ``View``: size, stride and offset in elements.
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
from jtorch.engine import CPU, Aval, Value, batched, out_of_memory, policy
from jtorch.ops import memory  # noqa: F401  (declares _read_view and _write_view)
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
    """The memory that tensors share. Autograd compares ``version``, views compare ``generation``."""

    __slots__ = ("__dict__", "__weakref__", "aval", "generation", "has_separate_version", "saved", "value", "version")

    # The content until a use needs memory order: (value in the tensor's shape, its dims from slowest to fastest in memory).
    permuted: Any = None
    host: Any = None        # the NumPy array that is the content while NumPy arrays share the memory
    # The dims of the last ``permuted``. A write to a view with this order makes the content ``permuted`` again.
    order: Any = None
    previous: Any = None    # the value before the content moved to host memory, if a node may have saved it
    written_by: Any = None  # a weak reference to the node of the last tracked write
    number = 0              # the address that ``address`` reports for an accelerator's memory
    shared: Any = None      # the segment that other processes share; True for a file's memory, None for private memory
    owned = False           # the host memory's address is known, but no NumPy array has been exported
    pinned = False          # the address is known, so the host memory must stay
    exported = False        # a NumPy array has shared the memory, so the memory may not grow
    copied: Any = None      # the value of the last copy of the host memory
    sliced = 0              # counts reads of rows, by indices or slices: see ``_is_taken_apart`` in _api/indexing.py
    first_row: tuple[int, int] | None = None     # (number of a trace, index of the first row that it read)
    offsets: dict[tuple, int] | None = None      # maps (step, count) of a slice of rows to its first start
    parts: set[tuple] | None = None     # slices along dims after the first: see ``_is_taken_apart`` in _api/indexing.py
    places: set[tuple] | None = None    # the first geometries that were written: see ``_is_written_at_once``
    rows: Any = None        # the geometry that all rows share, once many were read: see ``_part_of`` in _api/indexing.py

    def __init__(self, value: Value):
        self.value: Any = value         # None while ``host`` or ``permuted`` has the content
        self.aval = value.aval
        self.version = self.generation = 0
        self.has_separate_version = False      # tensors with a version of their own have shared this storage
        self.saved = 0          # counts nodes that hold the content; nodes that were dropped stay counted

    def host_view(self, view: View | None) -> np.ndarray:
        """Return the part of the host memory that a view shows, as an array that shares it."""
        aval = self.aval if view is None else view.aval
        if not aval.numel:      # NumPy gives no strides to arrays without elements
            return np.ndarray(aval.shape, aval.np, self.host.view(np.uint8), 0, [0] * len(aval.shape))
        if view is None:
            return self.host.reshape(self.aval.shape)
        width = view.aval.np.itemsize
        return np.ndarray(view.aval.shape, view.aval.np, self.host.view(np.uint8), view.offset * width,
                          [s * width for s in view.stride])

    def content(self) -> Value:
        """Return the whole content as a value, with a copy of host memory that others may write to."""
        if self.value is not None:
            return self.value
        if self.permuted is not None:
            value, order = self.permuted
            self.value, self.permuted = engine.record(engine.call_of(PERMUTE, (T, order)), (value,)), None
            return self.value
        if self.is_only_here():
            self._take_back()
            return self.value       # type: ignore[return-value]
        self.copied = copied(self.copied, self.aval, self.host.reshape(self.aval.shape))
        return self.copied

    def is_only_here(self) -> bool:
        """Return whether only this storage refers to the host memory and to the NumPy array that owns it."""
        if self.pinned or getrefcount(self.host) > _ONLY_HERE:
            return False
        if self.host.base is None:
            return True
        if self.host.base.__class__ is not np.ndarray or getrefcount(self.host.base) > _ONLY_HERE:
            return False
        return self.host.base.base is None and self.host.base.flags.owndata and not getweakrefcount(self.host.base)

    def _take_back(self) -> None:
        """Turn host memory that no NumPy array shares any more into an immutable value."""
        self.generation += 1
        self.exported = self.exported or not self.owned
        self.value, self.host, self.previous = Value(self.aval, self.host.reshape(self.aval.shape)), None, None
        self.copied = None

    def become(self, value: Value, aval: Aval) -> None:
        """Replace the content and its aval, which may name another device."""
        self.value, self.host, self.aval = value, None, aval
        self.generation += 1

    def move_into(self, array: np.ndarray) -> None:
        """Make an array of host memory the content."""
        self.generation += 1
        self.host, self.value = array, None

    def give_form(self, aval: Aval) -> None:
        """Reinterpret the bytes with another dtype and shape if no copy is needed. No tensor may show the whole storage yet."""
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
        """Move the content to host memory that NumPy arrays can share and write."""
        self.owned = False
        if self.host is None:
            value = self.content()
            engine.read(value)
            if self.saved:      # nodes that saved the content need to see what NumPy writes
                self.previous = None if self in untracked_writes else value
                untracked_writes[self] = 0
            self.generation += 1
            self.host = out_of_memory.allocated(np.empty, self.aval.numel, self.aval.np)
            self.host.reshape(self.aval.shape)[...] = engine.host_array(value)
            self.value = None

    @property
    def may_grow(self) -> bool:
        """Whether the memory may grow. It may not once NumPy arrays, files or other processes have shared it."""
        return self.owned or (self.host is None and not self.exported)


class View:
    """The geometry of a tensor that shows part of its storage, or all of it in another order, with the value it last showed."""

    __slots__ = ("aval", "generation", "in_order", "offset", "order", "stride", "value")

    def __init__(self, aval: Aval, stride: tuple[int, ...], offset: int, value: Value | None, generation: int, order: Any = None):
        self.aval, self.stride, self.offset, self.value, self.generation = aval, stride, offset, value, generation
        self.in_order = False   # True if the view is known to be contiguous
        self.order = order      # the memory order of the dims, if the view is a permutation of the whole storage

    level: Any = None           # the ``vmap`` of a ``SampleView``

    def key(self) -> tuple:
        """Return the static arguments of the ops ``_read_view`` and ``_write_view``."""
        return (self.aval.shape, self.stride, self.offset, self.aval.dtype)

    def part(self, aval: Aval, stride: tuple[int, ...], offset: int, value: Value | None, generation: int,
             order: Any = None) -> View:
        """Return a view of the same storage with another geometry."""
        return View(aval, stride, offset, value, generation, order)

    def copy(self) -> View:
        """Return the same view for another tensor, which caches its own value."""
        return self.part(self.aval, self.stride, self.offset, self.value, self.generation, self.order)


class SampleView(View):
    """A view that shows one sample of a ``vmap`` in a storage that holds all samples.

    ``whole`` shows all samples: it has one more dim in front, with the stride ``apart``. Under nested ``vmap`` it is a
    ``SampleView`` too.
    """

    __slots__ = ("apart", "level", "whole")

    def __init__(self, whole: View, level: batched.Level):
        super().__init__(batched.aval_of_sample(whole.aval), whole.stride[1:], whole.offset, None, -1)
        self.whole, self.level, self.apart = whole, level, whole.stride[0]
        self.in_order = self.stride == contiguous_strides(self.aval.shape)
        whole.in_order = whole.stride == contiguous_strides(whole.aval.shape)

    def part(self, aval: Aval, stride: tuple[int, ...], offset: int, value: Value | None, generation: int,
             order: Any = None) -> View:
        """See View.part."""
        whole = reshaped(self.whole.aval, (self.whole.aval.shape[0], *aval.shape), aval.np)
        apart = self.apart * self.aval.np.itemsize // aval.np.itemsize
        made = SampleView(self.whole.part(whole, (apart, *stride), offset, None, -1), self.level)
        made.aval, made.value, made.generation = aval, value, generation
        return made


def show_sample(t: Tensor, dim: int, level: batched.Level) -> None:
    """Make a tensor show one of its samples along a dim."""
    (size, stride, offset), aval = geometry_of(t), aval_of(t)
    order = (dim, *[d for d in range(len(size)) if d != dim])
    shown = t._view or View(aval, stride, offset, None, -1)
    led = reshaped(aval, tuple([size[d] for d in order]), aval.np)
    t._view = SampleView(shown.part(led, tuple([stride[d] for d in order]), offset, None, -1), level)


def reshaped(aval: Aval, shape: tuple[int, ...], dtype: Any) -> Aval:
    """Return an aval with another shape and dtype, traced if ``aval`` is."""
    return batched.traced_like(shape, dtype, aval.device) if aval.traced else engine.aval_of(shape, dtype, aval.device)


def of_memory(aval: Aval, array: np.ndarray) -> Storage:
    """Return a storage over an array's memory, which others share or own. Writes to the storage write to that memory."""
    s = Storage(Value(aval))
    s.value, s.host = None, array
    return s


_ONLY_HERE = 2      # the reference count of what only the storage holds: the storage's reference and getrefcount's argument


def copied(before: Value | None, aval: Aval, array: np.ndarray) -> Value:
    """Return host memory as a value: ``before`` if the bytes have not changed, else a copy.

    NumPy may write to the memory at any time. Comparing is faster than copying, since XLA would copy the new array again.
    """
    if before is not None and before.array is not None and before.aval is aval \
            and _are_equal(engine.host_array(before), array):       # ``before`` has no array if a program has taken the memory
        return before
    return Value(aval, array.copy())


def _are_equal(a: np.ndarray, b: np.ndarray) -> bool:
    """Return whether two arrays of one dtype and shape have the same bytes. Return False for small arrays."""
    if b.size < policy.LARGE or not (a.flags.c_contiguous and b.flags.c_contiguous):
        return False
    unit = np.uint64 if b.nbytes % 8 == 0 else np.uint8
    x, y, n = a.reshape(-1).view(unit), b.reshape(-1).view(unit), policy.SHARED
    return all((x[i:i + n] == y[i:i + n]).all() for i in range(0, x.size, n))


class VersionCounter:
    """The version of a tensor that shares memory, but no version, with other tensors, such as ``x.data``."""

    __slots__ = ("version",)

    def __init__(self, version: int = 0):
        self.version = version


class SavedTensorRef:
    """The version counter and geometry of a tensor saved for backward.

    A tensor that shows its whole storage and has neither a base nor its own counter is represented by the storage.
    """

    __slots__ = ("counter", "storage", "tensor", "view")

    def __init__(self, t: Tensor):
        self.counter, self.storage, self.view, self.tensor = t._counter or t._storage, t._storage, t._view, weakref.ref(t)

    @property
    def version(self) -> int:
        """The tensor's version now."""
        return self.counter.version


# Maps each storage that nodes may have saved, and that had an untracked write, to the number of backwards since that write.
untracked_writes: weakref.WeakKeyDictionary[Storage, int] = weakref.WeakKeyDictionary()
# Storages that ``t.data = other`` has replaced, with a weak reference to ``t``.
abandoned: weakref.WeakKeyDictionary[Storage, weakref.ref] = weakref.WeakKeyDictionary()


def count_saved(versions: tuple, by: int) -> None:
    """Count the storages that a node has saved (``by`` is 1) or released (-1)."""
    for counter, _ in versions:
        s = counter.storage if counter.__class__ is SavedTensorRef else counter
        if s.__class__ is Storage:
            s.saved += by


def relocate(s: Storage, value: Value) -> None:
    """Replace the content by a value with the same elements in another layout on the device. This counts as no write."""
    s.value = value


def value_of(t: Tensor) -> Value:
    """Return the value that the tensor shows now."""
    view, storage = t._view, t._storage
    if view is None:
        return storage.value or storage.content()
    if view.generation == storage.generation and storage.host is None and view.value is not None:
        return view.value
    return shown_by(storage, view)


def shown_by(storage: Storage, view: View) -> Value:
    """Return the value that a view of a storage shows now."""
    if storage.host is not None:
        if view.aval.numel and storage.is_only_here():
            storage.content()
            return shown_by(storage, view)
        if view.level is not None:
            return batched.of_samples(shown_by(storage, view.whole), view.level)     # type: ignore[attr-defined]
        view.value = copied(view.value, view.aval, storage.host_view(view))
        return view.value
    if view.generation != storage.generation or view.value is None:
        if view.aval is storage.aval and view.in_order:
            return storage.value or storage.content()
        if view.level is not None:
            view.value = batched.of_samples(shown_by(storage, view.whole), view.level)       # type: ignore[attr-defined]
            view.generation = storage.generation
            return view.value
        is_row = storage.rows is not None and view.in_order
        part = host_slice(storage, view.aval, view.stride, view.offset, in_order=True) if is_row else None
        view.value = part or engine.record(engine.call_of(READ, (T, *view.key())), (storage.value or storage.content(),))
        view.generation = storage.generation
    return view.value


def host_slice(s: Storage, aval: Aval, stride: tuple[int, ...], offset: int, in_order: bool) -> Value | None:
    """Return a view's elements as a new input of the trace, sliced by NumPy without a call. Return None if that is impossible.

    The result is a copy if the memory is XLA's, which may be donated later, or if the view is not contiguous.
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
    if not aval.np.isbuiltin or not aval.numel:     # dtypes of ml_dtypes have no buffer interface
        return None
    width = aval.np.itemsize
    return Value(aval, np.ndarray(aval.shape, aval.np, flat, offset * width, [n * width for n in stride]).copy("C"))


def aval_of(t: Tensor) -> Aval:
    """Return the tensor's aval without computing its value."""
    return t._storage.aval if t._view is None else t._view.aval


@functools.lru_cache(1024)
def _whole(shape: tuple[int, ...]) -> tuple[tuple[int, ...], tuple[int, ...], int]:
    return shape, contiguous_strides(shape), 0


def geometry_of(t: Tensor) -> tuple[tuple[int, ...], tuple[int, ...], int]:
    """Return the tensor's (size, stride, offset) in its storage."""
    if t._view is None:
        return _whole(t._storage.aval.shape)
    return t._view.aval.shape, t._view.stride, t._view.offset


def show_part(t: Tensor, aval: Aval, stride: tuple[int, ...], offset: int = 0) -> None:
    """Make a tensor show a part of its storage."""
    t._view = View(aval, stride, offset, None, -1)


def show(t: Tensor, s: Storage, view: View | None) -> None:
    """Make a tensor show a storage: all of it, or through a view."""
    t._storage, t._view = s, view


def write_part(t: Tensor, part: tuple[Aval, tuple[int, ...], int], value: Value | np.ndarray) -> bool:
    """Write to a part (aval, strides, offset) of the tensor's storage. Autograd does not track the write.

    An array as ``value`` holds a single number. NumPy writes the number at once if it can; else the part must be one element on
    the CPU. Return False, and write nothing, if another function has to write.
    """
    s = t._storage
    if s.host is not None or s.order is not None or s.saved or s.has_separate_version or s.aval.traced or aval_of(t).traced \
            or overlaps(part[0].shape, part[1]):
        return False
    drop_view_cache(t)
    will_be_written(t)
    if value.__class__ is np.ndarray:
        if _is_of_host(s.value) and write_at(s, *part, value):
            count_write(t)
            return True
        if part[0].shape or part[0].device is not CPU:
            return False
        value = Value(part[0], value)
    if not _is_written_at_once(s, part, value):       # type: ignore[arg-type]
        _record_write(s, part, value)       # type: ignore[arg-type]
    count_write(t)
    return True


def _record_write(s: Storage, part: tuple[Aval, tuple[int, ...], int], value: Value) -> None:
    """Write a value to a part of a storage as a call of the trace."""
    aval, stride, offset = part
    call = engine.call_of(WRITE, (T, T, aval.shape, stride, offset, aval.dtype))
    s.value = engine.record_over(call, (s.value or s.content(), value))


def count_write(t: Tensor) -> None:
    """Increase the tensor's version, as after a write."""
    (t._counter or t._storage).version += 1


def own_version(t: Tensor, version: int = 0) -> None:
    """Give a tensor its own version counter, which other tensors of the storage do not share."""
    t._counter = VersionCounter(version)
    count_apart(t)


def count_apart(t: Tensor) -> None:
    """Note that tensors of this storage have separate version counters."""
    t._storage.has_separate_version = True


def set_version(t: Tensor, version: int) -> None:
    """Set the tensor's version, for writes that autograd need not see."""
    (t._counter or t._storage).version = version


def check_writable(t: Tensor) -> None:
    """Raise RuntimeError if elements of the tensor share memory, as after ``expand``."""
    if t._view is not None and 0 in t._view.stride:
        require_not_expanded(t._view.aval.shape, t._view.stride)


def check_bounds(t: Tensor, aval: Aval, stride: tuple[int, ...], offset: int) -> None:
    """Raise RuntimeError if a geometry reaches beyond the end of the tensor's storage."""
    require_room(aval.shape, stride, offset, aval.np.itemsize, t._storage.aval.nbytes)


def check_overlap(target: Tensor, source: Tensor, entirely: bool = True) -> None:
    """Raise RuntimeError if ``source`` and ``target`` share memory. With ``entirely``, equal geometries are allowed."""
    if source._storage is not target._storage:
        return
    if source is not target:
        places = [_span(t) for t in (target, source)]
        if None in places:
            return      # PyTorch does not check geometries with gaps either
        (begin, end, _stride), (from_begin, from_end, _from_stride) = places      # type: ignore[misc]
        if end <= from_begin or from_end <= begin or (entirely and places[0] == places[1]):
            return
    elif entirely:
        return
    raise RuntimeError("unsupported operation: some elements of the input tensor and the written-to tensor refer to a single "
                       "memory location. Please clone() the tensor before performing the operation.")


def _span(t: Tensor) -> tuple[int, int, tuple[int, ...]] | None:
    """Return (first byte, end, strides) of a dense tensor, or None for other tensors."""
    size, stride, offset = geometry_of(t)
    aval = aval_of(t)
    if not aval.numel or not is_dense(size, stride):
        return None
    return offset * aval.np.itemsize, (offset + aval.numel) * aval.np.itemsize, tuple(stride)


def resize(t: Tensor, shape: tuple[int, ...], stride: tuple[int, ...] | None = None) -> None:
    """Resize a tensor at its storage offset. The storage grows if necessary, with zeros."""
    if aval_of(t).traced and t._view is not None and t._view.level is not None:
        raise NotImplementedError("resizing a tensor of samples inside of vmap is not built")
    held, (_, _, offset) = t._storage.aval, geometry_of(t)
    aval = engine.aval_of(shape, aval_of(t).np, held.device)
    stride = contiguous_strides(shape) if stride is None else stride
    needed = (offset + extent(shape, stride)) * aval.np.itemsize if aval.numel else 0
    if needed > held.nbytes:
        _grow(t, -(-needed // held.np.itemsize))
    whole = aval is t._storage.aval and not offset and stride == contiguous_strides(shape)
    t._view = None if whole else View(aval, stride, offset, None, -1)


def _grow(t: Tensor, numel: int) -> None:
    others = [] if sys.getrefcount(t._storage) == 2 else sharing(t._storage)      # 2 references: t's and getrefcount's argument
    s = t._storage
    if not s.may_grow:
        raise RuntimeError("Trying to resize storage that is not resizable")
    _exchange(s, numel * s.aval.np.itemsize, others)


def resize_memory(s: Storage, nbytes: int) -> None:
    """Resize a storage; new memory is zero. Tensors that reach beyond a smaller size must not be read."""
    if not s.may_grow:
        raise RuntimeError("Trying to resize storage that is not resizable")
    if nbytes != s.aval.nbytes:
        _exchange(s, nbytes, sharing(s))


def _exchange(s: Storage, nbytes: int, others: list) -> None:
    """Replace a storage's memory by memory of another size. Its elements become bytes if the size is no multiple of theirs."""
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
    s.order = s.permuted = s.host = None
    s.owned = s.pinned = False
    s.number = 0
    s.generation += 1


def sharing(s: Storage) -> list:
    """Return the tensors of a storage. This is slow, since it searches all objects of the process."""
    holders = gc.get_referrers(s)
    owners = [o for h in holders if h.__class__ is dict for o in gc.get_referrers(h)]
    return [o for o in (*holders, *owners) if getattr(o, "_storage", None) is s and hasattr(o, "_view")]




def _is_written_at_once(s: Storage, part: tuple[Aval, tuple[int, ...], int], value: Value) -> bool:
    """Write a value to part of a storage at once with NumPy, unless a recorded call is better. Return whether it was written.

    A value from the host is written at once. A program's result, or a value of this trace, is written by a recorded call, so
    that nothing waits for it. But a key-value cache or a replay buffer is written at a new offset each time, and a call for each
    offset would never recur. So after many geometries these values are written at once too. The new content enters the trace as
    an input, as in ``host_slice``.
    """
    if value.array is None or value.aval is not part[0] or not part[0].numel or overlaps(part[0].shape, part[1]):
        return False
    if value.array.__class__ is not np.ndarray or not _is_of_host(s.value) or value.born is engine.current():
        s.places = s.places or set()
        if part in s.places or len(s.places) < policy.DOZENS:
            s.places.add(part)
            return False
    return write_at(s, *part, engine.host_array(value))


def write_at(s: Storage, aval: Aval, stride: tuple[int, ...], offset: int, array: Any) -> bool:
    """Write an array, or a number, to a geometry of the storage at once with NumPy.

    Return False, and change nothing, if that is impossible: the content belongs to the current trace, is not on the CPU, or has
    another dtype. The caller counts the write.
    """
    if s.value is None or s.value.array is None or s.value.born is engine.current() or s.aval.device is not CPU \
            or s.aval.traced or aval.np != s.aval.np or not aval.np.isbuiltin:
        return False
    is_spare = _is_spare(s)
    own = s.value.array if is_spare else np.array(engine.host_array(s.value), order="C")
    width = aval.np.itemsize
    np.ndarray(aval.shape, aval.np, own, offset * width, [n * width for n in stride])[...] = array
    s.value = Value(s.aval, own)
    engine.stats.counters.parts_written += 1
    engine.stats.counters.overwritten += is_spare
    return True


def _is_of_host(value: Value | None) -> bool:
    """Return whether a value is an array of NumPy, which no program is computing."""
    return value is not None and value.array.__class__ is np.ndarray


def _is_spare(s: Storage) -> bool:
    """Return whether nothing else refers to the storage's value, to its array or to the array's memory."""
    return getrefcount(s.value) <= _ONLY_HERE and getrefcount(s.value.array) <= _ONLY_HERE and engine.is_own(s.value.array)


def will_be_written(t: Tensor) -> None:
    """Invalidate the values of views before a write, since an exception may interrupt the write."""
    t._storage.generation += 1


def drop_view_cache(t: Tensor) -> None:
    """Drop the value that a view last showed, which may keep a reference to the content about to be overwritten."""
    if t._view is not None:
        t._view.value = None


def write(t: Tensor, value: Value) -> None:
    """Write ``value``, which has the tensor's shape and dtype, to the tensor's memory."""
    storage, view = t._storage, t._view
    if value.aval.traced or aval_of(t).traced:
        value = batched.spread(value, _levels_of(storage, view), engine.record)
    if storage.saved and storage.has_separate_version:
        untracked_writes[storage] = 0
    _write_to(storage, view, value)
    if t._counter is None:
        storage.version += 1
    else:
        t._counter.version += 1


def _levels_of(storage: Storage, view: View | None) -> list[tuple[batched.Level, int]]:
    """Return (level, number of samples) for each ``vmap`` that has the view as a sample, the innermost first."""
    if view is not None and view.level is not None:
        whole = view.whole      # type: ignore[attr-defined]
        return [(view.level, whole.aval.shape[0]), *_levels_of(storage, whole)]
    return batched.levels_of_value(storage.value)


def _write_to(storage: Storage, view: View | None, value: Value) -> None:
    """Write ``value`` to what a view of a storage shows, without counting the write."""
    if view is not None and view.level is not None:
        view.level.replaced.setdefault(storage, storage.content())
        _write_to(storage, view.whole, batched.samples_of(value, view.level))      # type: ignore[attr-defined,arg-type]
        view.value = None
    elif storage.host is not None:
        engine.read(value)
        storage.generation += 1
        storage.host_view(view)[...] = engine.host_array(value)
    elif view is None or (view.aval is storage.aval and view.in_order):
        storage.generation += 1
        storage.value, storage.permuted = value, None
    elif view.order is not None and view.order is storage.order:
        storage.generation += 1
        storage.permuted = value, view.order
        storage.value, view.value = None, value
    else:
        view.value = None
        storage.generation += 1
        part = view.aval, view.stride, view.offset
        if not _is_written_at_once(storage, part, value):
            _record_write(storage, part, value)
        view.value = None if overlaps(view.aval.shape, view.stride) else value
    if view is not None:
        view.generation = storage.generation if storage.host is None else -1


def restore(contents: dict[Storage, Value]) -> None:
    """Give storages their earlier contents back. This counts as no write."""
    for s, value in contents.items():
        if s.host is not None:
            engine.read(value)
            s.host.reshape(s.aval.shape)[...] = engine.host_array(value)
        else:
            s.value, s.permuted = value, None
        s.generation += 1


def write_all(tensors: list[Tensor], values: list[Value]) -> None:
    """Write a value to each tensor."""
    for t, v in zip(tensors, values, strict=True):
        s = t._storage
        if t._view is None and s.value is not None and not v.aval.traced:
            s.generation += 1
            s.value = v
            (t._counter or s).version += 1
        else:
            write(t, v)


def values_of(tensors: list[Tensor]) -> list[Value]:
    """Return the values that the tensors show now."""
    values = [t._storage.value if t._view is None else None for t in tensors]
    return [value_of(t) for t in tensors] if None in values else values      # type: ignore[return-value]


def lay_out(t: Tensor, stride: tuple[int, ...], offset: int = 0, among: Value | None = None) -> None:
    """Give other strides to a new tensor that owns its storage. Dense strides need no computation.

    ``among``: the content of the whole storage, if the tensor is part of a copy of a larger storage.
    """
    s = t._storage
    if t._view is not None:
        s.value, s.aval, s.permuted, s.order, t._view = t._view.value, t._view.aval, None, None, None
    aval, value = s.aval, s.value
    if among is not None and (among.aval.np != aval.np or among.aval.numel <= aval.numel):
        among = None
    if aval.traced:
        return
    is_contiguous, order, permuted = _order_of(aval, stride) if not offset and among is None else (False, None, None)
    if is_contiguous:
        return
    if order is None:
        room = among if among is not None else _empty(offset + extent(aval.shape, stride) if aval.numel else 0, aval)
        s.value = engine.record(engine.call_of(WRITE, (T, T, aval.shape, stride, offset, aval.dtype)), (room, value))
    else:
        s.value, s.permuted = None, (value, order)
        s.order = order
    s.aval = room.aval if permuted is None else permuted
    t._view = View(aval, stride, offset, value, s.generation, order)


@functools.lru_cache(1024)
def _order_of(aval: Aval, stride: tuple[int, ...]) -> tuple[bool, tuple[int, ...] | None, Aval | None]:
    """Return (are the strides contiguous, the memory order of the dims, the aval in this order).

    The last two are None for contiguous strides and for memory with gaps.
    """
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
    """Return the aval of a contiguous tensor."""
    return engine.aval_of(shape, dtype.np, device)


def is_dense(size, stride) -> bool:
    """Return whether a geometry covers each element of one block of memory once."""
    return is_non_overlapping_and_dense(size, stride)


_free = [1 << 26]       # the next address to report for an accelerator's memory


def address(s: Storage) -> int:
    """Return the content's address in host memory, and pin the content at this address. Return 0 for storages without memory.

    An accelerator's memory changes at each write, so its number only identifies the storage.
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
    """Move a storage to host memory for good and return the array."""
    if s.host is None:
        s.to_host()
        s.owned = True
    s.pinned = True
    return s.host


def deepcopy(s: Storage, memo: dict) -> Storage:
    """Return a copy of a storage: one copy for all tensors that share ``s``."""
    if id(s) in memo:
        return memo[id(s)]
    made = Storage(s.content())
    memo[id(s)] = made
    memo[id(made)] = s      # keeps ``s`` alive while its id is in the memo
    return made


def sent(s: Storage) -> tuple:
    """Return (function, arguments) that rebuild a storage from a NumPy array in another process."""
    if s.host is not None:
        array = s.host.reshape(s.aval.shape).copy()
    else:
        value = s.content()
        engine.read(value)
        array = np.array(engine.host_array(value))
    return unpickled, (array, str(s.aval.device))


def unpickled(array: np.ndarray, device: str) -> Storage:
    """Return the storage that ``sent`` described, or that a pickle of an earlier version holds."""
    from jtorch.device import device as make_device
    place = make_device(device)
    return Storage(Value(engine.aval_of(array.shape, array.dtype, place), array if place is CPU else engine.put(array, place)))


def _load_from_bytes(b: bytes) -> Any:
    """Return the storage that is saved in these bytes. Pickles call this function, as PyTorch's pickles do."""
    from jtorch.serialization.plain import storage_of
    return storage_of(b)


def reduced(s: Any) -> tuple:
    """Return (function, arguments) that rebuild a ``Storage``, an ``UntypedStorage`` or a ``TypedStorage``."""
    from jtorch.serialization.plain import bytes_of
    return _load_from_bytes, (bytes_of(s),)


Storage.__reduce__ = reduced        # type: ignore[method-assign,assignment]


speedups.connect(globals(), "storage")
