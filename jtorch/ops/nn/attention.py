"""Attention. See torch.nn.functional.scaled_dot_product_attention."""
from __future__ import annotations

import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jtorch._base.accelerated import is_accelerated
from jtorch.ops import check, promotion
from jtorch.ops import derivatives_from_result as from_result
from jtorch.ops.elementwise import widen
from jtorch.ops.layout import ATTENDED
from jtorch.ops.nn import fused_attention
from jtorch.ops.nn._common import functional
from jtorch.ops.registry import T, Tensor, op

F32, F64 = np.dtype(np.float32), np.dtype(np.float64)
FEW_KEYS = 4        # keys per element of a query; with more keys the saved weights need more memory


def _check(query: jax.Array, key: jax.Array, value: jax.Array, attn_mask: jax.Array | None, is_causal: bool) -> None:
    check.require(query.dtype == key.dtype == value.dtype, "Expected query, key, and value to have the same dtype, but "
                  f"got query.dtype: {_cpp(query)} key.dtype: {_cpp(key)} and value.dtype: {_cpp(value)} instead.")
    check.require(min(query.ndim, key.ndim, value.ndim) >= 2, "Expected query, key, and value to all be  at least 2 "
                  f"dimensional, but got query.dim: {query.ndim}, key.dim: {key.ndim} and value.dim: {value.ndim} "
                  "instead.")
    if attn_mask is not None:
        check.require(not is_causal, "_scaled_dot_product_attention: Explicit attn_mask should not be set when "
                      "is_causal=True")
        check.require(attn_mask.dtype in (jnp.bool_, jnp.float32, query.dtype), "Expected attn_mask dtype to be bool "
                      f"or float or to match query dtype, but got attn_mask.dtype: {_cpp(attn_mask)} and  query.dtype: "
                      f"{_cpp(query)} instead.")


def _cpp(x: jax.Array) -> str:
    names = {"Float": "float", "Double": "double", "Half": "c10::Half", "BFloat16": "c10::BFloat16", "Long": "long int"}
    return names.get(check.scalar_name(x.dtype), check.scalar_name(x.dtype))


