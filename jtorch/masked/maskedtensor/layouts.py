"""Functions whose backward converts masked gradients: layouts, ``where`` and reductions."""
from __future__ import annotations

from typing import Any

from jtorch._api import functions as torch
from jtorch._base.layout import sparse_coo, sparse_csr, strided
from jtorch.autograd.function import Function
from jtorch.masked.maskedtensor import functions
from jtorch.masked.maskedtensor.core import MaskedTensor, data_of, is_masked_tensor, mask_of
from jtorch.tensor import Tensor


class _Conversion(Function):
    """A conversion of a masked tensor's data and mask, with the gradient in the input's layout."""

    @staticmethod
    def backward(ctx: Any, grad_output: Any) -> Any:        # type: ignore[override]
        """Return the gradient in the input's layout."""
        return in_layout(grad_output, ctx.layout)


class MaskedContiguous(_Conversion):
    """Makes the data and the mask contiguous."""

    @staticmethod
    def forward(ctx: Any, input: MaskedTensor) -> MaskedTensor:      # type: ignore[override]
        """Return a contiguous masked tensor, or the input if it is contiguous."""
        ctx.layout = input.layout
        if input.is_contiguous():
            return input
        return MaskedTensor(input._masked_data.contiguous(), input._masked_mask.contiguous())


class MaskedToLayout(_Conversion):
    """Converts the data and the mask to a layout."""

    @staticmethod
    def forward(ctx: Any, input: MaskedTensor, layout: Any) -> MaskedTensor:      # type: ignore[override]
        """Return the masked tensor in the layout."""
        ctx.layout = input.layout
        return in_layout(input, layout)

    @staticmethod
    def backward(ctx: Any, grad_output: Any) -> Any:        # type: ignore[override]
        """Return the gradient in the input's layout. The argument ``layout`` has none."""
        return in_layout(grad_output, ctx.layout), None


def in_layout(input: MaskedTensor, layout: Any) -> MaskedTensor:
    """Return a masked tensor in another layout, or the tensor itself."""
    data, mask = input._masked_data.detach(), input._masked_mask
    if input.layout is layout:
        return input
    if layout is strided:
        return MaskedTensor(data.to_dense(), mask.to_dense())
    if layout is sparse_csr and data.ndim != 2:
        raise ValueError(f"Only 2D tensors can be converted to the SparseCsr layout but got shape: {data.size()}")
    places = mask.to_sparse().coalesce() if layout is sparse_coo else mask.to_sparse_csr()
    return MaskedTensor(data.to_dense().sparse_mask(places), places)


class MaskedWhere(Function):
    """Chooses elements of two tensors. Each tensor's gradient masks the elements that were taken from the other tensor."""

    @staticmethod
    def forward(ctx: Any, cond: Tensor, input: Any, other: Any) -> MaskedTensor:      # type: ignore[override]
        """Return the chosen elements."""
        ctx.mark_non_differentiable(cond)
        ctx.save_for_backward(cond)
        return chosen(cond, input, other)

    @staticmethod
    def backward(ctx: Any, grad_output: Any) -> Any:        # type: ignore[override]
        """Return the gradients of the two tensors. The condition has none."""
        (cond,) = ctx.saved_tensors
        hidden = MaskedTensor(grad_output._masked_data, torch.zeros_like(grad_output._masked_mask))
        return None, chosen(cond, grad_output, hidden), chosen(cond, hidden, grad_output)


def chosen(cond: Tensor, input: Any, other: Any) -> MaskedTensor:
    """Return ``torch.where`` of the data and of the masks. A tensor without a mask is valid everywhere."""
    masks = [mask_of(t) if is_masked_tensor(t) else torch.ones_like(t, dtype=cond.dtype) for t in (input, other)]
    return MaskedTensor(torch.where(cond, data_of(input), data_of(other)), torch.where(cond, *masks))


class Constructor(functions.Constructor):
    """Wraps the result of a reduction. Its gradient has no mask, since the operators of the reduction see no masked tensors."""

    @staticmethod
    def backward(ctx: Any, grad_output: Any) -> Any:        # type: ignore[override]
        """Return the gradient's data without the mask."""
        return data_of(grad_output), None
