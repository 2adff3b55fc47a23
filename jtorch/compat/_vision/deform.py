"""deform_conv2d: a convolution whose sample positions are shifted by offsets and weighted by a mask."""
from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from jtorch.ops import check
from jtorch.ops.registry import Tensor, op

_FACTS: dict[str, Any] = {"function": False, "method": False, "out": False, "tested": False, "differentiable": False}


def _places(size: tuple, kernel: tuple, out: tuple, geometry: tuple) -> tuple[Any, Any]:
    """Return the y and the x that an ordinary convolution reads, as arrays that broadcast to (kernel y, kernel x, y, x)."""
    (sh, sw), (ph, pw), (dh, dw) = geometry
    ys = jnp.arange(out[0])[None, :] * sh - ph + jnp.arange(kernel[0])[:, None] * dh
    xs = jnp.arange(out[1])[None, :] * sw - pw + jnp.arange(kernel[1])[:, None] * dw
    return ys[:, None, :, None], xs[None, :, None, :]


def _sampled(image: Any, y: Any, x: Any) -> Any:
    """Sample (channels, H, W) bilinearly at positions of any shape; pixels outside count as 0."""
    height, width = image.shape[1:]
    inside = (y > -1) & (y < height) & (x > -1) & (x < width)
    y0, x0 = lax.stop_gradient(jnp.floor(y)), lax.stop_gradient(jnp.floor(x))
    total: Any = 0
    for dy, wy in ((0, 1 - (y - y0)), (1, y - y0)):
        for dx, wx in ((0, 1 - (x - x0)), (1, x - x0)):
            row, column = y0.astype(jnp.int32) + dy, x0.astype(jnp.int32) + dx
            there = inside & (row >= 0) & (row < height) & (column >= 0) & (column < width)
            value = image[:, jnp.clip(row, 0, height - 1), jnp.clip(column, 0, width - 1)]
            total = total + value * jnp.where(there, wy * wx, 0)[None]
    return total


def _deform(input: Any, weight: Any, offset: Any, mask: Any, bias: Any, geometry: tuple, groups: int, parts: int,
            use_mask: bool) -> Any:
    images, channels, height, width = input.shape
    filters, _, *kernel = weight.shape
    out = offset.shape[2:]
    y0, x0 = _places((height, width), tuple(kernel), out, geometry)
    moved = offset.reshape(images, parts, *kernel, 2, *out)
    y, x = y0.astype(input.dtype)[None, None] + moved[:, :, :, :, 0], x0.astype(input.dtype)[None, None] + moved[:, :, :, :, 1]
    by_part = input.reshape(images, parts, channels // parts, height, width)
    columns = jax.vmap(jax.vmap(_sampled))(by_part, y, x)              # dims: image, part, channel, ky, kx, y, x
    if use_mask:
        columns = columns * mask.reshape(images, parts, 1, *kernel, *out)
    columns = columns.reshape(images, groups, channels // groups, *kernel, *out)
    by_group = weight.reshape(groups, filters // groups, channels // groups, *kernel)
    made = jnp.einsum("ngcijyx,gocij->ngoyx", columns, by_group)
    return made.reshape(images, filters, *out) + bias[None, :, None, None]


def _check(input: Any, weight: Any, offset: Any, mask: Any, parts: int, use_mask: bool) -> None:
    check.require(input.ndim == 4 and offset.ndim == 4 and weight.ndim == 4, "input_c.dim() == 4")
    taps = weight.shape[2] * weight.shape[3]
    check.require(offset.shape[1] == parts * 2 * taps, f"offset.shape[1] is not valid: got: {offset.shape[1]} expected: "
                                                       f"{parts * 2 * taps}")
    check.require(not use_mask or mask.shape[1] == parts * taps,
                  f"mask.shape[1] is not valid: got: {mask.shape[1]} expected: {parts * taps}")


@op(name="torchvision.deform_conv2d", **_FACTS)
def deform_conv2d(input: Tensor, weight: Tensor, offset: Tensor, mask: Tensor, bias: Tensor, geometry: tuple, groups: int,
                  offset_groups: int, use_mask: bool):
    """Return a deformable convolution; ``geometry`` is (stride, padding, dilation).

    See torchvision.ops.deform_conv2d.
    """
    _check(input, weight, offset, mask, offset_groups, use_mask)
    return _deform(input, weight, offset, mask, bias, geometry, groups, offset_groups, use_mask)


@op(name="torchvision._deform_conv2d_backward", returns="input weight offset mask bias", **_FACTS)
def deform_conv2d_backward(grad: Tensor, input: Tensor, weight: Tensor, offset: Tensor, mask: Tensor, bias: Tensor,
                           geometry: tuple, groups: int, offset_groups: int, use_mask: bool):
    """Return the gradients of all five tensors."""
    def forward(input: Any, weight: Any, offset: Any, mask: Any, bias: Any) -> Any:
        return _deform(input, weight, offset, mask, bias, geometry, groups, offset_groups, use_mask)
    return jax.vjp(forward, input, weight, offset, mask, bias)[1](grad)
