"""Conversion of tensors to the arrays that collectives send, and back."""
from __future__ import annotations

import functools
from typing import Any

import numpy as np

from jtorch import engine
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


def array_of(t: Tensor) -> np.ndarray:
    """Return a tensor's elements as a NumPy array on the host; RuntimeError if the tensor is not on the CPU."""
    if t.device.type != "cpu":
        raise RuntimeError(f"No backend type associated with device type {t.device.type}")
    value = value_of(alias(t))
    engine.read(value)      # Computes the value if it is deferred.
    return engine.host_array(value)


def tensor_of(array: np.ndarray) -> Tensor:
    """Return a tensor that takes ownership of ``array``."""
    return wrap(engine.Value(engine.aval_of(array.shape, array.dtype, engine.CPU), engine.shared(array)))


def put(t: Tensor, array: np.ndarray) -> None:
    """Write ``array``, which this call takes ownership of, into a tensor with as many elements."""
    made, target = tensor_of(np.ascontiguousarray(array).reshape(tuple(t.shape))), t.detach()     # type: ignore[attr-defined]
    if made.dtype is target.dtype:
        write(target, value_of(made))       # Replaces the storage's value without a copy.
    else:
        target.copy_(made)


def bits(array: np.ndarray) -> np.ndarray:
    """Return an array's bytes as uint64 words, padded with zeros."""
    flat = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    return np.concatenate([flat, np.zeros(-flat.size % 8, np.uint8)]).view(np.uint64)


def from_bits(words: np.ndarray, like: np.ndarray) -> np.ndarray:
    """Return the array with the shape and dtype of ``like`` whose bytes are ``words``."""
    return words.view(np.uint8)[:like.nbytes].view(like.dtype).reshape(like.shape)


def described(name: str, array: np.ndarray, *more: Any) -> str:
    """Return the text by which ranks compare a call: its name, dtype, shape and options."""
    return _description(name, array.dtype, array.shape, tuple(map(str, more)))


@functools.lru_cache(4096)
def _description(name: str, dtype: np.dtype, shape: tuple[int, ...], more: tuple[str, ...]) -> str:
    return " ".join([name, *more, str(dtype), str(shape)])
