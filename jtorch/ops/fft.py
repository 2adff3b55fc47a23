"""torch.fft: discrete Fourier transforms. See https://docs.pytorch.org/docs/stable/fft.html."""
from __future__ import annotations

from collections.abc import Sequence

import jax.numpy as jnp
import numpy as np

import jtorch.dtype as dtypes
from jtorch.ops import check, out_dtypes, promotion
from jtorch.ops.create import default_float
from jtorch.ops.facts import Out
from jtorch.ops.registry import Tensor, dtype, op

Dims = int | tuple[int, ...] | None
_NORMS = (None, "backward", "ortho", "forward")
_INVERSE_NORM = {None: "forward", "backward": "forward", "ortho": "ortho", "forward": "backward"}


# Shared functions

def _floating(input):
    """Return the input in a dtype for an FFT. Integers become the default dtype."""
    d = np.dtype(input.dtype)
    if not promotion.is_inexact(d):
        return input.astype(dtypes.get_default_dtype().np)
    check.require(d.itemsize >= 4, f"Unsupported dtype {check.scalar_name(d)}")
    return input


def _complex(input):
    input = _floating(input)
    return input if promotion.is_complex(np.dtype(input.dtype)) else input.astype(np.result_type(input.dtype, np.complex64))


def _real(input, name: str, expects: str = "a real"):
    check.require(not promotion.is_complex(np.dtype(input.dtype)),
                  f"{name} expects {expects} input tensor, but got {check.scalar_name(input.dtype)}")
    return _floating(input)


def _check(sizes: Sequence[int], norm) -> None:
    check.require(norm in _NORMS, f'Invalid normalization mode: "{norm}"')
    for n in sizes:
        check.require(n >= 1, f"Invalid number of data points ({n}) specified")


def _axis(input, dim: int) -> int:
    check.require(input.ndim > 0, f"Dimension specified as {dim} but tensor has no dimensions", IndexError)
    return check.wrap_dim(dim, input.ndim)


def _axes(input, s, dim) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the sizes and dims of a transform along several dimensions. A size of -1 in ``s`` becomes the input's size."""
    s = (s,) if isinstance(s, check.Int) else s
    dim = (dim,) if isinstance(dim, check.Int) else dim
    if dim is not None:
        check.require(input.ndim > 0 or not dim, f"Dimension specified as {(*dim, 0)[0]} but tensor has no dimensions",
                      IndexError)
        axes = tuple(check.wrap_dim(d, input.ndim) for d in dim)
        check.require(len(set(axes)) == len(axes), "FFT dims must be unique")
        check.require(s is None or len(s) == len(axes), "When given, dim and shape arguments must have the same length")
    elif s is not None:
        check.require(len(s) <= input.ndim, f"Got shape with {len(s)} values but input tensor only has {input.ndim} dimensions.")
        axes = tuple(range(input.ndim - len(s), input.ndim))
    else:
        axes = tuple(range(input.ndim))
    sizes = tuple(input.shape[a] if s is None or n == -1 else n
                  for a, n in zip(axes, s or (-1,) * len(axes), strict=True))
    return sizes, axes


def _half(input, s, dim, name: str):
    """Return the sizes and axes of a transform from half a spectrum. The last size is the output's."""
    sizes, axes = _axes(input, s, dim)
    check.require(len(axes) > 0, f"{name} must transform at least one axis")
    last = None if s is None else (s if isinstance(s, check.Int) else s[-1])
    if last is None or last == -1:
        sizes = (*sizes[:-1], 2 * (input.shape[axes[-1]] - 1))
    return sizes, axes


def _many(transform, input, sizes, axes, norm):
    """Transform complex input along any number of dims. XLA transforms at most three dims at a time."""
    _check(sizes, norm)
    for i in range(0, len(axes), 3):
        input = transform(input, sizes[i:i + 3], axes[i:i + 3], norm)
    return input


