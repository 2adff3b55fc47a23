"""torch.linalg: matrix factorizations (Cholesky, LU, QR, SVD, eigenvalues) and their solvers."""
from __future__ import annotations

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

from jtorch._base import warned
from jtorch.ops import check, out_dtypes, promotion
from jtorch.ops.facts import Out
from jtorch.ops.layout import BY_COLUMNS, SOLVED_BY_LU, SOLVED_BY_OLD_LU
from jtorch.ops.linalg import (
    LinAlgError,
    adjoint,
    broadcast_system,
    check_matrix,
    check_system,
    converges,
    first_bad,
    from_triangle,
    inverse_of,
    of_batch,
    triangular,
)
from jtorch.ops.linalg_norms import singular_values
from jtorch.ops.matmul import product, same_scalar_type
from jtorch.ops.registry import Tensor, op

lax_linalg = jax.lax.linalg
NOTHING_WRONG = (np.zeros((), bool), np.zeros((), np.int64))


# Cholesky

def _hermitian(A, upper: bool = False):
    """Return the Hermitian matrix of one triangle of A. Both triangles share its derivative."""
    both = (A + adjoint(A)) / 2
    return both + jax.lax.stop_gradient(from_triangle(A, upper) - both)


@partial(jax.custom_jvp, nondiff_argnums=(1,))
def _lower_factor(A, upper: bool):
    return lax_linalg.cholesky(from_triangle(A, upper), symmetrize_input=False)


@_lower_factor.defjvp
def _lower_factor_jvp(upper: bool, primals, tangents):
    """Return PyTorch's derivative: a tangent that is not Hermitian is averaged and may make the diagonal complex."""
    L = _lower_factor(primals[0], upper)
    half = lax_linalg.triangular_solve(L, tangents[0], left_side=True, lower=True)
    dM = lax_linalg.triangular_solve(L, half, left_side=False, lower=True, transpose_a=True, conjugate_a=True)
    return L, product(L, (jnp.tril(dM) + jnp.tril(adjoint(dM), -1)) / 2)


def factor(A, upper: bool):
    """Return the Cholesky factor of one triangle of A."""
    L = _lower_factor(A, upper) if A.size else A
    return adjoint(L) if upper else L


def _eliminated(A):
    """Return what LAPACK's potrf leaves of one matrix, and the order of the minor that is not positive-definite, or 0.

    Columns before the failing pivot are the factor's. The pivot is updated, and the rest is as given.
    """
    rows = jnp.arange(A.shape[-1])

    def eliminate(j, state):
        rest, made, failed = state
        pivot = jnp.real(rest[j, j])
        good = (failed == 0) & (pivot > 0)
        column = jnp.where(rows > j, rest[:, j], 0)
        diagonal = jnp.where(good, jnp.sqrt(pivot), pivot).astype(A.dtype)
        done = jnp.where(rows == j, diagonal, jnp.where(good, column / diagonal, made[:, j]))
        made = jnp.where(failed == 0, made.at[:, j].set(done), made)
        rest = rest - column[:, None] * jnp.conj(column)[None, :] / pivot.astype(A.dtype)
        return rest, made, jnp.where(good | (failed != 0), failed, j + 1)
    _, made, failed = jax.lax.fori_loop(0, A.shape[-1], eliminate, (A, A, jnp.zeros((), np.int64)))
    return made, failed


def _failures(A, upper: bool):
    """Return (PyTorch's ``info``, what is done of factors that fail: their lower triangles count).

    ``info`` is the order of the leading minor that is not positive-definite, or 0.
    """
    if A.size == 0:
        return jnp.zeros(A.shape[:-2], np.int64), A
    A = _hermitian(A, upper)
    flat = A.reshape(-1, *A.shape[-2:])
    fails = jnp.isnan(jnp.real(lax_linalg.cholesky(flat, symmetrize_input=False))).any((-2, -1))
    partly, found = jax.lax.cond(fails.any(), lambda: jax.vmap(_eliminated)(flat),
                                 lambda: (flat, jnp.zeros(flat.shape[0], np.int64)))
    # if the elimination finds no failing minor although LAPACK's factorization failed, report the last minor
    info = jnp.where(fails, jnp.where(found == 0, A.shape[-1], found), 0)
    return info.reshape(A.shape[:-2]), partly.reshape(A.shape)


