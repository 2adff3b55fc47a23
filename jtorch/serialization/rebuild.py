"""The rebuild functions that checkpoints name: tensors from storages, with checks, since a file cannot be trusted."""
from __future__ import annotations

import contextlib
import math
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from jtorch import engine, storage
from jtorch._api.creation import from_host
from jtorch._base.layout import IN_WORDS
from jtorch._storage.typed import TypedStorage
from jtorch._storage.untyped import UntypedStorage
from jtorch.device import device as device_class
from jtorch.dtype import dtype as dtype_class
from jtorch.engine import Value
from jtorch.ops.strided import contiguous_strides, extent
from jtorch.serialization import locations, names
from jtorch.storage import Storage, View
from jtorch.tensor import Parameter, Tensor, with_grad, wrap

MAX_DIMS, MAX_SIZE = 64, 2 ** 63


class Stored(UntypedStorage):
    """A storage of a checkpoint while its pickle is read. ``finish`` turns it into an UntypedStorage or a TypedStorage.

    The content takes the dtype and shape of the first tensor that shows it, and only then moves to its device. ``finish`` is
    called after the pickle has been read. If ``filled`` is False, the elements too are read after the pickle.
    """

    def __init__(self, content: Storage, dtype: dtype_class | None, restore: Callable | None = None, *, filled: bool = True):
        super().__init__(content)
        self.content, self.dtype, self.restore, self.filled = content, dtype, restore, filled
        self.shown = False
        self.views: list[View] = []

    def settle(self) -> None:
        """Move the content, and the tensors that show it, to their device."""
        if self.restore is None or not self.filled:
            return
        try:
            made, self.restore = self.restore(UntypedStorage(self.content)), None
        except Exception as e:
            # The error comes from map_location or from the machine, not from the pickle.
            e.not_the_pickles = True        # type: ignore[attr-defined]
            raise
        if not isinstance(made, UntypedStorage):
            raise TypeError(f"map_location must return a storage or None, but returned a {type(made).__name__}")
        if made._storage is not self.content:
            self._become(made._storage)

    def finish(self) -> None:
        """Move the content if no tensor has caused that, and become a TypedStorage, or without a dtype an UntypedStorage."""
        self.filled = True
        self.settle()
        found = {"_storage": self.content}
        if self.dtype is None:
            self.__class__, self.__dict__ = UntypedStorage, found       # type: ignore[assignment]
            return
        untyped = UntypedStorage.__new__(UntypedStorage)
        untyped.__dict__ = found
        self.__class__ = TypedStorage           # type: ignore[assignment]
        self.__dict__ = {"_untyped_storage": untyped, "dtype": self.dtype}

    def _become(self, there: Storage) -> None:
        self.content.become(there.content(), there.aval)
        for view in self.views:
            view.aval = engine.aval_of(view.aval.shape, view.aval.np, there.aval.device)

    def give_form(self, dtype: dtype_class, shape: tuple[int, ...]) -> None:
        """Give the content another dtype and shape over the same bytes, if that needs no copy. No tensor shows all of it yet."""
        aval = engine.aval_of(shape, dtype.np, self.content.aval.device)
        if aval is not self.content.aval:
            self.content.give_form(aval)


def _dims(what: str, given: Any) -> tuple[int, ...]:
    if not isinstance(given, (tuple, list)) or not all(type(n) is int for n in given):
        raise RuntimeError(f"A tensor's {what} in the checkpoint is not a tuple of int")
    if any(n < 0 or n >= MAX_SIZE for n in given):
        raise RuntimeError(f"A tensor in the checkpoint has the impossible {what} {tuple(given)}")
    return tuple(given)


def _geometry(offset: Any, size: Any, stride: Any, dtype: dtype_class) -> tuple[int, tuple[int, ...], tuple[int, ...]]:
    """Return the offset, size and stride of a tensor; RuntimeError if they are impossible."""
    size, stride, (offset,) = _dims("size", size), _dims("stride", stride), _dims("storage offset", (offset,))
    if len(size) != len(stride):
        raise RuntimeError(f"mismatch in length of strides and shape: size {size}, stride {stride}")
    if len(size) > MAX_DIMS:
        raise RuntimeError(f"A tensor in the checkpoint has {len(size)} dimensions; {MAX_DIMS} are possible")
    if math.prod(n for n in size if n) * dtype.itemsize >= MAX_SIZE:
        raise RuntimeError(f"Storage size calculation overflowed with sizes={list(size)}")
    return offset, size, stride


