"""Normalization. See https://docs.pytorch.org/docs/stable/nn.functional.html#normalization-functions.

Statistics are computed in float32 for 16-bit inputs, as PyTorch does.
"""
from __future__ import annotations

import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jtorch.ops import arrival, check, promotion
from jtorch.ops.elementwise import widen
from jtorch.ops.facts import JOINTLY, Saves
from jtorch.ops.layout import AS_FIRST_SUGGESTS, LIKE_FIRST, RMS_NORMED, UNLESS_CONTIGUOUS
from jtorch.ops.nn._common import functional, not_implemented, require_float, size_text
from jtorch.ops.nn._normal_formulas import plus, times
from jtorch.ops.nn._standardize import standardize
from jtorch.ops.registry import Number, Tensor, op


def _shaped(shape: tuple[int, ...], dtype: Any, *vectors: jax.Array | None) -> list[jax.Array | None]:
    return [None if v is None else v.astype(dtype).reshape(shape) for v in vectors]


def _affine(x: jax.Array, weight: jax.Array | None, bias: jax.Array | None, shape: tuple[int, ...]) -> jax.Array:
    """Return ``x * weight + bias``, with weight and bias reshaped to ``shape``."""
    weight, bias = _shaped(shape, x.dtype, weight, bias)
    return plus(times(x, weight), bias)


