"""Partial decompositions of a matrix: torch.svd_lowrank, torch.pca_lowrank and torch.lobpcg.

The first two are the randomized algorithms 4.4 and 5.1 of Halko, Martinsson and Tropp, "Finding structure with randomness"
(arXiv:0909.4061). They draw the same random numbers as PyTorch.
"""
from __future__ import annotations

from typing import Any

import jtorch.dtype as dtypes
from jtorch._api import functions
from jtorch._api.names import put
from jtorch.tensor import Tensor


def _floating(A: Any):
    return A.dtype if A.is_complex() or A.is_floating_point() else dtypes.float32


def _basis(A: Any, q: int, niter: int) -> Any:
    """Return ``q`` orthonormal columns that approximately span the range of A."""
    start = functions.randn(A.shape[-1], q, dtype=_floating(A), device=A.device)
    Q = functions.linalg.qr(A @ start).Q
    for _ in range(niter):
        Q = functions.linalg.qr(A.mH @ Q).Q
        Q = functions.linalg.qr(A @ Q).Q
    return Q


def svd_lowrank(A: Any, q: int | None = 6, niter: int | None = 2, M: Any = None) -> tuple[Tensor, Tensor, Tensor]:
    """Return U, S and V of A - M by a random projection to ``q`` dimensions. See torch.svd_lowrank.

    Args:
        A: (…, m, n).
        q: slightly more than the rank that is wanted.
        niter: the number of subspace iterations; more iterations are more exact.
        M: broadcast to the shape of A; None means 0.

    """
    wide = A.shape[-2] < A.shape[-1]
    A = A if M is None else A - M
    A = A.mH if wide else A
    Q = _basis(A, 6 if q is None else q, 2 if niter is None else niter)
    U, S, Vh = functions.linalg.svd(Q.mH @ A, full_matrices=False)
    U, V = Q @ U, Vh.mH
    return (V, S, U) if wide else (U, S, V)


def pca_lowrank(A: Any, q: int | None = None, center: bool = True, niter: int = 2) -> tuple[Tensor, Tensor, Tensor]:
    """Return the principal components of A's rows: ``svd_lowrank`` after subtracting the column means. See torch.pca_lowrank.

    Raise ValueError if ``q`` exceeds a dimension of A or ``niter`` is negative.
    """
    m, n = A.shape[-2:]
    if q is None:
        q = min(6, m, n)
    elif not 0 <= q <= min(m, n):
        raise ValueError(f"q(={q}) must be non-negative integer and not greater than min(m, n)={min(m, n)}")
    if niter < 0:
        raise ValueError(f"niter(={niter}) must be non-negative integer")
    return svd_lowrank(A - A.mean(dim=(-2,), keepdim=True) if center else A, q, niter)


def lobpcg(A: Any, k: int | None = None, B: Any = None, X: Any = None, n: int | None = None, iK: Any = None,
           niter: int | None = None, tol: float | None = None, largest: bool | None = None, method: str | None = None,
           tracker: Any = None, ortho_iparams: dict | None = None, ortho_fparams: dict | None = None,
           ortho_bparams: dict | None = None) -> tuple[Tensor, Tensor]:
    """Return ``k`` extreme eigenvalues of AX = BX diag(E) and their vectors, for symmetric A and B. See torch.lobpcg.

    Matrices are dense, so all eigenvalues are computed directly and ``k`` are returned, while PyTorch iterates. Parameters of
    the iteration (X's values, iK, niter, tol, method, tracker, the ortho parameters) have no effect.
    """
    if A.shape[-1] != A.shape[-2]:
        raise AssertionError(f"A must be square, got shape {A.shape}")
    k = k if k is not None else (X.shape[-1] if X is not None else 1)
    if A.shape[-1] < 3 * k:
        raise ValueError(f"LPBPCG algorithm is not applicable when the number of A rows (={A.shape[-1]}) is smaller than 3 x the "
                         f"number of requested eigenpairs (={k})")
    if B is None:
        E, V = functions.linalg.eigh(A)
    else:
        L = functions.linalg.cholesky(B)
        half = functions.linalg.solve_triangular(L, A, upper=False)
        E, V = functions.linalg.eigh(functions.linalg.solve_triangular(L, half.mH, upper=False))
        V = functions.linalg.solve_triangular(L.mH, V, upper=True)
    if largest is None or largest:
        return E[..., -k:].flip(-1), V[..., -k:].flip(-1)
    return E[..., :k], V[..., :k]


def bind() -> None:
    """Add the functions of this module to the package."""
    put(functions, {"svd_lowrank": svd_lowrank, "pca_lowrank": pca_lowrank, "lobpcg": lobpcg})
