"""Random choices on the CPU, number for number as PyTorch makes them: randperm and multinomial."""
from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from jtorch._base import late_bindings
from jtorch.ops import check, random
from jtorch.ops.random import BFLOAT16, DIGITS, F32, F64, HALF, INT64

if TYPE_CHECKING:
    from jtorch._base.mt19937 import Stream

_PERMUTED = tuple(np.dtype(n) for n in ("uint8", "int8", "int16", "int32", "int64")) + tuple(DIGITS)
_LARGE = (2**32 - 1) // 20          # a 32-bit word is too coarse for larger n


def randperm(stream: Stream, n: int, dtype: np.dtype = INT64) -> np.ndarray:
    """Return a random permutation of 0 … n - 1. See torch.randperm."""
    check.nonnegative([n])
    _check_fits(n, dtype)
    random.supported(dtype, _PERMUTED, "randperm")
    if n >= _LARGE:
        return _inside_out(stream, n).astype(dtype)
    with_last = np.arange(max(n - 1, 0))
    others = stream.words(max(n - 1, 0)) % np.arange(n, 1, -1, dtype=np.uint32) + with_last
    return _swapped(n, others).astype(dtype)


def _check_fits(n: int, dtype: np.dtype) -> None:
    if dtype in DIGITS and dtype != BFLOAT16:
        digits = DIGITS[dtype]
        limit = "2049" if dtype == HALF else f"2^{digits}+1"
        check.require(n <= (1 << digits) + 1, f"n cannot be greater than {limit} for {check.scalar_name(dtype)} type.")
    elif dtype.kind in "iu" and dtype.itemsize < 8:
        check.require(n - 1 <= np.iinfo(dtype).max,
                      f"value cannot be converted to type {dtype.name}_t without overflow")


def _swapped(n: int, others: np.ndarray) -> np.ndarray:
    """Return 0 … n - 1 after swapping elements i and others[i], for each i in order."""
    if late_bindings.swap_places is not None:
        made = np.arange(n)
        late_bindings.swap_places(made, others)
        return made
    out = list(range(n))
    for i, j in enumerate(others.tolist()):
        out[i], out[j] = out[j], out[i]
    return np.array(out, np.int64)


def _inside_out(stream: Stream, n: int) -> np.ndarray:
    out = np.arange(n)
    for i in range(n):
        j = int(stream.long_words(1)[0]) % (i + 1)
        out[i], out[j] = out[j], i
    return out


def multinomial(stream: Stream, input: np.ndarray, num_samples: int, replacement: bool = False,
                stride: random.Shape | None = None) -> np.ndarray:
    """Draw indices with the probabilities in the rows of ``input``, whose ``stride`` decides the order of the draws.

    See torch.multinomial.
    """
    _check_multinomial(input, num_samples, replacement)
    if input.ndim == 2 and len(input) == 0:
        return np.empty((0, num_samples), np.int64)
    if replacement and num_samples > 1:
        rows = [_with_replacement(stream, row, num_samples) for row in np.atleast_2d(input)]
        return np.stack(rows).reshape(*input.shape[:-1], -1)
    _check_probabilities(input)
    q = random.exponential(stream, (input.size,), input.dtype)
    with np.errstate(all="ignore"):
        race = (input / random.place(q, input.shape, stride or _row_major(input.shape))).astype(input.dtype)
    if num_samples == 1:
        return np.argmax(race, axis=-1, keepdims=True)
    return np.argsort(-race.astype(np.float64), axis=-1, kind="stable")[..., :num_samples]


def _row_major(size: random.Shape) -> tuple[int, ...]:
    return (size[1], 1) if len(size) == 2 else (1,)


def _check_multinomial(input: np.ndarray, n: int, replacement: bool) -> None:
    check.require(0 < input.ndim <= 2, "prob_dist must be 1 or 2 dim")
    check.require(input.dtype in DIGITS,
                  f"multinomial only supports floating-point dtypes for input, got: {check.scalar_name(input.dtype)}")
    check.require(n > 0, "cannot sample n_sample <= 0 samples")
    check.require(replacement or n <= input.shape[-1],
                  "cannot sample n_sample > prob_dist.size(-1) samples without replacement")
    check.require(input.shape[-1] <= 1 << 24, "number of categories cannot exceed 2^24")


def _check_probabilities(input: np.ndarray) -> None:
    check.require(input.size > 0,
                  "aminmax(): cannot compute aminmax over an empty dimension as the operation has no identity.")
    check.require(bool((input.max() < np.inf) & (input.min() >= 0)),
                  "probability tensor contains either `inf`, `nan` or element < 0")
    check.require(bool((input != 0).any(axis=-1).all()), "invalid multinomial distribution (sum of probabilities <= 0)")


def _with_replacement(stream: Stream, row: np.ndarray, n: int) -> np.ndarray:
    why = "invalid multinomial distribution "
    check.require(not (row < 0).any() and not np.isnan(row).any(), why + "(encountering probability entry < 0)")
    check.require(bool(np.isfinite(row).all()), why + "(encountering probability entry = infinity or NaN)")
    cumulative = np.add.accumulate(row.astype(F64 if row.dtype == F64 else F32))    # sequentially, as PyTorch adds
    check.require(bool((cumulative[-1:] > 0).any()), why + "(sum of probabilities <= 0)")
    cumulative /= cumulative[-1]
    cumulative[-1] = 1
    return np.searchsorted(cumulative.astype(np.float64), stream.doubles(n), side="left")
