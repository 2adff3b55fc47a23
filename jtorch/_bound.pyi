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
from jtorch.tensor import Tensor

_Number: TypeAlias = builtins.int | builtins.float | builtins.complex
_DeviceLike: TypeAlias = _device | builtins.str | builtins.int


class aminmax_result(NamedTuple):
    min: Tensor
    max: Tensor

class cummax_result(NamedTuple):
    values: Tensor
    indices: Tensor

class cummin_result(NamedTuple):
    values: Tensor
    indices: Tensor

class frexp_result(NamedTuple):
    mantissa: Tensor
    exponent: Tensor

class geqrf_result(NamedTuple):
    a: Tensor
    tau: Tensor

class histogram_result(NamedTuple):
    hist: Tensor
    bin_edges: Tensor

class kthvalue_result(NamedTuple):
    values: Tensor
    indices: Tensor

class linalg_cholesky_ex_result(NamedTuple):
    L: Tensor
    info: Tensor

class linalg_eig_result(NamedTuple):
    eigenvalues: Tensor
    eigenvectors: Tensor

class linalg_eigh_result(NamedTuple):
    eigenvalues: Tensor
    eigenvectors: Tensor

class linalg_inv_ex_result(NamedTuple):
    inverse: Tensor
    info: Tensor

class linalg_ldl_factor_result(NamedTuple):
    LD: Tensor
    pivots: Tensor

class linalg_ldl_factor_ex_result(NamedTuple):
    LD: Tensor
    pivots: Tensor
    info: Tensor

class linalg_lstsq_result(NamedTuple):
    solution: Tensor
    residuals: Tensor
    rank: Tensor
    singular_values: Tensor

class linalg_lu_result(NamedTuple):
    P: Tensor
    L: Tensor
    U: Tensor

class linalg_lu_factor_result(NamedTuple):
    LU: Tensor
    pivots: Tensor

class linalg_lu_factor_ex_result(NamedTuple):
    LU: Tensor
    pivots: Tensor
    info: Tensor

class linalg_qr_result(NamedTuple):
    Q: Tensor
    R: Tensor

class linalg_slogdet_result(NamedTuple):
    sign: Tensor
    logabsdet: Tensor

class linalg_solve_ex_result(NamedTuple):
    result: Tensor
    info: Tensor

class linalg_svd_result(NamedTuple):
    U: Tensor
    S: Tensor
    Vh: Tensor

class lu_unpack_result(NamedTuple):
    P: Tensor
    L: Tensor
    U: Tensor

class max_result(NamedTuple):
    values: Tensor
    indices: Tensor

class median_result(NamedTuple):
    values: Tensor
    indices: Tensor

class min_result(NamedTuple):
    values: Tensor
    indices: Tensor

class mode_result(NamedTuple):
    values: Tensor
    indices: Tensor

class nanmedian_result(NamedTuple):
    values: Tensor
    indices: Tensor

class qr_result(NamedTuple):
    Q: Tensor
    R: Tensor

class sort_result(NamedTuple):
    values: Tensor
    indices: Tensor

class svd_result(NamedTuple):
    U: Tensor
    S: Tensor
    V: Tensor

class topk_result(NamedTuple):
    values: Tensor
    indices: Tensor

class triangular_solve_result(NamedTuple):
    solution: Tensor
    cloned_coefficient: Tensor

