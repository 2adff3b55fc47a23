"""Masks of torch.masked's functions: broadcast to the input, or combined with it."""
from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from jtorch._api import functions as torch
from jtorch._api.masked_identity import _reduction_identity as _reduction_identity
from jtorch._base.layout import sparse_coo, sparse_csr, strided
from jtorch.dtype import named
from jtorch.tensor import Tensor

_REDUCTIONS = frozenset("sum prod amax amin argmax argmin mean median norm var std logsumexp".split())
_NORMALIZATIONS = frozenset("softmax log_softmax softmin normalize cumsum cumprod".split())
_LAYOUTS = (strided, sparse_coo, sparse_csr)


def function(name: str) -> Callable:
    """Return ``torch.masked.<name>``."""
    return getattr(sys.modules["jtorch.masked"], name)


def _input_mask(input: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    """Return ``mask=`` in the shape and layout of the input. See torch.masked._input_mask."""
    if input.layout not in _LAYOUTS:
        raise ValueError(f"_input_mask expects strided or sparse COO or sparse CSR tensor but got {input.layout}")
    mask = kwargs.get("mask")
    if mask is None:
        raise ValueError("_input_mask requires explicit mask")
    if mask.shape != input.shape:
        if mask.ndim > input.ndim:
            raise IndexError("_input_mask expected broadcastable mask (got mask dimensionality higher than of the input)")
        layout = mask.layout
        mask = _in_layout(torch.broadcast_to(mask.to_dense(), input.shape), layout, input)
    mask = _in_layout(mask, input.layout, input)
    return (mask.coalesce() if mask.layout is sparse_coo else mask).to(dtype=named("bool"))


def _in_layout(mask: Tensor, layout: Any, input: Tensor) -> Tensor:
    if mask.layout is layout:
        return mask
    if layout is strided:
        return mask.to_dense()
    if layout is sparse_csr:
        return mask.to_sparse_csr()
    return mask.to_sparse(input.sparse_dim() if mask.layout is strided and input.layout is sparse_coo else None)


def _output_mask(op: Any, input: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    """Return the mask of a masked function's result. See torch.masked._output_mask."""
    if not callable(op):
        raise ValueError(f"_output_mask expected masked operation (got {type(op).__name__} object)")
    name = op.__name__      # type: ignore[attr-defined]
    if name in _NORMALIZATIONS:
        return _input_mask(input, *args, **kwargs)
    if name not in _REDUCTIONS:
        raise ValueError(f"_output_mask expected masked operation (got callable {op.__module__}.{name})")
    rest = args[1:] if name == "norm" else args
    dim = rest[0] if rest else kwargs.get("dim")
    mask = _input_mask(input, *args, **kwargs)
    return any_along(mask, range(input.ndim) if dim is None or dim == () else dim, bool(kwargs.get("keepdim", False)))


def any_along(mask: Tensor, dim: Any, keepdim: bool) -> Tensor:
    """Return whether there is a valid element along some dims."""
    dims = [dim] if isinstance(dim, int) else list(dim)
    for d in sorted([d % max(mask.dim(), 1) for d in dims], reverse=True):
        mask = torch.any(mask, dim=d, keepdim=keepdim)
    return mask


def _where(mask: Tensor, input: Tensor, fill_value: Tensor) -> Tensor:
    """Return the input with ``fill_value`` in the elements that the mask excludes. See torch.masked._where.

    A sparse result has the mask's indices.
    """
    if mask.layout is strided:
        return torch.where(mask, input, fill_value)
    if mask.layout in (sparse_coo, sparse_csr):
        return input.sparse_mask(mask.coalesce() if mask.layout is sparse_coo else mask)
    raise ValueError(f"_where expects strided or sparse COO or sparse CSR tensor but got {mask.layout}")


def _combine_input_and_mask(op: Any, input: Tensor, mask: Tensor | None, *args: Any) -> Tensor:
    """Return the input with the reduction's neutral element where the mask is False.

    See torch.masked._combine_input_and_mask.
    """
    from jtorch.masked.maskedtensor.core import is_masked_tensor
    if is_masked_tensor(input):
        input, mask = input.get_data(), input.get_mask()        # type: ignore[attr-defined]
    if mask is None:
        return input
    mask = _input_mask(input, mask=mask)
    if not callable(op):
        raise ValueError(f"_combine_input_and_mask expected masked operation (got {type(op).__name__} object)")
    found = _reduction_identity(op.__name__, input, *args)     # type: ignore[attr-defined]
    return _where(mask, input, found)      # type: ignore[arg-type]