def _from_half(input, sizes, axes, norm):
    """Return the real inverse transform of half a spectrum."""
    _check(sizes, norm)
    input = _many(jnp.fft.ifftn, input, sizes[:-1], axes[:-1], norm)
    return jnp.fft.irfft(input, sizes[-1], axes[-1], norm)


def _to_half(input, sizes, axes, norm):
    """Return the first half of the spectrum of real input."""
    _check(sizes, norm)
    return _many(jnp.fft.fftn, jnp.fft.rfft(input, sizes[-1], axes[-1], norm), sizes[:-1], axes[:-1], norm)


# Along one dimension

def _one(transform, input, n, dim: int, norm):
    axis = _axis(input, dim)
    n = input.shape[axis] if n is None else n
    _check((n,), norm)
    return transform(input, n, axis, norm)


def _one_from_half(transform, input, n, dim: int, norm):
    axis = _axis(input, dim)
    return _one(transform, input, 2 * (input.shape[axis] - 1) if n is None else n, dim, norm)


@op(name="fft.fft", saves="none", backward_name="FftC2CBackward0", out=Out(refuses=out_dtypes.expects_complex("fft")),
    result_dtype=np.complex64)
def fft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None):
    """Return the discrete Fourier transform along one dimension. See torch.fft.fft."""
    return _one(jnp.fft.fft, _complex(input), n, dim, norm)


@op(name="fft.ifft", saves="none", backward_name="FftC2CBackward0", out=Out(refuses=out_dtypes.expects_complex("ifft")),
    result_dtype=np.complex64)
def ifft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None):
    """Return the inverse of fft. See torch.fft.ifft."""
    return _one(jnp.fft.ifft, _complex(input), n, dim, norm)


@op(name="fft.rfft", saves="all", backward_name="FftR2CBackward0", out=Out(refuses=out_dtypes.expects_complex("rfft")),
    result_dtype=np.complex64)
def rfft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None):
    """Return the first half of a real input's transform. See torch.fft.rfft."""
    return _one(jnp.fft.rfft, _real(input, "rfft"), n, dim, norm)


@op(name="fft.irfft", saves="none", backward_name="FftC2RBackward0",
    out=Out(refuses=out_dtypes.expects_floating("irfft")))
def irfft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None):
    """Return the inverse of rfft. See torch.fft.irfft."""
    return _one_from_half(jnp.fft.irfft, _complex(input), n, dim, norm)


@op(name="fft.hfft", saves="none", backward_name="FftC2RBackward0",
    out=Out(refuses=out_dtypes.expects_floating("hfft")))
def hfft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None):
    """Return the real transform of half a Hermitian signal. See torch.fft.hfft."""
    return _one_from_half(lambda x, n, a, norm: jnp.fft.irfft(jnp.conj(x), n, a, _INVERSE_NORM[norm]), _complex(input), n,
                          dim, norm)


@op(name="fft.ihfft", saves="none", backward_name="ConjBackward0", out=Out(refuses=out_dtypes.expects_complex("ihfft")),
    result_dtype=np.complex64)
def ihfft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None):
    """Return the inverse of hfft. See torch.fft.ihfft."""
    return _one(lambda x, n, a, norm: jnp.conj(jnp.fft.rfft(x, n, a, _INVERSE_NORM[norm])), _real(input, "ihfft"), n, dim,
                norm)


# Along several dimensions

@op(name="fft.fftn", saves="none", backward_name="FftC2CBackward0", out=Out(refuses=out_dtypes.expects_complex("fftn")),
    result_dtype=np.complex64)
def fftn(input: Tensor, s: int | tuple[int, ...] | None = None, dim: Dims = None, norm: str | None = None):
    """Return the transform along several dimensions. See torch.fft.fftn."""
    return _many(jnp.fft.fftn, _complex(input), *_axes(input, s, dim), norm)


