"""Creation ops. See https://docs.pytorch.org/docs/stable/torch.html#creation-ops.

Without a given dtype, results have the arguments' dtype as in PyTorch, or else the default dtype.
"""
from __future__ import annotations

import builtins
import math

import jax
import jax.numpy as jnp
import numpy as np

import jtorch.dtype as dtypes
from jtorch._base import warned
from jtorch.ops import check, out_dtypes, promotion
from jtorch.ops import derivatives_from_result as from_result
from jtorch.ops.facts import Out, Saves
from jtorch.ops.layout import ITERATED, LIKE_FIRST
from jtorch.ops.registry import Number, Size, Tensor, dtype, op


def default_float(dtype=None) -> np.dtype:
    """Return ``dtype``, or the default dtype if it is None."""
    return dtypes.get_default_dtype().np if dtype is None else np.dtype(dtype)


@op(creates=True, out=Out(takes_dtype=True))
def zeros(size: Size, *, dtype: dtype | None = None):
    """Return a tensor of zeros. See torch.zeros."""
    check.require(all(n >= 0 for n in size), "zeros: Dimension size must be non-negative.")
    return jnp.zeros(size, default_float(dtype))


@op(creates=True, out=Out(takes_dtype=True))
def ones(size: Size, *, dtype: dtype | None = None):
    """Return a tensor of ones. See torch.ones."""
    return jnp.ones(check.nonnegative(size), default_float(dtype))


@op(creates=True, tested=False)
def empty(size: Size, *, dtype: dtype | None = None):
    """Return an uninitialized tensor; here it holds zeros. See torch.empty."""
    return jnp.zeros(check.nonnegative(size), default_float(dtype))


@op(creates=True, out=Out(takes_dtype=True), fits="fill_value:fill")
def full(size: Size, fill_value: Number, *, dtype: dtype | None = None):
    """Return a tensor filled with one number, of that number's dtype. See torch.full."""
    return _filled(check.nonnegative(size), fill_value, _dtype_of_number(fill_value) if dtype is None else dtype)


@op(creates=True, method=False, out=False, fits="s:scalar")
def scalar_tensor(s: Number, *, dtype: dtype | None = None):
    """Return a 0-dim tensor. See torch.scalar_tensor."""
    return _filled((), s, default_float(dtype))


def _dtype_of_number(value) -> np.dtype:
    """Return the dtype of a tensor filled with ``value``: floats and complex numbers have the default precision."""
    match np.dtype(value.dtype).kind:
        case "b":
            return np.dtype(np.bool_)
        case "i" | "u":
            return np.dtype(np.int64)
        case "c":
            return dtypes.get_default_dtype().to_complex().np
    return dtypes.get_default_dtype().np


def _filled(shape, value, dtype):
    loses = promotion.is_complex(np.dtype(value.dtype)) and not promotion.is_complex(np.dtype(dtype))
    if loses and dtype != np.bool_:
        raise check.does_not_fit(dtype)
    value = promotion.cast(value, dtype) if np.dtype(dtype).kind == "V" else value.astype(dtype)
    return jnp.broadcast_to(value, shape)


@op(creates=True, out=False, differentiable=False, layout=LIKE_FIRST)
def zeros_like(input: Tensor, *, dtype: dtype | None = None):
    """Return zeros in the shape of another tensor. See torch.zeros_like."""
    return jnp.zeros(input.shape, input.dtype if dtype is None else dtype)


@op(creates=True, out=False, differentiable=False, layout=LIKE_FIRST)
def ones_like(input: Tensor, *, dtype: dtype | None = None):
    """Return ones in the shape of another tensor. See torch.ones_like."""
    return jnp.ones(input.shape, input.dtype if dtype is None else dtype)


@op(creates=True, out=False, tested=False, differentiable=False, layout=LIKE_FIRST)
def empty_like(input: Tensor, *, dtype: dtype | None = None):
    """Return an uninitialized tensor (zeros) in the shape of another. See torch.empty_like."""
    return jnp.zeros(input.shape, input.dtype if dtype is None else dtype)


@op(creates=True, out=False, differentiable=False, layout=LIKE_FIRST, fits="fill_value:fill")
def full_like(input: Tensor, fill_value: Number, *, dtype: dtype | None = None):
    """Return one number in the shape of another tensor. See torch.full_like."""
    return _filled(input.shape, fill_value, input.dtype if dtype is None else dtype)


