"""Cumulative sums, products and extremes, differences and the trapezoidal rule. See torch.cumsum."""
from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jtorch.ops import check, out_dtypes, promotion, reduce
from jtorch.ops import derivatives_from_result as from_result
from jtorch.ops.facts import Out, Saves
from jtorch.ops.layout import DIFFERENCES
from jtorch.ops.reduce import refuse, summand, wide
from jtorch.ops.registry import Number, Tensor, dtype, op


def _running(scan, input, dim: int, dtype: np.dtype | None):
    """Return ``scan`` (``lax.cumsum`` or ``lax.cumprod``) of the input in ``dtype``."""
    dim = check.wrap_dim(dim, input.ndim)
    input = summand(input, dtype)
    if input.ndim and input.size:
        refuse(f"{scan.__name__}_out_cpu", input, "b")
    return scan(wide(input), dim).astype(input.dtype) if input.ndim else input


@op(saves="none", inplace=True, out=Out(refuses=out_dtypes.EXPECTED, takes_dtype=True))
def cumsum(input: Tensor, dim: int, *, dtype: dtype | None = None):
    """Return the sums of the elements so far along ``dim``. See torch.cumsum."""
    made = _running(lax.cumsum, input, dim, dtype)
    return _from_zero(made) if input.ndim and promotion.is_inexact(made.dtype) else made


@jax.custom_jvp
def _from_zero(sums):
    """Replace -0 by 0, since sums that start at 0 are never -0. XLA would remove an addition of 0."""
    if jnp.iscomplexobj(sums):
        return lax.complex(_from_zero(sums.real), _from_zero(sums.imag))
    return jnp.where(sums == 0, 0, sums)


@_from_zero.defjvp
def _from_zero_jvp(primals, tangents):
    return _from_zero(*primals), tangents[0]


@op(inplace=True, saves=Saves("both", change=from_result.of_cumprod),
    out=Out(refuses=out_dtypes.EXPECTED, takes_dtype=True))
def cumprod(input: Tensor, dim: int, *, dtype: dtype | None = None):
    """Return the products of the elements so far along ``dim``. See torch.cumprod."""
    return _running(lax.cumprod, input, dim, dtype)


def _cumulative_extreme(name: str, scan, input, dim: int):
    """Return cumulative extremes and the index of the last element equal to each, which gets the gradient."""
    check.require(input.ndim > 0 or dim in (0, -1), f"{name}(): Expected reduction dim -1 or 0 for scalar but got {dim}",
                  IndexError)
    dim = check.wrap_dim(dim, input.ndim)
    refuse(f"{name}_cpu", input, "c")
    if input.ndim == 0:
        return input, jnp.zeros((), jnp.int64)
    content = input.astype(jnp.uint8) if input.dtype == bool else lax.stop_gradient(input)
    best = scan(content, dim)
    record = (content == best) | (content != content)
    index = lax.cummax(jnp.where(record, lax.broadcasted_iota(jnp.int64, input.shape, dim), 0), dim)
    return jnp.take_along_axis(input, index, dim, mode="promise_in_bounds"), index


@op(returns="values indices", saves="all",
    out=Out(refuses=out_dtypes.refusal("expected scalar_type {made} but found {out}")))
def cummax(input: Tensor, dim: int):
    """Return the largest elements so far along ``dim``, with their indices. See torch.cummax."""
    return _cumulative_extreme("cummax", lax.cummax, input, dim)


@op(returns="values indices", saves="all",
    out=Out(refuses=out_dtypes.refusal("expected scalar_type {made} but found {out}")))
def cummin(input: Tensor, dim: int):
    """Return the smallest elements so far along ``dim``, with their indices. See torch.cummin."""
    return _cumulative_extreme("cummin", lax.cummin, input, dim)


@op(saves="both", out=Out(refuses=out_dtypes.refusal("expected scalar_type {made} but found {out}")))
def logcumsumexp(input: Tensor, dim: int):
    """Return the logarithm of the cumulative sums of exponentials. See torch.logcumsumexp."""
    dim = check.wrap_dim(dim, input.ndim)
    refuse("logcumsumexp_out_cpu", input, "biu")
    return lax.cumlogsumexp(wide(input), dim).astype(input.dtype) if input.ndim else input


def _slice(input, start: int, stop: int, dim: int):
    return lax.slice_in_dim(input, start, stop, axis=dim)


def _steps(input, dim: int):
    """Return the differences of neighbours, or for bools whether they differ."""
    n = input.shape[dim]
    left, right = _slice(input, 0, n - 1, dim), _slice(input, 1, n, dim)
    return left != right if input.dtype == bool else right - left


