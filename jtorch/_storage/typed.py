"""torch.TypedStorage and the legacy classes such as torch.FloatStorage, which PyTorch has deprecated."""
from __future__ import annotations

import copy
import functools
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

import jtorch.dtype as dtypes
from jtorch._base import warned
from jtorch._storage.untyped import UntypedStorage
from jtorch.storage import reduced

_CLASSIC = ("float64", "float32", "float16", "int64", "int32", "int16", "int8", "uint8", "bool", "bfloat16", "complex128",
            "complex64")
_MESSAGE = ("TypedStorage is deprecated. It will be removed in the future and UntypedStorage will be the only storage class. "
            "This should only matter to you if you are using storages directly.  To access UntypedStorage directly, use "
            "tensor.untyped_storage() instead of tensor.storage()")


class _Warned:
    """Whether each use warns, and whether the warning was given once."""

    always = False
    once = False


def warn_removal() -> None:
    """Warn once in a process that typed storages are deprecated."""
    if _Warned.always or not _Warned.once:
        warned.warn(_MESSAGE)
        _Warned.once = True


def _wrong(where: str, forms: Sequence[str], why: str) -> str:
    return f"{where} received an invalid combination of arguments. Expected one of:\n" + "".join(
        [f" * ({form})\n" for form in forms]) + why