def info_of_cholesky(A, upper: bool = False):
    """Return PyTorch's ``info``: the order of the leading minor that is not positive-definite, or 0."""
    return _failures(A, upper)[0]


def _not_positive_definite(name: str):
    def flag(A, upper=False):
        info = info_of_cholesky(A, upper).reshape(-1)
        if info.size == 0:
            return NOTHING_WRONG
        at = jnp.argmax(info != 0).astype(np.int64)
        return jnp.any(info != 0), info[at] + (0 if A.ndim == 2 else (A.shape[-1] + 1) * (at + 1))

    def error(detail, A, upper=False):
        where, order = of_batch(detail, A.shape[-1], A.ndim > 2)
        return LinAlgError(f"{name}: {where}The factorization could not be completed because the input is not "
                           f"positive-definite (the leading minor of order {order} is not positive-definite).")
    return flag, error


@op(name="linalg.cholesky", saves="result", backward_name="LinalgCholeskyExBackward0",
    value_check=_not_positive_definite("linalg.cholesky"), loops=True, out=Out(refuses=out_dtypes.EXPECTED), layout=BY_COLUMNS)
def linalg_cholesky(A: Tensor, *, upper: bool = False):
    """Return L of A = L Lᴴ. See torch.linalg.cholesky."""
    check_matrix(A, "linalg.cholesky", square=True)
    return factor(A, upper)


@op(saves="result", value_check=_not_positive_definite("cholesky"), loops=True, layout=BY_COLUMNS,
    out=Out(refuses=out_dtypes.of_safe_cast("cholesky")))
def cholesky(input: Tensor, upper: bool = False):
    """Return L of input = L Lᴴ, or U of Uᴴ U. See torch.cholesky."""
    warned.warn_once("torch.cholesky is deprecated in favor of torch.linalg.cholesky and will be removed in a future PyTorch "
                     "release.\nL = torch.cholesky(A)\nshould be replaced with\nL = torch.linalg.cholesky(A)\nand\n"
                     "U = torch.cholesky(A, upper=True)\nshould be replaced with\nU = torch.linalg.cholesky(A).mH\nThis "
                     "transform will produce equivalent results for all valid (symmetric positive definite) inputs.")
    check_matrix(input, "cholesky", square=True)
    return factor(input, upper)


@op(name="linalg.cholesky_ex", out=Out(refuses=out_dtypes.EXPECTED), returns="L info", saves="result",
    loops=True, layout=BY_COLUMNS)
def cholesky_ex(A: Tensor, *, upper: bool = False, check_errors: bool = False):
    """Return linalg.cholesky, and for each matrix 0 or the order of the minor that failed. See torch.linalg.cholesky_ex.

    Where a minor fails, the factor is complete in the columns before it.
    """
    check_matrix(A, "linalg.cholesky", square=True)
    info, partly = _failures(jax.lax.stop_gradient(A), upper)
    partly = jnp.tril(partly)
    L = jnp.where((info == 0)[..., None, None], factor(A, upper), adjoint(partly) if upper else partly)
    return L, info.astype(np.int32)


@op(layout=BY_COLUMNS, out=Out(refuses=out_dtypes.of_safe_cast("cholesky_solve")))
def cholesky_solve(B: Tensor, L: Tensor, upper: bool = False):
    """Return X of AX = B from the Cholesky factor of A. See torch.cholesky_solve."""
    check.require(B.ndim >= 2, f"b should have at least 2 dimensions, but has {B.ndim} dimensions instead")
    check.require(L.ndim >= 2, f"u should have at least 2 dimensions, but has {L.ndim} dimensions instead")
    n = L.shape[-1]
    check.require(B.shape[-2] == n, f"Incompatible matrix sizes for cholesky_solve: each A matrix is {n} by {n} but each b "
                  f"matrix is {B.shape[-2]} by {B.shape[-1]}")
    same_scalar_type(B, L)
    L, B = broadcast_system(L, B)
    return _solve_factored(L, B, upper) if B.size else B