@op(creates=True, method=True, function=False, out=False, differentiable=False)
def new_zeros(input: Tensor, size: Size, *, dtype: dtype | None = None):
    """Return zeros in the dtype of this tensor. See torch.Tensor.new_zeros."""
    return jnp.zeros(check.nonnegative(size), input.dtype if dtype is None else dtype)


@op(creates=True, method=True, function=False, out=False, differentiable=False)
def new_ones(input: Tensor, size: Size, *, dtype: dtype | None = None):
    """Return ones in the dtype of this tensor. See torch.Tensor.new_ones."""
    return jnp.ones(check.nonnegative(size), input.dtype if dtype is None else dtype)


@op(creates=True, method=True, function=False, out=False, tested=False, differentiable=False)
def new_empty(input: Tensor, size: Size, *, dtype: dtype | None = None):
    """Return an uninitialized tensor (zeros) in the dtype of this one. See torch.Tensor.new_empty."""
    return jnp.zeros(check.nonnegative(size), input.dtype if dtype is None else dtype)


@op(creates=True, method=True, function=False, out=False, differentiable=False, fits="fill_value:fill")
def new_full(input: Tensor, size: Size, fill_value: Number, *, dtype: dtype | None = None):
    """Return one number in the dtype of this tensor. See torch.Tensor.new_full."""
    return _filled(check.nonnegative(size), fill_value, input.dtype if dtype is None else dtype)


