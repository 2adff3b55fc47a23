"""The table of rules: for each primitive, what makes a NumPy function out of one equation.

A rule is called once, when the equation is met, and does there all that depends only on shapes, dtypes and parameters.
The function it returns takes the inputs' arrays and returns the output's array (a sequence if there are several). It
never writes into its inputs, since arrays are shared freely; 0-dim results may be NumPy scalars.
"""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from typing import Any

import ml_dtypes
import numpy as np

from jtorch.ops.promotion import OPMATH

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
HALF = tuple(OPMATH)
FLOAT32 = np.dtype(np.float32)


class Unsupported(Exception):
    """This equation is better compiled."""


class Shaped:
    """An abstract array: what rules ask of one."""

    __slots__ = ("dtype", "shape", "size")

    def __init__(self, shape: tuple[int, ...], dtype: np.dtype):
        self.shape, self.dtype, self.size = shape, dtype, prod(shape)


@dataclass(slots=True)
class Equation:
    """What a rule sees: abstract inputs and outputs (with ``shape`` and ``dtype``) and the primitive's parameters."""

    name: str
    ins: list
    outs: list
    params: dict[str, Any]

    @property
    def dtype(self) -> np.dtype:
        return self.outs[0].dtype

    @property
    def shape(self) -> tuple[int, ...]:
        return self.outs[0].shape


class Overwriting:
    """A function of arrays that writes into a copy of its first: ``over`` writes into the array itself, and gives it."""

    __slots__ = ("copying", "over")

    def __init__(self, copying: Callable, over: Callable):
        self.copying, self.over = copying, over

    def __call__(self, *arrays):
        return self.copying(*arrays)


def in_copy(write: Callable) -> Overwriting:
    """What writes as ``write`` does, which takes a contiguous array to write into and gives it, but into a copy."""
    return Overwriting(lambda x, *others: write(np.array(x, order="C"), *others), write)


RULES: dict[str, Callable[[Equation], Callable]] = {}


def rule(*names: str):
    """Registers the rule of some primitives."""
    def register(make):
        for name in names:
            RULES[name] = make
        return make
    return register


def require(condition: bool) -> None:
    """The equation is left to the compiler unless ``condition``."""
    if not condition:
        raise Unsupported


def ints(values) -> tuple[int, ...]:
    """Dimension numbers as Python ints (some arrive as NumPy's)."""
    return tuple(int(v) for v in values)


def kind(dtype: np.dtype) -> str:
    """``b`` bool, ``i`` signed, ``u`` unsigned, ``f`` float (those of ml_dtypes too), ``c`` complex."""
    return "f" if dtype.kind == "V" else dtype.kind


def in_compute_dtype(fn: Callable, dtype: np.dtype) -> Callable:
    """``fn``, computed in float32 and rounded once if ``dtype`` is a 16-bit float."""
    if dtype not in HALF:
        return fn
    return lambda *arrays: fn(*[a.astype(FLOAT32) for a in arrays]).astype(dtype)


def lowest(dtype: np.dtype):
    """The identity of max."""
    k = kind(dtype)
    if k == "f":
        return dtype.type(-np.inf)
    return dtype.type(False) if k == "b" else np.iinfo(dtype).min


def highest(dtype: np.dtype):
    """The identity of min."""
    k = kind(dtype)
    if k == "f":
        return dtype.type(np.inf)
    return dtype.type(True) if k == "b" else np.iinfo(dtype).max
