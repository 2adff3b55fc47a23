"""Pickling as PyTorch does: tensors as calls of its rebuild functions, storages as numbered ids, classes by its names."""
from __future__ import annotations

import io
import pickle
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import numpy as np

from jtorch import engine
from jtorch._base.layout import jagged, strided
from jtorch._nodes.hooks import warn_not_saved
from jtorch._storage.typed import LEGACY, TypedStorage
from jtorch._storage.untyped import UntypedStorage
from jtorch.dtype import dtype as dtype_class
from jtorch.dtype import uint8
from jtorch.engine import out_of_memory
from jtorch.serialization import names, rebuild
from jtorch.serialization.locations import location_tag
from jtorch.serialization.renaming import renamed
from jtorch.storage import Storage, geometry_of
from jtorch.tensor import Parameter, Tensor, alias


class _Part:
    """A reference to a storage from a tensor of some dtype. It is pickled as a persistent id."""

    __slots__ = ("dtype", "kind", "storage")

    def __init__(self, storage: Storage, dtype: dtype_class | None, kind: Any = None):
        self.storage, self.dtype, self.kind = storage, dtype, kind


class Storages:
    """The storages that a pickle refers to, numbered in order of appearance."""

    def __init__(self) -> None:
        self.found: dict[int, Storage] = {}
        self._keys: dict[int, str] = {}
        self._dtypes: dict[int, dtype_class] = {}

    def persistent_id(self, part: _Part) -> tuple:
        """Return the persistent id of a storage: its class, key, location and number of elements."""
        storage, dtype = part.storage, part.dtype
        self._check(storage, dtype or uint8)
        key = self._keys.setdefault(id(storage), str(len(self._keys)))
        self.found[int(key)] = storage
        kind = part.kind or (UntypedStorage if dtype is None else LEGACY[names.STORAGE_OF_DTYPE[dtype]._name])
        width = 1 if dtype is None else dtype.itemsize
        return "storage", kind, key, location_tag(UntypedStorage(storage)), storage.aval.nbytes // width

    def _check(self, storage: Storage, dtype: dtype_class) -> None:
        if storage.aval.nbytes and self._dtypes.setdefault(id(storage), dtype) is not dtype:
            raise RuntimeError("Cannot save multiple tensors or storages that view the same data as different types")

    def dtype_of(self, key: int) -> dtype_class:
        """Return the dtype with which a storage was written."""
        return self._dtypes.get(id(self.found[key]), uint8)


def _storage_for_checkpoint(t: Tensor) -> tuple[Any, dtype_class | None]:
    """Return the storage as a checkpoint refers to it, and the tensor's dtype if no storage class has it."""
    if t.is_quantized:
        integers = t._storage.aval.dtype
        return _Part(t._storage, integers, names.QUANTIZED_STORAGE_OF[integers]), None
    if t.dtype in names.STORAGE_OF_DTYPE:
        return _Part(t._storage, t.dtype), None
    return _Part(t._storage, None), t.dtype


Stores = Callable[[Tensor], tuple[Any, dtype_class | None]]


def _reduced(t: Tensor, stored: Stores) -> tuple[Any, tuple]:
    """Return the function and arguments that rebuild the tensor without its class and attributes."""
    if t.layout is not strided:
        from jtorch.sparse.saving import arguments
        return rebuild._rebuild_sparse_tensor, arguments(t)     # type: ignore[arg-type]
    warn_not_saved(t._own_hooks())
    size, stride, offset = geometry_of(t)
    if t._storage.value is None and t._storage.__class__ is not Storage:
        return rebuild._rebuild_wrapper_subclass, (type(t), t.dtype, tuple(size), tuple(stride), offset, t.layout, t.device,
                                                   t.requires_grad)
    if t.device.type == "xla" or (t.device.index and t.device.type == "cpu" and stored is not _storage_for_checkpoint):
        return rebuild._rebuild_device_tensor_from_cpu_tensor, (alias(t).cpu(), t.dtype, str(t.device), t.requires_grad)  # type: ignore[attr-defined]
    if t.device.type == "meta":
        return rebuild._rebuild_meta_tensor_no_storage, (t.dtype, tuple(size), tuple(stride), t.requires_grad)
    if t.is_quantized:
        return rebuild._rebuild_qtensor, (stored(t)[0], offset, tuple(size), tuple(stride), t._parameters(), False, OrderedDict())  # type: ignore[attr-defined]
    place: tuple = (offset, tuple(size), tuple(stride), t.requires_grad, OrderedDict())
    storage, dtype = stored(t)
    if dtype is None:
        return rebuild._rebuild_tensor_v2, (storage, *place)
    return rebuild._rebuild_tensor_v3, (storage, *place, dtype)


