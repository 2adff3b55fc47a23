"""Convolution functions. See https://docs.pytorch.org/docs/stable/nn.functional.html#convolution-functions."""
from __future__ import annotations

from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np

import jtorch.dtype as dtypes
from jtorch._base import warned
from jtorch.ops import check
from jtorch.ops.facts import JOINTLY
from jtorch.ops.layout import AS_ANY_SUGGESTS
from jtorch.ops.nn._common import functional
from jtorch.ops.nn._convolve import convolve, convolve_transposed
from jtorch.ops.registry import Tensor


def _per_dim(value: int | Sequence[int], n: int, name: str) -> tuple[int, ...]:
    values = tuple(value) if isinstance(value, (tuple, list)) else (value,)
    check.require(len(values) in (1, n), f"expected {name} to be a single integer value or a list of {n} values to "
                  f"match the convolution dimensions, but got {name}={list(values)}")
    return values * n if len(values) == 1 else values


def _cpp(x: jax.Array) -> str:
    names = {"Half": "c10::Half", "BFloat16": "c10::BFloat16", "Long": "long int",
             "ComplexFloat": "c10::complex<float>", "ComplexDouble": "c10::complex<double>"}
    scalar = dtypes.of_numpy(np.dtype(x.dtype)).scalar_name
    return names.get(scalar, scalar.lower())


def _check_arguments(n: int, stride, dilation, groups: int, padding) -> None:
    check.require(groups > 0, "non-positive groups is not supported")
    check.require(all(p >= 0 for p in padding), "negative padding is not supported")
    check.require(all(s > 0 for s in stride), "non-positive stride is not supported")
    check.require(all(d >= 0 for d in dilation), "dilation should be greater than zero")
    check.require(all(d > 0 for d in dilation), f"dilation should be greater than zero, but got {list(dilation)}")


def _check_shapes(input, weight, bias, groups: int, transposed: bool) -> None:
    size = list(weight.shape)
    given = f"transposed={int(transposed)}" if transposed else f"groups={groups}"
    check.require(weight.shape[0] >= groups, f"Given groups={groups}, expected weight to be at least {groups} at "
                  f"dimension 0, but got weight of size {size} instead")
    check.require(weight.shape[0] % groups == 0, f"Given groups={groups}, expected weight to be divisible by {groups} "
                  f"at dimension 0, but got weight of size [{size}] instead")
    expected = weight.shape[0] if transposed else weight.shape[1] * groups
    check.require(input.shape[1] == expected, f"Given {given}, weight of size {size}, expected "
                  f"input{list(input.shape)} to have {expected} channels, but got {input.shape[1]} channels instead")
    outputs = weight.shape[1] * groups if transposed else weight.shape[0]
    check.require(bias is None or bias.shape == (outputs,), f"Given {'transposed=1, ' if transposed else ''}weight of "
                  f"size {size}, expected bias to be 1-dimensional with {outputs} elements, but got bias of size "
                  f"{list(bias.shape) if bias is not None else []} instead")


def _check_dtypes(input: jax.Array, weight: jax.Array, bias: jax.Array | None) -> None:
    check.require(input.dtype == weight.dtype, f"expected scalar type {check.scalar_name(input.dtype)} but found "
                  f"{check.scalar_name(weight.dtype)}")
    check.require(bias is None or bias.dtype == input.dtype, f"Input type ({_cpp(input)}) and bias type "
                  f"({_cpp(bias) if bias is not None else ''}) should be the same")


def _batched(input: jax.Array, n: int, name: str) -> jax.Array:
    check.require(input.ndim in (n + 1, n + 2), f"Expected {n + 1}D (unbatched) or {n + 2}D (batched) input to {name}, "
                  f"but got input of size: {list(input.shape)}")
    return input if input.ndim == n + 2 else input[None]


def _finished(out: jax.Array, bias: jax.Array | None, like: jax.Array, unbatched: bool) -> jax.Array:
    """Return the result with the bias added, in the dtype of ``like``."""
    if bias is not None:
        out = out + bias.astype(out.dtype).reshape((1, -1) + (1,) * (out.ndim - 2))
    return (out[0] if unbatched else out).astype(like.dtype)


