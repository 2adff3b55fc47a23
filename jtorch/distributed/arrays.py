"""Conversion of tensors to the arrays that collectives send, and back.

The arrays are NumPy arrays for the backends of the CPU. With "nccl" they are JAX arrays on the rank's GPU, and are not copied.
"""
from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jtorch import engine
from jtorch.device import device as _device
from jtorch.distributed.backends import Backend
from jtorch.storage import value_of, write
from jtorch.tensor import Tensor, alias, wrap


def check_tensor(param: Any, name: str) -> None:
    """Raise TypeError unless ``param`` is a tensor."""
    if not isinstance(param, Tensor):
        raise TypeError(f"Invalid function argument. Expected parameter `{name}` of type torch.Tensor\n             but got "
                        f"{type(param)} instead.")


def check_tensors(param: Any, name: str) -> None:
    """Raise TypeError unless ``param`` is a list of tensors."""
    if not isinstance(param, (list, tuple)) or any(not isinstance(t, Tensor) for t in param):
        what = f"with elements of type {[type(t) for t in param]}" if isinstance(param, (list, tuple)) else "instead"
        raise TypeError(f"Invalid function argument. Expected parameter `{name}` of type List[torch.Tensor]\n             but "
                        f"got {type(param)} {what}.")


def array_of(pg: Any, t: Tensor) -> Any:
    """Return a tensor's elements as an array for the collectives of a process group.

    RuntimeError if the group has no backend for the tensor's device. "gloo" copies a GPU's tensor to the host.
    """
    backend = pg.backends.get(t.device.type)
    if backend is None:
        raise RuntimeError(f"No backend type associated with device type {t.device.type}")
    value = value_of(alias(t))
    engine.read(value)      # Computes the value if it is deferred.
    return engine.device_array(value) if backend == Backend.NCCL else engine.host_array(value)


def tensor_of(array: Any, device: _device = engine.CPU) -> Tensor:
    """Return a tensor that takes ownership of ``array``: a NumPy array, or a JAX array on ``device``."""
    on_host = isinstance(array, np.ndarray)
    place = engine.CPU if on_host else device
    return wrap(engine.Value(engine.aval_of(array.shape, array.dtype, place), engine.shared(array) if on_host else array))


def put(t: Tensor, array: Any) -> None:
    """Write ``array``, which this call takes ownership of, into a tensor with as many elements."""
    if isinstance(array, np.ndarray):
        array = np.ascontiguousarray(array)
    made: Any = tensor_of(reshaped(array, tuple(t.shape)), t.device)
    target = t.detach()     # type: ignore[attr-defined]
    if made.dtype is target.dtype and made.device is target.device:
        write(target, value_of(made))       # Replaces the storage's value without a copy.
    else:
        target.copy_(made)


def reshaped(array: Any, shape: tuple[int, ...]) -> Any:
    """Return an array in another shape."""
    if array.shape == shape:
        return array
    with jax.enable_x64(True):
        return array.reshape(shape)


def stacked(arrays: Sequence[Any]) -> Any:
    """Return arrays of one shape as the rows of an array."""
    if isinstance(arrays[0], np.ndarray):
        return np.stack(arrays)
    with jax.enable_x64(True):
        return jnp.stack(arrays)


def joined(arrays: Sequence[Any]) -> Any:
    """Concatenate arrays along the first dim."""
    if isinstance(arrays[0], np.ndarray):
        return np.concatenate(arrays)
    with jax.enable_x64(True):
        return jnp.concatenate(arrays)


def split(array: Any, sizes: Sequence[int]) -> list[Any]:
    """Return consecutive parts of these sizes along the first dim."""
    ends = np.cumsum(sizes).tolist()
    with jax.enable_x64(True):
        return [array[end - size:end] for size, end in zip(sizes, ends, strict=True)]


def reals(array: Any) -> Any:
    """Return the elements as a flat array of real numbers; a complex number is a pair."""
    if isinstance(array, np.ndarray):
        return array.reshape(-1).view(array.real.dtype)
    with jax.enable_x64(True):
        return (jnp.stack([array.real, array.imag], -1) if jnp.iscomplexobj(array) else array).reshape(-1)


def complexes(pairs: Any) -> Any:
    """Return the complex numbers of a flat array of pairs."""
    if isinstance(pairs, np.ndarray):
        return pairs.view(np.result_type(pairs.dtype, np.complex64))
    with jax.enable_x64(True):
        return jax.lax.complex(pairs[::2], pairs[1::2])


def zeros_like(array: Any, shape: tuple[int, ...]) -> Any:
    """Return zeros of an array's kind and dtype."""
    if isinstance(array, np.ndarray):
        return np.zeros(shape, array.dtype)
    with jax.enable_x64(True):
        return jnp.zeros(shape, array.dtype, device=array.sharding)


def described(name: str, array: Any, *more: Any) -> str:
    """Return the text by which ranks compare a call: its name, dtype, shape and options."""
    return _description(name, array.dtype, array.shape, tuple(map(str, more)))


@functools.lru_cache(4096)
def _description(name: str, dtype: np.dtype, shape: tuple[int, ...], more: tuple[str, ...]) -> str:
    return " ".join([name, *more, str(dtype), str(shape)])
