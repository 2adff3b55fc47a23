"""The arguments of an optimizer's step: parameters with gradients, and options that are numbers or 1-element
tensors.
"""
from __future__ import annotations

import functools
from typing import Any

from jtorch._base.layout import in_use
from jtorch.ops.registry import NUMBERS, T
from jtorch.storage import value_of
from jtorch.tensor import Tensor


def with_gradients(group: dict[str, Any]) -> list[Tensor]:
    """Return the parameters of a group that have a gradient."""
    return [p for p in group["params"] if p._grad is not None]


def with_dense_gradients(optimizer: Any, group: dict[str, Any]) -> list[Tensor]:
    """Return the parameters with dense gradients; update those with sparse gradients by ``sparse_step``."""
    params = with_gradients(group)
    sparse = [p for p in params if p._grad.layout in in_use] if in_use else []      # type: ignore[union-attr]
    if not sparse:
        return params
    if optimizer.sparse_step is None:
        name = type(optimizer).__name__
        raise RuntimeError("Adam does not support sparse gradients, please consider SparseAdam "
                           "instead" if name in ("Adam", "AdamW")
                           else f"{name} does not support sparse gradients")
    from jtorch.sparse import gradients
    for p in sparse:
        getattr(gradients, optimizer.sparse_step)(group, p, optimizer.state[p])
    return [p for p in params if not any(p is s for s in sparse)]


def number(x: Any):
    """Return (argument, marker) for an option that is a Python number or a 1-element tensor."""
    if isinstance(x, Tensor):
        return value_of(x if x.ndim == 0 else x.detach().reshape(())), T      # type: ignore[attr-defined]
    x = float(x)
    return x, NUMBERS[float]


def scalars(options: tuple) -> tuple[list | tuple, tuple]:
    """Return the arguments and the markers of several options."""
    if set(map(type, options)) == _FLOAT:
        return options, (NUMBERS[float],) * len(options)
    made = [number(x) for x in options]
    return [a for a, _ in made], tuple([m for _, m in made])


_FLOAT = {float}


def check_option(name: str, value: Any, ok: bool) -> None:
    """Raise a ValueError such as ``Invalid learning rate: -1`` unless ``ok``."""
    if not ok:
        raise ValueError(f"Invalid {name}: {value}")


@functools.lru_cache(1024)
def tensor_marks(n: int) -> tuple:
    """Return the markers of ``n`` tensors."""
    return (T,) * n
