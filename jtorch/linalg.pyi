# Written by tools/stubs.py from the op records: change those, then run `python -m tools.stubs`.
# mypy: disable-error-code="override, misc, overload-overlap, overload-cannot-match"
# pyright: reportIncompatibleMethodOverride=false, reportOverlappingOverload=false
import builtins
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Literal, NamedTuple, TypeAlias, overload

import numpy as _np

from jtorch.device import device as _device
from jtorch.dtype import dtype as _dtype
from jtorch._base.generator import Generator as _Generator
from jtorch._base.size import Size as _Size
from jtorch._api.linalg_overloads import LinAlgError as LinAlgError
from jtorch.tensor import Tensor
from jtorch._bound import linalg_eig_result
from jtorch._bound import linalg_eigh_result
from jtorch._bound import linalg_ldl_factor_ex_result
from jtorch._bound import linalg_ldl_factor_result
from jtorch._bound import linalg_lstsq_result
from jtorch._bound import linalg_lu_factor_result
from jtorch._bound import linalg_lu_result
from jtorch._bound import linalg_qr_result
from jtorch._bound import linalg_slogdet_result
from jtorch._bound import linalg_svd_result

_Number: TypeAlias = builtins.int | builtins.float | builtins.complex
_DeviceLike: TypeAlias = _device | builtins.str | builtins.int

def cholesky(A: Tensor, *, upper: builtins.bool = False, out: Tensor | None = None) -> Tensor:
    """Return L of A = L Lᴴ. See torch.linalg.cholesky."""
def cholesky_ex(A: Any, *, upper: Any = False, check_errors: Any = False, out: Tensor | None = None) -> Any:
    """Return linalg.cholesky, and for each matrix 0 or the order of the minor that failed. See torch.linalg.cholesky_ex."""
def cond(A: Tensor, p: Any = None, *, out: Tensor | None = None) -> Tensor:
    """Return the condition number of matrices. See torch.linalg.cond."""
def cross(input: Tensor, other: Tensor, *, dim: builtins.int = -1, out: Tensor | None = None) -> Tensor:
    """Return the cross product along ``dim``. See torch.linalg.cross."""
