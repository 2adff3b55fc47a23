"""Reduction ops. See https://docs.pytorch.org/docs/stable/torch.html#reduction-ops.

Reductions that sort (``median``, ``mode``, ``quantile``) are in ``sort.py``, ``unique`` is in ``counting.py``. In this file
``sum``, ``max``, ``all`` and so on mean the ops below, not Python's builtins.
"""
from __future__ import annotations

import math
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jtorch._base import warned
from jtorch.ops import check, out_dtypes, promotion
from jtorch.ops import derivatives_from_result as from_result
from jtorch.ops.elementwise import divide
from jtorch.ops.facts import Out, Saves
from jtorch.ops.registry import Scalar, Size, Tensor, dtype, op

Dims = int | tuple[int, ...] | None


def _by_dim(full: str, along: str):
    """Return a function that gives the node's name, which depends on whether ``dim`` is given."""
    return lambda template: full if template[1] is None else along


def summand(input, dtype: np.dtype | None):
    """Return ``input`` in the dtype of its sum: ``dtype`` if given, int64 for integers and bools."""
    if dtype is None:
        dtype = np.dtype(np.int64) if input.dtype.kind in "biu" else input.dtype
    return promotion.cast(input, dtype)


def refuse(kernel: str, input, kinds: str) -> None:
    """Raise PyTorch's NotImplementedError if the dtype's kind is one of ``kinds`` (``b`` bool, ``c`` complex, …)."""
    check.require(input.dtype.kind not in kinds,
                  f"\"{kernel}\" not implemented for '{check.scalar_name(input.dtype)}'", NotImplementedError)


def wide(input):
    """Return float16 and bfloat16 as float32, in which PyTorch accumulates."""
    return input.astype(jnp.float32) if promotion.is_float(input.dtype) and input.dtype.itemsize < 4 else input


def _count(shape: tuple[int, ...], axes: tuple[int, ...]) -> int:
    return math.prod([shape[a] for a in axes])


def sqrt_or_zero(x):
    """Return the square root with derivative 0 at 0, as in PyTorch's ``norm`` and ``std``."""
    zero = x == 0
    return jnp.where(zero, x, jnp.sqrt(jnp.where(zero, 1, x)))


# Sums ----------------------------------------------------------------------------------------------------------------

@op(saves="none", backward_name=_by_dim("SumBackward0", "SumBackward1"),
    out=Out(refuses=out_dtypes.EXPECTED, takes_dtype=True))
def sum(input: Tensor, dim: Dims = None, keepdim: bool = False, *, dtype: dtype | None = None):
    """Return the sum of all elements, or along ``dim``; of integers in int64. See torch.sum."""
    input = summand(input, dtype)
    return jnp.sum(input, check.wrap_dims(dim, input.ndim), dtype=input.dtype, keepdims=keepdim)


@op(saves="none", function=False, backward_name="SumBackward1")
def sum_to_size(input: Tensor, size: Size):
    """Return the sum over the dims that broadcasting from ``size`` repeats. See torch.Tensor.sum_to_size."""
    more = input.ndim - len(size)
    differing = [n for n, m in zip(size, input.shape[more:], strict=True) if n not in (1, m)] if more >= 0 else size
    check.require(not differing, f"size {{{list(size)}}} is not expandable to size {{{list(input.shape)}}}.")
    axes = [d for d in range(input.ndim) if d < more or input.shape[d] != size[d - more]]
    return jnp.sum(input, axes, dtype=summand(input, None).dtype).reshape(size)


@op
def nansum(input: Tensor, dim: Dims = None, keepdim: bool = False, *, dtype: dtype | None = None):
    """Return the sum with NaNs taken as zero. See torch.nansum."""
    check.require(not promotion.is_complex(input.dtype), "nansum on CPU does not support complex inputs")
    if promotion.is_float(input.dtype):
        input = jnp.where(jnp.isnan(input), jnp.zeros((), input.dtype), input)
    return sum(input, dim, keepdim, dtype=dtype)


