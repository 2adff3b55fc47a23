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
from jtorch._api.aten_enums import affine_grid_generator as affine_grid_generator
from jtorch._api.aten_enums import alpha_dropout_ as alpha_dropout_
from jtorch._api.aten_enums import batch_norm as batch_norm
from jtorch._api.aten_enums import batch_norm_update_stats as batch_norm_update_stats
from jtorch._api.aten_enums import convolution as convolution
from jtorch._api.aten_enums import dropout_ as dropout_
from jtorch._api.aten_enums import embedding_bag as embedding_bag
from jtorch._api.aten_enums import embedding_renorm_ as embedding_renorm_
from jtorch._api.aten_enums import feature_alpha_dropout_ as feature_alpha_dropout_
from jtorch._api.aten_enums import feature_dropout_ as feature_dropout_
from jtorch._api.aten_enums import instance_norm as instance_norm
from jtorch._api.aten_enums import kl_div as kl_div
from jtorch._api.aten_native import constant_pad_nd as constant_pad_nd
from jtorch._api.aten_native import grid_sampler as _aliased_grid_sampler
from jtorch._api.aten_native import grid_sampler as grid_sampler
from jtorch._api.aten_native import native_batch_norm as native_batch_norm
from jtorch._api.aten_native import native_dropout as native_dropout
from jtorch._api.conversion import is_pinned as is_pinned
from jtorch._api.conversion import is_set_to as is_set_to
from jtorch._api.conversion import type_as as type_as
from jtorch._api.functional import allclose as allclose
from jtorch._api.functional import equal as equal
from jtorch._api.functional import is_complex as is_complex
from jtorch._api.functional import is_floating_point as is_floating_point
from jtorch._api.functional import is_nonzero as is_nonzero
from jtorch._api.functional import is_same_size as is_same_size
from jtorch._api.functional import numel as numel
from jtorch._api.functional import promote_types as promote_types
from jtorch._api.functional import result_type as result_type
from jtorch._api.overloads import histogramdd as histogramdd
from jtorch._api.settings import apply_ as apply_
from jtorch._api.settings import is_conj as is_conj
from jtorch._api.settings import is_inference as is_inference
from jtorch._api.settings import is_neg as is_neg
from jtorch._api.settings import map2_ as map2_
from jtorch._api.settings import map_ as map_
from jtorch._api.settings import resolve_conj as resolve_conj
from jtorch._api.settings import resolve_neg as resolve_neg
from jtorch.dispatch.inplace_views import resize_ as resize_
from jtorch.dispatch.inplace_views import resize_as_ as resize_as_
from jtorch.dispatch.inplace_views import set_ as set_
from jtorch.dtype import can_cast as can_cast
from jtorch.nn._functional.dropout import torch_dropout as _aliased_torch_dropout
from jtorch.random import bernoulli as bernoulli
from jtorch.random import cauchy_ as cauchy_
from jtorch.random import exponential_ as exponential_
from jtorch.random import geometric_ as geometric_
from jtorch.random import log_normal_ as log_normal_
from jtorch.random import multinomial as multinomial
from jtorch.random import rand_like as rand_like
from jtorch.random import randint_like as randint_like
from jtorch.random import randn_like as randn_like
from jtorch.random import random_ as random_
from jtorch.random import uniform_ as uniform_
from jtorch.tensor import Tensor
from jtorch._bound import linalg_cholesky_ex_result
from jtorch._bound import linalg_inv_ex_result
from jtorch._bound import linalg_lu_factor_ex_result
from jtorch._bound import linalg_slogdet_result
from jtorch._bound import linalg_solve_ex_result
from jtorch._bound import triangular_solve_result

_Number: TypeAlias = builtins.int | builtins.float | builtins.complex
_DeviceLike: TypeAlias = _device | builtins.str | builtins.int

def abs_(input: Tensor) -> Tensor:
    """Return the magnitude of each element; its gradient at 0 is 0. See torch.abs."""
def absolute_(input: Tensor) -> Tensor:
    """Return the magnitude of each element; its gradient at 0 is 0. See torch.abs."""
def adaptive_max_pool1d(input: Tensor, output_size: builtins.int | Sequence[builtins.int], return_indices: builtins.bool = False) -> Tensor:
    """Return maxima of ``output_size`` parts of the last dimension. See torch.nn.functional.adaptive_max_pool1d."""