@op(name="fft.ifftn", saves="none", backward_name="FftC2CBackward0",
    out=Out(refuses=out_dtypes.expects_complex("fftn")), result_dtype=np.complex64)
def ifftn(input: Tensor, s: int | tuple[int, ...] | None = None, dim: Dims = None, norm: str | None = None):
    """Return the inverse of fftn. See torch.fft.ifftn."""
    return _many(jnp.fft.ifftn, _complex(input), *_axes(input, s, dim), norm)


@op(name="fft.rfftn", saves="all", backward_name="FftR2CBackward0",
    out=Out(refuses=out_dtypes.expects_complex("rfftn")), result_dtype=np.complex64)
def rfftn(input: Tensor, s: int | tuple[int, ...] | None = None, dim: Dims = None, norm: str | None = None):
    """Return the first half of a real input's transform along several dimensions. See torch.fft.rfftn."""
    input = _real(input, "rfftn", "a real-valued")
    sizes, axes = _axes(input, s, dim)
    check.require(len(axes) > 0, "rfftn must transform at least one axis")
    return _to_half(input, sizes, axes, norm)


@op(name="fft.irfftn", saves="none", backward_name="FftC2RBackward0",
    out=Out(refuses=out_dtypes.expects_floating("irfftn")))
def irfftn(input: Tensor, s: int | tuple[int, ...] | None = None, dim: Dims = None, norm: str | None = None):
    """Return the inverse of rfftn. See torch.fft.irfftn."""
    sizes, axes = _half(input, s, dim, "irfftn")
    return _from_half(_complex(input), sizes, axes, norm)


@op(name="fft.hfftn", saves="none", backward_name="FftC2RBackward0",
    out=Out(refuses=out_dtypes.expects_floating("hfftn")))
def hfftn(input: Tensor, s: int | tuple[int, ...] | None = None, dim: Dims = None, norm: str | None = None):
    """Return the real transform of half a Hermitian signal along several dimensions. See torch.fft.hfftn."""
    sizes, axes = _half(input, s, dim, "hfftn")
    _check(sizes, norm)
    return _from_half(jnp.conj(_complex(input)), sizes, axes, _INVERSE_NORM[norm])


@op(name="fft.ihfftn", saves="none", backward_name="FftC2CBackward0",
    out=Out(refuses=out_dtypes.expects_complex("ihfftn")), result_dtype=np.complex64)
def ihfftn(input: Tensor, s: int | tuple[int, ...] | None = None, dim: Dims = None, norm: str | None = None):
    """Return the inverse of hfftn. See torch.fft.ihfftn."""
    check.require(not promotion.is_complex(np.dtype(input.dtype)),
                  f"Only supports floating-point dtypes, but found: {check.scalar_name(input.dtype)}")
    sizes, axes = _axes(input, s, dim)
    check.require(len(axes) > 0, "ihfftn must transform at least one axis")
    _check(sizes, norm)
    return jnp.conj(_to_half(_floating(input), sizes, axes, _INVERSE_NORM[norm]))


# Along two dimensions

@op(name="fft.fft2", saves="none", backward_name="FftC2CBackward0", out=Out(refuses=out_dtypes.expects_complex("fftn")),
    result_dtype=np.complex64)
def fft2(input: Tensor, s: int | tuple[int, ...] | None = None, dim: Dims = (-2, -1), norm: str | None = None):
    """Return the transform along two dimensions. See torch.fft.fft2."""
    return fftn(input, s, dim, norm)


@op(name="fft.ifft2", saves="none", backward_name="FftC2CBackward0",
    out=Out(refuses=out_dtypes.expects_complex("fftn")), result_dtype=np.complex64)
def ifft2(input: Tensor, s: int | tuple[int, ...] | None = None, dim: Dims = (-2, -1), norm: str | None = None):
    """Return the inverse of fft2. See torch.fft.ifft2."""
    return ifftn(input, s, dim, norm)


