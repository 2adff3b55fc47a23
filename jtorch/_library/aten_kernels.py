"""Operators of ``torch.ops.aten`` without a function of the same name: indexing, copies, sparse products, fake quantization."""
from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from jtorch import sparse
from jtorch._api import functions
from jtorch.tensor import Tensor


def _with_out(function: Callable) -> Callable:
    @functools.wraps(function)
    def call(*args: Any, out: Tensor | None = None, **kwargs: Any) -> Any:
        made = function(*args, **kwargs)
        if out is None:
            return made
        return out.resize_(made.shape).copy_(made)      # type: ignore[attr-defined]

    return call


def index(self: Any, indices: Any) -> Tensor:
    """Return ``self[indices]``. None selects all of a dim."""
    return self[tuple(slice(None) if i is None else i for i in indices)]


def slice_of(self: Any, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1) -> Tensor:
    """Return the view ``self[start:end:step]`` of one dim."""
    if self.dim() == 0:
        raise RuntimeError("slice() cannot be applied to a 0-dim tensor.")
    return self[(slice(None),) * (dim % self.dim()) + (slice(start, end, step),)]


def alias(self: Any) -> Tensor:
    """Return a view of the whole tensor."""
    return self.view(self.shape)


def to_copy(self: Any, *, dtype: Any = None, layout: Any = None, device: Any = None, pin_memory: bool | None = None,
            non_blocking: bool = False, memory_format: Any = None) -> Tensor:
    """Return a copy with the given dtype and device. PyTorch's ``to`` calls this operator."""
    given = {"memory_format": memory_format} if memory_format is not None else {}
    return self.to(device=self.device if device is None else device, dtype=dtype or self.dtype, copy=True, **given)


def pin_memory(self: Any, device: Any = None) -> Tensor:
    """See torch.Tensor.pin_memory."""
    return self.pin_memory()


def sparse_mm_reduce(self: Any, other: Tensor, reduce: str) -> tuple[Tensor, Tensor]:
    """Return ``torch.sparse.mm`` with a reduction. The second result, the indices of extremes, is empty."""
    return sparse.mm(self, other, reduce), functions.empty(0)


def per_tensor_cachemask(self: Any, scale: Any, zero_point: Any, quant_min: int, quant_max: int) -> tuple[Tensor, Tensor]:
    """Return ``torch.fake_quantize_per_tensor_affine`` and a mask of the elements inside the range."""
    made = functions.fake_quantize_per_tensor_affine(self, scale, zero_point, quant_min, quant_max)
    return made, _is_inside(self, scale, zero_point, quant_min, quant_max)


def per_channel_cachemask(self: Any, scale: Any, zero_point: Any, axis: int, quant_min: int,
                          quant_max: int) -> tuple[Tensor, Tensor]:
    """Return ``torch.fake_quantize_per_channel_affine`` and a mask of the elements inside the range."""
    made = functions.fake_quantize_per_channel_affine(self, scale, zero_point, axis, quant_min, quant_max)
    shape = [1] * self.dim()
    shape[axis] = scale.numel()
    return made, _is_inside(self, scale.view(shape), zero_point.view(shape), quant_min, quant_max)


def _is_inside(x: Any, scale: Any, zero_point: Any, quant_min: int, quant_max: int) -> Tensor:
    step = (x.detach() * (1 / scale)).round() + zero_point
    return (step >= quant_min) & (step <= quant_max)


def by_mask(grad: Any, mask: Tensor) -> Tensor:
    """Return the gradient of fake quantization: 0 outside of the range."""
    return grad * mask


_FUNCTIONS: dict[str, Callable] = {
    "fake_quantize_per_tensor_affine_cachemask": per_tensor_cachemask,
    "fake_quantize_per_channel_affine_cachemask": per_channel_cachemask,
    "fake_quantize_per_tensor_affine_cachemask_backward": by_mask,
    "fake_quantize_per_channel_affine_cachemask_backward": by_mask,
    "index": index, "slice": slice_of, "alias": alias, "_to_copy": to_copy, "_pin_memory": pin_memory,
    "_sparse_addmm": sparse.addmm, "_sparse_mm_reduce_impl": sparse_mm_reduce}
KERNELS = {name: _with_out(function) for name, function in _FUNCTIONS.items()}