@op(saves=Saves("both", change=from_result.of_prod), backward_name=_by_dim("ProdBackward0", "ProdBackward1"),
    out=Out(refuses=out_dtypes.EXPECTED, takes_dtype=True))
def prod(input: Tensor, dim: int | None = None, keepdim: bool = False, *, dtype: dtype | None = None):
    """Return the product of all elements, or along ``dim``; of integers in int64. See torch.prod."""
    input = summand(input, dtype)
    if dim is None:
        return _product(input.reshape(-1), 0).reshape((1,) * input.ndim if keepdim else ())
    axes = check.wrap_dims((dim,), input.ndim)
    found = _product(input, axes[0]) if axes else input
    return found.reshape([1 if i in axes else n for i, n in enumerate(input.shape)]) if keepdim else found


@partial(jax.custom_jvp, nondiff_argnums=(1,))
def _product(input, axis: int):
    """Return the product with PyTorch's gradient: ``result / input``, or the product of the others if there are zeros."""
    return jnp.prod(input, axis, dtype=input.dtype)


@_product.defjvp
def _product_jvp(axis: int, primals, tangents):
    input, = primals
    result = _product(input, axis)
    if not input.size:
        return result, jnp.sum(tangents[0], axis)
    others = lax.cond(jnp.any(input == 0), partial(_product_of_others, axis=axis),
                      lambda x: jnp.expand_dims(_product(x, axis), axis) / x, input)
    return result, jnp.sum(tangents[0] * others, axis)


def _product_of_others(input, axis: int):
    """Return, for each element, the product of all other elements."""
    one = jnp.ones_like(lax.slice_in_dim(input, 0, 1, axis=axis))
    n = input.shape[axis]
    before = lax.cumprod(jnp.concatenate([one, lax.slice_in_dim(input, 0, n - 1, axis=axis)], axis), axis)
    behind = lax.cumprod(jnp.concatenate([lax.slice_in_dim(input, 1, n, axis=axis), one], axis), axis, reverse=True)
    return before * behind


@op(saves="none", backward_name=_by_dim("MeanBackward0", "MeanBackward1"))
def mean(input: Tensor, dim: Dims = None, keepdim: bool = False, *, dtype: dtype | None = None):
    """Return the mean of all elements, or along ``dim``. See torch.mean."""
    found = np.dtype(input.dtype if dtype is None else dtype)
    whose = "Input" if dtype is None else "Optional"
    check.require(promotion.is_inexact(found), f"mean(): could not infer output dtype. {whose} dtype must be either "
                  f"a floating point or complex dtype. Got: {check.scalar_name(found)}")
    return _mean(promotion.cast(input, found), check.wrap_dims(dim, input.ndim), keepdim)


def _mean(input, axes: tuple[int, ...], keepdim: bool):
    total = jnp.sum(wide(input), axes, keepdims=keepdim)
    # Without the barrier XLA would turn a division by a constant into a product that may differ in the last bit.
    count = jax.lax.optimization_barrier(jnp.asarray(_count(input.shape, axes), total.dtype))
    return divide(total, count).astype(input.dtype)


@op(backward_name="DivBackward0")
def nanmean(input: Tensor, dim: Dims = None, keepdim: bool = False, *, dtype: dtype | None = None):
    """Return the mean of the elements that are not NaN. See torch.nanmean."""
    check.require(promotion.is_inexact(input.dtype), "nanmean(): expected input to have floating point or complex "
                  f"dtype but got {check.scalar_name(input.dtype)}")
    total = nansum(input, dim, keepdim, dtype=dtype)
    return total / sum(~jnp.isnan(input), dim, keepdim).astype(total.dtype)


@op(differentiable=False)
def count_nonzero(input: Tensor, dim: Dims = None):
    """Return how many elements are not zero. See torch.count_nonzero."""
    return jnp.sum(input.astype(bool), check.wrap_dims(dim, input.ndim), dtype=jnp.int64)