def _padding_pairs(padding, n: int, kernel, stride, dilation) -> list[tuple[int, int]]:
    if padding == "valid":
        return [(0, 0)] * n
    if padding == "same":
        check.require(all(s == 1 for s in stride), "padding='same' is not supported for strided convolutions")
        totals = [d * (k - 1) for d, k in zip(dilation, kernel, strict=True)]
        if any(t % 2 for t in totals):
            warned.warn_once("Using padding='same' with even kernel lengths and odd dilation may require a zero-padded copy of "
                             "the input be created")
        return [(t // 2, t - t // 2) for t in totals]
    check.require(not isinstance(padding, str), f"Invalid padding string: '{padding}'")
    return [(p, p) for p in _per_dim(padding, n, "padding")]


def _conv(n: int, input, weight, bias, stride, padding, dilation, groups: int) -> jax.Array:
    x = _batched(input, n, f"conv{n}d")
    m = weight.ndim - 2
    stride, dilation = _per_dim(stride, m, "stride"), _per_dim(dilation, m, "dilation")
    check.require(m > 0, "weight should have at least three dimensions")
    check.require(m == n, f"Expected {m + 2}-dimensional input for {m + 2}-dimensional weight{list(weight.shape)}, but "
                  f"got {x.ndim}-dimensional input of size {list(x.shape)} instead")
    kernel = weight.shape[2:]
    pairs = _padding_pairs(padding, n, kernel, stride, dilation)
    _check_arguments(n, stride, dilation, groups, [p for pair in pairs for p in pair])
    _check_shapes(x, weight, bias, groups, transposed=False)
    _check_dtypes(input, weight, bias)
    padded = [s + low + high for s, (low, high) in zip(x.shape[2:], pairs, strict=True)]
    reach = [d * (k - 1) + 1 for d, k in zip(dilation, kernel, strict=True)]
    by = " x ".join
    check.require(all(p >= r for p, r in zip(padded, reach, strict=True)), "Calculated padded input size per channel: "
                  f"({by(map(str, padded))}). Kernel size: ({by(map(str, reach))}). Kernel size can't be greater than "
                  "actual input size")
    check.require(0 in x.shape[:2] or 0 not in x.shape, "Only zero batch or zero channel inputs are supported, but got input "
                  f"shape: {list(x.shape)}")
    if x.shape[1] == 0:     # PyTorch treats inputs without channels separately
        made = [(p - r) // s + 1 for p, r, s in zip(padded, reach, stride, strict=True)]
        return _finished(jnp.zeros((x.shape[0], 0, *made), x.dtype), None, input, input.ndim == n + 1)
    return _finished(convolve(x, weight, stride, pairs, dilation, groups), bias, input, input.ndim == n + 1)


@functional(aliases=("conv1d",), backward_name="ConvolutionBackward0", saves=JOINTLY)
def conv1d(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: int | tuple[int, ...] = 1,
           padding: int | str | tuple[int, ...] = 0, dilation: int | tuple[int, ...] = 1, groups: int = 1):
    """Return the cross-correlation with each filter over one dimension. See torch.nn.functional.conv1d."""
    return _conv(1, input, weight, bias, stride, padding, dilation, groups)


@functional(aliases=("conv2d",), backward_name="ConvolutionBackward0", saves=JOINTLY, layout=AS_ANY_SUGGESTS)
def conv2d(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: int | tuple[int, ...] = 1,
           padding: int | str | tuple[int, ...] = 0, dilation: int | tuple[int, ...] = 1, groups: int = 1):
    """Return the cross-correlation with each filter over two dimensions. See torch.nn.functional.conv2d."""
    return _conv(2, input, weight, bias, stride, padding, dilation, groups)


@functional(aliases=("conv3d",), backward_name="ConvolutionBackward0", saves=JOINTLY)
def conv3d(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: int | tuple[int, ...] = 1,
           padding: int | str | tuple[int, ...] = 0, dilation: int | tuple[int, ...] = 1, groups: int = 1):
    """Return the cross-correlation with each filter over three dimensions. See torch.nn.functional.conv3d."""
    return _conv(3, input, weight, bias, stride, padding, dilation, groups)


def _check_output_padding(output_padding, stride, dilation) -> None:
    names = ("depth", "height", "width")[-max(len(stride), 2):]
    if len(stride) == 1:        # PyTorch computes it as a 2-dim convolution
        output_padding, stride, dilation = ((0, *output_padding), (1, *stride), (1, *dilation))
    text = " ".join(f"{what}_{name}: {v}" for what, values in
                    (("output_padding", output_padding), ("stride", stride), ("dilation", dilation))
                    for name, v in zip(names, values, strict=True))
    fits = all(o < s or o < d for o, s, d in zip(output_padding, stride, dilation, strict=True))
    check.require(fits, f"output padding must be smaller than either stride or dilation, but got {text}")


def _conv_transpose(n: int, input, weight, bias, stride, padding, output_padding, groups: int, dilation) -> jax.Array:
    check.require(not isinstance(padding, str), f"conv_transpose{n}d(): argument 'padding' must be tuple of ints, not "
                  "str",
                  TypeError)
    x = _batched(input, n, f"conv_transpose{n}d")
    m = weight.ndim - 2
    stride, padding, output_padding, dilation = (_per_dim(v, m, name) for v, name in (
        (stride, "stride"), (padding, "padding"), (output_padding, "output_padding"), (dilation, "dilation")))
    _check_arguments(n, stride, dilation, groups, padding)
    check.require(all(o >= 0 for o in output_padding), "negative output_padding is not supported")
    _check_shapes(x, weight, bias, groups, transposed=True)
    _check_dtypes(input, weight, bias)
    _check_output_padding(output_padding, stride, dilation)
    reach = [d * (k - 1) for d, k in zip(dilation, weight.shape[2:], strict=True)]
    sizes = [(i - 1) * s - 2 * p + r + o + 1
             for i, s, p, r, o in zip(x.shape[2:], stride, padding, reach, output_padding, strict=True)]
    by = " x ".join
    check.require(min(sizes) > 0, f"Given input size per channel: ({by(map(str, x.shape[2:]))}). Calculated output "
                  f"size per channel: ({by(map(str, sizes))}). Output size is too small")
    out = convolve_transposed(x, weight, stride, padding, dilation, groups, tuple(sizes))
    return _finished(out, bias, input, input.ndim == n + 1)


@functional(aliases=("conv_transpose1d",), backward_name="ConvolutionBackward0", saves=JOINTLY, loops=True)
def conv_transpose1d(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: int | tuple[int, ...] = 1,
                     padding: int | tuple[int, ...] = 0, output_padding: int | tuple[int, ...] = 0, groups: int = 1,
                     dilation: int | tuple[int, ...] = 1):
    """Return the transpose of conv1d as a linear map. See torch.nn.functional.conv_transpose1d."""
    return _conv_transpose(1, input, weight, bias, stride, padding, output_padding, groups, dilation)


@functional(aliases=("conv_transpose2d",), backward_name="ConvolutionBackward0", saves=JOINTLY, layout=AS_ANY_SUGGESTS,
            loops=True)
def conv_transpose2d(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: int | tuple[int, ...] = 1,
                     padding: int | tuple[int, ...] = 0, output_padding: int | tuple[int, ...] = 0, groups: int = 1,
                     dilation: int | tuple[int, ...] = 1):
    """Return the transpose of conv2d as a linear map. See torch.nn.functional.conv_transpose2d."""
    return _conv_transpose(2, input, weight, bias, stride, padding, output_padding, groups, dilation)


@functional(aliases=("conv_transpose3d",), backward_name="ConvolutionBackward0", saves=JOINTLY, loops=True)
def conv_transpose3d(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: int | tuple[int, ...] = 1,
                     padding: int | tuple[int, ...] = 0, output_padding: int | tuple[int, ...] = 0, groups: int = 1,
                     dilation: int | tuple[int, ...] = 1):
    """Return the transpose of conv3d as a linear map. See torch.nn.functional.conv_transpose3d."""
    return _conv_transpose(3, input, weight, bias, stride, padding, output_padding, groups, dilation)
