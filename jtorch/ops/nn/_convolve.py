"""Convolutions by the formula that is fastest on CPUs for their shapes: XLA's own, products, sums of shifted products.

The choice depends on shapes and dtypes only. docs/measurements/formulas.md has the times behind it. Accelerators always use XLA's
convolution.
"""
from __future__ import annotations

import functools
import math
import operator

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jtorch._base.accelerated import is_accelerated
from jtorch.ops import _onednn
from jtorch.ops.elementwise import widen
from jtorch.ops.nn._conv_config import ConvConfig, bilinear, library
from jtorch.ops.nn._shifted_products import depthwise, has_few_terms, plain_sum, spread_sum
from jtorch.ops.nn._small_images import convolution
from jtorch.ops.nn._subpixel import subpixel_convolution

MAX_TAPS = 25
MAX_PHASES, MAX_SHIFTS = 16, 100     # more phases or shifts would take XLA long to compile
MAX_GROUPS, GROUPED_CHANNELS = 32, 32
_PRODUCTS = (np.float32, np.float64, np.complex64, np.complex128)


def convolve(x: jax.Array, weight: jax.Array, stride, padding, dilation, groups: int, spread=None) -> jax.Array:
    """Return the cross-correlation of ``x`` (N, C, …) with filters (O, C/groups, …). ``padding``: pairs, possibly negative.

    On a CPU 16-bit floats give a float32 result, which the caller rounds after adding the bias.
    """
    config = ConvConfig(tuple(stride), tuple(map(tuple, padding)), tuple(dilation), tuple(spread or (1,) * len(stride)))
    if is_accelerated():
        return library(x, weight, config, groups)
    x, weight = widen(x), widen(weight)
    geometry = _onednns(x, weight, config, groups) if spread is None else None
    if geometry is not None:
        return _onednn.computed(_onednn.RESULT, (x, weight), geometry, _by_formula)
    return _by_formula(x, weight, config, groups, spread is not None)


FEW_PLACES = 8      # Filters per result position. From this number on a product of patches is used instead of oneDNN.


def _onednns(x: jax.Array, weight: jax.Array, config: ConvConfig, groups: int) -> _onednn.Geometry | None:
    """Return the geometry for oneDNN, or None if oneDNN should not compute this convolution.

    Filters of size 1 and small results of many filters are matrix products, at which XLA is as fast.
    """
    sizes, taps = config.out_size(x.shape[2:], weight.shape[2:]), math.prod(weight.shape[2:])
    geometry = _onednn.Geometry(x.shape, weight.shape, (x.shape[0], weight.shape[0], *sizes), config, groups)
    if not _onednn.takes(x, geometry):
        return None
    is_pointwise = taps == 1 and not any(map(any, config.padding))
    has_few_places = FEW_PLACES * x.shape[0] * math.prod(sizes) <= weight.shape[0] and taps <= MAX_TAPS
    return None if groups == 1 and (is_pointwise or has_few_places) else geometry


def convolve_transposed(x: jax.Array, weight: jax.Array, stride, padding, dilation, groups: int,
                        sizes: tuple[int, ...]) -> jax.Array:
    """Return the transpose of ``convolve`` as a linear map of images of ``sizes``, padded by ``padding`` on both sides.

    It is the gradient of such images if ``x`` is the result's gradient, computed by oneDNN or as a convolution of dilated ``x``.
    """
    config = ConvConfig(tuple(stride), tuple([(p, p) for p in padding]), tuple(dilation), (1,) * len(sizes))
    geometry = _onednn.Geometry((x.shape[0], weight.shape[1] * groups, *sizes), weight.shape, x.shape, config, groups)
    if not is_accelerated() and _onednn.takes(widen(x), geometry) and _onednn.is_quick(_onednn.INPUT, geometry):
        return _onednn.computed(_onednn.INPUT, (widen(weight), widen(x)), geometry, _by_formula)
    reach = [d * (k - 1) for d, k in zip(dilation, weight.shape[2:], strict=True)]
    each = zip(x.shape[2:], stride, reach, padding, sizes, strict=True)
    pairs = [(r - p, size - (i - 1) * s - 1 + p) for i, s, r, p, size in each]
    return convolve(x, _flipped(weight, groups), (1,) * len(sizes), pairs, dilation, groups, stride)


