"""A transposed convolution as ordinary convolutions: each result position modulo the stride uses a subset of the filter.

XLA puts zeros between the input's elements and multiplies by them, which is slow: see docs/measurements/formulas.md. The
gradient of the input is a convolution with a stride, as in XLA's own formula.
"""
from __future__ import annotations

import math
from collections.abc import Callable
from itertools import product
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from jtorch.ops.nn._conv_config import ConvConfig


class _Phase(NamedTuple):
    """One dimension of a phase: the first filter tap, the number of taps, the first element read and the number of results."""

    first: int
    taps: int
    start: int
    outs: int

    @classmethod
    def of(cls, phase: int, spread: int, low: int, kernel: int, out: int) -> _Phase:
        first = (low - phase) % spread
        return cls(first, len(range(first, kernel, spread)), (phase - low + first) // spread, len(range(phase, out, spread)))

    def padding(self, size: int) -> tuple[int, int]:
        """Return the padding around ``size`` elements."""
        return -self.start, self.outs + self.taps - 1 + self.start - size


def subpixel_convolution(x: jax.Array, weight: jax.Array, config: ConvConfig, convolution: Callable) -> jax.Array:
    """Return the convolution of ``x`` with zeros between its elements. ``config`` has strides and dilations of 1.

    ``convolution(x, weight, config)`` computes the convolutions of the phases.
    """
    kernel, size, out = weight.shape[2:], x.shape[2:], config.out_size(x.shape[2:], weight.shape[2:])
    most = [math.ceil(p / e) for p, e in zip(out, config.spread, strict=True)]
    ones, made = (1,) * len(out), []
    for number in product(*map(range, config.spread)):
        phases = [_Phase.of(r, e, low, k, p) for r, e, (low, _), k, p in
                  zip(number, config.spread, config.padding, kernel, out, strict=True)]
        missing = [(0, 0, 0), (0, 0, 0), *[(0, m - a.outs, 0) for a, m in zip(phases, most, strict=True)]]
        if all(a.taps and a.outs for a in phases):
            own = weight[(..., *[slice(a.first, None, e) for a, e in zip(phases, config.spread, strict=True)])]
            around = tuple([a.padding(n) for a, n in zip(phases, size, strict=True)])
            made.append(lax.pad(convolution(x, own, ConvConfig(ones, around, ones, ones)), jnp.zeros((), x.dtype), missing))
        else:
            made.append(jnp.zeros((x.shape[0], weight.shape[0], *most), x.dtype))
    return _interleaved(jnp.stack(made, 2), config.spread, most)[(..., *[slice(p) for p in out])]


def _interleaved(made: jax.Array, spread: tuple[int, ...], most: list[int]) -> jax.Array:
    """Interleave phases, which are stacked along dim 2, to the result."""
    dims = len(most)
    apart = made.reshape(*made.shape[:2], *spread, *most)
    order = [0, 1, *[d for k in range(dims) for d in (2 + dims + k, 2 + k)]]
    return apart.transpose(order).reshape(*made.shape[:2], *[m * e for m, e in zip(most, spread, strict=True)])
