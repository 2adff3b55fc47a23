"""The gradients of convolutions as functions. See torch.nn.grad."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jtorch.autograd import grad
from jtorch.nn import functional as F
from jtorch.nn.modules._make import empty
from jtorch.no_grad import enable_grad, mode
from jtorch.tensor import Tensor

__all__ = ["conv1d_input", "conv1d_weight", "conv2d_input", "conv2d_weight", "conv3d_input", "conv3d_weight"]

Sizes = int | tuple[int, ...]


def _gradient(n: int, wanted: Tensor, input: Tensor, weight: Tensor, grad_output: Tensor, options: tuple) -> Any:
    """Return the gradient of an n-dimensional convolution with respect to ``wanted``, its input or weight."""
    differentiable = mode.grad
    with enable_grad():
        out = getattr(F, f"conv{n}d")(input, weight, None, *options)
        return grad(out, wanted, grad_output, create_graph=differentiable)[0]


def _for_input(n: int, size: Sequence[int], weight: Tensor, grad_output: Tensor, *options: Any) -> Any:
    input = empty(*size, device=weight.device, dtype=weight.dtype).requires_grad_()
    return _gradient(n, input, input, weight, grad_output, options)


def _for_weight(n: int, input: Tensor, size: Sequence[int], grad_output: Tensor, *options: Any) -> Any:
    weight = empty(*size, device=input.device, dtype=input.dtype).requires_grad_()
    return _gradient(n, weight, input, weight, grad_output, options)


def conv1d_input(input_size: Sequence[int], weight: Tensor, grad_output: Tensor, stride: Sizes = 1, padding: Sizes = 0,
                 dilation: Sizes = 1, groups: int = 1) -> Any:
    """Return the gradient of conv1d with respect to its input. See torch.nn.grad.conv1d_input."""
    return _for_input(1, input_size, weight, grad_output, stride, padding, dilation, groups)


def conv1d_weight(input: Tensor, weight_size: Sequence[int], grad_output: Tensor, stride: Sizes = 1, padding: Sizes = 0,
                  dilation: Sizes = 1, groups: int = 1) -> Any:
    """Return the gradient of conv1d with respect to its weight. See torch.nn.grad.conv1d_weight."""
    return _for_weight(1, input, weight_size, grad_output, stride, padding, dilation, groups)


def conv2d_input(input_size: Sequence[int], weight: Tensor, grad_output: Tensor, stride: Sizes = 1, padding: Sizes = 0,
                 dilation: Sizes = 1, groups: int = 1) -> Any:
    """Return the gradient of conv2d with respect to its input. See torch.nn.grad.conv2d_input."""
    return _for_input(2, input_size, weight, grad_output, stride, padding, dilation, groups)


def conv2d_weight(input: Tensor, weight_size: Sequence[int], grad_output: Tensor, stride: Sizes = 1, padding: Sizes = 0,
                  dilation: Sizes = 1, groups: int = 1) -> Any:
    """Return the gradient of conv2d with respect to its weight. See torch.nn.grad.conv2d_weight."""
    return _for_weight(2, input, weight_size, grad_output, stride, padding, dilation, groups)


def conv3d_input(input_size: Sequence[int], weight: Tensor, grad_output: Tensor, stride: Sizes = 1, padding: Sizes = 0,
                 dilation: Sizes = 1, groups: int = 1) -> Any:
    """Return the gradient of conv3d with respect to its input. See torch.nn.grad.conv3d_input."""
    return _for_input(3, input_size, weight, grad_output, stride, padding, dilation, groups)


def conv3d_weight(input: Tensor, weight_size: Sequence[int], grad_output: Tensor, stride: Sizes = 1, padding: Sizes = 0,
                  dilation: Sizes = 1, groups: int = 1) -> Any:
    """Return the gradient of conv3d with respect to its weight. See torch.nn.grad.conv3d_weight."""
    return _for_weight(3, input, weight_size, grad_output, stride, padding, dilation, groups)
