"""The configuration of a convolution (stride, padding, dilation) and functions that all its formulas share."""
from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.custom_derivatives import SymbolicZero

from jtorch._base import float32_products

_LETTERS = {1: "W", 2: "HW", 3: "DHW"}


class ConvConfig(NamedTuple):
    """A convolution's numbers for each spatial dimension. ``spread`` is the input's dilation, for transposed convolutions."""

    stride: tuple[int, ...]
    padding: tuple[tuple[int, int], ...]
    dilation: tuple[int, ...]
    spread: tuple[int, ...]

    def without_depth(self) -> ConvConfig:
        """Return the configuration without the first spatial dimension."""
        return ConvConfig(self.stride[1:], self.padding[1:], self.dilation[1:], self.spread[1:])

    def with_nothing_around(self) -> ConvConfig:
        """Return the configuration for an input that is already padded and dilated."""
        return ConvConfig(self.stride, ((0, 0),) * len(self.stride), self.dilation, (1,) * len(self.stride))

    def out_size(self, size, kernel) -> tuple[int, ...]:
        """Return the sizes of the result."""
        return tuple((((a - 1) * e + 1 if a else 0) + low + high - d * (k - 1) - 1) // s + 1
                     for a, k, s, (low, high), d, e in zip(size, kernel, *self, strict=True))

    def padded(self, x: jax.Array, images: int = 0) -> jax.Array:
        """Return the input dilated and padded with zeros, with ``images`` more images of zeros at the end."""
        moves = [(low, high, e - 1) for (low, high), e in zip(self.padding, self.spread, strict=True)]
        return lax.pad(x, jnp.zeros((), x.dtype), [(0, images, 0), (0, 0, 0), *moves])

    def met(self, padded: jax.Array, place, out) -> jax.Array:
        """Return the elements of a padded input that one filter tap reads, an array of sizes (..., *out)."""
        lead = padded.ndim - len(out)
        start = [i * d for i, d in zip(place, self.dilation, strict=True)]
        stop = [a + (size - 1) * s + 1 for a, size, s in zip(start, out, self.stride, strict=True)]
        return lax.slice(padded, [0] * lead + start, [*padded.shape[:lead], *stop], [1] * lead + list(self.stride))

    def met_by_all(self, x: jax.Array, kernel) -> jax.Array:
        """Return the elements that each filter tap reads, stacked after the channels."""
        out, padded = self.out_size(x.shape[2:], kernel), self.padded(x)
        return jnp.stack([self.met(padded, place, out) for place in np.ndindex(*kernel)], 2)

    def met_by_row(self, padded: jax.Array, row, out) -> jax.Array:
        """Return the elements that a row of filter taps reads, as full rows. ``row``: a tap without its last index."""
        lead, outer = padded.ndim - len(out), len(out) - 1
        starts = [*(i * d for i, d in zip(row, self.dilation[:outer], strict=True)), 0]
        sizes = [*((size - 1) * s + 1 for size, s in zip(out[:outer], self.stride[:outer], strict=True)), padded.shape[-1]]
        starts = [lax.convert_element_type(a, np.int32) for a in [0] * lead + starts]
        return lax.dynamic_slice(padded, starts, [*padded.shape[:lead], *sizes])


# XLA's convolution is the fastest for many channels: it calls YNNPACK or Eigen on the CPU (engine/convolutions.py). Products of
# patches or taps, Winograd's algorithm and channels-last layouts were slower.
def library(x: jax.Array, weight: jax.Array, config: ConvConfig, groups: int = 1) -> jax.Array:
    """Return XLA's convolution."""
    x, config, extra = _with_other_padding(x, weight, config)
    letters = _LETTERS[x.ndim - 2]
    spec = lax.conv_dimension_numbers(x.shape, weight.shape, (f"NC{letters}", f"OI{letters}", f"NC{letters}"))
    out = lax.conv_general_dilated(x, weight, config.stride, config.padding, lhs_dilation=config.spread,
                                   rhs_dilation=config.dilation, dimension_numbers=spec, feature_group_count=groups,
                                   preferred_element_type=x.dtype, precision=precision_of_convolutions())
    return lax.slice(out, (0, 0, *extra), out.shape) if any(extra) else out


