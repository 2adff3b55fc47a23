"""Multi-head attention."""
from __future__ import annotations

from typing import Any

from jtorch._base import late_bindings
from jtorch.backends import mha
from jtorch.nn import init
from jtorch.nn._functional.attention import attend, check_mask
from jtorch.nn.modules._make import parameter
from jtorch.nn.modules.linear import NonDynamicallyQuantizableLinear
from jtorch.nn.modules.module import Module
from jtorch.no_grad import mode
from jtorch.tensor import Tensor

__all__ = ["MultiheadAttention"]


class MultiheadAttention(Module):
    """Multi-head attention with its projections. See torch.nn.MultiheadAttention.

    The inputs are queries (target, batch, embed_dim), keys (source, batch, kdim) and values (source, batch, vdim), or
    all three without the batch. With ``batch_first`` the batch comes first. A bool mask excludes positions that are
    True; a floating mask is added to the scores. ``key_padding_mask`` is (batch, source), and ``attn_mask`` is (target,
    source) or (batch * num_heads, target, source).

    The result is the output and, with ``need_weights``, the attention weights, else None. The weights are averaged over
    the heads unless ``average_attn_weights`` is False. Source: Vaswani et al., Attention Is All You Need.

    Shape: query (L, N, embed_dim), key (S, N, kdim), value (S, N, vdim), the first two dims exchanged with
    ``batch_first``, without N for one sample; the result has the query's shape, weights are (N, L, S).

    Args:
        embed_dim (int): the number of features of queries and results.
        num_heads (int): the number of heads, a divisor of ``embed_dim``.
        dropout (float): the probability that an attention weight is dropped in training.
        bias (bool): whether to add a learned bias.
        add_bias_kv (bool): whether to append a learned key and value.
        add_zero_attn (bool): whether to append a key and a value of zeros.
        kdim (int or None): the number of features of keys, ``embed_dim`` by default.
        vdim (int or None): the number of features of values, ``embed_dim`` by default.
        batch_first (bool): whether the batch dim comes first, (N, L, ...), instead of second.
        device (device or None): the device of parameters and buffers.
        dtype (dtype or None): their dtype, floating or complex.

    Example::

        >>> attention, x = torch.nn.MultiheadAttention(8, 2, batch_first=True), torch.zeros(3, 5, 8)
        >>> out, weights = attention(x, x, x)
        >>> out.shape, weights.shape
        (torch.Size([3, 5, 8]), torch.Size([3, 5, 5]))

    """

    __constants__ = ["batch_first"]

    def __init__(self, embed_dim: int, num_heads: int, dropout: float = 0.0, bias: bool = True, add_bias_kv: bool = False,
                 add_zero_attn: bool = False, kdim: int | None = None, vdim: int | None = None, batch_first: bool = False,
                 device: Any = None, dtype: Any = None):
        if embed_dim <= 0 or num_heads <= 0:
            raise ValueError(f"embed_dim and num_heads must be greater than 0, got embed_dim={embed_dim} and "
                             f"num_heads={num_heads} instead")
        super().__init__()
        self.embed_dim, self.num_heads, self.dropout, self.batch_first = embed_dim, num_heads, dropout, batch_first
        self.kdim, self.vdim = embed_dim if kdim is None else kdim, embed_dim if vdim is None else vdim
        self._qkv_same_embed_dim = self.kdim == embed_dim and self.vdim == embed_dim
        self.head_dim = embed_dim // num_heads
        if self.head_dim * num_heads != embed_dim:
            raise AssertionError("embed_dim must be divisible by num_heads")
        self._make_parameters(bias, add_bias_kv, {"device": device, "dtype": dtype})
        self.add_zero_attn = add_zero_attn
        self._reset_parameters()

    def _make_parameters(self, bias: bool, add_bias_kv: bool, place: dict[str, Any]) -> None:
        size = self.embed_dim
        columns = {"q_proj_weight": size, "k_proj_weight": self.kdim, "v_proj_weight": self.vdim}
        made = {name: None if self._qkv_same_embed_dim else parameter(size, n, **place) for name, n in columns.items()}
        packed = {"in_proj_weight": parameter(3 * size, size, **place) if self._qkv_same_embed_dim else None}
        both = {**packed, **made} if self._qkv_same_embed_dim else {**made, **packed}      # PyTorch's order of parameters
        for name, weight in both.items():
            self.register_parameter(name, weight)
        self.register_parameter("in_proj_bias", parameter(3 * size, **place) if bias else None)
        self.out_proj = NonDynamicallyQuantizableLinear(size, size, bias=bias, **place)
        if add_bias_kv:
            self.bias_k: Any = parameter(1, 1, size, **place)
            self.bias_v: Any = parameter(1, 1, size, **place)
        else:
            self.bias_k = self.bias_v = None

    def _reset_parameters(self) -> None:
        for weight in (self.in_proj_weight, self.q_proj_weight, self.k_proj_weight, self.v_proj_weight):
            if weight is not None:
                init.xavier_uniform_(weight)
        if self.in_proj_bias is not None:
            init.constant_(self.in_proj_bias, 0.0)
            init.constant_(self.out_proj.bias, 0.0)
        for bias in (self.bias_k, self.bias_v):
            if bias is not None:
                init.xavier_normal_(bias)

    def __setstate__(self, state: dict) -> None:
        super().__setstate__({"_qkv_same_embed_dim": True, **state})

    def forward(self, query, key, value, key_padding_mask=None, need_weights=True, attn_mask=None, average_attn_weights=True,
                is_causal=False):
        """Return the output and the attention weights (None unless ``need_weights``)."""
        check_mask(key_padding_mask, "key_padding_mask", attn_mask, "attn_mask")
        check_mask(attn_mask, "attn_mask")
        if self._qkv_same_embed_dim:
            weights = [self.in_proj_weight]
        else:
            weights = [self.q_proj_weight, self.k_proj_weight, self.v_proj_weight]
        out, w = attend(query, key, value, self.embed_dim, self.num_heads, weights, self.in_proj_bias, self.bias_k, self.bias_v,
                        self.add_zero_attn, self.dropout if self.training else 0.0, self.out_proj.weight, self.out_proj.bias,
                        key_padding_mask, need_weights, attn_mask, average=average_attn_weights, is_causal=is_causal,
                        batch_first=self.batch_first, warned=True)
        fast = query is key is value and self._takes_fast_path(query, attn_mask, key_padding_mask)
        return (out.contiguous() if fast else out), w

    def _takes_fast_path(self, x: Any, attn_mask: Any, padding: Any) -> bool:
        """Return whether PyTorch runs its fused self-attention kernel, whose output is contiguous."""
        plain = self.batch_first and not self.training and x.dim() == 3 and self.num_heads % 2 == 0 and self.bias_k is None \
            and not self.add_zero_attn and self.in_proj_weight is not None and self.in_proj_bias is not None
        if not plain or not mha.get_fastpath_enabled() or late_bindings.autocast is not None:
            return False
        if any([m is not None and m.is_floating_point() for m in (attn_mask, padding)]):
            return False
        own = (x, self.in_proj_weight, self.in_proj_bias, self.out_proj.weight, self.out_proj.bias)
        return not (mode.grad and any([t.requires_grad for t in own]))

    def merge_masks(self, attn_mask: Tensor | None, key_padding_mask: Tensor | None,
                    query: Any) -> tuple[Any, int | None]:
        """Return both masks merged, and the kind of the result: None (no mask), 1 (the padding mask alone) or 2 (a mask of
        shape (batch, heads, target, source)).
        """
        if attn_mask is None:
            return key_padding_mask, None if key_padding_mask is None else 1
        batch, time = query.shape[:2]
        attn: Any = attn_mask
        merged = attn.view(batch, -1, time, time) if attn.dim() == 3 else \
            attn.view(1, 1, time, time).expand(batch, self.num_heads, -1, -1)
        if key_padding_mask is not None:
            padding: Any = key_padding_mask
            merged = merged + padding.view(batch, 1, 1, time).expand(-1, self.num_heads, -1, -1)
        return merged, 2
