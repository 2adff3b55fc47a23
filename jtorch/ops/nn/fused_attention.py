"""Attention that writes down no weights, on NVIDIA's GPUs: the kernels are JAX's, in Pallas.

After Dao, "FlashAttention-2", 2023 (arXiv 2307.08691). The weights of 8 texts of 512 tokens with 12 heads are 100 MB, which are
written and read several times: 0.69 ms forward and back on an H100 in TF32, 0.40 with these kernels. They give the same bits in
each run. Where they do not fit, and on other devices, the weights are written down (``plain``).
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

ROWS = 128                      # queries of a block; a text has a multiple of them
SIZES = (32, 64, 128)           # of a head
OLDEST = 8.0                    # compute capability: the first that multiplies in TF32


def fits(query: jax.Array, key: jax.Array, value: jax.Array) -> bool:
    """Whether the kernels take these (…, heads, time, size): alike, of whole blocks, and of a dtype with quick products."""
    if not are_there() or not query.shape == key.shape == value.shape or query.ndim < 3:
        return False
    if not check.are_known(query.shape) or query.size == 0:
        return False
    length, size = query.shape[-2:]
    return length % ROWS == 0 and size in SIZES and _has_quick_products(np.dtype(query.dtype))


def _has_quick_products(dtype: np.dtype) -> bool:
    return dtype.name in ("float16", "bfloat16") or (dtype == np.float32 and float32_products.are_quick("matmul"))


def are_there() -> bool:
    """Whether this process has a GPU for the kernels, and a JAX that has them. Spread over a mesh each would compute all."""
    if not is_accelerated() or is_spread() or jax.default_backend() != "gpu":
        return False
    return _are_for(jax.devices()[0]) and _module() is not None


def _are_for(device: Any) -> bool:
    try:
        return float(device.compute_capability) >= OLDEST
    except (AttributeError, ValueError):    # AMD's have names
        return False


@once
def _module() -> Any:
    """JAX's kernels; None where a version has them no more (from 0.12 on it points to another package)."""
    try:
        with warned.ignored():
            return importlib.import_module("jax.experimental.pallas.ops.gpu.attention")
    except ImportError:
        return None


def attention(plain: Plain, scale: float, causal: bool, query: jax.Array, key: jax.Array, value: jax.Array) -> jax.Array:
    """``plain(query, key, value)``, by the kernels where they fit.

    It is ``softmax(query @ key.T * scale) @ value``; ``causal``: of earlier keys only.
    """
    if not fits(query, key, value):
        return plain(query, key, value)
    return _attended(plain, scale, causal, query, key, value)[0]


@functools.partial(jax.custom_vjp, nondiff_argnums=(0, 1, 2))
def _attended(plain: Plain, scale: float, causal: bool, *inputs: jax.Array) -> tuple[jax.Array, jax.Array]:
    """The result and what the gradients are found with: the logarithms of the weights' sums.

    Also where no gradient is wanted: XLA computes it once if backward asks for the same.
    """
    def fused(*inputs: jax.Array, interpret: bool = False) -> tuple[jax.Array, jax.Array]:
        out, sums = _kernels(scale, causal, interpret, *map(_for_kernel, inputs))
        return _from_kernel(out, inputs[0]), sums

    def formula(*inputs: jax.Array) -> tuple[jax.Array, jax.Array]:
        *batch, heads, time, _ = inputs[0].shape
        return plain(*inputs), jnp.zeros((math.prod(batch), heads, time), jnp.float32)      # ``plain`` has gradients of its own
    return chosen(fused, formula, *inputs)


def _forward(plain: Plain, scale: float, causal: bool, *inputs: jax.Array) -> tuple[tuple, tuple]:
    made = _attended(plain, scale, causal, *inputs)     # with its own derivative, for second ones
    return made, (*inputs, *made)


def _backward(plain: Plain, scale: float, causal: bool, saved: tuple, gradients: tuple) -> tuple:
    return _gradients(plain, scale, causal, *saved, gradients[0])


_attended.defvjp(_forward, _backward)


@functools.partial(jax.custom_vjp, nondiff_argnums=(0, 1, 2))
def _gradients(plain: Plain, scale: float, causal: bool, *saved: jax.Array) -> tuple:
    """Those of query, key and value. ``saved``: these, what ``_attended`` gave, and the result's gradient."""
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
    """The formula's: a kernel has no second derivative."""
    query, key, value, out, sums, gradient = saved
    pull = jax.vjp(lambda q, k, v, g: jax.vjp(plain, q, k, v)[1](g), query, key, value, gradient)[1]
    *inputs, of_gradient = pull(gradients)
    return *inputs, jnp.zeros_like(out), jnp.zeros_like(sums), of_gradient


_gradients.defvjp(_second_forward, _second_backward)


def chosen(fused: Callable, formula: Callable, *arrays: jax.Array) -> Any:
    """What one of two functions gives: a process with a GPU has programs for the CPU too."""
    return jax.lax.platform_dependent(*arrays, cuda=fused, default=formula)


# ---------------------------------------------------------------- the kernels, whose arrays are (batch, time, heads, size)

def _for_kernel(x: jax.Array) -> jax.Array:
    return jnp.swapaxes(x.reshape(-1, *x.shape[-3:]), 1, 2)


def _from_kernel(x: jax.Array, like: jax.Array) -> jax.Array:
    return jnp.swapaxes(x, 1, 2).reshape(like.shape)


def _options(scale: float, causal: bool, x: jax.Array, interpret: bool) -> dict[str, Any]:
    """The arguments, in their order, with blocks that fit into the 96 KiB that each such GPU has for one."""
    queries, keys = (ROWS, 64) if x.shape[-1] * x.dtype.itemsize <= 256 else (ROWS // 2, 32)
    blocks = _module().BlockSizes(block_q=queries, block_k=keys, block_q_dkv=32, block_kv_dkv=32, block_q_dq=32, block_kv_dq=32)
    return {"sm_scale": scale, "causal": causal, "block_sizes": blocks, "backward_pass_impl": "triton", "num_warps": None,
            "num_stages": 2, "grid": None, "interpret": interpret, "debug": False}


@contextlib.contextmanager
def _as_written() -> Iterator[None]:
    """The settings of JAX that its kernels are written for; products of float32 in TF32, for which ``fits`` has asked."""
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