def state_of(t: Tensor) -> Any:
    """Return the attributes and slots that the user set on the tensor, or the result of the class's ``__getstate__``."""
    if type(t).__getstate__ is not object.__getstate__:     # type: ignore[attr-defined]
        return t.__getstate__()     # type: ignore[attr-defined]
    attributes = t._attributes()
    slots = {n: getattr(t, n) for c in type(t).__mro__ for n in c.__dict__.get("__slots__", ())
             if issubclass(c, Tensor) and c is not Tensor and hasattr(t, n)}
    return (attributes, slots) if slots else attributes


def reduce_tensor(t: Tensor, stored: Stores = _storage_for_checkpoint) -> tuple[Any, tuple]:
    """Return a tensor as a call of one of PyTorch's rebuild functions."""
    state, kind = state_of(t), type(t)
    is_sparse_parameter = t.layout is not strided and isinstance(state, dict) and state.pop("_is_param", False)
    if issubclass(kind, Parameter) or is_sparse_parameter:
        parts: tuple = (t.detach() if is_sparse_parameter else alias(t), t.requires_grad, OrderedDict())
        return (rebuild._rebuild_parameter_with_state, (*parts, state)) if state else (rebuild._rebuild_parameter, parts)
    function, args = _reduced(t, stored)
    if (kind is Tensor or t.layout is not strided or t.is_quantized) and not state:
        return function, args
    return rebuild._rebuild_from_type_v2, (function, kind, args, state)


_PLAIN = {int, float, str, bool, type(None), tuple, list, dict, OrderedDict, bytes, complex}


def _written_in_python(pickle_module: Any) -> Any:
    """Return the module's Pickler if it is written in Python and can be customized; None for one in C, such as cloudpickle's."""
    found = getattr(pickle_module, "_Pickler", None) or pickle_module.Pickler
    return found if isinstance(found, type) and issubclass(found, pickle._Pickler) else None       # type: ignore[attr-defined]


def _referring(base: Any, storages: Storages, legacy: bool) -> Any:
    """Return a subclass of a Pickler that refers to storages by persistent ids."""

    class Referring(base):
        def persistent_id(self, obj: Any) -> Any:
            if obj.__class__ in _PLAIN:
                return None
            if isinstance(obj, UntypedStorage):
                obj = _Part(obj._storage, None)
            elif obj.__class__ is Storage:
                obj = _Part(obj, obj.aval.dtype if obj.aval.dtype in names.STORAGE_OF_DTYPE else uint8)
            elif isinstance(obj, TypedStorage):
                obj = _Part(obj._untyped_storage._storage, obj.dtype if obj.dtype in names.STORAGE_OF_DTYPE else None)
            if obj.__class__ is not _Part:
                return None
            found = storages.persistent_id(obj)
            return (*found, None) if legacy else found

    return Referring


def _naming(base: Any) -> Any:
    """Return a subclass of a Pickler in Python that writes tensors and names as PyTorch's Pickler does."""

    class Naming(base):
        def reducer_override(self, obj: Any) -> Any:
            if obj.__class__ in _PLAIN:
                return NotImplemented
            if isinstance(obj, Tensor):
                own = type(obj).__reduce_ex__
                ours = own is Tensor.__reduce_ex__ or obj.layout not in (strided, jagged)
                return reduce_tensor(obj) if ours else NotImplemented
            return NotImplemented if names.torch_name(obj) is None else "a name"  # For any string pickle calls ``save_global``.

        def save_global(self, obj: Any, name: str | None = None) -> None:
            path = names.torch_name(obj)
            if path is None:
                super().save_global(obj, name)
            else:
                self.save_name(obj, path)

        def save_name(self, obj: Any, path: tuple[str, str]) -> None:
            if self.proto >= 4:
                self.save(path[0])
                self.save(path[1])
                self.write(pickle.STACK_GLOBAL)
            else:
                self.write(pickle.GLOBAL + "{}\n{}\n".format(*path).encode())
            self.memoize(obj)

    return Naming


def python_pickler(storages: Storages) -> Any:
    """Return a Pickler, written in Python, that writes as ``torch.save`` does and refers to ``storages``."""
    return _referring(_naming(pickle._Pickler), storages, False)       # type: ignore[attr-defined]


def pickled(obj: Any, storages: Storages, pickle_module: Any, protocol: int, legacy: bool = False) -> bytes:
    """Return the pickle of an object, and add its storages to ``storages``."""
    buffer, base = io.BytesIO(), _written_in_python(pickle_module)
    kind = _referring(pickle_module.Pickler if base is None else _naming(base), storages, legacy)
    kind(buffer, protocol=protocol).dump(obj)
    return renamed(buffer.getvalue()) if base is None else buffer.getvalue()


def bytes_of(storage: Storage) -> np.ndarray:
    """Return a storage's content as an array of bytes, without a copy if the CPU's memory has it contiguous."""
    if storage.host is not None:
        array = storage.host
    else:
        value = storage.content()
        engine.read(value)
        array = engine.host_array(value)
    return out_of_memory.allocated(np.ascontiguousarray, array).reshape(-1).view(np.uint8)