def _flipped(weight: jax.Array, groups: int) -> jax.Array:
    """Return the filters for a transposed convolution as a convolution: (in, out/groups, …) to (out, in/groups, …), reversed."""
    inputs, per_group, *kernel = weight.shape
    w = weight.reshape(groups, inputs // groups, per_group, *kernel)
    w = jnp.swapaxes(w, 1, 2).reshape(groups * per_group, inputs // groups, *kernel)
    return jnp.flip(w, axis=tuple(range(2, w.ndim)))


def _by_formula(x: jax.Array, weight: jax.Array, config: ConvConfig, groups: int, transposed: bool = False) -> jax.Array:
    taps = math.prod(weight.shape[2:])
    if has_few_terms(weight, groups):
        return (depthwise if weight.shape[1] == 1 else _few_channels)(x, weight, config, groups)
    if x.dtype not in _PRODUCTS:
        return library(x, weight, config, groups)
    if groups > 1:
        return _group_by_group(x, weight, config, groups)
    return _ungrouped(x, weight, config, taps, transposed)


def _ungrouped(x: jax.Array, weight: jax.Array, config: ConvConfig, taps: int, transposed: bool) -> jax.Array:
    if not transposed and x.shape[1] == 1 and taps <= MAX_TAPS:
        return _of_one_channel(x, weight, config)
    if not transposed and taps == 1 and not any(map(any, config.padding)):
        return _pointwise(x, weight, config.stride)
    if not transposed and tuple(weight.shape[2:]) == config.stride and max(config.dilation) == 1 and x.size:
        return _side_by_side(x, weight, config)
    if not transposed and x.ndim == 5:
        return _plane_by_plane(x, weight, config)
    if max(config.spread) > 1 and max(config.dilation) == 1 and math.prod(config.spread) <= MAX_PHASES and x.size and weight.size:
        return _transposed(x, weight, config)
    if taps > MAX_SHIFTS:
        return library(x, weight, config)
    if max(config.spread) > 1 or (max(config.stride) == 1 and _has_few_outputs(weight)):
        return _with_shifts(x, weight, config)
    return convolution(x, weight, config)


# XLA computes grouped convolutions by its generic loop, which is slow. One convolution per group is faster.
def _group_by_group(x: jax.Array, weight: jax.Array, config: ConvConfig, groups: int) -> jax.Array:
    """Return the convolution group by group; several groups with few channels are joined."""
    inputs = x.shape[1] // groups
    together = max([m for m in range(1, groups + 1) if groups % m == 0 and m * inputs <= GROUPED_CHANNELS], default=1)
    weight, groups = _joined(weight, groups, together), groups // together
    if groups > MAX_GROUPS:
        return library(x, weight, config, groups)
    parts = zip(jnp.split(x, groups, 1), jnp.split(weight, groups), strict=True)
    taps, transposed = math.prod(weight.shape[2:]), max(config.spread) > 1
    return jnp.concatenate([_ungrouped(a, w, config, taps, transposed) for a, w in parts], 1)


# A convolution with few channels per group, with the gradient of its filters computed group by group.
_few_channels = bilinear(plain_sum, spread_sum, _group_by_group)


def _joined(weight: jax.Array, groups: int, together: int) -> jax.Array:
    """Join the filters of several groups to one group, with zeros for the other groups' channels."""
    outputs, inputs, *kernel = weight.shape
    if together == 1:
        return weight
    parts = weight.reshape(groups // together, together, outputs // groups, 1, inputs, *kernel)
    own = jnp.eye(together, dtype=bool).reshape(1, together, 1, together, 1, *[1] * len(kernel))
    return jnp.where(own, parts, 0).reshape(outputs, together * inputs, *kernel)


# XLA computes 3-dim convolutions by its generic loop, which is slow. A 2-dim convolution is faster.
def _plane_by_plane(x: jax.Array, weight: jax.Array, config: ConvConfig) -> jax.Array:
    """Return a 3-dim convolution as a 2-dim one over height and width, with the filter's depth as further channels."""
    (n, c), (o, _, deep, *kernel) = x.shape[:2], weight.shape
    stride, dilation = config.stride[0], config.dilation[0]
    x = lax.pad(x, jnp.zeros((), x.dtype), ((0, 0, 0), (0, 0, 0), (*config.padding[0], 0), (0, 0, 0), (0, 0, 0)))
    planes = (x.shape[2] - dilation * (deep - 1) - 1) // stride + 1
    met = [lax.slice_in_dim(x, i * dilation, i * dilation + (planes - 1) * stride + 1, stride, axis=2) for i in range(deep)]
    flat = jnp.swapaxes(jnp.concatenate(met, 1), 1, 2).reshape(n * planes, deep * c, *x.shape[3:])
    filters = jnp.swapaxes(weight, 1, 2).reshape(o, deep * c, *kernel)
    out = _ungrouped(flat, filters, config.without_depth(), math.prod(kernel), False)
    return jnp.swapaxes(out.reshape(n, planes, *out.shape[1:]), 1, 2)


# XLA computes the gradient of the filters as a convolution with filters as large as an image. That is slow for dilated inputs and
# for few output channels. Products of shifted gradients are faster.
FEW_OUTPUTS, MANY_ROWS = 8, 64


def _has_few_outputs(weight: jax.Array) -> bool:
    return weight.shape[0] * FEW_OUTPUTS <= weight.shape[1]


def _sum_of_shifts(x: jax.Array, weight: jax.Array, config: ConvConfig) -> jax.Array:
    """Return a convolution of stride 1 as a sum of shifted products with each filter tap."""
    (o, c, *kernel), n = weight.shape, x.shape[0]
    reach = [(size - 1) * e + 1 for size, e in zip(x.shape[2:], config.spread, strict=True)]
    each = zip(reach, config.padding, config.dilation, kernel, strict=True)
    sizes = [r + low + high - d * (k - 1) for r, (low, high), d, k in each]
    rows = jnp.swapaxes(x, 0, 1).reshape(c, n * math.prod(x.shape[2:]))
    filters = jnp.moveaxis(weight.reshape(o, c, math.prod(kernel)), 2, 0)
    places = list(np.ndindex(*kernel))
    together = max(1, MANY_ROWS // max(o, 1))      # taps per product
    out: list[jax.Array] = []
    for first in range(0, len(places), together):
        some = places[first:first + together]
        made = filters[first:first + together].reshape(len(some) * o, c) @ rows
        for place, part in zip(some, lax.optimization_barrier(jnp.split(made, len(some))), strict=True):
            starts = [low - i * d for (low, _), i, d in zip(config.padding, place, config.dilation, strict=True)]
            moved = [(a, size - r - a, e - 1) for a, size, r, e in zip(starts, sizes, reach, config.spread, strict=True)]
            out.append(lax.pad(part.reshape(o, n, *x.shape[2:]), jnp.zeros((), x.dtype), [(0, 0, 0), (0, 0, 0), *moved]))
    return jnp.swapaxes(functools.reduce(operator.add, out), 0, 1)


# XLA's convolution, with the gradient of its filters by ``_sum_of_shifts``.
_with_shifts = bilinear(library, library, _sum_of_shifts)


def _subpixel(x: jax.Array, weight: jax.Array, config: ConvConfig) -> jax.Array:
    return subpixel_convolution(
        x, weight, config, lambda x, weight, config: _ungrouped(x, weight, config, math.prod(weight.shape[2:]), False))


def _subpixel_filters(x: jax.Array, weight: jax.Array, config: ConvConfig) -> jax.Array:
    overlap = any(k > e for k, e in zip(weight.shape[2:], config.spread, strict=True))
    return (_subpixel if overlap else _sum_of_shifts)(x, weight, config)


_transposed = bilinear(_subpixel, library, _subpixel_filters)


# If the stride is the filter size, XLA would compute the gradient of the input from mostly zeros. The patches of a vision
# transformer are an example.
def _side_by_side(x: jax.Array, weight: jax.Array, config: ConvConfig) -> jax.Array:
    """Return a convolution whose stride is the filter size, as a product of the filters with the input's patches."""
    out, kernel, dims = config.out_size(x.shape[2:], weight.shape[2:]), weight.shape[2:], len(weight.shape[2:])
    padded = config.padded(x)[(..., *[slice(a * k) for a, k in zip(out, kernel, strict=True)])]
    apart = padded.reshape(*x.shape[:2], *[size for pair in zip(out, kernel, strict=True) for size in pair])
    places, within = [2 + 2 * k for k in range(dims)], [3 + 2 * k for k in range(dims)]
    parts = apart.transpose([0, *places, 1, *within]).reshape(x.shape[0] * math.prod(out), weight[0].size)
    made = parts @ weight.reshape(weight.shape[0], weight[0].size).T
    return jnp.moveaxis(made.reshape(x.shape[0], *out, weight.shape[0]), -1, 1)


# For images of one channel a product for each image is faster than XLA's convolution. For three channels both take as long.
def _of_one_channel(x: jax.Array, weight: jax.Array, config: ConvConfig) -> jax.Array:
    """Return the convolution as a product of the filters with the patches of the input."""
    return _product_of_each(weight.reshape(weight.shape[0], -1), jnp.squeeze(config.met_by_all(x, weight.shape[2:]), 1))


def _product_of_each(weight: jax.Array, x: jax.Array) -> jax.Array:
    """Return a matrix product for each sample, from the channels of ``x`` to the rows of ``weight``."""
    made = jnp.matmul(jnp.broadcast_to(weight, (x.shape[0], *weight.shape)), x.reshape(*x.shape[:2], math.prod(x.shape[2:])))
    return made.reshape(x.shape[0], weight.shape[0], *x.shape[2:])


# A convolution with 1x1 filters is a matrix product: a product for each large image, or one product with the channels last.
MANY_PLACES = 256       # Elements of an image. From this number on a product for each image is faster.


def _pointwise(x: jax.Array, weight: jax.Array, stride) -> jax.Array:
    """Return the convolution with filters of size 1."""
    x, weight = x[(..., *[slice(None, None, s) for s in stride])], weight.reshape(weight.shape[:2])
    if math.prod(x.shape[2:]) >= MANY_PLACES:
        return _product_of_each(weight, x)
    return jnp.moveaxis(jnp.matmul(jnp.moveaxis(x, 1, -1), weight.T), -1, 1)
