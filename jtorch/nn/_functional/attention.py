"""torch.nn.functional.multi_head_attention_forward: its checks, and the call of its op."""
from __future__ import annotations

from typing import Any

import jtorch.dtype as dtypes
from jtorch._api import nn_functions
from jtorch._api.names import put
from jtorch._base import warned
from jtorch.dispatch import call
from jtorch.engine import call_of
from jtorch.nn._functional.dropout import _mask
from jtorch.ops.registry import OPS, T, freeze
from jtorch.tensor import Tensor


def _require(condition: Any, message: str, error: type[Exception] = AssertionError) -> None:
    if not condition:
        raise error(message)


def check_mask(mask: Any, name: str, other: Any = None, other_name: str = "") -> None:
    """Raise AssertionError unless a mask is bool or floating point; warn if two masks differ in dtype."""
    if mask is None:
        return
    _require(mask.dtype is dtypes.bool_ or mask.is_floating_point(), f"only bool and floating types of {name} are supported")
    if other is not None and mask.dtype is not other.dtype:
        warned.warn(f"Support for mismatched {name} and {other_name} is deprecated. Use same type for both instead.")


def check_dims(query: Any, key: Any, value: Any, padding: Any, attn: Any, num_heads: int) -> bool:
    """Return whether there is a batch dim; raise PyTorch's errors for numbers of dims that do not fit together."""
    n = query.dim()
    _require(n in (2, 3), f"query should be unbatched 2D or batched 3D tensor but received {n}-D query tensor")
    kind = f"For {'' if n == 3 else 'un'}batched ({n}-D) `query`, expected"
    _require(key.dim() == n and value.dim() == n, f"{kind} `key` and `value` to be {n}-D but found {key.dim()}-D and "
             f"{value.dim()}-D tensors respectively")
    _require(padding is None or padding.dim() == n - 1, f"{kind} `key_padding_mask` to be `None` or {n - 1}-D but found "
             f"{padding.dim() if padding is not None else 0}-D tensor instead")
    if attn is not None:
        _require(attn.dim() in (2, 3), f"{kind} `attn_mask` to be `None`, 2-D or 3-D but found {attn.dim()}-D tensor instead")
        shape = (num_heads, query.shape[0], key.shape[0])
        _require(n == 3 or attn.dim() == 2 or tuple(attn.shape) == shape, f"Expected `attn_mask` shape to be {shape} but got "
                 f"{attn.shape}")
    return n == 3


def _check_sizes(query: Any, key: Any, value: Any, embed_dim: int, num_heads: int, separate: bool) -> None:
    size = query.shape[-1]
    _require(size == embed_dim, f"was expecting embedding dimension of {embed_dim}, but got {size}")
    _require(size % num_heads == 0, f"embed_dim {size} not divisible by num_heads {num_heads}")
    if separate:
        _require(key.shape[:2] == value.shape[:2], f"key's sequence and batch dims {key.shape[:2]} do not match value's "
                 f"{value.shape[:2]}")
    else:
        _require(key.shape == value.shape, f"key shape {key.shape} does not match value shape {value.shape}")


def _check_mask_shapes(attn: Any, padding: Any, batch: int, heads: int, target: int, source: int) -> None:
    if attn is not None:
        shape = (target, source) if attn.dim() == 2 else (batch * heads, target, source)
        _require(tuple(attn.shape) == shape, f"The shape of the {attn.dim()}D attn_mask is {attn.shape}, but should be {shape}.",
                 RuntimeError)
    for k, size in enumerate((batch, source) if padding is not None else ()):
        _require(padding.shape[k] == size, f"Expected key_padded_mask.shape[{k}] to be {size}, but got {padding.shape[k]}")


def _check_separate(query: Any, key: Any, value: Any, weights: list) -> None:
    for name, x, w in zip("qkv", (query, key, value), weights, strict=True):
        _require(w is not None, f"use_separate_proj_weight is True but {name}_proj_weight is None")
        shape, long = (query.shape[-1], x.shape[-1]), {"q": "query", "k": "key", "v": "value"}[name]
        _require(tuple(w.shape) == shape, f"expecting {long} weights shape of {shape}, but got {w.shape}")


def _check_static(static: Any, name: str, rows: int, size: int) -> None:
    if static is not None:
        for k, n in ((0, rows), (2, size)):
            _require(static.size(k) == n, f"expecting {name}.size({k}) of {n}, but got {static.size(k)}")


def _check_biases(bias_k: Any, bias_v: Any, static_k: Any, static_v: Any) -> list:
    if bias_k is not None and bias_v is not None:
        _require(static_k is None, "bias cannot be added to static key.")
        _require(static_v is None, "bias cannot be added to static value.")
        return [bias_k, bias_v]
    _require(bias_k is None, "bias_k is set but bias_v is None")
    _require(bias_v is None, "bias_v is set but bias_k is None")
    return []


