"""The differentiable functions that make a masked tensor and read its data."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

from jtorch.autograd.function import Function
from jtorch.tensor import Tensor

if TYPE_CHECKING:
    from jtorch.masked.maskedtensor.core import MaskedTensor


class Constructor(Function):
    """The differentiable constructor, whose gradient is the masked tensor's."""

    @staticmethod
    def forward(ctx: Any, data: Tensor, mask: Tensor) -> MaskedTensor:      # type: ignore[override]
        """See Function.forward."""
        from jtorch.masked.maskedtensor.core import MaskedTensor
        return MaskedTensor(data, mask)

    @staticmethod
    def backward(ctx: Any, grad_output: Any) -> Any:        # type: ignore[override]
        """See Function.backward."""
        return grad_output, None


class GetData(Function):
    """Reads the data. Its gradient is masked."""

    @staticmethod
    def forward(ctx: Any, input: MaskedTensor) -> Tensor:      # type: ignore[override]
        """See Function.forward."""
        ctx.mask = input._masked_mask
        return input._masked_data.detach()

    @staticmethod
    def backward(ctx: Any, grad_output: Any) -> Any:        # type: ignore[override]
        """See Function.backward."""
        from jtorch.masked.maskedtensor.core import MaskedTensor
        return grad_output if isinstance(grad_output, MaskedTensor) else MaskedTensor(grad_output, ctx.mask)
