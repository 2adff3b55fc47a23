"""A layer and the batch norm after it as one layer, for evaluation."""
from __future__ import annotations

import copy
from typing import Any

from jtorch._api import functions
from jtorch.tensor import Parameter


def _check_eval(layer: Any, bn: Any) -> None:
    if layer.training or bn.training:
        raise AssertionError("Fusion only for eval!")


def _check_statistics(bn: Any) -> None:
    if bn.running_mean is None or bn.running_var is None:
        raise AssertionError("bn.running_mean and bn.running_var must not be None")


def fuse_conv_bn_eval(conv: Any, bn: Any, transpose: bool = False) -> Any:
    """Return a copy of a convolution that includes a batch norm. See torch.nn.utils.fuse_conv_bn_eval.

    Both modules must be in evaluation mode. ``transpose`` is for transposed convolutions.

        >>> conv, bn = torch.nn.Conv2d(1, 2, 1).eval(), torch.nn.BatchNorm2d(2).eval()
        >>> x = torch.ones(1, 1, 1, 1)
        >>> torch.allclose(fuse_conv_bn_eval(conv, bn)(x), bn(conv(x)))
        True
    """
    _check_eval(conv, bn)
    fused = copy.deepcopy(conv)
    _check_statistics(bn)
    fused.weight, fused.bias = fuse_conv_bn_weights(fused.weight, fused.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight,
                                                    bn.bias, transpose)
    return fused


def fuse_conv_bn_weights(conv_w: Any, conv_b: Any, bn_rm: Any, bn_rv: Any, bn_eps: float, bn_w: Any, bn_b: Any,
                         transpose: bool = False) -> tuple[Parameter, Parameter]:
    """Return the weight and the bias of the fused convolution. See torch.nn.utils.fuse_conv_bn_weights."""
    bn_w = functions.ones_like(bn_rm) if bn_w is None else bn_w
    bn_b = functions.zeros_like(bn_rm) if bn_b is None else bn_b
    shape = [1] * conv_w.dim()
    shape[int(transpose)] = -1
    return _fused(conv_w, conv_b, bn_rm, bn_w * (bn_rv + bn_eps).rsqrt(), bn_b, shape)


def _fused(weight: Any, bias: Any, mean: Any, scale: Any, shift: Any, shape: list[int]) -> tuple[Parameter, Parameter]:
    dtype = weight.dtype if bias is None else bias.dtype
    bias = functions.zeros_like(mean) if bias is None else bias
    new_weight = (weight * scale.reshape(shape)).to(weight.dtype)
    new_bias = ((bias - mean) * scale + shift).to(dtype)
    return Parameter(new_weight, weight.requires_grad), Parameter(new_bias, bias.requires_grad)


def fuse_linear_bn_eval(linear: Any, bn: Any) -> Any:
    """Return a copy of a linear layer that includes a batch norm. See torch.nn.utils.fuse_linear_bn_eval."""
    _check_eval(linear, bn)
    fused = copy.deepcopy(linear)
    if bn.num_features not in (linear.out_features, 1):
        raise AssertionError("To fuse, linear.out_features == bn.num_features or bn.num_features == 1, got "
                             f"linear.out_features={linear.out_features} and bn.num_features={bn.num_features}")
    _check_statistics(bn)
    fused.weight, fused.bias = fuse_linear_bn_weights(fused.weight, fused.bias, bn.running_mean, bn.running_var, bn.eps,
                                                      bn.weight, bn.bias)
    return fused


def fuse_linear_bn_weights(linear_w: Any, linear_b: Any, bn_rm: Any, bn_rv: Any, bn_eps: float, bn_w: Any,
                           bn_b: Any) -> tuple[Parameter, Parameter]:
    """Return the weight and the bias of the fused linear layer. See torch.nn.utils.fuse_linear_bn_weights."""
    return _fused(linear_w, linear_b, bn_rm, bn_w * (bn_rv + bn_eps).rsqrt(), bn_b, [-1, 1])


__all__ = ["fuse_conv_bn_eval", "fuse_conv_bn_weights", "fuse_linear_bn_eval", "fuse_linear_bn_weights"]