def multi_head_attention_forward(
        query: Tensor, key: Tensor, value: Tensor, embed_dim_to_check: int, num_heads: int, in_proj_weight: Tensor | None,
        in_proj_bias: Tensor | None, bias_k: Tensor | None, bias_v: Tensor | None, add_zero_attn: bool, dropout_p: float,
        out_proj_weight: Tensor, out_proj_bias: Tensor | None, training: bool = True, key_padding_mask: Tensor | None = None,
        need_weights: bool = True, attn_mask: Tensor | None = None, use_separate_proj_weight: bool = False,
        q_proj_weight: Tensor | None = None, k_proj_weight: Tensor | None = None, v_proj_weight: Tensor | None = None,
        static_k: Tensor | None = None, static_v: Tensor | None = None, average_attn_weights: bool = True,
        is_causal: bool = False) -> tuple[Tensor, Tensor | None]:
    """Compute multi-head attention: (output, weights or None). See torch.nn.MultiheadAttention."""
    if use_separate_proj_weight:
        weights = [q_proj_weight, k_proj_weight, v_proj_weight]
    else:
        weights = [in_proj_weight]
    return attend(query, key, value, embed_dim_to_check, num_heads, weights, in_proj_bias, bias_k, bias_v, add_zero_attn,
                  dropout_p if training else 0.0, out_proj_weight, out_proj_bias, key_padding_mask, need_weights, attn_mask,
                  static_k, static_v, average_attn_weights, is_causal)


def attend(query: Any, key: Any, value: Any, embed_dim: int, num_heads: int, weights: list, in_bias: Any, bias_k: Any,
           bias_v: Any, add_zero_attn: bool, dropout_p: float, out_weight: Any, out_bias: Any, padding: Any, need_weights: bool,
           attn: Any, static_k: Any = None, static_v: Any = None, average: bool = True, is_causal: bool = False,
           batch_first: bool = False, warned: bool = False) -> tuple[Tensor, Tensor | None]:
    """Implement ``multi_head_attention_forward``. ``weights`` are one packed tensor or three tensors."""
    batched = check_dims(query, key, value, padding, attn, num_heads)
    same = key is query and value is key, value is key
    if not batched:
        batch_first = False
        query, key, value = query.unsqueeze(1), key.unsqueeze(1), value.unsqueeze(1)
        padding = padding.unsqueeze(0) if padding is not None else None
    check_mask(padding, "key_padding_mask", None if warned else attn, "attn_mask")
    _require(not is_causal or attn is not None, "Need attn_mask if specifying the is_causal hint. You may use the Transformer "
             "module method `generate_square_subsequent_mask` to create this mask.", RuntimeError)
    if is_causal and padding is None and not need_weights:
        attn = None
    else:
        is_causal = False
        check_mask(attn, "attn_mask")
    _check_sizes(query, key, value, embed_dim, num_heads, len(weights) == 3)
    if len(weights) == 3:
        _check_separate(query, key, value, weights)
    else:
        _require(weights[0] is not None, "use_separate_proj_weight is False but in_proj_weight is None")
    time, batch_dim = (1, 0) if batch_first else (0, 1)
    batch, target, source = query.shape[batch_dim], query.shape[time], key.shape[time]
    biases = _check_biases(bias_k, bias_v, static_k, static_v)
    _check_static(static_k, "static_k", batch * num_heads, embed_dim // num_heads)
    _check_static(static_v, "static_v", batch * num_heads, embed_dim // num_heads)
    source = static_k.shape[1] if static_k is not None else source
    _check_mask_shapes(attn, padding, batch, num_heads, target, source)
    kept = None
    if dropout_p > 0:
        kept = _mask(query, (batch, num_heads, target, source + bool(biases) + bool(add_zero_attn)), dropout_p)
    given = [query, None if same[0] else key, None if same[1] else value, weights, in_bias, biases, static_k, static_v,
             out_weight, out_bias, attn, padding, kept]
    statics = (num_heads, bool(add_zero_attn), freeze(float(dropout_p)), bool(is_causal), bool(need_weights),
               bool(need_weights and average), batch_first)
    made = _call(given, statics)
    out, w = made if need_weights else (made, None)
    if batch_first:     # A view, as in PyTorch: functions like dropout draw numbers in the order of the result's memory.
        out = out.transpose(0, 1)
    if batched:
        return out, w
    return out.squeeze(1), None if w is None else w.squeeze(0)


def _call(given: list, statics: tuple) -> Any:
    """Call the op with tensors, lists of tensors and None."""
    marks = tuple([(T,) * len(x) if isinstance(x, list) else None if x is None else T for x in given])
    flat = [t for x in given for t in (x if isinstance(x, list) else () if x is None else (x,))]
    return call(call_of(OPS["_multi_head_attention"], (*marks, *statics)), flat)


def bind() -> None:
    """Bind the function in torch.nn.functional."""
    put(nn_functions, {"multi_head_attention_forward": multi_head_attention_forward})
