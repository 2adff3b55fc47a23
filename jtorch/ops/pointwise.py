"""Pointwise ops. See https://docs.pytorch.org/docs/stable/torch.html#pointwise-ops."""
from __future__ import annotations

import jax.numpy as jnp

from jtorch.ops.registry import Number, Tensor, op


@op(promote="numeric", operators=("__add__", "__radd__", "__iadd__"), saves="none")
def add(input: Tensor | Number, other: Tensor | Number, *, alpha: Number = 1):
    """Adds ``alpha`` times ``other``. See torch.add."""
    return input + alpha * other


@op(promote="int_to_float", saves="result")
def exp(input: Tensor):
    """e raised to each element. See torch.exp."""
    return jnp.exp(input)
