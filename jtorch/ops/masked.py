"""torch.masked: reductions and normalizations that skip masked elements.

See https://docs.pytorch.org/docs/stable/masked.html. A masked element is replaced by the op's neutral element (0 in a
sum, the lowest number in a maximum), and the plain op runs. If all elements are masked, the result is the neutral element;
programs should not rely on it.
"""
from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np

from jtorch.ops import check, cumulative, promotion, reduce, sort
from jtorch.ops.facts import Saves
from jtorch.ops.linalg_norms import vector_norm_of
from jtorch.ops.nn import softmax as normal
from jtorch.ops.pointwise import logaddexp
from jtorch.ops.registry import Tensor, dtype, op

Dims = int | tuple[int, ...] | None


def _masked(mask, input):
    """Return ``mask`` as a bool array of the input's shape."""
    if mask.shape != input.shape:
        check.require(mask.ndim <= input.ndim, "_input_mask expected broadcastable mask (got mask dimensionality higher "
                      "than of the input)", IndexError)
        mask = jnp.broadcast_to(mask, check.broadcast_shapes(input.shape, mask.shape))
    return mask.astype(bool)


def _hidden(input, mask, fill: Any):
    """Return ``input`` with ``fill`` where ``mask`` is False."""
    return input if mask is None else jnp.where(_masked(mask, input), input, jnp.asarray(fill, input.dtype))


def _lowest(d: np.dtype):
    return -jnp.inf if promotion.is_inexact(d) else np.iinfo(d).min


def _highest(d: np.dtype):
    return jnp.inf if promotion.is_inexact(d) else np.iinfo(d).max


def _unordered(name: str, d: np.dtype) -> None:
    check.require(d.kind not in "bc", f"identity of {name} on torch.{d.name} input", NotImplementedError)


def _sorted_dims(dim: Dims, ndim: int) -> tuple[int, ...]:
    """Return the dims counted from the front. A 0-dim tensor has dim 0."""
    if dim is None or dim == ():
        return tuple(range(ndim))
    dims = (dim,) if isinstance(dim, check.Int) else tuple(dim)
    for i, d in enumerate(dims):
        check.require(d not in dims[:i], f"dim={d} appears multiple times in the list of dims")
    return tuple(sorted(check.wrap_dim(d, ndim) for d in dims))


def _first_dim(dim: int, ndim: int) -> int:
    dims = _sorted_dims(dim, ndim)
    check.require(dims, "tuple index out of range", IndexError)
    return dims[0]


@op(name="masked.sum", out=False, backward_name="SumBackward1",
    saves=Saves(frees=lambda template, edges: len(edges) > 1))
def masked_sum(input: Tensor, dim: Dims = None, *, keepdim: bool = False, dtype: dtype | None = None,
               mask: Tensor | None = None):
    """Return the sum of the elements that ``mask`` shows. See torch.masked.sum."""
    return reduce.sum(_hidden(input, mask, 0), _sorted_dims(dim, input.ndim), keepdim, dtype=dtype)


@op(name="masked.prod", out=False, backward_name="ProdBackward0", loops=True)
def masked_prod(input: Tensor, dim: Dims = None, *, keepdim: bool = False, dtype: dtype | None = None,
                mask: Tensor | None = None):
    """Return the product of the elements that ``mask`` shows. See torch.masked.prod."""
    result = _hidden(input, mask, 1).astype(dtype or (np.int64 if input.dtype.kind in "biu" else input.dtype))
    for d in reversed(_sorted_dims(dim, input.ndim)):
        result = reduce.prod(result, d, keepdim)
    return result


@op(name="masked.cumsum", out=False, backward_name="CumsumBackward0")
def masked_cumsum(input: Tensor, dim: int, *, dtype: dtype | None = None, mask: Tensor | None = None):
    """Return the sums so far of the elements that ``mask`` shows. See torch.masked.cumsum."""
    return cumulative.cumsum(_hidden(input, mask, 0), _first_dim(dim, input.ndim), dtype=dtype or input.dtype)


@op(name="masked.cumprod", out=False, backward_name="CumprodBackward0")
def masked_cumprod(input: Tensor, dim: int, *, dtype: dtype | None = None, mask: Tensor | None = None):
    """Return the products so far of the elements that ``mask`` shows. See torch.masked.cumprod."""
    return cumulative.cumprod(_hidden(input, mask, 1), _first_dim(dim, input.ndim), dtype=dtype or input.dtype)


