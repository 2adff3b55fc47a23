"""Helpers for programs that define distributions. See torch.distributions.utils."""
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
    """Return probabilities, given log odds or log probabilities along the last dim.

    See torch.distributions.utils.logits_to_probs.

    Args:
        logits (Tensor): any shape, floating dtype.
        is_binary (bool): the logits are log odds of single probabilities.

    Returns:
        a Tensor of the same shape and dtype.

    Example::

        >>> torch.distributions.utils.logits_to_probs(torch.zeros(2))
        tensor([0.5000, 0.5000])

    """
    return probs_of(logits, is_binary)


def probs_to_logits(probs: Any, is_binary: bool = False) -> Any:
    """Return log odds or log probabilities, given probabilities. See torch.distributions.utils.probs_to_logits.

    Probabilities are clamped away from 0 and 1 by the dtype's epsilon.

    Args:
        probs (Tensor): any shape, floating dtype.
        is_binary (bool): return log odds of single probabilities.

    Returns:
        a Tensor of the same shape and dtype.

    Example::

        >>> torch.distributions.utils.probs_to_logits(torch.tensor([0.5, 0.5]))
        tensor([-0.6931, -0.6931])

    """
    return logits_of(probs, is_binary)


def _triangle(n: int, diag: int) -> tuple:
    rows, columns = functions.tril_indices(n, n, diag)
    return ..., rows, columns


def tril_matrix_to_vec(mat: Any, diag: int = 0) -> Any:
    """Return the elements of matrices on and below a diagonal, row by row.

    See torch.distributions.utils.tril_matrix_to_vec.

    Args:
        mat (Tensor): (*, n, n).
        diag (int): the diagonal; 0 is the main one.

    Returns:
        a Tensor (*, number of elements) of the same dtype.

    Raises:
        ValueError: for a diagonal outside the matrix.

    Example::

        >>> torch.distributions.utils.tril_matrix_to_vec(torch.tensor([[1.0, 0.0], [2.0, 3.0]]))
        tensor([1., 2., 3.])

    """
    n = mat.shape[-1]
    if not -n <= diag < n:
        raise ValueError(f"diag ({diag}) provided is outside [{-n}, {n - 1}].")
    return mat[_triangle(n, diag)]


def vec_to_tril_matrix(vec: Any, diag: int = 0) -> Any:
    """Return lower triangular matrices filled row by row from vectors.

    See torch.distributions.utils.vec_to_tril_matrix.

    Args:
        vec (Tensor): (*, number of elements).
        diag (int): the last diagonal that is filled; 0 is the main one.

    Returns:
        a Tensor (*, n, n) of the same dtype, zero above the diagonal.

    Raises:
        ValueError: for a number of elements that fills no triangle.

    Example::

        >>> torch.distributions.utils.vec_to_tril_matrix(torch.tensor([1.0, 2.0, 3.0]))
        tensor([[1., 0.],
                [2., 3.]])

    """
    count, more = vec.shape[-1], 1 + 2 * diag
    size = (-more + (more ** 2 + 8 * count + 4 * abs(diag) * (diag + 1)) ** 0.5) / 2
    n = round(size)
    if abs(n - size) > 1e-6:
        raise ValueError(f"The size of last dimension is {count} which cannot be expressed as the lower triangular part of a "
                         "square D x D matrix.")
    mat = vec.new_zeros((*vec.shape[:-1], n, n))
    mat[_triangle(n, diag)] = vec
    return mat
