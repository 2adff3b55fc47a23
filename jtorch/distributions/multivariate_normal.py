"""torch.distributions.multivariate_normal: the algebra of matrices in batches. The distribution is in
``vectors.py``.
"""
from __future__ import annotations

from typing import Any

from jtorch._api import functions


def _batch_mv(bmat: Any, bvec: Any) -> Any:
    """Return products of matrices with vectors, of shapes (..., n, m) and (..., m)."""
    return (bmat @ bvec.unsqueeze(-1)).squeeze(-1)


def _batch_mahalanobis(bL: Any, bx: Any) -> Any:
    """Return x^T (L L^T)^-1 x for a lower triangular L of shape (..., n, n) and an x of shape (..., n)."""
    n, batch = bx.size(-1), bx.shape[:-1]
    lead = len(batch) - (bL.dim() - 2)
    pairs = [(size // own, own) for own, size in zip(bL.shape[:-2], batch[lead:], strict=True)]
    # Axes of x that share a matrix go to the front, so that each matrix is solved once with all its vectors.
    split = bx.reshape(*batch[:lead], *[size for pair in pairs for size in pair], n)
    shared = [lead + 2 * i for i in range(len(pairs))]
    own = [axis + 1 for axis in shared]
    order = [*range(lead), *shared, *own]
    columns = split.permute(*order, split.dim() - 1)
    flat = bL.reshape(-1, n, n)
    solved = functions.linalg.solve_triangular(flat, columns.reshape(-1, flat.size(0), n).permute(1, 2, 0), upper=False)
    squares = solved.pow(2).sum(-2).t().reshape(columns.shape[:-1])
    return squares.permute(*[order.index(axis) for axis in range(len(order))]).reshape(batch)


def _precision_to_scale_tril(P: Any) -> Any:
    """Return the lower Cholesky factor of the inverse of ``P``, from the Cholesky factor of ``P`` with reversed
    axes.
    """
    upper = functions.linalg.cholesky(P.flip(-2, -1)).flip(-2, -1).mT
    unit = functions.eye(P.size(-1), dtype=P.dtype, device=P.device)
    return functions.linalg.solve_triangular(upper.mT, unit.expand_as(upper), upper=True).mT.tril()