class TypedStorage:
    """The memory behind tensors as elements of a dtype. See torch.TypedStorage.

    It takes a number of elements, a sequence, or with ``wrap_storage`` an UntypedStorage, whose memory it shares.
    """

    is_sparse = False
    dtype: dtypes.dtype
    _untyped_storage: UntypedStorage
    _dtype: Any = property(lambda self: self.dtype)
    _FORMS = ("*, torch.device device, torch.dtype dtype", "int size, *, torch.device device, torch.dtype dtype",
              "Sequence data, *, torch.device device, torch.dtype dtype", "*, UntypedStorage wrap_storage, torch.dtype dtype")

    def __init__(self, *args: Any, device: Any = None, dtype: Any = None, wrap_storage: Any = None, _internal: bool = False):
        if not _internal:
            warn_removal()
        wrong = functools.partial(_wrong, "TypedStorage.__init__", self._FORMS)
        if wrap_storage is not None:
            self._check_wrapped(args, device, dtype, wrap_storage, wrong)
        if len(args) > 1:
            raise RuntimeError(wrong("Too many positional arguments"))
        self.dtype = dtypes.get_default_dtype() if dtype is None else dtype
        self._untyped_storage = _made(args, self.dtype, device, wrong) if wrap_storage is None else wrap_storage

    @staticmethod
    def _check_wrapped(args: tuple, device: Any, dtype: Any, wrapped: Any, wrong: Callable[[str], str]) -> None:
        if args:
            raise RuntimeError(wrong("No positional arguments should be given when using 'wrap_storage'"))
        if dtype is None:
            raise RuntimeError(wrong("Argument 'dtype' must be specified"))
        if not isinstance(dtype, dtypes.dtype):
            raise TypeError(wrong(f"Argument 'dtype' must be torch.dtype, not {type(dtype)}"))
        if device is not None:
            raise RuntimeError(wrong("Argument 'device' should not be specified when 'wrap_storage' is given"))
        if not isinstance(wrapped, UntypedStorage):
            raise TypeError(wrong(f"Argument 'wrap_storage' must be UntypedStorage, but got {type(wrapped)}"))

    # ------------------------------------------------------------ bodies of the public methods, without their warning

    def _of(self, untyped: UntypedStorage) -> TypedStorage:
        return TypedStorage(wrap_storage=untyped, dtype=self.dtype, _internal=True)

    _new_wrapped_storage = _of

    def _untyped(self) -> UntypedStorage:
        """Return the same memory as bytes."""
        return self._untyped_storage

    def _size(self) -> int:
        """Return the number of elements."""
        return self._nbytes() // self.dtype.itemsize

    def _nbytes(self) -> int:
        """Return the size of the memory in bytes."""
        return self._untyped_storage.nbytes()

    def _element_size(self) -> int:
        """Return the size of an element in bytes."""
        return self.dtype.itemsize

    def _data_ptr(self) -> int:
        """Return the address of the first byte."""
        return self._untyped_storage.data_ptr()

    def _get_device(self) -> int:
        """Return the number of the device."""
        return self._untyped_storage.get_device()

    def _tolist(self) -> list:
        """Return the elements as Python numbers."""
        return [_as_number(x) for x in self._elements()]

    def _elements(self) -> np.ndarray:
        if self._untyped_storage.device.type == "meta":
            raise NotImplementedError("Not available for 'meta' device type")
        return self._untyped_storage._now().view(self.dtype.np)

    def _getitem(self, idx: Any) -> Any:
        if self._untyped_storage.device.type == "meta":
            raise NotImplementedError("Not available for 'meta' device type")
        if isinstance(idx, slice):
            raise RuntimeError("slices are only supported in UntypedStorage.__getitem__")
        if not isinstance(idx, int):
            raise RuntimeError(f"can't index a {type(self)} with {type(idx)}")
        if not -self._size() <= idx < self._size():
            raise IndexError(f"index {idx} out of range for storage of size {self._size()}")
        return _as_number(self._elements()[idx])

    def _setitem(self, idx: Any, value: Any) -> None:
        if not isinstance(idx, (int, slice)):
            raise RuntimeError(f"can't index a {type(self)} with {type(idx)}")
        if isinstance(value, (TypedStorage, UntypedStorage)):
            raise RuntimeError(f"cannot set item with value type {type(value)}")
        if self._nbytes():
            self._untyped_storage._memory().view(self.dtype.np)[idx] = np.asarray(value).astype(self.dtype.np)

    def _fill_(self, value: Any) -> TypedStorage:
        """Make all elements the same."""
        self._setitem(slice(0, self._size()), value)
        return self

    def _copy_(self, source: Any, non_blocking: bool | None = None) -> TypedStorage:
        """Copy the bytes of another storage of the same size."""
        self._untyped_storage.copy_(source._untyped_storage if isinstance(source, TypedStorage) else source, non_blocking)
        return self

    def _clone(self) -> TypedStorage:
        """Return a copy."""
        return self._of(self._untyped_storage.clone())

    __copy__ = _clone

    def _deepcopy(self, memo: dict) -> TypedStorage:
        return self._of(copy.deepcopy(self._untyped_storage, memo))

    def _cpu(self) -> TypedStorage:
        """Return the same content in the CPU's memory."""
        return self._of(self._untyped_storage.cpu())

    def _cuda(self, device: Any = None, non_blocking: bool = False) -> TypedStorage:
        """Return the same content in a GPU's memory."""
        return self._of(self._untyped_storage.cuda(device, non_blocking))

    def _to_device(self, *, device: Any, non_blocking: bool = False) -> TypedStorage:
        """Return the same content on a device."""
        return self._of(self._untyped_storage.to(device=device, non_blocking=non_blocking))

    def _to(self, dtype: dtypes.dtype) -> TypedStorage:
        """Return a copy whose elements are of another type."""
        if not isinstance(dtype, dtypes.dtype):
            raise TypeError(f"Argument 'dtype' must be torch.dtype, not {type(dtype)}")
        return _typed(_cast(self._elements(), dtype.np), dtype)

    def _type(self, dtype: Any = None, non_blocking: bool = False) -> Any:
        """Return the name of the dtype's legacy storage class, such as ``torch.FloatStorage``."""
        if dtype is not None:
            raise NotImplementedError("TypedStorage.type(dtype) is not built: use float(), double() and so on")
        place = self._untyped_storage.device.type
        if self.dtype.name in _CLASSIC and place in ("cpu", "cuda"):
            return f"torch{'' if place == 'cpu' else '.cuda'}.{self.dtype.scalar_name}Storage"
        return "torch.storage.TypedStorage"

    def _is_pinned(self, device: Any = None) -> bool:
        """Return False: memory is never pinned."""
        return self._untyped_storage.is_pinned(device)

    def _pin_memory(self, device: Any = None) -> TypedStorage:
        """Return the same memory, since pinning has no effect."""
        return self._of(self._untyped_storage.pin_memory(device))

    def _is_shared(self) -> bool:
        """Return whether other processes may see what is written."""
        return self._untyped_storage.is_shared()        # type: ignore[attr-defined,no-any-return]

    def _share_memory_(self) -> TypedStorage:
        """Move the memory to a segment that other processes can map."""
        self._untyped_storage.share_memory_()       # type: ignore[attr-defined]
        return self

    def _resizable(self) -> bool:
        """Return whether the memory may grow."""
        return self._untyped_storage.resizable()

    def _resize_(self, size: int) -> None:
        """Resize the memory to a number of elements."""
        self._untyped_storage.resize_(size * self.dtype.itemsize)

    def _pickle_storage_type(self) -> str:
        """Return the name of the storage class that files record for the dtype."""
        if self.dtype.name not in _CLASSIC:
            raise KeyError(f"dtype {self.dtype} is not recognized")
        return f"{self.dtype.scalar_name}Storage"

    def _share_fd_cpu_(self, *args: Any) -> Any:
        return self._untyped_storage._share_fd_cpu_(*args)      # type: ignore[attr-defined]

    def _share_filename_cpu_(self, *args: Any) -> Any:
        return self._untyped_storage._share_filename_cpu_(*args)        # type: ignore[attr-defined]

    def _write_file(self, *args: Any) -> None:
        self._untyped_storage._write_file(*args)

    # ------------------------------------------------------------ Python's protocols and properties

    def __iter__(self) -> Iterator:
        warn_removal()
        return iter(self._tolist())

    def __deepcopy__(self, memo: dict) -> TypedStorage:
        warn_removal()
        return self._deepcopy(memo)

    def __repr__(self) -> str:
        where = self._untyped_storage.device
        shown = "..." if where.type == "meta" else " " + "\n ".join(map(str, self._tolist()))
        return f"{shown}\n[torch.storage.TypedStorage(dtype={self.dtype}, device={where}) of size {self._size()}]"

    def __reduce__(self) -> tuple:
        return reduced(self)

    def __sizeof__(self) -> int:
        return object.__sizeof__(self) + self._nbytes()

    @property
    def _cdata(self) -> int:
        return self._untyped_storage._cdata

    @property
    def filename(self) -> str | None:
        """The file that the memory maps, or None."""
        return self._untyped_storage.filename

    @property
    def device(self):
        """The memory's device."""
        warn_removal()
        return self._untyped_storage.device

    @property
    def is_cuda(self) -> bool:
        """Whether the memory is on a GPU."""
        warn_removal()
        return self._untyped_storage.is_cuda

    @classmethod
    def from_buffer(cls, buffer: Any, byte_order: str | None = None, offset: int = 0, count: int = -1, *, dtype: Any = None):
        """Return a storage with a copy of a buffer. ``byte_order``: "big", "little" or "native"."""
        warn_removal()
        return cls._from_buffer(buffer, byte_order, offset, count, dtype=dtype)

    @classmethod
    def _from_buffer(cls, buffer: Any, byte_order: str | None = None, offset: int = 0, count: int = -1, *, dtype: Any = None):
        """Return a storage with a copy of a buffer, without a deprecation warning. See ``from_buffer``."""
        dtype = getattr(cls, "_dtype", None) if cls is not TypedStorage else dtype or dtypes.get_default_dtype()
        untyped = UntypedStorage.from_buffer(buffer, byte_order, offset, count, dtype=dtype)
        return TypedStorage(wrap_storage=untyped, dtype=dtype, _internal=True)

    @classmethod
    def from_file(cls, filename: Any, shared: bool = False, size: int = 0):
        """Map a file's elements. With ``shared``, writes go to the file, which grows to ``size`` elements."""
        warn_removal()
        if cls is TypedStorage:
            raise RuntimeError("from_file can only be called on derived classes")
        return cls(wrap_storage=UntypedStorage.from_file(filename, shared, size * cls._dtype.itemsize))