def _with_other_padding(x: jax.Array, weight: jax.Array, config: ConvConfig) -> tuple[jax.Array, ConvConfig, list[int]]:
    """Return an equivalent convolution that XLA compiles correctly, and how many leading elements of its result to drop.

    XLA treats a dimension with input dilation 2, no padding and filter size 2 as a batch (``is_group_dim`` in its
    conv_operand_swapper.cc). It aborts the process if another dimension's filter is larger than its input.
    Transposed convolutions of this kind get one more element of padding. Gradients of convolutions with stride 2 and padding 1
    are avoided by padding the input beforehand. Negative padding is also applied beforehand, since XLA:CPU's convolution
    reads out of bounds with negative padding before and positive padding after.
    """
    each = list(zip(weight.shape[2:], config.stride, config.padding, config.spread, strict=True))
    extra = [int(k == spread == 2 and pads == (0, 0)) for k, _, pads, spread in each]
    ahead = [_before(*numbers) for numbers in each]
    if any(map(any, ahead)):
        x = lax.pad(x, jnp.zeros((), x.dtype), [(0, 0, 0), (0, 0, 0), *((low, high, 0) for low, high in ahead)])
    padding = tuple((low + more - a, high - b) for (low, high), more, (a, b) in zip(config.padding, extra, ahead, strict=True))
    return x, config._replace(padding=padding), extra


def _before(filters: int, stride: int, padding: tuple[int, int], spread: int) -> tuple[int, int]:
    """Return the part of a dimension's padding that is applied before the convolution."""
    if spread > 1:
        return 0, 0
    return padding if filters == stride == 2 and padding[0] == 1 else (min(padding[0], 0), min(padding[1], 0))


def precision_of_convolutions() -> lax.Precision:
    """Return XLA's precision for PyTorch's settings. It has no effect on a CPU."""
    return lax.Precision.DEFAULT if float32_products.are_quick("conv") else lax.Precision.HIGHEST


def computed_once(formula: Callable) -> Callable:
    """Prevent XLA:CPU from recomputing a formula in each loop that reads its result. Barriers do not survive until fusion.

    So the result becomes a branch of a conditional whose outcome XLA cannot know: whether a number equals itself or not.
    """
    def chosen(x: jax.Array, weight: jax.Array, config: ConvConfig, groups: int) -> jax.Array:
        if not weight.size:
            return formula(x, weight, config, groups)
        number = jnp.real(weight).ravel()[0]
        out = x.shape[0], weight.shape[0], *config.out_size(x.shape[2:], weight.shape[2:])
        return lax.cond((number == number) | (number != number), lambda x: formula(x, weight, config, groups),
                        lambda x: jnp.zeros(out, x.dtype), x)
    return chosen


def bilinear(out_of: Callable, by_input: Callable, by_weight: Callable) -> Callable:
    """Return a function that computes ``out_of``, with the derivatives of ``by_input`` and ``by_weight``.

    All three take ``(x, weight, *config)`` and compute the same function.

    JAX transposes these for the gradients, so each formula can be chosen for the cost of its transpose.
    """
    made = jax.custom_jvp(lambda *args: out_of(args[0], args[1], *args[2]), nondiff_argnums=(2,))

    def jvp(config, primals, tangents):
        (x, weight), (dx, dweight) = primals, tangents
        out = out_of(x, weight, *config)
        changes = [] if type(dx) is SymbolicZero else [by_input(dx, weight, *config)]
        changes += [] if type(dweight) is SymbolicZero else [by_weight(x, dweight, *config)]
        return out, functools.reduce(operator.add, changes) if changes else jnp.zeros_like(out)
    made.defjvp(jvp, symbolic_zeros=True)
    return lambda x, weight, *config: made(x, weight, config)