class Bound:
    @property
    def H(self) -> Tensor:
        """Return a matrix transposed and conjugated (a copy if complex). See torch.Tensor.H."""
    @property
    def T(self) -> Tensor:
        """Return the dims in reverse order. See torch.Tensor.T."""
    def __abs__(self) -> Tensor: ...
    def __add__(self, other: Tensor | _Number) -> Tensor: ...
    def __and__(self, other: Tensor | _Number) -> Tensor: ...
    def __delitem__(self, index: Any) -> None:
        """Raise TypeError, since tensors do not support ``del``."""
    def __div__(self, other: Tensor | _Number) -> Tensor: ...
    def __eq__(self, other: Any) -> Tensor: ...
    def __floordiv__(self, other: Tensor | _Number) -> Tensor: ...
    def __ge__(self, other: Tensor | _Number) -> Tensor: ...
    def __getitem__(self, index: Any) -> Tensor:
        """Return ``t[index]``."""
    def __gt__(self, other: Tensor | _Number) -> Tensor: ...
    def __iadd__(self, other: Tensor | _Number) -> Tensor: ...
    def __iand__(self, other: Tensor | _Number) -> Tensor: ...
    def __idiv__(self, other: Tensor | _Number) -> Tensor: ...
    def __ifloordiv__(self, other: Tensor | _Number) -> Tensor: ...
    def __ilshift__(self, other: Tensor | _Number) -> Tensor: ...
    def __imod__(self, other: Tensor | _Number) -> Tensor: ...
    def __imul__(self, other: Tensor | _Number) -> Tensor: ...
    def __invert__(self) -> Tensor: ...
    def __ior__(self, other: Tensor | _Number) -> Tensor: ...
    def __ipow__(self, other: Tensor | builtins.complex) -> Tensor: ...
    def __irshift__(self, other: Tensor | _Number) -> Tensor: ...
    def __isub__(self, other: Tensor | _Number) -> Tensor: ...
    def __itruediv__(self, other: Tensor | _Number) -> Tensor: ...
    def __ixor__(self, other: Tensor | _Number) -> Tensor: ...
    def __le__(self, other: Tensor | _Number) -> Tensor: ...
    def __lshift__(self, other: Tensor | _Number) -> Tensor: ...
    def __lt__(self, other: Tensor | _Number) -> Tensor: ...
    def __matmul__(self, other: Tensor) -> Tensor: ...
    def __mod__(self, other: Tensor | _Number) -> Tensor: ...
    def __mul__(self, other: Tensor | _Number) -> Tensor: ...
    def __ne__(self, other: Any) -> Tensor: ...
    def __neg__(self) -> Tensor: ...
    def __or__(self, other: Tensor | _Number) -> Tensor: ...
    def __pos__(self) -> Tensor: ...
    def __pow__(self, other: Tensor | builtins.complex) -> Tensor: ...
    def __radd__(self, other: Tensor | _Number) -> Tensor: ...
    def __rand__(self, other: Tensor | _Number) -> Tensor: ...
    def __rdiv__(self, other: Tensor | _Number) -> Tensor: ...
    def __rfloordiv__(self, other: Tensor | _Number) -> Tensor: ...
    def __rlshift__(self, other: Tensor | _Number) -> Tensor: ...
    def __rmatmul__(self, other: Tensor) -> Tensor: ...
    def __rmod__(self, other: Tensor | _Number) -> Tensor: ...
    def __rmul__(self, other: Tensor | _Number) -> Tensor: ...
    def __ror__(self, other: Tensor | _Number) -> Tensor: ...
    def __rpow__(self, other: Tensor | _Number) -> Tensor: ...
    def __rrshift__(self, other: Tensor | _Number) -> Tensor: ...
    def __rshift__(self, other: Tensor | _Number) -> Tensor: ...
    def __rsub__(self, other: Tensor | _Number) -> Tensor: ...
    def __rtruediv__(self, other: Tensor | _Number) -> Tensor: ...
    def __rxor__(self, other: Tensor | _Number) -> Tensor: ...
    def __setitem__(self, index: Any, value: Any) -> None:
        """Write ``value`` to ``t[index]``."""
    def __sub__(self, other: Tensor | _Number) -> Tensor: ...
    def __truediv__(self, other: Tensor | _Number) -> Tensor: ...
    def __xor__(self, other: Tensor | _Number) -> Tensor: ...
    def _is_all_true(self) -> Tensor:
        """Return a tensor that is True if all elements are True."""
    def _is_any_true(self) -> Tensor:
        """Return a tensor that is True if any element is True."""
    def _make_subclass(self, data: Tensor, require_grad: builtins.bool = False, **kwargs: Any) -> Any:
        """Return an alias of a tensor, without history, as an instance of ``cls``. See torch.Tensor._make_subclass."""
    def _make_wrapper_subclass(self, size: Sequence[builtins.int], **kwargs: Any) -> Any:
        """Return a tensor without memory of a class with ``__torch_dispatch__``. See torch.Tensor._make_wrapper_subclass."""
    def abs(self) -> Tensor:
        """Return the magnitude of each element; its gradient at 0 is 0. See torch.abs."""
    def abs_(self) -> Tensor:
        """Replace each element by its magnitude. See torch.Tensor.abs_."""
    def absolute(self) -> Tensor:
        """Return the magnitude of each element; its gradient at 0 is 0. See torch.abs."""
    def absolute_(self) -> Tensor:
        """Replace each element by its magnitude. See torch.Tensor.abs_."""
    def acos(self) -> Tensor:
        """Return the angle whose cosine it is. See torch.acos."""
    def acos_(self) -> Tensor:
        """Return the angle whose cosine it is. See torch.acos."""
    def acosh(self) -> Tensor:
        """Return the inverse of cosh. See torch.acosh."""
    def acosh_(self) -> Tensor:
        """Return the inverse of cosh. See torch.acosh."""
    def add(self, other: Tensor | _Number, *, alpha: _Number = 1) -> Tensor:
        """Add ``alpha`` times ``other``. See torch.add."""
    def add_(self, other: Tensor | _Number, *, alpha: _Number = 1) -> Tensor:
        """Add ``alpha`` times ``other``. See torch.add."""
    def addbmm(self, batch1: Tensor, batch2: Tensor, *, beta: _Number = 1, alpha: _Number = 1) -> Tensor:
        """Return beta * input + alpha * the sum of the products of a batch. See torch.addbmm."""
    def addbmm_(self, batch1: Tensor, batch2: Tensor, *, beta: _Number = 1, alpha: _Number = 1) -> Tensor:
        """Return beta * input + alpha * the sum of the products of a batch. See torch.addbmm."""
    def addcdiv(self, tensor1: Tensor, tensor2: Tensor, *, value: _Number = 1) -> Tensor:
        """Add ``value * tensor1 / tensor2``. See torch.addcdiv."""
    def addcdiv_(self, tensor1: Tensor, tensor2: Tensor, *, value: _Number = 1) -> Tensor:
        """Add ``value * tensor1 / tensor2``. See torch.addcdiv."""
    def addcmul(self, tensor1: Tensor, tensor2: Tensor, *, value: _Number = 1) -> Tensor:
        """Add ``value * tensor1 * tensor2``. See torch.addcmul."""
    def addcmul_(self, tensor1: Tensor, tensor2: Tensor, *, value: _Number = 1) -> Tensor:
        """Add ``value * tensor1 * tensor2``. See torch.addcmul."""
    def addmm(self, mat1: Tensor, mat2: Tensor, *, beta: _Number = 1, alpha: _Number = 1) -> Tensor:
        """Return beta * input + alpha * (mat1 @ mat2). See torch.addmm."""
    def addmm_(self, mat1: Tensor, mat2: Tensor, *, beta: _Number = 1, alpha: _Number = 1) -> Tensor:
        """Return beta * input + alpha * (mat1 @ mat2). See torch.addmm."""
    def addmv(self, mat: Tensor, vec: Tensor, *, beta: _Number = 1, alpha: _Number = 1) -> Tensor:
        """Return beta * input + alpha * (mat @ vec). See torch.addmv."""
    def addmv_(self, mat: Tensor, vec: Tensor, *, beta: _Number = 1, alpha: _Number = 1) -> Tensor:
        """Return beta * input + alpha * (mat @ vec). See torch.addmv."""
    def addr(self, vec1: Tensor, vec2: Tensor, *, beta: _Number = 1, alpha: _Number = 1) -> Tensor:
        """Return beta * input + alpha * the outer product of two vectors. See torch.addr."""
    def addr_(self, vec1: Tensor, vec2: Tensor, *, beta: _Number = 1, alpha: _Number = 1) -> Tensor:
        """Return beta * input + alpha * the outer product of two vectors. See torch.addr."""
    def adjoint(self) -> Tensor:
        """Return the last two dims swapped, complex elements conjugated (a copy then). See torch.adjoint."""
    def all(self, dim: builtins.int | Sequence[builtins.int] | None = None, keepdim: builtins.bool = False) -> Tensor:
        """Return whether all elements are true (uint8 for uint8). See torch.all."""
    def allclose(self, other: Tensor, rtol: builtins.float = 1e-05, atol: builtins.float = 1e-08, equal_nan: builtins.bool = False) -> builtins.bool:
        """Return whether all elements are close. See torch.allclose."""
    def amax(self, dim: builtins.int | Sequence[builtins.int] | None = ..., keepdim: builtins.bool = False) -> Tensor:
        """Return the largest elements along ``dim``; ties share the gradient evenly. See torch.amax."""
    def amin(self, dim: builtins.int | Sequence[builtins.int] | None = ..., keepdim: builtins.bool = False) -> Tensor:
        """Return the smallest elements along ``dim``; ties share the gradient evenly. See torch.amin."""
    def aminmax(self, *, dim: builtins.int | None = None, keepdim: builtins.bool = False) -> aminmax_result:
        """Return the smallest and the largest elements. See torch.aminmax."""
    def angle(self) -> Tensor:
        """Return the angle of complex numbers; of real ones 0 or pi. See torch.angle."""
    def any(self, dim: builtins.int | Sequence[builtins.int] | None = None, keepdim: builtins.bool = False) -> Tensor:
        """Return whether any element is true (uint8 for uint8). See torch.any."""
    def apply_(self, callable: Callable) -> Tensor:
        """Replace each element x by ``callable(x)`` on the host. See torch.Tensor.apply_."""
    def arccos(self) -> Tensor:
        """Return the angle whose cosine it is. See torch.acos."""
    def arccos_(self) -> Tensor:
        """Return the angle whose cosine it is. See torch.acos."""
    def arccosh(self) -> Tensor:
        """Return the inverse of cosh. See torch.acosh."""
    def arccosh_(self) -> Tensor:
        """Return the inverse of cosh. See torch.acosh."""
    def arcsin(self) -> Tensor:
        """Return the angle whose sine it is. See torch.asin."""
    def arcsin_(self) -> Tensor:
        """Return the angle whose sine it is. See torch.asin."""
    def arcsinh(self) -> Tensor:
        """Return the inverse of sinh. See torch.asinh."""
    def arcsinh_(self) -> Tensor:
        """Return the inverse of sinh. See torch.asinh."""
    def arctan(self) -> Tensor:
        """Return the angle whose tangent it is. See torch.atan."""
    def arctan2(self, other: Tensor) -> Tensor:
        """Return the angle of the vector (``other``, ``input``). See torch.atan2."""
    def arctan2_(self, other: Tensor) -> Tensor:
        """Return the angle of the vector (``other``, ``input``). See torch.atan2."""
    def arctan_(self) -> Tensor:
        """Return the angle whose tangent it is. See torch.atan."""
    def arctanh(self) -> Tensor:
        """Return the inverse of tanh. See torch.atanh."""
    def arctanh_(self) -> Tensor:
        """Return the inverse of tanh. See torch.atanh."""
    def argmax(self, dim: builtins.int | None = None, keepdim: builtins.bool = False) -> Tensor:
        """Return the index of the first largest element, of all or along ``dim``. See torch.argmax."""
    def argmin(self, dim: builtins.int | None = None, keepdim: builtins.bool = False) -> Tensor:
        """Return the index of the first smallest element, of all or along ``dim``. See torch.argmin."""
    def argsort(self, dim: builtins.int = -1, descending: builtins.bool = False, *, stable: builtins.bool = False) -> Tensor:
        """Return the indices that sort ``input`` along ``dim``. See torch.argsort."""
    def argwhere(self) -> Tensor:
        """Return the indices of the elements that are not 0, as rows. See torch.argwhere."""
    def as_strided(self, size: Sequence[builtins.int], stride: Sequence[builtins.int], storage_offset: builtins.int | None = None) -> Tensor:
        """Return the view of the storage with this geometry. See torch.as_strided."""
    def as_strided_(self, *args: Any, **kw: Any) -> Tensor:
        """The in-place form of as_strided: changes how this tensor shows its memory. See torch.Tensor.as_strided_."""
    def as_strided_scatter(self, src: Tensor, size: Any, stride: Any, storage_offset: builtins.int | None = None) -> Tensor:
        """Return ``input`` with ``src`` in place of ``as_strided(size, stride, offset)``. See torch.as_strided_scatter."""
    def as_subclass(self, cls: builtins.type) -> Tensor:
        """Return a view of the whole tensor as an instance of ``cls``. See torch.Tensor.as_subclass."""
    def asin(self) -> Tensor:
        """Return the angle whose sine it is. See torch.asin."""
    def asin_(self) -> Tensor:
        """Return the angle whose sine it is. See torch.asin."""
    def asinh(self) -> Tensor:
        """Return the inverse of sinh. See torch.asinh."""
    def asinh_(self) -> Tensor:
        """Return the inverse of sinh. See torch.asinh."""
    def atan(self) -> Tensor:
        """Return the angle whose tangent it is. See torch.atan."""
    def atan2(self, other: Tensor) -> Tensor:
        """Return the angle of the vector (``other``, ``input``). See torch.atan2."""
    def atan2_(self, other: Tensor) -> Tensor:
        """Return the angle of the vector (``other``, ``input``). See torch.atan2."""
    def atan_(self) -> Tensor:
        """Return the angle whose tangent it is. See torch.atan."""
    def atanh(self) -> Tensor:
        """Return the inverse of tanh. See torch.atanh."""
    def atanh_(self) -> Tensor:
        """Return the inverse of tanh. See torch.atanh."""
    def baddbmm(self, batch1: Tensor, batch2: Tensor, *, beta: _Number = 1, alpha: _Number = 1) -> Tensor:
        """Return beta * input + alpha * the products of a batch. See torch.baddbmm."""
    def baddbmm_(self, batch1: Tensor, batch2: Tensor, *, beta: _Number = 1, alpha: _Number = 1) -> Tensor:
        """Return beta * input + alpha * the products of a batch. See torch.baddbmm."""
    def bernoulli(self, p: builtins.float | None = None, *, generator: _Generator | None = None) -> Tensor:
        """Draw zeros and ones; ``input`` (or ``p``) is the probability of 1. See torch.bernoulli."""
    def bernoulli_(self, p: Any = 0.5, *, generator: _Generator | None = None) -> Tensor:
        """Fill with zeros and ones. See torch.Tensor.bernoulli_."""
    def bfloat16(self, *, memory_format: Any = None) -> Tensor:
        """The tensor as torch.bfloat16."""
    def bincount(self, weights: Tensor | None = None, minlength: builtins.int = 0) -> Tensor:
        """Return how often each non-negative integer occurs, or the sum of its weights. See torch.bincount."""
    def bitwise_and(self, other: Tensor | _Number) -> Tensor:
        """Return the bits set in both. See torch.bitwise_and."""
    def bitwise_and_(self, other: Tensor | _Number) -> Tensor:
        """Return the bits set in both. See torch.bitwise_and."""
    def bitwise_left_shift(self, other: Tensor | _Number) -> Tensor:
        """Return bits moved up by ``other``, 0 beyond the width. See torch.bitwise_left_shift."""
    def bitwise_left_shift_(self, other: Tensor | _Number) -> Tensor:
        """Return bits moved up by ``other``, 0 beyond the width. See torch.bitwise_left_shift."""
    def bitwise_not(self) -> Tensor:
        """Return each bit inverted. See torch.bitwise_not."""
    def bitwise_not_(self) -> Tensor:
        """Return each bit inverted. See torch.bitwise_not."""
    def bitwise_or(self, other: Tensor | _Number) -> Tensor:
        """Return the bits set in either. See torch.bitwise_or."""
    def bitwise_or_(self, other: Tensor | _Number) -> Tensor:
        """Return the bits set in either. See torch.bitwise_or."""
    def bitwise_right_shift(self, other: Tensor | _Number) -> Tensor:
        """Return bits moved down by ``other``, keeping the sign. See torch.bitwise_right_shift."""
    def bitwise_right_shift_(self, other: Tensor | _Number) -> Tensor:
        """Return bits moved down by ``other``, keeping the sign. See torch.bitwise_right_shift."""
    def bitwise_xor(self, other: Tensor | _Number) -> Tensor:
        """Return the bits set in one of the two. See torch.bitwise_xor."""
    def bitwise_xor_(self, other: Tensor | _Number) -> Tensor:
        """Return the bits set in one of the two. See torch.bitwise_xor."""
    def bmm(self, mat2: Tensor) -> Tensor:
        """Return the products of two batches of matrices. See torch.bmm."""
    def bool(self, *, memory_format: Any = None) -> Tensor:
        """The tensor as torch.bool."""
    @overload
    def broadcast_to(self, *size: builtins.int) -> Tensor: ...
    @overload
    def broadcast_to(self, size: Sequence[builtins.int]) -> Tensor:
        """Return ``expand`` as a function. See torch.broadcast_to."""
    def byte(self, *, memory_format: Any = None) -> Tensor:
        """The tensor as torch.uint8."""
    def cauchy_(self, *args: builtins.float, generator: _Generator | None = None, **kw: builtins.float) -> Tensor:
        """Fills with cauchy numbers. See torch.Tensor.cauchy_."""
    def ccol_indices(self) -> Any:
        """RuntimeError: the tensor is dense. See torch.Tensor.ccol_indices."""
    def cdouble(self, *, memory_format: Any = None) -> Tensor:
        """The tensor as torch.complex128."""
    def ceil(self) -> Tensor:
        """Return the next integer up. See torch.ceil."""
    def ceil_(self) -> Tensor:
        """Return the next integer up. See torch.ceil."""
    def cfloat(self, *, memory_format: Any = None) -> Tensor:
        """The tensor as torch.complex64."""
    def char(self, *, memory_format: Any = None) -> Tensor:
        """The tensor as torch.int8."""
    def cholesky(self, upper: builtins.bool = False) -> Tensor:
        """Return L of input = L Lᴴ, or U of Uᴴ U. See torch.cholesky."""
    def cholesky_inverse(self, upper: builtins.bool = False) -> Tensor:
        """Return the inverse of A from its Cholesky factor. See torch.cholesky_inverse."""
    def cholesky_solve(self, L: Tensor, upper: builtins.bool = False) -> Tensor:
        """Return X of AX = B from the Cholesky factor of A. See torch.cholesky_solve."""
    def chunk(self, chunks: builtins.int, dim: builtins.int = 0) -> builtins.tuple[Tensor, ...]:
        """Return at most ``chunks`` parts of one size; the last may be smaller. See torch.chunk."""
    def clamp(self, min: Tensor | _Number | None = None, max: Tensor | _Number | None = None) -> Tensor:
        """Clamp elements to ``min`` and ``max``; the gradient is 1 at the bounds. See torch.clamp."""
    def clamp_(self, min: Tensor | _Number | None = None, max: Tensor | _Number | None = None) -> Tensor:
        """Clamp elements to ``min`` and ``max``; the gradient is 1 at the bounds. See torch.clamp."""
    def clamp_max(self, max: Tensor | _Number) -> Tensor:
        """Clamp elements to at most ``max``. See torch.clamp."""
    def clamp_max_(self, max: Tensor | _Number) -> Tensor:
        """Clamp elements to at most ``max``. See torch.clamp."""
    def clamp_min(self, min: Tensor | _Number) -> Tensor:
        """Clamp elements to at least ``min``. See torch.clamp."""
    def clamp_min_(self, min: Tensor | _Number) -> Tensor:
        """Clamp elements to at least ``min``. See torch.clamp."""
    def clip(self, min: Tensor | _Number | None = None, max: Tensor | _Number | None = None) -> Tensor:
        """Clamp elements to ``min`` and ``max``; the gradient is 1 at the bounds. See torch.clamp."""
    def clip_(self, min: Tensor | _Number | None = None, max: Tensor | _Number | None = None) -> Tensor:
        """Clamp elements to ``min`` and ``max``; the gradient is 1 at the bounds. See torch.clamp."""
    def clone(self, *, memory_format: Any = None) -> Tensor:
        """Return a differentiable copy, by default in the same memory format. See torch.clone."""
    def coalesce(self) -> Any:
        """RuntimeError: the tensor is dense. See torch.Tensor.coalesce."""
    def col_indices(self) -> Any:
        """RuntimeError: the tensor is dense. See torch.Tensor.col_indices."""
    def conj(self, **kw: Any) -> Tensor:
        """The complex conjugate; a real tensor as it is. See torch.conj."""
    def conj_physical(self, **kw: Any) -> Tensor:
        """The complex conjugate; a real tensor as it is. See torch.conj_physical."""
    def conj_physical_(self) -> Tensor:
        """Return the complex conjugate. See torch.conj_physical."""
    def const_data_ptr(self) -> builtins.int:
        """Return the address of the first element, for code that accesses memory directly. See torch.Tensor.data_ptr."""
    def contiguous(self, *, memory_format: Any = None) -> Tensor:
        """Return the tensor if it is contiguous in the memory format, else a contiguous copy."""
    def copy_(self, other: Any, non_blocking: builtins.bool = False) -> Tensor:
        """Write ``other``, broadcast and cast, into the tensor. See torch.Tensor.copy_."""
    def copysign(self, other: Tensor | _Number) -> Tensor:
        """Return the magnitude of ``input`` with the sign of ``other``. See torch.copysign."""
    def copysign_(self, other: Tensor | _Number) -> Tensor:
        """Return the magnitude of ``input`` with the sign of ``other``. See torch.copysign."""
    def corrcoef(self) -> Tensor:
        """Return the correlations of the rows, whose columns are observations. See torch.corrcoef."""
    def cos(self) -> Tensor:
        """Return the cosine. See torch.cos."""
    def cos_(self) -> Tensor:
        """Return the cosine. See torch.cos."""
    def cosh(self) -> Tensor:
        """Return the hyperbolic cosine. See torch.cosh."""
    def cosh_(self) -> Tensor:
        """Return the hyperbolic cosine. See torch.cosh."""
    def count_nonzero(self, dim: builtins.int | Sequence[builtins.int] | None = None) -> Tensor:
        """Return how many elements are not zero. See torch.count_nonzero."""
    def cov(self, *, correction: builtins.int = 1, fweights: Tensor | None = None, aweights: Tensor | None = None) -> Tensor:
        """Return the covariances of rows over weighted columns (observations). See torch.cov."""
    def cpu(self, *, memory_format: Any = None) -> Tensor:
        """Return the tensor on the CPU."""
    def cross(self, other: Tensor, dim: builtins.int | None = None) -> Tensor:
        """Return the cross product along ``dim``, or along the first dimension of size 3. See torch.cross."""
    def crow_indices(self) -> Any:
        """RuntimeError: the tensor is dense. See torch.Tensor.crow_indices."""
    def cuda(self, device: Any = None, non_blocking: builtins.bool = False, memory_format: Any = None) -> Tensor:
        """Return the tensor on a GPU."""
    def cummax(self, dim: builtins.int) -> cummax_result:
        """Return the largest elements so far along ``dim``, with their indices. See torch.cummax."""
    def cummin(self, dim: builtins.int) -> cummin_result:
        """Return the smallest elements so far along ``dim``, with their indices. See torch.cummin."""
    def cumprod(self, dim: builtins.int, *, dtype: _dtype | None = None) -> Tensor:
        """Return the products of the elements so far along ``dim``. See torch.cumprod."""
    def cumprod_(self, dim: builtins.int, *, dtype: _dtype | None = None) -> Tensor:
        """Return the products of the elements so far along ``dim``. See torch.cumprod."""
    def cumsum(self, dim: builtins.int, *, dtype: _dtype | None = None) -> Tensor:
        """Return the sums of the elements so far along ``dim``. See torch.cumsum."""
    def cumsum_(self, dim: builtins.int, *, dtype: _dtype | None = None) -> Tensor:
        """Return the sums of the elements so far along ``dim``. See torch.cumsum."""
    def deg2rad(self) -> Tensor:
        """Convert degrees to radians. See torch.deg2rad."""
    def deg2rad_(self) -> Tensor:
        """Convert degrees to radians. See torch.deg2rad."""
    def dense_dim(self) -> builtins.int:
        """Of a dense tensor all dims. See torch.Tensor.dense_dim."""
    def dequantize(self) -> Any:
        """Return the tensor, or each tensor of a sequence, in float32. See torch.dequantize."""
    def det(self) -> Tensor:
        """Return the determinant. See torch.linalg.det."""
    def diag(self, diagonal: builtins.int = 0) -> Tensor:
        """Return the diagonal of a matrix, or a matrix with a vector as its diagonal. See torch.diag."""
    def diag_embed(self, offset: builtins.int = 0, dim1: builtins.int = -2, dim2: builtins.int = -1) -> Tensor:
        """Return the last dim as the diagonal of two new ones. See torch.diag_embed."""
    def diagflat(self, offset: builtins.int = 0) -> Tensor:
        """Return all elements as the diagonal of a matrix. See torch.diagflat."""
    def diagonal(self, offset: builtins.int = 0, dim1: builtins.int = 0, dim2: builtins.int = 1) -> Tensor:
        """Return the diagonal of two dims as the last dim. See torch.diagonal."""
    def diagonal_scatter(self, src: Tensor, offset: builtins.int = 0, dim1: builtins.int = 0, dim2: builtins.int = 1) -> Tensor:
        """Return ``input`` with ``src`` in place of a diagonal. See torch.diagonal_scatter."""
    def diff(self, n: builtins.int = 1, dim: builtins.int = -1, prepend: Tensor | None = None, append: Tensor | None = None) -> Tensor:
        """Return the ``n``-th differences of neighbours along ``dim``. See torch.diff."""
    def digamma(self) -> Tensor:
        """Return the logarithmic derivative of the gamma function. See torch.digamma."""
    def digamma_(self) -> Tensor:
        """Return the logarithmic derivative of the gamma function. See torch.digamma."""
    def dim_order(self, *, ambiguity_check: Any = False) -> builtins.tuple[builtins.int, ...]:
        """Return the dims in the order of decreasing strides. See torch.Tensor.dim_order."""
    def dist(self, other: Tensor, p: _Number = 2) -> Tensor:
        """Return the p-norm of the difference. See torch.dist."""
    def div(self, other: Tensor | _Number, *, rounding_mode: builtins.str | None = None) -> Tensor:
        """Return the quotient, rounded if ``rounding_mode`` is "trunc" or "floor". See torch.div."""
    def div_(self, other: Tensor | _Number, *, rounding_mode: builtins.str | None = None) -> Tensor:
        """Return the quotient, rounded if ``rounding_mode`` is "trunc" or "floor". See torch.div."""
    def divide(self, other: Tensor | _Number, *, rounding_mode: builtins.str | None = None) -> Tensor:
        """Return the quotient, rounded if ``rounding_mode`` is "trunc" or "floor". See torch.div."""
    def divide_(self, other: Tensor | _Number, *, rounding_mode: builtins.str | None = None) -> Tensor:
        """Return the quotient, rounded if ``rounding_mode`` is "trunc" or "floor". See torch.div."""
    def dot(self, tensor: Tensor) -> Tensor:
        """Return the dot product of two vectors, neither conjugated. See torch.dot."""
    def double(self, *, memory_format: Any = None) -> Tensor:
        """The tensor as torch.float64."""
    def dsplit(self, indices_or_sections: builtins.int | Sequence[builtins.int]) -> builtins.tuple[Tensor, ...]:
        """Return parts along the third dim. See torch.dsplit."""
    def eig(self, *args: Any, **kwargs: Any) -> Any:
        """RuntimeError: PyTorch has removed it for torch.linalg.eig."""
    def eq(self, other: Tensor | _Number) -> Tensor:
        """Return whether the elements are equal. See torch.eq."""
    def eq_(self, other: Tensor | _Number) -> Tensor:
        """Return whether the elements are equal. See torch.eq."""
    def equal(self, other: Tensor) -> builtins.bool:
        """Return whether two tensors have the same shape and elements. See torch.equal."""
    def erf(self) -> Tensor:
        """Return the error function. See torch.erf."""
    def erf_(self) -> Tensor:
        """Return the error function. See torch.erf."""
    def erfc(self) -> Tensor:
        """Return 1 minus the error function. See torch.erfc."""
    def erfc_(self) -> Tensor:
        """Return 1 minus the error function. See torch.erfc."""
    def erfinv(self) -> Tensor:
        """Return the inverse of the error function. See torch.erfinv."""
    def erfinv_(self) -> Tensor:
        """Return the inverse of the error function. See torch.erfinv."""
    def exp(self) -> Tensor:
        """Return e raised to each element. See torch.exp."""
    def exp2(self) -> Tensor:
        """Return 2 raised to each element. See torch.exp2."""
    def exp2_(self) -> Tensor:
        """Return 2 raised to each element. See torch.exp2."""
    def exp_(self) -> Tensor:
        """Return e raised to each element. See torch.exp."""
    @overload
    def expand(self, *size: builtins.int, implicit: builtins.bool = False) -> Tensor: ...
    @overload
    def expand(self, size: Sequence[builtins.int], *, implicit: builtins.bool = False) -> Tensor:
        """Return dims of size 1 repeated without a copy. See torch.Tensor.expand."""
    def expand_as(self, other: Tensor) -> Tensor:
        """Return ``expand`` to the shape of another tensor. See torch.Tensor.expand_as."""
    def expm1(self) -> Tensor:
        """Return e raised to each element, minus 1, exact for small ones. See torch.expm1."""
    def expm1_(self) -> Tensor:
        """Return e raised to each element, minus 1, exact for small ones. See torch.expm1."""
    def exponential_(self, *args: builtins.float, generator: _Generator | None = None, **kw: builtins.float) -> Tensor:
        """Fills with exponential numbers. See torch.Tensor.exponential_."""
    def fill_(self, value: Any) -> Tensor:
        """Write one number to all elements. See torch.Tensor.fill_."""
    def fill_diagonal_(self, fill_value: _Number, wrap: builtins.bool = False) -> Tensor:
        """Return the main diagonal replaced by one value. See torch.Tensor.fill_diagonal_."""
    def fix(self) -> Tensor:
        """Return the integer part. See torch.trunc."""
    def fix_(self) -> Tensor:
        """Return the integer part. See torch.trunc."""
    def flatten(self, start_dim: builtins.int = 0, end_dim: builtins.int = -1) -> Tensor:
        """Merge several dims into one. See torch.flatten."""
    @overload
    def flip(self, *dims: builtins.int) -> Tensor: ...
    @overload
    def flip(self, dims: Sequence[builtins.int]) -> Tensor:
        """Return dims in reverse. See torch.flip."""
    def fliplr(self) -> Tensor:
        """Return columns in reverse. See torch.fliplr."""
    def flipud(self) -> Tensor:
        """Return rows in reverse. See torch.flipud."""
    def float(self, *, memory_format: Any = None) -> Tensor:
        """The tensor as torch.float32."""
    def float_power(self, exponent: Tensor | builtins.complex) -> Tensor:
        """Return ``pow`` computed in float64 or complex128. See torch.float_power."""
    def float_power_(self, exponent: Any) -> Tensor:
        """Compute the power in place, for tensors of double precision. See torch.Tensor.float_power_."""
    def floor(self) -> Tensor:
        """Return the next integer down. See torch.floor."""
    def floor_(self) -> Tensor:
        """Return the next integer down. See torch.floor."""
    def floor_divide(self, other: Tensor | _Number) -> Tensor:
        """Return the quotient rounded down. See torch.floor_divide."""
    def floor_divide_(self, other: Tensor | _Number) -> Tensor:
        """Return the quotient rounded down. See torch.floor_divide."""
    def fmax(self, other: Tensor) -> Tensor:
        """Return the greater of two elements, ignoring a NaN. See torch.fmax."""
    def fmin(self, other: Tensor) -> Tensor:
        """Return the lesser of two elements, ignoring a NaN. See torch.fmin."""
    def fmod(self, other: Tensor | _Number) -> Tensor:
        """Return the remainder of truncating division, with the sign of ``input``. See torch.fmod."""
    def fmod_(self, other: Tensor | _Number) -> Tensor:
        """Return the remainder of truncating division, with the sign of ``input``. See torch.fmod."""
    def frac(self) -> Tensor:
        """Return each element minus its integer part. See torch.frac."""
    def frac_(self) -> Tensor:
        """Return each element minus its integer part. See torch.frac."""
    def frexp(self) -> frexp_result:
        """Return mantissas in [0.5, 1) and exponents of 2. See torch.frexp."""
    def gather(self, dim: builtins.int, index: Tensor, *, sparse_grad: builtins.bool = False) -> Tensor:
        """Return ``input[index[i][j]][j]`` for dim 0, and so on. See torch.gather."""
    def gcd(self, other: Tensor) -> Tensor:
        """Return the greatest common divisor. See torch.gcd."""
    def gcd_(self, other: Tensor) -> Tensor:
        """Return the greatest common divisor. See torch.gcd."""
    def ge(self, other: Tensor | _Number) -> Tensor:
        """Return whether ``input`` is greater or equal. See torch.ge."""
    def ge_(self, other: Tensor | _Number) -> Tensor:
        """Return whether ``input`` is greater or equal. See torch.ge."""
    def geometric_(self, *args: builtins.float, generator: _Generator | None = None, **kw: builtins.float) -> Tensor:
        """Fills with geometric numbers. See torch.Tensor.geometric_."""
    def geqrf(self) -> geqrf_result:
        """Return the reflectors and factors that a QR factorization is made of, as LAPACK has them. See torch.geqrf."""
    def ger(self, vec2: Tensor) -> Tensor:
        """Return the outer product of two vectors. See torch.outer."""
    def greater(self, other: Tensor | _Number) -> Tensor:
        """Return whether ``input`` is greater. See torch.gt."""
    def greater_(self, other: Tensor | _Number) -> Tensor:
        """Return whether ``input`` is greater. See torch.gt."""
    def greater_equal(self, other: Tensor | _Number) -> Tensor:
        """Return whether ``input`` is greater or equal. See torch.ge."""
    def greater_equal_(self, other: Tensor | _Number) -> Tensor:
        """Return whether ``input`` is greater or equal. See torch.ge."""
    def gt(self, other: Tensor | _Number) -> Tensor:
        """Return whether ``input`` is greater. See torch.gt."""
    def gt_(self, other: Tensor | _Number) -> Tensor:
        """Return whether ``input`` is greater. See torch.gt."""
    def half(self, *, memory_format: Any = None) -> Tensor:
        """The tensor as torch.float16."""
    def hardshrink(self, lambd: _Number = 0.5) -> Tensor:
        """Return the input, or 0 where it is within ``lambd`` of 0. See torch.nn.functional.hardshrink."""
    def hash_tensor(self, dim: builtins.int | Sequence[builtins.int] = ..., *, keepdim: builtins.bool = False, mode: builtins.int = 0) -> Tensor:
        """Return the bits of all elements, as 64-bit numbers, combined by exclusive or. See torch.hash_tensor."""
    def heaviside(self, values: Tensor) -> Tensor:
        """Return 0 below 0, 1 above, ``values`` at 0. See torch.heaviside."""
    def heaviside_(self, values: Tensor) -> Tensor:
        """Return 0 below 0, 1 above, ``values`` at 0. See torch.heaviside."""
    def histc(self, bins: builtins.int = 100, min: _Number = 0, max: _Number = 0) -> Tensor:
        """Return how many elements lie in each of ``bins`` equal bins from ``min`` to ``max``. See torch.histc."""
    def histogram(self, bins: Tensor | builtins.int = 100, *, range: Sequence[builtins.float] | None = None, weight: Tensor | None = None, density: builtins.bool = False) -> histogram_result:
        """Return the number (or weight) of elements in each bin, and the edges of the bins. See torch.histogram."""
    def hsplit(self, indices_or_sections: builtins.int | Sequence[builtins.int]) -> builtins.tuple[Tensor, ...]:
        """Return parts along columns. See torch.hsplit."""
    def hypot(self, other: Tensor) -> Tensor:
        """Return the length of the vector (``input``, ``other``). See torch.hypot."""
    def hypot_(self, other: Tensor) -> Tensor:
        """Return the length of the vector (``input``, ``other``). See torch.hypot."""
    def i0(self) -> Tensor:
        """Return the modified Bessel function I0. See torch.i0."""
    def i0_(self) -> Tensor:
        """Return the modified Bessel function I0. See torch.i0."""
    def igamma(self, other: Tensor) -> Tensor:
        """Return the regularized lower incomplete gamma function. See torch.igamma."""
    def igamma_(self, other: Tensor) -> Tensor:
        """Return the regularized lower incomplete gamma function. See torch.igamma."""
    def igammac(self, other: Tensor) -> Tensor:
        """Return the regularized upper incomplete gamma function. See torch.igammac."""
    def igammac_(self, other: Tensor) -> Tensor:
        """Return the regularized upper incomplete gamma function. See torch.igammac."""
    @property
    def imag(self) -> Tensor:
        """Return the imaginary part. See torch.imag."""
    def index_add(self, dim: builtins.int, index: Tensor, source: Tensor, *, alpha: _Number = 1) -> Tensor:
        """Add ``alpha`` times the slices of ``source`` to the slices at an index vector. See torch.Tensor.index_add_."""
    def index_add_(self, dim: builtins.int, index: Tensor, source: Tensor, *, alpha: _Number = 1) -> Tensor:
        """Add ``alpha`` times the slices of ``source`` to the slices at an index vector. See torch.Tensor.index_add_."""
    def index_copy(self, dim: builtins.int, index: Tensor, source: Tensor) -> Tensor:
        """Return the slices at an index vector replaced by those of ``source``. See torch.Tensor.index_copy_."""
    def index_copy_(self, dim: builtins.int, index: Tensor, source: Tensor) -> Tensor:
        """Return the slices at an index vector replaced by those of ``source``. See torch.Tensor.index_copy_."""
    def index_fill(self, dim: builtins.int, index: Tensor, value: Tensor | _Number) -> Tensor:
        """Return the slices at an index vector filled with one value. See torch.Tensor.index_fill_."""
    def index_fill_(self, dim: builtins.int, index: Tensor, value: Tensor | _Number) -> Tensor:
        """Return the slices at an index vector filled with one value. See torch.Tensor.index_fill_."""
    def index_put(self, indices: Any, values: Tensor, accumulate: builtins.bool = False) -> Tensor:
        """``values`` written (or added) at index tensors. See torch.Tensor.index_put."""
    def index_put_(self, indices: Any, values: Tensor, accumulate: builtins.bool = False) -> Tensor:
        """``values`` written (or added) at index tensors. See torch.Tensor.index_put_."""
    def index_reduce(self, dim: builtins.int, index: Tensor, source: Tensor, reduce: builtins.str, *, include_self: builtins.bool = True) -> Tensor:
        """Return slices combined by prod, mean, amax or amin at an index vector. See torch.Tensor.index_reduce_."""
    def index_reduce_(self, dim: builtins.int, index: Tensor, source: Tensor, reduce: builtins.str, *, include_self: builtins.bool = True) -> Tensor:
        """Return slices combined by prod, mean, amax or amin at an index vector. See torch.Tensor.index_reduce_."""
    def index_select(self, dim: builtins.int, index: Tensor) -> Tensor:
        """Return the slices of a dim at an index vector. See torch.index_select."""
    def indices(self) -> Any:
        """RuntimeError: the tensor is dense. See torch.Tensor.indices."""
    def inner(self, other: Tensor) -> Tensor:
        """Return the dot products over the last dimension of both. See torch.inner."""
    def int(self, *, memory_format: Any = None) -> Tensor:
        """The tensor as torch.int32."""
    def int_repr(self) -> Any:
        """NotImplementedError: the tensor is not quantized. See torch.Tensor.int_repr."""
    def inverse(self) -> Tensor:
        """Return the inverse of square matrices. See torch.linalg.inv."""
    def is_coalesced(self) -> Any:
        """RuntimeError: the tensor is dense. See torch.Tensor.is_coalesced."""
    def is_conj(self) -> builtins.bool:
        """Return False, since conjugation and negation are never lazy."""
    @property
    def is_ipu(self) -> Any:
        """False: no such device is known. See torch.Tensor.is_ipu."""
    def is_neg(self) -> builtins.bool:
        """Return False, since conjugation and negation are never lazy."""
    def is_nonzero(self) -> builtins.bool:
        """Return whether the only element is not zero. See torch.is_nonzero."""
    def is_pinned(self, device: Any = None) -> builtins.bool:
        """Return False, since jtorch pins no memory. See torch.Tensor.is_pinned."""
    def is_same_size(self, other: Tensor) -> builtins.bool:
        """Return whether two tensors have the same shape."""
    def is_set_to(self, tensor: Tensor) -> builtins.bool:
        """Return whether both tensors have the same storage and geometry."""
    def is_shared(self) -> builtins.bool:
        """Whether other processes may see what is written to the memory."""
    @property
    def is_xla(self) -> Any:
        """False: no such device is known. See torch.Tensor.is_xla."""
    def isclose(self, other: Tensor, rtol: builtins.float = 1e-05, atol: builtins.float = 1e-08, equal_nan: builtins.bool = False) -> Tensor:
        """Return whether the elements differ by no more than ``atol + rtol * |other|``. See torch.isclose."""
    def isfinite(self) -> Tensor:
        """Return whether each element is finite. See torch.isfinite."""
    def isinf(self) -> Tensor:
        """Return whether each element is infinite. See torch.isinf."""
    def isnan(self) -> Tensor:
        """Return whether each element is NaN. See torch.isnan."""
    def isneginf(self) -> Tensor:
        """Return whether each element is negative infinity. See torch.isneginf."""
    def isposinf(self) -> Tensor:
        """Return whether each element is positive infinity. See torch.isposinf."""
    def isreal(self) -> Tensor:
        """Return whether each element has no imaginary part. See torch.isreal."""
    def istft(self, n_fft: builtins.int, hop_length: builtins.int | None = None, win_length: builtins.int | None = None, window: Tensor | None = None, center: builtins.bool = True, normalized: builtins.bool = False, onesided: builtins.bool | None = None, length: builtins.int | None = None, return_complex: builtins.bool = False) -> Tensor:
        """Return the signal whose spectra are nearest to those given: the inverse of ``stft``. See torch.istft."""
    def kron(self, other: Tensor) -> Tensor:
        """Return the Kronecker product. See torch.kron."""
    def kthvalue(self, k: builtins.int, dim: builtins.int = -1, keepdim: builtins.bool = False) -> kthvalue_result:
        """Return the ``k``-th smallest element along ``dim``, with its index. See torch.kthvalue."""
    def lcm(self, other: Tensor) -> Tensor:
        """Return the least common multiple. See torch.lcm."""
    def lcm_(self, other: Tensor) -> Tensor:
        """Return the least common multiple. See torch.lcm."""
    def ldexp(self, other: Tensor) -> Tensor:
        """Return ``input`` times 2 to the power ``other``. See torch.ldexp."""
    def ldexp_(self, other: Tensor) -> Tensor:
        """Return ``input`` times 2 to the power ``other``. See torch.ldexp."""
    def le(self, other: Tensor | _Number) -> Tensor:
        """Return whether ``input`` is less or equal. See torch.le."""
    def le_(self, other: Tensor | _Number) -> Tensor:
        """Return whether ``input`` is less or equal. See torch.le."""
    def lerp(self, end: Tensor, weight: Tensor | _Number) -> Tensor:
        """Return ``input + weight * (end - input)``. See torch.lerp."""
    def lerp_(self, end: Tensor, weight: Tensor | _Number) -> Tensor:
        """Return ``input + weight * (end - input)``. See torch.lerp."""
    def less(self, other: Tensor | _Number) -> Tensor:
        """Return whether ``input`` is less. See torch.lt."""
    def less_(self, other: Tensor | _Number) -> Tensor:
        """Return whether ``input`` is less. See torch.lt."""
    def less_equal(self, other: Tensor | _Number) -> Tensor:
        """Return whether ``input`` is less or equal. See torch.le."""
    def less_equal_(self, other: Tensor | _Number) -> Tensor:
        """Return whether ``input`` is less or equal. See torch.le."""
    def lgamma(self) -> Tensor:
        """Return the logarithm of the gamma function's magnitude. See torch.lgamma."""
    def lgamma_(self) -> Tensor:
        """Return the logarithm of the gamma function's magnitude. See torch.lgamma."""
    def log(self) -> Tensor:
        """Return the natural logarithm. See torch.log."""
    def log10(self) -> Tensor:
        """Return the logarithm to base 10. See torch.log10."""
    def log10_(self) -> Tensor:
        """Return the logarithm to base 10. See torch.log10."""
    def log1p(self) -> Tensor:
        """Return the logarithm of 1 plus each element, exact for small ones. See torch.log1p."""
    def log1p_(self) -> Tensor:
        """Return the logarithm of 1 plus each element, exact for small ones. See torch.log1p."""
    def log2(self) -> Tensor:
        """Return the logarithm to base 2. See torch.log2."""
    def log2_(self) -> Tensor:
        """Return the logarithm to base 2. See torch.log2."""
    def log_(self) -> Tensor:
        """Return the natural logarithm. See torch.log."""
    def log_normal_(self, *args: builtins.float, generator: _Generator | None = None, **kw: builtins.float) -> Tensor:
        """Fills with log-normal numbers. See torch.Tensor.log_normal_."""
    def log_softmax(self, dim: builtins.int, dtype: _dtype | None = None) -> Tensor:
        """Return the logarithm of softmax, computed as one. See torch.log_softmax."""
    def logaddexp(self, other: Tensor) -> Tensor:
        """Return log(exp(input) + exp(other)). See torch.logaddexp."""
    def logaddexp2(self, other: Tensor) -> Tensor:
        """Return log2(2**input + 2**other). See torch.logaddexp2."""
    def logcumsumexp(self, dim: builtins.int) -> Tensor:
        """Return the logarithm of the cumulative sums of exponentials. See torch.logcumsumexp."""
    def logdet(self) -> Tensor:
        """Return the logarithm of the determinant, nan where that is negative. See torch.logdet."""
    def logical_and(self, other: Tensor) -> Tensor:
        """Return whether both are true. See torch.logical_and."""
    def logical_and_(self, other: Tensor) -> Tensor:
        """Return whether both are true. See torch.logical_and."""
    def logical_not(self) -> Tensor:
        """Return whether each element is false. See torch.logical_not."""
    def logical_not_(self) -> Tensor:
        """Return whether each element is false. See torch.logical_not."""
    def logical_or(self, other: Tensor) -> Tensor:
        """Return whether either is true. See torch.logical_or."""
    def logical_or_(self, other: Tensor) -> Tensor:
        """Return whether either is true. See torch.logical_or."""
    def logical_xor(self, other: Tensor) -> Tensor:
        """Return whether one of the two is true. See torch.logical_xor."""
    def logical_xor_(self, other: Tensor) -> Tensor:
        """Return whether one of the two is true. See torch.logical_xor."""
    def logit(self, eps: builtins.float | None = None) -> Tensor:
        """Return the inverse of sigmoid, of elements first brought to at least ``eps`` from 0 and 1. See torch.logit."""
    def logit_(self, eps: builtins.float | None = None) -> Tensor:
        """Return the inverse of sigmoid, of elements first brought to at least ``eps`` from 0 and 1. See torch.logit."""
    def logsumexp(self, dim: builtins.int | Sequence[builtins.int], keepdim: builtins.bool = False) -> Tensor:
        """Return the logarithm of the sum of exponentials along ``dim``. See torch.logsumexp."""
    def long(self, *, memory_format: Any = None) -> Tensor:
        """The tensor as torch.int64."""
    def lstsq(self, *args: Any, **kwargs: Any) -> Any:
        """RuntimeError: PyTorch has removed it for torch.linalg.lstsq."""
    def lt(self, other: Tensor | _Number) -> Tensor:
        """Return whether ``input`` is less. See torch.lt."""
    def lt_(self, other: Tensor | _Number) -> Tensor:
        """Return whether ``input`` is less. See torch.lt."""
    def lu(self, pivot: builtins.bool = True, get_infos: builtins.bool = False) -> builtins.tuple[Tensor, ...]:
        """Return linalg.lu_factor or linalg.lu_factor_ex. See torch.lu."""
    def lu_solve(self, LU_data: Tensor, LU_pivots: Tensor) -> Tensor:
        """Return X of AX = b from torch.lu's result. See torch.lu_solve."""
    @property
    def mH(self) -> Tensor:
        """Return the last two dims swapped, complex elements conjugated (a copy then). See torch.Tensor.mH."""
    @property
    def mT(self) -> Tensor:
        """Return the last two dims swapped. See torch.Tensor.mT."""
    def map2_(self, x: Tensor, y: Tensor, callable: Callable) -> Tensor:
        """Replace each element by ``callable`` of it and two other tensors' elements. See torch.Tensor.map2_."""
    def map_(self, tensor: Tensor, callable: Callable) -> Tensor:
        """Replace each element by ``callable`` of it and the other tensor's element. See torch.Tensor.map_."""
    def masked_fill(self, mask: Tensor, value: Tensor | _Number) -> Tensor:
        """Return the input with one value where the mask is True. See torch.Tensor.masked_fill_."""
    def masked_fill_(self, mask: Tensor, value: Tensor | _Number) -> Tensor:
        """Return the input with one value where the mask is True. See torch.Tensor.masked_fill_."""
    def masked_scatter(self, mask: Tensor, source: Tensor) -> Tensor:
        """Return the input with the elements of ``source``, in order, where the mask is True. See torch.Tensor.masked_scatter_."""
    def masked_scatter_(self, mask: Tensor, source: Tensor) -> Tensor:
        """Return the input with the elements of ``source``, in order, where the mask is True. See torch.Tensor.masked_scatter_."""
    def masked_select(self, mask: Tensor) -> Tensor:
        """Return the elements where the mask is True, in one dim. See torch.masked_select."""
    def matmul(self, other: Tensor) -> Tensor:
        """Return the matrix product, over broadcast batches where there are more than two dimensions. See torch.matmul."""
    def matrix_exp(self) -> Tensor:
        """Return the matrix exponential. See torch.linalg.matrix_exp."""
    def matrix_power(self, n: builtins.int) -> Tensor:
        """Return a matrix times itself, n times; a negative n takes the inverse. See torch.linalg.matrix_power."""
    @overload
    def max(self) -> Tensor: ...
    @overload
    def max(self, dim: builtins.int, keepdim: builtins.bool = False) -> max_result: ...
    @overload
    def max(self, other: Tensor) -> Tensor:
        """Return the largest element; the largest along ``dim`` with its index; the larger of two tensors. See torch.max."""
    def maximum(self, other: Tensor) -> Tensor:
        """Return the greater of two elements, NaN if either is. See torch.maximum."""
    def mean(self, dim: builtins.int | Sequence[builtins.int] | None = None, keepdim: builtins.bool = False, *, dtype: _dtype | None = None) -> Tensor:
        """Return the mean of all elements, or along ``dim``. See torch.mean."""
    @overload
    def median(self) -> Tensor: ...
    @overload
    def median(self, dim: builtins.int, keepdim: builtins.bool = False) -> median_result:
        """Return the median (of an even number, the lower), of all or along ``dim`` with its index. See torch.median."""
    @overload
    def min(self) -> Tensor: ...
    @overload
    def min(self, dim: builtins.int, keepdim: builtins.bool = False) -> min_result: ...
    @overload
    def min(self, other: Tensor) -> Tensor:
        """Return the smallest element; the smallest along ``dim`` with its index; the smaller of two tensors. See torch.min."""
    def minimum(self, other: Tensor) -> Tensor:
        """Return the lesser of two elements, NaN if either is. See torch.minimum."""
    def mm(self, mat2: Tensor) -> Tensor:
        """Return the product of two matrices. See torch.mm."""
    def mode(self, dim: builtins.int = -1, keepdim: builtins.bool = False) -> mode_result:
        """Return the most frequent element along ``dim`` (the smallest such), with its last index. See torch.mode."""
    def module_load(self, other: Tensor, assign: builtins.bool = False) -> Tensor:
        """Return the new value of a parameter when ``other`` is loaded into it. See torch.Tensor.module_load."""
    def moveaxis(self, source: builtins.int | Sequence[builtins.int], destination: builtins.int | Sequence[builtins.int]) -> Tensor:
        """Return dims moved to other places, the rest in order. See torch.movedim."""
    def movedim(self, source: builtins.int | Sequence[builtins.int], destination: builtins.int | Sequence[builtins.int]) -> Tensor:
        """Return dims moved to other places, the rest in order. See torch.movedim."""
    def msort(self) -> Tensor:
        """Return the elements in order along the first dimension. See torch.msort."""
    def mul(self, other: Tensor | _Number) -> Tensor:
        """Return the product. See torch.mul."""
    def mul_(self, other: Tensor | _Number) -> Tensor:
        """Return the product. See torch.mul."""
    def multinomial(self, num_samples: builtins.int, replacement: builtins.bool = False, *, generator: _Generator | None = None) -> Tensor:
        """Draw indices with the probabilities in each row. See torch.multinomial."""
    def multiply(self, other: Tensor | _Number) -> Tensor:
        """Return the product. See torch.mul."""
    def multiply_(self, other: Tensor | _Number) -> Tensor:
        """Return the product. See torch.mul."""
    def mv(self, vec: Tensor) -> Tensor:
        """Return the product of a matrix and a vector. See torch.mv."""
    def mvlgamma(self, p: builtins.int) -> Tensor:
        """Return the logarithm of the multivariate gamma function. See torch.mvlgamma."""
    def mvlgamma_(self, p: builtins.int) -> Tensor:
        """Return the logarithm of the multivariate gamma function. See torch.mvlgamma."""
    def nan_to_num(self, nan: builtins.float | None = 0.0, posinf: builtins.float | None = None, neginf: builtins.float | None = None) -> Tensor:
        """Return NaN and infinities replaced by numbers. See torch.nan_to_num."""
    def nan_to_num_(self, nan: builtins.float | None = 0.0, posinf: builtins.float | None = None, neginf: builtins.float | None = None) -> Tensor:
        """Return NaN and infinities replaced by numbers. See torch.nan_to_num."""
    def nanmean(self, dim: builtins.int | Sequence[builtins.int] | None = None, keepdim: builtins.bool = False, *, dtype: _dtype | None = None) -> Tensor:
        """Return the mean of the elements that are not NaN. See torch.nanmean."""
    @overload
    def nanmedian(self) -> Tensor: ...
    @overload
    def nanmedian(self, dim: builtins.int, keepdim: builtins.bool = False) -> nanmedian_result:
        """Return the median of the elements that are not NaN. See torch.nanmedian."""
    def nanquantile(self, q: Tensor | builtins.float, dim: builtins.int | None = None, keepdim: builtins.bool = False, *, interpolation: builtins.str = 'linear') -> Tensor:
        """Return the quantiles of the elements that are not NaN. See torch.nanquantile."""
    def nansum(self, dim: builtins.int | Sequence[builtins.int] | None = None, keepdim: builtins.bool = False, *, dtype: _dtype | None = None) -> Tensor:
        """Return the sum with NaNs taken as zero. See torch.nansum."""
    def narrow(self, dim: builtins.int, start: Any, length: builtins.int) -> Tensor:
        """Return ``length`` elements of a dim from ``start`` on. See torch.narrow."""
    def narrow_copy(self, dim: builtins.int, start: builtins.int, length: builtins.int) -> Tensor:
        """Return ``length`` elements of a dim from ``start`` on, copied. See torch.narrow_copy."""
    def ne(self, other: Tensor | _Number) -> Tensor:
        """Return whether the elements differ. See torch.ne."""
    def ne_(self, other: Tensor | _Number) -> Tensor:
        """Return whether the elements differ. See torch.ne."""
    def neg(self) -> Tensor:
        """Return each element negated. See torch.neg."""
    def neg_(self) -> Tensor:
        """Return each element negated. See torch.neg."""
    def negative(self) -> Tensor:
        """Return each element negated. See torch.neg."""
    def negative_(self) -> Tensor:
        """Return each element negated. See torch.neg."""
    def new(self, *args: Any, **kw: Any) -> Tensor:
        """Return ``torch.Tensor(...)`` with this tensor's dtype and device. See torch.Tensor.new."""
    def new_empty(self, *size: Any, dtype: Any = None, device: Any = None, requires_grad: builtins.bool = False, **kw: Any) -> Tensor:
        """torch.empty with this tensor's dtype and device."""
    def new_empty_strided(self, size: Any, stride: Any, dtype: Any = None, device: Any = None, **kw: Any) -> Tensor:
        """Return ``torch.empty_strided(...)`` with this tensor's dtype and device."""
    def new_full(self, *size: Any, dtype: Any = None, device: Any = None, requires_grad: builtins.bool = False, **kw: Any) -> Tensor:
        """torch.full with this tensor's dtype and device."""
    def new_ones(self, *size: Any, dtype: Any = None, device: Any = None, requires_grad: builtins.bool = False, **kw: Any) -> Tensor:
        """torch.ones with this tensor's dtype and device."""
    def new_tensor(self, data: Any, *, dtype: Any = None, device: Any = None, requires_grad: builtins.bool = False) -> Tensor:
        """Return a tensor of ``data`` with this one's dtype and device. See torch.Tensor.new_tensor."""
    def new_zeros(self, *size: Any, dtype: Any = None, device: Any = None, requires_grad: builtins.bool = False, **kw: Any) -> Tensor:
        """torch.zeros with this tensor's dtype and device."""
    def nextafter(self, other: Tensor) -> Tensor:
        """Return the next number the dtype has after ``input``, towards ``other``. See torch.nextafter."""
    def nextafter_(self, other: Tensor) -> Tensor:
        """Return the next number the dtype has after ``input``, towards ``other``. See torch.nextafter."""
    @overload
    def nonzero(self) -> Tensor: ...
    @overload
    def nonzero(self, *, as_tuple: Literal[False]) -> Tensor: ...
    @overload
    def nonzero(self, *, as_tuple: Literal[True]) -> builtins.tuple[Tensor, ...]:
        """Return the indices of the elements that are not 0, as rows or as a tuple of columns. See torch.nonzero."""
    def nonzero_static(self, *, size: builtins.int, fill_value: builtins.int = -1) -> Tensor:
        """Return the first ``size`` rows of ``nonzero``, or all and then rows of ``fill_value``. See torch.nonzero_static."""
    def norm(self, p: builtins.float | builtins.str | None = 'fro', dim: builtins.int | Sequence[builtins.int] | None = None, keepdim: builtins.bool = False, dtype: _dtype | None = None) -> Tensor:
        """Return the p-norm of all elements or along ``dim``; "fro" is 2, "nuc" the sum of singular values. See torch.norm."""
    def normal_(self, mean: builtins.float = 0, std: builtins.float = 1, *, generator: _Generator | None = None) -> Tensor:
        """Fill with normal numbers. See torch.Tensor.normal_."""
    def not_equal(self, other: Tensor | _Number) -> Tensor:
        """Return whether the elements differ. See torch.ne."""
    def not_equal_(self, other: Tensor | _Number) -> Tensor:
        """Return whether the elements differ. See torch.ne."""
    def orgqr(self, tau: Tensor) -> Tensor:
        """Return the first columns of a product of Householder reflections. See torch.linalg.householder_product."""
    def ormqr(self, tau: Tensor, other: Tensor, left: builtins.bool = True, transpose: builtins.bool = False) -> Tensor:
        """Return the product of a matrix with the Q of ``geqrf``. See torch.ormqr."""
    def outer(self, vec2: Tensor) -> Tensor:
        """Return the outer product of two vectors. See torch.outer."""
    @overload
    def permute(self, *dims: builtins.int) -> Tensor: ...
    @overload
    def permute(self, dims: Sequence[builtins.int]) -> Tensor:
        """Return the dims in another order. See torch.permute."""
    def pin_memory(self) -> Tensor:
        """Return the tensor itself, since conjugation and negation are never lazy and memory is never pinned."""
    def pinverse(self, rcond: builtins.float = 1e-15) -> Tensor:
        """Return the Moore-Penrose inverse. See torch.pinverse."""
    def polygamma(self, first: Any, *args: Any) -> Any:
        """Return the ``n``-th derivative of digamma. See torch.polygamma."""
    def polygamma_(self, first: Any, *args: Any) -> Any:
        """Return the ``n``-th derivative of digamma. See torch.polygamma."""
    def positive(self) -> Tensor:
        """Return the input itself. See torch.positive."""
    def pow(self, exponent: Tensor | builtins.complex) -> Tensor:
        """Return ``input`` to the power ``exponent``. See torch.pow."""
    def pow_(self, exponent: Tensor | builtins.complex) -> Tensor:
        """Return ``input`` to the power ``exponent``. See torch.pow."""
    def prelu(self, weight: Tensor) -> Tensor:
        """Return the input where it is positive, else its channel's ``weight`` times it. See torch.nn.functional.prelu."""
    def prod(self, dim: builtins.int | None = None, keepdim: builtins.bool = False, *, dtype: _dtype | None = None) -> Tensor:
        """Return the product of all elements, or along ``dim``; of integers in int64. See torch.prod."""
    def put(self, index: Tensor, source: Tensor, accumulate: builtins.bool = False) -> Tensor:
        """Write ``source`` to flat indices of the input. See torch.Tensor.put_."""
    def put_(self, index: Tensor, source: Tensor, accumulate: builtins.bool = False) -> Tensor:
        """Write ``source`` to flat indices of the input. See torch.Tensor.put_."""
    def q_per_channel_axis(self) -> Any:
        """NotImplementedError: the tensor is not quantized. See torch.Tensor.q_per_channel_axis."""
    def q_per_channel_scales(self) -> Any:
        """NotImplementedError: the tensor is not quantized. See torch.Tensor.q_per_channel_scales."""
    def q_per_channel_zero_points(self) -> Any:
        """NotImplementedError: the tensor is not quantized. See torch.Tensor.q_per_channel_zero_points."""
    def q_scale(self) -> Any:
        """NotImplementedError: the tensor is not quantized. See torch.Tensor.q_scale."""
    def q_zero_point(self) -> Any:
        """NotImplementedError: the tensor is not quantized. See torch.Tensor.q_zero_point."""
    def qr(self, some: builtins.bool = True) -> qr_result:
        """Return Q and R of input = QR. See torch.qr."""
    def qscheme(self) -> Any:
        """NotImplementedError: the tensor is not quantized. See torch.Tensor.qscheme."""
    def quantile(self, q: Tensor | builtins.float, dim: builtins.int | None = None, keepdim: builtins.bool = False, *, interpolation: builtins.str = 'linear') -> Tensor:
        """Return the ``q``-th quantiles, of all or along ``dim``. See torch.quantile."""
    def rad2deg(self) -> Tensor:
        """Convert radians to degrees. See torch.rad2deg."""
    def rad2deg_(self) -> Tensor:
        """Convert radians to degrees. See torch.rad2deg."""
    def random_(self, from_: builtins.int | None = None, to: Any = ..., *, generator: _Generator | None = None, **kw: builtins.int) -> Tensor:
        """Fill with integers from [from, to), or from the dtype's whole range. See torch.Tensor.random_."""
    def ravel(self) -> Tensor:
        """Return all elements in one dim. See torch.ravel."""
    @property
    def real(self) -> Tensor:
        """Return the real part; a real tensor as it is. See torch.real."""
    def reciprocal(self) -> Tensor:
        """Return 1 divided by each element. See torch.reciprocal."""
    def reciprocal_(self) -> Tensor:
        """Return 1 divided by each element. See torch.reciprocal."""
    def relu(self) -> Tensor:
        """Return the input where it is positive, else 0. See torch.nn.functional.relu."""
    def relu_(self) -> Tensor:
        """Return the input where it is positive, else 0. See torch.nn.functional.relu."""
    def remainder(self, other: Tensor | _Number) -> Tensor:
        """Return the remainder of floor division, with the sign of ``other``. See torch.remainder."""
    def remainder_(self, other: Tensor | _Number) -> Tensor:
        """Return the remainder of floor division, with the sign of ``other``. See torch.remainder."""
    def renorm(self, p: _Number, dim: builtins.int, maxnorm: _Number) -> Tensor:
        """Return each slice along ``dim`` scaled down to have p-norm ``maxnorm`` at most. See torch.renorm."""
    def renorm_(self, p: _Number, dim: builtins.int, maxnorm: _Number) -> Tensor:
        """Return each slice along ``dim`` scaled down to have p-norm ``maxnorm`` at most. See torch.renorm."""
    @overload
    def repeat(self, *repeats: builtins.int) -> Tensor: ...
    @overload
    def repeat(self, repeats: Sequence[builtins.int]) -> Tensor:
        """Repeat the whole tensor along each dim. See torch.Tensor.repeat."""
    def repeat_interleave(self, repeats: Any = None, dim: builtins.int | None = None, *, output_size: builtins.int | None = None) -> Tensor:
        """Repeat each element, or each slice of a dim. See torch.repeat_interleave."""
    @overload
    def reshape(self, *shape: builtins.int) -> Tensor: ...
    @overload
    def reshape(self, shape: Sequence[builtins.int]) -> Tensor:
        """Return the same elements in another shape, a copy if strides allow no view. See torch.reshape."""
    def reshape_as(self, other: Tensor) -> Tensor:
        """Return ``reshape`` with the shape of another tensor. See torch.Tensor.reshape_as."""
    def resize_(self, *size: Any, memory_format: Any = None) -> Tensor:
        """Resize the tensor; new elements are 0. See torch.Tensor.resize_."""
    def resize_as_(self, other: Tensor, memory_format: Any = None) -> Tensor:
        """Resize the tensor to the size of ``other``. See torch.Tensor.resize_as_."""
    def resolve_conj(self) -> Tensor:
        """Return the tensor itself, since conjugation and negation are never lazy and memory is never pinned."""
    def resolve_neg(self) -> Tensor:
        """Return the tensor itself, since conjugation and negation are never lazy and memory is never pinned."""
    def roll(self, shifts: builtins.int | Sequence[builtins.int], dims: builtins.int | Sequence[builtins.int] | None = None) -> Tensor:
        """Move elements along dims, around the ends. See torch.roll."""
    def rot90(self, k: builtins.int = 1, dims: Sequence[builtins.int] = ...) -> Tensor:
        """Rotate a plane by ``k`` quarters. See torch.rot90."""
    def round(self, *, decimals: builtins.int = 0) -> Tensor:
        """Return the nearest integer, or multiple of a power of ten; halves go to the even one. See torch.round."""
    def round_(self, *, decimals: builtins.int = 0) -> Tensor:
        """Return the nearest integer, or multiple of a power of ten; halves go to the even one. See torch.round."""
    def row_indices(self) -> Any:
        """RuntimeError: the tensor is dense. See torch.Tensor.row_indices."""
    def rsqrt(self) -> Tensor:
        """Return 1 divided by the square root. See torch.rsqrt."""
    def rsqrt_(self) -> Tensor:
        """Return 1 divided by the square root. See torch.rsqrt."""
    def scatter(self, dim: builtins.int, index: Tensor, src: Tensor | _Number | None = None, *, value: _Number | None = None, reduce: builtins.str | None = None) -> Tensor:
        """Return ``src`` (or one value) written to ``self[index[i][j]][j]`` for dim 0, and so on. See torch.scatter."""
    def scatter_(self, dim: builtins.int, index: Tensor, src: Tensor | _Number | None = None, *, value: _Number | None = None, reduce: builtins.str | None = None) -> Tensor:
        """Return ``src`` (or one value) written to ``self[index[i][j]][j]`` for dim 0, and so on. See torch.scatter."""
    def scatter_add(self, dim: builtins.int, index: Tensor, src: Tensor) -> Tensor:
        """Return ``src`` added at ``self[index[i][j]][j]`` for dim 0, and so on. See torch.scatter_add."""
    def scatter_add_(self, dim: builtins.int, index: Tensor, src: Tensor) -> Tensor:
        """Return ``src`` added at ``self[index[i][j]][j]`` for dim 0, and so on. See torch.scatter_add."""
    def scatter_reduce(self, dim: builtins.int, index: Tensor, src: Tensor, reduce: builtins.str, *, include_self: builtins.bool = True) -> Tensor:
        """Return values combined by sum, prod, mean, amax or amin at indexed places. See torch.scatter_reduce."""
    def scatter_reduce_(self, dim: builtins.int, index: Tensor, src: Tensor, reduce: builtins.str, *, include_self: builtins.bool = True) -> Tensor:
        """Return values combined by sum, prod, mean, amax or amin at indexed places. See torch.scatter_reduce."""
    def select(self, dim: builtins.int, index: builtins.int) -> Tensor:
        """Return the elements at one index of a dim, without this dim. See torch.select."""
    def select_scatter(self, src: Tensor, dim: builtins.int, index: builtins.int) -> Tensor:
        """Return ``input`` with ``src`` in place of ``select(dim, index)``. See torch.select_scatter."""
    def set_(self, source: Any = None, storage_offset: builtins.int = 0, size: Any = None, stride: Any = None) -> Tensor:
        """Make the tensor show the memory of another tensor or storage. See torch.Tensor.set_."""
    def sgn(self) -> Tensor:
        """Return the sign, for complex numbers the direction. See torch.sgn."""
    def sgn_(self) -> Tensor:
        """Return the sign, for complex numbers the direction. See torch.sgn."""
    def share_memory_(self) -> Tensor:
        """Move the tensor's memory to a segment that other processes can map. See torch.Tensor.share_memory_."""
    def short(self, *, memory_format: Any = None) -> Tensor:
        """The tensor as torch.int16."""
    def sigmoid(self) -> Tensor:
        """Return the logistic function 1 / (1 + exp(-x)). See torch.sigmoid."""
    def sigmoid_(self) -> Tensor:
        """Return the logistic function 1 / (1 + exp(-x)). See torch.sigmoid."""
    def sign(self) -> Tensor:
        """Return -1, 0 or 1. See torch.sign."""
    def sign_(self) -> Tensor:
        """Return -1, 0 or 1. See torch.sign."""
    def signbit(self) -> Tensor:
        """Return whether the sign bit is set. See torch.signbit."""
    def sin(self) -> Tensor:
        """Return the sine. See torch.sin."""
    def sin_(self) -> Tensor:
        """Return the sine. See torch.sin."""
    def sinc(self) -> Tensor:
        """Return sin(pi x) / (pi x), 1 at 0. See torch.sinc."""
    def sinc_(self) -> Tensor:
        """Return sin(pi x) / (pi x), 1 at 0. See torch.sinc."""
    def sinh(self) -> Tensor:
        """Return the hyperbolic sine. See torch.sinh."""
    def sinh_(self) -> Tensor:
        """Return the hyperbolic sine. See torch.sinh."""
    def slice_scatter(self, src: Tensor, dim: builtins.int = 0, start: builtins.int | None = None, end: builtins.int | None = None, step: builtins.int = 1) -> Tensor:
        """Return ``input`` with ``src`` in place of a slice of a dim. See torch.slice_scatter."""
    def slogdet(self) -> Any:
        """Return the determinant's sign and the logarithm of its magnitude. See torch.slogdet."""
    def smm(self, *args: Any, **kwargs: Any) -> Any:
        """The tensor in another layout, or with a sparse one. See torch.Tensor.smm."""
    def softmax(self, dim: builtins.int, dtype: _dtype | None = None) -> Tensor:
        """Return exp of the input, scaled to sum 1 along ``dim``. See torch.softmax."""
    def solve(self, *args: Any, **kwargs: Any) -> Any:
        """RuntimeError: PyTorch has removed it for torch.linalg.solve."""
    def sort(self, dim: builtins.int = -1, descending: builtins.bool = False, *, stable: builtins.bool = False) -> sort_result:
        """Return the elements in order along ``dim``, with their indices; always stable. See torch.sort."""
    def sparse_dim(self) -> builtins.int:
        """Of a dense tensor 0. See torch.Tensor.sparse_dim."""
    def sparse_mask(self, *args: Any, **kwargs: Any) -> Any:
        """The tensor in another layout, or with a sparse one. See torch.Tensor.sparse_mask."""
    def sparse_resize_(self, *args: Any, **kwargs: Any) -> Any:
        """The tensor in another layout, or with a sparse one. See torch.Tensor.sparse_resize_."""
    def sparse_resize_and_clear_(self, *args: Any, **kwargs: Any) -> Any:
        """The tensor in another layout, or with a sparse one. See torch.Tensor.sparse_resize_and_clear_."""
    def split(self, split_size_or_sections: builtins.int | Sequence[builtins.int], dim: builtins.int = 0) -> builtins.tuple[Tensor, ...]:
        """Return parts of one size (the last may be smaller) or of given sizes. See torch.split."""
    def split_with_sizes(self, split_sizes: Sequence[builtins.int], dim: builtins.int = 0) -> builtins.tuple[Tensor, ...]:
        """Return parts of given sizes. See torch.split."""
    def sqrt(self) -> Tensor:
        """Return the square root. See torch.sqrt."""
    def sqrt_(self) -> Tensor:
        """Return the square root. See torch.sqrt."""
    def square(self) -> Tensor:
        """Return each element times itself. See torch.square."""
    def square_(self) -> Tensor:
        """Return each element times itself. See torch.square."""
    def squeeze(self, *dim: Any, **kw: Any) -> Tensor:
        """Drop dims of size 1. Several dims may be given as separate arguments. See torch.Tensor.squeeze."""
    def squeeze_(self, *dim: Any, **kw: Any) -> Tensor:
        """Drop dims of size 1 in place. See torch.Tensor.squeeze_."""
    def sspaddmm(self, *args: Any, **kwargs: Any) -> Any:
        """The tensor in another layout, or with a sparse one. See torch.Tensor.sspaddmm."""
    def std(self, dim: builtins.bool | builtins.int | Sequence[builtins.int] | None = None, unbiased: builtins.bool | None = None, keepdim: builtins.bool = False, *, correction: builtins.float | None = None) -> Tensor:
        """Return the standard deviation: the square root of ``var``. See torch.std."""
    def stft(self, n_fft: builtins.int, hop_length: builtins.int | None = None, win_length: builtins.int | None = None, window: Tensor | None = None, center: builtins.bool = True, pad_mode: builtins.str = 'reflect', normalized: builtins.bool = False, onesided: builtins.bool | None = None, return_complex: builtins.bool | None = None, align_to_window: builtins.bool | None = None) -> Tensor:
        """Return the spectra of windows that slide over a signal: (batch, frequency, frame). See torch.stft."""
    def sub(self, other: Tensor | _Number, *, alpha: _Number = 1) -> Tensor:
        """Subtract ``alpha`` times ``other``. See torch.sub."""
    def sub_(self, other: Tensor | _Number, *, alpha: _Number = 1) -> Tensor:
        """Subtract ``alpha`` times ``other``. See torch.sub."""
    def subtract(self, other: Tensor | _Number, *, alpha: _Number = 1) -> Tensor:
        """Subtract ``alpha`` times ``other``. See torch.sub."""
    def subtract_(self, other: Tensor | _Number, *, alpha: _Number = 1) -> Tensor:
        """Subtract ``alpha`` times ``other``. See torch.sub."""
    def sum(self, dim: builtins.int | Sequence[builtins.int] | None = None, keepdim: builtins.bool = False, *, dtype: _dtype | None = None) -> Tensor:
        """Return the sum of all elements, or along ``dim``; of integers in int64. See torch.sum."""
    def sum_to_size(self, *size: Any) -> Tensor:
        """Sum over the dims that broadcasting from ``size`` repeats, if there are any. See torch.Tensor.sum_to_size."""
    def svd(self, some: builtins.bool = True, compute_uv: builtins.bool = True) -> svd_result:
        """Return U, S and V of input = U diag(S) Vᴴ. See torch.svd."""
    def swapaxes(self, axis0: builtins.int, axis1: builtins.int) -> Tensor:
        """Return two dims swapped. See torch.swapaxes."""
    def swapaxes_(self, *args: Any, **kw: Any) -> Tensor:
        """The in-place form of swapaxes: changes how this tensor shows its memory. See torch.Tensor.swapaxes_."""
    def swapdims(self, dim0: builtins.int, dim1: builtins.int) -> Tensor:
        """Return two dims swapped. See torch.swapdims."""
    def swapdims_(self, *args: Any, **kw: Any) -> Tensor:
        """The in-place form of swapdims: changes how this tensor shows its memory. See torch.Tensor.swapdims_."""
    def symeig(self, *args: Any, **kwargs: Any) -> Any:
        """RuntimeError: PyTorch has removed it for torch.linalg.eigh."""
    def t(self) -> Tensor:
        """Return a matrix transposed, or a vector unchanged. See torch.t."""
    def t_(self, *args: Any, **kw: Any) -> Tensor:
        """The in-place form of t: changes how this tensor shows its memory. See torch.Tensor.t_."""
    def take(self, index: Tensor) -> Tensor:
        """Return the elements at flat indices. See torch.take."""
    def take_along_dim(self, indices: Tensor, dim: builtins.int | None = None) -> Tensor:
        """Return ``gather`` with both arguments broadcast; indices wrap around. See torch.take_along_dim."""
    def tan(self) -> Tensor:
        """Return the tangent. See torch.tan."""
    def tan_(self) -> Tensor:
        """Return the tangent. See torch.tan."""
    def tanh(self) -> Tensor:
        """Return the hyperbolic tangent. See torch.tanh."""
    def tanh_(self) -> Tensor:
        """Return the hyperbolic tangent. See torch.tanh."""
    def tensor_split(self, indices_or_sections: Any = None, dim: builtins.int = 0, *, indices: Any = None, sections: builtins.int | None = None) -> builtins.tuple[Tensor, ...]:
        """Split into equal parts (sizes may differ by 1), or at given indices. See torch.tensor_split."""
    @overload
    def tile(self, *dims: builtins.int) -> Tensor: ...
    @overload
    def tile(self, dims: Sequence[builtins.int]) -> Tensor:
        """Repeat the whole tensor along the last dims. See torch.tile."""
    def to(self, *args: Any, dtype: Any = None, device: Any = None, non_blocking: builtins.bool = False, copy: builtins.bool = False, memory_format: Any = None) -> Tensor:
        """Return the tensor in another dtype or on another device, or the tensor itself if nothing changes. See torch.Tensor.to."""
    def to_dense(self, dtype: Any = None, *, masked_grad: builtins.bool | None = None) -> Tensor:
        """Return the tensor itself, since it is dense. See torch.Tensor.to_dense."""
    def to_sparse(self, *args: Any, **kwargs: Any) -> Any:
        """The tensor in another layout, or with a sparse one. See torch.Tensor.to_sparse."""
    def to_sparse_bsc(self, *args: Any, **kwargs: Any) -> Any:
        """The tensor in another layout, or with a sparse one. See torch.Tensor.to_sparse_bsc."""
    def to_sparse_bsr(self, *args: Any, **kwargs: Any) -> Any:
        """The tensor in another layout, or with a sparse one. See torch.Tensor.to_sparse_bsr."""
    def to_sparse_coo(self, *args: Any, **kwargs: Any) -> Any:
        """The tensor in another layout, or with a sparse one. See torch.Tensor.to_sparse_coo."""
    def to_sparse_csc(self, *args: Any, **kwargs: Any) -> Any:
        """The tensor in another layout, or with a sparse one. See torch.Tensor.to_sparse_csc."""
    def to_sparse_csr(self, *args: Any, **kwargs: Any) -> Any:
        """The tensor in another layout, or with a sparse one. See torch.Tensor.to_sparse_csr."""
    def topk(self, k: builtins.int, dim: builtins.int = -1, largest: builtins.bool = True, sorted: builtins.bool = True) -> topk_result:
        """Return the ``k`` largest (or smallest) elements along ``dim``, always in order, with their indices. See torch.topk."""
    def trace(self) -> Tensor:
        """Return the sum of the diagonal. See torch.trace."""
    def transpose(self, dim0: builtins.int, dim1: builtins.int) -> Tensor:
        """Return two dims swapped. See torch.transpose."""
    def transpose_(self, *args: Any, **kw: Any) -> Tensor:
        """The in-place form of transpose: changes how this tensor shows its memory. See torch.Tensor.transpose_."""
    def triangular_solve(self, A: Tensor, upper: builtins.bool = True, transpose: builtins.bool = False, unitriangular: builtins.bool = False) -> triangular_solve_result:
        """Return X of AX = b for a triangular A, and A. See torch.triangular_solve."""
    def tril(self, diagonal: builtins.int = 0) -> Tensor:
        """Return the lower triangle, zeros elsewhere. See torch.tril."""
    def tril_(self, diagonal: builtins.int = 0) -> Tensor:
        """Return the lower triangle, zeros elsewhere. See torch.tril."""
    def triu(self, diagonal: builtins.int = 0) -> Tensor:
        """Return the upper triangle, zeros elsewhere. See torch.triu."""
    def triu_(self, diagonal: builtins.int = 0) -> Tensor:
        """Return the upper triangle, zeros elsewhere. See torch.triu."""
    def true_divide(self, other: Tensor | _Number) -> Tensor:
        """Return the quotient. See torch.true_divide."""
    def true_divide_(self, other: Tensor | _Number) -> Tensor:
        """Return the quotient. See torch.true_divide."""
    def trunc(self) -> Tensor:
        """Return the integer part. See torch.trunc."""
    def trunc_(self) -> Tensor:
        """Return the integer part. See torch.trunc."""
    def type(self, dtype: Any = None, non_blocking: builtins.bool = False) -> Any:
        """Return the tensor's type as a string, or the tensor cast to one. See torch.Tensor.type."""
    def type_as(self, other: Tensor) -> Tensor:
        """Return the tensor in the dtype and on the device of ``other``. See torch.Tensor.type_as."""
    def unbind(self, dim: builtins.int = 0) -> builtins.tuple[Tensor, ...]:
        """Return the elements at each index of a dim, without this dim. See torch.unbind."""
    def unflatten(self, dim: builtins.int, sizes: Sequence[builtins.int]) -> Tensor:
        """Split one dim into several. See torch.unflatten."""
    def unfold(self, dimension: builtins.int, size: builtins.int, step: builtins.int) -> Tensor:
        """Return all windows of ``size`` elements of a dim, ``step`` apart, as a last dim. See torch.Tensor.unfold."""
    def uniform_(self, from_: builtins.float = 0, to: builtins.float = 1, *, generator: _Generator | None = None, **kw: builtins.float) -> Tensor:
        """Fill with uniform numbers from [from, to). See torch.Tensor.uniform_."""
    def unique(self, sorted: builtins.bool = True, return_inverse: builtins.bool = False, return_counts: builtins.bool = False, dim: builtins.int | None = None) -> Any:
        """Return the distinct elements (or slices along ``dim``), always sorted; each NaN is one. See torch.unique."""
    def unique_consecutive(self, return_inverse: builtins.bool = False, return_counts: builtins.bool = False, dim: builtins.int | None = None) -> Any:
        """Return the elements (or slices along ``dim``) that differ from the one before. See torch.unique_consecutive."""
    def unsafe_chunk(self, chunks: builtins.int, dim: builtins.int = 0) -> Tensor:
        """Return ``chunk`` whose parts may be written to, since they are copies. See torch.unsafe_chunk."""
    def unsafe_split(self, split_size: builtins.int, dim: builtins.int = 0) -> Tensor:
        """Return ``split`` whose parts may be written to, since they are copies. See torch.unsafe_split."""
    def unsafe_split_with_sizes(self, split_sizes: Sequence[builtins.int], dim: builtins.int = 0) -> Tensor:
        """Return ``split_with_sizes`` whose parts may be written to, since they are copies. See torch.unsafe_split_with_sizes."""
    def unsqueeze(self, dim: builtins.int) -> Tensor:
        """Insert a dim of size 1. See torch.unsqueeze."""
    def unsqueeze_(self, *args: Any, **kw: Any) -> Tensor:
        """The in-place form of unsqueeze: changes how this tensor shows its memory. See torch.Tensor.unsqueeze_."""
    def values(self) -> Any:
        """RuntimeError: the tensor is dense. See torch.Tensor.values."""
    def var(self, dim: builtins.bool | builtins.int | Sequence[builtins.int] | None = None, unbiased: builtins.bool | None = None, keepdim: builtins.bool = False, *, correction: builtins.float | None = None) -> Tensor:
        """Return the variance, divided by N - ``correction`` (1 by default). See torch.var."""
    def vdot(self, other: Tensor) -> Tensor:
        """Return the dot product of two vectors, the first conjugated. See torch.vdot."""
    def view(self, *size: Any, dtype: _dtype | None = None, **named: Any) -> Tensor:
        """Return a view with another shape or dtype. See torch.Tensor.view."""
    def view_as(self, other: Tensor) -> Tensor:
        """Return ``view`` with the shape of another tensor. See torch.Tensor.view_as."""
    def vsplit(self, indices_or_sections: builtins.int | Sequence[builtins.int]) -> builtins.tuple[Tensor, ...]:
        """Return parts along rows. See torch.vsplit."""
    def where(self, condition: Tensor, other: Any) -> Tensor:
        """Return ``self`` where the condition is True, else ``other``. See torch.Tensor.where."""
    def xlogy(self, other: Tensor | _Number) -> Tensor:
        """Return x log(y), 0 where x is 0. See torch.xlogy."""
    def xlogy_(self, other: Tensor | _Number) -> Tensor:
        """Return x log(y), 0 where x is 0. See torch.xlogy."""
    def zero_(self) -> Tensor:
        """Return all elements replaced by 0. See torch.Tensor.zero_."""