def _warning(name: str, inner: Callable) -> Callable:
    def method(self: TypedStorage, *args: Any, **kw: Any) -> Any:
        warn_removal()
        return inner(self, *args, **kw)
    method.__name__, method.__doc__ = name, inner.__doc__
    return method


def _to(self: UntypedStorage, dtype: dtypes.dtype) -> TypedStorage:
    return TypedStorage(wrap_storage=self, dtype=dtypes.uint8, _internal=True)._to(dtype)


setattr(UntypedStorage, _to.__name__, _to)


def _casting(name: str, dtype: dtypes.dtype) -> Callable:
    def method(self: Any) -> TypedStorage:
        return self._to(dtype)      # type: ignore[no-any-return]
    method.__name__, method.__doc__ = name, f"A copy whose elements are of type {dtype}."
    return method


_PUBLIC = ("untyped size nbytes element_size data_ptr get_device tolist fill_ copy_ clone cpu cuda type is_pinned pin_memory "
           "is_shared share_memory_ resizable resize_ pickle_storage_type").split()
_CASTS = {"double": "float64", "float": "float32", "half": "float16", "long": "int64", "int": "int32", "short": "int16",
          "char": "int8", "byte": "uint8", "bool": "bool", "bfloat16": "bfloat16", "complex_double": "complex128",
          "complex_float": "complex64", **{n: n for n in ("float8_e5m2", "float8_e4m3fn", "float8_e5m2fnuz", "float8_e4m3fnuz")}}
