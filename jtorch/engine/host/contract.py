"""Rules of products (``dot_general`` by BLAS or oneDNN) and of Fourier transforms."""
from __future__ import annotations

from collections.abc import Callable
from math import prod

import numpy as np

from jtorch.engine import policy
from jtorch.engine.host.blas import matmul_for
from jtorch.engine.host.lazy import Lazy
from jtorch.engine.host.rules import HALF, Equation, in_compute_dtype, ints, kind, require, rule
from jtorch.ops.promotion import opmath

fft = Lazy("scipy.fft")


@rule("dot_general")
def _dot_general(e: Equation) -> Callable:
    (lhs_contract, rhs_contract), (lhs_batch, rhs_batch) = e.params["dimension_numbers"]
    a, b = e.ins
    left = _as_matrices(a.shape, ints(lhs_batch), ints(lhs_contract), contract_last=True)
    right = _as_matrices(b.shape, ints(rhs_batch), ints(rhs_contract), contract_last=False)
    shape, dtype = e.shape, e.dtype
    wide = opmath(dtype)
    require(kind(dtype) in "fc" or e.outs[0].size * prod(a.shape[d] for d in lhs_contract) <= policy.MUCH)
    cast_a, cast_b, cast_out = a.dtype != wide, b.dtype != wide, wide != dtype
    batch, contracted = prod(shape[:len(lhs_batch)]), prod(a.shape[d] for d in lhs_contract)
    rows = prod(a.shape) // max(batch * contracted, 1)
    matmul = matmul_for(rows, prod(shape) // max(batch * rows, 1), contracted, wide)
    if matmul is np.matmul and not lhs_batch and not (cast_a or cast_b or cast_out):
        is_matrix = len(shape) == 2 and len(a.shape) == len(lhs_contract) + 1
        return _product(left, right, None if is_matrix else shape)

    def dot(x, y):
        x, y = left(x), right(y)
        if cast_a:
            x = x.astype(wide)
        if cast_b:
            y = y.astype(wide)
        out = matmul(_dense(x), _dense(y)).reshape(shape)
        return out.astype(dtype) if cast_out else out
    return dot


def _product(left: Callable, right: Callable, shape: tuple[int, ...] | None) -> Callable:
    """Return a product of two matrices by ``ndarray.dot``. Its call is cheaper than that of ``np.matmul``.

    ``dot`` copies broadcast views itself. ``shape`` is the result's shape, or None for a matrix.
    """
    if shape is None:
        return lambda x, y: left(x).dot(right(y))
    return lambda x, y: left(x).dot(right(y)).reshape(shape)


def _dense(x: np.ndarray) -> np.ndarray:
    """Return the array, copied if it is a broadcast view. BLAS takes no such views, and ``matmul`` without BLAS is slow."""
    return np.ascontiguousarray(x) if 0 in x.strides else x


def _as_matrices(shape, batch, contract, *, contract_last: bool) -> Callable:
    """Return a function that brings an operand to (batch, rows, contracted), or to (batch, contracted, columns)."""
    free = tuple(d for d in range(len(shape)) if d not in batch and d not in contract)
    permutation = batch + (free + contract if contract_last else contract + free)
    sizes = prod(shape[d] for d in free), prod(shape[d] for d in contract)
    new = tuple(shape[d] for d in batch) + (sizes if contract_last else sizes[::-1])
    moved, reshaped = permutation != tuple(range(len(shape))), tuple(shape[d] for d in permutation) != new
    match moved, reshaped:
        case False, False:
            return np.asarray
        case False, True:
            return lambda x: x.reshape(new)
        case True, False:
            return lambda x: x.transpose(permutation)
    return lambda x: x.transpose(permutation).reshape(new)


@rule("fft")
def _fft(e: Equation) -> Callable:
    lengths, which = ints(e.params["fft_lengths"]), int(e.params["fft_type"])
    shape, dtype = e.shape, e.dtype
    if 0 in e.ins[0].shape or 0 in shape:
        return lambda x: np.zeros(shape, dtype)
    transform = (fft.fftn, fft.ifftn, fft.rfftn, fft.irfftn)[which]
    axes = tuple(range(-len(lengths), 0))
    return lambda x: transform(x, lengths, axes).astype(dtype, copy=False)


@rule("mulhi")
def _mulhi(e: Equation) -> Callable:
    dtype, bits = e.dtype, e.dtype.itemsize * 8
    wide = object if bits == 64 else np.dtype(f"{kind(dtype)}8")
    return lambda a, b: ((a.astype(wide) * b.astype(wide)) >> bits).astype(dtype)


@rule("symmetric_product")
def _symmetric_product(e: Equation) -> Callable:
    alpha, beta = e.params["alpha"], e.params["beta"]

    def product(a, c):
        return (alpha * np.matmul(a, np.swapaxes(a, -1, -2)) + beta * c).astype(a.dtype)
    return in_compute_dtype(product, e.dtype) if e.dtype in HALF else product
