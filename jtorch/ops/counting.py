"""Ops that find distinct values and count values: unique, bincount, histc, histogram."""
from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from jtorch.ops import check, out_dtypes, promotion
from jtorch.ops.facts import Out
from jtorch.ops.reduce import refuse
from jtorch.ops.registry import Scalar, Tensor, op

# Unique values -------------------------------------------------------------------------------------------------------
# These bodies take and return NumPy arrays, since the shapes of their results depend on values.


def _chosen(values, inverse, counts, return_inverse: bool, return_counts: bool):
    found = [values]
    if return_inverse:
        found.append(inverse.astype(np.int64))
    if return_counts:
        found.append(counts.astype(np.int64))
    return tuple(found) if len(found) > 1 else values


def _check_unique(input, dim: int | None) -> int | None:
    if dim is None:
        refuse("unique", input, "c")
        return None
    check.require(input.ndim > 0, f"Dimension specified as {dim} but tensor has no dimensions", IndexError)
    dim = check.wrap_dim(dim, input.ndim)
    refuse("unique_dim", input, "c")
    empty = input.shape.count(0)
    if input.shape[dim] == 0:
        check.require(empty == 1, "Number of zero sized dimensions is more than one, so unique cannot be applied ")
    else:
        check.require(empty == 0, "There are 0 sized dimensions, and they aren't selected, so unique cannot be applied")
    return dim


@op(dynamic=True, differentiable=False, out=False,
    not_derived=lambda template: "_unique2" if template[4] is None else "unique_dim",
    backward_name=lambda template: "Unique2Backward0" if template[4] is None else "UniqueDimBackward0")
def unique(input: Tensor, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False,
           dim: int | None = None):
    """Return the distinct elements (or slices along ``dim``), always sorted; each NaN is one. See torch.unique."""
    dim = _check_unique(input, dim)
    if dim is not None and input.shape[dim] == 0:
        return _chosen(input, np.zeros(0), np.zeros(0), return_inverse, return_counts)
    wide = input.astype(np.float32) if input.dtype.kind == "V" else input      # NumPy cannot sort bfloat16 arrays with NaN
    values, inverse, counts = np.unique(wide, return_inverse=True, return_counts=True, equal_nan=False, axis=dim)
    values = values.astype(input.dtype)
    inverse = inverse.reshape(input.shape if dim is None else -1)
    return _chosen(values, inverse, counts, return_inverse, return_counts)


@op(dynamic=True, differentiable=False, not_derived=True, out=False)
def unique_consecutive(input: Tensor, return_inverse: bool = False, return_counts: bool = False,
                       dim: int | None = None):
    """Return the elements (or slices along ``dim``) that differ from the one before. See torch.unique_consecutive."""
    axis = _check_unique(input, dim)
    rows: Any = input.reshape(-1) if axis is None else np.moveaxis(np.asarray(input), axis, 0)
    n = len(rows)
    new = np.ones(n, bool)
    if rows.size:
        new[1:] = (rows[1:] != rows[:-1]).reshape(n - 1, rows[0].size).any(1)
    starts = np.flatnonzero(new)
    inverse = (np.cumsum(new) - 1).reshape(input.shape if axis is None else -1)
    values = rows[starts] if axis is None else np.moveaxis(rows[starts], 0, axis)
    return _chosen(values, inverse, np.diff(starts, append=n), return_inverse, return_counts)


@op(dynamic=True, differentiable=False, out=False)
def bincount(input: Tensor, weights: Tensor | None = None, minlength: int = 0):
    """Return how often each non-negative integer occurs, or the sum of its weights. See torch.bincount."""
    refuse("bincount_cpu", input, "bfcV")
    check.require(minlength >= 0, "minlength should be >= 0")
    check.require(input.ndim == 1 and (input.size == 0 or input.min() >= 0),
                  "bincount only supports 1-d non-negative integral inputs.")
    if weights is None:
        return np.bincount(input.astype(np.int64), minlength=minlength).astype(np.int64)
    check.require(weights.shape == input.shape, "weights should be 1-d and have the same length as input")
    total = np.bincount(input.astype(np.int64), weights.astype(np.float64), minlength)
    return total.astype(np.float32 if weights.dtype == np.float32 else np.float64)


# Histograms ----------------------------------------------------------------------------------------------------------

def _limits(input, low, high, margin: float):
    """Return the range of the bins: the given range, or the input's, widened by ``margin`` if it is a single number."""
    if low == high and input.size:
        low, high = jnp.min(input), jnp.max(input)
    low, high = jnp.asarray(low, input.dtype), jnp.asarray(high, input.dtype)
    return jnp.where(low == high, low - margin, low), jnp.where(low == high, high + margin, high)


