"""Fused attention on NVIDIA GPUs, which stores no weights: JAX's kernels, written in Pallas.

The algorithm is Dao's "FlashAttention-2", 2023 (arXiv 2307.08691). The weights of long sequences are large, and storing
them takes most of the time. The kernels give the same bits in
each run. If they do not support the shapes, and on other devices, ``plain`` computes and stores the weights.
"""
from __future__ import annotations

import contextlib
import functools
import importlib
import math
from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jtorch._base import float32_products, warned
from jtorch._base.accelerated import is_accelerated, is_spread
from jtorch._base.once import once
from jtorch.ops import check

Plain = Callable[[jax.Array, jax.Array, jax.Array], jax.Array]

ROWS = 128                      # queries per block; the sequence length must be a multiple
SIZES = (32, 64, 128)           # supported sizes of a head
OLDEST = 8.0                    # the first compute capability with TF32


def fits(query: jax.Array, key: jax.Array, value: jax.Array) -> bool:
    """Return whether the kernels support these (…, heads, time, size): equal shapes, whole blocks, and a fast dtype."""
    if not are_there() or not query.shape == key.shape == value.shape or query.ndim < 3:
        return False
    if not check.are_known(query.shape) or query.size == 0:
        return False
    length, size = query.shape[-2:]
    return length % ROWS == 0 and size in SIZES and _has_quick_products(np.dtype(query.dtype))


def _has_quick_products(dtype: np.dtype) -> bool:
    return dtype.name in ("float16", "bfloat16") or (dtype == np.float32 and float32_products.are_quick("matmul"))


def are_there() -> bool:
    """Return whether a GPU and a JAX version have the kernels. Not on a mesh, where each device would compute everything."""
    if not is_accelerated() or is_spread() or jax.default_backend() != "gpu":
        return False
    return _are_for(jax.devices()[0]) and _module() is not None


def _are_for(device: Any) -> bool:
    try:
        return float(device.compute_capability) >= OLDEST
    except (AttributeError, ValueError):    # AMD's capabilities are names
        return False


@once
def _module() -> Any:
    """Return the module of JAX's kernels, or None if this version of JAX has removed them."""
    try:
        with warned.ignored():
            return importlib.import_module("jax.experimental.pallas.ops.gpu.attention")
    except ImportError:
        return None


def attention(plain: Plain, scale: float, causal: bool, query: jax.Array, key: jax.Array, value: jax.Array) -> jax.Array:
    """Return ``plain(query, key, value)``, computed by the kernels if they fit.

    The result is ``softmax(query @ key.T * scale) @ value``. ``causal``: each query attends only to earlier keys.
    """
    if not fits(query, key, value):
        return plain(query, key, value)
    return _attended(plain, scale, causal, query, key, value)[0]


