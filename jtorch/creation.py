"""Tensors from data: Python numbers and lists, NumPy arrays, JAX arrays, DLPack; and their pickles."""
from __future__ import annotations

import warnings
from typing import Any

import jax
import numpy as np

import jtorch.device as devices
import jtorch.dtype as dtypes
from jtorch import engine, storage
from jtorch.engine import Value
from jtorch.storage import Storage, View
from jtorch.tensor import Tensor, alias, wrap

_PYTHON_KINDS = {"b": dtypes.bool_, "i": dtypes.int64, "u": dtypes.int64}


def place_of(device: Any) -> devices.device:
    """The device an argument means, the default one for None, checked to exist."""
    d = devices.default_device() if device is None else devices.as_device(device)
    return devices.canonical(d)


def from_host(array: np.ndarray, device: devices.device | None = None) -> Tensor:
    """A tensor of a host array that nobody else writes to."""
    place = engine.CPU if device is None else device
    aval = engine.aval_of(array.shape, array.dtype, place)
    return wrap(Value(aval, array if place.type == "cpu" and place is engine.CPU else engine.put(array, place)))


def tensor(data: Any, *, dtype: dtypes.dtype | None = None, device: Any = None, requires_grad: bool = False,
           pin_memory: bool = False) -> Tensor:
    """A tensor with a copy of ``data``: numbers, nested sequences, NumPy arrays, tensors. See torch.tensor."""
    place = place_of(device) if device is not None or not isinstance(data, Tensor) else data.device
    if isinstance(data, Tensor):
        warnings.warn("To copy construct from a tensor, it is recommended to use sourceTensor.detach().clone() or "
                      "sourceTensor.detach().clone().requires_grad_(True), rather than torch.tensor(sourceTensor).", UserWarning,
                      stacklevel=2)
        made = data.detach().to(device=place, dtype=dtype, copy=True)       # type: ignore[attr-defined]
    else:
        made = from_host(_host_array(data, dtype), place)
    return made.requires_grad_() if requires_grad else made


def _host_array(data: Any, dtype: dtypes.dtype | None) -> np.ndarray:
    """``data`` as a fresh NumPy array of the dtype PyTorch gives it."""
    if isinstance(data, np.ndarray) or isinstance(data, np.generic):
        array = np.array(data)
        found = dtypes.of_numpy(array.dtype)
        return array if dtype is None or dtype is found else _cast(array, dtype)
    if isinstance(data, (list, tuple)):
        data = _plain(data)
        _check_shape(data)
    elif not isinstance(data, (bool, int, float, complex)):
        data = _foreign(data)
        if isinstance(data, np.ndarray):
            return _host_array(data, dtype)
    array = _as_numpy(data)
    wanted = dtype or _inferred(array)
    return array.astype(wanted.np) if array.dtype.kind != "O" else _from_objects(array, wanted)


def _foreign(data: Any):
    if hasattr(data, "__array__"):
        return np.asarray(data)
    if hasattr(data, "__index__"):
        return data.__index__()
    if hasattr(data, "__len__") and hasattr(data, "__getitem__") and not isinstance(data, (str, bytes)):
        return _plain(list(data))
    raise TypeError(f"Could not infer dtype of {type(data).__name__}") if not isinstance(data, str) else \
        TypeError("new(): invalid data type 'str'")


def _plain(data):
    """Nested lists with every tensor and NumPy array inside turned into lists or numbers."""
    if not any(not isinstance(x, (int, float)) for x in data):
        return data
    return [x if isinstance(x, (bool, int, float, complex)) else _plain_item(x) for x in data]


def _plain_item(x):
    if isinstance(x, (list, tuple)):
        return _plain(x)
    if isinstance(x, Tensor):
        return x.tolist()
    if isinstance(x, (np.ndarray, np.generic)):
        return x.tolist()
    if x is None or isinstance(x, str):
        raise (TypeError("new(): invalid data type 'str'") if x is not None else
               RuntimeError("Could not infer dtype of NoneType"))
    return _foreign(x)


