"""Ops that PyTorch has mainly in place: filling a tensor."""
from __future__ import annotations

import math

import jax.numpy as jnp

from jtorch.ops import promotion
from jtorch.ops.check import nothing, require
from jtorch.ops.facts import InPlace, Saves
from jtorch.ops.layout import LIKE_FIRST
from jtorch.ops.registry import Number, T, Tensor, op


@op(inplace=InPlace(True, name=lambda template: f"FillBackward{2 + int(template[1] is T)}",
                    fills=lambda template, size, stride: template[1] is not T, uniform=True),
    out=False, method=True, saves="none", backward_name=lambda template: f"FillBackward{int(template[1] is T)}",
    layout=LIKE_FIRST, fits="value:fill")
def fill(input: Tensor, value: Tensor | Number):
    """Return all elements replaced by one value. See torch.Tensor.fill_."""
    require(jnp.ndim(value) == 0, "fill_ only supports 0-dimension value tensor but got tensor with "
            f"{jnp.ndim(value)} dimensions.")
    return jnp.broadcast_to(promotion.cast(value, input.dtype), input.shape)


@op(inplace=InPlace(True, fills=True, uniform=True), out=False, method=True, function=True, saves="none",
    layout=LIKE_FIRST)
def zero(input: Tensor):
    """Return all elements replaced by 0. See torch.Tensor.zero_."""
    return jnp.zeros_like(input)


@op(inplace=InPlace(True, name="CopySlices", fills=True), out=False, function=False, method=True,
    saves=Saves(checks=nothing), tested=False, fits="fill_value")
def fill_diagonal(input: Tensor, fill_value: Number, wrap: bool = False):
    """Return the main diagonal replaced by one value. See torch.Tensor.fill_diagonal_."""
    require(input.ndim >= 2, "dimensions must larger than 1")
    require(input.ndim == 2 or len(set(input.shape)) == 1, "all dimensions of input must be of equal length")
    step = sum(math.prod(input.shape[i + 1:]) for i in range(input.ndim))
    n = min(input.shape)
    stop = input.size if wrap or input.ndim > 2 or input.shape[0] <= input.shape[1] else n * step
    flat = input.reshape(-1).at[0:stop:step].set(jnp.asarray(fill_value).astype(input.dtype))
    return flat.reshape(input.shape)
