"""Convolution of signals laid out as (time, batch, channel). See torch.nn.functional.conv_tbc."""
from __future__ import annotations

from jax import lax

from jtorch.ops import check
from jtorch.ops.nn._conv_config import precision_of_convolutions
from jtorch.ops.registry import Tensor, op


@op(method=False, out=False, aliases=("nn.functional.conv_tbc",))
def conv_tbc(input: Tensor, weight: Tensor, bias: Tensor, pad: int = 0):
    """Return a one-dimensional convolution along the first dim; the weight is (width, in, out). See torch.conv_tbc."""
    check.require(input.ndim == 3, "Input must have 3 dims: time, batch, in_channel")
    check.require(weight.ndim == 3, "Weight tensor must have 3 dims: kernel_width, in_channels, out_channels.")
    check.require(bias.ndim == 1, "Bias must be 1-D")
    check.require(input.shape[2] == weight.shape[1], "Input dim 2 (input channels) is not == dim 1 in the weight tensor")
    check.require(weight.shape[2] == bias.shape[0], "Bias size must equal dim 2 in the weight tensor (output channels).")
    made = lax.conv_general_dilated(input, weight, (1,), [(pad, pad)], dimension_numbers=("WNC", "WIO", "WNC"),
                                    precision=precision_of_convolutions())
    return made + bias[None, None, :]
