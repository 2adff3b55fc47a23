"""torch.einsum: conversion of PyTorch's equations to lists of labels for jnp.einsum."""
from __future__ import annotations

import functools
import itertools
import string
from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np

from jtorch.ops import arrival, check, promotion
from jtorch.ops.facts import Saves
from jtorch.ops.matmul import same_scalar_type
from jtorch.ops.registry import Tensors, op

_LETTERS = string.ascii_uppercase + string.ascii_lowercase      # a label is the index of its letter, as in PyTorch
_ELLIPSIS = -1
_FIRST_OF_ELLIPSIS = len(_LETTERS)                              # labels of an ellipsis's dimensions


@op(method=False, backward_name="ViewBackward0", saves=Saves(frees=lambda template, edges: len(edges) > 1),
    arrival=arrival.last_first)
def einsum(equation: str, operands: Tensors):
    """Return sums of products, by Einstein's convention. See torch.einsum."""
    check.require(len(operands) > 0, "einsum(): must specify the equation string and at least one operand, or at least one "
                  "operand and its subscripts list", ValueError)
    left, arrow, right = equation.partition("->")
    inputs = _inputs(left, len(operands))
    labels = _expanded(inputs, operands)
    sizes = _sizes(labels, operands)
    if arrow:
        result = _output(right, len(left) + 2, sizes)
    else:
        result = sorted(n for n in sizes if n >= _FIRST_OF_ELLIPSIS) + _appearing_once(inputs)
    dtype = _computed_dtype(labels, operands, result)
    if len(operands) > 2:
        check.sizes_known(operands)     # the order of the products depends on the sizes
    squeezed = [_without_broadcast(promotion.cast(a, dtype), names, sizes) for a, names in zip(operands, labels, strict=True)]
    return jnp.einsum(*[x for pair in squeezed for x in pair], result)


def _computed_dtype(labels: list[list[int]], operands, result: list[int]) -> np.dtype:
    """Return the dtype of the result. Sums of one operand's integers are int64; products of matrices take one dtype."""
    wide = [{n for n, size in zip(names, a.shape, strict=True) if size != 1 or len(operands) == 1} - set(result)
            for a, names in zip(operands, labels, strict=True)]
    dtypes = [_dtype_of_sum(a, wide[k].difference(*wide[:k], *wide[k + 1:])) for k, a in enumerate(operands)]
    if any(a & b for a, b in itertools.combinations(wide, 2)):
        same_scalar_type(*[jax.ShapeDtypeStruct((), d) for d in dtypes])
    return functools.reduce(promotion.promote_types, dtypes)


def _dtype_of_sum(array, summed: set[int]) -> np.dtype:
    dtype = np.dtype(array.dtype)
    return np.dtype(np.int64) if summed and not promotion.is_inexact(dtype) else dtype


def sublist_equation(operands: Sequence[Sequence], result: Sequence | None) -> str:
    """Return the equation for the call form ``einsum(a, [0, 1], b, [1, 2], [0, 2])``."""
    def text(sublist):
        return "".join("..." if n is Ellipsis else _letter(n) for n in sublist)
    return ",".join(map(text, operands)) + ("" if result is None else "->" + text(result))


def _letter(n: int) -> str:
    check.require(0 <= n < len(_LETTERS), "einsum(): subscript in subscript list is not within the valid range [0, 52)",
                  ValueError)
    return _LETTERS[n]


def _labels(text: str, start: int, what: str) -> list[int]:
    """Return the labels of one operand's subscripts, which begin at index ``start`` of the equation."""
    labels, i = [], 0
    while i < len(text):
        if text[i] == ".":
            check.require(text[i:i + 3] == "...", f"einsum(): found '.' for {what} that is not part of any ellipsis")
            labels.append(_ELLIPSIS)
            check.require(labels.count(_ELLIPSIS) == 1, f"einsum(): found '.' for {what} for which an ellipsis was already found")
            i += 2
        elif text[i] != " ":
            check.require(text[i] in _LETTERS, f"einsum(): invalid subscript given at index {start + i} in the equation "
                          "string, subscripts must be in [a-zA-Z]")
            labels.append(_LETTERS.index(text[i]))
        i += 1
    return labels


def _inputs(left: str, count: int) -> list[list[int]]:
    parts, start, inputs = left.split(","), 0, []
    for i, part in enumerate(parts):
        inputs.append(_labels(part, start, f"operand {i}"))
        start += len(part) + 1
    check.require(len(parts) <= count, "einsum(): fewer operands were provided than specified in the equation")
    check.require(len(parts) >= count, "einsum(): more operands were provided than specified in the equation")
    return inputs


def _expanded(inputs: list[list[int]], operands) -> list[list[int]]:
    """Return the labels with each ellipsis replaced by labels of its dimensions, aligned at the right."""
    missing = []
    for i, (labels, a) in enumerate(zip(inputs, operands, strict=True)):
        dots = _ELLIPSIS in labels
        n = len(labels) - dots
        fits = n <= a.ndim if dots else n == a.ndim
        check.require(fits, f"einsum(): the number of subscripts in the equation ({n}) "
                      + ("is more than" if dots else "does not match") +
                      f" the number of dimensions ({a.ndim}) for operand {i}" + ("" if dots else " and no ellipsis was given"))
        missing.append(a.ndim - n if dots else 0)
    end = _FIRST_OF_ELLIPSIS + max(missing)
    return [[x for n in labels for x in (range(end - m, end) if n == _ELLIPSIS else [n])]
            for labels, m in zip(inputs, missing, strict=True)]


def _sizes(labels: list[list[int]], operands) -> dict[int, int]:
    sizes: dict[int, int] = {}
    for i, (names, a) in enumerate(zip(labels, operands, strict=True)):
        own: dict[int, int] = {}
        for n, size in zip(names, a.shape, strict=True):
            text = _LETTERS[n] if n < _FIRST_OF_ELLIPSIS else "..."
            check.require(own.setdefault(n, size) == size, f"einsum(): subscript {text} is repeated for operand {i} but "
                          f"the sizes don't match, {size} != {own[n]}")
            seen = sizes.get(n, 1)
            check.require(1 in (seen, size) or seen == size, f"einsum(): subscript {text} has size {size} for operand {i} "
                          f"which does not broadcast with previously seen size {seen}")
            sizes[n] = size if seen == 1 else seen
    return sizes


def _output(right: str, start: int, sizes: dict[int, int]) -> list[int]:
    labels = _labels(right, start, "the output")
    for n in labels:
        if n != _ELLIPSIS:
            check.require(labels.count(n) == 1,
                          f"einsum(): output subscript {_LETTERS[n]} appears more than once in the output")
            check.require(n in sizes, f"einsum(): output subscript {_LETTERS[n]} does not appear in the equation for any "
                          "input operand")
    dots = sorted(n for n in sizes if n >= _FIRST_OF_ELLIPSIS)
    return [x for n in labels for x in (dots if n == _ELLIPSIS else [n])]


def _appearing_once(inputs: list[list[int]]) -> list[int]:
    every = [n for labels in inputs for n in labels if n != _ELLIPSIS]
    return sorted(n for n in set(every) if every.count(n) == 1)


def _without_broadcast(a, names: list[int], sizes: dict[int, int]):
    """Return the operand without dimensions of size 1 that broadcast, and its labels."""
    gone = [i for i, n in enumerate(names) if a.shape[i] == 1 and sizes[n] != 1]
    return jnp.squeeze(a, gone), [n for i, n in enumerate(names) if i not in gone]
