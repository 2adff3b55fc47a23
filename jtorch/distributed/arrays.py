"""Tensors as the arrays that travel between processes, and back."""
from __future__ import annotations

import functools
from typing import Any

import numpy as np

from jtorch import engine
from jtorch.storage import value_of, write
from jtorch.tensor import Tensor, alias, wrap


def check_tensor(param: Any, name: str) -> None:
    """TypeError unless it is a tensor."""
    if not isinstance(param, Tensor):
        raise TypeError(f"Invalid function argument. Expected parameter `{name}` of type torch.Tensor\n             but got "
                        f"{type(param)} instead.")


def check_tensors(param: Any, name: str) -> None:
    """TypeError unless it is a list of tensors."""
    if not isinstance(param, (list, tuple)) or any(not isinstance(t, Tensor) for t in param):
        what = f"with elements of type {[type(t) for t in param]}" if isinstance(param, (list, tuple)) else "instead"
        raise TypeError(f"Invalid function argument. Expected parameter `{name}` of type List[torch.Tensor]\n             but "
                        f"got {type(param)} {what}.")


def array_of(t: Tensor) -> np.ndarray:
    """What a tensor shows; its bits where NumPy's reductions and XLA's take numbers of other dtypes."""
    if t.device.type != "cpu":
        raise RuntimeError(f"No backend type associated with device type {t.device.type}")
    value = value_of(alias(t))
    engine.read(value)      # it may be held back
    return engine.host_array(value)


def tensor_of(array: np.ndarray) -> Tensor:
    """A tensor of an array that nobody else will write to."""
    return wrap(engine.Value(engine.aval_of(array.shape, array.dtype, engine.CPU), engine.shared(array)))


def put(t: Tensor, array: np.ndarray) -> None:
    """Writes an array of as many elements, which nobody else will write to, into a tensor."""
    made, target = tensor_of(np.ascontiguousarray(array).reshape(tuple(t.shape))), t.detach()     # type: ignore[attr-defined]
    if made.dtype is target.dtype:
        write(target, value_of(made))       # no copy
    else:
        target.copy_(made)


def bits(array: np.ndarray) -> np.ndarray:
    """An array's bytes as whole words, the last filled up with zeros."""
    flat = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    return np.concatenate([flat, np.zeros(-flat.size % 8, np.uint8)]).view(np.uint64)


def from_bits(words: np.ndarray, like: np.ndarray) -> np.ndarray:
    """The array of these bytes that has another's shape and dtype."""
    return words.view(np.uint8)[:like.nbytes].view(like.dtype).reshape(like.shape)


def described(name: str, array: np.ndarray, *more: Any) -> str:
    """A call as other ranks are told of it."""
    return _description(name, array.dtype, array.shape, tuple(map(str, more)))


@functools.lru_cache(4096)
def _description(name: str, dtype: np.dtype, shape: tuple[int, ...], more: tuple[str, ...]) -> str:
    return " ".join([name, *more, str(dtype), str(shape)])