def _check_shape(data, dim: int = 0) -> int | None:
    """ValueError where nested sequences have different lengths."""
    if not isinstance(data, (list, tuple)):
        return None
    lengths = [len(x) if isinstance(x, (list, tuple)) else None for x in data]
    for n in lengths:
        if n != lengths[0]:
            if lengths[0] is None:
                raise TypeError("only int, float, bool or complex can be converted to a Python scalar, not list"
                                if n is not None else "not a sequence")
            raise ValueError(f"expected sequence of length {lengths[0]} at dim {dim + 1} (got {n})" if n is not None
                             else f"expected sequence of length {lengths[0]} at dim {dim + 1}")
    if lengths and lengths[0] is not None:
        for x in data:
            _check_shape(x, dim + 1)
    return None


def _as_numpy(data) -> np.ndarray:
    array = np.array(data)
    if array.dtype.kind in "uO" and array.size:
        array = np.array(data, dtype=object)
    return array


def _inferred(array: np.ndarray) -> dtypes.dtype:
    if array.dtype.kind == "O":
        kinds = {type(x) for x in array.ravel()}
        return dtypes.get_default_dtype() if float in kinds else dtypes.int64
    if array.dtype.kind == "c":
        return dtypes.get_default_dtype().to_complex()
    if array.dtype.kind == "f":
        return dtypes.get_default_dtype()
    return _PYTHON_KINDS[array.dtype.kind]


def _from_objects(array: np.ndarray, wanted: dtypes.dtype) -> np.ndarray:
    try:
        return array.astype(wanted.np)
    except OverflowError:
        raise RuntimeError("Overflow when unpacking long long") from None


def _cast(array: np.ndarray, dtype: dtypes.dtype) -> np.ndarray:
    with np.errstate(all="ignore"):
        return (array.real if array.dtype.kind == "c" and not dtype.is_complex else array).astype(dtype.np)


def as_tensor(data: Any, dtype: dtypes.dtype | None = None, device: Any = None) -> Tensor:
    """``data`` as a tensor, sharing memory where dtype and device allow. See torch.as_tensor."""
    if isinstance(data, Tensor):
        return data.to(device=device if device is not None else data.device, dtype=dtype)   # type: ignore[attr-defined]
    place = place_of(device)
    if isinstance(data, np.ndarray) and place is engine.CPU and (dtype is None or dtype.np == data.dtype):
        return from_numpy(data)
    if isinstance(data, jax.Array):
        made = from_jax(data)
        return made.to(device=device, dtype=dtype) if dtype is not None or device is not None else made  # type: ignore[attr-defined]
    return tensor(data, dtype=dtype, device=device)


def asarray(obj: Any, *, dtype: dtypes.dtype | None = None, device: Any = None, copy: bool | None = None,
            requires_grad: bool = False) -> Tensor:
    """``obj`` as a tensor, shared or copied as ``copy`` says. See torch.asarray."""
    if hasattr(obj, "__dlpack__") and not isinstance(obj, (Tensor, np.ndarray, jax.Array)):
        obj = np.from_dlpack(obj)
    made = as_tensor(obj, dtype, device)
    if copy and (made is obj or isinstance(obj, np.ndarray)):
        made = made.clone()     # type: ignore[attr-defined]
    if copy is False and not (made is obj or isinstance(obj, np.ndarray)):
        raise ValueError("can't alias arbitrary sequence with 'copy=False'")
    return made.requires_grad_() if requires_grad else made


def from_numpy(ndarray: np.ndarray) -> Tensor:
    """A tensor that shares the memory of a NumPy array: writes on either side show on the other. See torch.from_numpy."""
    if not isinstance(ndarray, np.ndarray):
        raise TypeError(f"expected np.ndarray (got {type(ndarray).__name__})")
    dtypes.of_numpy(ndarray.dtype)
    width = ndarray.itemsize
    if any(s < 0 for s in ndarray.strides):
        raise ValueError("At least one stride in the given numpy array is negative, and tensors with negative strides are not "
                         "currently supported. (You can probably work around this by making a copy of your array  with "
                         "array.copy().) ")
    if any(s % width for s in ndarray.strides):
        raise ValueError("given numpy array strides not a multiple of the element byte size. Copy the numpy array to reallocate "
                         "the memory.")
    if not ndarray.flags.writeable:
        warnings.warn("The given NumPy array is not writable, and PyTorch does not support non-writable tensors. This means "
                      "writing to this tensor will result in undefined behavior. You may want to copy the array to protect its "
                      "data or make it writable before converting it to a tensor. This type of warning will be suppressed for "
                      "the rest of this program.", UserWarning, stacklevel=2)
    return _sharing(ndarray)