def awaited(found: Any) -> Any:
    """Return the storage of a plain pickle. The first tensor that shows the whole storage determines its dtype and shape."""
    if isinstance(found, (TypedStorage, UntypedStorage)):
        found.__dict__["_stored"] = _shown(found)
        found.__dict__["_stored"].shown = False
    return found


def _shown(given: Any) -> Stored:
    """Return a storage as a ``Stored``. One that does not come from a checkpoint keeps its dtype and shape."""
    if isinstance(given, Stored):
        return given
    if isinstance(given, Storage):      # The storage comes from copy.copy, or from another process.
        made = Stored(given, given.aval.dtype)
    elif isinstance(given, TypedStorage):
        made = Stored(given._untyped_storage._storage, given.dtype)
    elif isinstance(given, UntypedStorage):
        made = Stored(given._storage, None)
    else:
        raise RuntimeError(f"A tensor in the checkpoint has a {type(given).__name__} where its storage should be")
    made.shown = True
    return made


def _stored(given: Any) -> Stored:
    return getattr(given, "__dict__", {}).get("_stored") or _shown(given)


def _tensor(given: Any, offset: Any, size: Any, stride: Any, dtype: dtype_class, requires_grad: Any, metadata: Any) -> Tensor:
    stored = _stored(given)
    offset, size, stride = _geometry(offset, size, stride, dtype)
    content = stored.content
    aval = engine.aval_of(size, dtype.np, content.aval.device)
    storage.check_bounds(wrap(None, None, content), aval, stride, offset)
    whole = not offset and aval.nbytes == content.aval.nbytes and stride == contiguous_strides(size)
    if not stored.shown and (whole or content.aval.np != aval.np):
        stored.give_form(dtype, size if whole else (content.aval.nbytes // dtype.itemsize,))
    stored.settle()
    t = wrap(None, None, content)
    if whole and (content.aval.shape, content.aval.np) == (size, dtype.np):
        stored.shown = True
    else:
        storage.show_part(t, engine.aval_of(size, dtype.np, content.aval.device), stride, offset)
        stored.views.append(t._view)     # type: ignore[arg-type]
    _count_as_written(t, isinstance(given, Storage))
    return _finished(with_grad(t, bool(requires_grad)), stored, metadata)


def _count_as_written(t: Tensor, may_share: bool) -> None:
    """Set a tensor's version to 1, as in PyTorch, which counts the ``set_`` that gives an empty tensor its storage.

    With ``may_share`` other tensors may show the memory, as after ``copy.copy``; they keep their versions.
    """
    if may_share:
        storage.own_version(t, 1)
    else:
        storage.set_version(t, 1)


def _finished(t: Tensor, stored: Stored, metadata: Any) -> Tensor:
    """Apply the conjugation and negation that PyTorch stores as lazy flags."""
    for flag, method in (("conj", "conj_physical"), ("neg", "neg")):
        if metadata and metadata.get(flag):
            if not stored.filled:
                raise NotImplementedError("A tensor of a checkpoint in the legacy format is lazily conjugated or negated")
            t = getattr(_check_expanded_size(t.detach()), method)().requires_grad_(t.requires_grad)
    return t


def _check_expanded_size(t: Tensor) -> Tensor:
    """Return the tensor; RuntimeError if it is a small storage expanded to a huge size."""
    room = t._storage.aval.nbytes
    if storage.aval_of(t).nbytes > room + 2 ** 24:
        raise RuntimeError(f"A tensor in the checkpoint of size {tuple(t.shape)} has only {room} bytes to show")
    return t


def _rebuild_tensor(storage: Stored, storage_offset: int, size: Any, stride: Any) -> Tensor:
    """Return a tensor that shows a part of a storage."""
    return _rebuild_tensor_v2(storage, storage_offset, size, stride, False, None)


def _rebuild_tensor_v2(storage: Stored, storage_offset: int, size: Any, stride: Any, requires_grad: bool, backward_hooks: Any,
                       metadata: Any = None) -> Tensor:
    """Return a tensor that shows a part of a storage, with the storage's dtype."""
    dtype = storage.aval.dtype if isinstance(storage, Storage) else getattr(storage, "dtype", None)
    if dtype is None:
        raise RuntimeError("A tensor in the checkpoint does not say its dtype")
    return _tensor(storage, storage_offset, size, stride, dtype, requires_grad, metadata)


def _rebuild_tensor_v3(storage: Stored, storage_offset: int, size: Any, stride: Any, requires_grad: bool, backward_hooks: Any,
                       dtype: dtype_class, metadata: Any = None) -> Tensor:
    """Return a tensor of ``dtype`` that shows a part of a storage of bytes."""
    if not isinstance(dtype, dtype_class):
        raise RuntimeError(f"A tensor in the checkpoint has {names.shown(dtype)} where its dtype should be")  # noqa: TRY004
    return _tensor(storage, storage_offset, size, stride, dtype, requires_grad, metadata)


def _share_view(made: Any, t: Tensor) -> Any:
    """Give ``made``, an alias of ``t``, the same view object, since ``Stored`` updates only views that it has registered."""
    storage.show(made, made._storage, t._view)
    return made


def _rebuild_qtensor(storage: Any, storage_offset: int, size: Any, stride: Any, quantizer_params: Any, requires_grad: bool,
                     backward_hooks: Any) -> Tensor:
    """Return a quantized tensor. Its parameters are a scheme, a scale, a zero point and perhaps a dim."""
    from jtorch._quantized.tensor import rebuilt
    dtype = storage.aval.dtype if isinstance(storage, Storage) else getattr(storage, "dtype", None)
    if dtype is None:
        raise RuntimeError("A quantized tensor in the checkpoint does not say its dtype")
    return rebuilt(_tensor(storage, storage_offset, size, stride, dtype, False, None), quantizer_params)


def _rebuild_parameter(data: Tensor, requires_grad: bool, backward_hooks: Any) -> Parameter:
    """Return a parameter of a tensor."""
    if not isinstance(data, Tensor):
        raise RuntimeError(f"A parameter in the checkpoint is a {type(data).__name__}, not a tensor")  # noqa: TRY004
    return _share_view(Parameter(data, bool(requires_grad)), data)


def _rebuild_parameter_with_state(data: Tensor, requires_grad: bool, backward_hooks: Any, state: Any) -> Parameter:
    """Return a parameter with the attributes that the user set."""
    return set_state(_rebuild_parameter(data, requires_grad, backward_hooks), state)


def _rebuild_from_type_v2(func: Callable, new_type: type, args: tuple, state: Any) -> Any:
    """Return a tensor of a subclass, or one with attributes."""
    if func not in FUNCTIONS.values() and not hasattr(func, "rebuilds"):
        raise RuntimeError(f"A tensor in the checkpoint is made by {names.shown(func)}, which makes no tensors")
    t = func(*args)
    if type(t) is not new_type:
        if not (isinstance(new_type, type) and issubclass(new_type, Tensor)):
            raise RuntimeError(f"A tensor in the checkpoint is to become a {names.shown(new_type)}, which is no tensor")
        t = _share_view(t.as_subclass(new_type), t)
    own = getattr(type(t), "__setstate__", None)
    if own is None:
        return set_state(t, state)
    own(t, state)
    return t


def set_state(t: Any, state: Any) -> Any:
    """Set the attributes that the user had set on a tensor: a dict, or (attributes, slots)."""
    attributes, slots = state if isinstance(state, tuple) and len(state) == 2 else (state, None)
    for given in (attributes, slots):
        for key, value in (given or {}).items():
            if hasattr(Tensor, key):
                raise RuntimeError(f"A tensor in the checkpoint has an attribute {names.shown(key)}, which users cannot set")
            setattr(t, key, value)
    return t


def _rebuild_meta_tensor_no_storage(dtype: dtype_class, size: Any, stride: Any, requires_grad: bool) -> Tensor:
    """Return a meta tensor, which has a shape but no data."""
    _, size, stride = _geometry(0, size, stride, dtype)
    n = extent(size, stride)
    _geometry(0, (n,), (1,), dtype)
    empty = Storage(Value(engine.aval_of((0,), dtype.np, engine.CPU), np.empty(0, dtype.np)))
    stored = Stored(UntypedStorage(empty).to(device="meta")._storage, dtype)
    stored.give_form(dtype, (n,))
    return _tensor(stored, 0, size, stride, dtype, requires_grad, None)


def _rebuild_device_tensor_from_cpu_tensor(data: Tensor, dtype: dtype_class, device: str, requires_grad: bool) -> Tensor:
    """Return a tensor on a device whose storages PyTorch does not save."""
    moved = _check_expanded_size(data).to(dtype=dtype, device=locations.place_of(device))     # type: ignore[attr-defined]
    return with_grad(moved, requires_grad)


def _rebuild_device_tensor_from_numpy(data: np.ndarray, dtype: dtype_class, device: str, requires_grad: bool) -> Tensor:
    """Return a tensor on a device whose storages PyTorch does not save, from an array as older versions of PyTorch saved it."""
    if not isinstance(data, np.ndarray):
        raise RuntimeError(f"A tensor in the checkpoint has a {type(data).__name__} where its elements should be")  # noqa: TRY004
    return _rebuild_device_tensor_from_cpu_tensor(from_host(data.copy()), dtype, device, requires_grad)


def _rebuild_wrapper_subclass(cls: Any, dtype: dtype_class, size: Any, stride: Any, storage_offset: Any, layout: Any, device: Any,
                              requires_grad: bool) -> Any:
    """Return a tensor without memory, of a class with ``__torch_dispatch__``."""
    from jtorch._aten.wrappers import make
    if not (isinstance(cls, type) and issubclass(cls, Tensor)):
        raise RuntimeError(f"A tensor in the checkpoint is to become a {names.shown(cls)}, which is no tensor")
    offset, size, stride = _geometry(storage_offset, size, stride, dtype)
    return make(cls, size, strides=stride, storage_offset=offset, dtype=dtype, layout=layout,
                device=device_class(locations.place_of(str(device))), requires_grad=bool(requires_grad))


def _get_layout(name: str) -> Any:
    """Return the layout with this name, such as ``torch.sparse_coo``."""
    found = {repr(known): known for known in IN_WORDS}.get(name)
    if found is None:
        raise NotImplementedError(f"jtorch has no tensors of the layout {name}")
    return found


def _not_built(kind: str) -> Callable:
    def rebuild(*args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError(f"The checkpoint holds a {kind} tensor; jtorch has none")
    return rebuild


def _rebuild_sparse_tensor(layout: Any, data: tuple) -> Any:
    """Return a sparse tensor from its indices, values and size."""
    from jtorch.sparse.saving import rebuilt, unchecked
    if _of_thread.later is None:
        return rebuilt(layout, data)
    made = unchecked(layout, data)
    _of_thread.later.append(lambda: made.become(rebuilt(layout, data)))
    return made


class _OfThread(threading.local):
    later: list[Callable[[], Any]] | None = None


_of_thread = _OfThread()


@contextlib.contextmanager
def before_elements() -> Iterator[list[Callable[[], Any]]]:
    """Collect the tasks that wait for the elements of storages which the pickle creates empty."""
    before, _of_thread.later = _of_thread.later, []
    try:
        yield _of_thread.later
    finally:
        _of_thread.later = before


FUNCTIONS = {f.__name__: f for f in (
    _rebuild_sparse_tensor, _rebuild_qtensor,
    _rebuild_tensor, _rebuild_tensor_v2, _rebuild_tensor_v3, _rebuild_parameter, _rebuild_parameter_with_state,
    _rebuild_meta_tensor_no_storage, _rebuild_device_tensor_from_cpu_tensor, _rebuild_device_tensor_from_numpy,
    _rebuild_wrapper_subclass)}
FUNCTIONS["_rebuild_nested_tensor"] = _not_built("nested")
for _name, _function in FUNCTIONS.items():
    names.register(_function, "torch._utils", _name)
names.register(_rebuild_from_type_v2, "torch._tensor", "_rebuild_from_type_v2")
names.register(_get_layout, "torch.serialization", "_get_layout")