def _normalized(x: jax.Array, weight: jax.Array | None, bias: jax.Array | None, shape: tuple[int, ...], axes: tuple[int, ...],
                eps: float, correction: int) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Return ``standardize`` with weight and bias in ``shape``. Empty inputs have nan statistics with gradients of 0."""
    if not x.size:
        out, mean, var = standardize(x, None, None, axes, eps)
        return _affine(out, weight, bias, shape), mean, var
    weight, bias = _shaped(shape, x.dtype, weight, bias)
    return standardize(x, weight, bias, axes, eps, correction)


def _check_normalized(input, normalized_shape: tuple[int, ...], separator: str = ", ", **affine) -> None:
    n = len(normalized_shape)
    check.require(n >= 1, "Expected normalized_shape to be at least 1-dimensional, i.e., containing at least one "
                  "element, but got normalized_shape = []")
    for name, x in affine.items():
        check.require(x is None or x.shape == normalized_shape, f"Expected {name} to be of same shape as "
                      f"normalized_shape, but got {name} of shape {list(x.shape) if x is not None else []} and "
                      f"normalized_shape = {list(normalized_shape)}")
    star = separator + ", ".join(map(str, normalized_shape))
    check.require(input.ndim >= n and input.shape[-n:] == normalized_shape, "Given "
                  f"normalized_shape={list(normalized_shape)}, expected input with shape [*{star}], but got input of "
                  f"size{list(input.shape)}")


def _same_dtype(input: jax.Array, *others: jax.Array | None) -> None:
    for x in others:
        check.require(x is None or x.dtype == input.dtype or input.dtype in (jnp.bfloat16, jnp.float16), "expected "
                      f"scalar type {check.scalar_name(input.dtype)} but found "
                      f"{check.scalar_name(x.dtype) if x is not None else ''}")


@functional(aliases=("layer_norm",), backward_name="NativeLayerNormBackward0", saves="all")
def layer_norm(input: Tensor, normalized_shape: tuple[int, ...], weight: Tensor | None = None,
               bias: Tensor | None = None, eps: float = 1e-5):
    """Return the input with mean 0 and variance 1 over its last dimensions. See torch.nn.functional.layer_norm."""
    shape = _int_shape(normalized_shape, "layer_norm")
    _check_normalized(input, shape, weight=weight, bias=bias)
    require_float(input, "LayerNormKernelImpl")
    _same_dtype(input, weight, bias)
    axes = tuple(range(input.ndim - len(shape), input.ndim))
    out, _, _ = standardize(widen(input), None, None, axes, eps)
    return _affine(out, weight, bias, (1,) * (input.ndim - len(shape)) + shape).astype(input.dtype)


def _int_shape(shape, name: str) -> tuple[int, ...]:
    check.require(isinstance(shape, (tuple, list)), f"{name}(): argument 'normalized_shape' (position 2) must be tuple "
                  f"of ints, not {type(shape).__name__}", TypeError)
    return tuple(shape)


@functional(aliases=("rms_norm",), backward_name=lambda t: "MulBackward0", layout=RMS_NORMED,
            saves=Saves(checks=lambda template, edges: (0, 1) if edges[0] is not None else ()))
def rms_norm(input: Tensor, normalized_shape: tuple[int, ...], weight: Tensor | None = None, eps: float | None = None):
    """Return the input divided by its root mean square over its last dimensions. See torch.nn.functional.rms_norm."""
    shape = _int_shape(normalized_shape, "rms_norm")
    _check_normalized(input, shape, "", weight=weight)      # PyTorch's message lacks the comma too
    x = widen(input)
    eps = float(jnp.finfo(x.dtype).eps) if eps is None else eps
    axes = tuple(range(input.ndim - len(shape), input.ndim))
    scale = lax.rsqrt(jnp.mean(jnp.square(x), axis=axes, keepdims=True) + eps)
    return _affine(x * scale, weight, None, (1,) * (input.ndim - len(shape)) + shape).astype(input.dtype)


def _check_group_norm(input: jax.Array, groups: int) -> None:
    check.require(input.ndim >= 2, f"Expected at least 2 dimensions for input tensor but received {input.ndim}")
    _check_more_than_one(input, (input.shape[0] * input.shape[1] // max(groups, 1), groups, *input.shape[2:]))
    check.require(groups > 0, f"Expected num groups to be greater than 0, got {groups}")
    check.require(input.shape[1] % groups == 0, "Expected number of channels in input to be divisible by num_groups, but got "
                  f"input of shape {list(input.shape)} and num_groups={groups}")


def _check_channels(input: jax.Array, **affine: jax.Array | None) -> None:
    for name, x in affine.items():
        check.require(x is None or x.shape == input.shape[1:2], f"Expected {name} to be a vector of size equal to the "
                      f"number of channels in input, but got {name} of shape {list(x.shape) if x is not None else []} "
                      f"and input of shape {list(input.shape)}")


def _check_more_than_one(input: jax.Array, shape: tuple[int, ...]) -> None:
    check.require(shape[0] * math.prod(shape[2:]) != 1, "Expected more than 1 value per channel when training, got "
                  f"input size {size_text(shape)}", ValueError)


@functional(aliases=("group_norm",), backward_name="NativeGroupNormBackward0", saves=JOINTLY, layout=AS_FIRST_SUGGESTS)
def group_norm(input: Tensor, num_groups: int, weight: Tensor | None = None, bias: Tensor | None = None,
               eps: float = 1e-5):
    """Return the input with mean 0 and variance 1 over each group of channels. See torch.nn.functional.group_norm."""
    _check_group_norm(input, num_groups)
    return _group_norm(input, weight, bias, num_groups, eps)[0]


def _group_norm(input: jax.Array, weight: jax.Array | None, bias: jax.Array | None, groups: int, eps: float) -> tuple:
    """Return (result, mean of each group, reciprocal deviation of each group)."""
    require_float(input, "GroupNormKernelImpl")
    _same_dtype(input, weight, bias)
    _check_channels(input, weight=weight, bias=bias)
    n, channels = input.shape[:2]
    grouped = widen(input).reshape(n, groups, -1 if input.size else 0)
    nothing = jnp.zeros((n, groups, 1), grouped.dtype)
    out, mean, var = standardize(grouped, None, None, (2,), eps) if input.size else (grouped, nothing, nothing + jnp.nan)
    out = _affine(out.reshape(input.shape), weight, bias, (1, channels) + (1,) * (input.ndim - 2))
    kept = next((x.dtype for x in (weight, bias) if x is not None), input.dtype)
    return out.astype(input.dtype), mean[:, :, 0].astype(kept), lax.rsqrt(var[:, :, 0] + eps).astype(kept)


@op(method=False, inplace=False, out=False, backward_name="NativeGroupNormBackward0", saves=JOINTLY)
def native_group_norm(input: Tensor, weight: Tensor | None, bias: Tensor | None, N: int, C: int, HxW: int, group: int,
                      eps: float):
    """Return group_norm with the mean and reciprocal deviation of each group. See torch.native_group_norm.

    Gradients flow through the statistics even if the result is not used; PyTorch drops them then.
    """
    check.require(input.size == N * C * HxW, "Expected X.numel() == N * C * HxW to be true, but got false.")
    check.require(C % group == 0, f"Expected number of channels in input to be divisible by num_groups, but got input of shape "
                  f"{list(input.shape)} and num_groups={group}")
    return _group_norm(input, weight, bias, group, eps)


def _check_batch_norm(input: jax.Array, **vectors: jax.Array | None) -> None:
    check.require(input.ndim >= 2, f"Expected 2D or higher input, got {input.ndim}D", IndexError)
    for name, x in vectors.items():
        check.require(x is None or x.size == input.shape[1], f"{name} should contain {input.shape[1]} elements not "
                      f"{x.size if x is not None else 0}")
    require_float(input, "batch_norm")


@op(method=False, function=False, inplace=False, out=False, differentiable=False, tested=False)
def _running_statistics(running_mean: Tensor, running_var: Tensor, mean: Tensor, var: Tensor, momentum: Tensor):
    """Return the running statistics updated by those of a batch."""
    return _moved(running_mean, mean, momentum), _moved(running_var, var, momentum)


def _moved(running: jax.Array, batch: jax.Array, momentum: jax.Array) -> jax.Array:
    wide = widen(running)
    m = momentum.astype(wide.dtype)
    return ((1 - m) * wide + m * batch.astype(wide.dtype)).astype(running.dtype)


@functional(writes="running_mean running_var", update_op="_running_statistics", backward_name="NativeBatchNormBackward0",
            saves=JOINTLY, layout=UNLESS_CONTIGUOUS)
def batch_norm(input: Tensor, running_mean: Tensor | None, running_var: Tensor | None, weight: Tensor | None = None,
               bias: Tensor | None = None, training: bool = False, momentum: Number = 0.1, eps: float = 1e-5):
    """Return the input with mean 0 and variance 1 per channel. See torch.nn.functional.batch_norm.

    In training with running statistics it also returns the mean and the unbiased variance.
    """
    if training:
        _check_more_than_one(input, input.shape)
        check.sizes_known((input,) if running_mean is not None else ())     # the unbiased variance needs the sizes' quotient
    else:
        check.require(running_mean is not None and running_var is not None,
                      f"running_{'mean' if running_mean is None else 'var'} must be defined in evaluation mode")
    check.require(eps > 0 or not training, f"batch_norm eps must be positive during training, but got {eps}", ValueError)
    check.require(eps >= 0, f"batch_norm eps must be non-negative, but got {eps}", ValueError)
    if input.ndim == 1 and input.size == 0:
        return input
    _check_batch_norm(input, running_mean=running_mean, running_var=running_var, weight=weight, bias=bias)
    x, per_channel = widen(input), (1, input.shape[1]) + (1,) * (input.ndim - 2)
    if not training:
        assert running_mean is not None
        assert running_var is not None
        mean, var = (s.astype(x.dtype).reshape(per_channel) for s in (running_mean, running_var))
        return _affine((x - mean) * lax.rsqrt(var + eps), weight, bias, per_channel).astype(input.dtype)
    correction = 0 if running_mean is None or running_var is None else 1
    out, mean, unbiased = _normalized(x, weight, bias, per_channel, (0, *range(2, input.ndim)), eps, correction)
    out = out.astype(input.dtype)
    if running_mean is None or running_var is None or not input.size:
        return out
    return out, _statistic(mean, running_mean), _statistic(unbiased, running_var)


def _statistic(of_batch: jax.Array, running: jax.Array) -> jax.Array:
    return lax.stop_gradient(of_batch).reshape(running.shape)


def _check_instance_norm(input: jax.Array, use_input_stats: bool) -> None:
    if use_input_stats and math.prod(input.shape[2:]) == 1:
        raise ValueError("Expected more than 1 spatial element when training, got input size " + size_text(input.shape))


@functional(writes="running_mean running_var", update_op="_running_statistics", backward_name="ViewBackward0",
            saves=Saves(checks=lambda template, edges: (0,)), arrival=arrival.params(4, 3))
def instance_norm(input: Tensor, running_mean: Tensor | None = None, running_var: Tensor | None = None,
                  weight: Tensor | None = None, bias: Tensor | None = None, use_input_stats: bool = True,
                  momentum: Number = 0.1, eps: float = 1e-5):
    """Return the input with mean 0 and variance 1 per sample and channel. See torch.nn.functional.instance_norm."""
    _check_instance_norm(input, use_input_stats)
    check.require(use_input_stats or (running_mean is not None and running_var is not None),
                  "Expected running_mean and running_var to be defined when use_input_stats is false")
    _check_batch_norm(input, running_mean=running_mean, running_var=running_var, weight=weight, bias=bias)
    if not use_input_stats:
        return batch_norm(input, running_mean, running_var, weight, bias, False, momentum, eps)
    x, per_channel = widen(input), (1, input.shape[1]) + (1,) * (input.ndim - 2)
    correction = 0 if running_mean is None or running_var is None else 1
    out, mean, unbiased = _normalized(x, weight, bias, per_channel, tuple(range(2, input.ndim)), eps, correction)
    out = out.astype(input.dtype)
    if running_mean is None or running_var is None:
        return out
    return (out, _statistic(jnp.mean(mean, axis=0), running_mean), _statistic(jnp.mean(unbiased, axis=0), running_var))


@functional(backward_name="DivBackward0", layout=LIKE_FIRST)
def local_response_norm(input: Tensor, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0):
    """Return the input divided by its neighbouring channels' power. See torch.nn.functional.local_response_norm."""
    check.require(input.ndim >= 3, "Expected 3D or higher dimensionality                          input (got "
                  f"{input.ndim} dimensions)", ValueError)
    if not promotion.is_inexact(np.dtype(input.dtype)) and input.dtype != jnp.int64:
        raise not_implemented("avg_pool3d_out_frame", input.dtype)
    if input.size == 0:
        return input
    squares = jnp.square(input)
    pads = [(0, 0, 0)] * input.ndim
    pads[1] = (size // 2, (size - 1) // 2, 0)
    padded = lax.pad(squares, jnp.zeros((), squares.dtype), pads)
    total = jnp.zeros_like(squares)
    for i in range(size):
        total = total + lax.slice_in_dim(padded, i, i + input.shape[1], axis=1)
    if not promotion.is_inexact(np.dtype(input.dtype)):
        mean = (total // size).astype(promotion.to_float(np.dtype(input.dtype)))
        return input.astype(mean.dtype) / jnp.power(mean * alpha + k, beta)
    return input / jnp.power(total / size * alpha + k, beta)
