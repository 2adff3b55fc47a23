"""Reductions of nested tensors: over all elements, over the ragged dim, or over other dims."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from jtorch._api import functions as torch
from jtorch._base.dtype_info import finfo, iinfo
from jtorch.dtype import named
from jtorch.nested._internal import dims
from jtorch.nested._internal.nested_tensor import NestedTensor
from jtorch.nested._internal.padding import from_padded, to_padded
from jtorch.utils._pytree import tree_map

_NO_CHANGE: dict[str, Any] = {"sum": 0, "prod": 1, "any": False, "all": True}
_SMALLEST = {"max", "amax", "argmax"}       # Padding with the smallest number does not change their results.


def reduction(func: Callable, input: NestedTensor, dim: Any = None, keepdim: bool = False, **kwargs: Any) -> Any:
    """Reduce as ``func`` does. A result without the ragged dim is a dense tensor."""
    name = func.__name__
    if dim is None or dim == () or dim == []:
        out = func(input._values, **kwargs)
        return torch.unsqueeze(out, input._ragged_idx) if keepdim else out
    is_list = isinstance(dim, (tuple, list))
    found, batch, ragged, others = dims.kinds(input, dim if is_list else (dim,))
    inner: Any = found if is_list else found[0]
    _check(input, name, batch, ragged, others)
    if ragged and not batch:
        padded = to_padded(input, padding_of(name, input.dtype))
        return func(padded, dim=[input._ragged_idx] if is_list else input._ragged_idx, keepdim=keepdim, **kwargs)
    out = func(input._values, dim=inner, keepdim=keepdim, **kwargs)
    if ragged:
        return tree_map(lambda x: torch.unsqueeze(x, 0), out) if keepdim else out
    removed = 0 if keepdim else sum(d < input._ragged_idx - 1 for d in found)
    return tree_map(lambda x: input._like(x, input._ragged_idx - removed), out)


def _check(input: NestedTensor, name: str, batch: bool, ragged: bool, others: bool) -> None:
    if ragged and input._lengths is not None:
        raise RuntimeError(f"{name}(): reducing across the ragged dimension is not supported for non-contiguous nested tensors "
                           "with holes")
    if ragged and others and not batch:
        raise RuntimeError(f"{name}(): reducing along a ragged and non-batch dimension is not supported for nested tensors")
    if batch and not ragged:
        raise RuntimeError(f"{name}(): reducing along the batch dimension but not the ragged dimension is not supported for "
                           "nested tensors")


def padding_of(name: str, dtype: Any) -> Any:
    """Return the padding that does not change a reduction's result."""
    if name in _NO_CHANGE:
        return _NO_CHANGE[name]
    if dtype is named("bool"):
        return name not in _SMALLEST
    info = finfo(dtype) if dtype.is_floating_point else iinfo(dtype)
    return info.min if name in _SMALLEST else info.max


def mean(func: Callable, input: NestedTensor, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    """Compute the mean. Along the ragged dim, divide by the components' lengths."""
    listed = list(dim) if isinstance(dim, (tuple, list)) else [dim]
    if dim is None or not listed:
        return reduction(func, input, dim, keepdim, dtype=dtype)
    _, batch, ragged, others = dims.kinds(input, listed)
    if not ragged or batch:
        return reduction(func, input, listed, keepdim, dtype=dtype)
    if others:
        raise AssertionError("Cannot reduce on both ragged and non-batch dimensions without also reducing on batch")
    total = reduction(torch.sum, input, listed, True, dtype=dtype)
    lengths = input._component_lengths()
    out = total / lengths.reshape(-1, *[1] * (total.dim() - 1))
    return out if keepdim else torch.squeeze(out, input._ragged_idx)


# ---------------------------------------------------------------- normalizations

def softmax(func: Callable, input: NestedTensor, dim: Any = None, *args: Any, **kwargs: Any) -> NestedTensor:
    """Compute softmax along a dim other than the batch, or log_softmax along one that is not ragged either."""
    if isinstance(dim, tuple):
        raise RuntimeError(f"{func.__name__}(): not supported for dimensions of type 'tuple' for NestedTensor")
    found, batch, ragged, _ = dims.kinds(input, (dim,))
    if batch:
        raise RuntimeError(f"{func.__name__}(): not supported when reducing across the batch dimension for NestedTensor")
    if not ragged:
        return input._like(func(input._values, found[0], *args, **kwargs))
    if func.__name__ == "log_softmax":
        raise RuntimeError("log_softmax(): not supported when reducing along the ragged dimension for NestedTensor")
    if input._ragged_idx > 1:
        raise RuntimeError("softmax(): not supported when reducing along the ragged dimension for ragged_idx > 1 for "
                           "NestedTensor")
    if input._lengths is not None:
        raise RuntimeError("softmax(): not supported where lengths is not None if reducing across the ragged dimension for "
                           "NestedTensor")
    return from_padded(func(to_padded(input, float("-inf")), 1, *args, **kwargs), input)


def layer_norm(func: Callable, input: NestedTensor, normalized_shape: Any, weight: Any = None, bias: Any = None,
               eps: float = 1e-5) -> NestedTensor:
    """Normalize the last dims. If the ragged dim is among them, ignore the weight and the bias."""
    if input.dim() <= 2:
        raise RuntimeError("layer_norm(): not supported for NestedTensor objects with 2 or fewer dimensions")
    if len(normalized_shape) == input.dim():
        raise RuntimeError("layer_norm(): not supported when normalizing over the batch dimension for NestedTensor")
    if input._size[input._ragged_idx] not in tuple(normalized_shape):
        return input._like(func(input._values, normalized_shape, weight, bias, eps))
    if input._lengths is not None:
        raise RuntimeError("layer_norm(): not supported where lengths is not None if operating on the ragged dimension for "
                           "NestedTensor")
    padded, valid = to_padded(input, 0), to_padded(input._like(torch.ones_like(input._values)), 0)
    over = tuple(range(1, padded.dim()))
    count = torch.sum(valid, over, True)
    centered = (padded - torch.sum(padded, over, True) / count) * valid
    return from_padded(centered / torch.sqrt(torch.sum(torch.square(centered), over, True) / count + eps), input)


def rms_norm(func: Callable, input: NestedTensor, normalized_shape: Any, weight: Any = None, eps: Any = None) -> NestedTensor:
    """Normalize dims after the ragged one."""
    if len(normalized_shape) > input.dim() - input._ragged_idx - 1:
        raise ValueError("rms_norm(): Normalization over the ragged dim not supported for nested tensors")
    return input._like(func(input._values, normalized_shape, weight, eps))