@op(aliases=("special.logsumexp",), saves=Saves("both", change=from_result.of_logsumexp))
def logsumexp(input: Tensor, dim: int | tuple[int, ...], keepdim: bool = False):
    """Return the logarithm of the sum of exponentials along ``dim``. See torch.logsumexp."""
    input = input.astype(promotion.to_float(input.dtype))
    axes = check.wrap_dims(dim, input.ndim)
    if _count(input.shape, axes) == 0:
        return jnp.log(jnp.sum(input, axes, keepdims=keepdim))
    return jax.nn.logsumexp(wide(input), axes, keepdims=keepdim).astype(input.dtype)


# Variances -----------------------------------------------------------------------------------------------------------

def _correction(dim, unbiased: bool | None, correction: float | None):
    """Return ``dim`` and the correction from the overloads (unbiased), (dim, unbiased) and (dim, *, correction)."""
    if isinstance(dim, bool):
        dim, unbiased = None, dim
    if correction is None:
        correction = 0 if unbiased is False else 1
    return dim, correction


def _var_mean(name: str, input, dim, unbiased, keepdim, correction, finish=lambda v: v):
    kinds = "std and var" if name in ("std", "var") else name
    check.require(promotion.is_inexact(input.dtype), f"{kinds} only support floating point and complex dtypes")
    dim, correction = _correction(dim, unbiased, correction)
    axes = check.wrap_dims(dim, input.ndim)
    content = wide(input)
    mean = _mean(content, axes, True)
    d = content - mean
    square = lax.square(d.real) + lax.square(d.imag) if promotion.is_complex(d.dtype) else lax.square(d)
    left = _count(input.shape, axes) - correction
    if left <= 0:
        left = 0
        warned.warn(f"{name}(): degrees of freedom is <= 0. Correction should be strictly less than the reduction factor (input "
                    "numel divided by output numel).")
    total = jnp.sum(square, axes, keepdims=keepdim)
    var = finish(total / jnp.asarray(left, total.dtype))
    mean = mean if keepdim else lax.squeeze(mean, axes)
    return var.astype(jnp.real(input).dtype), mean.astype(input.dtype)


@op
def var(input: Tensor, dim: bool | Dims = None, unbiased: bool | None = None, keepdim: bool = False, *,
        correction: float | None = None):
    """Return the variance, divided by N - ``correction`` (1 by default). See torch.var."""
    return _var_mean("var", input, dim, unbiased, keepdim, correction)[0]


@op(saves=Saves("both", change=from_result.of_std))
def std(input: Tensor, dim: bool | Dims = None, unbiased: bool | None = None, keepdim: bool = False, *,
        correction: float | None = None):
    """Return the standard deviation: the square root of ``var``. See torch.std."""
    return _var_mean("std", input, dim, unbiased, keepdim, correction, sqrt_or_zero)[0]


@op(method=False)
def var_mean(input: Tensor, dim: bool | Dims = None, unbiased: bool | None = None, keepdim: bool = False, *,
             correction: float | None = None):
    """Return the variance and the mean. See torch.var_mean."""
    return _var_mean("var_mean", input, dim, unbiased, keepdim, correction)


@op(saves="both", method=False)
def std_mean(input: Tensor, dim: bool | Dims = None, unbiased: bool | None = None, keepdim: bool = False, *,
             correction: float | None = None):
    """Return the standard deviation and the mean. See torch.std_mean."""
    return _var_mean("std_mean", input, dim, unbiased, keepdim, correction, sqrt_or_zero)


# Extremes ------------------------------------------------------------------------------------------------------------

@jax.custom_jvp
def shared(input, value):
    """Return ``value``, whose gradient is shared evenly by the elements of ``input`` equal to it. NaNs count as equal."""
    return value


@shared.defjvp
def _shared_jvp(primals, tangents):
    input, value = primals
    same = (input == value) | ((input != input) & (value != value))
    count = jnp.sum(same, dtype=jnp.int32).astype(value.dtype)
    return shared(input, value), jnp.sum(jnp.where(same, tangents[0], 0)) / count


