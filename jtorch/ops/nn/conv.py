"""Convolution functions. See https://docs.pytorch.org/docs/stable/nn.functional.html#convolution-functions."""
from __future__ import annotations

import functools
import math
import operator
from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

import jtorch.dtype as dtypes
from jtorch.ops import check
from jtorch.ops.nn._common import functional, widen
from jtorch.ops.registry import Tensor

_LETTERS = {1: "W", 2: "HW", 3: "DHW"}


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


# Many channels are left to XLA. On the CPU it gives such a convolution to YNNPACK, which runs one of 64 channels in one thread:
# 64 to 64 of 32x32 at batch 16, 3x3, took 16 ms, its two gradients 30 (PyTorch: 10 and 20). A product for each image in a scan
# (of the filters with nine shifted copies, made anew in backward) took 10 and 21 in two threads, 20 and 43 where the second core
# was busy, and at best as long with 128 channels or more, with 32, by strides, or at batch 1 to 4. Winograd's way took 14.5, a
# convolution over three dimensions twice as long, one with the channels last the same.
def _run(x, weight, n: int, stride, padding, dilation, groups: int, input_dilation=None) -> jax.Array:
    if input_dilation is None and math.prod(weight.shape[2:]) <= MAX_TAPS:
        if groups == x.shape[1] == weight.shape[0] > 1:
            return _depthwise(x, weight, stride, padding, dilation)
        if groups == 1 and x.dtype in _PRODUCTS:
            if x.shape[1] == 1:
                return _of_one_channel(x, weight, stride, padding, dilation)
            if math.prod(weight.shape[2:]) == 1 and not any(map(any, padding)):
                return _pointwise(x, weight, stride)
    letters = _LETTERS[n]
    spec = lax.conv_dimension_numbers(x.shape, weight.shape, (f"NC{letters}", f"OI{letters}", f"NC{letters}"))
    return lax.conv_general_dilated(x, weight, stride, padding, lhs_dilation=input_dilation, rhs_dilation=dilation,
                                    dimension_numbers=spec, feature_group_count=groups, preferred_element_type=x.dtype)


MAX_TAPS = 25
_PRODUCTS = (np.float32, np.float64, np.complex64, np.complex128)


