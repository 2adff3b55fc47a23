"""torch.UntypedStorage: the memory behind tensors, as bytes."""
from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

import jtorch.device as devices
import jtorch.dtype as dtypes
from jtorch import engine
from jtorch.engine import Value, out_of_memory
from jtorch.storage import Storage, address, deepcopy, of_memory, pinned, reduced, resize_memory


class UntypedStorage:
    """The memory behind tensors, as ``Tensor.untyped_storage()`` shows it. See torch.UntypedStorage.

    It takes a number of bytes or a sequence of integers.
    """

    filename: str | None = None     # the file that the memory maps
    is_sparse = is_sparse_csr = False

    def __init__(self, given: Any = 0, *, device: Any = None):
        self._storage = given if isinstance(given, Storage) else _made(given)
        if device is not None:
            self._storage = self.to(device=device)._storage

    @classmethod
    def from_buffer(cls, buffer: Any, byte_order: str | None = None, offset: int = 0, count: int = -1, *,
                    dtype: Any = None) -> UntypedStorage:
        """Return a copy of a buffer's elements. ``byte_order``: "big", "little" or "native"."""
        return cls(_of_array(_elements_of(memoryview(buffer).cast("B"), byte_order, offset, count, dtype or dtypes.uint8)))

    @classmethod
    def _of_array(cls, array: np.ndarray) -> UntypedStorage:
        return cls(_of_array(array))

    @classmethod
    def from_file(cls, filename: str | os.PathLike, shared: bool = False, nbytes: int = 0) -> UntypedStorage:
        """Map a file's bytes. With ``shared``, writes go to the file, which grows to ``nbytes``."""
        made = cls(_of_array(_mapped(os.fspath(filename), shared, nbytes)))
        made._storage.shared = True
        if shared:
            made.filename = os.fspath(filename)
        return made

    # ------------------------------------------------------------ properties

    def data_ptr(self) -> int:
        """Return the address of the first byte. See ``Tensor.data_ptr``."""
        return address(self._storage)

    @property
    def _cdata(self) -> int:
        """A number that identifies the storage. Unlike ``data_ptr`` it does not pin the memory."""
        return id(self._storage)

    def nbytes(self) -> int:
        """Return the size of the memory in bytes."""
        return self._storage.aval.nbytes

    size = __len__ = nbytes

    def element_size(self) -> int:
        """Return 1, since the elements are bytes."""
        return 1

    def resizable(self) -> bool:
        """Return whether the memory may grow. It may not if NumPy arrays, files or other processes share it."""
        return self._storage.may_grow

    def __eq__(self, other):
        return isinstance(other, UntypedStorage) and other._storage is self._storage

    def __hash__(self):
        return hash(id(self._storage))

    def __sizeof__(self) -> int:
        return object.__sizeof__(self) + self.nbytes()

    def __reduce__(self) -> tuple:
        return reduced(self)

    def __copy__(self) -> UntypedStorage:
        return self.clone()

    def __deepcopy__(self, memo: dict) -> UntypedStorage:
        return type(self)(deepcopy(self._storage, memo))

    def __repr__(self) -> str:
        shown = "..." if self.device.type == "meta" else " " + "\n ".join(map(str, self.tolist()))
        return f"{shown}\n[torch.storage.UntypedStorage(device={self.device}) of size {self.nbytes()}]"

    @property
    def device(self):
        """The memory's device."""
        return self._storage.aval.device

    @property
    def is_cuda(self) -> bool:
        """Whether the memory is on a GPU."""
        return self.device.type == "cuda"

    @property
    def is_hpu(self) -> bool:
        """False: jtorch supports no HPUs."""
        return False

    def get_device(self) -> int:
        """Return the number of the device: -1 for the CPU."""
        return -1 if self.device.type == "cpu" else self.device.index or 0

    def type(self, dtype: Any = None, non_blocking: bool = False) -> str:
        """Return the name of the class."""
        if dtype is not None:
            raise NotImplementedError("UntypedStorage.type(dtype) is not built: use float(), double() and so on")
        return "torch.storage.UntypedStorage"

    def is_pinned(self, device: Any = None) -> bool:
        """Return False: memory is never pinned."""
        return False

    def pin_memory(self, device: Any = None) -> UntypedStorage:
        """Return the same memory, since pinning has no effect."""
        if self.device.type != "cpu":
            raise TypeError(f"cannot pin '{self.type()}' only CPU memory can be pinned")
        return self

    def untyped(self) -> UntypedStorage:
        """Return this storage."""
        return self

    def new(self) -> UntypedStorage:
        """Return an empty storage on the same device."""
        return type(self)(device=self.device)

    # ------------------------------------------------------------ bytes

    def tolist(self) -> list[int]:
        """Return the bytes as integers."""
        self._check_there()
        return _bytes_now(self._storage).tolist()

    def __iter__(self) -> Iterator[int]:
        return iter(self.tolist())

    def _check_there(self) -> None:
        if self.device.type == "meta":
            raise NotImplementedError("Not available for 'meta' device type")

    def __getitem__(self, at: int | slice) -> Any:
        self._check_there()
        if isinstance(at, slice):
            return UntypedStorage(_of_array(self._memory()[_bounds(at, self.nbytes())]))
        return int(_bytes_now(self._storage)[_position(at, self.nbytes())])

    def __setitem__(self, at: int | slice, value: int) -> None:
        where = _bounds(at, self.nbytes()) if isinstance(at, slice) else _position(at, self.nbytes())
        self._memory()[where] = value % 256

    def fill_(self, value: int) -> UntypedStorage:
        """Make all bytes the same."""
        self[:] = value
        return self

    def copy_(self, source: UntypedStorage, non_blocking: bool | None = None) -> UntypedStorage:
        """Copy the bytes of another storage of the same size."""
        if source.nbytes() != self.nbytes():
            raise RuntimeError(f"size does not match, self was {self.nbytes()} bytes but src was {source.nbytes()} bytes")
        if self.device.type == "meta" or not self.nbytes():
            return self
        self._memory()[:] = _bytes_now(source._storage)
        return self

    def resize_(self, size: int) -> UntypedStorage:
        """Resize the memory to a number of bytes; new bytes are 0."""
        if size < 0:
            raise RuntimeError(f"Trying to resize storage to a negative size: {size}")
        resize_memory(self._storage, size)
        return self

    def byteswap(self, dtype: dtypes.dtype) -> None:
        """Reverse the bytes of each element of a dtype; complex elements are reversed part by part."""
        width = dtype.itemsize // (2 if dtype.is_complex else 1)
        if width > 1:
            now = self._memory()[:self.nbytes() // width * width].reshape(-1, width)
            now[...] = now[:, ::-1].copy()

    def _write_file(self, f: Any, is_real_file: bool, save_size: bool, element_size: int) -> None:
        """Write the bytes to a file, after the number of elements if ``save_size`` is set."""
        content = self._now()
        f.write((self.nbytes() // element_size).to_bytes(8, "little") * bool(save_size) + content.tobytes())

    def _now(self) -> np.ndarray:
        return _bytes_now(self._storage)

    def clone(self) -> UntypedStorage:
        """Return a copy."""
        return UntypedStorage(_of_array(_bytes_now(self._storage).copy())).to(device=self.device)

    def _memory(self) -> np.ndarray:
        """Return the pinned bytes as an array. Tensors see writes to it as they see NumPy's."""
        if self.device.type != "cpu":
            raise NotImplementedError(f"single bytes of memory on {self.device} can't be reached: move the storage to the CPU")
        return pinned(self._storage).view(np.uint8)

    # ------------------------------------------------------------ devices

    def to(self, *, device, non_blocking: bool = False) -> UntypedStorage:
        """Return a copy on a device, or this storage if it is on that device."""
        place, aval = devices.canonical(devices.as_device(device)), self._storage.aval
        if place is aval.device:
            return self
        there = engine.aval_of(aval.shape, aval.np, place)
        if aval.device.type == "meta":
            raise NotImplementedError("Cannot copy out of meta tensor; no data!")
        if place.type == "meta":
            return UntypedStorage(Storage(Value(there, engine.zero_stride_array(aval.shape, aval.np))))
        value = self._storage.content()
        engine.read(value)
        return UntypedStorage(Storage(Value(there, engine.moved(value, place))))

    def cpu(self) -> UntypedStorage:
        """Return the same content in the CPU's memory."""
        return self.to(device="cpu")

    def cuda(self, device=None, non_blocking: bool = False) -> UntypedStorage:
        """Return the same content in a GPU's memory."""
        return self.to(device="cuda" if device is None else devices.device("cuda", device) if isinstance(device, int) else device)


def _made(given: Any) -> Storage:
    if isinstance(given, int | np.integer):
        if given < 0:
            raise RuntimeError("[enforce fail at alloc_cpu.cpp:98] ((ptrdiff_t)nbytes) >= 0. alloc_cpu() seems to have been "
                               f"called with negative number: {given % 2**64}")
        return _of_array(out_of_memory.allocated(np.zeros, int(given), np.uint8))
    if not isinstance(given, Sequence):
        raise RuntimeError(f"torch.UntypedStorage(): Expected a sequence type, but got {type(given).__name__}")
    odd = next((x for x in given if not isinstance(x, int)), None)
    if odd is not None:
        raise RuntimeError(f"torch.UntypedStorage(): tried to construct a storage from a sequence ({type(given).__name__}), but "
                           f"one of the items was of type {type(odd).__name__} instead of int")
    return _of_array(np.array([x % 256 for x in given], np.uint8))


def _of_array(array: np.ndarray) -> Storage:
    """Return a storage of bytes. It shares the memory of an array that has a base; other arrays become a value."""
    aval = engine.aval_of(array.shape, array.dtype, engine.CPU)
    return Storage(Value(aval, array)) if array.base is None else of_memory(aval, array)


def _elements_of(given: memoryview, byte_order: str | None, offset: int, count: int, dtype: dtypes.dtype) -> np.ndarray:
    """Return a buffer's elements in this machine's byte order, or raise PyTorch's errors."""
    width = dtype.itemsize
    if byte_order not in ("native", "big", "little") and width > 1:
        raise ValueError(f"invalid byte_order '{byte_order}' (expected 'big', 'little', or 'native')")
    if not 0 <= offset <= max(len(given) - 1, 0):
        raise ValueError(f"offset must be non-negative and no greater than buffer length ({len(given)}) minus 1, but got {offset}"
                         if offset < 0 or len(given) else f"offset must be non-negative, got {offset}")
    count = (len(given) - offset) // width if count < 0 else count
    if offset + count * width > len(given):
        raise ValueError(f"buffer has only {len(given) - offset} elements after offset {offset}, but specified a size of {count}")
    found = np.frombuffer(given, np.uint8, count * width, offset).copy()
    if byte_order in ("big", "little") and byte_order != sys.byteorder:
        part = width // 2 if dtype.is_complex else width
        found = found.reshape(-1, part)[:, ::-1].reshape(-1).copy()
    return (found.view(np.bool_) if dtype.np == np.bool_ else found).view(dtype.np)


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
    """Return the bytes that the memory holds now, without a copy if possible. The caller must read them at once."""
    if s.host is not None:
        return s.host.view(np.uint8)
    if s.aval.device.type == "meta":
        raise NotImplementedError("Cannot copy out of meta tensor; no data!")
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
