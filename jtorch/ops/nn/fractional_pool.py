"""Max pooling with randomly placed windows. See torch.nn.functional.fractional_max_pool2d."""
from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from jtorch.ops import check, promotion
from jtorch.ops.nn._common import not_implemented
from jtorch.ops.registry import Tensor, op

_NAMES = {2: ("height", "width"), 3: ("time", "height", "width")}


def _tuple(value, n: int, what: str) -> tuple[int, ...]:
    values = tuple(value) if isinstance(value, (tuple, list)) else (value,) * n
    check.require(len(values) in (1, n), f"fractional_max_pool{n}d: {what} must either be a single Int or tuple of "
                  f"{'three ' if n == 3 else ''}Ints")
    return values * n if len(values) == 1 else values


def _check(x: jax.Array, n: int, kernel: tuple[int, ...], out: tuple[int, ...]) -> None:
    name = "fractional_max_pool2d()" if n == 2 else "fractional_max_pool3d_out()"
    for i in range(x.ndim - n - 1, x.ndim):
        check.require(x.shape[i] > 0, f"{name}: Expected input to have non-zero size for non-batch dimensions, but "
                      f"got{list(x.shape)} with dimension {i} being empty.")
    for label, size, k, o in zip(_NAMES[n], x.shape[-n:], kernel, out, strict=True):
        check.require(o + k - 1 <= size, f"{name}: pool {label} {k} too large relative to input {label} {size}")


def _check_samples(x: jax.Array, samples: jax.Array, n: int) -> None:
    check.require(samples.dtype == x.dtype, "Expect _random_samples to have the same dtype as input")
    check.require(samples.ndim == 3, f"Expect _random_samples to have 3 dimensions, got {samples.ndim}")
    check.require(samples.shape[0] >= x.shape[0], "Expect _random_samples.size(0) no less then input batch size.")
    check.require(samples.shape[1] == x.shape[1], "Expect _random_samples.size(1) equals to input channel size.")
    check.require(samples.shape[2] == n, f"Expect _random_samples.size(2) equals to {n}; got {samples.shape[2]}.")


def _starts(sample: jax.Array, size: int, kernel: int, out: int) -> jax.Array:
    """Return the starts of the windows along one dimension: (N, C, out). The last window ends at the end of the dimension."""
    at = jnp.full((*sample.shape, out), size - kernel, jnp.int64)
    if out < 2:
        return at
    step = jnp.asarray(size - kernel, sample.dtype) / jnp.asarray(out - 1, sample.dtype)
    wide = sample[..., None]
    moved = (jnp.arange(out - 1, dtype=sample.dtype).reshape(1, 1, -1) + wide) * step
    return at.at[..., :-1].set(moved.astype(jnp.int64) - (wide * step).astype(jnp.int64))


def _taps(x: jax.Array, samples: jax.Array, kernel, out) -> list[jax.Array]:
    """Return for each dimension the index of every element of every window, shaped to broadcast against the others."""
    n = len(kernel)
    made = []
    for i in range(n):
        sample = samples[: x.shape[0], :, n - 1 - i if n == 2 else i]      # the width's sample comes first in two dimensions
        at = _starts(sample, x.shape[2 + i], kernel[i], out[i])[..., None] + np.arange(kernel[i]).reshape(1, 1, 1, -1)
        shape = [*x.shape[:2]] + [1] * (2 * n)
        shape[2 + i], shape[2 + n + i] = out[i], kernel[i]
        made.append(at.reshape(shape))
    return made


def _pool(n: int, input: jax.Array, samples: jax.Array, kernel, out) -> tuple[jax.Array, jax.Array]:
    kernel, out = _tuple(kernel, n, "kernel_size"), _tuple(out, n, "output_size")
    x = input if input.ndim == n + 2 else input[None]
    _check(input, n, kernel, out)
    if not promotion.is_float(np.dtype(x.dtype)):
        raise not_implemented(f"fractional_max_pool{n}d_out_frame", x.dtype)
    _check_samples(x, samples, n)
    taps = _taps(x, samples, kernel, out)
    lead = [jnp.arange(s).reshape([-1 if i == j else 1 for i in range(2 + 2 * n)]) for j, s in enumerate(x.shape[:2])]
    flat = taps[0]
    for at, size in zip(taps[1:], x.shape[3:], strict=True):
        flat = flat * size + at
    shape = (*x.shape[:2], *out, int(np.prod(kernel)))
    values = x[(*lead, *taps)].reshape(shape)
    best = jnp.argmax(values, axis=-1, keepdims=True)
    made = [jnp.take_along_axis(v, best, axis=-1)[..., 0] for v in (values, flat.reshape(shape))]
    return (made[0], made[1]) if input.ndim == n + 2 else (made[0][0], made[1][0])


@op(name="_fractional_max_pool2d", function=False, method=False, out=False, tested=False,
    backward_name="FractionalMaxPool2DBackward0")
def fractional_max_pool2d(input: Tensor, samples: Tensor, kernel_size: int | tuple[int, ...],
                          output_size: int | tuple[int, ...]):
    """Return the maxima, and their indices, of windows placed by ``samples`` (N, C, 2)."""
    return _pool(2, input, samples, kernel_size, output_size)


@op(name="_fractional_max_pool3d", function=False, method=False, out=False, tested=False,
    backward_name="FractionalMaxPool3DBackward0")
def fractional_max_pool3d(input: Tensor, samples: Tensor, kernel_size: int | tuple[int, ...],
                          output_size: int | tuple[int, ...]):
    """Return the maxima, and their indices, of windows placed by ``samples`` (N, C, 3)."""
    return _pool(3, input, samples, kernel_size, output_size)