for _name in _PUBLIC:
    setattr(TypedStorage, _name, _warning(_name, getattr(TypedStorage, f"_{_name}")))
for _name, _private in (("to", "_to_device"), ("__len__", "_size"), ("__getitem__", "_getitem"), ("__setitem__", "_setitem")):
    setattr(TypedStorage, _name, _warning(_name, getattr(TypedStorage, _private)))
for _name, _kind in _CASTS.items():
    _inner = _casting(_name, dtypes.named(_kind))
    setattr(TypedStorage, _name, _warning(_name, _inner))
    setattr(UntypedStorage, _name, _inner)


def _as_number(x: Any) -> Any:
    """Return a Python number."""
    return x.item() if x.dtype.kind in "biufc" else float(x)


def _cast(array: np.ndarray, to: np.dtype) -> np.ndarray:
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return array.astype(to)


def _typed(array: np.ndarray, dtype: dtypes.dtype) -> TypedStorage:
    made = UntypedStorage._of_array(np.ascontiguousarray(array).reshape(-1))
    return TypedStorage(wrap_storage=made, dtype=dtype, _internal=True)


def _made(args: tuple, dtype: dtypes.dtype, device: Any, wrong: Callable[[str], str]) -> UntypedStorage:
    given = args[0] if args else 0
    if isinstance(given, (int, np.integer)):
        return UntypedStorage(int(given) * dtype.itemsize, device=device)
    if isinstance(given, str):
        raise TypeError("new(): invalid data type 'str'")
    if not isinstance(given, Sequence):
        raise TypeError(wrong(f"Argument type not recognized: {type(given)}"))
    return _typed(_cast(np.array(given), dtype.np), dtype)._untyped_storage.to(device="cpu" if device is None else device)


def _wrapped(untyped: UntypedStorage, dtype: dtypes.dtype) -> TypedStorage:
    return TypedStorage(wrap_storage=untyped, dtype=dtype, _internal=True)