def alpha_dropout(input: Tensor, p: builtins.float, train: Any, inplace: builtins.bool = False) -> Tensor:
    """Apply dropout that keeps mean and variance, for selu. See torch.nn.functional.alpha_dropout."""
def as_strided_(input: Tensor, *args: Any, **named: Any) -> Any:
    """The tensor shown with other strides, in place. See torch.Tensor.as_strided_."""
def as_strided_copy(input: Tensor, size: Sequence[builtins.int], stride: Sequence[builtins.int], storage_offset: builtins.int | None = None, *, out: Tensor | None = None) -> Tensor:
    """Return a copy of the result of torch.as_strided. See torch.as_strided_copy."""
def as_strided_scatter(input: Tensor, src: Tensor, size: Sequence[builtins.int], stride: Sequence[builtins.int], storage_offset: builtins.int | None = None, *, out: Tensor | None = None) -> Tensor:
    """Return ``input`` with ``src`` in place of ``as_strided(size, stride, offset)``. See torch.as_strided_scatter."""
def atleast_1d(input: Tensor) -> Tensor:
    """Add a dim to a 0-dim tensor. See torch.atleast_1d."""
def atleast_2d(input: Tensor) -> Tensor:
    """Add leading dims of size 1 up to two dims. See torch.atleast_2d."""
def atleast_3d(input: Tensor) -> Tensor:
    """Add dims of size 1 up to three dims. See torch.atleast_3d."""
def bincount(input: Tensor, weights: Tensor | None = None, minlength: builtins.int = 0) -> Tensor:
    """Return how often each non-negative integer occurs, or the sum of its weights. See torch.bincount."""
def broadcast_tensors(*tensors: Tensor) -> builtins.tuple[Tensor, ...]:
    """Return all tensors expanded to their common shape. See torch.broadcast_tensors."""
def cholesky_ex(A: Tensor, *, upper: builtins.bool = False, check_errors: builtins.bool = False, out: Sequence[Tensor] | None = None) -> linalg_cholesky_ex_result:
    """Return linalg.cholesky, and for each matrix 0 or the order of the minor that failed. See torch.linalg.cholesky_ex."""
def cholesky_inverse(L: Tensor, upper: builtins.bool = False, *, out: Tensor | None = None) -> Tensor:
    """Return the inverse of A from its Cholesky factor. See torch.cholesky_inverse."""
def cholesky_solve(B: Tensor, L: Tensor, upper: builtins.bool = False, *, out: Tensor | None = None) -> Tensor:
    """Return X of AX = B from the Cholesky factor of A. See torch.cholesky_solve."""
def clone(input: Tensor) -> Tensor:
    """Return a copy that gradients flow through. See torch.clone."""
def conj(input: Tensor) -> Tensor:
    """Return the complex conjugate. See torch.conj."""
