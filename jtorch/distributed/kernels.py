"""The computation of collectives, as functions of one rank's array and the axis of ranks; compiled once per group and shape."""
from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

_FOLDS: dict[str, Callable] = {"product": jnp.multiply, "band": jnp.bitwise_and, "bor": jnp.bitwise_or, "bxor": jnp.bitwise_xor}
_DIRECT: dict[str, Callable] = {"sum": lax.psum, "min": lax.pmin, "max": lax.pmax}


@functools.cache
def all_reduce(op: str) -> Callable:
    """Return the kernel of a reduction over ranks. XLA's collectives do some; the others fold the ranks' arrays in order."""
    if op in _DIRECT:
        return lambda x, axis: _DIRECT[op](x, axis).astype(x.dtype)
    return lambda x, axis: functools.reduce(_FOLDS[op], list(lax.all_gather(x, axis))).astype(x.dtype)


@functools.cache
def mean(ranks: int) -> Callable:
    """Return the kernel that divides by the number of ranks and then sums, as PyTorch averages gradients."""
    return lambda x, axis: lax.psum(x * (1 / ranks), axis).astype(x.dtype)


@functools.cache
def reduce_scatter(op: str) -> Callable:
    """Return the kernel that reduces (ranks, ...) over ranks and returns this rank's row."""
    if op == "sum":
        return lambda x, axis: lax.psum_scatter(x, axis)
    return lambda x, axis: lax.dynamic_index_in_dim(all_reduce(op)(x, axis), lax.axis_index(axis), keepdims=False)


def all_gather(x: jax.Array, axis: str) -> jax.Array:
    """Return the arrays of all ranks, with shape (ranks, ...)."""
    return lax.all_gather(x, axis)


def all_to_all(x: jax.Array, axis: str) -> jax.Array:
    """Send row i of each rank's (ranks, ...) to rank i."""
    return lax.all_to_all(x, axis, 0, 0)


@functools.cache
def broadcast(source: int) -> Callable:
    """Return the kernel that sums one rank's words with zeros; words keep bits that a sum of floats loses, such as -0.0."""
    def body(x: jax.Array, axis: str) -> Any:
        return lax.psum(jnp.where(lax.axis_index(axis) == source, x, jnp.zeros_like(x)), axis)
    return body