def det(A: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the determinant. See torch.linalg.det."""
def diagonal(A: Tensor, *, offset: builtins.int = 0, dim1: builtins.int = -2, dim2: builtins.int = -1) -> Tensor:
    """Return the diagonal of the last two dims. See torch.linalg.diagonal."""
def eig(A: Tensor, *, out: Sequence[Tensor] | None = None) -> linalg_eig_result:
    """Return the eigenvalues and -vectors of square matrices, which are complex. See torch.linalg.eig."""
def eigh(A: Tensor, UPLO: builtins.str = 'L', *, out: Sequence[Tensor] | None = None) -> linalg_eigh_result:
    """Return the eigenvalues and -vectors of Hermitian matrices. See torch.linalg.eigh."""
def eigvals(A: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the eigenvalues of square matrices, which are complex. See torch.linalg.eigvals."""
def eigvalsh(A: Tensor, UPLO: builtins.str = 'L', *, out: Tensor | None = None) -> Tensor:
    """Return the eigenvalues of Hermitian matrices. See torch.linalg.eigvalsh."""
def householder_product(A: Tensor, tau: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the first columns of a product of Householder reflections. See torch.linalg.householder_product."""
def inv(A: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the inverse of square matrices. See torch.linalg.inv."""
def inv_ex(A: Any, *, check_errors: Any = False, out: Tensor | None = None) -> Any:
    """Return the inverse, and for each matrix 0 or the index of its zero pivot. See torch.linalg.inv_ex."""
def inverse(A: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the inverse of square matrices. See torch.linalg.inv."""
def ldl_factor(A: Tensor, *, hermitian: builtins.bool = False, out: Sequence[Tensor] | None = None) -> linalg_ldl_factor_result:
    """Return L and D of A = LDLᵀ (LDLᴴ) in one matrix, and the pivots, in LAPACK's form. See torch.linalg.ldl_factor."""
def ldl_factor_ex(A: Tensor, *, hermitian: builtins.bool = False, check_errors: builtins.bool = False, out: Sequence[Tensor] | None = None) -> linalg_ldl_factor_ex_result:
    """Return linalg.ldl_factor, and for each matrix 0 or where D is 0. See torch.linalg.ldl_factor_ex."""
def ldl_solve(LD: Tensor, pivots: Tensor, B: Tensor, *, hermitian: builtins.bool = False, out: Tensor | None = None) -> Tensor:
    """Return X of AX = B from linalg.ldl_factor's result. See torch.linalg.ldl_solve."""
def lstsq(A: Tensor, B: Tensor, rcond: builtins.float | None = None, *, driver: builtins.str | None = None) -> linalg_lstsq_result:
    """Return X that minimizes AX - B. The driver decides which other results are empty. See torch.linalg.lstsq."""
def lu(A: Tensor, *, pivot: builtins.bool = True, out: Sequence[Tensor] | None = None) -> linalg_lu_result:
    """Return P, L and U of A = PLU. See torch.linalg.lu."""
def lu_factor(A: Tensor, *, pivot: builtins.bool = True, out: Sequence[Tensor] | None = None) -> linalg_lu_factor_result:
    """Return L and U in one matrix, and the pivots. See torch.linalg.lu_factor."""
def lu_factor_ex(A: Any, *, pivot: Any = True, check_errors: Any = False, out: Tensor | None = None) -> Any:
    """Return linalg.lu_factor, and for each matrix 0 or where U is 0. See torch.linalg.lu_factor_ex."""
def lu_solve(LU: Tensor, pivots: Tensor, B: Tensor, *, left: builtins.bool = True, adjoint: builtins.bool = False, out: Tensor | None = None) -> Tensor:
    """Return X of AX = B from linalg.lu_factor's result. See torch.linalg.lu_solve."""
def matmul(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the matrix product, over broadcast batches where there are more than two dimensions. See torch.matmul."""
def matrix_exp(A: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the matrix exponential. See torch.linalg.matrix_exp."""
def matrix_norm(A: Tensor, ord: Any = 'fro', dim: Any = ..., keepdim: builtins.bool = False, *, dtype: _dtype | None = None, out: Tensor | None = None) -> Tensor:
    """Return the norm of matrices, in two dimensions of a tensor. See torch.linalg.matrix_norm."""
def matrix_power(A: Tensor, n: builtins.int, *, out: Tensor | None = None) -> Tensor:
    """Return a matrix times itself, n times; a negative n takes the inverse. See torch.linalg.matrix_power."""
def matrix_rank(input: Any, *, tol: Any = None, atol: Any = None, rtol: Any = None, hermitian: Any = False, out: Tensor | None = None) -> Any:
    """Return how many singular values are not (nearly) 0. See torch.linalg.matrix_rank."""
def multi_dot(tensors: Sequence[Tensor], *, out: Tensor | None = None) -> Tensor:
    """Return the product of two or more matrices, in the order that costs least. See torch.linalg.multi_dot."""
def norm(input: Tensor, ord: Any = None, dim: Any = None, keepdim: builtins.bool = False, *, dtype: _dtype | None = None, out: Tensor | None = None) -> Tensor:
    """Return a vector's or a matrix's norm, depending on the number of dims. See torch.linalg.norm."""
def pinv(input: Any, *, atol: Any = None, rtol: Any = None, hermitian: Any = False, out: Tensor | None = None) -> Any:
    """Return the Moore-Penrose inverse. See torch.linalg.pinv."""
def qr(A: Tensor, mode: builtins.str = 'reduced', *, out: Sequence[Tensor] | None = None) -> linalg_qr_result:
    """Return Q and R of A = QR. See torch.linalg.qr."""
def slogdet(A: Tensor, *, out: Sequence[Tensor] | None = None) -> linalg_slogdet_result:
    """Return the determinant's sign and the logarithm of its magnitude. See torch.linalg.slogdet."""
def solve(A: Tensor, B: Tensor, *, left: builtins.bool = True, out: Tensor | None = None) -> Tensor:
    """Return X of AX = B, or of XA = B where ``left`` is False. See torch.linalg.solve."""
def solve_ex(A: Any, B: Any, *, left: Any = True, check_errors: Any = False, out: Tensor | None = None) -> Any:
    """Return linalg.solve, and for each matrix 0 or the index of its zero pivot. See torch.linalg.solve_ex."""
def solve_triangular(input: Tensor, B: Tensor, *, upper: builtins.bool, left: builtins.bool = True, unitriangular: builtins.bool = False, out: Tensor | None = None) -> Tensor:
    """Return X of AX = B for a triangular A. See torch.linalg.solve_triangular."""
def svd(A: Tensor, full_matrices: builtins.bool = True, *, driver: builtins.str | None = None, out: Sequence[Tensor] | None = None) -> linalg_svd_result:
    """Return U, S and Vᴴ of A = U diag(S) Vᴴ. See torch.linalg.svd."""
def svdvals(A: Tensor, *, driver: builtins.str | None = None, out: Tensor | None = None) -> Tensor:
    """Return the singular values. See torch.linalg.svdvals."""
def tensorinv(A: Tensor, ind: builtins.int = 2, *, out: Tensor | None = None) -> Tensor:
    """Return the inverse with respect to tensordot. See torch.linalg.tensorinv."""
def tensorsolve(A: Tensor, B: Tensor, dims: Sequence[builtins.int] | None = None, *, out: Tensor | None = None) -> Tensor:
    """Return X of tensordot(A, X, X.ndim) = B. See torch.linalg.tensorsolve."""
def vander(x: Tensor, *, N: builtins.int | None = None) -> Tensor:
    """Return the Vandermonde matrices of vectors. See torch.linalg.vander."""
def vecdot(x: Tensor, y: Tensor, *, dim: builtins.int = -1, out: Tensor | None = None) -> Tensor:
    """Return the dot products of vectors along ``dim``, the first conjugated. See torch.linalg.vecdot."""
def vector_norm(x: Tensor, ord: Any = 2, dim: Any = None, keepdim: builtins.bool = False, *, dtype: _dtype | None = None, out: Tensor | None = None) -> Tensor:
    """Return the norm of vectors along ``dim``, by default of all elements. See torch.linalg.vector_norm."""
