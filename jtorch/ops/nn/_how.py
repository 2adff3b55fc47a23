"""How the filters of a convolution go over its input, and what all its formulas have in common."""
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


class How(NamedTuple):
    """Numbers for each dimension behind the channels. ``spread``: how far apart the input's elements are put (transposed)."""

    stride: tuple[int, ...]
    padding: tuple[tuple[int, int], ...]
    dilation: tuple[int, ...]
    spread: tuple[int, ...]

    def without_depth(self) -> How:
        """The same over the dimensions behind the first."""
        return How(self.stride[1:], self.padding[1:], self.dilation[1:], self.spread[1:])

    def with_nothing_around(self) -> How:
        """The same over an input that has been padded and spread out already."""
        return How(self.stride, ((0, 0),) * len(self.stride), self.dilation, (1,) * len(self.stride))

    def out_size(self, size, kernel) -> tuple[int, ...]:
        """The sizes of the result."""
        return tuple((((a - 1) * e + 1 if a else 0) + low + high - d * (k - 1) - 1) // s + 1
                     for a, k, s, (low, high), d, e in zip(size, kernel, *self, strict=True))

    def padded(self, x: jax.Array, images: int = 0) -> jax.Array:
        """The input spread out and with zeros around it, and so many images of zeros behind."""
        moves = [(low, high, e - 1) for (low, high), e in zip(self.padding, self.spread, strict=True)]
        return lax.pad(x, jnp.zeros((), x.dtype), [(0, images, 0), (0, 0, 0), *moves])

    def met(self, padded: jax.Array, place, out) -> jax.Array:
        """The elements of a padded input that a place of the filters meets, in an array that ends with the sizes ``out``."""
        lead = padded.ndim - len(out)
        start = [i * d for i, d in zip(place, self.dilation, strict=True)]
        stop = [a + (size - 1) * s + 1 for a, size, s in zip(start, out, self.stride, strict=True)]
        return lax.slice(padded, [0] * lead + start, [*padded.shape[:lead], *stop], [1] * lead + list(self.stride))

    def met_by_all(self, x: jax.Array, kernel) -> jax.Array:
        """What each place of filters of these sizes meets, stacked behind the channels."""
        out, padded = self.out_size(x.shape[2:], kernel), self.padded(x)
        return jnp.stack([self.met(padded, place, out) for place in np.ndindex(*kernel)], 2)

    def met_by_row(self, padded: jax.Array, row, out) -> jax.Array:
        """What a row of the filters meets, in rows as long as the input's. A row is a place without its last number."""
        lead, outer = padded.ndim - len(out), len(out) - 1
        starts = [*(i * d for i, d in zip(row, self.dilation[:outer], strict=True)), 0]
        sizes = [*((size - 1) * s + 1 for size, s in zip(out[:outer], self.stride[:outer], strict=True)), padded.shape[-1]]
        starts = [lax.convert_element_type(a, np.int32) for a in [0] * lead + starts]
        return lax.dynamic_slice(padded, starts, [*padded.shape[:lead], *sizes])


# Many channels are left to XLA. On the CPU it gives such a convolution to YNNPACK or to Eigen (engine/convolutions.py). For 64 to
# 64 channels of 32x32 at batch 8, 3x3, Eigen takes 6.7 6.5 7.9 (PyTorch 4.7 5.8 5.6), a product of patches 22 8 20, a product a
# tap 17 14 12, and on an AMD machine Winograd's way and the channels last nothing less either.
def library(x: jax.Array, weight: jax.Array, how: How, groups: int = 1) -> jax.Array:
    """XLA's own convolution."""
    x, how, extra = _with_other_padding(x, weight, how)
    letters = _LETTERS[x.ndim - 2]
    spec = lax.conv_dimension_numbers(x.shape, weight.shape, (f"NC{letters}", f"OI{letters}", f"NC{letters}"))
    out = lax.conv_general_dilated(x, weight, how.stride, how.padding, lhs_dilation=how.spread, rhs_dilation=how.dilation,
                                   dimension_numbers=spec, feature_group_count=groups, preferred_element_type=x.dtype,
                                   precision=precision_of_convolutions())
    return lax.slice(out, (0, 0, *extra), out.shape) if any(extra) else out


