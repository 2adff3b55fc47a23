"""torch.linalg: determinants, inverses, linear systems and functions of matrices. See linalg_factor for factorizations."""
from __future__ import annotations

import math

import jax
import jax.numpy as jnp
import numpy as np

from jtorch.ops import check, out_dtypes, promotion
from jtorch.ops.create import powers
from jtorch.ops.facts import Out, Saves
from jtorch.ops.layout import BY_COLUMNS, SOLVED
from jtorch.ops.matmul import product, same_scalar_type
from jtorch.ops.registry import Tensor, op


class LinAlgError(RuntimeError):
    """A function of torch.linalg got an unsuitable matrix: singular, not positive definite, …"""


LinAlgError.__name__ = LinAlgError.__qualname__ = "_LinAlgError"        # PyTorch's name
LinAlgError.__module__ = "torch._C"


def check_matrix(A, name: str, argument: str = "A", *, square: bool = False, complete: bool = True) -> None:
    """Raise PyTorch's errors for a tensor that is no batch of (square) matrices of a floating or complex dtype."""
    check.require(A.ndim >= 2, f"{name}: The input tensor {argument} must have at least 2 dimensions.")
    if square:
        check.require(A.shape[-1] == A.shape[-2], f"{name}: {argument} must be batches of square matrices, but they are "
                      f"{A.shape[-2]} by {A.shape[-1]} matrices")
    check.require(promotion.is_inexact(np.dtype(A.dtype)), f"{name}: Expected a floating point or complex tensor as input. "
                  f"Got {check.scalar_name(A.dtype)}")
    low = A.dtype.itemsize < 4
    check.require(not low, f"{name}: Low precision dtypes not supported. Got {check.scalar_name(A.dtype)}")


def adjoint(A):
    """Return the conjugate transpose of matrices."""
    return jnp.conj(jnp.swapaxes(A, -2, -1))


def from_triangle(A, upper: bool = False):
    """Return the Hermitian matrices given by A's lower (or upper) triangles."""
    low = jnp.tril(adjoint(A) if upper else A, -1)
    return jnp.where(jnp.broadcast_to(jnp.eye(A.shape[-1], dtype=bool), A.shape), jnp.real(A).astype(A.dtype), low + adjoint(low))