@partial(jax.custom_jvp, nondiff_argnums=(2,))
def _solve_factored(L, B, upper):
    Y = triangular(L, B, upper, transpose=upper, conj=upper)
    return triangular(L, Y, upper, transpose=not upper, conj=not upper)


@_solve_factored.defjvp
def _solve_factored_jvp(upper, primals, tangents):
    """Return the derivative by all of L: the tangent of the triangle that is not read counts too."""
    (L, B), (dL, dB) = primals, tangents
    X = _solve_factored(L, B, upper)
    if upper:
        dA = product(adjoint(jnp.triu(L)), dL)
    else:
        dA = product(dL, adjoint(jnp.tril(L)))
    return X, _solve_factored(L, dB - product(dA + adjoint(dA), X), upper)


@op(layout=BY_COLUMNS, out=Out(refuses=out_dtypes.of_safe_cast("cholesky_inverse")))
def cholesky_inverse(L: Tensor, upper: bool = False):
    """Return the inverse of A from its Cholesky factor. See torch.cholesky_inverse."""
    check_matrix(L, "cholesky_inverse", square=True)
    return _solve_factored(L, jnp.broadcast_to(jnp.eye(L.shape[-1], dtype=L.dtype), L.shape), upper) if L.size else L


# LU

def _lu(A, pivot: bool = True):
    """Return LU and pivots (counted from 0); matrices may be empty."""
    check.require(pivot, "linalg.lu_factor: LU without pivoting is not implemented on the CPU")
    if A.size == 0:
        k = min(A.shape[-2:])
        return A, jnp.broadcast_to(jnp.arange(k, dtype=np.int32), (*A.shape[:-2], k))
    return lax_linalg.lu(A)[:2]


def _permutation(pivots, n: int):
    """Return the row order of pivots (counted from 0), and the matrix P of A = PLU."""
    if pivots.size == 0:
        rows = jnp.broadcast_to(jnp.arange(n, dtype=np.int32), (*pivots.shape[:-1], n))
    else:
        rows = lax_linalg.lu_pivots_to_permutation(pivots, n)
    return rows, jnp.swapaxes(jax.nn.one_hot(rows, n, dtype=np.int32), -2, -1)


def _lower_upper(LU):
    m, n = LU.shape[-2:]
    k = min(m, n)
    L = jnp.tril(LU[..., :, :k], -1) + jnp.broadcast_to(jnp.eye(m, k, dtype=LU.dtype), (*LU.shape[:-2], m, k))
    return L, jnp.triu(LU[..., :k, :])


def _zero_pivot(LU):
    """Return LAPACK's ``info``: the 1-based index of the first zero on the diagonal of U, or 0."""
    zero = jnp.diagonal(LU, axis1=-2, axis2=-1) == 0
    if zero.shape[-1] == 0:
        return jnp.zeros(LU.shape[:-2], np.int32)
    return jnp.where(zero.any(-1), jnp.argmax(zero, -1) + 1, 0).astype(np.int32)


@op(name="linalg.lu", returns="P L U")
def lu(A: Tensor, *, pivot: bool = True):
    """Return P, L and U of A = PLU. See torch.linalg.lu."""
    check_matrix(A, "linalg.lu")
    LU, pivots = _lu(A, pivot)
    return _permutation(pivots, A.shape[-2])[1].astype(A.dtype), *_lower_upper(LU)


def _no_zero_pivot():
    def flag(A, pivot=True):
        return first_bad(jnp.diagonal(_lu(A)[0], axis1=-2, axis2=-1) == 0)

    def error(detail, A, pivot=True):
        where, i = of_batch(detail, min(A.shape[-2:]), A.ndim > 2)
        return RuntimeError(f"torch.linalg.lu_factor: {where}U[{i},{i}] is zero and using it on lu_solve would result in a "
                            "division by zero. If you still want to perform the factorization, consider calling "
                            "linalg.lu(A, pivot) or linalg.lu_factor_ex(A, pivot)")
    return flag, error


