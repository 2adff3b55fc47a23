"""torch.linalg: pseudo-inverses, ranks and least squares, which treat small singular values as 0."""
from __future__ import annotations

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

from jtorch.ops import check, out_dtypes, promotion
from jtorch.ops.facts import Out
from jtorch.ops.linalg import adjoint, broadcast_system, check_matrix, converges, from_triangle
from jtorch.ops.matmul import product
from jtorch.ops.registry import Tensor, op, thaw


def _tolerance(s, rows: int, columns: int, atol, rtol):
    """Return PyTorch's threshold below which singular values count as 0."""
    a = 0 if atol is None else atol
    if rtol is None:
        none = np.finfo(s.dtype).eps * max(rows, columns)
        rtol = none if atol is None else jnp.where(jnp.asarray(atol) > 0, 0, none)
    largest = jnp.max(s, -1)
    a, r = (jnp.asarray(t).astype(s.dtype) for t in (a, rtol))
    bound = jnp.broadcast_to(r, np.broadcast_shapes(r.shape, largest.shape)) * jnp.broadcast_to(
        largest, np.broadcast_shapes(r.shape, largest.shape))
    shape = np.broadcast_shapes(a.shape, bound.shape)
    return jnp.maximum(jnp.broadcast_to(a, shape), jnp.broadcast_to(bound, shape))


@partial(jax.custom_jvp, nondiff_argnums=(2,))
def pinv_with(A, tolerance, hermitian: bool = False):
    """Return the Moore-Penrose inverse. Singular values up to ``tolerance`` are 0. ``hermitian``: read A's lower triangle."""
    U, s, Vh = jnp.linalg.svd(from_triangle(A) if hermitian else A, full_matrices=False)
    inverse = jnp.where(s > tolerance[..., None], 1 / s, 0).astype(A.dtype)
    return product(adjoint(Vh) * inverse[..., None, :], adjoint(U))


@pinv_with.defjvp
def _pinv_jvp(hermitian: bool, primals, tangents):
    """Return the tangent by Golub and Pereyra's formula for constant rank. As in PyTorch it uses all of A's tangent."""
    (A, tolerance), (dA, _) = primals, tangents
    P = pinv_with(A, tolerance, hermitian)
    PH, dH = adjoint(P), adjoint(dA)
    first = product(P, product(dA, P))
    second = product(product(P, PH), dH - product(product(dH, A), P))
    third = product(dH - product(product(P, A), dH), product(PH, P))
    return P, second + third - first


@op(name="linalg.pinv", saves="both", value_check=converges(), checked_where=lambda template: not thaw(template[3]),
    out=Out(refuses=out_dtypes.of_safe_cast("linalg.pinv")))
def pinv(input: Tensor, *, atol: Tensor | float | None = None, rtol: Tensor | float | None = None, hermitian: bool = False):
    """Return the Moore-Penrose inverse. See torch.linalg.pinv."""
    return _pinv(input, atol, rtol, hermitian)


@op(backward_name="LinalgPinvBackward0", saves="both", value_check=converges())
def pinverse(input: Tensor, rcond: float = 1e-15):
    """Return the Moore-Penrose inverse. See torch.pinverse."""
    return _pinv(input, 0.0, rcond, False)


def _pinv(A, atol, rtol, hermitian):
    check.require(A.ndim >= 2 and promotion.is_inexact(np.dtype(A.dtype)), f"linalg.pinv({check.scalar_name(A.dtype)}{{"
                  f"{list(A.shape)}}}): expected a tensor with 2 or more dimensions of float, double, cfloat or cdouble types")
    check_matrix(A, "linalg.pinv", square=hermitian and A.size > 0)
    rows, columns = A.shape[-2:]
    if A.size == 0:
        return jnp.zeros((*A.shape[:-2], columns, rows), A.dtype)
    s = jax.lax.stop_gradient(jnp.linalg.svd(from_triangle(A) if hermitian else A, full_matrices=False)[1])
    tolerance = jax.lax.stop_gradient(jnp.broadcast_to(_tolerance(s, rows, columns, atol, rtol), A.shape[:-2]))
    return pinv_with(A, tolerance, hermitian)