def _sharing(ndarray: np.ndarray) -> Tensor:
    stride = tuple(s // ndarray.itemsize for s in ndarray.strides)
    span = 1 + sum((n - 1) * s for n, s in zip(ndarray.shape, stride, strict=True)) if ndarray.size else 0
    flat = np.lib.stride_tricks.as_strided(ndarray, (span,), (ndarray.itemsize,))
    dense = storage.contiguous_strides(ndarray.shape) == stride or ndarray.flags.c_contiguous
    shape = ndarray.shape if dense else (span,)
    s = Storage(Value(engine.aval_of(shape, ndarray.dtype, engine.CPU)))
    s.value, s.host = None, flat
    t = wrap(None, None, s)
    if not dense:
        t._view = View(engine.aval_of(ndarray.shape, ndarray.dtype, engine.CPU), stride, 0, None, -1)
    return t


def frombuffer(buffer: Any, *, dtype: dtypes.dtype, count: int = -1, offset: int = 0, requires_grad: bool = False) -> Tensor:
    """A 1-d tensor over the memory of a Python buffer. See torch.frombuffer."""
    made = from_numpy(np.frombuffer(buffer, dtype.np, count, offset))
    return made.requires_grad_() if requires_grad else made


def from_dlpack(ext_tensor: Any) -> Tensor:
    """A tensor over the memory of any library's array that speaks DLPack. See torch.utils.dlpack.from_dlpack."""
    if isinstance(ext_tensor, jax.Array):
        return from_jax(ext_tensor)
    kind = ext_tensor.__dlpack_device__()[0] if hasattr(ext_tensor, "__dlpack_device__") else 1
    return from_numpy(np.from_dlpack(ext_tensor)) if kind == 1 else from_jax(jax.dlpack.from_dlpack(ext_tensor))


def from_jax(array: jax.Array) -> Tensor:
    """A tensor of a ``jax.Array``, without a copy. Writing to the tensor leaves the array as it is."""
    if isinstance(array, jax.core.Tracer):
        return wrap(Value(engine.traced_aval(array), array))
    place = devices.of_jax(next(iter(array.devices())))
    return wrap(Value(engine.aval_of(array.shape, np.dtype(array.dtype), place), array))


def legacy_tensor(*args: Any, device: Any = None) -> Tensor:
    """What ``torch.Tensor(...)`` makes: from sizes an uninitialised (here zero) tensor, from data a float one."""
    default = dtypes.get_default_dtype()
    if len(args) == 1 and isinstance(args[0], Tensor):
        return alias(args[0])
    if len(args) == 1 and not isinstance(args[0], (int, np.integer)) and not _is_size(args[0]):
        return tensor(args[0], dtype=default, device=device)
    sizes = tuple(args[0]) if len(args) == 1 and _is_size(args[0]) else tuple(int(a) for a in args) if args else (0,)
    return from_host(np.zeros(sizes, default.np), place_of(device))


def _is_size(x: Any) -> bool:
    from jtorch.size import Size
    return isinstance(x, Size)


def rebuild(cls, s: Storage, size: tuple, stride: tuple, offset: int, dtype: dtypes.dtype, device: str,
            requires_grad: bool) -> Tensor:
    """The tensor of a pickle."""
    t = wrap(None, None, s)
    t.__class__ = cls
    if size != s.aval.shape or stride != storage.contiguous_strides(size) or offset or dtype is not s.aval.dtype:
        t._view = View(engine.aval_of(size, dtype.np, s.aval.device), stride, offset, None, -1)
    t._requires_grad = requires_grad
    return t