@op(name="linalg.lu_factor", returns="LU pivots", backward_name="LinalgLuFactorExBackward0",
    value_check=_no_zero_pivot(), out=Out(refuses=out_dtypes.EXPECTED), layout=BY_COLUMNS)
def lu_factor(A: Tensor, *, pivot: bool = True):
    """Return L and U in one matrix, and the pivots. See torch.linalg.lu_factor."""
    check_matrix(A, "torch.linalg.lu_factor")
    LU, pivots = _lu(A, pivot)
    return LU, pivots + np.int32(1)


@op(name="linalg.lu_factor_ex", returns="LU pivots info", out=Out(refuses=out_dtypes.EXPECTED), layout=BY_COLUMNS)
def lu_factor_ex(A: Tensor, *, pivot: bool = True, check_errors: bool = False):
    """Return linalg.lu_factor, and for each matrix 0 or where U is 0. See torch.linalg.lu_factor_ex."""
    check_matrix(A, "torch.linalg.lu_factor_ex")
    LU, pivots = _lu(A, pivot)
    return LU, pivots + np.int32(1), _zero_pivot(LU)


@op(name="lu", out=False, backward_name="LinalgLuFactorExBackward0")
def old_lu(A: Tensor, pivot: bool = True, get_infos: bool = False):
    """Return linalg.lu_factor or linalg.lu_factor_ex. See torch.lu."""
    check_matrix(A, "torch.linalg.lu_factor_ex")
    LU, pivots = _lu(A, pivot)
    return (LU, pivots + np.int32(1), _zero_pivot(LU)) if get_infos else (LU, pivots + np.int32(1))


def _solve_lu(LU, pivots, B, left: bool, adjoint_system: bool):
    if not left:    # XA = B is AᴴXᴴ = Bᴴ
        return adjoint(_solve_lu(LU, pivots, adjoint(B), True, not adjoint_system))
    n = LU.shape[-1]
    rows = _permutation(pivots - np.int32(1), n)[0][..., None]
    if adjoint_system:
        Y = triangular(LU, triangular(LU, B, True, transpose=True, conj=True), False, transpose=True, conj=True, unit=True)
        return jnp.take_along_axis(Y, jnp.argsort(rows, -2), -2)
    return triangular(LU, triangular(LU, jnp.take_along_axis(B, rows, -2), False, unit=True), True)


def _lu_solved(LU, pivots, B, left: bool, adjoint_system: bool):
    name = "linalg.lu_solve"
    check_matrix(LU, name, "LU", square=True)
    check.require(B.ndim >= 2, f"{name}: The input tensor B must have at least 2 dimensions.")
    check.require(pivots.dtype == np.int32, f"{name}: pivots should be a Tensor of scalar type torch.int32")
    check.require(LU.dtype == B.dtype, f"{name}: Expected LU and B to have the same dtype, but found LU of type "
                  f"{check.scalar_name(LU.dtype)} and B of type {check.scalar_name(B.dtype)} instead")
    check_system(LU, B, left, name)
    check.require(pivots.shape == LU.shape[:-1], f"{name}: Number of pivots per batch should be same as the dimension of the "
                  "matrix")
    LU, B = broadcast_system(LU, B)
    pivots = jnp.broadcast_to(pivots, LU.shape[:-1])
    return _solve_lu(LU, pivots, B, left, adjoint_system) if B.size else B


@op(name="linalg.lu_solve", out=Out(refuses=out_dtypes.EXPECTED), layout=SOLVED_BY_LU)
def linalg_lu_solve(LU: Tensor, pivots: Tensor, B: Tensor, *, left: bool = True, adjoint: bool = False):
    """Return X of AX = B from linalg.lu_factor's result. See torch.linalg.lu_solve."""
    return _lu_solved(LU, pivots, B, left, adjoint)


