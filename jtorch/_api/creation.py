"""Tensors made from Python numbers and lists, NumPy arrays, JAX arrays and DLPack, and pickles of tensors."""
from __future__ import annotations

import functools
from typing import Any

import jax
import numpy as np

import jtorch.device as devices
import jtorch.dtype as dtypes
from jtorch import engine, storage
from jtorch._api import sequences
from jtorch._api.argument_errors import MISSING
from jtorch._api.sizes import int_list_of
from jtorch._backward.view_history import set_requires_grad
from jtorch._base import capsules, late_bindings, warned
from jtorch._base.deterministic import number_for_new_memory
from jtorch._base.size import Size
from jtorch._nodes import hooks
from jtorch._storage.typed import TypedStorage, untyped_as
from jtorch._storage.untyped import UntypedStorage
from jtorch.dispatch import call_view
from jtorch.engine import Value, call_of, out_of_memory
from jtorch.no_grad import mode
from jtorch.ops import check, promotion
from jtorch.ops.layout import preserved
from jtorch.ops.registry import OPS, T
from jtorch.ops.strided import extent
from jtorch.storage import Storage
from jtorch.tensor import Tensor, alias, with_grad, wrap


def place_of(device: Any) -> devices.device:
    """Return the device that an argument names, or the default device for None. Raise an error if it does not exist."""
    d = devices.default_device() if device is None else devices.as_device(device)
    return devices.canonical(d)


def from_host(array: np.ndarray, device: devices.device | None = None) -> Tensor:
    """Return a tensor that takes over a host array."""
    place = engine.CPU if device is None else device
    aval = engine.aval_of(array.shape, array.dtype, place)
    return made_here(wrap(Value(aval, array if place is engine.CPU else engine.put(array, place))))


def made_here(t: Tensor) -> Tensor:
    """Return a new tensor, marked as an inference tensor in inference mode."""
    if mode.inference:
        t._inference = True
    return t