def first_bad(bad):
    """Return (any, where) for a value_check: ``where`` is the 1-based index of the first True in the last dimension.

    For batches ``where`` encodes the position in the batch too: see ``of_batch``.
    """
    n = bad.shape[-1]
    if bad.size == 0:
        return jnp.zeros((), bool), jnp.zeros((), np.int64)
    flat = bad.reshape(-1)
    at = jnp.argmax(flat).astype(np.int64)
    return jnp.any(flat), at % n + (1 if bad.ndim == 1 else 1 + (n + 1) * (at // n + 1))


def of_batch(detail: int, n: int, batched: bool) -> tuple[str, int]:
    """Decode ``where`` of ``first_bad``: return PyTorch's "(Batch element 3): " or "", and the 1-based index."""
    if not batched:
        return "", detail
    return f"(Batch element {(detail - 1) // (n + 1) - 1}): ", (detail - 1) % (n + 1) + 1


def zero_pivots(A):
    """Return ``first_bad`` of the zeros on the diagonal of U in an LU factorization."""
    return first_bad(jnp.diagonal(jax.lax.linalg.lu(A)[0], axis1=-2, axis2=-1) == 0)


def singular(message: str):
    """Return a value_check for zero pivots in A's LU factorization. ``message`` may contain {i} (pivot) and {where} (matrix)."""
    def flag(A, *others, **options):
        if A.shape[-1] == 0 or A.size == 0:
            return jnp.zeros((), bool), jnp.zeros((), np.int64)
        return zero_pivots(A)

    def error(detail, A, *others, **options):
        where, i = of_batch(detail, A.shape[-1], A.ndim > 2)
        return LinAlgError(message.format(where=where, i=i))
    return flag, error


NO_INVERSE = singular("linalg.inv: {where}The diagonal element {i} is zero, the inversion could not be completed because the "
                      "input matrix is singular.")
NO_SOLUTION = singular("torch.linalg.solve: {where}The solver failed because the input matrix is singular.")


def converges(moved=lambda A, *others, **options: A):
    """Return a value_check for NaNs in the matrices ``moved(*arguments)``, which would have no singular values."""
    def flag(*args, **options):
        A = moved(*args, **options)
        bad = jnp.isnan(A).any((-2, -1)).reshape(-1)
        return jnp.any(bad), (jnp.argmax(bad) if bad.size else jnp.zeros(())).astype(np.int64)

    def error(detail, *args, **options):
        where = f"(Batch element {int(detail)}): " if args[0].ndim > 2 else ""
        return LinAlgError(f"linalg.svd: {where}The algorithm failed to converge because the input matrix contained non-finite "
                           "values.")
    return flag, error


def info_of_lu(A):
    """Return PyTorch's ``info``: the 1-based index of the first zero pivot, or 0."""
    bad = jnp.diagonal(jax.lax.linalg.lu(A)[0], axis1=-2, axis2=-1) == 0
    if bad.shape[-1] == 0:
        return jnp.zeros(A.shape[:-2], np.int32)
    return jnp.where(jnp.any(bad, -1), jnp.argmax(bad, -1) + 1, 0).astype(np.int32)


# Determinants

@jax.custom_jvp
def _det(A):
    return jnp.prod(jnp.diagonal(jax.lax.linalg.lu(A)[0], axis1=-2, axis2=-1), -1) * _permutation_sign(A)


def _permutation_sign(A):
    pivots = jax.lax.linalg.lu(A)[1]
    in_place = jnp.broadcast_to(jnp.arange(pivots.shape[-1], dtype=pivots.dtype), pivots.shape)
    swaps = jnp.sum((pivots != in_place).astype(np.int32), -1)
    return jnp.where(swaps % 2 == 0, 1, -1).astype(A.dtype)


@_det.defjvp
def _det_jvp(primals, tangents):
    """Return LAPACK's determinant with JAX's derivative, which is correct for singular matrices too."""
    return _det(*primals), jax.jvp(jnp.linalg.det, primals, tangents)[1]


@op(name="linalg.det", aliases=("det",), method=True, saves="both", out=Out(refuses=out_dtypes.EXPECTED))
def det(A: Tensor):
    """Return the determinant. See torch.linalg.det."""
    check_matrix(A, "linalg.det", square=True)
    return _det(A) if A.shape[-1] else jnp.ones(A.shape[:-2], A.dtype)


@op(name="linalg.slogdet", aliases=("slogdet",), method=True, returns="sign logabsdet", saves="result")
def slogdet(A: Tensor):
    """Return the determinant's sign and the logarithm of its magnitude. See torch.linalg.slogdet."""
    check_matrix(A, "linalg.slogdet", square=True)
    sign, logabsdet = jnp.linalg.slogdet(A) if A.shape[-1] else (jnp.ones(A.shape[:-2], A.dtype),
                                                                 jnp.zeros(A.shape[:-2], A.real.dtype))
    if not promotion.is_complex(np.dtype(A.dtype)):
        sign = jax.lax.stop_gradient(jnp.where(jnp.isnan(sign), 0, sign))
    return sign, logabsdet


@op(backward_name="WhereBackward0")
def logdet(input: Tensor):
    """Return the logarithm of the determinant, nan where that is negative. See torch.logdet."""
    check_matrix(input, "logdet", square=True)
    if input.shape[-1] == 0:
        return jnp.zeros(input.shape[:-2], input.dtype)
    sign, logabsdet = jnp.linalg.slogdet(input)
    if promotion.is_complex(np.dtype(input.dtype)):
        return jnp.log(sign) + logabsdet.astype(sign.dtype)
    return jnp.where(sign == -1, jnp.nan, logabsdet)


# Inverses

@jax.custom_jvp
def inverse_of(A):
    """Return the inverse, with a derivative that needs no second solve."""
    n = A.shape[-1]
    return jnp.linalg.inv(A) if n else A


@inverse_of.defjvp
def _inverse_jvp(primals, tangents):
    X = inverse_of(primals[0])
    return X, -product(X, product(tangents[0], X))


@op(name="linalg.inv", aliases=("inverse", "linalg.inverse"), method=True, saves="result",
    backward_name="LinalgInvExBackward0", value_check=NO_INVERSE, out=Out(refuses=out_dtypes.EXPECTED), layout=BY_COLUMNS)
def inv(A: Tensor):
    """Return the inverse of square matrices. See torch.linalg.inv."""
    check_matrix(A, "linalg.inv", square=True)
    return inverse_of(A)


@op(name="linalg.inv_ex", out=Out(refuses=out_dtypes.EXPECTED), returns="inverse info", saves="result", layout=BY_COLUMNS)
def inv_ex(A: Tensor, *, check_errors: bool = False):
    """Return the inverse, and for each matrix 0 or the index of its zero pivot. See torch.linalg.inv_ex."""
    check_matrix(A, "linalg.inv", square=True)
    return inverse_of(A), info_of_lu(A)


# Linear systems

def is_vector(A, B) -> bool:
    """Return whether linalg.solve treats ``B`` as vectors, one for each matrix of ``A``."""
    return B.ndim == 1 or (A.ndim - 1 == B.ndim and B.shape == A.shape[:-1])


def check_system(A, B, left: bool, name: str) -> None:
    """Raise PyTorch's error if the sizes in AX = B (or XA = B) do not match."""
    check.require(A.shape[-1] == B.shape[-2 if left else -1], f"{name}: Incompatible shapes of A and B for the equation "
                  f"{'AX = B' if left else 'XA = B'} ({A.shape[-2]}x{A.shape[-1]} and {B.shape[-2]}x{B.shape[-1]})")


def broadcast_system(A, B):
    """Return A and B with common batch dimensions."""
    batch = check.broadcast_shapes(A.shape[:-2], B.shape[:-2])
    return jnp.broadcast_to(A, batch + A.shape[-2:]), jnp.broadcast_to(B, batch + B.shape[-2:])


def _of_matrix(template, edges) -> tuple:
    return 0, "result"


def solve_system(A, B, left: bool, name: str):
    """Return X of AX = B, or of XA = B."""
    check_matrix(A, name, square=True)
    check.require(A.dtype == B.dtype, f"{name}: Expected A and B to have the same dtype, but found A of type "
                  f"{check.scalar_name(A.dtype)} and B of type {check.scalar_name(B.dtype)} instead")
    vector = is_vector(A, B)
    check.require(left or not vector, f"{name}: Vector broadcasting of the left hand side is not supported for left=False. "
                  "In this case linalg.solve is equivalent to B / A.squeeze(-1)")
    B = B[..., None] if vector else B
    check_system(A, B, left, name)
    if not left:
        A, B = jnp.swapaxes(A, -2, -1), jnp.swapaxes(B, -2, -1)
    A, B = broadcast_system(A, B)
    X = jnp.linalg.solve(A, B) if B.size else B
    return X[..., 0] if vector else (X if left else jnp.swapaxes(X, -2, -1))


@op(name="linalg.solve", backward_name="LinalgSolveExBackward0", value_check=NO_SOLUTION,
    saves=Saves("both", checks=_of_matrix), out=Out(refuses=out_dtypes.EXPECTED), layout=SOLVED)
def solve(A: Tensor, B: Tensor, *, left: bool = True):
    """Return X of AX = B, or of XA = B where ``left`` is False. See torch.linalg.solve."""
    return solve_system(A, B, left, "linalg.solve")


@op(name="linalg.solve_ex", out=Out(refuses=out_dtypes.EXPECTED), returns="result info", saves=Saves("both",
    checks=_of_matrix), layout=SOLVED)
def solve_ex(A: Tensor, B: Tensor, *, left: bool = True, check_errors: bool = False):
    """Return linalg.solve, and for each matrix 0 or the index of its zero pivot. See torch.linalg.solve_ex."""
    X = solve_system(A, B, left, "linalg.solve")
    batch = X.shape[:-1] if is_vector(A, B) else X.shape[:-2]
    return X, jnp.broadcast_to(info_of_lu(A), batch)


def triangular(A, B, upper: bool, left: bool = True, transpose: bool = False, conj: bool = False, unit: bool = False):
    """Return X of AX = B (XA = B) for a triangular A with the same batch dimensions."""
    return jax.lax.linalg.triangular_solve(A, B, left_side=left, lower=not upper, transpose_a=transpose, conjugate_a=conj,
                                           unit_diagonal=unit)


@op(name="linalg.solve_triangular", layout=BY_COLUMNS)
def solve_triangular(input: Tensor, B: Tensor, *, upper: bool, left: bool = True, unitriangular: bool = False):
    """Return X of AX = B for a triangular A. See torch.linalg.solve_triangular."""
    A, name = input, "linalg.solve_triangular"
    same_scalar_type(A, B)
    check_matrix(A, name, square=True)
    check.require(B.ndim >= 2, f"{name}: The input tensor B must have at least 2 dimensions.")
    check_system(A, B, left, name)
    A, B = broadcast_system(A, B)
    return triangular(A, B, upper, left, unit=unitriangular) if B.size else B


@op(returns="solution cloned_coefficient", layout=BY_COLUMNS)
def triangular_solve(b: Tensor, A: Tensor, upper: bool = True, transpose: bool = False, unitriangular: bool = False):
    """Return X of AX = b for a triangular A, and A. See torch.triangular_solve."""
    check.require(b.ndim >= 2 and A.ndim >= 2, f"torch.triangular_solve: Expected {'b' if b.ndim < 2 else 'A'} to have "
                  f"at least 2 dimensions, but it has {(b if b.ndim < 2 else A).ndim} dimensions instead")
    check.require(A.shape[-1] == b.shape[-2], f"Incompatible matrix sizes for triangular_solve: each A matrix is "
                  f"{A.shape[-2]} by {A.shape[-1]} but each b matrix is {b.shape[-2]} by {b.shape[-1]}")
    same_scalar_type(b, A)
    A, B = broadcast_system(A, b)
    return triangular(A, B, upper, transpose=transpose, unit=unitriangular), A


def _no_inverse_of_tensor():
    check_singular, error = singular("inv: The diagonal element {i} is zero, the inversion could not be completed because the "
                                     "input matrix is singular.")

    def square(A, ind):
        n = math.prod(A.shape[:ind])
        return A.reshape(n, n)
    return lambda A, ind=2: check_singular(square(A, ind)), lambda detail, A, ind=2: error(detail, square(A, ind))


@op(name="linalg.tensorinv", backward_name="ViewBackward0", value_check=_no_inverse_of_tensor())
def tensorinv(A: Tensor, ind: int = 2):
    """Return the inverse with respect to tensordot. See torch.linalg.tensorinv."""
    check.require(ind > 0, "Expected a strictly positive integer for 'ind', but got " + str(ind))
    n, m = math.prod(A.shape[:ind]), math.prod(A.shape[ind:])
    check.require(n == m, "Expected self to satisfy the requirement prod(self.shape[ind:]) == prod(self.shape[:ind]), "
                  f"but got {m} != {n}")
    return inverse_of(A.reshape(n, m)).reshape(A.shape[ind:] + A.shape[:ind])


def _with_last(A, dims: list[int] | None):
    """Return A with some dims moved to the end."""
    if dims is None:
        return A
    moved = [check.wrap_dim(d, A.ndim) for d in dims]
    return jnp.moveaxis(A, moved, range(A.ndim - len(moved), A.ndim))


def _no_solution_of_tensor():
    def flag(A, B, dims=None):
        A = _with_last(A, dims)
        n = math.prod(A.shape[:B.ndim])
        return NO_SOLUTION[0](A.reshape(n, n))

    def error(detail, *args, **options):
        return LinAlgError("torch.linalg.solve: The solver failed because the input matrix is singular.")
    return flag, error


@op(name="linalg.tensorsolve", backward_name="ViewBackward0", value_check=_no_solution_of_tensor())
def tensorsolve(A: Tensor, B: Tensor, dims: list[int] | None = None):
    """Return X of tensordot(A, X, X.ndim) = B. See torch.linalg.tensorsolve."""
    A = _with_last(A, dims)
    shape = A.shape[B.ndim:]
    check.require(math.prod(shape) == math.prod(A.shape[:B.ndim]), "Expected self to satisfy the requirement "
                  "prod(self.shape[other.ndim:]) == prod(self.shape[:other.ndim]), but got "
                  f"{math.prod(shape)} != {math.prod(A.shape[:B.ndim])}")
    n = math.prod(shape)
    return solve_system(A.reshape(n, n), B.reshape(n), True, "linalg.solve").reshape(shape)


# Functions of matrices

def _power_check():
    flag, error = NO_INVERSE

    def flag_of(A, n):
        return flag(A) if n < 0 else (jnp.zeros((), bool), jnp.zeros((), np.int64))
    return flag_of, error


@op(name="linalg.matrix_power", aliases=("matrix_power",), method=True, backward_name="MmBackward0",
    value_check=_power_check(), saves=Saves(frees=lambda template, edges: template[1] not in (0, 1)),
    out=Out(refuses=out_dtypes.OF_MATRIX_POWER))
def matrix_power(A: Tensor, n: int):
    """Return a matrix times itself, n times; a negative n takes the inverse. See torch.linalg.matrix_power."""
    check.require(A.ndim >= 2, "linalg.matrix_power: The input tensor A must have at least 2 dimensions.")
    check.require(A.shape[-1] == A.shape[-2], "linalg.matrix_power: A must be batches of square matrices, but they are "
                  f"{A.shape[-2]} by {A.shape[-1]} matrices")
    if n == 0:
        return jnp.broadcast_to(jnp.eye(A.shape[-1], dtype=A.dtype), A.shape)
    if n < 0:
        check_matrix(A, "linalg.inv", square=True)
        A, n = inverse_of(A), -n
    result = None
    while n:
        if n & 1:
            result = A if result is None else product(result, A)
        n >>= 1
        A = product(A, A) if n else A
    return result


@op(name="linalg.matrix_exp", aliases=("matrix_exp",), method=True, loops=True)
def matrix_exp(A: Tensor):
    """Return the matrix exponential. See torch.linalg.matrix_exp."""
    precise = A.astype(np.float32) if promotion.is_float(A.dtype) and A.dtype.itemsize < 4 else A
    check_matrix(precise, "linalg.matrix_exp", square=True)
    if A.size == 0:
        return A
    return jax.scipy.linalg.expm(precise, max_squarings=48).astype(A.dtype)


@op(name="linalg.vecdot", backward_name="SumBackward1",
    out=Out(refuses=out_dtypes.refusal("linalg.vecdot: Expected out of dtype{made} but found {out}")))
def vecdot(x: Tensor, y: Tensor, *, dim: int = -1):
    """Return the dot products of vectors along ``dim``, the first conjugated. See torch.linalg.vecdot."""
    check.require(promotion.is_inexact(np.dtype(x.dtype)), "linalg.vecdot: Expected a floating point or complex tensor as "
                  f"input. Got {check.scalar_name(x.dtype)}")
    shape = check.broadcast_shapes(x.shape, y.shape)
    check.require(x.dtype == y.dtype, "linalg.vecdot: Expected x and y to have the same dtype, but found x of type "
                  f"{check.scalar_name(x.dtype)} and y of type {check.scalar_name(y.dtype)} instead")
    return jnp.sum(jnp.conj(jnp.broadcast_to(x, shape)) * jnp.broadcast_to(y, shape), check.wrap_dim(dim, len(shape)))


@op(name="linalg.vander", backward_name="CatBackward0", out=False)
def linalg_vander(x: Tensor, *, N: int | None = None):
    """Return the Vandermonde matrices of vectors. See torch.linalg.vander."""
    check.require(x.dtype != np.bool_, "linalg.vander supports floating point, complex, and integer tensors, but got Bool")
    n = (x.shape[-1] if x.ndim else 1) if N is None else N
    check.require(n > 1, "N must be greater than 1.")
    x = jnp.atleast_1d(x)
    return powers(x if promotion.is_inexact(np.dtype(x.dtype)) else x.astype(np.int64), n)


@op(out=False, saves="none")
def trace(input: Tensor):
    """Return the sum of the diagonal. See torch.trace."""
    check.require(input.ndim == 2, "trace: expected a matrix, but got tensor with dim " + str(input.ndim))
    d = np.dtype(input.dtype)
    check.require(d != np.bool_, "\"trace\" not implemented for 'Bool'", NotImplementedError)
    n, columns = min(input.shape), input.shape[1]
    end = (n - 1) * (columns + 1) + 1 if n else 0
    diagonal = jax.lax.slice(input.reshape(-1), (0,), (end,), (columns + 1,))       # jnp.trace reads the whole matrix
    return jnp.sum(diagonal if promotion.is_inexact(d) else diagonal.astype(np.int64))
