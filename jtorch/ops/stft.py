"""Short-time Fourier transforms: torch.stft and torch.istft."""
from __future__ import annotations

import jax.numpy as jnp
import numpy as np

from jtorch._base import warned
from jtorch.ops import check, promotion
from jtorch.ops.nn.pad import pad as pad_signal
from jtorch.ops.registry import Tensor, op

_NO_WINDOW = "A window was not provided. A rectangular window will be applied"


def _call_text(name: str, input, window, **options) -> str:
    """Return the call as PyTorch's errors print it."""
    kind = check.type_name(input.dtype)
    shown = "None" if window is None else f"{check.type_name(window.dtype)}{{{list(window.shape)}}}"
    options = {k: int(v) if isinstance(v, bool) else v for k, v in options.items()}
    sizes = {k: options.pop(k) for k in ("n_fft", "hop_length", "win_length")}
    given = ", ".join(f"{k}={v}" for k, v in {**sizes, "window": shown, **options}.items())
    return f"{name}({kind}{list(input.shape)}, {given})"


def _padded_window(window, n_fft: int, win_length: int, dtype):
    """Return the window, by default ones, centered in ``n_fft`` points."""
    left = (n_fft - win_length) // 2
    window = jnp.ones((win_length,), dtype) if window is None else window
    return jnp.pad(window, (left, n_fft - win_length - left))


def _centered(input, n_fft: int, pad_mode: str):
    """Return the signal padded by half a frame on both sides."""
    half, extended = n_fft // 2, input.reshape((1,) * (3 - input.ndim) + input.shape)
    padded = pad_signal(extended, (half, half), pad_mode)
    return padded.reshape(padded.shape[padded.ndim - input.ndim:])


def _check_stft(call: str, input, n_fft: int, hop: int, win_length: int, window) -> None:
    check.require(promotion.is_inexact(input.dtype), f"{call} : expected a tensor of floating point or complex values")
    check.require(input.ndim in (1, 2), f"{call} : expected a 1D or 2D tensor")
    check.require(0 < n_fft <= input.shape[-1], f"{call} : expected 0 < n_fft < {input.shape[-1]}, but got n_fft={n_fft}")
    check.require(hop > 0, f"{call} : expected hop_length > 0, but got hop_length={hop}")
    check.require(0 < win_length <= n_fft, f"{call} : expected 0 < win_length <= n_fft, but got win_length={win_length}")
    check.require(window is None or window.shape == (win_length,), f"{call} : expected a 1D window tensor of size equal to "
                  f"win_length={win_length}, but got window with size {list(window.shape) if window is not None else []}")


def _wants_complex(input, window, return_complex: bool | None) -> bool:
    if return_complex is None:
        return_complex = any(x is not None and promotion.is_complex(x.dtype) for x in (input, window))
        check.require(return_complex, "stft requires the return_complex parameter be given for real inputs, and will further "
                      "require that return_complex=True in a future PyTorch release.")
    elif not return_complex:
        warned.warn_once("stft with return_complex=False is deprecated. In a future pytorch release, stft will return complex "
                         "tensors for all inputs, and return_complex=False will raise an error.\nNote: you can still call "
                         "torch.view_as_real on the complex output to recover the old return format.")
    return return_complex


def _frames(x, n_fft: int, hop: int):
    """Return the frames of the last dim at distance ``hop``, in a new last dim."""
    count = 1 + (x.shape[-1] - n_fft) // hop
    return x[..., np.arange(count)[:, None] * hop + np.arange(n_fft)]


