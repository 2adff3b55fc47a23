"""Objects passed between processes: pickles, with the memory of large arrays in files of a memory file system.

A file holds the memory of one object. The reader maps it privately and removes its name, so the memory lives as long as the
arrays made of it, and nothing is copied. Small objects go through the pipe.
"""
from __future__ import annotations

import functools
import importlib.util
import io
import itertools
import mmap
import os
import pickle
import shutil
import sys
import tempfile
import types
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jtorch import engine, storage
from jtorch._api.creation import from_host, reduced
from jtorch._api.shared_memory import NOT_A_LEAF
from jtorch._backward.view_history import node_of
from jtorch.tensor import Parameter, Tensor

SMALL = 128 << 10       # Bytes: smaller objects go through the pipe, which is as fast for them as a file.
MAX_MAPS = 200          # The number of files held open at once; further files are read into memory.
ALIGNED = 64

_maps: weakref.WeakSet[mmap.mmap] = weakref.WeakSet()


class Folders:
    """The folders of files: one in memory, and one on the disk for objects that do not fit into memory.

    The folders are removed with their content when this object is, or at the end of the program.
    """

    def __init__(self) -> None:
        fast = ["/dev/shm"] if os.access("/dev/shm", os.W_OK) else []
        self.paths = [tempfile.mkdtemp(prefix=f"jtorch-{os.getpid()}-", dir=place) for place in (*fast, None)]
        self.remove = weakref.finalize(self, remove, self.paths)


def remove(folders: Sequence[str]) -> None:
    """Remove folders and their content."""
    for path in folders:
        shutil.rmtree(path, ignore_errors=True)


class Names:
    """The file names of one process in each of some folders."""

    def __init__(self, folders: Sequence[str], prefix: str) -> None:
        self.folders, self.prefix, self.numbers = folders, prefix, itertools.count()

    def next(self) -> list[str]:
        """Return a new path in each folder."""
        name = f"{self.prefix}-{next(self.numbers)}"
        return [os.path.join(folder, name) for folder in self.folders]


class _Rules:
    """Rules of pickling, mixed into a pickler.

    ``main`` says whether the pickle refers to ``__main__``. ``held`` collects the arrays whose files are kept. If it is
    None, no files are kept.
    """

    main = False
    held: list | None = None

    def reducer_override(self, obj: Any) -> Any:
        if isinstance(obj, (type, types.FunctionType)):
            self.main = self.main or obj.__module__ == "__main__"
        elif isinstance(obj, Tensor):
            return _reduced_tensor(obj)
        elif obj.__class__ is storage.Storage:
            return (self.held is not None and _kept_storage(obj, self.held)) or storage.sent(obj)
        elif obj.__class__ is np.memmap and _is_whole_file(obj):
            mode = "c" if obj.mode == "c" else "r" if obj.mode == "r" else "r+"
            return np.memmap, (obj.filename, obj.dtype, mode, obj.offset, obj.shape, "C" if obj.flags.c_contiguous else "F")
        above = getattr(super(), "reducer_override", None)
        return NotImplemented if above is None else above(obj)


class _Pickler(_Rules, pickle.Pickler):
    pass


def _reduced_tensor(t: Tensor) -> Any:
    """Reduce a tensor. The whole storage of a Parameter is sent, and of a tensor that shows at least half of the storage."""
    if node_of(t) is not None:
        raise RuntimeError(NOT_A_LEAF)
    if t.__class__ not in (Tensor, Parameter):
        return NotImplemented
    if t._storage.aval.nbytes <= 2 * storage.aval_of(t).nbytes or t.__class__ is Parameter:
        return reduced(t)
    value = storage.value_of(t)
    engine.read(value)
    small = from_host(np.ascontiguousarray(engine.host_array(value)), storage.aval_of(t).device)
    return reduced(small)


# Bytes: the smallest array that gets a file of its own, and the limit for all such files together.
KEPT_ALONE, KEPT_TOGETHER = 1 << 20, 2 << 30
_kept: dict[int, tuple[str, int]] = {}           # Maps the id of a tensor's array to its file and size.
_kept_names: list[Names] = []


def _kept_storage(s: storage.Storage, held: list) -> Any:
    """Reduce a storage to the file of its elements, which is kept for the next epoch, since its array never changes.

    Return None if the elements have no such array, are few, or find no space in files.
    """
    if s.host is not None or s.aval.nbytes < KEPT_ALONE or s.content().array.__class__ is not np.ndarray:
        return None
    array = s.content().array
    if id(array) not in _kept and not _keep(array):
        return None
    held.append(array)
    return _of_file, (_kept[id(array)][0], s.aval.shape, s.aval.np)