def _common_dtype(*arrays) -> np.dtype:
    return promotion.result_type([(np.dtype(a.dtype), promotion.DIM if a.ndim else promotion.ZERO_DIM) for a in arrays])


def _with_ends(input, prepend, append, dim: int):
    parts = [p for p in (prepend, input, append) if p is not None]
    for p in parts:
        check.require(p.ndim == input.ndim, "diff expects prepend or append to be the same dimension as input")
        for i, (a, b) in enumerate(zip(p.shape, input.shape, strict=True)):
            check.require(i == dim or a == b, "diff expects the shape of tensor to prepend or append to match that of "
                          f"input except along the differencing dimension; input.size({i}) = {b}, but got "
                          f"tensor.size({i}) = {a}")
    found = _common_dtype(*parts)
    return lax.concatenate([p.astype(found) for p in parts], dim) if len(parts) > 1 else input


@op(saves="none", backward_name="SubBackward0", composite=True, layout=DIFFERENCES)
def diff(input: Tensor, n: int = 1, dim: int = -1, prepend: Tensor | None = None, append: Tensor | None = None):
    """Return the ``n``-th differences of neighbours along ``dim``. See torch.diff."""
    check.require(input.ndim > 0, "diff expects input to be at least one-dimensional")
    check.require(n >= 0, f"order must be non-negative but got {n}")
    dim = check.wrap_dim(dim, input.ndim)
    if n == 0:
        return input
    input = _with_ends(input, prepend, append, dim)
    for _ in range(min(n, input.shape[dim])):
        input = _steps(input, dim)
    return input


def _samples(name: str, y, x, dim: int):
    """Return ``y`` and the distances between the sample points ``x``, broadcastable, in their common dtype."""
    if x.ndim == 1:
        check.require(x.shape[0] == y.shape[dim], f"{name}: There must be one `x` value for each sample point")
        x = x.reshape([-1 if i == dim else 1 for i in range(y.ndim)])
    elif x.ndim < y.ndim:
        x = x.reshape((1,) * (y.ndim - x.ndim) + x.shape)
    found = _common_dtype(y, x)
    return y.astype(found), _steps(x.astype(found), dim)


def _pair_sums(y, dim: int):
    n = y.shape[dim]
    return _slice(y, 1, n, dim) + _slice(y, 0, n - 1, dim)


def _times(a, b):
    shape = check.broadcast_shapes(a.shape, b.shape)
    return jnp.broadcast_to(a, shape) * jnp.broadcast_to(b, shape)


def _double_areas(name: str, y, x, dx, dim: int):
    """Return twice the areas of the trapezoids between neighbours along ``dim``; integers stay integers."""
    check.require(y.ndim > 0, f"Dimension specified as {dim} but tensor has no dimensions", IndexError)
    said = "`y`" if x is None else "`x` or `y`"
    check.require(bool not in (y.dtype, y.dtype if x is None else x.dtype),
                  f"{name}: received a bool input for {said}, but bool is not supported")
    dim = check.wrap_dim(dim, y.ndim)
    if y.shape[dim] == 0:
        return y.astype(promotion.to_float(y.dtype))
    if x is not None:
        y, steps = _samples(name, y, x, dim)
        return _times(_pair_sums(y, dim), steps)
    y = y.astype(promotion.to_float(y.dtype))
    return _pair_sums(y, dim) * (1 if dx is None else jnp.asarray(dx).astype(y.dtype))


def _half(total):
    return total.astype(promotion.to_float(total.dtype)) / 2


def _name(without_x: str):
    return lambda template: without_x if template[1] is None else "DivBackward1"


def _given_x(template: tuple, edges: tuple) -> bool:
    return template[1] is not None


@op(aliases=("trapz",), method=False, backward_name=_name("MulBackward1"),
    saves=Saves(frees=_given_x, checks=check.nothing))
def trapezoid(y: Tensor, x: Tensor | None = None, *, dx: Number = None, dim: int = -1):
    """Return the integral of ``y`` along ``dim`` by the trapezoidal rule. See torch.trapezoid."""
    return _half(reduce.sum(_double_areas("trapezoid", y, x, dx, dim), dim))


@op(method=False, backward_name=_name("CumsumBackward0"), saves=Saves(frees=_given_x, checks=check.nothing))
def cumulative_trapezoid(y: Tensor, x: Tensor | None = None, *, dx: Number = None, dim: int = -1):
    """Return the integrals so far of ``y`` along ``dim`` by the trapezoidal rule. See torch.cumulative_trapezoid."""
    return _half(cumsum(_double_areas("cumulative_trapezoid", y, x, dx, dim), dim))