def untyped_as(given: Any, dtype: dtypes.dtype | None) -> UntypedStorage:
    """Return a TypedStorage as an UntypedStorage, and other objects unchanged. Raise RuntimeError for a wrong dtype."""
    if not isinstance(given, TypedStorage):
        return given        # type: ignore[no-any-return]
    if dtype is not None and given.dtype is not dtype:
        raise RuntimeError(f"Expected a Storage of type {dtype.scalar_name} or an UntypedStorage, but got type "
                           f"{given.dtype.scalar_name} for argument 1 'storage'")
    return given._untyped_storage


# ---------------------------------------------------------------- FloatStorage and the other legacy classes


class _LegacyMeta(type):
    _dtype: dtypes.dtype

    @property
    def dtype(cls) -> dtypes.dtype:
        """The type of the elements."""
        warn_removal()
        return cls._dtype

    def __instancecheck__(cls, instance: Any) -> bool:
        return type(instance) is TypedStorage and instance._untyped_storage.device.type == "cpu" and \
            instance.dtype is getattr(cls, "_dtype", None)

    def __call__(cls, *args: Any, wrap_storage: Any = None, dtype: Any = None, device: Any = None, _internal: bool = False):
        if not _internal:
            warn_removal()
        if cls is LegacyStorage:
            raise RuntimeError("Only child classes of _LegacyStorage can be instantiated")
        wrong = functools.partial(_wrong, f"{cls}.__new__", ("no arguments", "int size", "Sequence data",
                                                            "*, UntypedStorage wrap_storage"))
        for name, given in (("device", device), ("dtype", dtype)):
            if given is not None:
                raise RuntimeError(wrong(f"\nKeyword argument '{name}' cannot be specified"))
        if len(args) > 1:
            raise RuntimeError(wrong("\nToo many positional arguments"))
        if wrap_storage is None and len(args) == 1 and not isinstance(args[0], (int, np.integer, Sequence)):
            raise TypeError(wrong(f"\nArgument type not recognized: {type(args[0])}"))
        return TypedStorage(*args, wrap_storage=wrap_storage, dtype=cls._dtype, _internal=True)


class LegacyStorage(TypedStorage, metaclass=_LegacyMeta):
    """The base class of FloatStorage and the other legacy classes."""


TypedStorage.__module__ = LegacyStorage.__module__ = "torch.storage"
LegacyStorage.__name__ = LegacyStorage.__qualname__ = "_LegacyStorage"


def _legacy(d: dtypes.dtype) -> type:
    return _LegacyMeta(f"{d.scalar_name}Storage", (LegacyStorage,), {"_dtype": d, "__module__": "jtorch",
                                                                     "__doc__": f"Memory as elements of {d}."})


LEGACY = {made.__name__: made for made in (_legacy(dtypes.named(name)) for name in _CLASSIC)}


def _set_always(always_warn: bool) -> None:
    assert isinstance(always_warn, bool)
    _Warned.always = always_warn


def _reset() -> None:
    _Warned.once = False


def _dtype_to_storage_type_map() -> dict[dtypes.dtype, str]:
    return {cls._dtype: name for name, cls in LEGACY.items()}       # type: ignore[attr-defined]


# The names that torch.storage has.
IN_STORAGE: dict[str, Any] = {
    "TypedStorage": TypedStorage, "UntypedStorage": UntypedStorage, "_LegacyStorage": LegacyStorage,
    "_warn_typed_storage_removal": warn_removal, "_reset_warn_typed_storage_removal": _reset,
    "_get_always_warn_typed_storage_removal": lambda: _Warned.always, "_set_always_warn_typed_storage_removal": _set_always,
    "_dtype_to_storage_type_map": _dtype_to_storage_type_map,
    "_storage_type_to_dtype_map": lambda: {name: d for d, name in _dtype_to_storage_type_map().items()}}
