"""torch.nn.attention.varlen: attention within sequences that are concatenated in one tensor.

PyTorch has this attention on GPUs only, by FlashAttention. jtorch computes attention with a mask, which takes memory
for T_q times T_k elements.
"""
from __future__ import annotations

import math
from typing import Any, NamedTuple

from jtorch._api import functions, nn_functions
from jtorch.tensor import Tensor

__all__ = ["AuxRequest", "varlen_attn"]


class AuxRequest(NamedTuple):
    """The auxiliary results that ``varlen_attn`` returns. See torch.nn.attention.varlen.AuxRequest."""

    lse: bool = False


def varlen_attn(query: Tensor, key: Tensor, value: Tensor, cu_seq_q: Tensor, cu_seq_k: Tensor | None, max_q: int, max_k: int, *,
                return_aux: AuxRequest | None = None, scale: float | None = None, window_size: tuple[int, int] = (-1, -1),
                enable_gqa: bool = False, seqused_k: Tensor | None = None, block_table: Tensor | None = None,
                num_splits: int | None = None) -> Any:
    """Compute attention within sequences of different lengths. See torch.nn.attention.varlen.varlen_attn.

    Shapes: ``query`` (T_q, H_q, D), ``key`` and ``value`` (T_k, H_kv, D); ``cu_seq_q`` and ``cu_seq_k`` (N + 1,), where
    sequences begin and the last ends. ``window_size`` says how many keys to the left and right of its own position, counted
    from the sequences' ends, a query sees; -1 is all, so (-1, 0) is causal. A query without keys gives zeros.
    Raises ValueError for numbers of heads that do not go together, NotImplementedError for ``block_table`` and ``seqused_k``.
    """
    if block_table is not None or seqused_k is not None or cu_seq_k is None:
        raise NotImplementedError("varlen_attn with block_table or seqused_k is not built; give the keys that are used, with "
                                  "cu_seq_k")
    key, value = _with_heads(query, key, enable_gqa), _with_heads(query, value, enable_gqa)
    allowed = _allowed(query.size(0), key.size(0), cu_seq_q, cu_seq_k, window_size)
    scores = functions.einsum("qhd,khd->hqk", query, key) * (1 / math.sqrt(query.size(-1)) if scale is None else scale)
    scores = scores.float().masked_fill(~allowed, -math.inf)
    weights = nn_functions.softmax(scores, -1).masked_fill(~allowed.any(-1, keepdim=True), 0.0)
    out = functions.einsum("hqk,khd->qhd", weights.to(value.dtype), value)
    return (out, scores.logsumexp(-1).mT) if return_aux is not None and return_aux.lse else out


def _with_heads(query: Tensor, t: Tensor, enable_gqa: bool) -> Tensor:
    """Repeat the heads of keys or values to match the query's heads."""
    wanted, found = query.size(1), t.size(1)
    if not enable_gqa and wanted != found:
        raise ValueError(f"Expect query and key/value to have the same number of heads but got Hq={wanted} and Hkv={found}. "
                         "Try setting enable_gqa=True for GQA.")
    if wanted % found:
        raise ValueError("Expect number of query heads to be a multiple of kv heads for GQA but got "
                         f"Hq={wanted} and Hkv={found}.")
    return t if wanted == found else t.repeat_interleave(wanted // found, 1)


def _allowed(queries: int, keys: int, cu_seq_q: Tensor, cu_seq_k: Tensor, window: tuple[int, int]) -> Tensor:
    """Return which keys each query attends to: keys of its sequence within the window."""
    (of_q, from_end_q), (of_k, from_end_k) = _places(queries, cu_seq_q), _places(keys, cu_seq_k)
    seen = of_q[:, None] == of_k[None]
    ahead = from_end_q[:, None] - from_end_k[None]      # the distance from a query to a key on its right
    for limit, distance in ((window[0], -ahead), (window[1], ahead)):
        if limit >= 0:
            seen = seen & (distance <= limit)
    return seen


def _places(count: int, cu_seq: Tensor) -> tuple[Tensor, Tensor]:
    """Return each token's sequence, and its distance from the sequence's end."""
    at, ends = functions.arange(count, device=cu_seq.device), cu_seq[1:].long()
    of = functions.bucketize(at, ends, right=True)
    return of, ends[of.clamp(max=ends.numel() - 1)] - at
