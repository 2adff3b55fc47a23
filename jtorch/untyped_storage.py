"""torch.UntypedStorage: the memory behind tensors, as bytes."""
from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

import jtorch.device as devices
from jtorch import engine
from jtorch.engine import Value
from jtorch.storage import Storage, address, of_memory, pinned


class UntypedStorage:
    """The memory behind tensors, as ``Tensor.untyped_storage()`` shows it. See torch.UntypedStorage.

    Made of a number of bytes, or of a sequence of integers.
    """

    filename: str | None = None     # of the file that writes go to, where there is one

    def __init__(self, given: Any = 0, *, device: Any = None):
        self._storage = given if isinstance(given, Storage) else _made(given)
        if device is not None:
            self._storage = self.to(device=device)._storage

    @classmethod
    def from_file(cls, filename: str | os.PathLike, shared: bool = False, nbytes: int = 0) -> UntypedStorage:
        """The bytes of a file. With ``shared`` they are written to it, and it grows as far as that takes."""
        made = cls(_of_array(_mapped(os.fspath(filename), shared, nbytes)))
        made._storage.shared = True
        if shared:
            made.filename = os.fspath(filename)
        return made

    # ------------------------------------------------------------ what it is

    def data_ptr(self) -> int:
        """Where the memory begins. See ``Tensor.data_ptr``."""
        return address(self._storage)

    @property
    def _cdata(self) -> int:
        """A number of the storage itself, which says whether tensors share memory and leaves the memory as it is."""
        return id(self._storage)

    def nbytes(self) -> int:
        """The size of the memory in bytes."""
        return self._storage.aval.nbytes

    size = __len__ = nbytes

    def element_size(self) -> int:
        """1: the elements are bytes."""
        return 1

    def resizable(self) -> bool:
        """Whether the memory may grow: not where NumPy arrays, files or other processes share it."""
        return self._storage.host is None or self._storage.owned

    def __eq__(self, other):
        return isinstance(other, UntypedStorage) and other._storage is self._storage

    def __hash__(self):
        return hash(id(self._storage))

    def __repr__(self) -> str:
        shown = "..." if self.device.type == "meta" else " " + "\n ".join(map(str, self.tolist()))
        return f"{shown}\n[torch.storage.UntypedStorage(device={self.device}) of size {self.nbytes()}]"

    @property
    def device(self):
        """Where the memory is."""
        return self._storage.aval.device

    @property
    def is_cuda(self) -> bool:
        """Whether the memory is a GPU's."""
        return self.device.type == "cuda"

    def untyped(self) -> UntypedStorage:
        """Itself."""
        return self

    # ------------------------------------------------------------ its bytes

    def tolist(self) -> list[int]:
        """The bytes as integers."""
        return _bytes_now(self._storage).tolist()

    def __iter__(self) -> Iterator[int]:
        return iter(self.tolist())

    def __getitem__(self, at: int | slice) -> Any:
        if isinstance(at, slice):
            return UntypedStorage(_of_array(self._memory()[_bounds(at, self.nbytes())]))
        return int(_bytes_now(self._storage)[_position(at, self.nbytes())])

    def __setitem__(self, at: int | slice, value: int) -> None:
        where = _bounds(at, self.nbytes()) if isinstance(at, slice) else _position(at, self.nbytes())
        self._memory()[where] = value % 256

    def fill_(self, value: int) -> UntypedStorage:
        """Makes all bytes the same."""
        self[:] = value
        return self

    def copy_(self, source: UntypedStorage, non_blocking: bool | None = None) -> UntypedStorage:
        """Takes the bytes of another storage of the same size."""
        if source.nbytes() != self.nbytes():
            raise RuntimeError(f"size does not match, self was {self.nbytes()} bytes but src was {source.nbytes()} bytes")
        self._memory()[:] = _bytes_now(source._storage)
        return self

    def clone(self) -> UntypedStorage:
        """A storage of its own with the same bytes."""
        return UntypedStorage(_of_array(_bytes_now(self._storage).copy())).to(device=self.device)

    def _memory(self) -> np.ndarray:
        """The bytes, to be written to: tensors see it as they see what NumPy writes."""
        if self.device.type != "cpu":
            raise NotImplementedError(f"single bytes of memory on {self.device} can't be reached: move the storage to the CPU")
        return pinned(self._storage).view(np.uint8)

    # ------------------------------------------------------------ where it is

    def to(self, *, device, non_blocking: bool = False) -> UntypedStorage:
        """The same content on a device; itself if it is there already."""
        place, aval = devices.canonical(devices.as_device(device)), self._storage.aval
        if place is aval.device:
            return self
        there = engine.aval_of(aval.shape, aval.np, place)
        if place.type == "meta":
            return UntypedStorage(Storage(Value(there, engine.hollow(aval.shape, aval.np))))
        value = self._storage.content()
        engine.read(value)
        return UntypedStorage(Storage(Value(there, engine.moved(value, place))))

    def cpu(self) -> UntypedStorage:
        """The same content in the CPU's memory."""
        return self.to(device="cpu")

    def cuda(self, device=None, non_blocking: bool = False) -> UntypedStorage:
        """The same content in a GPU's memory."""
        return self.to(device="cuda" if device is None else devices.device("cuda", device) if isinstance(device, int) else device)