def _add_up(index, inside, weight, bins: int):
    """Return the sums of ``weight`` by ``index`` over the elements that are ``inside``."""
    index = jnp.where(inside, jnp.clip(index, 0, bins - 1), bins)
    return jnp.zeros(bins, weight.dtype).at[index].add(weight, mode="drop")


def _packed_range(input, dim=0):
    """Pack a dim and the extremes, as 28 bits of float32 each, into the single number that a value check may report."""
    ends = [x.astype(jnp.float32) for x in (jnp.min(input), jnp.max(input))]
    low, high = ((lax.bitcast_convert_type(x, jnp.uint32).astype(jnp.int64) + 8) >> 4 for x in ends)
    return jnp.asarray(dim, jnp.int64) << 56 | low << 28 | high


def _unpacked_range(detail: int) -> tuple[int, float, float]:
    low, high = (float(np.uint32((detail >> shift & 0xFFFFFFF) << 4).view(np.float32)) for shift in (28, 0))
    return detail >> 56, low, high


def _infinite(input, bins=100, min=0, max=0):
    none = jnp.zeros((), jnp.int64)
    if min != max or not input.size or not promotion.is_float(np.dtype(input.dtype)):
        return none != 0, none
    return ~jnp.all(jnp.isfinite(input)), _packed_range(input)


def _infinite_error(detail: int, *args, **options):
    _, low, high = _unpacked_range(detail)
    return RuntimeError(f"torch.histc: range of [{low:g}, {high:g}] is not finite")


@op(differentiable=False, value_check=(_infinite, _infinite_error),
    out=Out(refuses=out_dtypes.refusal("torch.histogram: input tensor and hist tensor should have the same dtype, but "
                                       "got input {made_cpp} and hist {out_cpp}")))
def histc(input: Tensor, bins: int = 100, min: Scalar = 0, max: Scalar = 0):
    """Return how many elements lie in each of ``bins`` equal bins from ``min`` to ``max``. See torch.histc."""
    refuse("linspace_cpu", input, "b")
    refuse("aminmax_cpu", input, "c")
    refuse("histogram_cpu", input, "iu")
    check.require(bins > 0, f"torch.histogram(): bins must be > 0, but got {bins} for dimension 0")
    check.require(np.isfinite(min) and np.isfinite(max), f"torch.histc: range of [{min:g}, {max:g}] is not finite")
    check.require(min <= max, "torch.histc: max must be larger than min")
    input = input.reshape(-1)
    low, high = _limits(input, min, max, 1.0)
    inside = (input >= low) & (input <= high)
    place = (jnp.where(inside, input, low) - low) * jnp.asarray(bins, input.dtype) / (high - low)
    return _add_up(place.astype(jnp.int64), inside, jnp.ones_like(input), bins)


_C_NAMES = {"float32": "float", "float64": "double", "int64": "long int", "int32": "int"}