def nonempty(name: str, input, dims: tuple[int, ...] | None):
    """Raise PyTorch's error if the input is empty, in all or along ``dims``."""
    if dims is None:
        check.require(input.size > 0, f"{name}(): Expected reduction dim to be specified for input.numel() == 0. "
                      "Specify the reduction dim with the 'dim' argument.")
    for d in dims or ():
        check.require(not input.ndim or input.shape[d] > 0,
                      f"{name}(): Expected reduction dim {d} to have non-zero size.", IndexError)


def along(name: str, choose, input, dim: int, keepdim: bool):
    """Return the elements at the indices ``choose(input, dim)`` along ``dim``, and these indices."""
    dim = check.wrap_dim(dim, input.ndim)
    nonempty(name, input, (dim,))
    if input.ndim == 0:
        return input, jnp.zeros((), jnp.int64)
    index = choose(lax.stop_gradient(input), dim)
    values = jnp.take_along_axis(input, index, dim, mode="promise_in_bounds")
    return (values, index) if keepdim else (lax.squeeze(values, (dim,)), lax.squeeze(index, (dim,)))


def _argmax(input, dim):
    return lax.expand_dims(lax.argmax(input, dim, np.dtype(np.int64)), (dim,))


def _argmin(input, dim):
    return lax.expand_dims(lax.argmin(input, dim, np.dtype(np.int64)), (dim,))


def _extreme_name(full: str, along: str, pair: str):
    def name(template: tuple) -> str:
        dim, other = template[1], template[3]
        if other is not None or not (dim is None or isinstance(dim, check.Int)):
            return pair
        return full if dim is None else along
    return name


def _extreme(name: str, reduce, choose, pair, input, dim, keepdim: bool, other):
    if dim is not None and not isinstance(dim, check.Int):
        other = dim
    if other is not None:
        a, b = _common(input, other)
        check.require(not promotion.is_complex(a.dtype), f"{pair.__name__} not implemented for complex tensors.")
        return pair(a, b)
    if dim is not None:
        axis = check.wrap_dim(dim, input.ndim)
        nonempty(name, input, (axis,))
        check.require(not promotion.is_complex(input.dtype), f"{name}(): does not support complex input")
        return along(name, choose, input, axis, keepdim)
    nonempty(name, input, None)
    refuse(f"{name}_all", input, "c")
    return shared(input, lax.stop_gradient(reduce(input)))


def _common(a, b):
    ranks = [promotion.DIM if x.ndim else promotion.ZERO_DIM for x in (a, b)]
    found = promotion.result_type(zip([np.dtype(a.dtype), np.dtype(b.dtype)], ranks, strict=True))
    shape = check.broadcast_shapes(a.shape, b.shape)
    return jnp.broadcast_to(a.astype(found), shape), jnp.broadcast_to(b.astype(found), shape)


@op(returns="values indices", backward_name=_extreme_name("MaxBackward1", "MaxBackward0", "MaximumBackward0"),
    saves=Saves("both", checks=check.of_extreme, change=from_result.of_max), out=Out(refuses=out_dtypes.of_extreme))
def max(input: Tensor, dim: Tensor | int | None = None, keepdim: bool = False, *, other: Tensor | None = None):
    """Return the largest element; the largest along ``dim`` with its index; the larger of two tensors. See torch.max."""
    return _extreme("max", jnp.max, _argmax, jnp.maximum, input, dim, keepdim, other)


@op(returns="values indices", backward_name=_extreme_name("MinBackward1", "MinBackward0", "MinimumBackward0"),
    saves=Saves("both", checks=check.of_extreme, change=from_result.of_max), out=Out(refuses=out_dtypes.of_extreme))
def min(input: Tensor, dim: Tensor | int | None = None, keepdim: bool = False, *, other: Tensor | None = None):
    """Return the smallest element; the smallest along ``dim`` with its index; the smaller of two tensors. See torch.min."""
    return _extreme("min", jnp.min, _argmin, jnp.minimum, input, dim, keepdim, other)