def conj_physical(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the complex conjugate. See torch.conj_physical."""
def det(A: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the determinant. See torch.linalg.det."""
def detach(input: Tensor, *args: Any, **named: Any) -> Any:
    """The tensor without its graph. See torch.Tensor.detach."""
def detach_(input: Tensor, *args: Any, **named: Any) -> Any:
    """Cuts the tensor off its graph. See torch.Tensor.detach_."""
def diag(input: Tensor, diagonal: builtins.int = 0, *, out: Tensor | None = None) -> Tensor:
    """Return a vector as the diagonal of a matrix, or the diagonal of a matrix. See torch.diag."""
dropout = _aliased_torch_dropout
def dsplit(input: Tensor, indices_or_sections: builtins.int | Sequence[builtins.int]) -> builtins.tuple[Tensor, ...]:
    """Return parts along the third dim. See torch.dsplit."""
@overload
def einsum(equation: builtins.str, *operands: Tensor, out: Tensor | None = None) -> Tensor: ...
@overload
def einsum(equation: builtins.str, operands: Sequence[Tensor], *, out: Tensor | None = None) -> Tensor:
    """Return sums of products, by Einstein's convention. See torch.einsum."""
def feature_alpha_dropout(input: Tensor, p: builtins.float, train: Any, inplace: builtins.bool = False) -> Tensor:
    """Apply alpha dropout to whole channels. See torch.nn.functional.feature_alpha_dropout."""
def feature_dropout(input: Tensor, p: builtins.float, train: Any, inplace: builtins.bool = False) -> Tensor:
    """Apply dropout to whole channels. See torch.nn.functional.dropout2d."""
def fill_(input: Tensor, value: Tensor | _Number) -> Tensor:
    """Return all elements replaced by one value. See torch.Tensor.fill_."""
def float_power_(input: Tensor | _Number, exponent: Tensor | builtins.complex) -> Tensor:
    """Return ``pow`` computed in float64 or complex128. See torch.float_power."""
def gradient(input: Tensor, spacing: Sequence[Tensor], dim: Any = None, edge_order: builtins.int = 1) -> Tensor:
    """Return central differences along each of ``dim``; at the edges one-sided ones. See torch.gradient."""
grid_sampler_2d = _aliased_grid_sampler
grid_sampler_3d = _aliased_grid_sampler
def group_norm(input: Tensor, num_groups: builtins.int, weight: Tensor | None = None, bias: Tensor | None = None, eps: builtins.float = 1e-05) -> Tensor:
    """Return the input with mean 0 and variance 1 over each group of channels. See torch.nn.functional.group_norm."""
def hsplit(input: Tensor, indices_or_sections: builtins.int | Sequence[builtins.int]) -> builtins.tuple[Tensor, ...]:
    """Return parts along columns. See torch.hsplit."""
def index_put(input: Tensor, indices: Sequence[Tensor | None], values: Tensor, accumulate: builtins.bool = False, *, out: Tensor | None = None) -> Tensor:
    """Return ``input`` with ``input[indices]`` replaced by or (``accumulate``) added to. See torch.Tensor.index_put_."""
def index_put_(input: Tensor, indices: Sequence[Tensor | None], values: Tensor, accumulate: builtins.bool = False) -> Tensor:
    """Return ``input`` with ``input[indices]`` replaced by or (``accumulate``) added to. See torch.Tensor.index_put_."""
def inv_ex(A: Tensor, *, check_errors: builtins.bool = False, out: Sequence[Tensor] | None = None) -> linalg_inv_ex_result:
    """Return the inverse, and for each matrix 0 or the index of its zero pivot. See torch.linalg.inv_ex."""
def inverse(A: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the inverse of square matrices. See torch.linalg.inv."""
def is_signed(input: Tensor, *args: Any, **named: Any) -> Any:
    """Whether the dtype has negative numbers. See torch.Tensor.is_signed."""
def layer_norm(input: Tensor, normalized_shape: Sequence[builtins.int], weight: Tensor | None = None, bias: Tensor | None = None, eps: builtins.float = 1e-05) -> Tensor:
    """Return the input with mean 0 and variance 1 over its last dimensions. See torch.nn.functional.layer_norm."""
def lu_factor_ex(A: Tensor, *, pivot: builtins.bool = True, check_errors: builtins.bool = False, out: Sequence[Tensor] | None = None) -> linalg_lu_factor_ex_result:
    """Return linalg.lu_factor, and for each matrix 0 or where U is 0. See torch.linalg.lu_factor_ex."""
def lu_solve(b: Tensor, LU_data: Tensor, LU_pivots: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return X of AX = b from torch.lu's result. See torch.lu_solve."""
def masked_select(input: Tensor, mask: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the elements where the mask is True, in one dim. See torch.masked_select."""
def matrix_exp(A: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the matrix exponential. See torch.linalg.matrix_exp."""
def matrix_power(A: Tensor, n: builtins.int, *, out: Tensor | None = None) -> Tensor:
    """Return a matrix times itself, n times; a negative n takes the inverse. See torch.linalg.matrix_power."""
def matrix_rank(input: Tensor, *, tol: Tensor | builtins.float | None = None, atol: Tensor | builtins.float | None = None, rtol: Tensor | builtins.float | None = None, hermitian: builtins.bool = False, out: Tensor | None = None) -> Tensor:
    """Return how many singular values are not (nearly) 0. See torch.linalg.matrix_rank."""
@overload
def meshgrid(*tensors: Tensor, indexing: builtins.str | None = None) -> builtins.tuple[Tensor, ...]: ...
@overload
def meshgrid(tensors: Sequence[Tensor], *, indexing: builtins.str | None = None) -> builtins.tuple[Tensor, ...]:
    """Return vectors expanded over the grid they span. See torch.meshgrid."""
def narrow(input: Tensor, dim: builtins.int, start: Any, length: builtins.int) -> Tensor:
    """Return ``length`` elements of a dim from ``start`` on. See torch.narrow."""
@overload
def new_empty(input: Tensor, *size: builtins.int, dtype: _dtype | None = None, layout: Any = None, device: _DeviceLike | None = None, requires_grad: builtins.bool = False, pin_memory: builtins.bool = False) -> Tensor: ...
@overload
def new_empty(input: Tensor, size: Sequence[builtins.int], *, dtype: _dtype | None = None, layout: Any = None, device: _DeviceLike | None = None, requires_grad: builtins.bool = False, pin_memory: builtins.bool = False) -> Tensor:
    """Return an uninitialized tensor (zeros) in the dtype of this one. See torch.Tensor.new_empty."""
def new_full(input: Tensor, size: Sequence[builtins.int], fill_value: _Number, *, dtype: _dtype | None = None, layout: Any = None, device: _DeviceLike | None = None, requires_grad: builtins.bool = False, pin_memory: builtins.bool = False) -> Tensor:
    """Return one number in the dtype of this tensor. See torch.Tensor.new_full."""
@overload
def new_ones(input: Tensor, *size: builtins.int, dtype: _dtype | None = None, layout: Any = None, device: _DeviceLike | None = None, requires_grad: builtins.bool = False, pin_memory: builtins.bool = False) -> Tensor: ...
@overload
def new_ones(input: Tensor, size: Sequence[builtins.int], *, dtype: _dtype | None = None, layout: Any = None, device: _DeviceLike | None = None, requires_grad: builtins.bool = False, pin_memory: builtins.bool = False) -> Tensor:
    """Return ones in the dtype of this tensor. See torch.Tensor.new_ones."""
@overload
def new_zeros(input: Tensor, *size: builtins.int, dtype: _dtype | None = None, layout: Any = None, device: _DeviceLike | None = None, requires_grad: builtins.bool = False, pin_memory: builtins.bool = False) -> Tensor: ...
@overload
def new_zeros(input: Tensor, size: Sequence[builtins.int], *, dtype: _dtype | None = None, layout: Any = None, device: _DeviceLike | None = None, requires_grad: builtins.bool = False, pin_memory: builtins.bool = False) -> Tensor:
    """Return zeros in the dtype of this tensor. See torch.Tensor.new_zeros."""
def orgqr(A: Tensor, tau: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the first columns of a product of Householder reflections. See torch.linalg.householder_product."""
def ormqr(input: Tensor, tau: Tensor, other: Tensor, left: builtins.bool = True, transpose: builtins.bool = False, *, out: Tensor | None = None) -> Tensor:
    """Return the product of a matrix with the Q of ``geqrf``. See torch.ormqr."""
def pinv(input: Tensor, *, atol: Tensor | builtins.float | None = None, rtol: Tensor | builtins.float | None = None, hermitian: builtins.bool = False, out: Tensor | None = None) -> Tensor:
    """Return the Moore-Penrose inverse. See torch.linalg.pinv."""
def polygamma(self: Any, first: Any, *args: Any) -> Any:
    """Return the ``n``-th derivative of digamma. See torch.polygamma."""
def polygamma_(self: Any, first: Any, *args: Any) -> Any:
    """Return the ``n``-th derivative of digamma. See torch.polygamma."""
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
def scalar_tensor(s: _Number, *, dtype: _dtype | None = None, layout: Any = None, device: _DeviceLike | None = None, requires_grad: builtins.bool = False, pin_memory: builtins.bool = False) -> Tensor:
    """Return a 0-dim tensor. See torch.scalar_tensor."""
def scaled_dot_product_attention(query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None, dropout_p: builtins.float = 0.0, is_causal: builtins.bool = False, *, scale: builtins.float | None = None, enable_gqa: builtins.bool = False) -> Tensor:
    """Return ``softmax(query @ key.T * scale + attn_mask) @ value``. See torch.nn.functional.scaled_dot_product_attention."""
def slogdet(A: Tensor, *, out: Sequence[Tensor] | None = None) -> linalg_slogdet_result:
    """Return the determinant's sign and the logarithm of its magnitude. See torch.linalg.slogdet."""
def solve_ex(A: Tensor, B: Tensor, *, left: builtins.bool = True, check_errors: builtins.bool = False, out: Sequence[Tensor] | None = None) -> linalg_solve_ex_result:
    """Return linalg.solve, and for each matrix 0 or the index of its zero pivot. See torch.linalg.solve_ex."""
def sparse_mask(self: Tensor, *args: Any, **kwargs: Any) -> Any:
    """The tensor in another layout, or with a sparse one. See torch.Tensor.sparse_mask."""
def squeeze(input: Tensor, dim: builtins.int | Sequence[builtins.int] | None = None) -> Tensor:
    """Return dims of size 1 dropped. See torch.squeeze."""
def squeeze_(self: Tensor, *args: Any, **kw: Any) -> Tensor:
    """The in-place form of squeeze: changes how this tensor shows its memory. See torch.Tensor.squeeze_."""
@overload
def sum_to_size(input: Tensor, *size: builtins.int, out: Tensor | None = None) -> Tensor: ...
@overload
def sum_to_size(input: Tensor, size: Sequence[builtins.int], *, out: Tensor | None = None) -> Tensor:
    """Return the sum over the dims that broadcasting from ``size`` repeats. See torch.Tensor.sum_to_size."""
def swapaxes_(self: Tensor, *args: Any, **kw: Any) -> Tensor:
    """The in-place form of swapaxes: changes how this tensor shows its memory. See torch.Tensor.swapaxes_."""
def swapdims_(self: Tensor, *args: Any, **kw: Any) -> Tensor:
    """The in-place form of swapdims: changes how this tensor shows its memory. See torch.Tensor.swapdims_."""
def t_(self: Tensor, *args: Any, **kw: Any) -> Tensor:
    """The in-place form of t: changes how this tensor shows its memory. See torch.Tensor.t_."""
def tensor_split(input: Tensor, indices_or_sections: Tensor | builtins.int | Sequence[builtins.int], dim: builtins.int = 0) -> builtins.tuple[Tensor, ...]:
    """Return parts as equal as possible, or cut at given places. See torch.tensor_split."""
def transpose_(self: Tensor, *args: Any, **kw: Any) -> Tensor:
    """The in-place form of transpose: changes how this tensor shows its memory. See torch.Tensor.transpose_."""
def triangular_solve(b: Tensor, A: Tensor, upper: builtins.bool = True, transpose: builtins.bool = False, unitriangular: builtins.bool = False, *, out: Sequence[Tensor] | None = None) -> triangular_solve_result:
    """Return X of AX = b for a triangular A, and A. See torch.triangular_solve."""
def unravel_index(indices: Tensor, shape: Sequence[builtins.int]) -> Tensor:
    """Convert flat indices to coordinates in ``shape``, in a last dim. See torch.unravel_index."""
def unsqueeze_(self: Tensor, *args: Any, **kw: Any) -> Tensor:
    """The in-place form of unsqueeze: changes how this tensor shows its memory. See torch.Tensor.unsqueeze_."""
@overload
def view(input: Tensor, *size: builtins.int) -> Tensor: ...
@overload
def view(input: Tensor, size: Sequence[builtins.int]) -> Tensor:
    """Return the same elements in another shape, never a copy. See torch.Tensor.view."""
@overload
def view_copy(input: Tensor, *size: builtins.int, out: Tensor | None = None) -> Tensor: ...
@overload
def view_copy(input: Tensor, size: Sequence[builtins.int], *, out: Tensor | None = None) -> Tensor:
    """Return a copy of the result of torch.view. See torch.view_copy."""
def vsplit(input: Tensor, indices_or_sections: builtins.int | Sequence[builtins.int]) -> builtins.tuple[Tensor, ...]:
    """Return parts along rows. See torch.vsplit."""
def where(condition: Tensor, input: Tensor | _Number, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
    """Return ``input`` where the condition is True, else ``other``. See torch.where."""