@op(backward_name="LinalgLuSolveBackward0", out=Out(refuses=out_dtypes.EXPECTED), layout=SOLVED_BY_OLD_LU)
def lu_solve(b: Tensor, LU_data: Tensor, LU_pivots: Tensor):
    """Return X of AX = b from torch.lu's result. See torch.lu_solve."""
    return _lu_solved(LU_data, LU_pivots, b, True, False)


@op(method=False, returns="P L U", saves="none")
def lu_unpack(LU_data: Tensor, LU_pivots: Tensor, unpack_data: bool = True, unpack_pivots: bool = True):
    """Return P, L and U from torch.lu's result; those not asked for are empty. See torch.lu_unpack."""
    check.require(not unpack_pivots or LU_pivots.dtype == np.int32,
                  "torch.lu_unpack: LU_pivots is expected to be a contiguous tensor of torch.int32 dtype.\n"
                  "Note: this function is intended to be used with the output produced by torch.linalg.lu_factor")
    nothing = jnp.zeros((0,), LU_data.dtype)
    L, U = _lower_upper(LU_data) if unpack_data else (nothing, nothing)
    if not unpack_pivots:
        return nothing, L, U
    return _permutation(LU_pivots - np.int32(1), LU_data.shape[-2])[1].astype(LU_data.dtype), L, U


# QR

def _qr(A, mode: str):
    check.require(mode in ("reduced", "complete", "r"),
                  f"qr received unrecognized mode '{mode}' but expected one of 'reduced' (default), 'r', or 'complete'")
    check_matrix(A, "linalg.qr")
    m, n = A.shape[-2:]
    full = mode == "complete"
    if A.size == 0:
        k = m if full else min(m, n)
        Q = jnp.broadcast_to(jnp.eye(m, k, dtype=A.dtype), (*A.shape[:-2], m, k))
        return (Q if mode != "r" else jnp.zeros((0,), A.dtype)), jnp.zeros((*A.shape[:-2], k, n), A.dtype)
    # a wide matrix is factored by its square part, which makes the factorization differentiable
    Q, R = lax_linalg.qr(A[..., :, :m] if m < n else A, full_matrices=full and m > n)
    R = jnp.concatenate([R, product(adjoint(Q), A[..., :, m:])], -1) if m < n else R
    return (Q if mode != "r" else jnp.zeros((0,), A.dtype)), R


@op(name="linalg.qr", returns="Q R", saves="result", layout=BY_COLUMNS)
def linalg_qr(A: Tensor, mode: str = "reduced"):
    """Return Q and R of A = QR. See torch.linalg.qr."""
    return _qr(A, mode)


@op(returns="Q R", saves="result", backward_name="LinalgQrBackward0", layout=BY_COLUMNS)
def qr(input: Tensor, some: bool = True):
    """Return Q and R of input = QR. See torch.qr."""
    warned.warn_once("torch.qr is deprecated in favor of torch.linalg.qr and will be removed in a future PyTorch release.\nThe "
                     "boolean parameter 'some' has been replaced with a string parameter 'mode'.\nQ, R = torch.qr(A, some)\n"
                     "should be replaced with\nQ, R = torch.linalg.qr(A, 'reduced' if some else 'complete')")
    return _qr(input, "reduced" if some else "complete")


def _reflected(A, tau, other, order):
    """Apply the reflectors of ``geqrf`` (columns of A below the diagonal) to ``other`` in the given order."""
    m = A.shape[-2]
    for i in order:
        v = jnp.where(jnp.arange(m) < i, 0, jnp.where(jnp.arange(m) == i, 1, A[..., :, i]))[..., None]
        other = other - tau[..., i, None, None] * v * product(adjoint(v), other)
    return other


@jax.custom_jvp
def _orthogonal(A, tau):
    return lax_linalg.householder_product(A, tau)


@_orthogonal.defjvp
def _orthogonal_jvp(primals, tangents):
    def product_of(A, tau):
        m, n = A.shape[-2:]
        start = jnp.broadcast_to(jnp.eye(m, n, dtype=A.dtype), A.shape)
        return _reflected(A, tau, start, range(tau.shape[-1] - 1, -1, -1))
    return _orthogonal(*primals), jax.jvp(product_of, primals, tangents)[1]


