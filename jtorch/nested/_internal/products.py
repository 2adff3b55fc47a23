"""Products of nested tensors: linear layers, matrix products, embeddings, convolutions and attention."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from jtorch._api import functions as torch
from jtorch._api import nn_functions
from jtorch.nested._internal import dims
from jtorch.nested._internal.nested_tensor import NestedTensor, values_of
from jtorch.nested._internal.padding import from_padded, to_padded

F: Any = nn_functions
_LINEAR = "linear_default(input: jt, weight: t, bias: t?)"
_CONVOLUTION = ("convolution_default(input: jt, weight: t, bias: t?, stride: any, padding: any, dilation: any, transposed: any, "
                "output_padding: any, groups: any)")


def linear(func: Callable, input: Any, weight: Any, bias: Any = None) -> NestedTensor:
    """Apply a linear layer to the last dim."""
    dims.expect_contiguous(_LINEAR, input=input)
    return input._like(func(input._values, weight, bias))


def convolution(func: Callable, input: Any, *args: Any, **kwargs: Any) -> NestedTensor:
    """Apply a convolution to the components, each of which is a batch of images."""
    dims.expect_contiguous(_CONVOLUTION, input=input)
    return input._like(func(input._values, *args, **kwargs))


def embedding(func: Callable, input: Any, weight: Any, *args: Any, **kwargs: Any) -> NestedTensor:
    """Look up the rows of a table. F.embedding has the indices first, torch.embedding has the table."""
    indices = input if isinstance(input, NestedTensor) else weight
    return indices._like(func(values_of(input), values_of(weight), *args, **kwargs))


def matmul(func: Callable, input: Any, other: Any) -> Any:
    """Multiply matrices, of which one or both are nested."""
    a, b = isinstance(input, NestedTensor), isinstance(other, NestedTensor)
    if a and not b and input._ragged_idx < input.dim() - 1:
        if input.dim() >= 3 and input.dim() == other.dim():
            return from_padded(torch.matmul(to_padded(input, 0), other), input)
        if other.dim() == 2 and input.dim() > 2:
            return input._like(torch.matmul(input._values, other))
    if b and not a and other._ragged_idx >= 2:
        if other.dim() >= 3 and other.dim() == input.dim():
            return from_padded(torch.matmul(input, to_padded(other, 0)), other)
        if input.dim() == 2 and other.dim() > 2:
            return other._like(torch.matmul(input, other._values))
    if a and b:
        if input.dim() > 3 and other.dim() > 3 and dims.matches(input, other._size):
            return input._like(torch.matmul(input._values, other._values))
        same = input._size[input._ragged_idx] == other._size[other._ragged_idx]
        if input.dim() == other.dim() == 3 and (input._ragged_idx, other._ragged_idx) == (2, 1) and same:
            return torch.matmul(to_padded(input, 0), to_padded(other, 0))
    shown = input._size if a else input.shape
    raise RuntimeError(f"matmul(): not supported between inputs of shapes {shown} and {other.shape}")


def bmm(func: Callable, input: Any, mat2: Any) -> Any:
    """Multiply batches of matrices."""
    for name, t in (("input", input), ("mat2", mat2)):
        if t.dim() != 3:
            raise ValueError(f"bmm(): {name} must be 3D")
    return matmul(func, input, mat2)


# ---------------------------------------------------------------- attention

def attention(func: Callable, query: Any, key: Any, value: Any, attn_mask: Any = None, dropout_p: float = 0.0,
              is_causal: bool = False, scale: float | None = None, enable_gqa: bool = False) -> NestedTensor:
    """Compute attention within each component, for shapes (batch, heads, ragged, features).

    If dim 1 is ragged, compute attention over the last two dims, separately for each index of the ragged dim.
    """
    _check(query, key, value, attn_mask)
    if query._ragged_idx == 1 and min(query.dim(), key.dim(), value.dim()) > 3:
        out = func(query._values, key._values, value._values, dropout_p=dropout_p, is_causal=is_causal, scale=scale)
        return query._like(out)
    for name, t in (("query", query), ("key", key), ("value", value)):
        if t.dim() != 4 or t._ragged_idx != 2:
            raise RuntimeError(f"scaled_dot_product_attention(): expected {name} to have the shape (batch, heads, ragged, "
                               "features)")
    q, k, v = (_to_padded(t) for t in (query, key, value))
    mask = _valid(key)[:, None, None, :]
    if is_causal:
        mask = mask & torch.tril(torch.ones(q.shape[2], k.shape[2], dtype=mask.dtype, device=mask.device))
    out = func(q, k, v, mask, dropout_p, scale=scale, enable_gqa=enable_gqa)
    return from_padded(out, _contiguous(query))


def _contiguous(nt: NestedTensor) -> Any:
    return nt if nt._lengths is None else torch.transpose(torch.transpose(nt, 1, 2).contiguous(), 1, 2)


def _to_padded(nt: NestedTensor) -> Any:
    return to_padded(_contiguous(nt), 0)


def _valid(nt: NestedTensor) -> Any:
    """Return which elements of the padded ragged dim are not padding."""
    at = torch.arange(nt._get_max_seqlen(), device=nt.device)
    return at[None, :] < nt._component_lengths()[:, None]


def _check(query: Any, key: Any, value: Any, attn_mask: Any) -> None:
    """Raise PyTorch's errors for arguments that attention does not accept."""
    three = (query, key, value)
    if not all(isinstance(t, NestedTensor) for t in three):
        raise ValueError("Expected query, key, and value to be nested tensors, but got query.is_nested: "
                         f"{query.is_nested}, key.is_nested: {key.is_nested}, and value.is_nested: {value.is_nested} instead.")
    for what, name in (("dtype", "dtype"), ("device", "device type")):
        if len({getattr(t, what) for t in three}) > 1:
            q, k, v = (getattr(t, what) for t in three)
            raise ValueError(f"Expected query, key, and value to have the same {name}, but got query.{what}: {q}, "
                             f"key.{what}: {k}, and value.{what}: {v} instead.")
    if min(t.dim() for t in three) < 3:
        raise ValueError("Expected query, key, and value to all be at least 3 dimensional, but got query.dim: "
                         f"{query.dim()}, key.dim: {key.dim()} and value.dim: {value.dim()} instead.")
    if len({t._ragged_idx for t in three}) > 1:
        raise ValueError("Expected query, key, and value to all be ragged on the same dimension, but got ragged dims "
                         f"{query._ragged_idx}, {key._ragged_idx}, and {value._ragged_idx}, respectively.")
    if attn_mask is not None:
        raise ValueError("Masks are not yet supported!")