def _parts(x: jax.Array, kernel, stride, padding, dilation) -> list[jax.Array]:
    """For each place of the filter, the elements of the (padded) input that it meets."""
    x = jnp.pad(x, ((0, 0), (0, 0), *padding))
    sizes = [(size - d * (k - 1) - 1) // s + 1 for size, k, s, d in zip(x.shape[2:], kernel, stride, dilation, strict=True)]
    parts = []
    for place in np.ndindex(*kernel):
        start = [i * d for i, d in zip(place, dilation, strict=True)]
        stop = [a + (size - 1) * s + 1 for a, size, s in zip(start, sizes, stride, strict=True)]
        parts.append(lax.slice(x, (0, 0, *start), (*x.shape[:2], *stop), (1, 1, *stride)))
    return parts


# XLA:CPU runs a depthwise convolution through its loop for any convolution. As a sum of shifted products, which it fuses, one
# of 32 channels of 32x32 with 3x3 filters at batch 8 took 0.24 ms instead of 15.8, its gradients 2.0 instead of 17.9; with
# 7x7 filters the gradient of the filters became slower.
def _depthwise(x: jax.Array, weight: jax.Array, stride, padding, dilation) -> jax.Array:
    """The convolution of each channel with a filter of its own: a sum over the filter's places."""
    dtype = x.dtype
    parts, weight = _parts(widen(x), weight.shape[2:], stride, padding, dilation), widen(weight)
    taps = weight.reshape(weight.shape[0], -1).T
    return functools.reduce(operator.add, [part * tap.reshape(1, -1, *[1] * (x.ndim - 2))
                                           for part, tap in zip(parts, taps, strict=True)]).astype(dtype)


# Of grey pictures of 28x28, with the gradient of the filters: 16 filters of 3x3 at batch 32 took XLA's convolution 1.5 ms and a
# product for each picture 0.64 (PyTorch 1.3), 32 filters of 5x5 at batch 128 12.0 and 5.8; the gradient of the pictures 3 to 6
# times less. With 3 channels both take about as long, with 16 the convolution is the quicker one.
def _of_one_channel(x: jax.Array, weight: jax.Array, stride, padding, dilation) -> jax.Array:
    """The convolution as a product of the filters with what each of their places meets."""
    parts = _parts(x, weight.shape[2:], stride, padding, dilation)
    return _product_of_each(weight.reshape(weight.shape[0], -1), jnp.concatenate(parts, 1))


def _product_of_each(weight: jax.Array, x: jax.Array) -> jax.Array:
    """A matrix product for each sample of the batch: from ``x``'s channels to ``weight``'s rows."""
    made = jnp.matmul(jnp.broadcast_to(weight, (x.shape[0], *weight.shape)), x.reshape(*x.shape[:2], math.prod(x.shape[2:])))
    return made.reshape(x.shape[0], weight.shape[0], *x.shape[2:])


# A convolution with 1x1 filters is a matrix product. With its gradients XLA's convolution took 11.0 ms for 64 to 64 channels of
# 32x32 at batch 16, 5.6 for 64 to 256 of 56x56, 2.7 for 512 to 128 of 7x7 at batch 8; a product for each image took 3.6, 2.8 and
# 4.5, one product with the channels last 5.4, 3.2 and 1.3 (PyTorch: 2.7, 1.8, 1.1). Sums of shifted products for 3x3 filters of
# many channels took 1.3 to 2.4 times as long as the convolution.
MANY_PLACES = 256


def _pointwise(x: jax.Array, weight: jax.Array, stride) -> jax.Array:
    """The convolution with filters of one place."""
    x, weight = x[(..., *[slice(None, None, s) for s in stride])], weight.reshape(weight.shape[:2])
    if math.prod(x.shape[2:]) >= MANY_PLACES:
        return _product_of_each(weight, x)
    return jnp.moveaxis(jnp.matmul(jnp.moveaxis(x, 1, -1), weight.T), -1, 1)


def _finished(out: jax.Array, bias: jax.Array | None, unbatched: bool) -> jax.Array:
    if bias is not None:
        out = out + bias.reshape((1, -1) + (1,) * (out.ndim - 2))
    return out[0] if unbatched else out


def _padding_pairs(padding, n: int, kernel, stride, dilation) -> list[tuple[int, int]]:
    if padding == "valid":
        return [(0, 0)] * n
    if padding == "same":
        check.require(all(s == 1 for s in stride), "padding='same' is not supported for strided convolutions")
        totals = [d * (k - 1) for d, k in zip(dilation, kernel, strict=True)]
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
    return _finished(_run(x, weight, n, stride, pairs, dilation, groups), bias, input.ndim == n + 1)


@functional(aliases=("conv1d",), backward_name="ConvolutionBackward0")
def conv1d(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: int | tuple[int, ...] = 1,
           padding: int | str | tuple[int, ...] = 0, dilation: int | tuple[int, ...] = 1, groups: int = 1):
    """The cross-correlation with each filter over one dimension. See torch.nn.functional.conv1d."""
    return _conv(1, input, weight, bias, stride, padding, dilation, groups)


@functional(aliases=("conv2d",), backward_name="ConvolutionBackward0")
def conv2d(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: int | tuple[int, ...] = 1,
           padding: int | str | tuple[int, ...] = 0, dilation: int | tuple[int, ...] = 1, groups: int = 1):
    """The cross-correlation with each filter over two dimensions. See torch.nn.functional.conv2d."""
    return _conv(2, input, weight, bias, stride, padding, dilation, groups)


@functional(aliases=("conv3d",), backward_name="ConvolutionBackward0")
def conv3d(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: int | tuple[int, ...] = 1,
           padding: int | str | tuple[int, ...] = 0, dilation: int | tuple[int, ...] = 1, groups: int = 1):
    """The cross-correlation with each filter over three dimensions. See torch.nn.functional.conv3d."""
    return _conv(3, input, weight, bias, stride, padding, dilation, groups)


def _check_output_padding(output_padding, stride, dilation) -> None:
    names = ("depth", "height", "width")[-max(len(stride), 2):]
    if len(stride) == 1:        # PyTorch runs it as two-dimensional
        output_padding, stride, dilation = ((0, *output_padding), (1, *stride), (1, *dilation))
    text = " ".join(f"{what}_{name}: {v}" for what, values in
                    (("output_padding", output_padding), ("stride", stride), ("dilation", dilation))
                    for name, v in zip(names, values, strict=True))
    fits = all(o < s or o < d for o, s, d in zip(output_padding, stride, dilation, strict=True))
    check.require(fits, f"output padding must be smaller than either stride or dilation, but got {text}")


def _flipped(weight: jax.Array, groups: int) -> jax.Array:
    """The filters of the convolution that a transposed one is: (in, out/groups, …) to (out, in/groups, …), reversed."""
    inputs, per_group, *kernel = weight.shape
    w = weight.reshape(groups, inputs // groups, per_group, *kernel)
    w = jnp.swapaxes(w, 1, 2).reshape(groups * per_group, inputs // groups, *kernel)
    return jnp.flip(w, axis=tuple(range(2, w.ndim)))


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
    pairs = [(r - p, r - p + o) for r, p, o in zip(reach, padding, output_padding, strict=True)]
    out = _run(x, _flipped(weight, groups), n, (1,) * n, pairs, dilation, groups, stride)
    return _finished(out, bias, input.ndim == n + 1)


@functional(aliases=("conv_transpose1d",), backward_name="ConvolutionBackward0")
def conv_transpose1d(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: int | tuple[int, ...] = 1,
                     padding: int | tuple[int, ...] = 0, output_padding: int | tuple[int, ...] = 0, groups: int = 1,
                     dilation: int | tuple[int, ...] = 1):
    """The transpose of conv1d as a linear map. See torch.nn.functional.conv_transpose1d."""
    return _conv_transpose(1, input, weight, bias, stride, padding, output_padding, groups, dilation)


@functional(aliases=("conv_transpose2d",), backward_name="ConvolutionBackward0")
def conv_transpose2d(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: int | tuple[int, ...] = 1,
                     padding: int | tuple[int, ...] = 0, output_padding: int | tuple[int, ...] = 0, groups: int = 1,
                     dilation: int | tuple[int, ...] = 1):
    """The transpose of conv2d as a linear map. See torch.nn.functional.conv_transpose2d."""
    return _conv_transpose(2, input, weight, bias, stride, padding, output_padding, groups, dilation)


@functional(aliases=("conv_transpose3d",), backward_name="ConvolutionBackward0")
def conv_transpose3d(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: int | tuple[int, ...] = 1,
                     padding: int | tuple[int, ...] = 0, output_padding: int | tuple[int, ...] = 0, groups: int = 1,
                     dilation: int | tuple[int, ...] = 1):
    """The transpose of conv3d as a linear map. See torch.nn.functional.conv_transpose3d."""
    return _conv_transpose(3, input, weight, bias, stride, padding, output_padding, groups, dilation)
