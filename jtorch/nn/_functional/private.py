"""Private functions of torch.nn.functional, for packages that implement attention."""
from __future__ import annotations

from typing import Any

import jtorch.dtype as dtypes
from jtorch._api import functions, nn_functions
from jtorch._base import warned
from jtorch.nn._functional.attention import check_dims
from jtorch.tensor import Tensor

_mha_shape_check = check_dims


def _none_or_dtype(input: Tensor | None) -> dtypes.dtype | None:
    """Return a tensor's dtype, None for None."""
    if input is not None and not isinstance(input, Tensor):
        raise RuntimeError("input to _none_or_dtype() must be None or torch.Tensor")
    return None if input is None else input.dtype


def _canonical_mask(mask: Any, mask_name: str, other_type: dtypes.dtype | None, other_name: str, target_type: dtypes.dtype,
                    check_other: bool = True) -> Tensor | None:
    """Return a mask of numbers to add to scores; a bool mask becomes minus infinity where it is True."""
    if mask is None or mask.is_floating_point():
        is_bool = False
    elif mask.dtype is dtypes.bool_:
        is_bool = True
    else:
        raise AssertionError(f"only bool and floating types of {mask_name} are supported")
    if mask is not None and check_other and other_type is not None and mask.dtype is not other_type:
        warned.warn(f"Support for mismatched {mask_name} and {other_name} is deprecated. Use same type for both instead.")
    if not is_bool:
        return mask
    return functions.zeros_like(mask, dtype=target_type).masked_fill_(mask, float("-inf"))


def _check_key_padding_mask(key_padding_mask: Tensor, src_len: int, bsz: int) -> None:
    """Raise AssertionError unless the mask has a row per sample and a column per key."""
    for k, size in enumerate((bsz, src_len)):
        if key_padding_mask.shape[k] != size:
            raise AssertionError(f"Expected key_padded_mask.shape[{k}] to be {size}, but got {key_padding_mask.shape[k]}")


def _verify_batch_size(size: list[int]) -> None:
    """Raise ValueError for inputs with one value per channel, which have no variance."""
    values = size[0]
    for n in size[2:]:
        values *= n
    if values == 1:
        raise ValueError(f"Expected more than 1 value per channel when training, got input size {size}")


def _linear(x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    return nn_functions.linear(x, weight, bias)


def _in_projection_packed(q: Tensor, k: Tensor, v: Tensor, w: Tensor, b: Tensor | None = None) -> tuple[Tensor, Tensor, Tensor]:
    """Project query, key and value by the three parts of a weight; identical inputs share one product."""
    size = q.size(-1)
    if k is not v:
        biases = (None, None, None) if b is None else b.chunk(3)
        w_q, w_k, w_v = w.chunk(3)
        return _linear(q, w_q, biases[0]), _linear(k, w_k, biases[1]), _linear(v, w_v, biases[2])
    if q is k:
        first, second, third = _parts(_linear(q, w, b), 3, size)
        return first, second, third
    w_q, w_kv = w.split([size, size * 2])
    b_q, b_kv = (None, None) if b is None else b.split([size, size * 2])
    key, value = _parts(_linear(k, w_kv, b_kv), 2, size)
    return _linear(q, w_q, b_q), key, value


def _parts(projected: Tensor, count: int, size: int) -> tuple[Tensor, ...]:
    stacked = projected.unflatten(-1, (count, size)).unsqueeze(0).transpose(0, -2).squeeze(-2).contiguous()
    return tuple(stacked[i] for i in range(count))


def _in_projection(q: Tensor, k: Tensor, v: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor, b_q: Tensor | None = None,
                   b_k: Tensor | None = None, b_v: Tensor | None = None) -> tuple[Tensor, Tensor, Tensor]:
    """Project query, key and value by separate weights; raise AssertionError for wrong sizes."""
    size = q.size(-1)
    _check_projection("weights", [(w_q, (size, size)), (w_k, (size, k.size(-1))), (w_v, (size, v.size(-1)))])
    _check_projection("bias", [(b, (size,)) for b in (b_q, b_k, b_v)])
    return _linear(q, w_q, b_q), _linear(k, w_k, b_k), _linear(v, w_v, b_v)


def _check_projection(kind: str, wanted: list[tuple[Tensor | None, tuple[int, ...]]]) -> None:
    for name, (tensor, shape) in zip(("query", "key", "value"), wanted, strict=True):
        if tensor is not None and tuple(tensor.shape) != shape:
            raise AssertionError(f"expecting {name} {kind} shape of {shape}, but got {tensor.shape}")
