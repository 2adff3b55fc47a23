"""Finite differences, with which gradcheck compares gradients."""
from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from jtorch import storage
from jtorch.engine import Value
from jtorch.tensor import Tensor, wrap


class GradcheckError(RuntimeError):
    """The error that gradcheck and gradgradcheck raise for a wrong gradient."""


# ---------------------------------------------------------------- tensors and arrays

def as_tuple(x: Any) -> tuple:
    return x if isinstance(x, tuple) else tuple(x) if isinstance(x, list) else (x,)


def differentiable(outputs: Any) -> tuple:
    return tuple([o for o in as_tuple(outputs) if isinstance(o, Tensor) and o.requires_grad])


def needing_grad(inputs: tuple) -> list[Tensor]:
    return [t for t in inputs if isinstance(t, Tensor) and t.requires_grad]


def array(t: Tensor) -> np.ndarray:
    return np.array(t.detach()._numpy_copy())


def tensor_like(t: Tensor, array: np.ndarray) -> Tensor:
    aval = storage.aval_of(t)
    return wrap(Value(aval, np.asarray(array).astype(aval.np).reshape(aval.shape))).to(t.device)        # type: ignore[attr-defined]


def set_elements(t: Tensor, array: np.ndarray) -> None:
    """Overwrite a tensor's elements without autograd noticing."""
    storage.write(t.data, storage.value_of(tensor_like(t, array)))


def random_array(random, t: Tensor, low: float) -> np.ndarray:
    values = random.uniform(low, 1.0, tuple(t.shape))
    return values + 1j * random.uniform(low, 1.0, tuple(t.shape)) if t.is_complex() else values


# ---------------------------------------------------------------- finite differences

def outputs_as_arrays(func: Callable, inputs: tuple, part: Callable, all_outputs: bool) -> list[np.ndarray]:
    outputs = as_tuple(func(*inputs))
    return [part(array(o)).ravel() for o in outputs if isinstance(o, Tensor) and (all_outputs or o.requires_grad)]


def difference(func: Callable, inputs: tuple, t: Tensor, step: np.ndarray, eps: float, part: Callable,
                all_outputs: bool = False) -> list[np.ndarray]:
    """Return the central difference of each output along ``step``, a direction for the input ``t``."""
    before = array(t)
    try:
        set_elements(t, before - eps * step)
        low = outputs_as_arrays(func, inputs, part, all_outputs)
        set_elements(t, before + eps * step)
        high = outputs_as_arrays(func, inputs, part, all_outputs)
    finally:
        set_elements(t, before)
    for a, b in zip(low, high, strict=True):
        if a.shape != b.shape:
            raise AssertionError("Expected `func` to return outputs with the same shape when inputs are perturbed by "
                                 f"{eps}, but got: shapes {a.shape} and {b.shape}.")
    return [(b.astype(double(b)) - a) / (2 * eps) for a, b in zip(low, high, strict=True)]


def double(a: np.ndarray) -> type:
    return np.complex128 if np.iscomplexobj(a) else np.float64


def columns(func: Callable, inputs: tuple, t: Tensor, eps: float, part: Callable,
             all_outputs: bool = False) -> Iterator[list[np.ndarray]]:
    """Yield, for each element of the input ``t``, the derivative of each output.

    A complex input is varied in the imaginary direction too; that difference is multiplied by i and added.
    """
    for i in range(t.numel()):
        step: np.ndarray = np.zeros(t.numel(), double(array(t)))
        step[i] = 1.0
        step = step.reshape(tuple(t.shape))
        column = difference(func, inputs, t, step, eps, part, all_outputs)
        if t.is_complex():
            turned = difference(func, inputs, t, 1j * step, eps, part, all_outputs)
            column = [a + 1j * b for a, b in zip(column, turned, strict=True)]
        yield column