def _keep(array: np.ndarray) -> bool:
    if sum(size for _, size in _kept.values()) + array.nbytes > KEPT_TOGETHER:
        return False
    if not _kept_names:
        _kept_folders.append(Folders())
        _kept_names.append(Names(_kept_folders[0].paths, "kept"))
    path = _kept_names[0].next()[0]
    if not _written(path, [np.ascontiguousarray(array).reshape(-1).view(np.uint8).data]):
        return False
    _kept[id(array)] = path, array.nbytes
    weakref.finalize(array, _forget, id(array))
    return True


_kept_folders: list[Folders] = []


def _forget(key: int) -> None:
    path, _ = _kept.pop(key)
    if os.path.exists(path):
        os.unlink(path)


def _of_file(path: str, shape: tuple[int, ...], dtype: np.dtype) -> storage.Storage:
    """Return the storage that a file holds, in a worker; the workers share its pages."""
    return from_host(np.frombuffer(_memory(path, keep=True), dtype).reshape(shape))._storage


def _is_whole_file(array: np.memmap) -> bool:
    """Return whether an array is a memmap itself, not a part of one, so that another process can open the same file."""
    return isinstance(array.base, mmap.mmap) and array.filename is not None and (
        array.flags.c_contiguous or array.flags.f_contiguous)


def dumps(obj: Any, names: Names | None, by_value: bool = False, held: list | None = None) -> tuple[Any, bool]:
    """Pickle an object: return what ``loads`` takes, and whether the pickle refers to ``__main__``.

    With ``held``, large tensors are sent by files, and their arrays are added to ``held``. A file lasts as long as its array,
    so that the tensor can be sent again. ``by_value`` sends classes and functions of ``__main__`` and lambdas as code, which
    needs cloudpickle.
    """
    text = io.BytesIO()
    buffers: list[memoryview] = []
    pickler: Any = (_value_pickler() if by_value else _Pickler)(text, protocol=5, buffer_callback=_collector(buffers))
    pickler.held = held
    pickler.dump(obj)
    sizes = [b.nbytes for b in buffers]
    if names is not None and sum(sizes) >= SMALL:
        for path in names.next():
            if _written(path, buffers):
                return (text.getvalue(), path, sizes), pickler.main
    return (text.getvalue(), None, [bytearray(b) for b in buffers]), pickler.main


def _collector(buffers: list[memoryview]) -> Callable[[pickle.PickleBuffer], bool]:
    def keep(buffer: pickle.PickleBuffer) -> bool:
        buffers.append(buffer.raw())
        return False
    return keep


def has_cloudpickle() -> bool:
    """Return whether classes and functions can be sent by value, which needs cloudpickle."""
    return importlib.util.find_spec("cloudpickle") is not None


@functools.cache
def _value_pickler() -> type:
    import cloudpickle  # type: ignore[import-untyped]
    return type("_ValuePickler", (_Rules, cloudpickle.Pickler), {})


def _written(path: str, buffers: Sequence[memoryview]) -> bool:
    """Write all buffers at aligned offsets; return whether the file system had space for them."""
    try:
        with open(path, "xb") as file:
            for b in buffers:
                file.seek(-(-file.tell() // ALIGNED) * ALIGNED)
                file.write(b)
    except OSError:
        if os.path.exists(path):
            os.unlink(path)
        return False
    return True


def loads(sent: Any, keep: bool = False) -> Any:
    """Return the object that was given to ``dumps``. ``keep`` leaves the file for other readers."""
    text, path, parts = sent
    if path is None:
        return pickle.loads(text, buffers=parts)
    return pickle.loads(text, buffers=_placed(_memory(path, keep), parts))


def _placed(memory: Any, sizes: Sequence[int]) -> list[memoryview]:
    out, end = [], 0
    view = memoryview(memory)
    for n in sizes:
        start = -(-end // ALIGNED) * ALIGNED
        end = start + n
        out.append(view[start:end])
    return out


def _memory(path: str, keep: bool) -> Any:
    with open(path, "rb") as file:
        if len(_maps) < MAX_MAPS:
            found: Any = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)
            _maps.add(found)
        else:
            found = bytearray(os.fstat(file.fileno()).st_size)
            file.readinto(found)
    if not keep and sys.platform != "win32":
        os.unlink(path)
    return found