@op(name="linalg.matrix_rank", differentiable=False, value_check=converges(),
    checked_where=lambda template: not thaw(template[4]))
def matrix_rank(input: Tensor, *, tol: Tensor | float | None = None, atol: Tensor | float | None = None,
                rtol: Tensor | float | None = None, hermitian: bool = False):
    """Return how many singular values are not (nearly) 0. See torch.linalg.matrix_rank."""
    A = input
    check_matrix(A, "torch.linalg.matrix_rank", "input", square=hermitian and A.size > 0)
    if A.size == 0:
        return jnp.zeros(A.shape[:-2], np.int64)
    if tol is not None:
        atol, rtol = tol, 0.0
    s = jnp.abs(jnp.linalg.eigvalsh(A, symmetrize_input=False)) if hermitian else jnp.linalg.svd(A, compute_uv=False)
    bound = _tolerance(s, A.shape[-2], A.shape[-1], atol, rtol)
    shape = np.broadcast_shapes(bound.shape, s.shape[:-1])
    s, bound = jnp.broadcast_to(s, (*shape, s.shape[-1])), jnp.broadcast_to(bound, shape)
    return jnp.sum((s > bound[..., None]).astype(np.int64), -1)


@op(name="linalg.lstsq", returns="solution residuals rank singular_values", out=False)
def lstsq(A: Tensor, B: Tensor, rcond: float | None = None, *, driver: str | None = None):
    """Return X that minimizes AX - B. The driver decides which other results are empty. See torch.linalg.lstsq."""
    _check_lstsq(A, B, driver)
    driver = driver or "gelsy"
    vector = A.ndim - 1 == B.ndim and B.shape == A.shape[:-1]
    B = B[..., None] if vector else B
    check.require(A.shape[-2] == B.shape[-2], "torch.linalg.lstsq: input.size(-2) should match other.size(-"
                  f"{1 if vector else 2})")
    A, B = broadcast_system(A, B)
    m, n = A.shape[-2:]
    X, s, rank = _least_squares(A, B, np.finfo(A.dtype).eps * max(m, n) if rcond is None else rcond)
    nothing = jnp.zeros((0,), A.real.dtype)
    residuals = nothing
    if driver != "gelsy" and m > n:
        residuals = jnp.sum(jnp.square(jnp.abs(product(A, X) - B)), -2)
    return (X[..., 0] if vector else X, residuals, jnp.zeros((0,), np.int64) if driver == "gels" else rank,
            s if driver in ("gelsd", "gelss") else nothing)


def _least_squares(A, B, rcond: float):
    if A.size == 0:
        batch, n = A.shape[:-2], A.shape[-1]
        return (jnp.zeros((*batch, n, B.shape[-1]), A.dtype), jnp.zeros((*batch, min(A.shape[-2:])), A.real.dtype),
                jnp.zeros(batch, np.int64))
    s = jax.lax.stop_gradient(jnp.linalg.svd(A, compute_uv=False))
    tolerance = s[..., 0] * np.asarray(rcond, s.dtype)
    return product(pinv_with(A, tolerance), B), s, jnp.sum((s > tolerance[..., None]).astype(np.int64), -1)


def _check_lstsq(A, B, driver) -> None:
    name = "torch.linalg.lstsq: "
    check.require(A.ndim >= 2, name + "input must have at least 2 dimensions.")
    check.require(B.ndim >= 1, name + "other must have at least 1 dimension.")
    check.require(A.dtype == B.dtype, name + "Expected input and other to have the same dtype, but got input's dtype "
                  f"{check.scalar_name(A.dtype)} and other's dtype {check.scalar_name(B.dtype)}")
    check.require(driver in (None, "gels", "gelsy", "gelsd", "gelss"),
                  name + "parameter `driver` should be one of (gels, gelsy, gelsd, gelss)")
