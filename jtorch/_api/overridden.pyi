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
from jtorch._bound import linalg_cholesky_ex_result
from jtorch._bound import linalg_inv_ex_result
from jtorch._bound import linalg_lu_factor_ex_result
from jtorch._bound import linalg_solve_ex_result

_Number: TypeAlias = builtins.int | builtins.float | builtins.complex
_DeviceLike: TypeAlias = _device | builtins.str | builtins.int

def abs_(input: Tensor) -> Tensor:
    """Return the magnitude of each element; its gradient at 0 is 0. See torch.abs."""
def absolute_(input: Tensor) -> Tensor:
    """Return the magnitude of each element; its gradient at 0 is 0. See torch.abs."""
def as_strided_copy(input: Tensor, size: Sequence[builtins.int], stride: Sequence[builtins.int], storage_offset: builtins.int | None = None, *, out: Tensor | None = None) -> Tensor:
    """What torch.as_strided shows, as a copy. See torch.as_strided_copy."""
def as_strided_scatter(input: Tensor, src: Tensor, size: Sequence[builtins.int], stride: Sequence[builtins.int], storage_offset: builtins.int | None = None, *, out: Tensor | None = None) -> Tensor:
    """Return ``input`` with ``as_strided(size, stride, storage_offset)`` replaced. See torch.as_strided_scatter."""
def atleast_1d(input: Tensor) -> Tensor:
    """Add a dim to a 0-dim tensor. See torch.atleast_1d."""
def atleast_2d(input: Tensor) -> Tensor:
    """Add leading dims of size 1 up to two dims. See torch.atleast_2d."""
def atleast_3d(input: Tensor) -> Tensor:
    """Add dims of size 1 up to three dims. See torch.atleast_3d."""
def broadcast_tensors(*tensors: Tensor) -> builtins.tuple[Tensor, ...]:
    """Return all tensors expanded to their common shape. See torch.broadcast_tensors."""
def cholesky_ex(A: Tensor, *, upper: builtins.bool = False, check_errors: builtins.bool = False, out: Sequence[Tensor] | None = None) -> linalg_cholesky_ex_result:
    """Return linalg.cholesky, and for each matrix 0 or the order of the minor that failed. See torch.linalg.cholesky_ex."""
def clone(input: Tensor) -> Tensor:
    """Return a copy that gradients flow through. See torch.clone."""
def conj(input: Tensor) -> Tensor:
    """Return the complex conjugate. See torch.conj."""