@op(out=False, backward_name="TransposeBackward1")
def stft(input: Tensor, n_fft: int, hop_length: int | None = None, win_length: int | None = None, window: Tensor | None = None,
         center: bool = True, pad_mode: str = "reflect", normalized: bool = False, onesided: bool | None = None,
         return_complex: bool | None = None, align_to_window: bool | None = None):
    """Return the spectra of windows that slide over a signal: (batch, frequency, frame). See torch.stft."""
    check.require(align_to_window is None or not center, "stft align_to_window should only be set when center = false")
    input = _centered(input, n_fft, pad_mode) if center else input
    hop = n_fft // 4 if hop_length is None else hop_length
    win_length = n_fft if win_length is None else win_length
    call = _call_text("stft", input, window, n_fft=n_fft, hop_length=hop, win_length=win_length, normalized=normalized,
                      onesided=onesided, return_complex=return_complex, align_to_window=align_to_window)
    if window is None:
        warned.warn_once(f"{_NO_WINDOW},which is known to cause spectral leakage.")
    as_complex = _wants_complex(input, window, return_complex)
    _check_stft(call, input, n_fft, hop, win_length, window)
    if align_to_window and win_length < n_fft:
        left = (n_fft - win_length) // 2
        input = jnp.pad(input, [(0, 0)] * (input.ndim - 1) + [(left, left)])
    framed = _frames(input, n_fft, hop)
    framed = _times(framed, _padded_window(window, n_fft, win_length, jnp.real(input).dtype))
    found = _spectra(framed, normalized, onesided)
    return found if as_complex else jnp.stack([found.real, found.imag], -1)


def _matching(window, like):
    """Return the window in the dtype of its product with ``like``, and with as many dims as ``like``."""
    window = window.astype(promotion.promote_types(np.dtype(window.dtype), np.dtype(like.dtype)))
    return window.reshape((1,) * (like.ndim - 1) + (-1,))


def _times(frames, window):
    window = _matching(window, frames)
    return frames.astype(window.dtype) * window


def _spectra(framed, normalized: bool, onesided: bool | None):
    is_complex = promotion.is_complex(framed.dtype)
    check.require(not (onesided and is_complex), "Cannot have onesided output if window or input is complex")
    transform = jnp.fft.rfft if (onesided is None or onesided) and not is_complex else jnp.fft.fft
    return jnp.swapaxes(transform(framed, norm="ortho" if normalized else None), -2, -1)


