"""Dropout with a given random mask. See torch.nn.functional.dropout."""
from __future__ import annotations

import jax.numpy as jnp

from jtorch.ops import check, promotion
from jtorch.ops.layout import ITERATED
from jtorch.ops.registry import Number, Tensor, op


@op(name="_dropout_with_mask", function=False, method=False, out=False, backward_name="MulBackward0", tested=False,
    layout=ITERATED)
def dropout_with_mask(input: Tensor, mask: Tensor, scale: Number):
    """Return ``input * scale`` where ``mask`` is True, else 0. The mask may broadcast."""
    kept = jnp.broadcast_to(promotion.cast(mask, input.dtype), check.broadcast_shapes(input.shape, mask.shape))
    return input * (kept * jnp.asarray(scale).astype(input.dtype))


@op(name="_alpha_dropout_with_mask", function=False, method=False, out=False, tested=False,
    backward_name="AddBackward0", layout=ITERATED)
def alpha_dropout_with_mask(input: Tensor, mask: Tensor, p: float):
    """Set dropped elements to selu's lower limit, and keep mean and variance. See torch.nn.functional.alpha_dropout."""
    alpha = 1.7580993408473766
    a = (alpha ** 2 * p + 1) ** -0.5 * (1 - p) ** -0.5 if p < 1 else 0.0
    kept = jnp.broadcast_to(promotion.cast(mask, input.dtype), input.shape)
    return input * (kept * a) + ((kept - 1) * (alpha * a) + alpha * a * p)