def _amax(name: str, reduce, input, dim, keepdim: bool):
    axes = check.wrap_dims(dim, input.ndim)
    nonempty(name, input, None if dim is None or dim == () else (dim,) if isinstance(dim, check.Int) else dim)
    if not input.size and promotion.is_complex(input.dtype):        # PyTorch's kernel does not run
        return jnp.sum(input, axes, keepdims=keepdim)
    refuse(f"{reduce.__name__}_values_cpu", input, "c")
    found = _attained(input, reduce(lax.stop_gradient(input), axes, keepdims=True), axes)
    return found if keepdim else lax.squeeze(found, axes)


@partial(jax.custom_jvp, nondiff_argnums=(2,))
def _attained(input, value, axes: tuple[int, ...]):
    """Return ``value``, the extreme along ``axes``. Its gradient is shared evenly by the elements of ``input`` equal to it."""
    return value


@_attained.defjvp
def _attained_jvp(axes: tuple[int, ...], primals, tangents):
    input, value = primals
    same = input == value
    change = jnp.sum(promotion.cast(same, value.dtype) * tangents[0], axes, keepdims=True)
    return _attained(input, value, axes), change / jnp.sum(same, axes, keepdims=True, dtype=np.int32).astype(value.dtype)


def _of_one_dtype(input, out) -> None:
    names = [check.scalar_name(x.dtype) for x in (input, out)]
    raise RuntimeError(f"Expected the dtype for input and out to match, but got {names[0]} for input's dtype and {names[1]} for "
                       "out's dtype.")


@op(saves=Saves("both", change=from_result.of_amax), out=Out(refuses_first=_of_one_dtype))
def amax(input: Tensor, dim: int | tuple[int, ...] | None = (), keepdim: bool = False):
    """Return the largest elements along ``dim``; ties share the gradient evenly. See torch.amax."""
    return _amax("amax", jnp.max, input, dim, keepdim)


@op(saves=Saves("both", change=from_result.of_amax), out=Out(refuses_first=_of_one_dtype))
def amin(input: Tensor, dim: int | tuple[int, ...] | None = (), keepdim: bool = False):
    """Return the smallest elements along ``dim``; ties share the gradient evenly. See torch.amin."""
    return _amax("amin", jnp.min, input, dim, keepdim)


@op(returns="min max", saves="both", out=Out(refuses=out_dtypes.EXPECTED))
def aminmax(input: Tensor, *, dim: int | None = None, keepdim: bool = False):
    """Return the smallest and the largest elements. See torch.aminmax."""
    refuse("aminmax_cpu", input, "c")
    axes = check.wrap_dims(None if dim is None else (dim,), input.ndim)
    if dim is None:
        check.require(input.size > 0, "aminmax(): cannot compute aminmax over an empty dimension as the operation "
                      "has no identity.")
    else:
        check.require(_count(input.shape, axes) > 0, f"aminmax: Expected reduction dim {dim} to have non-zero size.",
                      IndexError)
    found = [_attained(input, f(lax.stop_gradient(input), axes, keepdims=True), axes) for f in (jnp.min, jnp.max)]
    return tuple(x if keepdim else lax.squeeze(x, axes) for x in found)


def _arg(name: str, choose, input, dim: int | None, keepdim: bool):
    check.require(input.dtype.kind not in "bc", f"{name}(): does not support "
                  f"{'bool' if input.dtype.kind == 'b' else 'complex'} input")
    axis = None if dim is None else check.wrap_dim(dim, input.ndim)
    if axis is None:
        check.require(input.size > 0, f"{name}(): Expected reduction dim to be specified for input.numel() == 0.",
                      IndexError)
    else:
        nonempty(name, input, (axis,))
    if input.ndim == 0:
        return jnp.zeros((), jnp.int64)
    if axis is None:
        index = choose(input.reshape(-1), 0)
        return index.reshape((1,) * input.ndim if keepdim else ())
    index = choose(input, axis)
    return index if keepdim else lax.squeeze(index, (axis,))


@op(differentiable=False, out=Out(refuses=out_dtypes.EXPECTED))
def argmax(input: Tensor, dim: int | None = None, keepdim: bool = False):
    """Return the index of the first largest element, of all or along ``dim``. See torch.argmax."""
    return _arg("argmax", _argmax, input, dim, keepdim)