def _check_istft(call: str, input, n_fft: int, hop: int, win_length: int, window, onesided: bool) -> None:
    check.require(input.size > 0, f"{call} : input tensor cannot be empty.")
    check.require(input.ndim in (2, 3), f"{call} : expected a tensor with 2 or 3 dimensions, but got {input.ndim}")
    wanted, what = (n_fft // 2 + 1, "n_fft / 2 + 1") if onesided else (n_fft, "n_fft")
    check.require(input.shape[-2] == wanted, f"{call} : expected the frequency dimension (3rd to the last) of the input tensor "
                  f"to match {what} when onesided={onesided}, but got {input.shape[-2]}")
    check.require(0 < hop <= win_length, f"{call} : expected 0 < hop_length <= win_length")
    check.require(0 < win_length <= n_fft, f"{call} : expected 0 < win_length <= n_fft")
    check.require(window is None or window.shape == (win_length,),
                  f"{call} : Invalid window shape. window has to be 1D and length of `win_length`")


def _added_up(frames, hop: int):
    """Return the sum of frames placed at distance ``hop``."""
    *batch, count, n_fft = frames.shape
    places = np.arange(count)[:, None] * hop + np.arange(n_fft)
    return jnp.zeros((*batch, n_fft + hop * (count - 1)), frames.dtype).at[..., places].add(frames)


def _span(total: int, n_fft: int, center: bool, length: int | None) -> slice:
    start = n_fft // 2 if center else 0
    end = start + length if length is not None else total - n_fft // 2 if center else total
    return slice(start, min(end, total))


def _istft_arguments(input, n_fft, hop_length, win_length, onesided):
    return (n_fft // 4 if hop_length is None else hop_length, n_fft if win_length is None else win_length,
            input.shape[-2] != n_fft if onesided is None else onesided)


def _weight(window, n_fft: int, win_length: int, hop: int, count: int, dtype):
    """Return the sum of squared windows at each point of the signal."""
    window = _padded_window(window, n_fft, win_length, dtype)
    return _added_up(jnp.broadcast_to(jnp.square(window), (count, n_fft)), hop)


def _uncovered(input, n_fft, hop_length=None, win_length=None, window=None, center=True, normalized=False, onesided=None,
               length=None, return_complex=False):
    none = jnp.zeros((), jnp.int64)
    hop, win_length, _ = _istft_arguments(input, n_fft, hop_length, win_length, onesided)
    if not (promotion.is_complex(input.dtype) and 0 < hop <= win_length <= n_fft and input.size):
        return none != 0, none      # the body raises the error
    if window is not None and window.shape != (win_length,):
        return none != 0, none
    weight = _weight(window, n_fft, win_length, hop, input.shape[-1], jnp.real(input).dtype)
    shown = weight[_span(weight.shape[0], n_fft, center, length)]
    return (jnp.min(jnp.abs(shown)) < 1e-11 if shown.size else none != 0), none


def _uncovered_error(detail, input, n_fft, hop_length=None, win_length=None, window=None, center=True, normalized=False,
                     onesided=None, length=None, return_complex=False):
    hop, win_length, _ = _istft_arguments(input, n_fft, hop_length, win_length, onesided)
    call = _call_text("istft", input, window, n_fft=n_fft, hop_length=hop, win_length=win_length, center=center,
                      normalized=normalized, onesided=onesided, length=length, return_complex=return_complex)
    return RuntimeError(f"{call} window overlap add min: 1")


@op(out=False, backward_name="SqueezeBackward1", value_check=(_uncovered, _uncovered_error))
def istft(input: Tensor, n_fft: int, hop_length: int | None = None, win_length: int | None = None,
          window: Tensor | None = None, center: bool = True, normalized: bool = False, onesided: bool | None = None,
          length: int | None = None, return_complex: bool = False):
    """Return the signal whose spectra are nearest to those given: the inverse of ``stft``. See torch.istft."""
    call = _call_text("istft", input, window, n_fft=n_fft, hop_length=n_fft // 4 if hop_length is None else hop_length,
                      win_length=n_fft if win_length is None else win_length, center=center, normalized=normalized,
                      onesided=onesided, length=length, return_complex=return_complex)
    if window is None:
        warned.warn_once(f"{_NO_WINDOW}.Please provide the same window used by stft to make the inversion lossless.")
    check.require(promotion.is_complex(input.dtype), "istft requires a complex-valued input tensor matching the output from "
                  "stft with return_complex=True.")
    check.require(input.ndim > 1, "Dimension out of range (expected to be in range of [-2, 1], but got -3)", IndexError)
    hop, win_length, one = _istft_arguments(input, n_fft, hop_length, win_length, onesided)
    _check_istft(call, input, n_fft, hop, win_length, window, one)
    frames = _inverse(input, n_fft, normalized, one, window, return_complex)
    frames = _times(frames, _padded_window(window, n_fft, win_length, jnp.real(input).dtype))
    weight = _weight(window, n_fft, win_length, hop, frames.shape[-2], jnp.real(input).dtype)
    shown = _span(weight.shape[0], n_fft, center, length)
    signal = _added_up(frames, hop)[..., shown]
    signal = signal / _matching(weight[shown], signal)
    return _lengthened(signal, length)


def _inverse(input, n_fft: int, normalized: bool, onesided: bool, window, return_complex: bool):
    spectra, norm = jnp.swapaxes(input, -2, -1), "ortho" if normalized else None
    if return_complex:
        check.require(not onesided, "Cannot have onesided output if window or input is complex")
        return jnp.fft.ifft(spectra, norm=norm)
    check.require(window is None or not promotion.is_complex(window.dtype),
                  "Complex windows are incompatible with return_complex=False")
    return jnp.fft.irfft(spectra[..., :n_fft // 2 + 1], n_fft, norm=norm)


def _lengthened(signal, length: int | None):
    missing = 0 if length is None else length - signal.shape[-1]
    if missing <= 0:
        return signal
    warned.warn_once("The length of signal is shorter than the length parameter. Result is being padded with zeros in the tail. "
                     "Please check your center and hop_length settings.")
    return jnp.pad(signal, [(0, 0)] * (signal.ndim - 1) + [(0, missing)])