@op(name="masked.amax", out=False, backward_name="AmaxBackward0")
def masked_amax(input: Tensor, dim: Dims = None, *, keepdim: bool = False, dtype: dtype | None = None,
                mask: Tensor | None = None):
    """Return the largest of the elements that ``mask`` shows. See torch.masked.amax."""
    _unordered("amax", np.dtype(input.dtype))
    shown = _hidden(input, mask, _lowest(input.dtype))
    return reduce.amax(shown, _sorted_dims(dim, input.ndim), keepdim).astype(dtype or input.dtype)


@op(name="masked.amin", out=False, backward_name="AminBackward0")
def masked_amin(input: Tensor, dim: Dims = None, *, keepdim: bool = False, dtype: dtype | None = None,
                mask: Tensor | None = None):
    """Return the smallest of the elements that ``mask`` shows. See torch.masked.amin."""
    _unordered("amin", np.dtype(input.dtype))
    shown = _hidden(input, mask, _highest(input.dtype))
    return reduce.amin(shown, _sorted_dims(dim, input.ndim), keepdim).astype(dtype or input.dtype)


@op(name="masked.argmax", out=False, differentiable=False)
def masked_argmax(input: Tensor, dim: int | None = None, *, keepdim: bool = False, dtype: dtype | None = None,
                  mask: Tensor | None = None):
    """Return the index of the largest element that ``mask`` shows, in the input's dtype. See torch.masked.argmax."""
    _unordered("argmax", np.dtype(input.dtype))
    return reduce.argmax(_hidden(input, mask, _lowest(input.dtype)), dim, keepdim).astype(dtype or input.dtype)


@op(name="masked.argmin", out=False, differentiable=False)
def masked_argmin(input: Tensor, dim: int | None = None, *, keepdim: bool = False, dtype: dtype | None = None,
                  mask: Tensor | None = None):
    """Return the index of the smallest element that ``mask`` shows, in the input's dtype. See torch.masked.argmin."""
    _unordered("argmin", np.dtype(input.dtype))
    return reduce.argmin(_hidden(input, mask, _highest(input.dtype)), dim, keepdim).astype(dtype or input.dtype)


def _counted(input, mask, dims, keepdim: bool):
    """Return the number of unmasked elements along ``dims``."""
    shown = jnp.ones(input.shape, bool) if mask is None else _masked(mask, input)
    return reduce.sum(shown, dims, keepdim)


@op(name="masked.mean", out=False, backward_name="DivBackward0")
def masked_mean(input: Tensor, dim: Dims = None, *, keepdim: bool = False, dtype: dtype | None = None,
                mask: Tensor | None = None):
    """Return the mean of the elements that ``mask`` shows; NaN where there is none. See torch.masked.mean."""
    found, whose = np.dtype(input.dtype if dtype is None else dtype), "Input" if dtype is None else "Optional"
    check.require(promotion.is_inexact(found), f"mean(): Could not infer output dtype. {whose} dtype must be either a floating "
                  f"point or complex dtype. Got: torch.{found.name}", ValueError)
    total = masked_sum(input, dim, keepdim=keepdim, dtype=found, mask=mask)
    return total / _counted(input, mask, _sorted_dims(dim, input.ndim), keepdim).astype(total.dtype)


@op(name="masked.median", out=False, backward_name="NanmedianBackward1")
def masked_median(input: Tensor, dim: int = -1, *, keepdim: bool = False, dtype: dtype | None = None, mask: Tensor | None = None):
    """Return the median of the elements that ``mask`` shows, or NaN if there are none. See torch.masked.median.

    For integers the result of a row without shown elements is meaningless (PyTorch raises).
    """
    check.require(input.ndim or dim in (0, -1), "tuple index out of range", IndexError)
    real = input if promotion.is_float(input.dtype) else input.astype(np.float32)
    values = sort.nanmedian(_hidden(real, mask, jnp.nan), _first_dim(dim, input.ndim) if input.ndim else 0, keepdim)[0]
    return values if real is input else values.astype(dtype or input.dtype)


@op(name="masked.norm", out=False, backward_name="LinalgVectorNormBackward0")
def masked_norm(input: Tensor, ord: float | None = 2.0, dim: Dims = None, *, keepdim: bool = False, dtype: dtype | None = None,
                mask: Tensor | None = None):
    """Return the vector norm of the elements that ``mask`` shows. See torch.masked.norm."""
    shown = _hidden(input, mask, jnp.inf if ord == -np.inf else 0)
    return vector_norm_of(shown, 2.0 if ord is None else ord, _sorted_dims(dim, input.ndim), keepdim, dtype=dtype)