def _made(given: Any) -> Storage:
    if isinstance(given, int | np.integer):
        return _of_array(np.zeros(int(given), np.uint8))
    if not isinstance(given, Sequence):
        raise RuntimeError(f"torch.UntypedStorage(): Expected a sequence type, but got {type(given).__name__}")
    odd = next((x for x in given if not isinstance(x, int)), None)
    if odd is not None:
        raise RuntimeError(f"torch.UntypedStorage(): tried to construct a storage from a sequence ({type(given).__name__}), but "
                           f"one of the items was of type {type(odd).__name__} instead of int")
    return _of_array(np.array([x % 256 for x in given], np.uint8))


def _of_array(array: np.ndarray) -> Storage:
    """A storage of bytes: of memory that belongs to others, where the array does not own it, else of a new value."""
    aval = engine.aval_of(array.shape, array.dtype, engine.CPU)
    return Storage(Value(aval, array)) if array.base is None else of_memory(aval, array)


def _mapped(filename: str, shared: bool, nbytes: int) -> np.ndarray:
    how = "read-write" if shared else "read-only"
    try:
        with open(os.open(filename, os.O_RDWR | os.O_CREAT if shared else os.O_RDONLY), "r+b" if shared else "rb") as file:
            found = os.fstat(file.fileno()).st_size
            if found < nbytes and shared:
                os.truncate(file.fileno(), nbytes)
            elif found < nbytes:
                raise RuntimeError(f"file <{filename}> size <{found}> is smaller than the required mapping size <{nbytes}>")
            if not nbytes:
                return np.zeros(0, np.uint8)
            return np.asarray(np.memmap(file, np.uint8, "r+" if shared else "c", shape=(nbytes,)))
    except OSError as e:
        raise RuntimeError(f"unable to open file <{filename}> in {how} mode: {e.strerror} ({e.errno})") from None


def _bytes_now(s: Storage) -> np.ndarray:
    """What the memory holds now, to be read at once."""
    if s.host is not None:
        return s.host.view(np.uint8)
    if s.aval.device.type == "meta":
        raise NotImplementedError("Not available for 'meta' device")
    value = s.content()
    engine.read(value)
    return np.ascontiguousarray(engine.host_array(value)).reshape(-1).view(np.uint8)


def _position(at: Any, size: int) -> int:
    if not isinstance(at, int | np.integer):
        raise TypeError(f"can't index a torch.UntypedStorage with {type(at).__name__}")
    found = int(at) + size if at < 0 else int(at)
    if not 0 <= found < size:
        raise IndexError(f"index {found} out of range for storage of size {size}")
    return found


def _bounds(at: slice, size: int) -> slice:
    start, stop, step = at.indices(size)
    if step != 1:
        raise RuntimeError(f"Trying to slice with a step of {step}, but only a step of 1 is supported")
    return slice(start, stop)
