"""Rearranging channels and patches. See https://docs.pytorch.org/docs/stable/nn.functional.html#vision-functions."""
from __future__ import annotations

import itertools
import math

import jax
import jax.numpy as jnp
from jax import lax

from jtorch.ops import check
from jtorch.ops.layout import AS_FIRST_SUGGESTS
from jtorch.ops.nn._common import functional, ntuple
from jtorch.ops.registry import Tensor


@functional(aliases=("pixel_shuffle",), saves="none", layout=AS_FIRST_SUGGESTS)
def pixel_shuffle(input: Tensor, upscale_factor: int):
    """Return channels spread over ``upscale_factor`` times as many rows and columns. See torch.nn.functional.pixel_shuffle."""
    check.require(input.ndim >= 3, "pixel_shuffle expects input to have at least 3 dimensions, but got input with "
                  f"{input.ndim} dimension(s)")
    r = upscale_factor
    check.require(r > 0, f"pixel_shuffle expects a positive upscale_factor, but got {r}")
    *batch, c, h, w = input.shape
    check.require(c % (r * r) == 0, "pixel_shuffle expects its input's 'channel' dimension to be divisible by the "
                  f"square of upscale_factor, but input.size(-3)={c} is not divisible by {r * r}")
    x = input.reshape(*batch, c // (r * r), r, r, h, w)
    k = len(batch)
    return x.transpose(*range(k + 1), k + 3, k + 1, k + 4, k + 2).reshape(*batch, c // (r * r), h * r, w * r)


@functional(aliases=("pixel_unshuffle",), saves="none", layout=AS_FIRST_SUGGESTS)
def pixel_unshuffle(input: Tensor, downscale_factor: int):
    """Return the inverse of pixel_shuffle. See torch.nn.functional.pixel_unshuffle."""
    check.require(input.ndim >= 3, "pixel_unshuffle expects input to have at least 3 dimensions, but got input with "
                  f"{input.ndim} dimension(s)")
    r = downscale_factor
    check.require(r > 0, f"pixel_unshuffle expects a positive downscale_factor, but got {r}")
    *batch, c, h, w = input.shape
    for name, size, dim in (("height", h, -2), ("width", w, -1)):
        check.require(size % r == 0, f"pixel_unshuffle expects {name} to be divisible by downscale_factor, but "
                      f"input.size({dim})={size} is not divisible by {r}")
    x = input.reshape(*batch, c, h // r, r, w // r, r)
    k = len(batch)
    return x.transpose(*range(k + 1), k + 2, k + 4, k + 1, k + 3).reshape(*batch, c * r * r, h // r, w // r)


@functional(aliases=("channel_shuffle",), saves="none", layout=AS_FIRST_SUGGESTS)
def channel_shuffle(input: Tensor, groups: int):
    """Return the channels of ``groups`` groups, dealt out in turn. See torch.nn.functional.channel_shuffle."""
    check.require(input.ndim > 2, "channel_shuffle expects input with > 2 dims, but got input with sizes "
                  f"{list(input.shape)}")
    check.require(groups > 0, f"Number of groups to divide channels in must be positive. Value of groups:{groups}")
    n, c = input.shape[:2]
    check.require(c % groups == 0, f"Number of channels must be divisible by groups. Got {c} channels and {groups} "
                  "groups.")
    return jnp.swapaxes(input.reshape(n, groups, c // groups, *input.shape[2:]), 1, 2).reshape(input.shape)


def _blocks(size, kernel, dilation, padding, stride) -> tuple[int, int]:
    high, wide = ((n + 2 * p - d * (k - 1) - 1) // s + 1
                  for n, k, d, p, s in zip(size, kernel, dilation, padding, stride, strict=True))
    return high, wide


def _patches(x: jax.Array, kernel, dilation, padding, stride) -> jax.Array:
    """Convert (N, C, H, W) to (N, C * taps, blocks)."""
    n, c, *size = x.shape
    out = _blocks(size, kernel, dilation, padding, stride)
    x = jnp.pad(x, ((0, 0), (0, 0), *((p, p) for p in padding)))
    taps = []
    for tap in itertools.product(*map(range, kernel)):
        start = [t * d for t, d in zip(tap, dilation, strict=True)]
        stop = [a + (o - 1) * s + 1 for a, o, s in zip(start, out, stride, strict=True)]
        taps.append(lax.slice(x, (0, 0, *start), (n, c, *stop), (1, 1, *stride)))
    return jnp.stack(taps, axis=2).reshape(n, c * math.prod(kernel), math.prod(out))


def _pairs(name: str, kernel_size, dilation, padding, stride) -> list[tuple[int, ...]]:
    pairs = [ntuple(v, 2, label, name) for v, label in
             ((kernel_size, "kernel_size"), (dilation, "dilation"), (padding, "padding"), (stride, "stride"))]
    for pair, label, low in zip(pairs, ("kernel size", "dilation", "padding", "stride"), (1, 1, 0, 1), strict=True):
        kind = "greater than zero" if low else "non negative"
        keys = {"kernel size": "kernel", "padding": "pad"}.get(label, label)
        check.require(min(pair) >= low, f"{label} should be {kind}, but got {keys}_height: {pair[0]} {keys}_width: "
                      f"{pair[1]}")
    return pairs


@functional(saves="none", backward_name="Im2ColBackward0")
def unfold(input: Tensor, kernel_size: int | tuple[int, ...], dilation: int | tuple[int, ...] = 1,
           padding: int | tuple[int, ...] = 0, stride: int | tuple[int, ...] = 1):
    """Return the sliding blocks of a batch of images, each as a column. See torch.nn.functional.unfold."""
    kernel, dilation, padding, stride = _pairs("unfold", kernel_size, dilation, padding, stride)
    valid = input.ndim in (3, 4) and all(n for n in input.shape[input.ndim - 3:])
    check.require(valid, "Expected 3D or 4D (batch mode) tensor with possibly 0 batch size and other non-zero "
                  f"dimensions for input, but got: {list(input.shape)}")
    out = _blocks(input.shape[-2:], kernel, dilation, padding, stride)
    check.require(min(out) >= 1, f"Given input with spatial size {tuple(input.shape[-2:])}, kernel_size={kernel}, "
                  f"dilation={dilation}, padding={padding}, calculated shape of the array of sliding blocks as {out}, "
                  "but its components must be at least one.")
    columns = _patches(input if input.ndim == 4 else input[None], kernel, dilation, padding, stride)
    return columns if input.ndim == 4 else columns[0]


def _check_fold(input: jax.Array, size, kernel, dilation, padding, stride) -> None:
    valid = input.ndim in (2, 3) and all(n for n in input.shape[input.ndim - 2:])
    check.require(valid, "Expected 2D or 3D (batch mode) tensor for input with possibly 0 batch size and non-zero "
                  f"dimensions for input, but got: {list(input.shape)}")
    taps, columns = input.shape[-2:]
    check.require(taps % math.prod(kernel) == 0, "Expected size of input's dimension 1 to be divisible by the product "
                  f"of kernel_size, but got input.size(1)={taps} and kernel_size={kernel}.")
    out = _blocks(size, kernel, dilation, padding, stride)
    check.require(min(out) >= 1, f"Given output_size={size}, kernel_size={kernel}, dilation={dilation}, padding={padding}, "
                  f"stride={stride}, calculated shape of the array of sliding blocks as {out}, which is too small (non-positive)")
    check.require(columns == math.prod(out), f"Given output_size={size}, kernel_size={kernel}, dilation={dilation}, "
                  f"padding={padding}, stride={stride}, expected size of input's dimension 2 to match the calculated "
                  f"number of sliding blocks {out[0]} * {out[1]} = {math.prod(out)}, but got input.size(2)={columns}.")


@functional(saves="none", backward_name="Col2ImBackward0")
def fold(input: Tensor, output_size: int | tuple[int, ...], kernel_size: int | tuple[int, ...],
         dilation: int | tuple[int, ...] = 1, padding: int | tuple[int, ...] = 0, stride: int | tuple[int, ...] = 1):
    """Return images from sliding blocks, which add up where they overlap. See torch.nn.functional.fold."""
    size = ntuple(output_size, 2, "output_size", "fold")
    kernel, dilation, padding, stride = _pairs("fold", kernel_size, dilation, padding, stride)
    _check_fold(input, size, kernel, dilation, padding, stride)
    if input.dtype == bool:
        return fold(input.astype("int8"), size, kernel, dilation, padding, stride) != 0
    x = input if input.ndim == 3 else input[None]
    image = jax.ShapeDtypeStruct((x.shape[0], x.shape[1] // math.prod(kernel), *size), x.dtype)
    transposed = jax.linear_transpose(lambda y: _patches(y, kernel, dilation, padding, stride), image)
    out, = transposed(x)
    return out if input.ndim == 3 else out[0]
