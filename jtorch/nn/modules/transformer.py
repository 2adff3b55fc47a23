"""Transformers. Formulas: Vaswani et al., Attention Is All You Need; with ``norm_first``, Xiong et al., arXiv
2002.04745.
"""
from __future__ import annotations

import copy
import math
from typing import Any

import numpy as np

from jtorch._api import functions
from jtorch._base import warned
from jtorch.backends import mha
from jtorch.nn import functional as F
from jtorch.nn import init
from jtorch.nn._functional.attention import check_mask
from jtorch.nn.modules.activation import GELU, ReLU
from jtorch.nn.modules.container import ModuleList
from jtorch.nn.modules.dropout import Dropout
from jtorch.nn.modules.linear import Linear
from jtorch.nn.modules.module import Module
from jtorch.nn.modules.multihead import MultiheadAttention
from jtorch.nn.modules.normalization import LayerNorm
from jtorch.no_grad import mode
from jtorch.tensor import Tensor

__all__ = ["Transformer", "TransformerDecoder", "TransformerDecoderLayer", "TransformerEncoder", "TransformerEncoderLayer"]



def _generate_square_subsequent_mask(sz: int, device: Any = None, dtype: Any = None) -> Tensor:
    """Return a causal mask (sz, sz): -inf above the diagonal, 0 elsewhere."""
    return functions.triu(functions.full((sz, sz), -math.inf, dtype=dtype, device=device), diagonal=1)


def _is_causal_mask(mask: Any, is_causal: bool | None, size: int, layers: Any) -> bool:
    """Return whether the layers get ``is_causal``: the caller's value, or else whether the mask is causal.

    The layers of this file compute the same result from the mask itself, and reading the mask would wait for its value.
    So they get False without a look at the mask.
    """
    if is_causal is not None or mask is None:
        return is_causal is True
    if all(isinstance(layer, (TransformerEncoderLayer, TransformerDecoderLayer)) for layer in layers):
        return False
    causal: Any = _generate_square_subsequent_mask(size, mask.device, mask.dtype)
    return mask.size() == causal.size() and bool((mask == causal).all())


def _length(x: Any, batch_first: bool) -> int:
    return x.size(1 if batch_first and x.dim() == 3 else 0)


def _function_of(activation: Any) -> Any:
    if not isinstance(activation, str):
        return activation
    if activation not in ("relu", "gelu"):
        raise RuntimeError(f"activation should be relu/gelu, not {activation}")
    return getattr(F, activation)


def _copies(module: Module, n: int) -> ModuleList:
    return ModuleList([copy.deepcopy(module) for _ in range(n)])


class _Layer(Module):
    """The base of encoder and decoder layers: attention and feed-forward blocks with residual connections.

    ``_attentions`` names the attention blocks in order. A layer has one norm and one dropout per block, and one more of
    each.
    """

    __constants__ = ["norm_first"]
    _attentions: tuple[str, ...] = ()

    def __init__(self, d_model: int, nhead: int, dim_feedforward: int = 2048, dropout: float = 0.1, activation: Any = "relu",
                 layer_norm_eps: float = 1e-5, batch_first: bool = False, norm_first: bool = False, bias: bool = True,
                 device: Any = None, dtype: Any = None):
        super().__init__()
        place: dict[str, Any] = {"bias": bias, "device": device, "dtype": dtype}
        for name in self._attentions:
            setattr(self, name, MultiheadAttention(d_model, nhead, dropout=dropout, batch_first=batch_first, **place))
        self.linear1 = Linear(d_model, dim_feedforward, **place)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, **place)
        self.norm_first = norm_first
        blocks = range(1, len(self._attentions) + 2)
        for k in blocks:
            setattr(self, f"norm{k}", LayerNorm(d_model, eps=layer_norm_eps, **place))
        for k in blocks:
            setattr(self, f"dropout{k}", Dropout(dropout))
        self.activation = _function_of(activation)

    def __setstate__(self, state: dict) -> None:
        super().__setstate__(state)
        if not hasattr(self, "activation"):
            self.activation = F.relu

    def _attend(self, k: int, x: Any, source: Any, attn_mask: Any, padding: Any, is_causal: bool) -> Any:
        """Return the result of the k-th attention block."""
        attention = getattr(self, self._attentions[k - 1])
        out = attention(x, source, source, attn_mask=attn_mask, key_padding_mask=padding, need_weights=False,
                        is_causal=is_causal)[0]
        return getattr(self, f"dropout{k}")(out)

    def _ff_block(self, x: Any) -> Any:
        last = getattr(self, f"dropout{len(self._attentions) + 1}")
        return last(self.linear2(self.dropout(self.activation(self.linear1(x)))))

    def _added(self, k: int, x: Any, block: Any) -> Any:
        """Return ``x`` plus the k-th block's result, normalized before or after the block."""
        norm = getattr(self, f"norm{k}")
        return x + block(norm(x)) if self.norm_first else norm(x + block(x))


