"""Index computations with NumPy: the part of a sparse operation that depends on no values."""
from __future__ import annotations

from typing import Any

import numpy as np

from jtorch._api.creation import from_host
from jtorch.tensor import Tensor


def host(t: Tensor) -> np.ndarray:
    """Return an integer tensor as an array."""
    return np.asarray(t.detach()._numpy_copy()).astype(np.int64, copy=False)


def tensor(array: np.ndarray, like: Tensor) -> Tensor:
    """Return an integer array as a tensor on another tensor's device."""
    return from_host(np.ascontiguousarray(array, np.int64), like.device)


def flat(indices: np.ndarray, sizes: tuple) -> np.ndarray:
    """Return multi-dimensional indices as flat indices in row-major order."""
    if not len(sizes):
        return np.zeros(indices.shape[1], np.int64)
    return np.ravel_multi_index(tuple(indices), sizes, mode="clip") if indices.size else np.zeros(indices.shape[1], np.int64)


def unflat(numbers: np.ndarray, sizes: tuple) -> np.ndarray:
    """Return multi-dimensional indices from flat ones."""
    if not numbers.size:
        return np.zeros((len(sizes), 0), np.int64)
    return np.stack(np.unravel_index(numbers, sizes)) if len(sizes) else np.zeros((0, numbers.size), np.int64)


def unique(numbers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the sorted unique numbers, and the position of each number among them."""
    found, inverse = np.unique(numbers, return_inverse=True)
    return found, inverse.reshape(-1)


def begins(rows: np.ndarray, n: int) -> np.ndarray:
    """Return the offset of the first value of each of ``n`` rows, for values sorted by row, and the number of values."""
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(np.bincount(rows, minlength=n))]).astype(np.int64)


def rows_of(starts: np.ndarray) -> np.ndarray:
    """Return the row of each value, from the rows' offsets."""
    return np.repeat(np.arange(len(starts) - 1, dtype=np.int64), np.diff(starts))


def pairs(left_columns: np.ndarray, right_starts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the positions of the left and right values that a matrix product multiplies: left column equals right row."""
    counts = np.diff(right_starts)[left_columns]
    left = np.repeat(np.arange(len(left_columns), dtype=np.int64), counts)
    first = np.repeat(np.cumsum(counts) - counts, counts)
    right = right_starts[left_columns][left] + np.arange(len(left), dtype=np.int64) - first
    return left, right


def lookup(wanted: np.ndarray, among: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the positions in ``wanted`` of the numbers that are in the sorted array ``among``, and their positions in it."""
    at = np.searchsorted(among, wanted)
    inside = at < len(among)
    at = np.where(inside, at, 0)
    here = inside & (among[at] == wanted) if len(among) else np.zeros(len(wanted), bool)
    return np.flatnonzero(here), at[here]


def as_ints(array: Any) -> np.ndarray:
    """Return indices as int64."""
    return np.asarray(array, np.int64)