@op(differentiable=False, out=Out(refuses=out_dtypes.EXPECTED))
def argmin(input: Tensor, dim: int | None = None, keepdim: bool = False):
    """Return the index of the first smallest element, of all or along ``dim``. See torch.argmin."""
    return _arg("argmin", _argmin, input, dim, keepdim)


def _truth(reduce, input, dim, keepdim: bool):
    axes = check.wrap_dims(dim, input.ndim, empty_is_all=False)
    result = reduce(input != jnp.zeros((), input.dtype), axes, keepdims=keepdim)
    return result.astype(jnp.uint8) if input.dtype == jnp.uint8 else result


@op(differentiable=False, out=Out(refuses=out_dtypes.only_bool("all")))
def all(input: Tensor, dim: Dims = None, keepdim: bool = False):
    """Return whether all elements are true (uint8 for uint8). See torch.all."""
    return _truth(jnp.all, input, dim, keepdim)


@op(differentiable=False, out=Out(refuses=out_dtypes.only_bool("any")))
def any(input: Tensor, dim: Dims = None, keepdim: bool = False):
    """Return whether any element is true (uint8 for uint8). See torch.any."""
    return _truth(jnp.any, input, dim, keepdim)


# Norms ---------------------------------------------------------------------------------------------------------------

def vector_norm(input, p: float, axes: tuple[int, ...], keepdim: bool):
    """Return the p-norm along ``axes`` of a floating or complex array. As in PyTorch the derivative is 0 where the norm is 0."""
    if p == 2:
        square = lax.square(input.real) + lax.square(input.imag) if promotion.is_complex(input.dtype) \
            else lax.square(input)
        return sqrt_or_zero(jnp.sum(square, axes, keepdims=keepdim))
    size = _magnitude(input)
    if p in (math.inf, -math.inf):
        return (jnp.max if p > 0 else jnp.min)(size, axes, keepdims=keepdim)
    if p == 0:
        return jnp.sum(size != 0, axes, keepdims=keepdim, dtype=size.dtype)
    if p == 1:
        return jnp.sum(size, axes, keepdims=keepdim)
    return _power_norm(size, p, axes, keepdim)


def _magnitude(x):
    """Return the absolute value, with derivative 0 at 0."""
    return jnp.abs(x) if promotion.is_complex(x.dtype) else x * lax.stop_gradient(lax.sign(x))


def _power_norm(size, p: float, axes: tuple[int, ...], keepdim: bool):
    zero = size == 0
    power = jnp.where(zero, 0 if p > 0 else jnp.inf, jnp.where(zero, 1, size) ** p)
    total = jnp.sum(power, axes, keepdims=keepdim)
    none = total == 0
    return jnp.where(none, 0 if p > 0 else jnp.inf, jnp.where(none, 1, total) ** (1 / p))


def _norm(input, p: Any, dim, keepdim: bool, dtype: np.dtype | None):
    _check_norm_dtypes(input.dtype, dtype)
    axes = check.wrap_dims(dim, input.ndim)
    if p < 0 or p == math.inf:
        _refuse_empty(input, p, dim, axes)
    found = np.dtype(input.dtype if dtype is None else dtype)
    return vector_norm(wide(input.astype(found)), p, axes, keepdim).astype(np.zeros((), found).real.dtype)


def _check_norm_dtypes(of: np.dtype, to: np.dtype | None) -> None:
    name = check.scalar_name(of if to is None else to)
    check.require(promotion.is_inexact(of), "linalg.vector_norm: Expected a floating point or complex tensor as "
                  f"input. Got {check.scalar_name(of)}")
    if to is not None:
        kind = "complex" if promotion.is_complex(of) else "real"
        check.require(promotion.is_inexact(to),
                      f"linalg.vector_norm: dtype should be floating point or complex, but got {name}")
        check.require(promotion.is_complex(of) == promotion.is_complex(to),
                      f"linalg.vector_norm: dtype should be {kind} for {kind} inputs, but got {name}")