def _repeat_heads(x: jax.Array, heads: int) -> jax.Array:
    check.require(heads % max(x.shape[-3], 1) == 0, "Number of heads in key and value must divide the number of heads "
                  "in query")
    return jnp.repeat(x, heads // x.shape[-3], axis=-3)


def _matmul(a: jax.Array, b: jax.Array, made: Any = None) -> jax.Array:
    """Return the products of matrices in the dtype ``made``."""
    if a.shape[-1] != b.shape[-2]:
        rows = math.prod(a.shape[-2:]), math.prod(b.shape[-2:])
        assert rows
        raise RuntimeError("Expected size for first two dimensions of batch2 tensor to be: "
                           f"[{math.prod(a.shape[:-2])}, {a.shape[-1]}] but got: [{math.prod(b.shape[:-2])}, "
                           f"{b.shape[-2]}].")
    batch = check.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    given = jnp.broadcast_to(a, batch + a.shape[-2:]), jnp.broadcast_to(b, batch + b.shape[-2:])
    along, each = len(batch), tuple(range(len(batch)))
    return lax.dot_general(*given, (((along + 1,), (along,)), (each, each)), preferred_element_type=made)


def _scores(query: jax.Array, key: jax.Array) -> jax.Array:
    """Return ``query @ key.T``, in float32 for 16-bit floats. Accelerators multiply 16-bit floats and add in float32."""
    if is_accelerated():
        return _matmul(query, jnp.swapaxes(key, -1, -2), promotion.opmath(np.dtype(query.dtype)))
    return _matmul(widen(query), widen(jnp.swapaxes(key, -1, -2)))


def _masked(scores: jax.Array, attn_mask: jax.Array | None, is_causal: bool) -> jax.Array:
    """Return ``scores`` with -inf at masked positions, or with a floating mask added."""
    if is_causal:
        attn_mask = jnp.tril(jnp.ones(scores.shape[-2:], bool))
    if attn_mask is None:
        return scores
    mask = jnp.broadcast_to(attn_mask, scores.shape)
    return jnp.where(mask, scores, -jnp.inf) if mask.dtype == jnp.bool_ else scores + mask.astype(scores.dtype)


@jax.custom_jvp
def safe_softmax(scores: jax.Array) -> jax.Array:
    """Return softmax along the last axis, with 0 instead of nan in rows that are fully masked or empty."""
    kind = jnp.finfo(scores.dtype)
    raised = jnp.exp(scores - jnp.max(scores, axis=-1, keepdims=True, initial=kind.min))
    return raised / jnp.maximum(jnp.sum(raised, axis=-1, keepdims=True), kind.tiny)     # the sum is 0 or at least exp(0) = 1


@safe_softmax.defjvp
def _tangent_of_softmax(primals: tuple, tangents: tuple) -> tuple[jax.Array, jax.Array]:
    out = safe_softmax(*primals)
    return out, from_result.of_softmax(*tangents, *primals, out, -1)


def _scale(query: jax.Array, given: float | None) -> float:
    if given is not None:
        return given
    return 1 / math.sqrt(query.shape[-1]) if query.shape[-1] else math.inf


def _weights(query: jax.Array, key: jax.Array, attn_mask: jax.Array | None, is_causal: bool, scale: float) -> jax.Array:
    scores = _scores(query, key) * scale
    return safe_softmax(_masked(scores, attn_mask, is_causal)).astype(query.dtype)


def _in_parts(template: tuple, asked: tuple, avals: tuple) -> tuple | None:
    """Split attention into two calls that share its weights, for few keys and float32 or float64: see ``Op.in_parts``."""
    mask, _, is_causal, scale, enable_gqa = template[3:]
    query, key, value = avals[:3]
    n = 4 if mask is T else 3
    if asked[0] != (0, 1, 2) or enable_gqa or query.np not in (F32, F64) or key.shape[-2] > FEW_KEYS * query.shape[-1] \
            or not query.shape[:-2] == key.shape[:-2] == value.shape[:-2]:
        return None
    return (("_attention_weights", (T, T, mask, is_causal, scale), (0, 1, 3) if mask is T else (0, 1)),
            ("_attention_gradients", (T, T, T, T, T, scale), (0, 1, 2, n, n + 1)))


@functional(backward_name="ScaledDotProductFlashAttentionForCpuBackward0", layout=ATTENDED, in_parts=_in_parts)
def scaled_dot_product_attention(query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None,
                                 dropout_p: float = 0.0, is_causal: bool = False, *, scale: float | None = None,
                                 enable_gqa: bool = False):
    """Return ``softmax(query @ key.T * scale + attn_mask) @ value``. See torch.nn.functional.scaled_dot_product_attention."""
    if dropout_p > 0:
        raise NotImplementedError("scaled_dot_product_attention draws its dropout mask outside this op")
    _check(query, key, value, attn_mask, is_causal)
    if enable_gqa:
        key, value = _repeat_heads(key, query.shape[-3]), _repeat_heads(value, query.shape[-3])
    factor = _scale(query, scale)

    def plain(q: jax.Array, k: jax.Array, v: jax.Array) -> jax.Array:
        return _matmul(_weights(q, k, attn_mask, is_causal, factor), v)
    if attn_mask is not None:
        return plain(query, key, value)
    return fused_attention.attention(plain, factor, is_causal, query, key, value)


@op(name="_attention_weights", function=False, method=False, out=False, tested=False)
def attention_weights(query: Tensor, key: Tensor, attn_mask: Tensor | None = None, is_causal: bool = False, *,
                      scale: float | None = None):
    """Return the attention weights of scaled_dot_product_attention."""
    return _weights(query, key, attn_mask, is_causal, _scale(query, scale))


@op(name="_attention_gradients", function=False, method=False, out=False, tested=False)
def attention_gradients(query: Tensor, key: Tensor, value: Tensor, gradient: Tensor, weights: Tensor, *,
                        scale: float | None = None):
    """Return the gradients of query, key and value from the known weights."""
    of_weights = _products(gradient, value, -1, -1)
    of_scores = from_result.of_softmax(of_weights, weights, weights, -1) * _scale(query, scale)
    return _products(of_scores, key, -1, -2), _products(of_scores, query, -2, -2), _products(weights, gradient, -2, -2)


def _products(a: jax.Array, b: jax.Array, i: int, j: int) -> jax.Array:
    """Return the products of matrices contracted along dims ``i`` and ``j``."""
    each = tuple(range(a.ndim - 2))
    return lax.dot_general(a, b, (((a.ndim + i,), (b.ndim + j,)), (each, each)))


@op(name="_attention_with_dropout_mask", function=False, method=False, out=False, tested=False)
def attention_with_dropout_mask(query: Tensor, key: Tensor, value: Tensor, kept: Tensor,
                                attn_mask: Tensor | None = None, dropout_p: float = 0.0, is_causal: bool = False, *,
                                scale: float | None = None, enable_gqa: bool = False):
    """Return attention with weights dropped where ``kept`` is False and scaled up elsewhere."""
    _check(query, key, value, attn_mask, is_causal)
    if enable_gqa:
        key, value = _repeat_heads(key, query.shape[-3]), _repeat_heads(value, query.shape[-3])
    weights = _weights(query, key, attn_mask, is_causal, _scale(query, scale))
    weights = jnp.where(kept, weights / (1 - dropout_p), 0) if dropout_p < 1 else jnp.zeros_like(weights)
    return _matmul(weights, value)
