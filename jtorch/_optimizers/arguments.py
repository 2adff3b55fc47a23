"""What an optimizer's step takes: the parameters that have gradients, and options that are numbers or tensors of one element."""
from __future__ import annotations

import functools
from typing import Any

from jtorch.ops.registry import NUMBERS, T
from jtorch.storage import value_of
from jtorch.tensor import Tensor


def with_gradients(group: dict[str, Any]) -> list[Tensor]:
    """The parameters of a group that have a gradient."""
    return [p for p in group["params"] if p._grad is not None]


def number(x: Any):
    """(argument, marker) of an option that is a Python number or a tensor of one element."""
    if isinstance(x, Tensor):
        return value_of(x if x.ndim == 0 else x.detach().reshape(())), T      # type: ignore[attr-defined]
    x = float(x)
    return x, NUMBERS[float]


def scalars(options: tuple) -> tuple[list | tuple, tuple]:
    """The arguments and markers of several such options."""
    if set(map(type, options)) == _FLOAT:
        return options, (NUMBERS[float],) * len(options)
    made = [number(x) for x in options]
    return [a for a, _ in made], tuple([m for _, m in made])


_FLOAT = {float}


def check_option(name: str, value: Any, ok: bool) -> None:
    """ValueError ``Invalid learning rate: -1`` and the like."""
    if not ok:
        raise ValueError(f"Invalid {name}: {value}")


@functools.lru_cache(1024)
def tensor_marks(n: int) -> tuple:
    """The markers of so many tensors."""
    return (T,) * n
