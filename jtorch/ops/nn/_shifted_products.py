"""Convolutions with few channels per group, such as depthwise ones, as sums of shifted products, which XLA fuses.

XLA:CPU computes grouped convolutions by its slow generic loop. docs/measurements/formulas.md has times.
"""
from __future__ import annotations

import functools
import math
import operator
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jtorch.ops.nn._conv_config import ConvConfig, bilinear, computed_once

IMAGES = 8      # The transpose adds the products of at most this many images before it sums over positions.
TERMS = 9       # terms per loop
MAX_TERMS = 81


class _Sizes(NamedTuple):
    """The sizes of a grouped convolution: images, channels and outputs per group, and spatial sizes."""

    images: int
    groups: int
    inputs: int
    outputs: int
    size: tuple[int, ...]
    kernel: tuple[int, ...]
    out: tuple[int, ...]

    @classmethod
    def of(cls, x: jax.Array, weight: jax.Array, config: ConvConfig, groups: int) -> _Sizes:
        out = config.out_size(x.shape[2:], weight.shape[2:])
        return cls(x.shape[0], groups, weight.shape[1], weight.shape[0] // groups, x.shape[2:], weight.shape[2:], out)

    def terms(self) -> list[tuple[int, ...]]:
        """Return all pairs of an input channel of a group and a filter tap."""
        return list(np.ndindex(self.inputs, *self.kernel))


def has_few_terms(weight: jax.Array, groups: int) -> bool:
    """Return whether this module computes the convolution: it has groups with few channels each."""
    outputs, inputs, *kernel = weight.shape
    return groups > 1 and max(inputs, outputs // groups) * math.prod(kernel) <= MAX_TERMS


def _add(terms):
    return functools.reduce(operator.add, terms)


@computed_once
def plain_sum(x: jax.Array, weight: jax.Array, config: ConvConfig, groups: int) -> jax.Array:
    """Return the convolution of ``x`` (N, C, …) with filters (O, C/groups, …)."""
    s = _Sizes.of(x, weight, config, groups)
    padded = config.padded(x)
    padded = padded.reshape(s.images, groups, s.inputs, 1, *padded.shape[2:])
    filters = weight.reshape(1, groups, s.outputs, s.inputs, *s.kernel)
    sums = [_add([config.met(padded[:, :, i], place, s.out) * _each(filters[(..., i, *place)], s) for i, *place in some])
            for some in _in_lots(s.terms())]
    return _add(sums).reshape(s.images, groups * s.outputs, *s.out)


def _in_lots(terms: list) -> list[list]:
    return [terms[first:first + TERMS] for first in range(0, len(terms), TERMS)]


def _each(numbers: jax.Array, s: _Sizes) -> jax.Array:
    """Return numbers reshaped to broadcast against spatial dimensions."""
    return numbers.reshape(*numbers.shape, *[1] * len(s.out))


@computed_once
def spread_sum(x: jax.Array, weight: jax.Array, config: ConvConfig, groups: int) -> jax.Array:
    """Return the convolution by scattering input elements to the results. Its transpose has the form of ``plain_sum``."""
    s = _Sizes.of(x, weight, config, groups)
    filters = weight.reshape(1, groups, s.outputs, s.inputs, *s.kernel)
    places, frame = list(np.ndindex(*s.kernel)), _Frame.of(s, config)
    made = []
    for o in range(s.outputs):
        parts = []
        for some in _in_lots(places):
            own = lax.optimization_barrier(x)        # the barriers make backward add gradients lot by lot
            own = own.reshape(s.images, groups, s.inputs, *s.size)
            parts += [frame.put((own * _each(filters[(slice(None), slice(None), o, slice(None), *place)], s)).sum(2), place)
                      for place in some]
        made.append(frame.cut(_add(parts)))
    return jnp.stack(made, 2).reshape(s.images, groups * s.outputs, *s.out)


class _Frame(NamedTuple):
    """An array for all results at stride 1, with room for what filters reach beyond them."""

    s: _Sizes
    config: ConvConfig
    before: list[int]
    behind: list[int]

    @classmethod
    def of(cls, s: _Sizes, config: ConvConfig) -> _Frame:
        dims = list(zip(s.size, s.kernel, s.out, *config, strict=True))
        before = [max(0, d * (k - 1) - low) for _, k, _, _, (low, _), d, _ in dims]
        behind = [max(0, (size - 1) * e + 1 + low - ((out - 1) * step + 1)) for size, _, out, step, (low, _), _, e in dims]
        return cls(s, config, before, behind)

    def put(self, x: jax.Array, place) -> jax.Array:
        """Return an input's elements shifted by one filter tap."""
        moves = []
        for i, size, out, step, (low, _), d, e, before, behind in zip(place, self.s.size, self.s.out, *self.config, self.before,
                                                                      self.behind, strict=True):
            start = low - i * d + before
            moves.append((start, before + (out - 1) * step + 1 + behind - start - ((size - 1) * e + 1), e - 1))
        return lax.pad(x, jnp.zeros((), x.dtype), [(0, 0, 0)] * (x.ndim - len(moves)) + moves)

    def cut(self, x: jax.Array) -> jax.Array:
        """Return the results within the frame."""
        lead = x.ndim - len(self.before)
        stop = [b + (out - 1) * step + 1 for b, out, step in zip(self.before, self.s.out, self.config.stride, strict=True)]
        return lax.slice(x, [0] * lead + self.before, [*x.shape[:lead], *stop], [1] * lead + list(self.config.stride))


def _sum_of_maps(x: jax.Array, weight: jax.Array, config: ConvConfig, groups: int) -> jax.Array:
    """Return a depthwise convolution, with each element of a filter broadcast to an image by a product with ones.

    The transpose adds the images' products, which XLA's loops do fast, and then sums over positions by matrix products, which
    are much faster than XLA's reductions. The rows of larger filters are iterations of a loop, so XLA compiles one.
    """
    s = _Sizes.of(x, weight, config, groups)
    together = max(1, -(-s.images // IMAGES))
    lots = max(1, -(-s.images // together))
    padded = config.padded(x, images=together * lots - s.images)
    padded = padded.reshape(lots, together, groups, 1, *padded.shape[2:])
    rows = np.array(list(np.ndindex(*s.kernel[:-1])), np.int32)
    numbers = jnp.moveaxis(weight.reshape(1, groups, s.outputs, len(rows), s.kernel[-1]), (-2, -1), (0, 1))

    @functools.partial(jax.checkpoint, prevent_cse=False)
    def turn(total, term):
        row, some = term
        band = config.met_by_row(padded, row, s.out)
        for column, number in enumerate(some):
            met, drawn = config.met(band, [0] * len(row) + [column], s.out), _drawn(number, together, s)
            total = [t + met[lot] * drawn for lot, t in enumerate(total)]
        return total, None
    total = [jnp.zeros((together, groups, s.outputs, *s.out), x.dtype)] * lots
    if math.prod(s.kernel) <= TERMS:
        for row, some in zip(rows, numbers, strict=True):
            total, _ = turn(total, (row, some))
    else:
        total, _ = lax.scan(turn, total, (list(rows.T), numbers))
    return jnp.stack(total).reshape(lots * together, groups * s.outputs, *s.out)[:s.images]


def _drawn(numbers: jax.Array, together: int, s: _Sizes) -> jax.Array:
    many = jnp.broadcast_to(numbers, (together, *numbers.shape[1:]))
    return (many.reshape(-1, 1) @ jnp.ones((1, math.prod(s.out)), numbers.dtype)).reshape(*many.shape, *s.out)


depthwise = bilinear(plain_sum, spread_sum, _sum_of_maps)