@op(name="linalg.householder_product", aliases=("orgqr",), method=True, saves="result", layout=BY_COLUMNS,
    out=Out(refuses=out_dtypes.of_safe_cast("torch.linalg.householder_product")))
def householder_product(A: Tensor, tau: Tensor):
    """Return the first columns of a product of Householder reflections. See torch.linalg.householder_product."""
    name = "torch.linalg.householder_product: "
    check.require(A.ndim >= 2, name + "input must have at least 2 dimensions.")
    check.require(A.shape[-2] >= A.shape[-1], name + "input.shape[-2] must be greater than or equal to input.shape[-1]")
    check.require(A.shape[-1] >= tau.shape[-1], name + "input.shape[-1] must be greater than or equal to tau.shape[-1]")
    check.require(A.dtype == tau.dtype, name + f"tau dtype {check.scalar_name(tau.dtype)} does not match input dtype "
                  f"{check.scalar_name(A.dtype)}")
    return _orthogonal(A, tau) if A.size and tau.size else jnp.broadcast_to(
        jnp.eye(A.shape[-2], A.shape[-1], dtype=A.dtype), A.shape)


@op(layout=BY_COLUMNS)
def ormqr(input: Tensor, tau: Tensor, other: Tensor, left: bool = True, transpose: bool = False):
    """Return the product of a matrix with the Q of ``geqrf``. See torch.ormqr."""
    check.require(input.ndim >= 2, "torch.ormqr: input must have at least 2 dimensions.")
    check.require(other.ndim >= 2, "torch.ormqr: other must have at least 2 dimensions.")
    side = -2 if left else -1
    check.require(other.shape[side] == input.shape[-2], f"torch.ormqr: other.shape[{side}] must be equal to input.shape[-2]")
    check.require(other.shape[side] >= tau.shape[-1],
                  f"torch.ormqr: other.shape[{side}] must be greater than or equal to tau.shape[-1]")
    check.require(tau.shape[-1] == min(other.shape[side], input.shape[-1]),
                  f"torch.ormqr: tau.shape[-1] must be equal to min(other.shape[{side}], input.shape[-1])")
    if not left:
        return adjoint(ormqr(input, tau, adjoint(other), True, not transpose))
    k = range(tau.shape[-1])
    return _reflected(input, jnp.conj(tau), other, k) if transpose else _reflected(input, tau, other, reversed(k))


@op(returns="a tau", differentiable=False, layout=BY_COLUMNS)
def geqrf(input: Tensor):
    """Return the reflectors and factors that a QR factorization is made of, as LAPACK has them. See torch.geqrf."""
    check.require(input.ndim >= 2, "torch.geqrf: input must have at least 2 dimensions.")
    a, tau = jnp.linalg.qr(input, mode="raw")
    return jnp.swapaxes(a, -2, -1), tau


# Singular values

@jax.custom_jvp
def _svd_full(A):
    return jnp.linalg.svd(A, full_matrices=True)


@jax.custom_jvp
def _svd_thin(A):
    return jnp.linalg.svd(A, full_matrices=False)


def _svd_jvp(svd):
    def jvp(primals, tangents):
        (A,), (dA,) = primals, tangents
        result = U, s, Vh = svd(A)
        k = s.shape[-1]
        dU, ds, dV = _svd_tangents(U[..., :k], s, adjoint(Vh)[..., :k], dA)
        dU, dV = (jnp.pad(d, [(0, 0)] * (d.ndim - 1) + [(0, n - k)])
                  for d, n in ((dU, U.shape[-1]), (dV, Vh.shape[-2])))
        return tuple(result), (dU, ds, adjoint(dV))
    return jvp


