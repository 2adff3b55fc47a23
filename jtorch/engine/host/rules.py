"""The table of rules. The rule of a primitive makes a NumPy function of an equation.

A rule is called once for each equation, and does all work that depends only on shapes, dtypes and parameters. Its function
takes the inputs' arrays and returns the output's array, or a sequence if the equation has several outputs. The function never
writes into its inputs, since steps share arrays. Results without dims may be NumPy scalars.
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
    """Raised for an equation that the host cannot run, or that is better compiled."""


class Shaped:
    """An abstract array with the attributes that rules read."""

    __slots__ = ("dtype", "shape", "size")

    def __init__(self, shape: tuple[int, ...], dtype: np.dtype):
        self.shape, self.dtype, self.size = shape, dtype, prod(shape)


@dataclass(slots=True)
class Equation:
    """The argument of a rule: abstract inputs and outputs (with ``shape`` and ``dtype``) and the primitive's parameters."""

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
    """A function that writes into a copy of its first array. ``over`` writes into that array itself, and returns it."""

    __slots__ = ("copying", "over")

    def __init__(self, copying: Callable, over: Callable):
        self.copying, self.over = copying, over

    def __call__(self, *arrays):
        return self.copying(*arrays)


def in_copy(write: Callable) -> Overwriting:
    """Return a function that calls ``write`` with a contiguous copy of the first array.

    ``write`` writes into its first array and returns it.
    """
    return Overwriting(lambda x, *others: write(np.array(x, order="C"), *others), write)


RULES: dict[str, Callable[[Equation], Callable]] = {}


def rule(*names: str):
    """Register the decorated function as the rule of these primitives."""
    def register(make):
        for name in names:
            RULES[name] = make
        return make
    return register


def require(condition: bool) -> None:
    """Raise Unsupported, which leaves the equation to the compiler, unless ``condition`` holds."""
    if not condition:
        raise Unsupported


def ints(values) -> tuple[int, ...]:
    """Return dimension numbers as Python ints. JAX gives some of them as NumPy's integers."""
    return tuple(int(v) for v in values)


def kind(dtype: np.dtype) -> str:
    """Return the kind of a dtype: ``b`` bool, ``i`` signed, ``u`` unsigned, ``f`` float (also of ml_dtypes), ``c`` complex."""
    return "f" if dtype.kind == "V" else dtype.kind


def in_compute_dtype(fn: Callable, dtype: np.dtype) -> Callable:
    """Return ``fn``; for a 16-bit ``dtype``, a function that computes in float32 and rounds once."""
    if dtype not in HALF:
        return fn
    return lambda *arrays: fn(*[a.astype(FLOAT32) for a in arrays]).astype(dtype)


def lowest(dtype: np.dtype):
    """Return the identity of max."""
    k = kind(dtype)
    if k == "f":
        return dtype.type(-np.inf)
    return dtype.type(False) if k == "b" else np.iinfo(dtype).min


def highest(dtype: np.dtype):
    """Return the identity of min."""
    k = kind(dtype)
    if k == "f":
        return dtype.type(np.inf)
    return dtype.type(True) if k == "b" else np.iinfo(dtype).max
