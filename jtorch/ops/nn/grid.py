"""Sampling at grid points. See torch.nn.functional.grid_sample and torch.nn.functional.affine_grid."""
from __future__ import annotations

import itertools

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

import jtorch.dtype as dtypes
from jtorch._base import warned
from jtorch.ops import check, promotion
from jtorch.ops.facts import JOINTLY
from jtorch.ops.nn._common import functional, size_text
from jtorch.ops.nn.interpolate import cubic_weights
from jtorch.ops.registry import Tensor


def _warn_of_default(*args) -> None:
    """Warn if ``align_corners``, the last argument, was not given."""
    if args[-1] is None:
        warned.warn("Default grid_sample and affine_grid behavior has changed to align_corners=False since 1.3.0. "
                    "Please specify align_corners=True if the old behavior is desired. See the documentation of "
                    "grid_sample for details.")


def _clipped(x: jax.Array, size: int) -> jax.Array:
    """Return ``x`` clipped to the input, without gradient at the border and outside."""
    return jnp.where(x <= 0, 0, jnp.where(x >= size - 1, size - 1, x))


def _reflected(x: jax.Array, low2: int, high2: int) -> jax.Array:
    """Return ``x`` reflected at ``low2 / 2`` and ``high2 / 2`` until it lies between them."""
    if low2 == high2:
        return jnp.zeros_like(x)
    low, span = low2 / 2, (high2 - low2) / 2
    distance = jnp.abs(x - low)
    flips = lax.stop_gradient(jnp.floor(distance / span))
    extra = distance - flips * span
    return jnp.where(flips % 2 == 0, extra + low, span - extra + low)


def _fitted(x: jax.Array, size: int, padding_mode: str, align_corners: bool) -> jax.Array:
    """Return coordinates moved into the input according to ``padding_mode``."""
    if padding_mode == "reflection":
        x = _reflected(x, 0, 2 * (size - 1)) if align_corners else _reflected(x, -1, 2 * size - 1)
    return x if padding_mode == "zeros" else _clipped(x, size)


def _pixel(x: jax.Array, size: int, align_corners: bool) -> jax.Array:
    """Map coordinates from [-1, 1] to indices of the input."""
    return (x + 1) / 2 * (size - 1) if align_corners else ((x + 1) * size - 1) / 2


def _at(input: jax.Array, places: tuple[jax.Array, ...]) -> jax.Array:
    """Return the input (N, C, ...) at integer coordinates (N, ...), 0 outside."""
    n, channels, *sizes = input.shape
    inside, flat = jnp.ones(places[0].shape, bool), jnp.zeros(places[0].shape, jnp.int64)
    for p, size in zip(places, sizes, strict=True):
        inside &= (p >= 0) & (p <= size - 1)
        flat = flat * size + jnp.clip(p, 0, size - 1).astype(jnp.int64)
    values = jnp.take_along_axis(input.reshape(n, channels, -1), flat.reshape(n, 1, -1), axis=2, mode="clip")
    return jnp.where(inside[:, None], values.reshape(n, channels, *flat.shape[1:]), 0)


def _bilinear(input: jax.Array, places: list[jax.Array]) -> jax.Array:
    low = [lax.stop_gradient(jnp.floor(p)) for p in places]
    total = jnp.zeros((), input.dtype)
    for corner in itertools.product((0, 1), repeat=len(places)):
        weight = jnp.ones((), input.dtype)
        for p, f, c in zip(places, low, corner, strict=True):
            weight = weight * (p - f if c else 1 - (p - f))
        total = total + _at(input, tuple(f + c for f, c in zip(low, corner, strict=True))) * weight[:, None]
    return total


def _bicubic(input: jax.Array, places: list[jax.Array], padding_mode: str, align_corners: bool) -> jax.Array:
    low = [lax.stop_gradient(jnp.floor(p)) for p in places]
    weights = [cubic_weights(p - f) for p, f in zip(places, low, strict=True)]
    total = jnp.zeros((), input.dtype)
    for i, j in itertools.product(range(4), repeat=2):
        taps = tuple(_fitted(f + k - 1, size, padding_mode, align_corners)
                     for f, k, size in zip(low, (i, j), input.shape[2:], strict=True))
        total = total + _at(input, taps) * (weights[0][i] * weights[1][j])[:, None]
    return total


