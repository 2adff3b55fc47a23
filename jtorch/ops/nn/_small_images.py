"""Convolutions of few or small images, as products of patches or of blocks of images.

XLA's libraries compute the gradient of filters as a convolution whose channels are the images, which is slow for few images. An
image smaller than the filters goes through XLA's slow generic loop. docs/measurements/formulas.md has times.
"""
from __future__ import annotations

import math

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jtorch.ops.nn._conv_config import ConvConfig, bilinear, library

FEW_IMAGES = 4          # Images. With fewer images the gradient of the filters is a product of patches, see MAX_PLACES.
MAX_PLACES = 1024       # Result positions of all images. With more positions FEW_IMAGES has no effect.
ENOUGH_IMAGES = 8       # Images. From this number on XLA computes the gradient of the filters fast.
BLOCKS = 16             # Fewer than ENOUGH_IMAGES images are cut into about this many blocks of rows. Each serves as an image.
MAX_PATCHED = 25        # filter taps; patches of more taps would take XLA long to compile


def _places(x: jax.Array, weight: jax.Array, config: ConvConfig) -> int:
    return x.shape[0] * math.prod(config.out_size(x.shape[2:], weight.shape[2:]))


def _may_be_patched(weight: jax.Array) -> bool:
    return math.prod(weight.shape[2:]) <= MAX_PATCHED


def _is_mostly_filters(places: int, weight: jax.Array) -> bool:
    """Return whether the patches are smaller than the filters, so that products should not transpose the filters."""
    return 2 * places <= weight.shape[0] and _may_be_patched(weight)


def _product_of_patches(x: jax.Array, weight: jax.Array, config: ConvConfig) -> jax.Array:
    """Return the convolution as a product of the filters with patches.

    Neither this product nor the one for the gradient of the filters transposes the filters.
    """
    images, outputs, out = x.shape[0], weight.shape[0], config.out_size(x.shape[2:], weight.shape[2:])
    patches = jnp.swapaxes(config.met_by_all(x, weight.shape[2:]), 0, 1)
    made = weight.reshape(outputs, -1) @ jnp.moveaxis(patches, 1, 2).reshape(weight[0].size, images * math.prod(out))
    return jnp.swapaxes(made.reshape(outputs, images, *out), 0, 1)


def _product_with_rows(x: jax.Array, weight: jax.Array, config: ConvConfig) -> jax.Array:
    """Return ``_product_of_patches`` in the other order: its gradient of the input does not transpose the filters."""
    images, outputs, out = x.shape[0], weight.shape[0], config.out_size(x.shape[2:], weight.shape[2:])
    patches = config.met_by_all(x, weight.shape[2:]).reshape(images, weight[0].size, math.prod(out))
    made = jnp.swapaxes(patches, 1, 2).reshape(-1, weight[0].size) @ weight.reshape(outputs, -1).T
    return jnp.moveaxis(made.reshape(images, *out, outputs), -1, 1)


def _in_blocks(x: jax.Array, weight: jax.Array, config: ConvConfig) -> jax.Array:
    """Return the convolution of images cut into blocks of rows. Each block includes the following rows that its filters reach."""
    (images, channels), out, padded = x.shape[:2], config.out_size(x.shape[2:], weight.shape[2:]), config.padded(x)
    rows = math.ceil(out[0] / math.ceil(BLOCKS / images))
    blocks, step = math.ceil(out[0] / rows), rows * config.stride[0]
    reach = (rows - 1) * config.stride[0] + config.dilation[0] * (weight.shape[2] - 1) + 1
    if reach > 2 * step:
        return library(x, weight, config)

    def cut(first: int, taken: int) -> jax.Array:
        """Return ``taken`` rows of each block; the first block begins at ``first``."""
        missing = first + blocks * step - padded.shape[2]
        moves = [(0, 0, 0), (0, 0, 0), (-first, missing, 0), *[(0, 0, 0)] * (padded.ndim - 3)]
        laid = lax.pad(padded, jnp.zeros((), x.dtype), moves)
        return laid.reshape(images, channels, blocks, step, *padded.shape[3:])[:, :, :, :taken]
    parts = [cut(0, min(reach, step))] + ([cut(step, reach - step)] if reach > step else [])
    many = jnp.swapaxes(jnp.concatenate(parts, 3), 1, 2).reshape(images * blocks, channels, reach, *padded.shape[3:])
    made = library(many, weight, config.with_nothing_around())
    made = jnp.swapaxes(made.reshape(images, blocks, weight.shape[0], rows, *out[1:]), 1, 2)
    return made.reshape(images, weight.shape[0], blocks * rows, *out[1:])[:, :, :out[0]]


def _forward(x: jax.Array, weight: jax.Array, config: ConvConfig) -> jax.Array:
    return (_product_of_patches if _is_mostly_filters(_places(x, weight, config), weight) else library)(x, weight, config)


def _by_input(x: jax.Array, weight: jax.Array, config: ConvConfig) -> jax.Array:
    return (_product_with_rows if _is_mostly_filters(_places(x, weight, config), weight) else library)(x, weight, config)


def _by_filters(x: jax.Array, weight: jax.Array, config: ConvConfig) -> jax.Array:
    places, images = _places(x, weight, config), x.shape[0]
    if _is_mostly_filters(places, weight) or \
            (images < FEW_IMAGES and places <= MAX_PLACES and _may_be_patched(weight)):
        return _product_of_patches(x, weight, config)
    return (_in_blocks if images < ENOUGH_IMAGES and x.dtype == np.float32 else library)(x, weight, config)


_convolution = bilinear(_forward, _by_input, _by_filters)


def convolution(x: jax.Array, weight: jax.Array, config: ConvConfig) -> jax.Array:
    """Return an ungrouped convolution by the formula of this module that is the fastest for its sizes."""
    return (_convolution if _places(x, weight, config) and weight.size else library)(x, weight, config)