def _variance(input, dim: Dims, unbiased, correction, keepdim: bool, dtype, mask):
    check.require(unbiased is None or correction is None, "Only one of unbiased and correction may be given", AssertionError)
    correction = (0.0 if unbiased is False else 1.0) if correction is None else correction
    default = input.dtype if promotion.is_inexact(input.dtype) else np.float32
    found = np.dtype(default if dtype is None else dtype)
    compute = found if promotion.is_inexact(found) else np.dtype(np.float32)
    dims = _sorted_dims(dim, input.ndim)
    count = _counted(input, mask, dims, True)
    total = masked_sum(input, dims, keepdim=True, dtype=compute, mask=mask)
    apart = input.astype(compute) - total / count.astype(compute)
    squares = masked_sum(apart * jnp.conj(apart), dims, keepdim=keepdim, dtype=compute, mask=mask)
    left = count.reshape(squares.shape).astype(jnp.real(squares).dtype) - correction
    return (squares / jnp.maximum(left, 0).astype(compute)).astype(found)


@op(name="masked.var", out=False, backward_name="DivBackward0")
def masked_var(input: Tensor, dim: Dims = None, unbiased: bool | None = None, *, correction: float | None = None,
               keepdim: bool = False, dtype: dtype | None = None, mask: Tensor | None = None):
    """Return the variance of the elements that ``mask`` shows. See torch.masked.var."""
    return _variance(input, dim, unbiased, correction, keepdim, dtype, mask)


@op(name="masked.std", out=False, backward_name="SqrtBackward0")
def masked_std(input: Tensor, dim: Dims = None, unbiased: bool | None = None, *, correction: float | None = None,
               keepdim: bool = False, dtype: dtype | None = None, mask: Tensor | None = None):
    """Return the standard deviation of the elements that ``mask`` shows. See torch.masked.std."""
    return jnp.sqrt(_variance(input, dim, unbiased, correction, keepdim, dtype, mask))


@op(name="masked.logsumexp", out=False, backward_name="LogsumexpBackward0")
def masked_logsumexp(input: Tensor, dim: Dims = None, *, keepdim: bool = False, dtype: dtype | None = None,
                     mask: Tensor | None = None):
    """Return the logarithm of the sum of exponentials of the elements that ``mask`` shows. See torch.masked.logsumexp."""
    shown = _hidden(input, mask, _lowest(input.dtype))
    return reduce.logsumexp(shown, _sorted_dims(dim, input.ndim), keepdim).astype(dtype or input.dtype)


@op(name="masked.logaddexp", out=False, backward_name="LogaddexpBackward0", inplace=False, promote="numeric",
    promotes="input other")
def masked_logaddexp(input: Tensor, other: Tensor, *, dtype: dtype | None = None, input_mask: Tensor | None = None,
                     other_mask: Tensor | None = None):
    """Return torch.logaddexp of the elements that the masks show. See torch.masked.logaddexp."""
    return logaddexp(_hidden(input, input_mask, -jnp.inf), _hidden(other, other_mask, -jnp.inf)).astype(dtype or input.dtype)


@op(name="masked.softmax", out=False, backward_name="SoftmaxBackward0")
def masked_softmax(input: Tensor, dim: int, *, dtype: dtype | None = None, mask: Tensor | None = None):
    """Return softmax of the elements that ``mask`` shows; 0 for the others. See torch.masked.softmax."""
    return normal.softmax(_hidden(input, mask, _lowest(input.dtype)), _first_dim(dim, input.ndim), dtype)


@op(name="masked.log_softmax", out=False, backward_name="LogSoftmaxBackward0")
def masked_log_softmax(input: Tensor, dim: int, *, dtype: dtype | None = None, mask: Tensor | None = None):
    """Return log_softmax of the elements that ``mask`` shows. See torch.masked.log_softmax."""
    return normal.log_softmax(_hidden(input, mask, _lowest(input.dtype)), _first_dim(dim, input.ndim), dtype)


@op(name="masked.softmin", out=False, backward_name="SoftmaxBackward0")
def masked_softmin(input: Tensor, dim: int, *, dtype: dtype | None = None, mask: Tensor | None = None):
    """Return softmin of the elements that ``mask`` shows; 0 for the others. See torch.masked.softmin."""
    return normal.softmax(-_hidden(input, mask, _highest(input.dtype)), _first_dim(dim, input.ndim), dtype)


@op(name="masked.normalize", out=False, backward_name="DivBackward0")
def masked_normalize(input: Tensor, ord: float, dim: int, *, eps: float = 1e-12, dtype: dtype | None = None,
                     mask: Tensor | None = None):
    """Return the elements that ``mask`` shows, divided by their norm. See torch.masked.normalize."""
    size = masked_norm(input, ord, dim, keepdim=True, dtype=dtype, mask=mask)
    shown = _hidden(input, mask, 0)
    found = promotion.promote_types(np.dtype(shown.dtype), np.dtype(size.dtype))
    return shown.astype(found) / jnp.maximum(size, jnp.asarray(eps, size.dtype)).astype(found)