def _refuse_empty(input, p: float, dim, axes: tuple[int, ...]) -> None:
    start = f"linalg.vector_norm cannot compute the {p:g} norm on "
    if dim is None or dim == ():
        check.require(input.size > 0, f"{start}an empty tensor because the operation does not have an identity")
    for a in axes:      # PyTorch's message lacks the blank too
        check.require(input.shape[a] > 0, f"{start}the dimension {a}because this dimension is empty and the operation "
                      "does not have an identity")


def _check_matrix(input, dims: tuple[int, ...]) -> None:
    check.require(input.ndim >= 2, "linalg.matrix_norm: The input tensor A must have at least 2 dimensions.")
    check.require(len(dims) == 2, f"linalg.matrix_norm: dim must be a 2-tuple. Got {' '.join(map(str, dims))}")


def _nuclear(input, dim, keepdim: bool):
    dims = tuple(range(input.ndim)) if dim is None else (dim,) if isinstance(dim, check.Int) else dim
    _check_matrix(input, dims)
    places = [check.wrap_dim(d, input.ndim) for d in dims]
    check.require(places[0] != places[1], f"linalg.matrix_norm: dims must be different. Got ({places[0]}, {places[1]})")
    axes = check.wrap_dims(dims, input.ndim)
    values = jnp.linalg.svd(jnp.moveaxis(input, axes, (-2, -1)), compute_uv=False)
    result = jnp.sum(values, -1)
    return jnp.expand_dims(result, tuple(sorted(axes))) if keepdim else result


@op(saves=Saves("both", change=from_result.of_norm),
    backward_name=lambda template: "SumBackward1" if template[1] == "nuc" else "LinalgVectorNormBackward0",
    out=Out(refuses=out_dtypes.EXPECTED))
def norm(input: Tensor, p: float | str | None = "fro", dim: Dims = None, keepdim: bool = False,
         dtype: dtype | None = None):
    """Return the p-norm of all elements or along ``dim``; "fro" is 2, "nuc" the sum of singular values. See torch.norm."""
    if p == "nuc":
        return _nuclear(input if dtype is None else input.astype(dtype), dim, keepdim)
    check.require(not isinstance(p, str) or p == "fro", f"linalg.matrix_norm: Order {p} not supported.")
    if p == "fro" and isinstance(dim, tuple) and len(dim) > 2:
        _check_matrix(input, dim)
    return _norm(input, 2.0 if p is None or p == "fro" else p, dim, keepdim, dtype)


@op(saves="both")
def dist(input: Tensor, other: Tensor, p: Scalar = 2):
    """Return the p-norm of the difference. See torch.dist."""
    a, b = _common(input, other)
    check.require(promotion.is_inexact(a.dtype), "norm(): input dtype should be either floating point or complex. Got "
                  f"{check.scalar_name(a.dtype)} instead.")
    return _norm(a - b, p, None, False, None)


@op(inplace=True, out=Out(refuses=out_dtypes.EXPECTED))
def renorm(input: Tensor, p: Scalar, dim: int, maxnorm: Scalar):
    """Return each slice along ``dim`` scaled down to have p-norm ``maxnorm`` at most. See torch.renorm."""
    check.require(p > 0, "renorm: non-positive-norm not supported")
    check.require(not isinstance(p, complex), "renorm: p must be real-valued")
    check.require(maxnorm >= 0, f"renorm: expected maxnorm to be >= 0 but got {maxnorm:g}")
    check.require(input.ndim > 1, f"renorm: input needs at least 2 dimensions, got {input.ndim} dimensions")
    dim = check.wrap_dim(dim, input.ndim)
    _check_norm_dtypes(np.dtype(input.dtype), None)
    others = tuple(a for a in range(input.ndim) if a != dim)
    long = vector_norm(wide(lax.stop_gradient(input)), p, others, True) > maxnorm
    size = vector_norm(wide(jnp.where(long, input, 0)), p, others, True)        # unchanged slices must not produce a nan
    factor = jnp.where(long, maxnorm / (size + 1e-7), jnp.ones((), size.dtype))
    return input * factor.astype(input.dtype)
