"""The differentiable functions that make a masked tensor and read its data."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

from jtorch.autograd.function import Function
from jtorch.tensor import Tensor

if TYPE_CHECKING:
    from jtorch.masked.maskedtensor.core import MaskedTensor


class Constructor(Function):
    """The differentiable constructor. The gradient of the data is the masked tensor's gradient."""

    @staticmethod
    def forward(ctx: Any, data: Tensor, mask: Tensor) -> MaskedTensor:      # type: ignore[override]
        """Return the masked tensor."""
        from jtorch.masked.maskedtensor.core import MaskedTensor
        return MaskedTensor(data, mask)

    @staticmethod
    def backward(ctx: Any, grad_output: Any) -> Any:        # type: ignore[override]
        """Return the gradient of the data. The mask has none."""
        return grad_output, None


class GetData(Function):
    """Reads the data. Its gradient is masked."""

    @staticmethod
    def forward(ctx: Any, input: MaskedTensor) -> Tensor:      # type: ignore[override]
        """Return the data without its history."""
        ctx.mask = input._masked_mask
        return input._masked_data.detach()

    @staticmethod
    def backward(ctx: Any, grad_output: Any) -> Any:        # type: ignore[override]
        """Return the gradient with the input's mask."""
        from jtorch.masked.maskedtensor.core import MaskedTensor
        return grad_output if isinstance(grad_output, MaskedTensor) else MaskedTensor(grad_output, ctx.mask)
