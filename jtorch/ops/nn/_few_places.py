"""A convolution of few images, or of small ones: as products of patches, or of images cut into blocks.

XLA's libraries compute the gradient of filters as a convolution whose images are the input channels and whose channels are the
images: few of them are slow. And an image smaller than the filters that meet it goes through XLA's loop for any convolution.
Milliseconds of the convolution and its gradients of input and filters, 3x3, medians on 2 cores of an AMD machine with AVX-512:

| channels, image, batch | Eigen | here | PyTorch |
|---|---|---|---|
| 512 to 512, 2x2, 4 | 33 30 3.7 | 0.7 0.8 0.9 | 1.5 1.4 6.9 |
| 512 to 512, 4x4 by 2, 4 | 4.2 46 2.1 | 0.7 0.8 0.8 | 1.6 2.4 2.3 |
| 512 to 512, 7x7, 1 | 4.5 5.3 3.5 | 1.8 2.2 1.7 | 2.1 2.0 2.4 |
| 64 to 64, 56x56, 4 | filters 10.3 | 7.8 | 6.3 |
| 64 to 64, 64x64, 2 | filters 10.4 | 6.8 | 4.1 |
| 16 to 16, 64x64, 1 | filters 2.1 | 0.4 | 0.3 |
"""
from __future__ import annotations

import math

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jtorch.ops.nn._how import How, bilinear, library

FEW_IMAGES = 4          # below which the gradient of the filters is a product of patches,
MAX_PLACES = 1024       # if no more places come out
ENOUGH_IMAGES = 8       # from which on the library is quick at the gradient of the filters
BLOCKS = 16             # images that it is given otherwise
MAX_PATCHED = 25        # places of filters: patches of more would take XLA long to compile


def _places(x: jax.Array, weight: jax.Array, how: How) -> int:
    return x.shape[0] * math.prod(how.out_size(x.shape[2:], weight.shape[2:]))


def _may_be_patched(weight: jax.Array) -> bool:
    return math.prod(weight.shape[2:]) <= MAX_PATCHED


def _is_mostly_filters(places: int, weight: jax.Array) -> bool:
    """Whether patches are much smaller than the filters, which products take as they lie."""
    return 2 * places <= weight.shape[0] and _may_be_patched(weight)


def _product_of_patches(x: jax.Array, weight: jax.Array, how: How) -> jax.Array:
    """The convolution as a product of the filters, as they lie, with patches; so is the gradient of the filters."""
    images, outputs, out = x.shape[0], weight.shape[0], how.out_size(x.shape[2:], weight.shape[2:])
    patches = jnp.swapaxes(how.met_by_all(x, weight.shape[2:]), 0, 1)
    made = weight.reshape(outputs, -1) @ jnp.moveaxis(patches, 1, 2).reshape(weight[0].size, images * math.prod(out))
    return jnp.swapaxes(made.reshape(outputs, images, *out), 0, 1)


def _product_with_rows(x: jax.Array, weight: jax.Array, how: How) -> jax.Array:
    """The same, whose gradient of the input takes the filters as they lie."""
    images, outputs, out = x.shape[0], weight.shape[0], how.out_size(x.shape[2:], weight.shape[2:])
    patches = how.met_by_all(x, weight.shape[2:]).reshape(images, weight[0].size, math.prod(out))
    made = jnp.swapaxes(patches, 1, 2).reshape(-1, weight[0].size) @ weight.reshape(outputs, -1).T
    return jnp.moveaxis(made.reshape(images, *out, outputs), -1, 1)


def _in_blocks(x: jax.Array, weight: jax.Array, how: How) -> jax.Array:
    """The convolution of images cut into blocks of rows, each with the rows of the next that its filters reach."""
    (images, channels), out, padded = x.shape[:2], how.out_size(x.shape[2:], weight.shape[2:]), how.padded(x)
    rows = math.ceil(out[0] / math.ceil(BLOCKS / images))
    blocks, step = math.ceil(out[0] / rows), rows * how.stride[0]
    reach = (rows - 1) * how.stride[0] + how.dilation[0] * (weight.shape[2] - 1) + 1
    if reach > 2 * step:
        return library(x, weight, how)

    def cut(first: int, taken: int) -> jax.Array:
        """Rows of each block, the first of which begins there."""
        missing = first + blocks * step - padded.shape[2]
        moves = [(0, 0, 0), (0, 0, 0), (-first, missing, 0), *[(0, 0, 0)] * (padded.ndim - 3)]
        laid = lax.pad(padded, jnp.zeros((), x.dtype), moves)
        return laid.reshape(images, channels, blocks, step, *padded.shape[3:])[:, :, :, :taken]
    parts = [cut(0, min(reach, step))] + ([cut(step, reach - step)] if reach > step else [])
    many = jnp.swapaxes(jnp.concatenate(parts, 3), 1, 2).reshape(images * blocks, channels, reach, *padded.shape[3:])
    made = library(many, weight, how.with_nothing_around())
    made = jnp.swapaxes(made.reshape(images, blocks, weight.shape[0], rows, *out[1:]), 1, 2)
    return made.reshape(images, weight.shape[0], blocks * rows, *out[1:])[:, :, :out[0]]


def _forward(x: jax.Array, weight: jax.Array, how: How) -> jax.Array:
    return (_product_of_patches if _is_mostly_filters(_places(x, weight, how), weight) else library)(x, weight, how)


def _by_input(x: jax.Array, weight: jax.Array, how: How) -> jax.Array:
    return (_product_with_rows if _is_mostly_filters(_places(x, weight, how), weight) else library)(x, weight, how)


def _by_filters(x: jax.Array, weight: jax.Array, how: How) -> jax.Array:
    places, images = _places(x, weight, how), x.shape[0]
    if _is_mostly_filters(places, weight) or \
            (images < FEW_IMAGES and places <= MAX_PLACES and _may_be_patched(weight)):
        return _product_of_patches(x, weight, how)
    return (_in_blocks if images < ENOUGH_IMAGES and x.dtype == np.float32 else library)(x, weight, how)


_convolution = bilinear(_forward, _by_input, _by_filters)


def convolution(x: jax.Array, weight: jax.Array, how: How) -> jax.Array:
    """The convolution of all channels, by whichever of these formulas is the quickest for its sizes."""
    return (_convolution if _places(x, weight, how) and weight.size else library)(x, weight, how)
