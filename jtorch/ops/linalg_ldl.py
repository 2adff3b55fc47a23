"""Factorization of symmetric and Hermitian indefinite matrices: torch.linalg.ldl_factor and ldl_solve.

These call LAPACK through SciPy on the host, since XLA has no such factorization.
"""
from __future__ import annotations

import numpy as np

from jtorch.ops import check, out_dtypes
from jtorch.ops.facts import Out
from jtorch.ops.linalg import check_matrix
from jtorch.ops.registry import Tensor, op


def _kind(A, hermitian: bool) -> str:
    return "he" if hermitian and A.dtype.kind == "c" else "sy"


def _factored(A, hermitian: bool):
    n, batch = A.shape[-1], A.shape[:-2]
    LD, pivots, info = np.zeros(A.shape, A.dtype), np.zeros(A.shape[:-1], np.int32), np.zeros(batch, np.int32)
    if not n:
        return LD, pivots, info
    import scipy.linalg  # imported here, since it is slow and rarely needed
    factor, size = scipy.linalg.get_lapack_funcs((f"{_kind(A, hermitian)}trf", f"{_kind(A, hermitian)}trf_lwork"), (A,))
    work = int(np.real(size(n, lower=True)[0]))
    for at in np.ndindex(batch):
        found, places, info[at] = factor(A[at], lower=True, lwork=work)
        LD[at], pivots[at] = np.tril(found), places
    return LD, pivots, info


def _checked(A, name: str):
    check_matrix(A, name, square=True)
    check.require(A.dtype.name in ("float32", "float64", "complex64", "complex128"), f"{name}: Low precision dtypes not "
                  f"supported. Got {check.scalar_name(A.dtype)}")
    return np.asarray(A)


def _singular(info, name: str) -> None:
    wrong = int(info.reshape(-1)[np.flatnonzero(info)[0]]) if np.any(info) else 0
    check.require(not wrong, 'false INTERNAL ASSERT FAILED at "/__w/pytorch/pytorch/aten/src/ATen/native/BatchLinearAlgebra.cpp"'
                  f":1642, please report a bug to PyTorch. {name}: Unknown error code: {wrong}.")


@op(name="linalg.ldl_factor", dynamic=True, differentiable=False, returns="LD pivots")
def ldl_factor(A: Tensor, *, hermitian: bool = False):
    """Return L and D of A = LDLᵀ (LDLᴴ) in one matrix, and the pivots, in LAPACK's form. See torch.linalg.ldl_factor."""
    LD, pivots, info = _factored(_checked(A, "torch.linalg.ldl_factor_ex"), hermitian)
    _singular(info, "torch.linalg.ldl_factor")
    return LD, pivots


@op(name="linalg.ldl_factor_ex", out=Out(refuses=out_dtypes.EXPECTED), dynamic=True, differentiable=False,
    returns="LD pivots info")
def ldl_factor_ex(A: Tensor, *, hermitian: bool = False, check_errors: bool = False):
    """Return linalg.ldl_factor, and for each matrix 0 or where D is 0. See torch.linalg.ldl_factor_ex."""
    LD, pivots, info = _factored(_checked(A, "torch.linalg.ldl_factor_ex"), hermitian)
    if check_errors:
        _singular(info, "torch.linalg.ldl_factor_ex")
    return LD, pivots, info


def _check_system(LD, pivots, B) -> None:
    name = "torch.linalg.ldl_solve"
    check_matrix(LD, name, square=True)
    check.require(B.ndim >= 2, f"{name}: Expected B to have at least 2 dimensions, but it has {B.ndim} dimensions instead")
    check.require(LD.shape[-2] == B.shape[-2], f"{name}: Expected LD.size(-2) ({LD.shape[-2]}) == B.size(-2) ({B.shape[-2]})")
    check.require(pivots.ndim >= 1 and pivots.shape == LD.shape[:-1], f"{name}: Expected LD.shape[:-1] and pivots.shape to be "
                  f"the same, but got pivots with shape {list(pivots.shape)} instead")
    check.require(pivots.dtype.kind in "iu", f"{name}: Expected pivots to be integers. Got {check.scalar_name(pivots.dtype)}")
    check.require(LD.dtype == B.dtype, f"{name}: LD dtype {check.scalar_name(LD.dtype)} does not match b dtype "
                  f"{check.scalar_name(B.dtype)}")


@op(name="linalg.ldl_solve", dynamic=True, differentiable=False, out=Out(refuses=out_dtypes.EXPECTED))
def ldl_solve(LD: Tensor, pivots: Tensor, B: Tensor, *, hermitian: bool = False):
    """Return X of AX = B from linalg.ldl_factor's result. See torch.linalg.ldl_solve."""
    _check_system(LD, pivots, B)
    batch = check.broadcast_shapes(LD.shape[:-2], B.shape[:-2])
    X = np.array(np.broadcast_to(B, batch + B.shape[-2:]))
    if not X.size:
        return X
    factors, places = np.broadcast_to(LD, batch + LD.shape[-2:]), np.broadcast_to(pivots, batch + pivots.shape[-1:])
    import scipy.linalg
    solve = scipy.linalg.get_lapack_funcs(f"{_kind(LD, hermitian)}trs", (factors,))
    for at in np.ndindex(batch):
        X[at] = solve(factors[at], places[at], X[at], lower=True)[0]
    return X