def tensor(data: Any = MISSING, *, dtype: dtypes.dtype | None = None, device: Any = None, requires_grad: bool = False,
           pin_memory: bool = False) -> Tensor:
    """Return a tensor with a copy of ``data``: numbers, nested sequences, NumPy arrays, tensors. See torch.tensor."""
    if data is MISSING:
        raise TypeError('tensor() missing 1 required positional arguments: "data"')
    place = place_of(device) if device is not None or not isinstance(data, Tensor) else data.device
    dtype = dtypes.as_dtype(dtype, "tensor")
    if isinstance(data, Tensor):
        warned.warn("To copy construct from a tensor, it is recommended to use sourceTensor.detach().clone() or "
                    "sourceTensor.detach().clone().requires_grad_(True), rather than torch.tensor(sourceTensor).")
        made = data.detach().to(device=place, dtype=dtype, copy=True)       # type: ignore[attr-defined]
    elif isinstance(data, (UntypedStorage, TypedStorage)):
        made = as_tensor(data, dtype, place)
    elif hasattr(data, "__dlpack__") and not isinstance(data, (np.ndarray, np.generic, jax.Array)):
        made = from_dlpack(data).to(device=place, dtype=dtype, copy=True)       # type: ignore[attr-defined]
    else:
        made = from_host(_host_array(data, dtype), place)
        if isinstance(data, np.ndarray):
            storage.lay_out(made, preserved(data.shape, [s // data.itemsize for s in data.strides]))
        if late_bindings.aten is not None:
            seen = late_bindings.aten.created("lift_fresh", {"self": made})
            made = made if seen is None else seen
    return with_grad(made, requires_grad)


def _host_array(data: Any, dtype: dtypes.dtype | None) -> np.ndarray:
    """Return ``data`` as a new NumPy array with the dtype that PyTorch infers."""
    if isinstance(data, (np.ndarray, np.generic)):
        _check_byte_order(data)
        _check_strides(data)
        array = np.array(data)
        found = dtypes.of_numpy(array.dtype)
        return array if dtype is None or dtype is found else _cast(array, dtype)
    if isinstance(data, (str, bytes)):
        raise TypeError(f"new(): invalid data type '{type(data).__name__}'")
    if hasattr(data, "__array__"):
        return _host_array(np.asarray(data), dtype)
    return _of_numbers(data, dtype) if _kinds(data) <= _NUMBERS else sequences.array_of(data, dtype)


_NUMBERS = {bool, int, float, complex}


def _kinds(data: Any) -> set[type]:
    """Return the types of the innermost items of nested lists and tuples."""
    if data.__class__ is not list and data.__class__ is not tuple:
        return {data.__class__}
    kinds = set(map(type, data))
    return kinds if not kinds & {list, tuple} else set().union(*map(_kinds, data))


def _of_numbers(data: Any, dtype: dtypes.dtype | None) -> np.ndarray:
    """Return Python numbers as an array, by NumPy if it agrees with PyTorch, else item by item."""
    try:
        array = np.array(data)
    except ValueError:      # the sequences have different lengths
        return sequences.array_of(data, dtype)
    wanted = dtype or dtypes.of_python_kind(array.dtype.kind)
    if wanted is None or not (array.dtype.kind == "b" or wanted.np.kind == "b" or (
            wanted.np.kind in "fcV" if array.dtype.kind in "if" else wanted.is_complex) or wanted.np == array.dtype):
        return sequences.array_of(data, dtype)
    return promotion.narrowed(array, wanted.np)


def _cast(array: np.ndarray, dtype: dtypes.dtype) -> np.ndarray:
    array = array.real if promotion.drops_imaginary(array.dtype, dtype.np) else array
    with np.errstate(all="ignore"):
        if promotion.is_float(array.dtype) and dtype.np.kind in "iu":
            return promotion.truncation(array.dtype, dtype.np)(array)
        return promotion.narrowed(array, dtype.np) if array.dtype.kind in "iufV" else array.astype(dtype.np)


def _of_storage(s: UntypedStorage, dtype: dtypes.dtype | None) -> Tensor:
    """Return a 1-dim tensor over the storage's memory."""
    d = dtype or dtypes.int64
    t = wrap(None, None, s._storage)
    storage.show_part(t, engine.aval_of((s.nbytes() // d.itemsize,), d.np, s.device), (1,))
    return t


def as_tensor(data: Any, dtype: dtypes.dtype | None = None, device: Any = None) -> Tensor:
    """Return ``data`` as a tensor that shares its memory if dtype and device allow. See torch.as_tensor."""
    dtype = dtypes.as_dtype(dtype, "as_tensor")
    if isinstance(data, Tensor):
        return data.to(device=device if device is not None else data.device, dtype=dtype)   # type: ignore[attr-defined]
    if isinstance(data, (UntypedStorage, TypedStorage)):
        return _of_storage(untyped_as(data, dtype), dtype or getattr(data, "dtype", None)).to(device=device)       # type: ignore[attr-defined]
    place = place_of(device)
    if isinstance(data, np.ndarray) and place is engine.CPU and (dtype is None or dtype.np == data.dtype):
        return from_numpy(data)
    if isinstance(data, jax.Array):
        made = from_jax(data)
        return made.to(device=device, dtype=dtype) if dtype is not None or device is not None else made  # type: ignore[attr-defined]
    if hasattr(data, "__dlpack__") and not isinstance(data, (np.ndarray, np.generic)):
        return from_dlpack(data).to(device=device, dtype=dtype)     # type: ignore[attr-defined]
    return tensor(data, dtype=dtype, device=device)


def asarray(obj: Any, *, dtype: dtypes.dtype | None = None, device: Any = None, copy: bool | None = None,
            requires_grad: bool | None = None) -> Tensor:
    """Return ``obj`` as a tensor, which shares memory if that is possible and ``copy`` allows it. See torch.asarray."""
    dtype = dtypes.as_dtype(dtype, "asarray")
    if isinstance(obj, (bytes, bytearray, memoryview)):
        obj = frombuffer(obj, dtype=dtype or dtypes.get_default_dtype())
    elif type(obj).__name__ == "PyCapsule" or (
            hasattr(obj, "__dlpack__") and not isinstance(obj, (Tensor, np.ndarray, jax.Array))):
        obj = from_dlpack(obj)
    made = as_tensor(obj, dtype, device)
    if copy is False:
        _check_shared(obj, made)
    elif isinstance(obj, (Tensor, np.ndarray)) and (copy or _is_0_dim_array(obj)) and (made is obj or made.dtype.np == obj.dtype):
        made = made.clone()     # type: ignore[attr-defined]
    if requires_grad is None and isinstance(obj, Tensor) and obj.requires_grad:
        warned.warn("torch.asarray: unspecified requires_grad now defaults to obj.requires_grad instead of False. Pass "
                    "requires_grad=False explicitly to get the old behavior and silence this warning.")
        requires_grad = True
    if requires_grad:
        return with_grad(made, True)
    return made.requires_grad_(False) if made.is_leaf else made.detach()


def _is_0_dim_array(obj: Any) -> bool:
    return isinstance(obj, np.ndarray) and not obj.shape     # PyTorch treats it as a number


def _check_shared(obj: Any, made: Tensor) -> None:
    if isinstance(obj, (UntypedStorage, TypedStorage)):
        return
    if not isinstance(obj, (Tensor, np.ndarray, jax.Array)):
        raise ValueError("can't alias arbitrary sequence into a tensor.")
    found = obj.dtype if isinstance(obj, Tensor) else dtypes.of_numpy(np.dtype(obj.dtype))
    if made.dtype is not found:
        raise ValueError(f"can't alias tensor with dtype '{found.scalar_name}' into dtype '{made.dtype.scalar_name}'.")


def from_numpy(ndarray: np.ndarray) -> Tensor:
    """Return a tensor that shares the memory of a NumPy array. Each sees the other's writes. See torch.from_numpy."""
    if not isinstance(ndarray, np.ndarray):
        raise TypeError(f"expected np.ndarray (got {sequences.type_name(ndarray)})")
    plain = _plain_aval(ndarray.dtype, ndarray.shape, ndarray.strides)
    if plain is not None and ndarray.__class__ is np.ndarray and ndarray.flags.writeable:
        return _showing(plain, ndarray.reshape(-1))
    _check_byte_order(ndarray)
    dtypes.of_numpy(ndarray.dtype)
    _check_strides(ndarray)
    if not ndarray.flags.writeable:
        warned.warn("The given NumPy array is not writable, and PyTorch does not support non-writable tensors. This means "
                    "writing to this tensor will result in undefined behavior. You may want to copy the array to protect its "
                    "data or make it writable before converting it to a tensor. This type of warning will be suppressed for "
                    "the rest of this program.")
    return _sharing(ndarray)


def _check_byte_order(array: np.ndarray | np.generic) -> None:
    if not array.dtype.isnative and array.dtype.kind in "iufc":
        raise ValueError("given numpy array has byte order different from the native byte order. Conversion between byte "
                         "orders is currently not supported.")


def _check_strides(array: np.ndarray | np.generic) -> None:
    if any(s < 0 for s in array.strides):
        raise ValueError("At least one stride in the given numpy array is negative, and tensors with negative strides are not "
                         "currently supported. (You can probably work around this by making a copy of your array  with "
                         "array.copy().) ")
    if any(s % array.itemsize for s in array.strides):
        raise ValueError("given numpy array strides not a multiple of the element byte size. Copy the numpy array to reallocate "
                         "the memory.")


def _sharing(ndarray: np.ndarray) -> Tensor:
    ndarray = np.asarray(ndarray)       # a plain array, since functions of a subclass such as np.memmap return the subclass
    stride = tuple(s // ndarray.itemsize for s in ndarray.strides)
    span = extent(ndarray.shape, stride)
    dense = storage.contiguous_strides(ndarray.shape) == stride
    flat = ndarray.reshape(-1) if dense else np.lib.stride_tricks.as_strided(
        ndarray.view(f"V{ndarray.itemsize}"), (span,), (ndarray.itemsize,)).view(ndarray.dtype)     # as_strided lacks float8
    shape = ndarray.shape if dense else (span,)
    t = _showing(engine.aval_of(shape, ndarray.dtype, engine.CPU), flat)
    if not dense:
        storage.show_part(t, engine.aval_of(ndarray.shape, ndarray.dtype, engine.CPU), stride)
    return t


def _showing(aval: engine.Aval, memory: np.ndarray) -> Tensor:
    """Return a tensor over host memory that NumPy arrays share."""
    return made_here(wrap(None, None, storage.of_memory(aval, memory)))


@functools.lru_cache(4096)
def _plain_aval(dtype: np.dtype, shape: tuple[int, ...], strides: tuple[int, ...]) -> engine.Aval | None:
    """Return the aval for contiguous arrays of a known dtype, else None."""
    known = dtype.isnative and any([d.np == dtype for d in dtypes.ALL.values()])
    if not known or strides != tuple([s * dtype.itemsize for s in storage.contiguous_strides(shape)]):
        return None
    return engine.aval_of(shape, dtype, engine.CPU)


def from_file(filename: str, shared: bool | None = None, size: int | None = 0, *, dtype: dtypes.dtype | None = None,
              layout: Any = None, device: Any = None, pin_memory: bool = False, requires_grad: bool = False) -> Tensor:
    """Return a tensor that maps a file. With ``shared``, writes go to the file. See torch.from_file."""
    dtype = dtype or dtypes.get_default_dtype()
    made = UntypedStorage.from_file(filename, bool(shared), (size or 0) * dtype.itemsize)
    return with_grad(_of_storage(made, dtype), requires_grad)


def frombuffer(buffer: Any, *, dtype: dtypes.dtype, count: int = -1, offset: int = 0, requires_grad: bool = False) -> Tensor:
    """Return a 1-d tensor over the memory of a Python buffer. See torch.frombuffer."""
    if not isinstance(dtype, dtypes.dtype):
        raise TypeError(f"frombuffer(): argument 'dtype' must be torch.dtype, not {sequences.type_name(dtype)}")
    nbytes, readonly = _buffer_of(buffer)
    if readonly:
        warned.warn("The given buffer is not writable, and PyTorch does not support non-writable tensors. This means you can "
                    "write to the underlying (supposedly non-writable) buffer using the tensor. You may want to copy the "
                    "buffer to protect its data or make it writable before converting it to a tensor. This type of warning "
                    "will be suppressed for the rest of this program.")
    _check_buffer(nbytes, dtype.itemsize, count, offset)
    return with_grad(_sharing(np.frombuffer(buffer, dtype.np, count, offset)), requires_grad)


def _buffer_of(given: Any) -> tuple[int, bool]:
    """Return (size of an object's buffer in bytes, is it read-only)."""
    if isinstance(given, np.ndarray):       # memoryview does not support all dtypes
        contiguous, nbytes, readonly = given.flags.c_contiguous, given.nbytes, not given.flags.writeable
    else:
        try:
            memory = memoryview(given)
        except TypeError:
            raise ValueError("object does not implement Python buffer protocol.") from None
        contiguous, nbytes, readonly = memory.c_contiguous, memory.nbytes, memory.readonly
    if not contiguous:
        raise RuntimeError("could not retrieve buffer from object")
    return nbytes, readonly


def _check_buffer(length: int, width: int, count: int, offset: int) -> None:
    if length <= 0 or count == 0:
        raise ValueError(f"both buffer length ({length}) and count ({count}) must not be 0")
    if not 0 <= offset < length:
        raise ValueError(f"offset ({offset} bytes) must be non-negative and no greater than buffer length ({length} bytes) "
                         "minus 1")
    left = length - offset
    if count < 0 and left % width:
        raise ValueError(f"buffer length ({left} bytes) after offset ({offset} bytes) must be a multiple of element size "
                         f"({width})")
    if count > 0 and count * width > left:
        raise ValueError(f"requested buffer length ({count} * {width} bytes) after offset ({offset} bytes) must not be greater "
                         f"than actual buffer length ({length} bytes)")


def empty_strided(size: Any, stride: Any, *, dtype: dtypes.dtype | None = None, layout: Any = None, device: Any = None,
                  requires_grad: bool = False, pin_memory: bool = False) -> Tensor:
    """Return a tensor with the given strides; its elements are 0. See torch.empty_strided."""
    size = int_list_of("empty_strided", "size", 1, size)
    stride = int_list_of("empty_strided", "stride", 2, stride)
    if len(size) != len(stride):
        raise RuntimeError(f"mismatch in length of strides and shape: {len(stride)} and {len(size)}")
    d, place = dtypes.as_dtype(dtype, "empty_strided") or dtypes.get_default_dtype(), place_of(device)
    number = number_for_new_memory(d)
    needed = extent(check.nonnegative(size), stride)
    if any(n < 0 for n in stride) or needed * d.itemsize >= 2**63:
        raise RuntimeError(f"Storage size calculation overflowed with sizes={list(size)} and strides={list(stride)}")
    t = from_host(out_of_memory.allocated(np.full, needed, 0 if number is None else number, d.np), place)
    storage.show_part(t, engine.aval_of(size, d.np, place), stride)
    return with_grad(t, requires_grad)


def _of_capsule(capsule: Any) -> Tensor:
    """Return a tensor over a capsule's memory. Raise RuntimeError if the capsule is invalid or was consumed."""
    try:
        return _sharing(capsules.imported(capsule))
    except (ValueError, BufferError) as error:
        raise RuntimeError("from_dlpack received an invalid capsule. Note that DLTensor capsules can be consumed only once, so "
                           "you might have already constructed a tensor from it once.") from error


def from_dlpack(ext_tensor: Any, *, device: Any = None, copy: bool | None = None) -> Tensor:
    """Return a tensor over the memory of a DLPack capsule or of any array that supports DLPack.

    Args:
        ext_tensor: the array or the capsule.
        device (device, str or None): the tensor's device; by default the array's.
        copy (bool or None): True copies, False never copies, None copies if the device requires it.

    Returns:
        a Tensor.

    Raises:
        RuntimeError: a capsule is invalid or was consumed before.
        BufferError: a tensor that requires grad.
        ValueError: another device requires a copy, but ``copy`` is False.

    Example::

        >>> a = numpy.arange(3.0)
        >>> torch.from_dlpack(a, copy=True)
        tensor([0., 1., 2.], dtype=torch.float64)

    """
    if (device is not None or copy is not None) and not hasattr(ext_tensor, "__dlpack__"):
        raise AssertionError("device and copy kwargs not supported when ext_tensor is already a DLPack capsule.")
    made: Any = _of_exchanged(ext_tensor)
    if device is not None and made.device != (wanted := place_of(device)):
        if copy is False:
            raise ValueError(f"cannot move DLPack tensor from device {made.device} to {wanted} without copying. Set copy=None or "
                             "copy=True.")
        return made.to(wanted)      # type: ignore[no-any-return]
    return made.clone() if copy else made       # type: ignore[no-any-return]


def _of_exchanged(ext_tensor: Any) -> Tensor:
    if isinstance(ext_tensor, jax.Array):
        return from_jax(ext_tensor)
    if isinstance(ext_tensor, Tensor):
        if ext_tensor.requires_grad:
            raise BufferError("Can't export tensors that require gradient, use tensor.detach()")
        t = alias(ext_tensor)
        storage.own_version(t)
        return t
    if not hasattr(ext_tensor, "__dlpack__"):
        return _of_capsule(ext_tensor)
    kind = ext_tensor.__dlpack_device__()[0] if hasattr(ext_tensor, "__dlpack_device__") else 1
    if kind != 1:
        return from_jax(jax.dlpack.from_dlpack(ext_tensor))
    try:
        with warned.silenced():     # from_numpy would warn of arrays that NumPy made read-only for lack of flags
            return from_numpy(np.from_dlpack(ext_tensor))
    except (RuntimeError, BufferError):     # NumPy lacks the dtype
        return _of_capsule(ext_tensor.__dlpack__())


def from_jax(array: jax.Array) -> Tensor:
    """Return a tensor of a ``jax.Array`` without a copy. Writes to the tensor do not change the array."""
    if isinstance(array, jax.core.Tracer):
        return wrap(Value(engine.traced_aval(array), array))
    place = devices.of_jax(next(iter(array.devices())))
    return wrap(Value(engine.aval_of(array.shape, np.dtype(array.dtype), place), array))


def legacy_tensor(*args: Any, **kw: Any) -> Tensor:
    """Return ``torch.Tensor(...)``: a tensor of zeros from sizes, or a float tensor from data."""
    return legacy_tensor_of(args, kw)


_LEGACY_ARGUMENTS = {"size", "data", "other"}


def legacy_tensor_of(args: tuple, kw: dict[str, Any], dtype: dtypes.dtype | None = None,
                     place: devices.device = engine.CPU) -> Tensor:
    """Return ``legacy_tensor`` with a dtype and device. A given tensor must have this dtype."""
    given = [*args, *[value for name, value in kw.items() if name in _LEGACY_ARGUMENTS]]
    _check_legacy(given, args, kw, place)
    default, first = dtype or dtypes.get_default_dtype(), given[0] if len(given) == 1 else None
    if isinstance(first, Tensor):
        if dtype is not None and first.dtype is not dtype:
            raise TypeError(f"expected {_options(dtype)} (got {_options(first.dtype)})")
        return call_view(call_of(OPS["alias"], (T,)), (first,))
    if isinstance(first, (UntypedStorage, TypedStorage)):
        return as_tensor(first, default)
    if len(given) == 1 and "size" not in kw and not isinstance(first, Size) and not _is_int(first):
        if not isinstance(first, (str, bytes)) and not sequences.is_sequence(first):
            raise TypeError(f"new(): data must be a sequence (got {_type_name(first)})")
        return (as_tensor if isinstance(first, np.ndarray) else tensor)(first, dtype=default, device=place)
    sizes = tuple(first) if first is not None and not _is_int(first) else tuple(given) if given else (0,)
    size = _legacy_size(sizes)
    check.storable(size, default.np)
    return from_host(out_of_memory.allocated(np.zeros, size, default.np), place)


def _check_legacy(given: list, args: tuple, kw: dict[str, Any], place: devices.device) -> None:
    if kw.keys() - _LEGACY_ARGUMENTS - {"device"} or (len(given) > 1 and not _is_int(given[0])):
        got = [_type_name(a) for a in args] + [f"{n}={_type_name(a)}" for n, a in kw.items()]
        raise TypeError(f"new() received an invalid combination of arguments - got ({', '.join(got)}), but expected one of:\n"
                        " * (*, torch.device device = None)\n * (torch.Storage storage)\n * (Tensor other)\n"
                        " * (tuple of ints size, *, torch.device device = None)\n"
                        " * (object data, *, torch.device device = None)\n")
    if kw.get("device") is not None and devices.as_device(kw["device"]).type != place.type:
        raise RuntimeError(f"legacy constructor expects device type: {place.type} but device type: "
                           f"{devices.as_device(kw['device']).type} was passed")


def _legacy_size(sizes: tuple) -> tuple[int, ...]:
    for k, n in enumerate(sizes):
        if not _is_int(n):
            raise TypeError(f"new(): argument 'size' failed to unpack the object at pos {k + 1} with error "
                            f'"type must be tuple of ints,but got {_type_name(n)}"')
    return check.nonnegative([int(n) for n in sizes])


def _options(dtype: dtypes.dtype) -> str:
    return (f"TensorOptions(dtype={check.cpp_name(dtype.np)}, device=cpu, layout=Strided, requires_grad=false (default), "
            "pinned_memory=false (default), memory_format=(nullopt))")


def _is_int(x: Any) -> bool:
    """Return whether a number of any library is an integer."""
    if isinstance(x, (np.ndarray, Tensor)):
        return not x.shape and str(x.dtype).removeprefix("torch.").startswith(("int", "uint"))
    return isinstance(x, (int, np.integer)) and not isinstance(x, bool)


def _type_name(x: Any) -> str:
    """Return the name of an object's type in the errors of ``torch.Tensor(...)``."""
    kind = type(x)
    if isinstance(x, Tensor):
        return "Tensor"
    return f"torch.{kind.__name__}" if kind.__module__.startswith("jtorch.") else sequences.type_name(x)


def reduced(t: Tensor) -> tuple:
    """Return (function, arguments) that rebuild a tensor over its storage in another process of the program."""
    hooks.warn_not_saved(t._own_hooks())
    size, stride, offset = storage.geometry_of(t)
    return rebuild, (type(t), t._storage, tuple(size), tuple(stride), offset, t.dtype, str(t.device), t.requires_grad,
                     t._attributes())


def rebuild(cls, s: Storage, size: tuple, stride: tuple, offset: int, dtype: dtypes.dtype, device: str,
            requires_grad: bool, attributes: dict | None = None) -> Tensor:
    """Return the tensor that ``reduced`` described, or that a pickle of an earlier version holds."""
    t = wrap(None, None, s)
    t.__class__ = cls
    if size != s.aval.shape or stride != storage.contiguous_strides(size) or offset or dtype is not s.aval.dtype:
        storage.show_part(t, engine.aval_of(size, dtype.np, s.aval.device), stride, offset)
    set_requires_grad(t, requires_grad)
    storage.own_version(t, 0 if t._is_parameter else 1)
    t.__dict__.update(attributes or {})
    return made_here(t)