_get_activation_fn = _function_of


class TransformerEncoderLayer(_Layer):
    """Self-attention and a feed-forward network. See torch.nn.TransformerEncoderLayer.

    ``activation`` is "relu", "gelu" or a function. The input is (time, batch, d_model), with ``batch_first`` (batch,
    time, d_model), or has no batch. The result has the same shape. Masks are as in MultiheadAttention.

    Shape: (S, N, d_model), or (N, S, d_model) with ``batch_first``; the result's is the same.

    Args:
        d_model (int): the number of features of the input and the output.
        nhead (int): the number of attention heads, a divisor of ``d_model``.
        dim_feedforward (int): the number of features of the hidden layer.
        dropout (float): the probability that an element is dropped, in training.
        activation (str or function): "relu", "gelu", or a function of a Tensor.
        layer_norm_eps (float): the ``eps`` of layer norms.
        batch_first (bool): whether the batch dim comes first, (N, L, ...), instead of second.
        norm_first (bool): whether to normalize before attention and hidden layer instead of after them.
        bias (bool): whether to add a learned bias.
        device (device or None): the device of parameters and buffers.
        dtype (dtype or None): their dtype, floating or complex.

    Example::

        >>> torch.nn.TransformerEncoderLayer(d_model=8, nhead=2)(torch.zeros(5, 3, 8)).shape
        torch.Size([5, 3, 8])

    """

    _attentions = ("self_attn",)

    def __init__(self, d_model: int, nhead: int, dim_feedforward: int = 2048, dropout: float = 0.1, activation: Any = "relu",
                 layer_norm_eps: float = 1e-5, batch_first: bool = False, norm_first: bool = False, bias: bool = True,
                 device: Any = None, dtype: Any = None):
        super().__init__(d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps, batch_first, norm_first, bias,
                         device, dtype)
        relu = self.activation is F.relu or isinstance(self.activation, ReLU)
        gelu = self.activation is F.gelu or isinstance(self.activation, GELU)
        self.activation_relu_or_gelu = 1 if relu else 2 if gelu else 0

    def forward(self, src, src_mask=None, src_key_padding_mask=None, is_causal=False):
        """Return the layer's result."""
        check_mask(src_key_padding_mask, "src_key_padding_mask", src_mask, "src_mask")
        check_mask(src_mask, "src_mask")
        masks = src_mask, _alike(src_key_padding_mask, src_mask, src)
        x = self._added(1, src, lambda x: self._sa_block(x, *masks, is_causal=is_causal))
        return self._added(2, x, self._ff_block)

    def _sa_block(self, x: Any, attn_mask: Any, key_padding_mask: Any, is_causal: bool = False) -> Any:
        return self._attend(1, x, x, attn_mask, key_padding_mask, is_causal)


def _alike(padding: Any, attn: Any, x: Any) -> Any:
    """Convert a bool padding mask to the dtype of ``attn``. ``check_mask`` has already warned about different dtypes."""
    if padding is None or attn is None or padding.dtype is attn.dtype or padding.is_floating_point():
        return padding
    return functions.zeros_like(padding, dtype=attn.dtype).masked_fill_(padding, -math.inf)