def _linspace(low, high, bins: int):
    """Return ``bins + 1`` edges, computed from the nearer end as in torch.linspace."""
    step = (high - low) / bins
    i = jnp.arange(bins + 1)
    from_low, from_high = low + step * i.astype(low.dtype), high - step * (bins - i).astype(low.dtype)
    return jnp.where(i < (bins + 1) // 2, from_low, from_high)


def _edges(input, bins, range, dim: int = 0):
    if not isinstance(bins, check.Int):
        start = "torch.histogramdd: "
        check.require(bins.ndim == 1, f"{start}bins tensor should have one dimension, but got {bins.ndim} dimensions "
                      f"in the bins tensor for dimension {dim}")
        check.require(bins.size > 0, f"{start}bins tensor should have at least 1 element, but got 0 elements in the "
                      f"bins tensor for dimension {dim}")
        names = [_C_NAMES.get(x.dtype.name, x.dtype.name) for x in (input, bins)]
        check.require(bins.dtype == input.dtype, f"{start}input tensor and bins tensors should have the same dtype, "
                      f"but got input with dtype {names[0]} and bins for dimension {dim} with dtype {names[1]}")
        return bins
    check.require(bins > 0, f"torch.histogram(): bins must be > 0, but got {bins} for dimension {dim}")
    low, high = range or (0.0, 0.0 if input.size else 1.0)
    check.require(low <= high, f"torch.histogramdd: min should not exceed max, but got min {low:g} max {high:g} for "
                  f"dimension {dim}")
    if range is not None and low == high:
        low, high = low - 0.5, high + 0.5
    first, last = _limits(input, low, high, 0.5)
    return _linspace(first, last, bins)


def _histogram_infinite(input, bins=100, *, range=None, **options):
    none = jnp.zeros((), jnp.int64)
    if not isinstance(bins, check.Int) or range is not None or not input.size or not promotion.is_float(np.dtype(input.dtype)):
        return none != 0, none
    return ~jnp.all(jnp.isfinite(input)), _packed_range(input)


def _histogram_infinite_error(detail: int, *args, **options):
    dim, low, high = _unpacked_range(detail)
    return RuntimeError(f"torch.histogramdd: dimension {dim}'s range [{low:g}, {high:g}] is not finite")


@op(differentiable=False, returns="hist bin_edges", value_check=(_histogram_infinite, _histogram_infinite_error), loops=True)
def histogram(input: Tensor, bins: Tensor | int = 100, *, range: tuple[float, float] | None = None,
              weight: Tensor | None = None, density: bool = False):
    """Return the number (or weight) of elements in each bin, and the edges of the bins. See torch.histogram."""
    refuse("histogramdd", input, "biuc")
    check.require(weight is None or weight.size == input.size, "torch.histogramdd: if weight tensor is provided it "
                  "should have the same shape as the input tensor excluding its innermost dimension, but got input "
                  f"with shape {[input.size, 1]} and weight with shape {None if weight is None else [weight.size]}")
    input = input.reshape(-1)
    edges = _edges(input, bins, range)
    check.require(edges.size > 1, "torch.histogram(): bins must be > 0, but got 0 for dimension 0")
    inside = (input >= edges[0]) & (input <= edges[-1])
    index = jnp.searchsorted(edges, input, side="right") - 1
    weight = jnp.ones_like(input) if weight is None else weight.reshape(-1).astype(input.dtype)
    hist = _add_up(index, inside, weight, edges.size - 1)
    if density:
        hist = hist / jnp.sum(hist) / (lax.slice(edges, (1,), edges.shape) - lax.slice(edges, (0,), (edges.size - 1,)))
    return hist, edges


def _boxes_infinite(input, edges, bins=None, range=None, weight=None, density=False):
    none = jnp.zeros((), jnp.int64)
    if bins is None or range is not None or not input.size or not promotion.is_float(input.dtype):
        return none != 0, none
    points = input.reshape(-1, input.shape[-1])
    bad = ~jnp.all(jnp.isfinite(points), 0)
    dim = jnp.argmax(bad)
    return jnp.any(bad), _packed_range(jnp.take(points, dim, 1), dim)


@op(name="_histogramdd", differentiable=False, method=False, out=False, tested=False,
    value_check=(_boxes_infinite, _histogram_infinite_error), loops=True)
def histogramdd(input: Tensor, edges: list[Tensor], bins: tuple[int, ...] | None = None, range: tuple[float, ...] | None = None,
                weight: Tensor | None = None, density: bool = False):
    """Return the number (or weight) of points in each bin of a space, and each dim's edges. See torch.histogramdd."""
    refuse("histogramdd", input, "biuc")
    shape, n = input.shape, input.shape[-1]
    check.require(weight is None or weight.shape == shape[:-1], "torch.histogramdd: if weight tensor is provided it should have "
                  f"the same shape as the input tensor excluding its innermost dimension, but got input with shape {list(shape)} "
                  f"and weight with shape {None if weight is None else list(weight.shape)}")
    check.require(range is None or edges or len(range) == 2 * n, f"torch.histogramdd: for a {n}-dimensional histogram range "
                  f"should have {2 * n} elements, but got {len(range or ())}")
    for d, b in enumerate(edges or ()):
        check.require(b.size != 1, f"torch.histogram(): bins must be > 0, but got 0 for dimension {d}")
    points = input.reshape(-1, n)
    limits = [None] * n if range is None or edges else list(zip(range[::2], range[1::2], strict=True))
    all_edges = [_edges(points[:, d], b, limit, d) for d, (b, limit) in enumerate(zip(edges or bins or (), limits, strict=True))]
    inside, index = jnp.ones(points.shape[0], bool), jnp.zeros(points.shape[0], np.int64)
    for d, e in enumerate(all_edges):
        x = points[:, d]
        inside = inside & (x >= e[0]) & (x <= e[-1])
        index = index * (e.size - 1) + jnp.clip(jnp.searchsorted(e, x, side="right").astype(np.int64) - 1, 0, e.size - 2)
    weights = jnp.ones(points.shape[0], input.dtype) if weight is None else weight.reshape(-1).astype(input.dtype)
    sizes = [e.size - 1 for e in all_edges]
    hist = _add_up(index, inside, weights, int(np.prod(sizes))).reshape(sizes)
    return (_as_density(hist, all_edges) if density else hist), *all_edges


def _as_density(hist, edges):
    """Return counts as densities: shares divided by the volume of their bins."""
    hist = hist / jnp.sum(hist)
    for d, e in enumerate(edges):
        hist = hist / jnp.diff(e).reshape((1,) * d + (-1,) + (1,) * (len(edges) - d - 1))
    return hist