@op(name="fft.rfft2", saves="all", backward_name="FftR2CBackward0",
    out=Out(refuses=out_dtypes.expects_complex("rfftn")), result_dtype=np.complex64)
def rfft2(input: Tensor, s: int | tuple[int, ...] | None = None, dim: Dims = (-2, -1), norm: str | None = None):
    """Return the first half of a real input's transform along two dimensions. See torch.fft.rfft2."""
    return rfftn(input, s, dim, norm)


@op(name="fft.irfft2", saves="none", backward_name="FftC2RBackward0",
    out=Out(refuses=out_dtypes.expects_floating("irfftn")))
def irfft2(input: Tensor, s: int | tuple[int, ...] | None = None, dim: Dims = (-2, -1), norm: str | None = None):
    """Return the inverse of rfft2. See torch.fft.irfft2."""
    return irfftn(input, s, dim, norm)


@op(name="fft.hfft2", saves="none", backward_name="FftC2RBackward0",
    out=Out(refuses=out_dtypes.expects_floating("hfftn")))
def hfft2(input: Tensor, s: int | tuple[int, ...] | None = None, dim: Dims = (-2, -1), norm: str | None = None):
    """Return the real transform of half a Hermitian signal along two dimensions. See torch.fft.hfft2."""
    return hfftn(input, s, dim, norm)


@op(name="fft.ihfft2", saves="none", backward_name="FftC2CBackward0",
    out=Out(refuses=out_dtypes.expects_complex("ihfftn")), result_dtype=np.complex64)
def ihfft2(input: Tensor, s: int | tuple[int, ...] | None = None, dim: Dims = (-2, -1), norm: str | None = None):
    """Return the inverse of hfft2. See torch.fft.ihfft2."""
    return ihfftn(input, s, dim, norm)


# Order and frequencies of the coefficients

def _shifted(input, dim: Dims, sign: int):
    axes = check.wrap_dims(dim, input.ndim, empty_is_all=False)
    sizes = [input.shape[a] for a in axes]
    return jnp.roll(input, [n // 2 if sign > 0 else (n + 1) // 2 for n in sizes], axes) if axes else input


@op(name="fft.fftshift", out=False, saves="none", backward_name="RollBackward0")
def fftshift(input: Tensor, dim: Dims = None):
    """Return the coefficient of frequency 0 moved to the middle. See torch.fft.fftshift."""
    return _shifted(input, dim, 1)


@op(name="fft.ifftshift", out=False, saves="none", backward_name="RollBackward0")
def ifftshift(input: Tensor, dim: Dims = None):
    """Return the inverse of fftshift. See torch.fft.ifftshift."""
    return _shifted(input, dim, -1)


def _frequencies(name: str, indices, n: int, d: float, dtype):
    wanted = default_float(dtype)
    check.require(promotion.is_inexact(wanted), f"{name} requires a floating point or complex dtype")
    check.require(promotion.is_float(wanted), f"\"arange_cpu\" not implemented for '{check.scalar_name(wanted)}'",
                  NotImplementedError)
    return jnp.asarray(indices, wanted) * np.asarray(1 / (n * d) if n else np.inf, wanted)


@op(name="fft.fftfreq", creates=True)
def fftfreq(n: int, d: float = 1.0, *, dtype: dtype | None = None):
    """Return the frequencies of fft's coefficients. See torch.fft.fftfreq."""
    check.nonnegative([n])
    indices = np.arange(n)
    return _frequencies("fftfreq", np.where(indices < (n + 1) // 2, indices, indices - n), n, d, dtype)


@op(name="fft.rfftfreq", creates=True)
def rfftfreq(n: int, d: float = 1.0, *, dtype: dtype | None = None):
    """Return the frequencies of rfft's coefficients. See torch.fft.rfftfreq."""
    return _frequencies("rfftfreq", np.arange(max(n, 0) // 2 + 1), n, d, dtype)
