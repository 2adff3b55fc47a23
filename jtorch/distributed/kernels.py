"""The computation of collectives, as functions of one rank's array and the axis of ranks; compiled once per group and shape."""
from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

_FOLDS: dict[str, Callable] = {"product": jnp.multiply, "band": jnp.bitwise_and, "bor": jnp.bitwise_or, "bxor": jnp.bitwise_xor}
_DIRECT: dict[str, Callable] = {"sum": lax.psum, "min": lax.pmin, "max": lax.pmax}
_WORDS: dict[int, Any] = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}


@functools.cache
def all_reduce(op: str) -> Callable:
    """Return the kernel of a reduction over ranks. XLA's collectives do some; the others fold the ranks' arrays in order."""
    if op == "mean":
        return _mean
    if op in _DIRECT:
        return lambda x, axis: _DIRECT[op](x, axis).astype(x.dtype)
    return lambda x, axis: functools.reduce(_FOLDS[op], list(lax.all_gather(x, axis))).astype(x.dtype)


def _mean(x: jax.Array, axis: str) -> jax.Array:
    """Return the mean over ranks. NCCL divides floats before the sum, and integers after it."""
    n = lax.axis_size(axis)
    if jnp.issubdtype(x.dtype, jnp.integer):
        return lax.div(lax.psum(x, axis), jnp.asarray(n, x.dtype))
    return mean(n)(x, axis)


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


# ---------------------------------------------------------------- kernels that move elements
#
# They move unsigned words: a sum of floats with zeros would lose bits, such as the sign of -0.0, and Gloo lacks some dtypes.

def _of_words(kernel: Callable) -> Callable:
    """Return a kernel of arrays of any dtype, from one that moves whole elements of unsigned integers."""
    def body(x: jax.Array, axis: str) -> jax.Array:
        return _from_words(kernel(_words(x), axis), x.dtype)
    return body


def _words(x: jax.Array) -> jax.Array:
    if jnp.issubdtype(x.dtype, jnp.complexfloating):
        x = jnp.stack([x.real, x.imag], -1)
    if x.dtype == jnp.bool_:
        return x.astype(np.uint8)
    return lax.bitcast_convert_type(x, _WORDS[x.dtype.itemsize])


def _from_words(words: jax.Array, dtype: Any) -> jax.Array:
    if dtype == jnp.bool_:
        return words.astype(dtype)
    if not jnp.issubdtype(dtype, jnp.complexfloating):
        return lax.bitcast_convert_type(words, dtype)
    pairs = lax.bitcast_convert_type(words, np.empty(0, dtype).real.dtype)
    return lax.complex(pairs[..., 0], pairs[..., 1])


@_of_words
def all_gather(x: jax.Array, axis: str) -> jax.Array:
    """Return the arrays of all ranks, with shape (ranks, ...)."""
    return lax.all_gather(x, axis)


@_of_words
def all_to_all(x: jax.Array, axis: str) -> jax.Array:
    """Send row i of each rank's (ranks, ...) to rank i."""
    return lax.all_to_all(x, axis, 0, 0)


@_of_words
def scatter(x: jax.Array, axis: str) -> jax.Array:
    """Return this rank's row of the sum of (ranks, ...) over ranks; all ranks but one have zeros."""
    return lax.psum_scatter(x, axis)


@functools.cache
def broadcast(source: int) -> Callable:
    """Return the kernel that gives all ranks the array of one rank."""
    @_of_words
    def body(x: jax.Array, axis: str) -> Any:
        return lax.psum(jnp.where(lax.axis_index(axis) == source, x, jnp.zeros_like(x)), axis)
    return body


@functools.cache
def send(source: int) -> Callable:
    """Return the kernel of two ranks that gives the array of one to the other."""
    @_of_words
    def body(x: jax.Array, axis: str) -> Any:
        return lax.ppermute(x, axis, [(source, 1 - source)])
    return body