@op(creates=True, out=Out(takes_dtype=True))
def arange(start=None, end=None, step=None, *, dtype: dtype | None = None):
    """Return the numbers from ``start`` (0) up to but not including ``end``. See torch.arange."""
    _check_numbers([n for n in (start, end, step) if n is not None])
    start, end = (0, start) if end is None else (start, end)
    start, step = 0 if start is None else start, 1 if step is None else step
    integral = all(isinstance(n, check.Int) for n in (start, end, step))
    d = (np.dtype(np.int64) if integral else default_float()) if dtype is None else np.dtype(dtype)
    check.require(d.kind not in "bc", f"\"arange_cpu\" not implemented for '{check.scalar_name(d)}'", NotImplementedError)
    if d == np.int64:
        _check_finite(start, end, step)
        start, end, step = [n if isinstance(n, check.Int) else int(n) for n in (start, end, step)]
    _check_range(start, end, step)
    n = -((start - end) // step) if integral or d == np.int64 else math.ceil((end - start) / step)
    check.require(n < 2**63, "invalid size, possible overflow?")
    return _progression(start, step, n, d)


def _check_numbers(given: list) -> None:
    """Raise TypeError if ``arange`` gets no arguments, or arguments that are no numbers."""
    kinds = [type(n).__name__ for n in given]
    wrong = [kind for n, kind in zip(given, kinds, strict=True) if not isinstance(n, (check.Int, float, complex, np.number))]
    if wrong and len(given) == 1:
        raise TypeError(f"arange(): argument 'end' (position 1) must be Number, not {wrong[0]}")
    if wrong or not given:
        raise TypeError(f"arange() received an invalid combination of arguments - got ({', '.join(kinds)})")


@op(name="range", creates=True, out=Out(takes_dtype=True))
def range_(start, end, step=1, *, dtype: dtype | None = None):
    """Return the numbers from ``start`` to ``end``, which is included. See torch.range."""
    warned.warn("torch.range is deprecated and will be removed in a future release because its behavior is inconsistent with "
                "Python's range builtin. Instead, use torch.arange, which produces values in [start, end).")
    _check_range(start, end, step)
    d = default_float(dtype)
    check.require(d.kind not in "bc", f"\"range_cpu\" not implemented for '{check.scalar_name(d)}'", NotImplementedError)
    return _progression(start, step, math.floor((end - start) / step) + 1, d)


def _check_finite(start, end, step) -> None:
    check.require(not isinstance(start + end + step, complex), "value cannot be converted to type double without overflow")
    check.require(isinstance(step, check.Int) or step == step, "step must be nonzero")
    finite = all(isinstance(n, check.Int) or math.isfinite(n) for n in (start, end))
    check.require(finite, f"unsupported range: {start} -> {end}")


def _check_range(start, end, step) -> None:
    _check_finite(start, end, step)
    check.require(step != 0, "step must be nonzero")
    check.require(end >= start if step > 0 else end <= start, "upper bound and lower bound inconsistent with step sign")


def _progression(start, step, n: int, dtype: np.dtype):
    """Return start + step * i, computed in the widest type as in PyTorch, without a constant of n elements."""
    kind = int if dtype.kind in "iu" else float
    start, step = kind(start), kind(step)
    whole = kind is int or (_is_whole(start) and _is_whole(step) and _is_whole(start + step * n))
    wide = np.dtype(np.int64) if whole else np.dtype(np.float64)
    steps = jax.lax.iota(wide, n)
    if wide.kind == "f" and dtype == np.float32:
        return _progression_by_block(start, step, steps, dtype)
    if (start, step) != (0, 1):
        steps = steps * np.asarray(step, wide) + np.asarray(start, wide)
    return steps.astype(dtype)


def _is_whole(x: float) -> bool:
    """Return whether a float is an integer in the range of int64."""
    return x.is_integer() and abs(x) < 2**63


def _progression_by_block(start: float, step: float, i, dtype: np.dtype):
    """Return the progression of PyTorch's vectorized kernel: it rounds every eighth number and counts seven from it."""
    vectorized = i.shape[0] // 16 * 16
    lane = jnp.where(i < vectorized, i % 8, 0)
    return ((start + step * (i - lane)).astype(dtype).astype(np.float64) + step * lane).astype(dtype)


def _ends(start, end, steps, dtype, name: str):
    """Return start and end in the dtype to compute in, and the dtype of the result."""
    check.require(steps >= 0, "number of steps must be non-negative")
    for e in (start, end):
        check.require(e.ndim == 0, f"{name} only supports 0-dimensional start and end tensors, but got start with "
                      f"{start.ndim} dimension(s) and end with {end.ndim} dimension(s).")
    any_complex = any(promotion.is_complex(np.dtype(e.dtype)) for e in (start, end))
    inferred = dtypes.get_default_dtype().to_complex().np if any_complex else default_float()
    d = inferred if dtype is None else np.dtype(dtype)
    check.require(not any_complex or promotion.is_complex(d), f"torch.{name}(): inferred dtype "
                  f"{'c10::complex<float>' if inferred == np.complex64 else 'c10::complex<double>'} can't be safely cast "
                  f"to passed dtype {check.scalar_name(d)}")
    check.require(d != np.bool_ or steps < 2, f"\"{name}_cpu\" not implemented for 'Bool'", NotImplementedError)
    wide = d if promotion.is_inexact(d) else np.dtype(np.float64)
    return start.astype(d).astype(wide), end.astype(d).astype(wide), d


def _between(start, end, steps: int):
    """Return ``steps`` evenly spaced numbers, each computed from the nearer end."""
    if steps < 2:
        return jnp.broadcast_to(start, (steps,))
    # without the barrier XLA would multiply by the reciprocal of a constant, which is inexact
    step = (end - start) / jax.lax.optimization_barrier(jnp.asarray(steps - 1, start.dtype))
    i = jax.lax.iota(np.int64, steps)
    return jnp.where(i < steps // 2, start + step * i.astype(start.dtype), end - step * (steps - 1 - i).astype(start.dtype))


@op(creates=True, differentiable=False, out=Out(takes_dtype=True), fits="start:many end:many")
def linspace(start: Tensor | Number, end: Tensor | Number, steps: int, *, dtype: dtype | None = None):
    """Return ``steps`` evenly spaced numbers from ``start`` to ``end``. See torch.linspace."""
    start, end, d = _ends(start, end, steps, dtype, "linspace")
    return _between(start, end, steps).astype(d)


@op(creates=True, differentiable=False, out=Out(takes_dtype=True), fits="start:many end:many")
def logspace(start: Tensor | Number, end: Tensor | Number, steps: int, base: float = 10.0, *, dtype: dtype | None = None):
    """Return powers of ``base`` with evenly spaced exponents. See torch.logspace."""
    start, end, d = _ends(start, end, steps, dtype, "logspace")
    wide = np.dtype(np.complex128 if promotion.is_complex(d) else np.float64)      # pow in float32 is inexact
    return (np.asarray(base, wide) ** _between(start.astype(wide), end.astype(wide), steps)).astype(d)


@op(creates=True, out=Out(takes_dtype=True))
def eye(n: int, m: int | None = None, *, dtype: dtype | None = None):
    """Return ones on the diagonal, zeros elsewhere. See torch.eye."""
    check.require(n >= 0, f"n must be greater or equal to 0, got {n}")
    check.require(m is None or m >= 0, f"m must be greater or equal to 0, got {m}")
    return jnp.eye(n, m, dtype=default_float(dtype))


@op(creates=True, out=False)
def tril_indices(row: int, col: int, offset: int = 0, *, dtype: dtype | None = None):
    """Return the rows and columns of the elements on and below a diagonal. See torch.tril_indices."""
    _check_triangle(row, col)
    first = np.zeros(max(row, 0), np.int64)
    return _triangle("tril_indices", row, col, first, np.clip(np.arange(max(row, 0)) + offset + 1, 0, max(col, 0)), dtype)


@op(creates=True, out=False)
def triu_indices(row: int, col: int, offset: int = 0, *, dtype: dtype | None = None):
    """Return the rows and columns of the elements on and above a diagonal. See torch.triu_indices."""
    _check_triangle(row, col)
    first = np.clip(np.arange(max(row, 0)) + offset, 0, max(col, 0))
    return _triangle("triu_indices", row, col, first, np.full(max(row, 0), max(col, 0)), dtype)


def _check_triangle(row: int, col: int) -> None:
    """Raise RuntimeError if a triangle, about half of the elements, has too many indices."""
    check.storable((2, row * col // 4), np.int64)


def _triangle(name: str, row: int, col: int, first, end, dtype):
    """Return the indices of the columns first[r]..end[r] of each row r."""
    d = np.dtype(np.int64) if dtype is None else np.dtype(dtype)
    check.require(row >= 0, f"row must be non-negative, got{row}")
    check.require(col >= 0, f"col must be non-negative, got{col}")
    check.require(d.kind in "iu", f"\"{name}\" not implemented for '{check.scalar_name(d)}'", NotImplementedError)
    counts = np.maximum(end - first, 0)
    n = int(counts.sum())
    before = np.cumsum(counts) - counts
    rows, shift = (jnp.repeat(jnp.asarray(a), counts, total_repeat_length=n) for a in (np.arange(row), first - before))
    return jnp.stack([rows, jax.lax.iota(np.int64, n) + shift]).astype(d)


def _check_parts(a, b, names: str) -> None:
    kinds = [check.scalar_name(x.dtype) for x in (a, b)]
    check.require(all(k in ("Half", "Float", "Double") for k in kinds),
                  f"Expected both inputs to be Half, Float or Double tensors but got {kinds[0]} and {kinds[1]}")
    check.require(kinds[0] == kinds[1],
                  f"Expected object of scalar type {kinds[0]} but got scalar type {kinds[1]} for second argument")
    check.require(kinds[0] != "Half", f"\"{names}_cpu\" not implemented for 'Half'", NotImplementedError)


@op(name="complex", method=False,
    saves=Saves("all", checks=lambda template, edges: tuple([i for i, e in enumerate(edges) if e is not None])),
    layout=ITERATED,
    out=Out(refuses=out_dtypes.refusal("Expected object of scalar type {made} but got scalar type {out} for argument 'out'")))
def complex_(real: Tensor, imag: Tensor):
    """Return complex numbers from their real and imaginary parts. See torch.complex."""
    _check_parts(real, imag, "complex")
    shape = check.broadcast_shapes(real.shape, imag.shape)
    return jax.lax.complex(jnp.broadcast_to(real, shape), jnp.broadcast_to(imag, shape))


@op(method=False, saves=Saves("result", change=from_result.of_polar, takes=(2,)), layout=ITERATED,
    out=Out(refuses=out_dtypes.refusal("Expected object of scalar type {made} but got scalar type {out} for argument 'out'")))
def polar(abs: Tensor, angle: Tensor):
    """Return complex numbers from their magnitudes and angles. See torch.polar."""
    _check_parts(abs, angle, "polar")
    shape = check.broadcast_shapes(abs.shape, angle.shape)
    abs, angle = jnp.broadcast_to(abs, shape), jnp.broadcast_to(angle, shape)
    return jax.lax.complex(abs * jnp.cos(angle), abs * jnp.sin(angle))


def powers(x, n: int):
    """Return x**0 … x**(n - 1) in a new last dimension, by repeated products, so that the gradient at 0 is right."""
    columns = [jnp.ones_like(x)]
    for _ in builtins.range(n - 1):
        columns.append(columns[-1] * x)
    return jnp.stack(columns[:n], -1) if n else jnp.zeros((*x.shape, 0), x.dtype)


@op(method=False, out=False, backward_name="FlipBackward0")
def vander(x: Tensor, N: int | None = None, increasing: bool = False):
    """Return the Vandermonde matrix of a vector. See torch.vander."""
    check.require(x.ndim == 1, "x must be a one-dimensional tensor.")
    check.require(N is None or N >= 0, "N must be non-negative.")
    wide = x if promotion.is_inexact(np.dtype(x.dtype)) else x.astype(np.int64)
    columns = powers(wide, x.shape[0] if N is None else N)
    return columns if increasing else columns[:, ::-1]