def conj_physical(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the complex conjugate. See torch.conj_physical."""
def diag(input: Tensor, diagonal: builtins.int = 0, *, out: Tensor | None = None) -> Tensor:
    """Return a vector as the diagonal of a matrix, or the diagonal of a matrix. See torch.diag."""
@overload
def einsum(equation: builtins.str, *operands: Tensor, out: Tensor | None = None) -> Tensor: ...
@overload
def einsum(equation: builtins.str, operands: Sequence[Tensor], *, out: Tensor | None = None) -> Tensor:
    """Return sums of products, by Einstein's convention. See torch.einsum."""
def fill_(input: Tensor, value: Tensor | _Number) -> Tensor:
    """Return all elements replaced by one value. See torch.Tensor.fill_."""
def float_power_(input: Tensor | _Number, exponent: Tensor | builtins.complex) -> Tensor:
    """Return ``pow`` computed in float64 or complex128. See torch.float_power."""
def gradient(input: Tensor, spacing: Sequence[Tensor], dim: Any = None, edge_order: builtins.int = 1) -> Tensor:
    """Return central differences along each of ``dim``; at the edges one-sided ones. See torch.gradient."""
def index_put(input: Tensor, indices: Sequence[Tensor | None], values: Tensor, accumulate: builtins.bool = False, *, out: Tensor | None = None) -> Tensor:
    """Return ``input`` with ``input[indices]`` replaced by or (``accumulate``) added to. See torch.Tensor.index_put_."""
def index_put_(input: Tensor, indices: Sequence[Tensor | None], values: Tensor, accumulate: builtins.bool = False) -> Tensor:
    """Return ``input`` with ``input[indices]`` replaced by or (``accumulate``) added to. See torch.Tensor.index_put_."""
def inv_ex(A: Tensor, *, check_errors: builtins.bool = False, out: Sequence[Tensor] | None = None) -> linalg_inv_ex_result:
    """Return the inverse, and for each matrix 0 or the index of its zero pivot. See torch.linalg.inv_ex."""
def lu_factor_ex(A: Tensor, *, pivot: builtins.bool = True, check_errors: builtins.bool = False, out: Sequence[Tensor] | None = None) -> linalg_lu_factor_ex_result:
    """Return linalg.lu_factor, and for each matrix 0 or where U is 0. See torch.linalg.lu_factor_ex."""
def masked_select(input: Tensor, mask: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the elements where the mask is True, in one dim. See torch.masked_select."""
def matrix_rank(input: Tensor, *, tol: Tensor | builtins.float | None = None, atol: Tensor | builtins.float | None = None, rtol: Tensor | builtins.float | None = None, hermitian: builtins.bool = False, out: Tensor | None = None) -> Tensor:
    """Return how many singular values are not (nearly) 0. See torch.linalg.matrix_rank."""
@overload
def meshgrid(*tensors: Tensor, indexing: builtins.str | None = None) -> builtins.tuple[Tensor, ...]: ...
@overload
def meshgrid(tensors: Sequence[Tensor], *, indexing: builtins.str | None = None) -> builtins.tuple[Tensor, ...]:
    """Return vectors expanded over the grid they span. See torch.meshgrid."""
@overload
def new_empty(input: Tensor, *size: builtins.int, dtype: _dtype | None = None, device: _DeviceLike | None = None, requires_grad: builtins.bool = False, layout: Any = None, pin_memory: builtins.bool = False, memory_format: Any = None, out: Tensor | None = None) -> Tensor: ...
@overload
def new_empty(input: Tensor, size: Sequence[builtins.int], *, dtype: _dtype | None = None, device: _DeviceLike | None = None, requires_grad: builtins.bool = False, layout: Any = None, pin_memory: builtins.bool = False, memory_format: Any = None, out: Tensor | None = None) -> Tensor:
    """Return an uninitialized tensor (zeros) in the dtype of this one. See torch.Tensor.new_empty."""
def new_full(input: Tensor, size: Sequence[builtins.int], fill_value: _Number, *, dtype: _dtype | None = None, device: _DeviceLike | None = None, requires_grad: builtins.bool = False, layout: Any = None, pin_memory: builtins.bool = False, memory_format: Any = None, out: Tensor | None = None) -> Tensor:
    """Return one number in the dtype of this tensor. See torch.Tensor.new_full."""
@overload
def new_ones(input: Tensor, *size: builtins.int, dtype: _dtype | None = None, device: _DeviceLike | None = None, requires_grad: builtins.bool = False, layout: Any = None, pin_memory: builtins.bool = False, memory_format: Any = None, out: Tensor | None = None) -> Tensor: ...
@overload
def new_ones(input: Tensor, size: Sequence[builtins.int], *, dtype: _dtype | None = None, device: _DeviceLike | None = None, requires_grad: builtins.bool = False, layout: Any = None, pin_memory: builtins.bool = False, memory_format: Any = None, out: Tensor | None = None) -> Tensor:
    """Return ones in the dtype of this tensor. See torch.Tensor.new_ones."""
@overload
def new_zeros(input: Tensor, *size: builtins.int, dtype: _dtype | None = None, device: _DeviceLike | None = None, requires_grad: builtins.bool = False, layout: Any = None, pin_memory: builtins.bool = False, memory_format: Any = None, out: Tensor | None = None) -> Tensor: ...
@overload
def new_zeros(input: Tensor, size: Sequence[builtins.int], *, dtype: _dtype | None = None, device: _DeviceLike | None = None, requires_grad: builtins.bool = False, layout: Any = None, pin_memory: builtins.bool = False, memory_format: Any = None, out: Tensor | None = None) -> Tensor:
    """Return zeros in the dtype of this tensor. See torch.Tensor.new_zeros."""
def pinv(input: Tensor, *, atol: Tensor | builtins.float | None = None, rtol: Tensor | builtins.float | None = None, hermitian: builtins.bool = False, out: Tensor | None = None) -> Tensor:
    """Return the Moore-Penrose inverse. See torch.linalg.pinv."""
def ravel(input: Tensor) -> Tensor:
    """Return all elements in one dim. See torch.ravel."""
def real(input: Tensor) -> Tensor:
    """Return the real part; a real tensor as it is. See torch.real."""
def repeat_interleave(input: Tensor, repeats: Tensor | builtins.int, dim: builtins.int | None = None, *, output_size: builtins.int | None = None) -> Tensor:
    """Repeat each element, or each slice of a dim. See torch.repeat_interleave."""
def rrelu(input: Tensor, lower: _Number = 0.125, upper: _Number = 0.3333333333333333, training: builtins.bool = False, inplace: builtins.bool = False) -> Tensor:
    """Return leaky_relu with the mean of ``lower`` and ``upper`` as its slope. See torch.nn.functional.rrelu."""
def rrelu_(input: Tensor, lower: _Number = 0.125, upper: _Number = 0.3333333333333333, training: builtins.bool = False) -> Tensor:
    """Return leaky_relu with the mean of ``lower`` and ``upper`` as its slope. See torch.nn.functional.rrelu."""
def scalar_tensor(s: _Number, *, dtype: _dtype | None = None, device: _DeviceLike | None = None, requires_grad: builtins.bool = False, layout: Any = None, pin_memory: builtins.bool = False, memory_format: Any = None, out: Tensor | None = None) -> Tensor:
    """Return a 0-dim tensor. See torch.scalar_tensor."""
def scaled_dot_product_attention(query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None, dropout_p: builtins.float = 0.0, is_causal: builtins.bool = False, *, scale: builtins.float | None = None, enable_gqa: builtins.bool = False) -> Tensor:
    """Return ``softmax(query @ key.T * scale + attn_mask) @ value``. See torch.nn.functional.scaled_dot_product_attention."""
def solve_ex(A: Tensor, B: Tensor, *, left: builtins.bool = True, check_errors: builtins.bool = False, out: Sequence[Tensor] | None = None) -> linalg_solve_ex_result:
    """Return linalg.solve, and for each matrix 0 or the index of its zero pivot. See torch.linalg.solve_ex."""
def squeeze(input: Tensor, dim: builtins.int | Sequence[builtins.int] | None = None) -> Tensor:
    """Return dims of size 1 dropped. See torch.squeeze."""
def squeeze_(self: Tensor, *args: Any, **kw: Any) -> Tensor:
    """The in-place form of squeeze: changes how this tensor shows its memory. See torch.Tensor.squeeze_."""
@overload
def sum_to_size(input: Tensor, *size: builtins.int, out: Tensor | None = None) -> Tensor: ...
@overload
def sum_to_size(input: Tensor, size: Sequence[builtins.int], *, out: Tensor | None = None) -> Tensor:
    """Return the sum over the dims that broadcasting from ``size`` repeats. See torch.Tensor.sum_to_size."""
def tensor_split(input: Tensor, indices_or_sections: Tensor | builtins.int | Sequence[builtins.int], dim: builtins.int = 0) -> builtins.tuple[Tensor, ...]:
    """Return parts as equal as possible, or cut at given places. See torch.tensor_split."""
def unravel_index(indices: Tensor, shape: Sequence[builtins.int]) -> Tensor:
    """Convert flat indices to coordinates in ``shape``, in a last dim. See torch.unravel_index."""
@overload
def view(input: Tensor, *size: builtins.int) -> Tensor: ...
@overload
def view(input: Tensor, size: Sequence[builtins.int]) -> Tensor:
    """Return the same elements in another shape, never a copy. See torch.Tensor.view."""
def where(condition: Tensor, input: Tensor | _Number, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
    """Return ``input`` where the condition is True, else ``other``. See torch.where."""
