"""What programs that define distributions of their own use. See torch.distributions.utils."""
from __future__ import annotations

from typing import Any

from jtorch._api import functions
from jtorch.distributions.continuous import EULER as euler_constant
from jtorch.distributions.distribution import broadcast_all, clamp_probs, lazy_property, logits_of, probs_of, sum_last

__all__ = ["broadcast_all", "clamp_probs", "euler_constant", "lazy_property", "logits_to_probs", "probs_to_logits",
           "tril_matrix_to_vec", "vec_to_tril_matrix"]


def _standard_normal(shape: Any, dtype: Any, device: Any) -> Any:
    return functions.empty(shape, dtype=dtype, device=device).normal_()


def _sum_rightmost(value: Any, dim: int) -> Any:
    return sum_last(value, dim)


def logits_to_probs(logits: Any, is_binary: bool = False) -> Any:
    """Probabilities from log odds, or from logarithms along the last dimension."""
    return probs_of(logits, is_binary)


def probs_to_logits(probs: Any, is_binary: bool = False) -> Any:
    """The reverse of ``logits_to_probs``."""
    return logits_of(probs, is_binary)


def _triangle(n: int, diag: int) -> tuple:
    rows, columns = functions.tril_indices(n, n, diag)
    return ..., rows, columns


def tril_matrix_to_vec(mat: Any, diag: int = 0) -> Any:
    """The elements up to a diagonal, row by row."""
    n = mat.shape[-1]
    if not -n <= diag < n:
        raise ValueError(f"diag ({diag}) provided is outside [{-n}, {n - 1}].")
    return mat[_triangle(n, diag)]


def vec_to_tril_matrix(vec: Any, diag: int = 0) -> Any:
    """The reverse of ``tril_matrix_to_vec``, with zeros above the diagonal."""
    count, more = vec.shape[-1], 1 + 2 * diag
    size = (-more + (more ** 2 + 8 * count + 4 * abs(diag) * (diag + 1)) ** 0.5) / 2
    n = round(size)
    if abs(n - size) > 1e-6:
        raise ValueError(f"The size of last dimension is {count} which cannot be expressed as the lower triangular part of a "
                         "square D x D matrix.")
    mat = vec.new_zeros((*vec.shape[:-1], n, n))
    mat[_triangle(n, diag)] = vec
    return mat