class TransformerDecoderLayer(_Layer):
    """Self-attention, attention to the encoder's result and a feed-forward network.

    See torch.nn.TransformerDecoderLayer.

    The arguments are TransformerEncoderLayer's. The inputs are the targets (time, batch, d_model) and the memory
    (source, batch, d_model). With ``batch_first`` the batch comes first. The result has the targets' shape.

    Shape: target (T, N, d_model), memory (S, N, d_model), the first two dims exchanged with ``batch_first``; the
    result has the target's shape.

    Args:
        d_model (int): the number of features of the input and the output.
        nhead (int): the number of attention heads, a divisor of ``d_model``.
        dim_feedforward (int): the number of features of the hidden layer.
        dropout (float): the probability that an element is dropped, in training.
        activation (str or function): "relu", "gelu", or a function of a Tensor.
        layer_norm_eps (float): the ``eps`` of layer norms.
        batch_first (bool): whether the batch dim comes first, (N, L, ...), instead of second.
        norm_first (bool): whether to normalize before attention and hidden layer instead of after them.
        bias (bool): whether to add a learned bias.
        device (device or None): the device of parameters and buffers.
        dtype (dtype or None): their dtype, floating or complex.

    Example::

        >>> layer = torch.nn.TransformerDecoderLayer(d_model=8, nhead=2)
        >>> layer(torch.zeros(5, 3, 8), torch.zeros(7, 3, 8)).shape
        torch.Size([5, 3, 8])

    """

    _attentions = ("self_attn", "multihead_attn")

    def forward(self, tgt, memory, tgt_mask=None, memory_mask=None, tgt_key_padding_mask=None, memory_key_padding_mask=None,
                tgt_is_causal=False, memory_is_causal=False):
        """Return the layer's result."""
        x = self._added(1, tgt, lambda x: self._sa_block(x, tgt_mask, tgt_key_padding_mask, tgt_is_causal))
        x = self._added(2, x, lambda x: self._mha_block(x, memory, memory_mask, memory_key_padding_mask, memory_is_causal))
        return self._added(3, x, self._ff_block)

    def _sa_block(self, x: Any, attn_mask: Any, key_padding_mask: Any, is_causal: bool = False) -> Any:
        return self._attend(1, x, x, attn_mask, key_padding_mask, is_causal)

    def _mha_block(self, x: Any, mem: Any, attn_mask: Any, key_padding_mask: Any, is_causal: bool = False) -> Any:
        return self._attend(2, x, mem, attn_mask, key_padding_mask, is_causal)


# ---------------------------------------------------------------- stacks

def _why_not_nested(layer: Any) -> str:
    """Return PyTorch's reason for not running the encoder on nested tensors, or an empty string."""
    if not isinstance(layer, TransformerEncoderLayer):
        return "encoder_layer was not TransformerEncoderLayer"
    attention = layer.self_attn
    reasons = (
        (layer.norm_first, "norm_first was True"),
        (not attention.batch_first, "self_attn.batch_first was not True(use batch_first for better inference performance)"),
        (not attention._qkv_same_embed_dim, "self_attn._qkv_same_embed_dim was not True"),
        (attention.in_proj_bias is None, "self_attn was passed bias=False"),
        (not layer.activation_relu_or_gelu, "activation_relu_or_gelu was not True"),
        (layer.norm1.eps != layer.norm2.eps, "norm1.eps was not equal to encoder_layer.norm2.eps"),
        (attention.num_heads % 2 == 1, "self_attn.num_heads is odd"),
    )
    return next((f"encoder_layer.{text}" for wrong, text in reasons if wrong), "")


