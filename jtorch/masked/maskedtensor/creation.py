"""The functions that create masked tensors."""
from __future__ import annotations

from jtorch.masked.maskedtensor.core import MaskedTensor
from jtorch.tensor import Tensor


def masked_tensor(data: Tensor, mask: Tensor, requires_grad: bool = False) -> MaskedTensor:
    """Return a masked tensor with copies of ``data`` and ``mask``, without history. See torch.masked.masked_tensor.

    ``data`` and ``mask`` have one shape and layout (strided, COO or CSR), and ``mask`` is bool: True marks the valid elements.

    Example:
        >>> import jtorch as torch
        >>> torch.masked.masked_tensor(torch.tensor([1.0, 2.0]), torch.tensor([True, False])).sum()
        MaskedTensor(  1.0000, True)

    """
    return MaskedTensor(data, mask, requires_grad)


def as_masked_tensor(data: Tensor, mask: Tensor) -> MaskedTensor:
    """Return a masked tensor through which gradients flow to ``data``. See torch.masked.as_masked_tensor.

    The gradient of ``data`` is a masked tensor.

    Example:
        >>> import jtorch as torch
        >>> x = torch.ones(2, requires_grad=True)
        >>> torch.masked.as_masked_tensor(x, torch.tensor([True, False])).sum().backward()
        >>> x.grad
        MaskedTensor(
          [  1.0000,       --]
        )

    """
    return MaskedTensor._from_values(data, mask)
