"""Multi-head attention as one op. See torch.nn.functional.multi_head_attention_forward."""
from __future__ import annotations

import functools
import math
import operator
from collections.abc import Sequence

import jax
import jax.numpy as jnp

from jtorch.ops import arrival, check, promotion
from jtorch.ops.elementwise import widen
from jtorch.ops.nn import fused_attention
from jtorch.ops.nn.attention import safe_softmax
from jtorch.ops.registry import Tensor, op


def _project(x: jax.Array, weight: jax.Array, bias: jax.Array | None) -> jax.Array:
    check.require(x.shape[-1] == weight.shape[-1], f"mat1 and mat2 shapes cannot be multiplied "
                  f"({math.prod(x.shape[:-1])}x{x.shape[-1]} and {weight.shape[1]}x{weight.shape[0]})")
    check.require(x.dtype == weight.dtype, "mat1 and mat2 must have the same dtype, but got "
                  f"{check.scalar_name(x.dtype)} and {check.scalar_name(weight.dtype)}")
    out = jnp.matmul(x, weight.T)
    return out if bias is None else out + jnp.broadcast_to(bias, out.shape)


def _projections(query, key, value, weights: list, bias) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Return queries, keys and values. Packed weights of one tensor are applied in one product."""
    biases = [None] * 3 if bias is None else jnp.split(bias, 3)
    if len(weights) == 3:
        key = query if key is None else key
        value = key if value is None else value
        q, k, v = (_project(x, w, b) for x, w, b in zip((query, key, value), weights, biases, strict=True))
        return q, k, v
    w, size = weights[0], query.shape[-1]
    if key is None:
        q, k, v = jnp.split(_project(query, w, bias), 3, axis=-1)
        return q, k, v
    q = _project(query, w[:size], biases[0])
    if value is None:
        k, v = jnp.split(_project(key, w[size:], None if bias is None else bias[size:]), 2, axis=-1)
        return q, k, v
    return q, _project(key, w[size:2 * size], biases[1]), _project(value, w[2 * size:], biases[2])


def _additive(mask: jax.Array, dtype) -> jax.Array:
    """Return a mask to add to the scores: -inf where a bool mask is True."""
    return jnp.where(mask, jnp.array(-jnp.inf, dtype), jnp.array(0, dtype)) if mask.dtype == jnp.bool_ else mask


def _heads(x: jax.Array, num_heads: int) -> jax.Array:
    """Convert (time, batch, features) to (batch, heads, time, features of a head)."""
    time, batch, size = x.shape
    return jnp.transpose(x.reshape(time, batch, num_heads, size // num_heads), (1, 2, 0, 3))


def _extended(x: jax.Array, extra: list[jax.Array]) -> jax.Array:
    """Append learned rows and zeros to keys or values (batch, heads, time, size)."""
    rows = [jnp.broadcast_to(e, (*x.shape[:2], 1, x.shape[3])) for e in extra]
    return jnp.concatenate([x, *rows], axis=2) if rows else x


def _merged(attn: jax.Array | None, padding: jax.Array | None, batch: int, num_heads: int, dtype) -> jax.Array | None:
    """Return both masks combined, broadcastable to the scores (batch, heads, target, source)."""
    given = []
    if attn is not None:
        attn = _additive(attn, dtype)
        given.append(attn[None, None] if attn.ndim == 2 else attn.reshape(batch, num_heads, *attn.shape[1:]))
    if padding is not None:
        given.append(_additive(padding, dtype)[:, None, None, :])
    if not given:
        return None
    shape = check.broadcast_shapes(*[m.shape for m in given])
    return functools.reduce(operator.add, [jnp.broadcast_to(m, shape) for m in given])


def _causal(target: int, source: int, dtype) -> jax.Array:
    return _additive(~jnp.tril(jnp.ones((target, source), bool)), dtype)[None, None]


def _attention_weights(q: jax.Array, k: jax.Array, mask: jax.Array | None, *, safe: bool) -> jax.Array:
    scores = widen(jnp.matmul(q * (1 / math.sqrt(q.shape[-1])), jnp.swapaxes(k, 2, 3)))
    if mask is not None:
        scores = scores + jnp.broadcast_to(mask.astype(scores.dtype), scores.shape)
    return (safe_softmax(scores) if safe else jax.nn.softmax(scores, axis=-1)).astype(q.dtype)


def _unmasked(q: jax.Array, k: jax.Array, v: jax.Array, is_causal: bool) -> jax.Array:
    """Return attention without a mask or with a causal mask."""
    def plain(q: jax.Array, k: jax.Array, v: jax.Array) -> jax.Array:
        mask = _causal(q.shape[2], k.shape[2], q.dtype) if is_causal else None
        return jnp.matmul(_attention_weights(q, k, mask, safe=True), v)
    return fused_attention.attention(plain, 1 / math.sqrt(q.shape[-1]), is_causal, q, k, v)


def _flatten_heads(x: jax.Array) -> jax.Array:
    batch, heads, time, size = x.shape
    return jnp.transpose(x, (2, 0, 1, 3)).reshape(time, batch, heads * size)


def _arrival(template: tuple, avals: Sequence, edges: Sequence) -> arrival.Turns:
    """Return the order of gradients, that of PyTorch's products: the last projection first, its bias before its weight."""
    numbers = arrival.numbers_of(template)
    weights, in_bias, biases_kv, out_weight = numbers[3], numbers[4], numbers[5], numbers[8]
    first = [*in_bias, *weights] if len(weights) == 1 else [*weights[::-1], *in_bias]
    return arrival.in_order([*out_weight, *biases_kv[::-1], *first])