def _svd_tangents(U, s, V, dA):
    """Return the tangents. Equal or zero singular values, whose vectors have no derivative, give 0 where PyTorch gives inf."""
    dP = product(product(adjoint(U), dA), V)
    row, column = s[..., None, :], s[..., :, None]
    F = _reciprocal((row + column) * (row - column)).astype(dP.dtype)
    on_diagonal = jnp.broadcast_to(jnp.eye(s.shape[-1], dtype=dP.dtype), dP.shape)
    skew = (dP - adjoint(dP)) / 2 * _reciprocal(s)[..., None, :].astype(dP.dtype) * on_diagonal
    right, left = row.astype(dP.dtype) * dP, column.astype(dP.dtype) * dP
    dU = product(U, F * (right + adjoint(right)) + skew)
    dV = product(V, F * (left + adjoint(left)))
    inverse = _reciprocal(s)[..., None, :].astype(dP.dtype)
    if U.shape[-2] > U.shape[-1]:
        moved = product(dA, V)
        dU = dU + (moved - product(U, dP)) * inverse
    if V.shape[-2] > V.shape[-1]:
        moved = product(adjoint(dA), U)
        dV = dV + (moved - product(V, adjoint(dP))) * inverse
    return dU, jnp.real(jnp.diagonal(dP, axis1=-2, axis2=-1)), dV


def _reciprocal(x):
    """Return 1/x, and 0 where x is 0."""
    zero = x == 0
    return jnp.where(zero, 0, 1 / jnp.where(zero, 1, x))


_svd_full.defjvp(_svd_jvp(_svd_full))
_svd_thin.defjvp(_svd_jvp(_svd_thin))


def _svd(A, full_matrices: bool):
    m, n = A.shape[-2:]
    if A.size == 0:
        k = min(m, n)
        U, V = (jnp.broadcast_to(jnp.eye(d, d if full_matrices else k, dtype=A.dtype),
                                 (*A.shape[:-2], d, d if full_matrices else k)) for d in (m, n))
        return U, jnp.zeros((*A.shape[:-2], k), A.real.dtype), jnp.swapaxes(V, -2, -1)
    return tuple((_svd_full if full_matrices and m != n else _svd_thin)(A))


@op(name="linalg.svd", returns="U S Vh", saves="result", value_check=converges(), layout=BY_COLUMNS)
def linalg_svd(A: Tensor, full_matrices: bool = True, *, driver: str | None = None):
    """Return U, S and Vᴴ of A = U diag(S) Vᴴ. See torch.linalg.svd."""
    check_matrix(A, "linalg.svd")
    _no_driver("linalg.svd", driver)
    return _svd(A, full_matrices)


def _no_driver(name: str, driver) -> None:
    check.require(driver is None, f"torch.{name}: keyword argument `driver=` is only supported on CUDA inputs with cuSOLVER "
                  "backend.")


@op(returns="U S V", saves="result", backward_name="LinalgSvdBackward0", value_check=converges())
def svd(input: Tensor, some: bool = True, compute_uv: bool = True):
    """Return U, S and V of input = U diag(S) Vᴴ. See torch.svd."""
    check_matrix(input, "linalg.svd")
    if compute_uv:
        U, S, Vh = _svd(input, not some)
        return U, S, adjoint(Vh)
    m, n = input.shape[-2:]
    U, V = (jnp.zeros((*input.shape[:-2], d, d), input.dtype) for d in (m, n))
    return U, _values(input), V


def _values(A):
    return singular_values(A) if A.size else jnp.zeros((*A.shape[:-2], min(A.shape[-2:])), A.real.dtype)


@op(name="linalg.svdvals", saves="result", backward_name="LinalgSvdBackward0", value_check=converges(),
    out=Out(refuses=out_dtypes.EXPECTED))
def svdvals(A: Tensor, *, driver: str | None = None):
    """Return the singular values. See torch.linalg.svdvals."""
    check_matrix(A, "linalg.svd")
    _no_driver("linalg.svd", driver)
    return _values(A)


# Eigenvalues

@partial(jax.custom_jvp, nondiff_argnums=(1,))
def _eigen_of_triangle(A, upper):
    """Return eigenvalues and eigenvectors of Hermitian matrices given by one triangle."""
    V, w = lax_linalg.eigh(A, lower=not upper, symmetrize_input=False)
    return w, V