class TransformerEncoder(Module):
    """A stack of copies of an encoder layer. See torch.nn.TransformerEncoder.

    Nested tensors are not used. PyTorch uses them in inference if only the ends of sequences are padding. In this case
    the padded positions are 0 before the last norm, as in PyTorch.

    Shape: (S, N, d_model), or (N, S, d_model) with ``batch_first``; the result's is the same.

    Args:
        encoder_layer (Module): copied ``num_layers`` times.
        num_layers (int): the number of layers.
        norm (Module or None): a module that is applied to the result.
        enable_nested_tensor (bool): whether padded positions become 0 in inference, see above.
        mask_check (bool): whether this requires that only the ends of sequences are padding.

    Example::

        >>> layer = torch.nn.TransformerEncoderLayer(d_model=8, nhead=2, batch_first=True)
        >>> torch.nn.TransformerEncoder(layer, num_layers=2)(torch.zeros(3, 5, 8)).shape
        torch.Size([3, 5, 8])

    """

    __constants__ = ["norm"]

    def __init__(self, encoder_layer: Any, num_layers: int, norm: Module | None = None, enable_nested_tensor: bool = True,
                 mask_check: bool = True):
        super().__init__()
        self.layers = _copies(encoder_layer, num_layers)
        self.num_layers, self.norm = num_layers, norm
        self.enable_nested_tensor = self.use_nested_tensor = enable_nested_tensor
        self.mask_check = mask_check
        why = _why_not_nested(encoder_layer)
        if enable_nested_tensor and why:
            warned.warn(f"enable_nested_tensor is True, but self.use_nested_tensor is False because {why}")
            self.use_nested_tensor = False

    def forward(self, src, mask=None, src_key_padding_mask=None, is_causal=None):
        """Return the layers' result for ``src``."""
        check_mask(src_key_padding_mask, "src_key_padding_mask", mask, "mask")
        check_mask(mask, "mask")
        padding = _alike(src_key_padding_mask, mask, src)
        cleared = self._clears_padding(src, mask, src_key_padding_mask)
        is_causal = _is_causal_mask(mask, is_causal, _length(src, self.layers[0].self_attn.batch_first), self.layers)
        out = src
        for layer in self.layers:
            out = layer(out, src_mask=mask, is_causal=is_causal, src_key_padding_mask=padding)
        if cleared:
            hidden = src_key_padding_mask if src_key_padding_mask.dtype.name == "bool" else src_key_padding_mask != 0
            out = out.masked_fill(hidden.unsqueeze(-1), 0.0)
        return out if self.norm is None else self.norm(out)

    def _clears_padding(self, src: Any, mask: Any, padding: Any) -> bool:
        """Return whether PyTorch would run on nested tensors, which give zeros for padding."""
        if padding is None or mask is not None or not self.use_nested_tensor or src.dim() != 3 or self.layers[0].training:
            return False
        if not mha.get_fastpath_enabled():
            return False
        if mode.grad and (src.requires_grad or any(p.requires_grad for p in self.layers[0].parameters())):
            return False
        data = padding._numpy_copy() == 0
        return not self.mask_check or bool(np.all(data[:, 1:] <= data[:, :-1]))


class TransformerDecoder(Module):
    """A stack of copies of a decoder layer. See torch.nn.TransformerDecoder.

    Shape: target (T, N, d_model), memory (S, N, d_model), the first two dims exchanged with ``batch_first``; the
    result has the target's shape.

    Args:
        decoder_layer (Module): copied ``num_layers`` times.
        num_layers (int): the number of layers.
        norm (Module or None): a module that is applied to the result.

    Example::

        >>> decoder = torch.nn.TransformerDecoder(torch.nn.TransformerDecoderLayer(d_model=8, nhead=2), num_layers=2)
        >>> decoder(torch.zeros(5, 3, 8), torch.zeros(7, 3, 8)).shape
        torch.Size([5, 3, 8])

    """

    __constants__ = ["norm"]

    def __init__(self, decoder_layer: Any, num_layers: int, norm: Module | None = None):
        super().__init__()
        self.layers = _copies(decoder_layer, num_layers)
        self.num_layers, self.norm = num_layers, norm

    def forward(self, tgt, memory, tgt_mask=None, memory_mask=None, tgt_key_padding_mask=None, memory_key_padding_mask=None,
                tgt_is_causal=None, memory_is_causal=False):
        """Return the layers' result for ``tgt``, with attention to ``memory``."""
        length = _length(tgt, self.layers[0].self_attn.batch_first)
        causal, out = _is_causal_mask(tgt_mask, tgt_is_causal, length, self.layers), tgt
        for layer in self.layers:
            out = layer(out, memory, tgt_mask=tgt_mask, memory_mask=memory_mask, tgt_key_padding_mask=tgt_key_padding_mask,
                        memory_key_padding_mask=memory_key_padding_mask, tgt_is_causal=causal,
                        memory_is_causal=memory_is_causal)
        return out if self.norm is None else self.norm(out)