@op(name="_multi_head_attention", function=False, method=False, out=False, tested=False,
    backward_name="MultiHeadAttentionBackward0", arrival=_arrival)
def multi_head_attention(query: Tensor, key: Tensor | None, value: Tensor | None, weights: list[Tensor],
                         in_bias: Tensor | None, biases_kv: list[Tensor], static_k: Tensor | None, static_v: Tensor | None,
                         out_weight: Tensor, out_bias: Tensor | None, attn_mask: Tensor | None, padding_mask: Tensor | None,
                         kept: Tensor | None, num_heads: int, add_zero_attn: bool, dropout_p: float, is_causal: bool,
                         need_weights: bool, average: bool, batch_first: bool):
    """Return multi-head attention with its projections: the output, and the weights if ``need_weights``.

    ``query`` is (time, batch, features) or, with ``batch_first``, (batch, time, features); the output is
    (time, batch, features) in any case. A ``value`` of None means the key, a ``key`` of None the query.
    ``weights`` are the projections of queries, keys and values, in one tensor or three.
    """
    q, k, v = _projections(query, key, value, weights, in_bias)
    if batch_first:
        q, k, v = (jnp.swapaxes(x, 0, 1) for x in (q, k, v))
    batch, size = q.shape[1], q.shape[2] // num_heads
    q, k, v = _heads(q, num_heads), _heads(k, num_heads), _heads(v, num_heads)
    if static_k is not None:
        k = static_k.reshape(batch, num_heads, *static_k.shape[1:])
    if static_v is not None:
        v = static_v.reshape(batch, num_heads, *static_v.shape[1:])
    mask = _merged(attn_mask, padding_mask, batch, num_heads, q.dtype)
    zeros = [jnp.zeros((1, 1, 1, size), q.dtype)] * add_zero_attn
    learned = [[_heads(b.reshape(1, 1, -1), num_heads)] for b in biases_kv] or [[], []]
    k, v = _extended(k, learned[0] + zeros), _extended(v, learned[1] + zeros)
    if mask is None and kept is None and not need_weights:
        return _project(_flatten_heads(_unmasked(q, k, v, is_causal)), out_weight, out_bias)
    if is_causal:
        mask = _causal(q.shape[2], k.shape[2], q.dtype)
    elif mask is not None:
        mask = jnp.pad(mask, ((0, 0),) * 3 + ((0, len(learned[0]) + len(zeros)),))
    w = _attention_weights(q, k, mask, safe=not need_weights)
    if kept is not None:
        w = w * (promotion.cast(kept.reshape(w.shape), w.dtype) * (1 / (1 - dropout_p) if dropout_p < 1 else 0.0))
    out = _project(_flatten_heads(jnp.matmul(w, v)), out_weight, out_bias)
    return (out, jnp.mean(w, axis=1) if average else w) if need_weights else out