@_eigen_of_triangle.defjvp
def _eigen_of_triangle_jvp(upper, primals, tangents):
    """Return the tangents. As in the SVD, equal eigenvalues give 0 for their vectors."""
    w, V = _eigen_of_triangle(primals[0], upper)
    dP = product(product(adjoint(V), (tangents[0] + adjoint(tangents[0])) / 2), V)
    F = _reciprocal(w[..., None, :] - w[..., :, None]).astype(dP.dtype)
    return (w, V), (jnp.real(jnp.diagonal(dP, axis1=-2, axis2=-1)), product(V, F * dP))


def _symmetric_eigen(A, UPLO: str):
    check_matrix(A, "linalg.eigh", square=True)
    check.require(UPLO.upper() in ("L", "U"), f"Expected UPLO argument to be 'L' or 'U', but got {UPLO}")
    if A.size == 0:
        return jnp.zeros(A.shape[:-1], A.real.dtype), A
    return _eigen_of_triangle(A, UPLO.upper() == "U")


@op(name="linalg.eigh", out=Out(refuses=out_dtypes.EXPECTED), returns="eigenvalues eigenvectors",
    saves="result", layout=BY_COLUMNS)
def eigh(A: Tensor, UPLO: str = "L"):
    """Return the eigenvalues and -vectors of Hermitian matrices. See torch.linalg.eigh."""
    return _symmetric_eigen(A, UPLO)


@op(name="linalg.eigvalsh", saves="result", backward_name="LinalgEighBackward0", out=Out(refuses=out_dtypes.EXPECTED))
def eigvalsh(A: Tensor, UPLO: str = "L"):
    """Return the eigenvalues of Hermitian matrices. See torch.linalg.eigvalsh."""
    return _symmetric_eigen(A, UPLO)[0]


@jax.custom_jvp
def _eig(A):
    w, V = lax_linalg.eig(A, compute_left_eigenvectors=False)
    return w, V


@_eig.defjvp
def _eig_jvp(primals, tangents):
    """Return the tangents of ``_eig``. The second term of dV keeps the vectors' norm at 1."""
    w, V = _eig(primals[0])
    dP = product(inverse_of(V), product(tangents[0].astype(V.dtype), V))
    inner = _reciprocal(w[..., None, :] - w[..., :, None]) * dP
    dV = product(V, inner)
    along = jnp.real(jnp.sum(jnp.conj(V) * dV, -2, keepdims=True)).astype(V.dtype)
    return (w, V), (jnp.diagonal(dP, axis1=-2, axis2=-1), dV - V * along)


def _finite():
    def flag(A):
        return ~jnp.all(jnp.isfinite(A)), jnp.zeros((), np.int64)

    def error(detail, A):
        return RuntimeError("torch.linalg.eig: input tensor should not contain infs or NaNs.")
    return flag, error


def _eigen(A, name: str = "linalg.eig"):
    check_matrix(A, name, square=True)
    if A.size == 0:
        A = A if promotion.is_complex(np.dtype(A.dtype)) else A.astype(np.result_type(A.dtype, np.complex64))
        return jnp.zeros(A.shape[:-1], A.dtype), A
    return _eig(A)


@op(name="linalg.eig", returns="eigenvalues eigenvectors", saves="result", value_check=_finite(), layout=BY_COLUMNS)
def eig(A: Tensor):
    """Return the eigenvalues and -vectors of square matrices, which are complex. See torch.linalg.eig."""
    return _eigen(A)


@op(name="linalg.eigvals", saves="result", backward_name="LinalgEigBackward0", value_check=_finite(),
    out=Out(refuses=out_dtypes.refusal("torch.linalg.eigvals: Expected eigenvalues to be safely castable from {made} dtype, "
                                       "but got eigenvalues with dtype {out}")))
def eigvals(A: Tensor):
    """Return the eigenvalues of square matrices, which are complex. See torch.linalg.eigvals."""
    return _eigen(A, "linalg.eigvals")[0]