class Transformer(Module):
    """An encoder and a decoder. See torch.nn.Transformer.

    The inputs are the source (source, batch, d_model) and the targets (time, batch, d_model). With ``batch_first`` the
    batch comes first. The result has the targets' shape. Raises RuntimeError if batch or d_model differ.

    Shape: source (S, N, d_model), target (T, N, d_model), the first two dims exchanged with ``batch_first``, without
    N for one sample; the result has the target's shape.

    Args:
        d_model (int): the number of features of the input and the output.
        nhead (int): the number of attention heads, a divisor of ``d_model``.
        num_encoder_layers (int): the number of layers of the encoder.
        num_decoder_layers (int): the number of layers of the decoder.
        dim_feedforward (int): the number of features of the hidden layer.
        dropout (float): the probability that an element is dropped, in training.
        activation (str or function): "relu", "gelu", or a function of a Tensor.
        custom_encoder (Module or None): a module that replaces the encoder.
        custom_decoder (Module or None): a module that replaces the decoder.
        layer_norm_eps (float): the ``eps`` of layer norms.
        batch_first (bool): whether the batch dim comes first, (N, L, ...), instead of second.
        norm_first (bool): whether to normalize before attention and hidden layer instead of after them.
        bias (bool): whether to add a learned bias.
        device (device or None): the device of parameters and buffers.
        dtype (dtype or None): their dtype, floating or complex.

    Example::

        >>> model = torch.nn.Transformer(d_model=8, nhead=2, num_encoder_layers=1, num_decoder_layers=1, batch_first=True)
        >>> model(torch.zeros(3, 7, 8), torch.zeros(3, 5, 8)).shape
        torch.Size([3, 5, 8])

    """

    def __init__(self, d_model: int = 512, nhead: int = 8, num_encoder_layers: int = 6, num_decoder_layers: int = 6,
                 dim_feedforward: int = 2048, dropout: float = 0.1, activation: Any = "relu", custom_encoder: Any = None,
                 custom_decoder: Any = None, layer_norm_eps: float = 1e-5, batch_first: bool = False, norm_first: bool = False,
                 bias: bool = True, device: Any = None, dtype: Any = None):
        super().__init__()
        options = (d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps, batch_first, norm_first, bias, device,
                   dtype)

        def norm():
            return LayerNorm(d_model, eps=layer_norm_eps, bias=bias, device=device, dtype=dtype)
        self.encoder = custom_encoder if custom_encoder is not None else TransformerEncoder(
            TransformerEncoderLayer(*options), num_encoder_layers, norm())
        self.decoder = custom_decoder if custom_decoder is not None else TransformerDecoder(
            TransformerDecoderLayer(*options), num_decoder_layers, norm())
        self._reset_parameters()
        self.d_model, self.nhead, self.batch_first = d_model, nhead, batch_first

    def forward(self, src, tgt, src_mask=None, tgt_mask=None, memory_mask=None, src_key_padding_mask=None,
                tgt_key_padding_mask=None, memory_key_padding_mask=None, src_is_causal=None, tgt_is_causal=None,
                memory_is_causal=False):
        """Return the decoder's result for ``tgt``, with attention to the encoder's result for ``src``."""
        self._check_sizes(src.shape, tgt.shape)
        encoded = self.encoder(src, src_mask, src_key_padding_mask, src_is_causal)
        return self.decoder(tgt, encoded, tgt_mask, memory_mask, tgt_key_padding_mask, memory_key_padding_mask, tgt_is_causal,
                            memory_is_causal)

    def _check_sizes(self, src: Any, tgt: Any) -> None:
        batch = 1 - self.batch_first
        if len(src) == 3 and src[batch] != tgt[batch]:
            raise RuntimeError("the batch number of src and tgt must be equal")
        if {src[-1], tgt[-1]} != {self.d_model}:
            raise RuntimeError("the feature number of src and tgt must be equal to d_model")

    @staticmethod
    def generate_square_subsequent_mask(sz: int, device: Any = None, dtype: Any = None) -> Tensor:
        """Return a causal mask (sz, sz): -inf above the diagonal, 0 elsewhere."""
        return _generate_square_subsequent_mask(sz, device, dtype)

    def _reset_parameters(self) -> None:
        for p in self.parameters():
            if p.dim() > 1:     # type: ignore[attr-defined]
                init.xavier_uniform_(p)

del _Layer      # PyTorch's module does not have this name
