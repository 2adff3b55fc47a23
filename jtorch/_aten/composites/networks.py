"""Composite rules of dropout, attention and recurrent networks."""
from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from jtorch._api import functions as torch
from jtorch._api import nn_functions as F
from jtorch._aten.asking import has_taker, takes_over
from jtorch._aten.composites.losses import multiplied
from jtorch._aten.composites.rules import composite
from jtorch._aten.history import operated
from jtorch._aten.stack import state
from jtorch.dispatch import call
from jtorch.engine import call_of
from jtorch.ops.registry import OPS, T, freeze

# ---------------------------------------------------------------- dropout


def dropout(x: Any, p: float, inplace: bool, shape: tuple | None) -> Any:
    """Return dropout of ``x`` by operators, or None if nothing takes them over."""
    if not takes_over([x]):
        return None
    if p == 1:
        return x.mul_(torch.zeros((), dtype=x.dtype)) if inplace else x * torch.zeros((), dtype=x.dtype)
    noise = torch.empty_like(x) if shape is None else x.new_empty(shape)
    noise = noise.bernoulli_(1 - p).div_(1 - p)
    return x.mul_(noise) if inplace else x * noise


# ---------------------------------------------------------------- attention

@composite("_attention_with_dropout_mask")
def _dropped_attention(query: Any, key: Any, value: Any, kept: Any, attn_mask: Any = None, dropout_p: float = 0.0,
                       is_causal: bool = False, scale: Any = None, enable_gqa: bool = False) -> Any:
    if enable_gqa:
        key, value = (x.repeat_interleave(query.shape[-3] // x.shape[-3], -3) for x in (key, value))
    weights = _attention_weights(query, key, attn_mask, is_causal, scale)
    return torch.matmul(weights * kept.to(query.dtype).div_(1 - dropout_p), value)


def _attention_weights(query: Any, key: Any, mask: Any, is_causal: bool, scale: Any) -> Any:
    factor = math.sqrt(query.shape[-1] ** -0.5 if scale is None else scale)
    query = multiplied(query, factor)
    scores = torch.matmul(query, multiplied(key.transpose(-2, -1), factor))
    if is_causal:
        mask = torch.ones(tuple(scores.shape[-2:]), device=query.device).tril() > 0
    if mask is not None:
        scores = scores + (mask if mask.dtype.is_floating_point else _additive(mask, query))
    return safe_softmax(scores)


def safe_softmax(x: Any) -> Any:
    """Return softmax over the last dim, with 0 for rows that are all -inf."""
    return operated("_safe_softmax", {"self": x, "dim": -1}, call_of(OPS["softmax"], (T, -1, None)), (x,))


@composite("nn.functional.scaled_dot_product_attention")
def _attention(query: Any, key: Any, value: Any, attn_mask: Any = None, dropout_p: float = 0.0, is_causal: bool = False,
               scale: Any = None, enable_gqa: bool = False) -> Any:
    same = query.shape[-1] == key.shape[-1] == value.shape[-1] and query.shape[:1] == key.shape[:1] == value.shape[:1]
    heads = key.dim() == value.dim() == 4 and (enable_gqa or query.shape[1] == key.shape[1] == value.shape[1])
    if query.dim() == 4 and heads and same and not (attn_mask is not None and attn_mask.requires_grad):
        return NotImplemented       # PyTorch has one operator for this case
    if enable_gqa:
        key, value = (x.repeat_interleave(query.shape[-3] // x.shape[-3], -3) for x in (key, value))
    return torch.matmul(_attention_weights(query, key, attn_mask, is_causal, scale), value)


def _additive(mask: Any, like: Any) -> Any:
    """Convert a bool mask (True: visible) to a mask that is added to the scores."""
    return torch.zeros_like(mask, dtype=like.dtype).masked_fill_(mask.logical_not(), -math.inf)


def _hidden(mask: Any, like: Any) -> Any:
    """Convert a bool mask (True: hidden) to a mask that is added to the scores."""
    return mask if mask.dtype.is_floating_point else torch.zeros_like(mask, dtype=like.dtype).masked_fill_(mask, -math.inf)


def _projected(query: Any, key: Any, value: Any, weights: Sequence, bias: Any) -> tuple[Any, Any, Any]:
    if len(weights) == 3:
        biases = [None] * 3 if bias is None else bias.chunk(3)
        q, k, v = (F.linear(x, w, b) for x, w, b in zip((query, key, value), weights, biases, strict=True))
        return q, k, v
    size = query.shape[-1]
    if key is value and query is key:
        return _unpacked(F.linear(query, weights[0], bias), 3, size)     # type: ignore[return-value]
    if key is value:
        w = weights[0].split([size, 2 * size])
        b = [None, None] if bias is None else bias.split([size, 2 * size])
        k, v = _unpacked(F.linear(key, w[1], b[1]), 2, size)
        return F.linear(query, w[0], b[0]), k, v
    biases = [None] * 3 if bias is None else bias.chunk(3)
    q, k, v = (F.linear(x, w, b) for x, w, b in zip((query, key, value), weights[0].chunk(3), biases, strict=True))
    return q, k, v


def _unpacked(packed: Any, n: int, size: int) -> tuple:
    parts = packed.unflatten(-1, (n, size)).unsqueeze(0).transpose(0, -2).squeeze(-2).contiguous()
    return tuple([parts[i] for i in range(n)])


@composite("_multi_head_attention")
def _multi_head_attention(query: Any, key: Any, value: Any, weights: Any, in_bias: Any, biases_kv: Any, static_k: Any,
                          static_v: Any, out_weight: Any, out_bias: Any, attn_mask: Any, padding_mask: Any, kept: Any,
                          num_heads: int, add_zero_attn: bool, dropout_p: float, is_causal: bool, need_weights: bool,
                          average: bool, batch_first: bool) -> Any:
    key = query if key is None else key
    value = key if value is None else value
    if batch_first:
        query, key, value = _batch_second(query, key, value)
    time, batch, size = query.shape
    head = size // num_heads
    q, k, v = _projected(query, key, value, weights, in_bias)
    if biases_kv:
        k, v = (torch.cat([x, b.repeat(1, batch, 1)]) for x, b in zip((k, v), biases_kv, strict=True))
    q, k, v = (x.view(x.shape[0], batch * num_heads, head).transpose(0, 1) if s is None else s
               for x, s in zip((q, k, v), (None, static_k, static_v), strict=True))
    if add_zero_attn:
        k, v = (torch.cat([x, torch.zeros((batch * num_heads, 1, head), dtype=x.dtype, device=x.device)], 1) for x in (k, v))
    mask = _merged(attn_mask, padding_mask, batch, num_heads, k.shape[1], q)
    attend = _with_weights if need_weights or (kept is not None and state.tracer is None) else _without_weights
    out, w = attend(q, k, v, mask, kept, dropout_p, is_causal, batch, num_heads)
    out = F.linear(out, out_weight, out_bias).view((time, batch, out_weight.shape[0]))
    if not need_weights:
        return out
    w = w.view((batch, num_heads, time, k.shape[1]))
    return [out, w.mean(1) if average else w]


def _batch_second(query: Any, key: Any, value: Any) -> tuple:
    """Transpose batch-first inputs to (time, batch, features). Identical inputs stay identical."""
    moved: dict[int, Any] = {}
    for x in (query, key, value):
        if id(x) not in moved:
            moved[id(x)] = x.transpose(1, 0)
    return tuple([moved[id(x)] for x in (query, key, value)])


def _merged(attn: Any, padding: Any, batch: int, heads: int, source: int, like: Any) -> Any:
    """Return both masks combined, to be added to scores of shape (batch * heads, target, source)."""
    if attn is not None:
        attn = _hidden(attn, like)
        attn = attn.unsqueeze(0) if attn.dim() == 2 else attn
        attn = F.pad(attn, (0, source - attn.shape[-1])) if attn.shape[-1] != source else attn
    if padding is None:
        return attn
    padding = _hidden(padding, like)
    padding = F.pad(padding, (0, source - padding.shape[-1])) if padding.shape[-1] != source else padding
    padding = padding.view(batch, 1, 1, source).expand(-1, heads, -1, -1).reshape(batch * heads, 1, source)
    return padding if attn is None else attn + padding


def _with_weights(q: Any, k: Any, v: Any, mask: Any, kept: Any, dropout_p: float, is_causal: bool, batch: int,
                  heads: int) -> tuple[Any, Any]:
    scaled = q * math.sqrt(1.0 / q.shape[-1])
    turned = k.transpose(-2, -1)
    w = torch.softmax(torch.bmm(scaled, turned) if mask is None else torch.baddbmm(mask, scaled, turned), -1)
    if kept is not None:
        w = w * kept.view(w.shape).to(w.dtype).div_(1 - dropout_p)
    time, size = q.shape[1], q.shape[2] * heads
    return torch.bmm(w, v).transpose(0, 1).reshape(time * batch, size), w


def _without_weights(q: Any, k: Any, v: Any, mask: Any, kept: Any, dropout_p: float, is_causal: bool, batch: int,
                     heads: int) -> tuple[Any, Any]:
    time, head = q.shape[1:]
    if mask is not None:
        mask = mask.unsqueeze(0) if mask.shape[0] == 1 else mask.view(batch, heads, -1, k.shape[1])
    q, k, v = (x.view(batch, heads, x.shape[1], head) for x in (q, k, v))
    made: Any = (F.scaled_dot_product_attention(q, k, v, mask, 0.0, is_causal) if kept is None
                 else _with_kept(q, k, v, mask, kept, dropout_p, is_causal))
    return made.permute(2, 0, 1, 3).reshape(batch * time, heads * head), None


def _with_kept(q: Any, k: Any, v: Any, mask: Any, kept: Any, dropout_p: float, is_causal: bool) -> Any:
    """Return attention with dropout by one operator. ``kept``: the dropout mask, already drawn."""
    marks = (T, T, T, T, None if mask is None else T, freeze(dropout_p), is_causal, freeze(None), False)
    return call(call_of(OPS["_attention_with_dropout_mask"], marks), [q, k, v, kept.bool(), *([] if mask is None else [mask])])


# ---------------------------------------------------------------- recurrent networks

@composite("lstm_cell")
def _lstm_cell(input: Any, hx: Any, w_ih: Any, w_hh: Any, b_ih: Any = None, b_hh: Any = None) -> Any:
    from_state = F.linear(hx[0], w_hh, b_hh)
    return list(_lstm_step(from_state, F.linear(input, w_ih, b_ih), tuple(hx)))


def _lstm_step(from_state: Any, from_input: Any, state: tuple) -> tuple:
    i, f, g, o = (from_state + from_input).chunk(4, 1)
    c = f.sigmoid() * state[1] + i.sigmoid() * g.tanh()
    return o.sigmoid() * c.tanh(), c


@composite("gru_cell")
def _gru_cell(input: Any, hx: Any, w_ih: Any, w_hh: Any, b_ih: Any = None, b_hh: Any = None) -> Any:
    from_input = F.linear(input, w_ih, b_ih)
    return _gru_step(F.linear(hx, w_hh, b_hh), from_input, (hx,))[0]


def _gru_step(from_state: Any, from_input: Any, state: tuple) -> tuple:
    xs, hs = from_input.chunk(3, 1), from_state.chunk(3, 1)
    reset, update = ((h + x).sigmoid() for h, x in zip(hs[:2], xs[:2], strict=True))
    new = (xs[2] + hs[2] * reset).tanh()
    return ((state[0] - new) * update + new,)


def _simple_step(activate: Callable) -> Callable:
    return lambda from_state, from_input, state: (activate(from_state + from_input),)


_STEPS: dict[str, Callable] = {"lstm": _lstm_step, "gru": _gru_step, "rnn_tanh": _simple_step(torch.tanh),
                               "rnn_relu": _simple_step(torch.relu)}


def _simple_cell(step: Callable) -> Callable:
    def cell(input: Any, hx: Any, w_ih: Any, w_hh: Any, b_ih: Any = None, b_hh: Any = None) -> Any:
        from_state = F.linear(hx, w_hh, b_hh)
        return step(from_state, F.linear(input, w_ih, b_ih), (hx,))[0]
    return cell


for _name in ("rnn_tanh", "rnn_relu"):
    composite(f"{_name}_cell")(_simple_cell(_STEPS[_name]))


def recurrent(mode: str, input: Any, hx: Sequence, params: Sequence, has_biases: bool, num_layers: int, dropout: float,
              bidirectional: bool, batch_first: bool) -> list | None:
    """Run a recurrent network step by step, by operators. Return [output, last states], or None if nothing takes it over.

    An LSTM runs step by step only for tensors of classes with ``__torch_dispatch__``. A mode sees no steps in PyTorch either:
    on the CPU an LSTM is one operator of oneDNN.
    """
    given = [input, *hx, *params]
    if not takes_over(given) or (mode == "lstm" and not has_taker(given)):
        return None
    if mode == "lstm" and len(params) % (2 + 2 * has_biases):
        return None         # the rule has no step for an LSTM with projections
    return _by_steps(mode, input, hx, params, has_biases, num_layers, dropout, bidirectional, batch_first)


@composite("_recurrent_solved")
def _recurrent_solved(input: Any, hx: Any, params: Any, masks: Any, valid: Any, leaves: Any, mode: str, has_biases: bool,
                      num_layers: int, bidirectional: bool, batch_first: bool, dropout: float) -> Any:
    if mode == "lstm" or masks or valid is not None:
        return NotImplemented
    out, *last = _by_steps(mode, input, hx, params, has_biases, num_layers, 0.0, bidirectional, batch_first)
    return [out.transpose(0, 1) if batch_first else out, *last]


def _by_steps(mode: str, input: Any, hx: Sequence, params: Sequence, has_biases: bool, num_layers: int, dropout: float,
              bidirectional: bool, batch_first: bool) -> list:
    x = input.transpose(0, 1) if batch_first else input
    directions, each = 1 + bidirectional, 2 + 2 * has_biases
    states = [h.unbind(0) for h in hx]
    last: list[tuple] = []
    for layer in range(num_layers):
        outs = []
        for d in range(directions):
            n = layer * directions + d
            w = [*params[n * each:(n + 1) * each], *[None] * (4 - each)]
            out, state = _layer(_STEPS[mode], x, tuple([s[n] for s in states]), w, bool(d))
            outs.append(out)
            last.append(state)
        x = outs[0] if directions == 1 else torch.cat(outs, -1)
        if dropout and layer < num_layers - 1:
            x = F.dropout(x, dropout, True)
    out = x.transpose(0, 1) if batch_first else x
    return [out, *[torch.stack(list(s)) for s in zip(*last, strict=True)]]


def _layer(step: Callable, x: Any, state: tuple, w: Sequence, backwards: bool) -> tuple[Any, tuple]:
    rows: Any = F.linear(x, w[0], w[2])
    rows = rows.unbind(0)
    made = []
    for from_input in rows[::-1] if backwards else rows:
        state = step(F.linear(state[0], w[1], w[3]), from_input, state)
        made.append(state[0])
    return torch.stack(made[::-1] if backwards else made), state