def _with_other_padding(x: jax.Array, weight: jax.Array, how: How) -> tuple[jax.Array, How, list[int]]:
    """The same convolution in a form that XLA is right about, and how many places of its result are to be left out in front.

    An input spread out by 2 without padding under filters of 2 XLA takes for a batch (``is_group_dim`` in its
    conv_operand_swapper.cc), of whatever size, and ends the process where another dimension's filters are larger than its input.
    Such are transposed convolutions, which get a place more here, and gradients of convolutions by 2 with a padding of 1, which
    is put around before. What is to be left out of an input (a negative padding) is left out before too: XLA:CPU's convolution
    reads beside the array where some is left out in front and zeros are put behind.
    """
    each = list(zip(weight.shape[2:], how.stride, how.padding, how.spread, strict=True))
    extra = [int(k == spread == 2 and pads == (0, 0)) for k, _, pads, spread in each]
    ahead = [_before(*numbers) for numbers in each]
    if any(map(any, ahead)):
        x = lax.pad(x, jnp.zeros((), x.dtype), [(0, 0, 0), (0, 0, 0), *((low, high, 0) for low, high in ahead)])
    padding = tuple((low + more - a, high - b) for (low, high), more, (a, b) in zip(how.padding, extra, ahead, strict=True))
    return x, how._replace(padding=padding), extra


def _before(filters: int, stride: int, padding: tuple[int, int], spread: int) -> tuple[int, int]:
    """What of a dimension's padding is put around, or left out, before the convolution."""
    if spread > 1:
        return 0, 0
    return padding if filters == stride == 2 and padding[0] == 1 else (min(padding[0], 0), min(padding[1], 0))


def precision_of_convolutions() -> lax.Precision:
    """XLA's word for what PyTorch's settings allow; on a CPU it makes no difference."""
    return lax.Precision.DEFAULT if float32_products.are_quick("conv") else lax.Precision.HIGHEST


def computed_once(formula: Callable) -> Callable:
    """A formula whose result XLA:CPU would compute anew in each loop that reads it: barriers are gone when it fuses loops.

    So it is a choice whose outcome XLA does not know: whether a number is equal to itself or not. A depthwise convolution of 3x3
    with the gradient of its filters took 12.7 ms of processor time without, 3.4 with.
    """
    def chosen(x: jax.Array, weight: jax.Array, how: How, groups: int) -> jax.Array:
        if not weight.size:
            return formula(x, weight, how, groups)
        number = jnp.real(weight).ravel()[0]
        out = x.shape[0], weight.shape[0], *how.out_size(x.shape[2:], weight.shape[2:])
        return lax.cond((number == number) | (number != number), lambda x: formula(x, weight, how, groups),
                        lambda x: jnp.zeros(out, x.dtype), x)
    return chosen


def bilinear(out_of: Callable, by_input: Callable, by_weight: Callable) -> Callable:
    """``out_of(x, weight, *how)``, whose derivatives are those of ``by_input`` and ``by_weight``: formulas of the same.

    JAX transposes these for the gradients, so each can be written for what its transpose costs.
    """
    made = jax.custom_jvp(lambda *args: out_of(args[0], args[1], *args[2]), nondiff_argnums=(2,))

    def jvp(how, primals, tangents):
        (x, weight), (dx, dweight) = primals, tangents
        out = out_of(x, weight, *how)
        changes = [] if type(dx) is SymbolicZero else [by_input(dx, weight, *how)]
        changes += [] if type(dweight) is SymbolicZero else [by_weight(x, dweight, *how)]
        return out, functools.reduce(operator.add, changes) if changes else jnp.zeros_like(out)
    made.defjvp(jvp, symbolic_zeros=True)
    return lambda x, weight, *how: made(x, weight, how)