@functools.partial(jax.custom_vjp, nondiff_argnums=(0, 1, 2))
def _attended(plain: Plain, scale: float, causal: bool, *inputs: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Return the result and the logarithms of the weights' sums, which the gradients need.

    It does so even if no gradient is needed, since XLA then shares the computation with backward.
    """
    def fused(*inputs: jax.Array, interpret: bool = False) -> tuple[jax.Array, jax.Array]:
        out, sums = _kernels(scale, causal, interpret, *map(_for_kernel, inputs))
        return _from_kernel(out, inputs[0]), sums

    def formula(*inputs: jax.Array) -> tuple[jax.Array, jax.Array]:
        *batch, heads, time, _ = inputs[0].shape
        # Zeros serve as the sums, since ``_plain_gradients`` does not read them.
        return plain(*inputs), jnp.zeros((math.prod(batch), heads, time), jnp.float32)
    return chosen(fused, formula, *inputs)


def _forward(plain: Plain, scale: float, causal: bool, *inputs: jax.Array) -> tuple[tuple, tuple]:
    made = _attended(plain, scale, causal, *inputs)     # differentiable, for second derivatives
    return made, (*inputs, *made)


def _backward(plain: Plain, scale: float, causal: bool, saved: tuple, gradients: tuple) -> tuple:
    return _gradients(plain, scale, causal, *saved, gradients[0])


_attended.defvjp(_forward, _backward)


@functools.partial(jax.custom_vjp, nondiff_argnums=(0, 1, 2))
def _gradients(plain: Plain, scale: float, causal: bool, *saved: jax.Array) -> tuple:
    """Return the gradients of query, key and value. ``saved``: the inputs, the results of ``_attended`` and the gradient."""
    def fused(*saved: jax.Array, interpret: bool = False) -> tuple:
        *given, sums, gradient = saved
        found = _kernel_gradients(scale, causal, interpret, (*map(_for_kernel, given), sums), _for_kernel(gradient))
        return tuple([_from_kernel(x, saved[0]) for x in found])
    return chosen(fused, functools.partial(_plain_gradients, plain), *saved)


def _plain_gradients(plain: Plain, *saved: jax.Array) -> tuple:
    *inputs, _, _, gradient = saved
    return jax.vjp(plain, *inputs)[1](gradient)


def _second_forward(plain: Plain, scale: float, causal: bool, *saved: jax.Array) -> tuple[tuple, tuple]:
    return _gradients(plain, scale, causal, *saved), saved


def _second_backward(plain: Plain, scale: float, causal: bool, saved: tuple, gradients: tuple) -> tuple:
    """Return the formula's second derivative, since the kernels have none."""
    query, key, value, out, sums, gradient = saved
    pull = jax.vjp(lambda q, k, v, g: jax.vjp(plain, q, k, v)[1](g), query, key, value, gradient)[1]
    *inputs, of_gradient = pull(gradients)
    return *inputs, jnp.zeros_like(out), jnp.zeros_like(sums), of_gradient


_gradients.defvjp(_second_forward, _second_backward)


def chosen(fused: Callable, formula: Callable, *arrays: jax.Array) -> Any:
    """Return the result of ``fused`` on a GPU, else of ``formula``, since a process with a GPU also runs programs on the CPU."""
    return jax.lax.platform_dependent(*arrays, cuda=fused, default=formula)


# ---------------------------------------------------------------- the kernels, whose arrays are (batch, time, heads, size)

def _for_kernel(x: jax.Array) -> jax.Array:
    return jnp.swapaxes(x.reshape(-1, *x.shape[-3:]), 1, 2)


def _from_kernel(x: jax.Array, like: jax.Array) -> jax.Array:
    return jnp.swapaxes(x, 1, 2).reshape(like.shape)


def _options(scale: float, causal: bool, x: jax.Array, interpret: bool) -> dict[str, Any]:
    """Return the kernels' arguments in order, with blocks that fit the shared memory of each supported GPU."""
    queries, keys = (ROWS, 64) if x.shape[-1] * x.dtype.itemsize <= 256 else (ROWS // 2, 32)
    blocks = _module().BlockSizes(block_q=queries, block_k=keys, block_q_dkv=32, block_kv_dkv=32, block_q_dq=32, block_kv_dq=32)
    return {"sm_scale": scale, "causal": causal, "block_sizes": blocks, "backward_pass_impl": "triton", "num_warps": None,
            "num_stages": 2, "grid": None, "interpret": interpret, "debug": False}


@contextlib.contextmanager
def _as_written() -> Iterator[None]:
    """Set the options that JAX's kernels assume within the block. ``fits`` has checked that float32 may use TF32 products."""
    with jax.enable_x64(False), jax.numpy_dtype_promotion("standard"), jax.default_matmul_precision("default"):
        yield


def _kernels(scale: float, causal: bool, interpret: bool, q: jax.Array, k: jax.Array, v: jax.Array) -> tuple:
    with _as_written():
        return tuple(_module().mha(q, k, v, None, **_options(scale, causal, q, interpret), return_residuals=True))


def _kernel_gradients(scale: float, causal: bool, interpret: bool, saved: tuple, gradient: jax.Array) -> tuple:
    q, k, v, out, sums = saved
    with _as_written():
        given = _options(scale, causal, q, interpret).values()
        return _module().mha.bwd(*given, False, (q, k, v, None, out, sums), gradient)[:3]