def _check_grid(input: jax.Array, grid: jax.Array, mode: str, padding_mode: str) -> None:
    check.require(mode in ("bilinear", "nearest", "bicubic"), "nn.functional.grid_sample(): expected mode to be "
                  f"'bilinear', 'nearest' or 'bicubic', but got: '{mode}'", ValueError)
    check.require(padding_mode in ("zeros", "border", "reflection"), "nn.functional.grid_sample(): expected "
                  f"padding_mode to be 'zeros', 'border', or 'reflection', but got: '{padding_mode}'", ValueError)
    sizes = f"got input with sizes {list(input.shape)} and grid with sizes {list(grid.shape)}"
    check.require(input.ndim in (4, 5) and input.ndim == grid.ndim, "grid_sampler(): expected 4D or 5D input and grid "
                  f"with same number of dimensions, but {sizes}")
    check.require(input.shape[0] == grid.shape[0], "grid_sampler(): expected grid and input to have same batch size, "
                  f"but {sizes}")
    check.require(grid.shape[-1] == input.ndim - 2, f"grid_sampler(): expected grid to have size {input.ndim - 2} in "
                  f"last dimension, but got grid with sizes {list(grid.shape)}")
    check.require(input.dtype == grid.dtype, "grid_sampler(): expected input and grid to have same dtype, but input "
                  f"has {check.scalar_name(input.dtype).lower()} and grid has {check.scalar_name(grid.dtype).lower()}")
    check.require(mode != "bicubic" or input.ndim == 4, "grid_sampler(): bicubic interpolation only supports 4D input")
    for i in range(2, input.ndim):
        check.require(input.shape[i] > 0, "grid_sampler(): expected input to have non-empty spatial dimensions, but "
                      f"input has sizes {list(input.shape)} with dimension {i} being empty")


@functional(backward_name="GridSampler2DBackward0", saves=JOINTLY, warns=_warn_of_default)
def grid_sample(input: Tensor, grid: Tensor, mode: str = "bilinear", padding_mode: str = "zeros",
                align_corners: bool | None = None):
    """Return the input at the points of ``grid``, whose coordinates are in [-1, 1]. See torch.nn.functional.grid_sample."""
    _check_grid(input, grid, mode, padding_mode)
    align = bool(align_corners)
    sizes = input.shape[2:]
    if 0 in (*input.shape[:2], *grid.shape):
        return jnp.zeros((*input.shape[:2], *grid.shape[1:-1]), input.dtype)
    places = [_pixel(grid[..., len(sizes) - 1 - i], size, align) for i, size in enumerate(sizes)]
    if mode == "bicubic":
        return _bicubic(input, places, padding_mode, align)
    places = [_fitted(p, size, padding_mode, align) for p, size in zip(places, sizes, strict=True)]
    if mode == "nearest":
        return _at(input, tuple(jnp.round(lax.stop_gradient(p)) for p in places))
    return _bilinear(input, places)


def _check_affine(theta: jax.Array, size: tuple[int, ...]) -> None:
    check.require(promotion.is_float(np.dtype(theta.dtype)), "Expected theta to have floating point type, but got "
                  f"{dtypes.of_numpy(np.dtype(theta.dtype))}", ValueError)
    check.require(len(size) in (4, 5), "affine_grid only supports 4D and 5D sizes, for 2D and 3D affine transforms, "
                  f"respectively. Got size {_size(size)}.", NotImplementedError)
    n = len(size) - 2
    check.require(theta.ndim == 3 and theta.shape[-2:] == (n, n + 1), f"Expected a batch of {n}D affine matrices of "
                  f"shape Nx{n}x{n + 1} for size {_size(size)}. Got {size_text(theta.shape)}.", ValueError)
    check.require(min(size) > 0, f"Expected non-zero, positive output size. Got {_size(size)}", ValueError)


def _size(size: tuple[int, ...]) -> str:
    return f"torch.Size({list(size)})"


@functional(backward_name="AffineGridGeneratorBackward0", warns=_warn_of_default)
def affine_grid(theta: Tensor, size: tuple[int, ...], align_corners: bool | None = None):
    """Return the grid that grid_sample needs for an affine map. See torch.nn.functional.affine_grid."""
    align = bool(align_corners)
    _check_affine(theta, size)
    axes = [np.linspace(-1, 1, n) * (1 if align else (n - 1) / n) if n > 1 else np.zeros(1) for n in size[2:]]
    base = np.stack([*reversed(np.meshgrid(*axes, indexing="ij")), np.ones(size[2:])], -1)
    return jnp.einsum("...j,nij->n...i", jnp.asarray(base, theta.dtype), theta, precision="highest")
