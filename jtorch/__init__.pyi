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
from jtorch import amp as amp
from jtorch import autograd as autograd
from jtorch import backends as backends
from jtorch import cpu as cpu
from jtorch import cuda as cuda
from jtorch import engine as engine
from jtorch import fft as fft
from jtorch import func as func
from jtorch import linalg as linalg
from jtorch import masked as masked
from jtorch import nn as nn
from jtorch import optim as optim
from jtorch import random as random
from jtorch import serialization as serialization
from jtorch import special as special
from jtorch import torch_version as torch_version
from jtorch import utils as utils
from jtorch import version as version
from jtorch._api.aten_enums import binary_cross_entropy_with_logits as binary_cross_entropy_with_logits
from jtorch._api.aten_enums import cosine_embedding_loss as cosine_embedding_loss
from jtorch._api.aten_enums import ctc_loss as ctc_loss
from jtorch._api.aten_enums import hinge_embedding_loss as hinge_embedding_loss
from jtorch._api.aten_enums import margin_ranking_loss as margin_ranking_loss
from jtorch._api.aten_enums import poisson_nll_loss as poisson_nll_loss
from jtorch._api.aten_enums import triplet_margin_loss as triplet_margin_loss
from jtorch._api.aten_native import frobenius_norm as frobenius_norm
from jtorch._api.aten_native import native_channel_shuffle as native_channel_shuffle
from jtorch._api.aten_native import native_layer_norm as native_layer_norm
from jtorch._api.aten_native import nuclear_norm as nuclear_norm
from jtorch._api.control_flow import cond as cond
from jtorch._api.control_flow import while_loop as while_loop
from jtorch._api.conversion import clone as clone
from jtorch._api.creation import TypedStorage as TypedStorage
from jtorch._api.creation import as_tensor as as_tensor
from jtorch._api.creation import asarray as asarray
from jtorch._api.creation import empty_strided as empty_strided
from jtorch._api.creation import from_dlpack as from_dlpack
from jtorch._api.creation import from_file as from_file
from jtorch._api.creation import from_jax as from_jax
from jtorch._api.creation import from_numpy as from_numpy
from jtorch._api.creation import frombuffer as frombuffer
from jtorch._api.creation import tensor as tensor
from jtorch._api.functional import are_deterministic_algorithms_enabled as are_deterministic_algorithms_enabled
from jtorch._api.functional import broadcast_shapes as broadcast_shapes
from jtorch._api.functional import get_default_dtype as get_default_dtype
from jtorch._api.functional import get_num_interop_threads as get_num_interop_threads
from jtorch._api.functional import get_num_threads as get_num_threads
from jtorch._api.functional import is_storage as is_storage
from jtorch._api.functional import is_tensor as is_tensor
from jtorch._api.functional import scalar_tensor as scalar_tensor
from jtorch._api.functional import set_default_dtype as set_default_dtype
from jtorch._api.functional import set_num_interop_threads as set_num_interop_threads
from jtorch._api.functional import set_num_threads as set_num_threads
from jtorch._api.functional import use_deterministic_algorithms as use_deterministic_algorithms
from jtorch._api.linalg_lowrank import lobpcg as lobpcg
from jtorch._api.linalg_lowrank import pca_lowrank as pca_lowrank
from jtorch._api.linalg_lowrank import svd_lowrank as svd_lowrank
from jtorch._api.other_layouts import dequantize as dequantize
from jtorch._api.overloads import as_strided_copy as as_strided_copy
from jtorch._api.overloads import broadcast_tensors as broadcast_tensors
from jtorch._api.overloads import diag as diag
from jtorch._api.overloads import einsum as einsum
from jtorch._api.overloads import meshgrid as meshgrid
from jtorch._api.overloads import unravel_index as unravel_index
from jtorch._api.settings import compiled_with_cxx11_abi as compiled_with_cxx11_abi
from jtorch._api.settings import empty_permuted as empty_permuted
from jtorch._api.settings import get_deterministic_debug_mode as get_deterministic_debug_mode
from jtorch._api.settings import get_device_module as get_device_module
from jtorch._api.settings import init_num_threads as init_num_threads
from jtorch._api.settings import is_deterministic_algorithms_warn_only_enabled as is_deterministic_algorithms_warn_only_enabled
from jtorch._api.settings import is_warn_always_enabled as is_warn_always_enabled
from jtorch._api.settings import set_default_tensor_type as set_default_tensor_type
from jtorch._api.settings import set_deterministic_debug_mode as set_deterministic_debug_mode
from jtorch._api.settings import set_flush_denormal as set_flush_denormal
from jtorch._api.settings import set_warn_always as set_warn_always
from jtorch._api.settings import sym_float as sym_float
from jtorch._api.settings import sym_int as sym_int
from jtorch._api.settings import sym_ite as sym_ite
from jtorch._api.settings import sym_max as sym_max
from jtorch._api.settings import sym_min as sym_min
from jtorch._api.settings import sym_not as sym_not
from jtorch._api.settings import sym_sum as sym_sum
from jtorch._api.settings import typename as typename
from jtorch._api.typed_tensors import memory_format as memory_format
from jtorch._base.dtype_info import finfo as finfo
from jtorch._base.dtype_info import iinfo as iinfo
from jtorch._base.generator import Generator as Generator
from jtorch._base.layout import layout as layout
from jtorch._base.size import Size as Size
from jtorch._storage.untyped import UntypedStorage as UntypedStorage
from jtorch._tensor_str import set_printoptions as set_printoptions
from jtorch.amp.autocast_mode import autocast as autocast
from jtorch.amp.autocast_mode import autocast_decrement_nesting as autocast_decrement_nesting
from jtorch.amp.autocast_mode import autocast_increment_nesting as autocast_increment_nesting
from jtorch.amp.autocast_mode import clear_autocast_cache as clear_autocast_cache
from jtorch.amp.autocast_mode import get_autocast_dtype as get_autocast_dtype
from jtorch.amp.autocast_mode import is_autocast_cache_enabled as is_autocast_cache_enabled
from jtorch.amp.autocast_mode import is_autocast_enabled as is_autocast_enabled
from jtorch.amp.autocast_mode import set_autocast_cache_enabled as set_autocast_cache_enabled
from jtorch.amp.autocast_mode import set_autocast_dtype as set_autocast_dtype
from jtorch.amp.autocast_mode import set_autocast_enabled as set_autocast_enabled
from jtorch.amp.grad_scaler import GradScaler as GradScaler
from jtorch.autograd.anomaly import is_anomaly_check_nan_enabled as is_anomaly_check_nan_enabled
from jtorch.autograd.anomaly import is_anomaly_enabled as is_anomaly_enabled
from jtorch.backends.precision import get_float32_matmul_precision as get_float32_matmul_precision
from jtorch.backends.precision import set_float32_matmul_precision as set_float32_matmul_precision
from jtorch.device import device as device
from jtorch.device import get_default_device as get_default_device
from jtorch.device import set_default_device as set_default_device
from jtorch.dtype import dtype as dtype
from jtorch.func._vmap import vmap as vmap
from jtorch.nn._functional.recurrent import gru as gru
from jtorch.nn._functional.recurrent import lstm as lstm
from jtorch.nn._functional.recurrent import rnn_relu as rnn_relu
from jtorch.nn._functional.recurrent import rnn_tanh as rnn_tanh
from jtorch.no_grad import enable_grad as enable_grad
from jtorch.no_grad import inference_mode as inference_mode
from jtorch.no_grad import is_grad_enabled as is_grad_enabled
from jtorch.no_grad import is_inference_mode_enabled as is_inference_mode_enabled
from jtorch.no_grad import no_grad as no_grad
from jtorch.no_grad import set_grad_enabled as set_grad_enabled
from jtorch.random import binomial as binomial
from jtorch.random import get_rng_state as get_rng_state
from jtorch.random import initial_seed as initial_seed
from jtorch.random import manual_seed as manual_seed
from jtorch.random import normal as normal
from jtorch.random import poisson as poisson
from jtorch.random import rand as rand
from jtorch.random import randint as randint
from jtorch.random import randn as randn
from jtorch.random import randperm as randperm
from jtorch.random import seed as seed
from jtorch.random import set_rng_state as set_rng_state
from jtorch.serialization import load as load
from jtorch.serialization import save as save
from jtorch.tensor import Tensor as Tensor
from jtorch._bound import aminmax_result
from jtorch._bound import cummax_result
from jtorch._bound import cummin_result
from jtorch._bound import frexp_result
from jtorch._bound import geqrf_result
from jtorch._bound import histogram_result
from jtorch._bound import kthvalue_result
from jtorch._bound import lu_unpack_result
from jtorch._bound import max_result
from jtorch._bound import median_result
from jtorch._bound import min_result
from jtorch._bound import mode_result
from jtorch._bound import nanmedian_result
from jtorch._bound import qr_result
from jtorch._bound import sort_result
from jtorch._bound import svd_result
from jtorch._bound import topk_result

_Number: TypeAlias = builtins.int | builtins.float | builtins.complex
_DeviceLike: TypeAlias = _device | builtins.str | builtins.int

BFloat16Storage: Any
BFloat16Tensor: Any
BoolStorage: Any
BoolTensor: Any
ByteStorage: Any
ByteTensor: Any
CharStorage: Any
CharTensor: Any
ComplexDoubleStorage: Any
ComplexFloatStorage: Any
DoubleStorage: Any
DoubleTensor: Any
FloatStorage: Any
FloatTensor: Any
HalfStorage: Any
HalfTensor: Any
IntStorage: Any
IntTensor: Any
LongStorage: Any
LongTensor: Any
ShortStorage: Any
ShortTensor: Any
__version__: Any
def abs(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the magnitude of each element; its gradient at 0 is 0. See torch.abs."""
def abs_(self: Tensor) -> Tensor:
    """Replace each element by its magnitude. See torch.Tensor.abs_."""
def absolute(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the magnitude of each element; its gradient at 0 is 0. See torch.abs."""
def acos(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the angle whose cosine it is. See torch.acos."""
def acos_(input: Tensor) -> Tensor:
    """Return the angle whose cosine it is. See torch.acos."""
def acosh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the inverse of cosh. See torch.acosh."""
def acosh_(input: Tensor) -> Tensor:
    """Return the inverse of cosh. See torch.acosh."""
def adaptive_avg_pool1d(input: Tensor, output_size: builtins.int | Sequence[builtins.int]) -> Tensor:
    """Return means of ``output_size`` parts of the last dimension. See torch.nn.functional.adaptive_avg_pool1d."""
def adaptive_max_pool1d(input: Tensor, output_size: Any) -> builtins.tuple[Tensor, Tensor]:
    """Return the maxima and where they are. See torch.nn.functional.adaptive_max_pool1d."""
def add(input: Tensor | _Number, other: Tensor | _Number, *, alpha: _Number = 1, out: Tensor | None = None) -> Tensor:
    """Add ``alpha`` times ``other``. See torch.add."""
def addbmm(input: Tensor, batch1: Tensor, batch2: Tensor, *, beta: _Number = 1, alpha: _Number = 1, out: Tensor | None = None) -> Tensor:
    """Return beta * input + alpha * the sum of the products of a batch. See torch.addbmm."""
def addcdiv(input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: _Number = 1, out: Tensor | None = None) -> Tensor:
    """Add ``value * tensor1 / tensor2``. See torch.addcdiv."""
def addcmul(input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: _Number = 1, out: Tensor | None = None) -> Tensor:
    """Add ``value * tensor1 * tensor2``. See torch.addcmul."""
def addmm(input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: _Number = 1, alpha: _Number = 1, out: Tensor | None = None) -> Tensor:
    """Return beta * input + alpha * (mat1 @ mat2). See torch.addmm."""
def addmv(input: Tensor, mat: Tensor, vec: Tensor, *, beta: _Number = 1, alpha: _Number = 1, out: Tensor | None = None) -> Tensor:
    """Return beta * input + alpha * (mat @ vec). See torch.addmv."""
def addmv_(input: Tensor, mat: Tensor, vec: Tensor, *, beta: _Number = 1, alpha: _Number = 1) -> Tensor:
    """Return beta * input + alpha * (mat @ vec). See torch.addmv."""
def addr(input: Tensor, vec1: Tensor, vec2: Tensor, *, beta: _Number = 1, alpha: _Number = 1, out: Tensor | None = None) -> Tensor:
    """Return beta * input + alpha * the outer product of two vectors. See torch.addr."""
def adjoint(input: Tensor) -> Tensor:
    """Return the last two dims swapped, complex elements conjugated (a copy then). See torch.adjoint."""
def affine_grid_generator(theta: Tensor, size: Any, align_corners: builtins.bool) -> Tensor:
    """See torch.nn.functional.affine_grid."""
def alias_copy(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return a copy of the result of torch.alias. See torch.alias_copy."""
def all(input: Tensor, dim: builtins.int | Sequence[builtins.int] | None = None, keepdim: builtins.bool = False, *, out: Tensor | None = None) -> Tensor:
    """Return whether all elements are true (uint8 for uint8). See torch.all."""
def allclose(input: Tensor, other: Tensor, rtol: builtins.float = 1e-05, atol: builtins.float = 1e-08, equal_nan: builtins.bool = False) -> builtins.bool:
    """Return whether all elements are close. See torch.allclose."""
def alpha_dropout(input: Tensor, p: builtins.float, train: Any, inplace: builtins.bool = False) -> Tensor:
    """Apply dropout that keeps mean and variance, for selu. See torch.nn.functional.alpha_dropout."""
def alpha_dropout_(input: Tensor, p: builtins.float, train: builtins.bool) -> Tensor:
    """Apply torch.alpha_dropout in place."""
def amax(input: Tensor, dim: builtins.int | Sequence[builtins.int] | None = ..., keepdim: builtins.bool = False, *, out: Tensor | None = None) -> Tensor:
    """Return the largest elements along ``dim``; ties share the gradient evenly. See torch.amax."""
def amin(input: Tensor, dim: builtins.int | Sequence[builtins.int] | None = ..., keepdim: builtins.bool = False, *, out: Tensor | None = None) -> Tensor:
    """Return the smallest elements along ``dim``; ties share the gradient evenly. See torch.amin."""
def aminmax(input: Tensor, *, dim: builtins.int | None = None, keepdim: builtins.bool = False, out: Sequence[Tensor] | None = None) -> aminmax_result:
    """Return the smallest and the largest elements. See torch.aminmax."""
def angle(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the angle of complex numbers; of real ones 0 or pi. See torch.angle."""
def any(input: Tensor, dim: builtins.int | Sequence[builtins.int] | None = None, keepdim: builtins.bool = False, *, out: Tensor | None = None) -> Tensor:
    """Return whether any element is true (uint8 for uint8). See torch.any."""
ao: Any
def arange(start: Any = None, end: Any = None, step: Any = None, *, dtype: _dtype | None = None, out: Tensor | None = None, layout: Any = None, device: _DeviceLike | None = None, requires_grad: builtins.bool = False, pin_memory: builtins.bool = False) -> Tensor:
    """Return the numbers from ``start`` (0) up to but not including ``end``. See torch.arange."""
def arccos(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the angle whose cosine it is. See torch.acos."""
def arccos_(input: Tensor) -> Tensor:
    """Return the angle whose cosine it is. See torch.acos."""
def arccosh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the inverse of cosh. See torch.acosh."""
def arccosh_(input: Tensor) -> Tensor:
    """Return the inverse of cosh. See torch.acosh."""
def arcsin(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the angle whose sine it is. See torch.asin."""
def arcsin_(input: Tensor) -> Tensor:
    """Return the angle whose sine it is. See torch.asin."""
def arcsinh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the inverse of sinh. See torch.asinh."""
def arcsinh_(input: Tensor) -> Tensor:
    """Return the inverse of sinh. See torch.asinh."""
def arctan(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the angle whose tangent it is. See torch.atan."""
def arctan2(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the angle of the vector (``other``, ``input``). See torch.atan2."""
def arctan_(input: Tensor) -> Tensor:
    """Return the angle whose tangent it is. See torch.atan."""
def arctanh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the inverse of tanh. See torch.atanh."""
def arctanh_(input: Tensor) -> Tensor:
    """Return the inverse of tanh. See torch.atanh."""
def argmax(input: Tensor, dim: builtins.int | None = None, keepdim: builtins.bool = False, *, out: Tensor | None = None) -> Tensor:
    """Return the index of the first largest element, of all or along ``dim``. See torch.argmax."""
def argmin(input: Tensor, dim: builtins.int | None = None, keepdim: builtins.bool = False, *, out: Tensor | None = None) -> Tensor:
    """Return the index of the first smallest element, of all or along ``dim``. See torch.argmin."""
def argsort(input: Tensor, dim: builtins.int = -1, descending: builtins.bool = False, *, stable: builtins.bool = False, out: Tensor | None = None) -> Tensor:
    """Return the indices that sort ``input`` along ``dim``. See torch.argsort."""
def argwhere(input: Tensor) -> Tensor:
    """Return the indices of the elements that are not 0, as rows. See torch.argwhere."""
def as_strided(input: Tensor, size: Sequence[builtins.int], stride: Sequence[builtins.int], storage_offset: builtins.int | None = None) -> Tensor:
    """Return the view of the storage with this geometry. See torch.as_strided."""
def as_strided_(input: Tensor, *args: Any, **named: Any) -> Any:
    """The tensor shown with other strides, in place. See torch.Tensor.as_strided_."""
def as_strided_scatter(input: Tensor, src: Tensor, size: Any, stride: Any, storage_offset: builtins.int | None = None, *, out: Tensor | None = None) -> Tensor:
    """Return ``input`` with ``src`` in place of ``as_strided(size, stride, offset)``. See torch.as_strided_scatter."""
def asin(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the angle whose sine it is. See torch.asin."""
def asin_(input: Tensor) -> Tensor:
    """Return the angle whose sine it is. See torch.asin."""
def asinh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the inverse of sinh. See torch.asinh."""
def asinh_(input: Tensor) -> Tensor:
    """Return the inverse of sinh. See torch.asinh."""
def atan(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the angle whose tangent it is. See torch.atan."""
def atan2(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the angle of the vector (``other``, ``input``). See torch.atan2."""
def atan_(input: Tensor) -> Tensor:
    """Return the angle whose tangent it is. See torch.atan."""
def atanh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the inverse of tanh. See torch.atanh."""
def atanh_(input: Tensor) -> Tensor:
    """Return the inverse of tanh. See torch.atanh."""
def atleast_1d(*tensors: Any) -> Any:
    """Tensors with at least that many dimensions. See torch.atleast_1d."""
def atleast_2d(*tensors: Any) -> Any:
    """Tensors with at least that many dimensions. See torch.atleast_2d."""
def atleast_3d(*tensors: Any) -> Any:
    """Tensors with at least that many dimensions. See torch.atleast_3d."""
def avg_pool1d(input: Tensor, kernel_size: builtins.int | Sequence[builtins.int], stride: builtins.int | Sequence[builtins.int] | None = None, padding: builtins.int | Sequence[builtins.int] = 0, ceil_mode: builtins.bool = False, count_include_pad: builtins.bool = True) -> Tensor:
    """Return the mean of each window over one dimension. See torch.nn.functional.avg_pool1d."""
def baddbmm(input: Tensor, batch1: Tensor, batch2: Tensor, *, beta: _Number = 1, alpha: _Number = 1, out: Tensor | None = None) -> Tensor:
    """Return beta * input + alpha * the products of a batch. See torch.baddbmm."""
def bartlett_window(window_length: builtins.int, periodic: builtins.bool = True, *, dtype: _dtype | None = None, layout: Any = None, device: _DeviceLike | None = None, requires_grad: builtins.bool = False, pin_memory: builtins.bool = False) -> Tensor:
    """Return a triangle that is 0 at both ends. See torch.bartlett_window."""
def batch_norm(input: Tensor, weight: Tensor | None, bias: Tensor | None, running_mean: Tensor | None, running_var: Tensor | None, training: builtins.bool, momentum: builtins.float, eps: builtins.float, cudnn_enabled: builtins.bool) -> Tensor:
    """See torch.nn.functional.batch_norm."""
def batch_norm_update_stats(input: Tensor, running_mean: Tensor | None, running_var: Tensor | None, momentum: builtins.float) -> builtins.tuple[Tensor, Tensor]:
    """Return each channel's mean and biased variance, and update the running ones. See torch.nn.functional.batch_norm."""
def bernoulli(input: Tensor, p: builtins.float | None = None, *, generator: _Generator | None = None, out: Tensor | None = None) -> Tensor:
    """Draw zeros and ones; ``input`` (or ``p``) is the probability of 1. See torch.bernoulli."""
bfloat16: _dtype
def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """Return ``input1 @ weight[k] @ input2`` for each output feature k, plus ``bias``. See torch.nn.functional.bilinear."""
def bincount(input: Any, weights: Any = None, minlength: Any = 0) -> Any:
    """Return how often each non-negative integer occurs, or the sum of its weights. See torch.bincount."""
def bitwise_and(input: Tensor | _Number, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
    """Return the bits set in both. See torch.bitwise_and."""
def bitwise_left_shift(input: Tensor | _Number, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
    """Return bits moved up by ``other``, 0 beyond the width. See torch.bitwise_left_shift."""
def bitwise_not(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return each bit inverted. See torch.bitwise_not."""
def bitwise_or(input: Tensor | _Number, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
    """Return the bits set in either. See torch.bitwise_or."""
def bitwise_right_shift(input: Tensor | _Number, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
    """Return bits moved down by ``other``, keeping the sign. See torch.bitwise_right_shift."""
def bitwise_xor(input: Tensor | _Number, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
    """Return the bits set in one of the two. See torch.bitwise_xor."""
def blackman_window(window_length: builtins.int, periodic: builtins.bool = True, *, dtype: _dtype | None = None, layout: Any = None, device: _DeviceLike | None = None, requires_grad: builtins.bool = False, pin_memory: builtins.bool = False) -> Tensor:
    """Return the sum of three cosines. See torch.blackman_window."""
@overload
def block_diag(*tensors: Tensor) -> Tensor: ...
@overload
def block_diag(tensors: Sequence[Tensor]) -> Tensor:
    """Return matrices along the diagonal of a larger one. See torch.block_diag."""
def bmm(input: Tensor, mat2: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the products of two batches of matrices. See torch.bmm."""
bool: _dtype
@overload
def broadcast_to(input: Tensor, *size: builtins.int) -> Tensor: ...
@overload
def broadcast_to(input: Tensor, size: Sequence[builtins.int]) -> Tensor:
    """Return ``expand`` as a function. See torch.broadcast_to."""
def bucketize(input: Tensor | _Number, boundaries: Tensor, *, out_int32: builtins.bool = False, right: builtins.bool = False, out: Tensor | None = None) -> Tensor:
    """Return the index of the bucket between the sorted ``boundaries`` that each value is in. See torch.bucketize."""
def can_cast(source: Any, target: Any) -> builtins.bool:
    """Return whether PyTorch casts one dtype to another implicitly. See torch.can_cast."""
@overload
def cartesian_prod(*tensors: Tensor) -> Tensor: ...
@overload
def cartesian_prod(tensors: Sequence[Tensor]) -> Tensor:
    """Return all tuples of one element of each vector. See torch.cartesian_prod."""
def cat(tensors: Sequence[Tensor], dim: builtins.int = 0, *, out: Tensor | None = None) -> Tensor:
    """Return tensors joined along a dim they have. See torch.cat."""
def cdist(x1: Tensor, x2: Tensor, p: builtins.float = 2.0, compute_mode: builtins.str | None = 'use_mm_for_euclid_dist_if_necessary', *, out: Tensor | None = None) -> Tensor:
    """Return the p-norm distances between the rows of two batches of matrices. See torch.cdist."""
cdouble: _dtype
def ceil(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the next integer up. See torch.ceil."""
def ceil_(input: Tensor) -> Tensor:
    """Return the next integer up. See torch.ceil."""
def celu(input: Tensor, alpha: _Number = 1.0) -> Tensor:
    """Return the input where it is positive, else ``alpha * (exp(input / alpha) - 1)``. See torch.nn.functional.celu."""
def celu_(input: Tensor, alpha: _Number = 1.0) -> Tensor:
    """Return the input where it is positive, else ``alpha * (exp(input / alpha) - 1)``. See torch.nn.functional.celu."""
cfloat: _dtype
@overload
def chain_matmul(*matrices: Tensor, out: Tensor | None = None) -> Tensor: ...
@overload
def chain_matmul(matrices: Sequence[Tensor], *, out: Tensor | None = None) -> Tensor:
    """Return the product of matrices, in the order that costs least. See torch.chain_matmul."""
def channel_shuffle(input: Tensor, groups: builtins.int) -> Tensor:
    """Return the channels of ``groups`` groups, dealt out in turn. See torch.nn.functional.channel_shuffle."""
channels_last: Any
channels_last_3d: Any
def cholesky(input: Tensor, upper: builtins.bool = False, *, out: Tensor | None = None) -> Tensor:
    """Return L of input = L Lᴴ, or U of Uᴴ U. See torch.cholesky."""
def cholesky_inverse(L: Any, upper: Any = False, *, out: Tensor | None = None) -> Any:
    """Return the inverse of A from its Cholesky factor. See torch.cholesky_inverse."""
def cholesky_solve(B: Any, L: Any, upper: Any = False, *, out: Tensor | None = None) -> Any:
    """Return X of AX = B from the Cholesky factor of A. See torch.cholesky_solve."""
def chunk(input: Tensor, chunks: builtins.int, dim: builtins.int = 0) -> builtins.tuple[Tensor, ...]:
    """Return at most ``chunks`` parts of one size; the last may be smaller. See torch.chunk."""
def clamp(input: Tensor, min: Tensor | _Number | None = None, max: Tensor | _Number | None = None, *, out: Tensor | None = None) -> Tensor:
    """Clamp elements to ``min`` and ``max``; the gradient is 1 at the bounds. See torch.clamp."""
def clamp_(input: Tensor, min: Tensor | _Number | None = None, max: Tensor | _Number | None = None) -> Tensor:
    """Clamp elements to ``min`` and ``max``; the gradient is 1 at the bounds. See torch.clamp."""
def clamp_max(input: Tensor, max: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
    """Clamp elements to at most ``max``. See torch.clamp."""
def clamp_max_(input: Tensor, max: Tensor | _Number) -> Tensor:
    """Clamp elements to at most ``max``. See torch.clamp."""
def clamp_min(input: Tensor, min: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
    """Clamp elements to at least ``min``. See torch.clamp."""
def clamp_min_(input: Tensor, min: Tensor | _Number) -> Tensor:
    """Clamp elements to at least ``min``. See torch.clamp."""
def clip(input: Tensor, min: Tensor | _Number | None = None, max: Tensor | _Number | None = None, *, out: Tensor | None = None) -> Tensor:
    """Clamp elements to ``min`` and ``max``; the gradient is 1 at the bounds. See torch.clamp."""
def clip_(input: Tensor, min: Tensor | _Number | None = None, max: Tensor | _Number | None = None) -> Tensor:
    """Clamp elements to ``min`` and ``max``; the gradient is 1 at the bounds. See torch.clamp."""
def column_stack(tensors: Sequence[Tensor], *, out: Tensor | None = None) -> Tensor:
    """Return tensors joined along columns, vectors being columns. See torch.column_stack."""
def combinations(input: Tensor, r: builtins.int = 2, with_replacement: builtins.bool = False) -> Tensor:
    """Return all combinations of ``r`` elements of a vector. See torch.combinations."""
def complex(real: Tensor, imag: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return complex numbers from their real and imaginary parts. See torch.complex."""
complex128: _dtype
complex64: _dtype
def concat(tensors: Sequence[Tensor], dim: builtins.int = 0, *, out: Tensor | None = None) -> Tensor:
    """Return tensors joined along a dim they have. See torch.cat."""
def concatenate(tensors: Sequence[Tensor], dim: builtins.int = 0, *, out: Tensor | None = None) -> Tensor:
    """Return tensors joined along a dim they have. See torch.cat."""
def conj(input: Tensor, **kw: Any) -> Tensor:
    """The complex conjugate; a real tensor as it is. See torch.conj."""
def conj_physical(input: Tensor, **kw: Any) -> Tensor:
    """The complex conjugate; a real tensor as it is. See torch.conj_physical."""
def conj_physical_(input: Tensor) -> Tensor:
    """Return the complex conjugate. See torch.conj_physical."""
def constant_pad_nd(input: Tensor, pad: Any, value: builtins.float = 0) -> Tensor:
    """Pad ``input`` with a constant. Negative padding crops it. See torch.nn.functional.pad."""
contiguous_format: Any
def conv1d(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: builtins.int | Sequence[builtins.int] = 1, padding: builtins.int | builtins.str | Sequence[builtins.int] = 0, dilation: builtins.int | Sequence[builtins.int] = 1, groups: builtins.int = 1) -> Tensor:
    """Return the cross-correlation with each filter over one dimension. See torch.nn.functional.conv1d."""
def conv2d(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: builtins.int | Sequence[builtins.int] = 1, padding: builtins.int | builtins.str | Sequence[builtins.int] = 0, dilation: builtins.int | Sequence[builtins.int] = 1, groups: builtins.int = 1) -> Tensor:
    """Return the cross-correlation with each filter over two dimensions. See torch.nn.functional.conv2d."""
def conv3d(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: builtins.int | Sequence[builtins.int] = 1, padding: builtins.int | builtins.str | Sequence[builtins.int] = 0, dilation: builtins.int | Sequence[builtins.int] = 1, groups: builtins.int = 1) -> Tensor:
    """Return the cross-correlation with each filter over three dimensions. See torch.nn.functional.conv3d."""
def conv_tbc(input: Tensor, weight: Tensor, bias: Tensor, pad: builtins.int = 0) -> Tensor:
    """Return a one-dimensional convolution along the first dim; the weight is (width, in, out). See torch.conv_tbc."""
def conv_transpose1d(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: builtins.int | Sequence[builtins.int] = 1, padding: builtins.int | Sequence[builtins.int] = 0, output_padding: builtins.int | Sequence[builtins.int] = 0, groups: builtins.int = 1, dilation: builtins.int | Sequence[builtins.int] = 1) -> Tensor:
    """Return the transpose of conv1d as a linear map. See torch.nn.functional.conv_transpose1d."""
def conv_transpose2d(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: builtins.int | Sequence[builtins.int] = 1, padding: builtins.int | Sequence[builtins.int] = 0, output_padding: builtins.int | Sequence[builtins.int] = 0, groups: builtins.int = 1, dilation: builtins.int | Sequence[builtins.int] = 1) -> Tensor:
    """Return the transpose of conv2d as a linear map. See torch.nn.functional.conv_transpose2d."""
def conv_transpose3d(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: builtins.int | Sequence[builtins.int] = 1, padding: builtins.int | Sequence[builtins.int] = 0, output_padding: builtins.int | Sequence[builtins.int] = 0, groups: builtins.int = 1, dilation: builtins.int | Sequence[builtins.int] = 1) -> Tensor:
    """Return the transpose of conv3d as a linear map. See torch.nn.functional.conv_transpose3d."""
def convolution(input: Tensor, weight: Tensor, bias: Tensor | None, stride: Any, padding: Any, dilation: Any, transposed: builtins.bool, output_padding: Any, groups: builtins.int) -> Tensor:
    """Return a convolution or transposed convolution over the input's spatial dims. See torch.nn.functional.conv2d."""
def copysign(input: Tensor, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
    """Return the magnitude of ``input`` with the sign of ``other``. See torch.copysign."""
def corrcoef(input: Tensor) -> Tensor:
    """Return the correlations of the rows, whose columns are observations. See torch.corrcoef."""
def cos(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the cosine. See torch.cos."""
def cos_(input: Tensor) -> Tensor:
    """Return the cosine. See torch.cos."""
def cosh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the hyperbolic cosine. See torch.cosh."""
def cosh_(input: Tensor) -> Tensor:
    """Return the hyperbolic cosine. See torch.cosh."""
def cosine_similarity(x1: Tensor, x2: Tensor, dim: builtins.int = 1, eps: builtins.float = 1e-08) -> Tensor:
    """Return the cosine of the angle between vectors along ``dim``. See torch.nn.functional.cosine_similarity."""
def count_nonzero(input: Tensor, dim: builtins.int | Sequence[builtins.int] | None = None, *, out: Tensor | None = None) -> Tensor:
    """Return how many elements are not zero. See torch.count_nonzero."""
def cov(input: Tensor, *, correction: builtins.int = 1, fweights: Tensor | None = None, aweights: Tensor | None = None) -> Tensor:
    """Return the covariances of rows over weighted columns (observations). See torch.cov."""
def cross(input: Tensor, other: Tensor, dim: builtins.int | None = None, *, out: Tensor | None = None) -> Tensor:
    """Return the cross product along ``dim``, or along the first dimension of size 3. See torch.cross."""
def cummax(input: Tensor, dim: builtins.int, *, out: Sequence[Tensor] | None = None) -> cummax_result:
    """Return the largest elements so far along ``dim``, with their indices. See torch.cummax."""
def cummin(input: Tensor, dim: builtins.int, *, out: Sequence[Tensor] | None = None) -> cummin_result:
    """Return the smallest elements so far along ``dim``, with their indices. See torch.cummin."""
def cumprod(input: Tensor, dim: builtins.int, *, dtype: _dtype | None = None, out: Tensor | None = None) -> Tensor:
    """Return the products of the elements so far along ``dim``. See torch.cumprod."""
def cumsum(input: Tensor, dim: builtins.int, *, dtype: _dtype | None = None, out: Tensor | None = None) -> Tensor:
    """Return the sums of the elements so far along ``dim``. See torch.cumsum."""
def cumulative_trapezoid(y: Tensor, x: Tensor | None = None, *, dx: _Number | None = None, dim: builtins.int = -1, out: Tensor | None = None) -> Tensor:
    """Return the integrals so far of ``y`` along ``dim`` by the trapezoidal rule. See torch.cumulative_trapezoid."""
default_generator: _Generator
def deg2rad(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Convert degrees to radians. See torch.deg2rad."""
def deg2rad_(input: Tensor) -> Tensor:
    """Convert degrees to radians. See torch.deg2rad."""
def det(A: Any, *, out: Tensor | None = None) -> Any:
    """Return the determinant. See torch.linalg.det."""
def detach(input: Tensor, *args: Any, **named: Any) -> Any:
    """The tensor without its graph. See torch.Tensor.detach."""
def detach_(input: Tensor, *args: Any, **named: Any) -> Any:
    """Cuts the tensor off its graph. See torch.Tensor.detach_."""
def detach_copy(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return a copy that requires grad if ``input`` does. Unlike in PyTorch gradients reach ``input``. See torch.detach_copy."""
def diag_embed(input: Tensor, offset: builtins.int = 0, dim1: builtins.int = -2, dim2: builtins.int = -1) -> Tensor:
    """Return the last dim as the diagonal of two new ones. See torch.diag_embed."""
def diagflat(input: Tensor, offset: builtins.int = 0) -> Tensor:
    """Return all elements as the diagonal of a matrix. See torch.diagflat."""
def diagonal(input: Tensor, offset: builtins.int = 0, dim1: builtins.int = 0, dim2: builtins.int = 1) -> Tensor:
    """Return the diagonal of two dims as the last dim. See torch.diagonal."""
def diagonal_copy(input: Tensor, offset: builtins.int = 0, dim1: builtins.int = 0, dim2: builtins.int = 1, *, out: Tensor | None = None) -> Tensor:
    """Return a copy of the result of torch.diagonal. See torch.diagonal_copy."""
def diagonal_scatter(input: Tensor, src: Tensor, offset: builtins.int = 0, dim1: builtins.int = 0, dim2: builtins.int = 1, *, out: Tensor | None = None) -> Tensor:
    """Return ``input`` with ``src`` in place of a diagonal. See torch.diagonal_scatter."""
def diff(input: Tensor, n: builtins.int = 1, dim: builtins.int = -1, prepend: Tensor | None = None, append: Tensor | None = None, *, out: Tensor | None = None) -> Tensor:
    """Return the ``n``-th differences of neighbours along ``dim``. See torch.diff."""
def digamma(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the logarithmic derivative of the gamma function. See torch.digamma."""
def dist(input: Tensor, other: Tensor, p: _Number = 2, *, out: Tensor | None = None) -> Tensor:
    """Return the p-norm of the difference. See torch.dist."""
def div(input: Tensor | _Number, other: Tensor | _Number, *, rounding_mode: builtins.str | None = None, out: Tensor | None = None) -> Tensor:
    """Return the quotient, rounded if ``rounding_mode`` is "trunc" or "floor". See torch.div."""
def divide(input: Tensor | _Number, other: Tensor | _Number, *, rounding_mode: builtins.str | None = None, out: Tensor | None = None) -> Tensor:
    """Return the quotient, rounded if ``rounding_mode`` is "trunc" or "floor". See torch.div."""
def dot(input: Tensor, tensor: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the dot product of two vectors, neither conjugated. See torch.dot."""
double: _dtype
def dropout(input: Tensor, p: builtins.float, train: builtins.bool) -> Tensor:
    """Apply dropout, with torch.dropout's arguments."""
def dropout_(input: Tensor, p: builtins.float, train: builtins.bool) -> Tensor:
    """Apply torch.dropout in place."""
def dsplit(input: Any, indices_or_sections: Any) -> Any:
    """Return parts along the third dim. See torch.dsplit."""
def dstack(tensors: Sequence[Tensor], *, out: Tensor | None = None) -> Tensor:
    """Return tensors joined along the third dim. See torch.dstack."""
e: builtins.float
def eig(*args: Any, **kwargs: Any) -> Any:
    """RuntimeError: PyTorch has removed it for torch.linalg.eig."""
def embedding(weight: Tensor, indices: Tensor, padding_idx: builtins.int = -1, scale_grad_by_freq: builtins.bool = False, sparse: builtins.bool = False) -> Tensor:
    """Return nn.functional.embedding for torch.embedding's arguments; ``padding_idx`` -1 means None."""
def embedding_bag(weight: Tensor, indices: Tensor, offsets: Tensor, scale_grad_by_freq: builtins.bool = False, mode: builtins.int = 0, sparse: builtins.bool = False, per_sample_weights: Tensor | None = None, include_last_offset: builtins.bool = False, padding_idx: builtins.int | None = None) -> builtins.tuple[Tensor, Tensor, Tensor, Tensor]:
    """Return the sums, means or maxima of bags; and the bag of each index, the bags' sizes, and the maxima's rows."""
def embedding_renorm_(input: Tensor, indices: Tensor, max_norm: builtins.float, norm_type: builtins.float) -> Tensor:
    """Scale the rows at ``indices`` down to ``max_norm`` in place, as nn.functional.embedding does first."""
@overload
def empty(*size: builtins.int, dtype: _dtype | None = None, out: Tensor | None = None, layout: Any = None, device: _DeviceLike | None = None, requires_grad: builtins.bool = False, pin_memory: builtins.bool = False, memory_format: Any = None) -> Tensor: ...
@overload
def empty(size: Sequence[builtins.int], *, dtype: _dtype | None = None, out: Tensor | None = None, layout: Any = None, device: _DeviceLike | None = None, requires_grad: builtins.bool = False, pin_memory: builtins.bool = False, memory_format: Any = None) -> Tensor:
    """Return an uninitialized tensor; here it holds zeros. See torch.empty."""
def empty_like(input: Tensor, *, dtype: _dtype | None = None, layout: Any = None, device: _DeviceLike | None = None, requires_grad: builtins.bool = False, pin_memory: builtins.bool = False, memory_format: Any = None) -> Tensor:
    """Return an uninitialized tensor (zeros) in the shape of another. See torch.empty_like."""
def eq(input: Tensor, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
    """Return whether the elements are equal. See torch.eq."""
def equal(input: Tensor, other: Tensor) -> builtins.bool:
    """Return whether two tensors have the same shape and elements. See torch.equal."""
def erf(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the error function. See torch.erf."""
def erf_(input: Tensor) -> Tensor:
    """Return the error function. See torch.erf."""
def erfc(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return 1 minus the error function. See torch.erfc."""
def erfc_(input: Tensor) -> Tensor:
    """Return 1 minus the error function. See torch.erfc."""
def erfinv(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the inverse of the error function. See torch.erfinv."""
def exp(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return e raised to each element. See torch.exp."""
def exp2(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return 2 raised to each element. See torch.exp2."""
def exp2_(input: Tensor) -> Tensor:
    """Return 2 raised to each element. See torch.exp2."""
def exp_(input: Tensor) -> Tensor:
    """Return e raised to each element. See torch.exp."""
@overload
def expand_copy(input: Tensor, *size: builtins.int, implicit: builtins.bool = False, out: Tensor | None = None) -> Tensor: ...
@overload
def expand_copy(input: Tensor, size: Sequence[builtins.int], *, implicit: builtins.bool = False, out: Tensor | None = None) -> Tensor:
    """Return a copy of the result of torch.expand. See torch.expand_copy."""
def expm1(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return e raised to each element, minus 1, exact for small ones. See torch.expm1."""
def expm1_(input: Tensor) -> Tensor:
    """Return e raised to each element, minus 1, exact for small ones. See torch.expm1."""
def eye(n: builtins.int, m: builtins.int | None = None, *, dtype: _dtype | None = None, out: Tensor | None = None, layout: Any = None, device: _DeviceLike | None = None, requires_grad: builtins.bool = False, pin_memory: builtins.bool = False) -> Tensor:
    """Return ones on the diagonal, zeros elsewhere. See torch.eye."""
def fake_quantize_per_channel_affine(input: Tensor, scale: Tensor, zero_point: Tensor, axis: builtins.int, quant_min: builtins.int, quant_max: builtins.int) -> Tensor:
    """Return ``input`` rounded to multiples of a scale per slice along ``axis``. See torch.fake_quantize_per_channel_affine."""
def fake_quantize_per_tensor_affine(input: Tensor, scale: Tensor | _Number, zero_point: Tensor | _Number, quant_min: builtins.int, quant_max: builtins.int) -> Tensor:
    """Return ``input`` rounded to multiples of ``scale``, and cut off. See torch.fake_quantize_per_tensor_affine."""
def feature_alpha_dropout(input: Tensor, p: builtins.float, train: Any, inplace: builtins.bool = False) -> Tensor:
    """Apply alpha dropout to whole channels. See torch.nn.functional.feature_alpha_dropout."""
def feature_alpha_dropout_(input: Tensor, p: builtins.float, train: builtins.bool) -> Tensor:
    """Apply torch.feature_alpha_dropout in place."""
def feature_dropout(input: Tensor, p: builtins.float, train: Any, inplace: builtins.bool = False) -> Tensor:
    """Apply dropout to whole channels. See torch.nn.functional.dropout2d."""
def feature_dropout_(input: Tensor, p: builtins.float, train: builtins.bool) -> Tensor:
    """Apply torch.feature_dropout in place."""
def fill(input: Tensor, value: Tensor | _Number) -> Tensor:
    """Return all elements replaced by one value. See torch.Tensor.fill_."""
def fill_(self: Tensor, value: Any) -> Tensor:
    """Write one number to all elements. See torch.Tensor.fill_."""
def fix(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the integer part. See torch.trunc."""
def fix_(input: Tensor) -> Tensor:
    """Return the integer part. See torch.trunc."""
def flatten(input: Tensor, start_dim: builtins.int = 0, end_dim: builtins.int = -1) -> Tensor:
    """Merge several dims into one. See torch.flatten."""
@overload
def flip(input: Tensor, *dims: builtins.int) -> Tensor: ...
@overload
def flip(input: Tensor, dims: Sequence[builtins.int]) -> Tensor:
    """Return dims in reverse. See torch.flip."""
def fliplr(input: Tensor) -> Tensor:
    """Return columns in reverse. See torch.fliplr."""
def flipud(input: Tensor) -> Tensor:
    """Return rows in reverse. See torch.flipud."""
float: _dtype
float16: _dtype
float32: _dtype
float64: _dtype
float8_e4m3fn: _dtype
float8_e4m3fnuz: _dtype
float8_e5m2: _dtype
float8_e5m2fnuz: _dtype
float8_e8m0fnu: _dtype
def float_power(input: Tensor | _Number, exponent: Tensor | builtins.complex, *, out: Tensor | None = None) -> Tensor:
    """Return ``pow`` computed in float64 or complex128. See torch.float_power."""
def floor(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the next integer down. See torch.floor."""
def floor_(input: Tensor) -> Tensor:
    """Return the next integer down. See torch.floor."""
def floor_divide(input: Tensor | _Number, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
    """Return the quotient rounded down. See torch.floor_divide."""
def fmax(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the greater of two elements, ignoring a NaN. See torch.fmax."""
def fmin(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the lesser of two elements, ignoring a NaN. See torch.fmin."""
def fmod(input: Tensor, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
    """Return the remainder of truncating division, with the sign of ``input``. See torch.fmod."""
def frac(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return each element minus its integer part. See torch.frac."""
def frac_(input: Tensor) -> Tensor:
    """Return each element minus its integer part. See torch.frac."""
def frexp(input: Tensor, *, out: Sequence[Tensor] | None = None) -> frexp_result:
    """Return mantissas in [0.5, 1) and exponents of 2. See torch.frexp."""
def full(size: Sequence[builtins.int], fill_value: _Number, *, dtype: _dtype | None = None, out: Tensor | None = None, layout: Any = None, device: _DeviceLike | None = None, requires_grad: builtins.bool = False, pin_memory: builtins.bool = False) -> Tensor:
    """Return a tensor filled with one number, of that number's dtype. See torch.full."""
def full_like(input: Tensor, fill_value: _Number, *, dtype: _dtype | None = None, layout: Any = None, device: _DeviceLike | None = None, requires_grad: builtins.bool = False, pin_memory: builtins.bool = False, memory_format: Any = None) -> Tensor:
    """Return one number in the shape of another tensor. See torch.full_like."""
def gather(input: Tensor, dim: builtins.int, index: Tensor, *, sparse_grad: builtins.bool = False, out: Tensor | None = None) -> Tensor:
    """Return ``input[index[i][j]][j]`` for dim 0, and so on. See torch.gather."""
def gcd(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the greatest common divisor. See torch.gcd."""
def gcd_(input: Tensor, other: Tensor) -> Tensor:
    """Return the greatest common divisor. See torch.gcd."""
def ge(input: Tensor, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
    """Return whether ``input`` is greater or equal. See torch.ge."""
def geqrf(input: Tensor, *, out: Sequence[Tensor] | None = None) -> geqrf_result:
    """Return the reflectors and factors that a QR factorization is made of, as LAPACK has them. See torch.geqrf."""
def ger(input: Tensor, vec2: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the outer product of two vectors. See torch.outer."""
def get_autocast_cpu_dtype(*args: Any) -> Any:
    """get_autocast_dtype of cpu. See torch.get_autocast_cpu_dtype."""
def get_autocast_gpu_dtype(*args: Any) -> Any:
    """get_autocast_dtype of cuda. See torch.get_autocast_gpu_dtype."""
def get_autocast_ipu_dtype(*args: Any) -> Any:
    """get_autocast_dtype of ipu. See torch.get_autocast_ipu_dtype."""
def get_autocast_xla_dtype(*args: Any) -> Any:
    """get_autocast_dtype of xla. See torch.get_autocast_xla_dtype."""
def get_device(input: Tensor, *args: Any, **named: Any) -> Any:
    """The device's index. See torch.Tensor.get_device."""
def gradient(input: Tensor, *, spacing: Any = 1, dim: Any = None, edge_order: builtins.int = 1) -> builtins.tuple[Tensor, ...]:
    """Return central differences along each of ``dim``, one-sided at the edges. See torch.gradient."""
def greater(input: Tensor, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
    """Return whether ``input`` is greater. See torch.gt."""
def greater_equal(input: Tensor, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
    """Return whether ``input`` is greater or equal. See torch.ge."""
def grid_sampler(input: Tensor, grid: Tensor, interpolation_mode: builtins.int, padding_mode: builtins.int, align_corners: builtins.bool) -> Tensor:
    """Return grid_sample with modes given as numbers. See torch.nn.functional.grid_sample."""
def grid_sampler_2d(input: Tensor, grid: Tensor, interpolation_mode: builtins.int, padding_mode: builtins.int, align_corners: builtins.bool) -> Tensor:
    """Return grid_sample with modes given as numbers. See torch.nn.functional.grid_sample."""
def grid_sampler_3d(input: Tensor, grid: Tensor, interpolation_mode: builtins.int, padding_mode: builtins.int, align_corners: builtins.bool) -> Tensor:
    """Return grid_sample with modes given as numbers. See torch.nn.functional.grid_sample."""
def group_norm(input: Any, num_groups: Any, weight: Any = None, bias: Any = None, eps: Any = 1e-05) -> Any:
    """Return the input with mean 0 and variance 1 over each group of channels. See torch.nn.functional.group_norm."""
def gru_cell(input: Tensor, hx: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None = None, b_hh: Tensor | None = None) -> Tensor:
    """Return the next state of a GRU. See torch.nn.GRUCell."""
def gt(input: Tensor, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
    """Return whether ``input`` is greater. See torch.gt."""
half: _dtype
def hamming_window(window_length: builtins.int, periodic: builtins.bool = True, alpha: builtins.float = 0.54, beta: builtins.float = 0.46, *, dtype: _dtype | None = None, layout: Any = None, device: _DeviceLike | None = None, requires_grad: builtins.bool = False, pin_memory: builtins.bool = False) -> Tensor:
    """Return alpha - beta * cosine. See torch.hamming_window."""
def hann_window(window_length: builtins.int, periodic: builtins.bool = True, *, dtype: _dtype | None = None, layout: Any = None, device: _DeviceLike | None = None, requires_grad: builtins.bool = False, pin_memory: builtins.bool = False) -> Tensor:
    """Return a raised cosine that is 0 at both ends. See torch.hann_window."""
def hardshrink(input: Tensor, lambd: _Number = 0.5) -> Tensor:
    """Return the input, or 0 where it is within ``lambd`` of 0. See torch.nn.functional.hardshrink."""
def hash_tensor(input: Tensor, dim: builtins.int | Sequence[builtins.int] = ..., *, keepdim: builtins.bool = False, mode: builtins.int = 0, out: Tensor | None = None) -> Tensor:
    """Return the bits of all elements, as 64-bit numbers, combined by exclusive or. See torch.hash_tensor."""
def heaviside(input: Tensor, values: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return 0 below 0, 1 above, ``values`` at 0. See torch.heaviside."""
def histc(input: Tensor, bins: builtins.int = 100, min: _Number = 0, max: _Number = 0, *, out: Tensor | None = None) -> Tensor:
    """Return how many elements lie in each of ``bins`` equal bins from ``min`` to ``max``. See torch.histc."""
def histogram(input: Tensor, bins: Tensor | builtins.int = 100, *, range: Sequence[builtins.float] | None = None, weight: Tensor | None = None, density: builtins.bool = False, out: Sequence[Tensor] | None = None) -> histogram_result:
    """Return the number (or weight) of elements in each bin, and the edges of the bins. See torch.histogram."""
def histogramdd(input: Tensor, bins: Any, range: Any = None, weight: Tensor | None = None, density: builtins.bool = False) -> Any:
    """Return the number (or weight) of points in each bin of a space, and the edges of the bins. See torch.histogramdd."""
def hsplit(input: Any, indices_or_sections: Any) -> Any:
    """Return parts along columns. See torch.hsplit."""
def hstack(tensors: Sequence[Tensor], *, out: Tensor | None = None) -> Tensor:
    """Return tensors joined along columns (vectors along their dim). See torch.hstack."""
def hypot(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the length of the vector (``input``, ``other``). See torch.hypot."""
def i0(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the modified Bessel function I0. See torch.i0."""
def i0_(input: Tensor) -> Tensor:
    """Return the modified Bessel function I0. See torch.i0."""
def igamma(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the regularized lower incomplete gamma function. See torch.igamma."""
def igammac(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the regularized upper incomplete gamma function. See torch.igammac."""
def imag(input: Tensor) -> Tensor:
    """Return the imaginary part. See torch.imag."""
def index_add(input: Tensor, dim: builtins.int, index: Tensor, source: Tensor, *, alpha: _Number = 1, out: Tensor | None = None) -> Tensor:
    """Add ``alpha`` times the slices of ``source`` to the slices at an index vector. See torch.Tensor.index_add_."""
def index_copy(input: Tensor, dim: builtins.int, index: Tensor, source: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the slices at an index vector replaced by those of ``source``. See torch.Tensor.index_copy_."""
def index_fill(input: Tensor, dim: builtins.int, index: Tensor, value: Tensor | _Number) -> Tensor:
    """Return the slices at an index vector filled with one value. See torch.Tensor.index_fill_."""
def index_put(input: Tensor, indices: Any, values: Tensor, accumulate: builtins.bool = False) -> Tensor:
    """``values`` written (or added) at index tensors. See torch.Tensor.index_put."""
def index_put_(input: Tensor, indices: Any, values: Tensor, accumulate: builtins.bool = False) -> Tensor:
    """``values`` written (or added) at index tensors. See torch.Tensor.index_put_."""
def index_reduce(input: Tensor, dim: builtins.int, index: Tensor, source: Tensor, reduce: builtins.str, *, include_self: builtins.bool = True, out: Tensor | None = None) -> Tensor:
    """Return slices combined by prod, mean, amax or amin at an index vector. See torch.Tensor.index_reduce_."""
def index_select(input: Tensor, dim: builtins.int, index: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the slices of a dim at an index vector. See torch.index_select."""
inf: builtins.float
def inner(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the dot products over the last dimension of both. See torch.inner."""
def instance_norm(input: Tensor, weight: Tensor | None, bias: Tensor | None, running_mean: Tensor | None, running_var: Tensor | None, use_input_stats: builtins.bool, momentum: builtins.float, eps: builtins.float, cudnn_enabled: builtins.bool) -> Tensor:
    """See torch.nn.functional.instance_norm."""
int: _dtype
int16: _dtype
int32: _dtype
int64: _dtype
int8: _dtype
def inverse(A: Any, *, out: Tensor | None = None) -> Any:
    """Return the inverse of square matrices. See torch.linalg.inv."""
def is_autocast_cpu_enabled(*args: Any) -> Any:
    """is_autocast_enabled of cpu. See torch.is_autocast_cpu_enabled."""
def is_autocast_ipu_enabled(*args: Any) -> Any:
    """is_autocast_enabled of ipu. See torch.is_autocast_ipu_enabled."""
def is_autocast_xla_enabled(*args: Any) -> Any:
    """is_autocast_enabled of xla. See torch.is_autocast_xla_enabled."""
def is_complex(input: Tensor) -> builtins.bool:
    """Return whether the dtype is complex. See torch.is_complex."""
def is_conj(input: Tensor) -> builtins.bool:
    """Return False, since conjugates are computed at once. See torch.is_conj."""
def is_floating_point(input: Tensor) -> builtins.bool:
    """Return whether the dtype is a real floating-point dtype. See torch.is_floating_point."""
def is_inference(input: Tensor) -> builtins.bool:
    """Return whether the tensor was made in inference mode. See torch.is_inference."""
def is_neg(input: Tensor) -> builtins.bool:
    """Return False, since negatives are computed at once."""
def is_nonzero(input: Tensor) -> builtins.bool:
    """Return whether the only element is not zero. See torch.is_nonzero."""
def is_same_size(input: Tensor, other: Tensor) -> builtins.bool:
    """Return whether two tensors have the same shape."""
def is_signed(input: Tensor, *args: Any, **named: Any) -> Any:
    """Whether the dtype has negative numbers. See torch.Tensor.is_signed."""
def isclose(input: Tensor, other: Tensor, rtol: builtins.float = 1e-05, atol: builtins.float = 1e-08, equal_nan: builtins.bool = False) -> Tensor:
    """Return whether the elements differ by no more than ``atol + rtol * |other|``. See torch.isclose."""
def isfinite(input: Tensor) -> Tensor:
    """Return whether each element is finite. See torch.isfinite."""
def isin(elements: Tensor | _Number, test_elements: Tensor | _Number, *, assume_unique: builtins.bool = False, invert: builtins.bool = False, out: Tensor | None = None) -> Tensor:
    """Return whether each element is one of ``test_elements``. See torch.isin."""
def isinf(input: Tensor) -> Tensor:
    """Return whether each element is infinite. See torch.isinf."""
def isnan(input: Tensor) -> Tensor:
    """Return whether each element is NaN. See torch.isnan."""
def isneginf(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return whether each element is negative infinity. See torch.isneginf."""
def isposinf(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return whether each element is positive infinity. See torch.isposinf."""
def isreal(input: Tensor) -> Tensor:
    """Return whether each element has no imaginary part. See torch.isreal."""
def istft(input: Tensor, n_fft: builtins.int, hop_length: builtins.int | None = None, win_length: builtins.int | None = None, window: Tensor | None = None, center: builtins.bool = True, normalized: builtins.bool = False, onesided: builtins.bool | None = None, length: builtins.int | None = None, return_complex: builtins.bool = False) -> Tensor:
    """Return the signal whose spectra are nearest to those given: the inverse of ``stft``. See torch.istft."""
def kaiser_window(window_length: builtins.int, periodic: builtins.bool = True, beta: builtins.float = 12.0, *, dtype: _dtype | None = None, layout: Any = None, device: _DeviceLike | None = None, requires_grad: builtins.bool = False, pin_memory: builtins.bool = False) -> Tensor:
    """Return a quotient of Bessel functions. See torch.kaiser_window."""
def kl_div(input: Tensor, target: Tensor, reduction: builtins.int = 0, *, log_target: builtins.bool = False) -> Tensor:
    """See torch.nn.functional.kl_div. 1 is the mean over all elements."""
def kron(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the Kronecker product. See torch.kron."""
def kthvalue(input: Tensor, k: builtins.int, dim: builtins.int = -1, keepdim: builtins.bool = False, *, out: Sequence[Tensor] | None = None) -> kthvalue_result:
    """Return the ``k``-th smallest element along ``dim``, with its index. See torch.kthvalue."""
def layer_norm(input: Any, normalized_shape: Any, weight: Any = None, bias: Any = None, eps: Any = 1e-05) -> Any:
    """Return the input with mean 0 and variance 1 over its last dimensions. See torch.nn.functional.layer_norm."""
def lcm(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the least common multiple. See torch.lcm."""
def lcm_(input: Tensor, other: Tensor) -> Tensor:
    """Return the least common multiple. See torch.lcm."""
def ldexp(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return ``input`` times 2 to the power ``other``. See torch.ldexp."""
def ldexp_(input: Tensor, other: Tensor) -> Tensor:
    """Return ``input`` times 2 to the power ``other``. See torch.ldexp."""
def le(input: Tensor, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
    """Return whether ``input`` is less or equal. See torch.le."""
legacy_contiguous_format: Any
def lerp(input: Tensor, end: Tensor, weight: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
    """Return ``input + weight * (end - input)``. See torch.lerp."""
def less(input: Tensor, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
    """Return whether ``input`` is less. See torch.lt."""
def less_equal(input: Tensor, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
    """Return whether ``input`` is less or equal. See torch.le."""
def lgamma(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the logarithm of the gamma function's magnitude. See torch.lgamma."""
def linspace(start: Tensor | _Number, end: Tensor | _Number, steps: builtins.int, *, dtype: _dtype | None = None, out: Tensor | None = None, layout: Any = None, device: _DeviceLike | None = None, requires_grad: builtins.bool = False, pin_memory: builtins.bool = False) -> Tensor:
    """Return ``steps`` evenly spaced numbers from ``start`` to ``end``. See torch.linspace."""
def log(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the natural logarithm. See torch.log."""
def log10(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the logarithm to base 10. See torch.log10."""
def log10_(input: Tensor) -> Tensor:
    """Return the logarithm to base 10. See torch.log10."""
def log1p(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the logarithm of 1 plus each element, exact for small ones. See torch.log1p."""
def log1p_(input: Tensor) -> Tensor:
    """Return the logarithm of 1 plus each element, exact for small ones. See torch.log1p."""
def log2(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the logarithm to base 2. See torch.log2."""
def log2_(input: Tensor) -> Tensor:
    """Return the logarithm to base 2. See torch.log2."""
def log_(input: Tensor) -> Tensor:
    """Return the natural logarithm. See torch.log."""
def log_softmax(input: Tensor, dim: builtins.int, dtype: _dtype | None = None, *, out: Tensor | None = None) -> Tensor:
    """Return the logarithm of softmax, computed as one. See torch.log_softmax."""
def logaddexp(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return log(exp(input) + exp(other)). See torch.logaddexp."""
def logaddexp2(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return log2(2**input + 2**other). See torch.logaddexp2."""
def logcumsumexp(input: Tensor, dim: builtins.int, *, out: Tensor | None = None) -> Tensor:
    """Return the logarithm of the cumulative sums of exponentials. See torch.logcumsumexp."""
def logdet(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the logarithm of the determinant, nan where that is negative. See torch.logdet."""
def logical_and(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return whether both are true. See torch.logical_and."""
def logical_not(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return whether each element is false. See torch.logical_not."""
def logical_or(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return whether either is true. See torch.logical_or."""
def logical_xor(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return whether one of the two is true. See torch.logical_xor."""
def logit(input: Tensor, eps: builtins.float | None = None, *, out: Tensor | None = None) -> Tensor:
    """Return the inverse of sigmoid, of elements first brought to at least ``eps`` from 0 and 1. See torch.logit."""
def logit_(input: Tensor, eps: builtins.float | None = None) -> Tensor:
    """Return the inverse of sigmoid, of elements first brought to at least ``eps`` from 0 and 1. See torch.logit."""
def logspace(start: Tensor | _Number, end: Tensor | _Number, steps: builtins.int, base: builtins.float = 10.0, *, dtype: _dtype | None = None, out: Tensor | None = None, layout: Any = None, device: _DeviceLike | None = None, requires_grad: builtins.bool = False, pin_memory: builtins.bool = False) -> Tensor:
    """Return powers of ``base`` with evenly spaced exponents. See torch.logspace."""
def logsumexp(input: Tensor, dim: builtins.int | Sequence[builtins.int], keepdim: builtins.bool = False, *, out: Tensor | None = None) -> Tensor:
    """Return the logarithm of the sum of exponentials along ``dim``. See torch.logsumexp."""
long: _dtype
def lstm_cell(input: Tensor, hx: Sequence[Tensor], w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None = None, b_hh: Tensor | None = None) -> Tensor:
    """Return the next hidden and cell state of an LSTM. See torch.nn.LSTMCell."""
def lstsq(*args: Any, **kwargs: Any) -> Any:
    """RuntimeError: PyTorch has removed it for torch.linalg.lstsq."""
def lt(input: Tensor, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
    """Return whether ``input`` is less. See torch.lt."""
def lu(A: Tensor, pivot: builtins.bool = True, get_infos: builtins.bool = False) -> builtins.tuple[Tensor, ...]:
    """Return linalg.lu_factor or linalg.lu_factor_ex. See torch.lu."""
def lu_solve(b: Any, LU_data: Any, LU_pivots: Any, *, out: Tensor | None = None) -> Any:
    """Return X of AX = b from torch.lu's result. See torch.lu_solve."""
def lu_unpack(LU_data: Tensor, LU_pivots: Tensor, unpack_data: builtins.bool = True, unpack_pivots: builtins.bool = True, *, out: Sequence[Tensor] | None = None) -> lu_unpack_result:
    """Return P, L and U from torch.lu's result; those not asked for are empty. See torch.lu_unpack."""
def masked_fill(input: Tensor, mask: Tensor, value: Tensor | _Number) -> Tensor:
    """Return the input with one value where the mask is True. See torch.Tensor.masked_fill_."""
def masked_scatter(input: Tensor, mask: Tensor, source: Tensor) -> Tensor:
    """Return the input with the elements of ``source``, in order, where the mask is True. See torch.Tensor.masked_scatter_."""
def masked_select(input: Tensor, mask: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the elements where the mask is True, in one dim. See torch.masked_select."""
def matmul(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the matrix product, over broadcast batches where there are more than two dimensions. See torch.matmul."""
def matrix_exp(A: Any, *, out: Tensor | None = None) -> Any:
    """Return the matrix exponential. See torch.linalg.matrix_exp."""
def matrix_power(A: Any, n: Any, *, out: Tensor | None = None) -> Any:
    """Return a matrix times itself, n times; a negative n takes the inverse. See torch.linalg.matrix_power."""
def matrix_rank(*args: Any, **kwargs: Any) -> Any:
    """RuntimeError: PyTorch has removed it for torch.linalg.matrix_rank."""
@overload
def max(input: Tensor) -> Tensor: ...
@overload
def max(input: Tensor, dim: builtins.int, keepdim: builtins.bool = False, *, out: Sequence[Tensor] | None = None) -> max_result: ...
@overload
def max(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the largest element; the largest along ``dim`` with its index; the larger of two tensors. See torch.max."""
def max_pool1d(input: Tensor, kernel_size: builtins.int | Sequence[builtins.int], stride: builtins.int | Sequence[builtins.int] | None = None, padding: builtins.int | Sequence[builtins.int] = 0, dilation: builtins.int | Sequence[builtins.int] = 1, ceil_mode: builtins.bool = False, return_indices: builtins.bool = False) -> Tensor:
    """Return the maximum of each window over one dimension. See torch.nn.functional.max_pool1d."""
def max_pool1d_with_indices(input: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1, ceil_mode: builtins.bool = False, return_indices: builtins.bool = False) -> Any:
    """The maximum of each window, and where it is. See torch.nn.functional.max_pool1d."""
def max_pool2d(input: Tensor, kernel_size: builtins.int | Sequence[builtins.int], stride: builtins.int | Sequence[builtins.int] | None = None, padding: builtins.int | Sequence[builtins.int] = 0, dilation: builtins.int | Sequence[builtins.int] = 1, ceil_mode: builtins.bool = False, return_indices: builtins.bool = False) -> Tensor:
    """Return the maximum of each window over two dimensions. See torch.nn.functional.max_pool2d."""
def max_pool3d(input: Tensor, kernel_size: builtins.int | Sequence[builtins.int], stride: builtins.int | Sequence[builtins.int] | None = None, padding: builtins.int | Sequence[builtins.int] = 0, dilation: builtins.int | Sequence[builtins.int] = 1, ceil_mode: builtins.bool = False, return_indices: builtins.bool = False) -> Tensor:
    """Return the maximum of each window over three dimensions. See torch.nn.functional.max_pool3d."""
def maximum(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the greater of two elements, NaN if either is. See torch.maximum."""
def mean(input: Tensor, dim: builtins.int | Sequence[builtins.int] | None = None, keepdim: builtins.bool = False, *, dtype: _dtype | None = None, out: Tensor | None = None) -> Tensor:
    """Return the mean of all elements, or along ``dim``. See torch.mean."""
@overload
def median(input: Tensor) -> Tensor: ...
@overload
def median(input: Tensor, dim: builtins.int, keepdim: builtins.bool = False, *, out: Sequence[Tensor] | None = None) -> median_result:
    """Return the median (of an even number, the lower), of all or along ``dim`` with its index. See torch.median."""
@overload
def min(input: Tensor) -> Tensor: ...
@overload
def min(input: Tensor, dim: builtins.int, keepdim: builtins.bool = False, *, out: Sequence[Tensor] | None = None) -> min_result: ...
@overload
def min(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the smallest element; the smallest along ``dim`` with its index; the smaller of two tensors. See torch.min."""
def minimum(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the lesser of two elements, NaN if either is. See torch.minimum."""
def mm(input: Tensor, mat2: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the product of two matrices. See torch.mm."""
def mode(input: Tensor, dim: builtins.int = -1, keepdim: builtins.bool = False, *, out: Sequence[Tensor] | None = None) -> mode_result:
    """Return the most frequent element along ``dim`` (the smallest such), with its last index. See torch.mode."""
monitor: Any
def moveaxis(input: Tensor, source: builtins.int | Sequence[builtins.int], destination: builtins.int | Sequence[builtins.int]) -> Tensor:
    """Return dims moved to other places, the rest in order. See torch.movedim."""
def movedim(input: Tensor, source: builtins.int | Sequence[builtins.int], destination: builtins.int | Sequence[builtins.int]) -> Tensor:
    """Return dims moved to other places, the rest in order. See torch.movedim."""
mps: Any
def msort(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the elements in order along the first dimension. See torch.msort."""
mtia: Any
def mul(input: Tensor | _Number, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
    """Return the product. See torch.mul."""
def multinomial(input: Tensor, num_samples: builtins.int, replacement: builtins.bool = False, *, generator: _Generator | None = None, out: Tensor | None = None) -> Tensor:
    """Draw indices with the probabilities in each row. See torch.multinomial."""
def multiply(input: Tensor | _Number, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
    """Return the product. See torch.mul."""
def mv(input: Tensor, vec: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the product of a matrix and a vector. See torch.mv."""
def mvlgamma(input: Tensor, p: builtins.int, *, out: Tensor | None = None) -> Tensor:
    """Return the logarithm of the multivariate gamma function. See torch.mvlgamma."""
nan: builtins.float
def nan_to_num(input: Tensor, nan: builtins.float | None = 0.0, posinf: builtins.float | None = None, neginf: builtins.float | None = None, *, out: Tensor | None = None) -> Tensor:
    """Return NaN and infinities replaced by numbers. See torch.nan_to_num."""
def nan_to_num_(input: Tensor, nan: builtins.float | None = 0.0, posinf: builtins.float | None = None, neginf: builtins.float | None = None) -> Tensor:
    """Return NaN and infinities replaced by numbers. See torch.nan_to_num."""
def nanmean(input: Tensor, dim: builtins.int | Sequence[builtins.int] | None = None, keepdim: builtins.bool = False, *, dtype: _dtype | None = None, out: Tensor | None = None) -> Tensor:
    """Return the mean of the elements that are not NaN. See torch.nanmean."""
@overload
def nanmedian(input: Tensor) -> Tensor: ...
@overload
def nanmedian(input: Tensor, dim: builtins.int, keepdim: builtins.bool = False, *, out: Sequence[Tensor] | None = None) -> nanmedian_result:
    """Return the median of the elements that are not NaN. See torch.nanmedian."""
def nanquantile(input: Tensor, q: Tensor | builtins.float, dim: builtins.int | None = None, keepdim: builtins.bool = False, *, interpolation: builtins.str = 'linear', out: Tensor | None = None) -> Tensor:
    """Return the quantiles of the elements that are not NaN. See torch.nanquantile."""
def nansum(input: Tensor, dim: builtins.int | Sequence[builtins.int] | None = None, keepdim: builtins.bool = False, *, dtype: _dtype | None = None, out: Tensor | None = None) -> Tensor:
    """Return the sum with NaNs taken as zero. See torch.nansum."""
def narrow(input: Any, dim: Any, start: Any, length: Any) -> Any:
    """Return ``length`` elements of a dim from ``start`` on. See torch.narrow."""
def narrow_copy(input: Tensor, dim: builtins.int, start: builtins.int, length: builtins.int, *, out: Tensor | None = None) -> Tensor:
    """Return ``length`` elements of a dim from ``start`` on, copied. See torch.narrow_copy."""
def native_batch_norm(input: Tensor, weight: Tensor | None, bias: Tensor | None, running_mean: Tensor | None, running_var: Tensor | None, training: builtins.bool, momentum: builtins.float, eps: builtins.float) -> Any:
    """Return batch_norm and, in training, each channel's mean and reciprocal deviation. See torch.nn.functional.batch_norm."""
def native_dropout(input: Tensor, p: builtins.float, train: builtins.bool | None) -> Any:
    """Return dropout and the mask of kept elements. See torch.nn.functional.dropout."""
def native_group_norm(input: Tensor, weight: Tensor | None, bias: Tensor | None, N: builtins.int, C: builtins.int, HxW: builtins.int, group: builtins.int, eps: builtins.float) -> Tensor:
    """Return group_norm with the mean and reciprocal deviation of each group. See torch.native_group_norm."""
def ne(input: Tensor, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
    """Return whether the elements differ. See torch.ne."""
def neg(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return each element negated. See torch.neg."""
def neg_(input: Tensor) -> Tensor:
    """Return each element negated. See torch.neg."""
def negative(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return each element negated. See torch.neg."""
def negative_(input: Tensor) -> Tensor:
    """Return each element negated. See torch.neg."""
newaxis: None
def nextafter(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the next number the dtype has after ``input``, towards ``other``. See torch.nextafter."""
@overload
def nonzero(input: Tensor) -> Tensor: ...
@overload
def nonzero(input: Tensor, *, as_tuple: Literal[False]) -> Tensor: ...
@overload
def nonzero(input: Tensor, *, as_tuple: Literal[True]) -> builtins.tuple[Tensor, ...]:
    """Return the indices of the elements that are not 0, as rows or as a tuple of columns. See torch.nonzero."""
def nonzero_static(input: Tensor, *, size: builtins.int, fill_value: builtins.int = -1, out: Tensor | None = None) -> Tensor:
    """Return the first ``size`` rows of ``nonzero``, or all and then rows of ``fill_value``. See torch.nonzero_static."""
def norm(input: Tensor, p: builtins.float | builtins.str | None = 'fro', dim: builtins.int | Sequence[builtins.int] | None = None, keepdim: builtins.bool = False, dtype: _dtype | None = None, *, out: Tensor | None = None) -> Tensor:
    """Return the p-norm of all elements or along ``dim``; "fro" is 2, "nuc" the sum of singular values. See torch.norm."""
def norm_except_dim(v: Tensor, pow: builtins.int = 2, dim: builtins.int = 0) -> Tensor:
    """Return the p-norm over all dimensions but ``dim`` (over all for -1). See torch.norm_except_dim."""
def not_equal(input: Tensor, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
    """Return whether the elements differ. See torch.ne."""
def numel(input: Tensor) -> builtins.int:
    """Return the number of elements. See torch.numel."""
@overload
def ones(*size: builtins.int, dtype: _dtype | None = None, out: Tensor | None = None, layout: Any = None, device: _DeviceLike | None = None, requires_grad: builtins.bool = False, pin_memory: builtins.bool = False) -> Tensor: ...
@overload
def ones(size: Sequence[builtins.int], *, dtype: _dtype | None = None, out: Tensor | None = None, layout: Any = None, device: _DeviceLike | None = None, requires_grad: builtins.bool = False, pin_memory: builtins.bool = False) -> Tensor:
    """Return a tensor of ones. See torch.ones."""
def ones_like(input: Tensor, *, dtype: _dtype | None = None, layout: Any = None, device: _DeviceLike | None = None, requires_grad: builtins.bool = False, pin_memory: builtins.bool = False, memory_format: Any = None) -> Tensor:
    """Return ones in the shape of another tensor. See torch.ones_like."""
def orgqr(A: Any, tau: Any, *, out: Tensor | None = None) -> Any:
    """Return the first columns of a product of Householder reflections. See torch.linalg.householder_product."""
def ormqr(input: Any, tau: Any, other: Any, left: Any = True, transpose: Any = False, *, out: Tensor | None = None) -> Any:
    """Return the product of a matrix with the Q of ``geqrf``. See torch.ormqr."""
def outer(input: Tensor, vec2: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the outer product of two vectors. See torch.outer."""
def pairwise_distance(x1: Tensor, x2: Tensor, p: builtins.float = 2.0, eps: builtins.float = 1e-06, keepdim: builtins.bool = False) -> Tensor:
    """Return the p-norm of ``x1 - x2 + eps`` along the last dimension. See torch.nn.functional.pairwise_distance."""
def pdist(input: Tensor, p: builtins.float = 2.0) -> Tensor:
    """Return the p-norm distance of each pair of rows. See torch.nn.functional.pdist."""
@overload
def permute(input: Tensor, *dims: builtins.int) -> Tensor: ...
@overload
def permute(input: Tensor, dims: Sequence[builtins.int]) -> Tensor:
    """Return the dims in another order. See torch.permute."""
@overload
def permute_copy(input: Tensor, *dims: builtins.int, out: Tensor | None = None) -> Tensor: ...
@overload
def permute_copy(input: Tensor, dims: Sequence[builtins.int], *, out: Tensor | None = None) -> Tensor:
    """Return a copy of the result of torch.permute. See torch.permute_copy."""
pi: builtins.float
def pinverse(input: Tensor, rcond: builtins.float = 1e-15, *, out: Tensor | None = None) -> Tensor:
    """Return the Moore-Penrose inverse. See torch.pinverse."""
def pixel_shuffle(input: Tensor, upscale_factor: builtins.int) -> Tensor:
    """Return channels spread over ``upscale_factor`` times as many rows and columns. See torch.nn.functional.pixel_shuffle."""
def pixel_unshuffle(input: Tensor, downscale_factor: builtins.int) -> Tensor:
    """Return the inverse of pixel_shuffle. See torch.nn.functional.pixel_unshuffle."""
def polar(abs: Tensor, angle: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return complex numbers from their magnitudes and angles. See torch.polar."""
def polygamma(n: builtins.int, input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the ``n``-th derivative of digamma. See torch.polygamma."""
def positive(input: Tensor) -> Tensor:
    """Return the input itself. See torch.positive."""
def pow(input: Tensor | _Number, exponent: Tensor | builtins.complex, *, out: Tensor | None = None) -> Tensor:
    """Return ``input`` to the power ``exponent``. See torch.pow."""
def prelu(input: Tensor, weight: Tensor) -> Tensor:
    """Return the input where it is positive, else its channel's ``weight`` times it. See torch.nn.functional.prelu."""
preserve_format: Any
def prod(input: Tensor, dim: builtins.int | None = None, keepdim: builtins.bool = False, *, dtype: _dtype | None = None, out: Tensor | None = None) -> Tensor:
    """Return the product of all elements, or along ``dim``; of integers in int64. See torch.prod."""
def promote_types(type1: _dtype, type2: _dtype) -> _dtype:
    """Return the smallest dtype to which both promote. See torch.promote_types."""
def put(input: Tensor, index: Tensor, source: Tensor, accumulate: builtins.bool = False) -> Tensor:
    """Write ``source`` to flat indices of the input. See torch.Tensor.put_."""
def qr(input: Tensor, some: builtins.bool = True, *, out: Sequence[Tensor] | None = None) -> qr_result:
    """Return Q and R of input = QR. See torch.qr."""
def quantile(input: Tensor, q: Tensor | builtins.float, dim: builtins.int | None = None, keepdim: builtins.bool = False, *, interpolation: builtins.str = 'linear', out: Tensor | None = None) -> Tensor:
    """Return the ``q``-th quantiles, of all or along ``dim``. See torch.quantile."""
quantization: Any
def rad2deg(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Convert radians to degrees. See torch.rad2deg."""
def rad2deg_(input: Tensor) -> Tensor:
    """Convert radians to degrees. See torch.rad2deg."""
def rand_like(input: Tensor, *, dtype: _dtype | None = None, layout: Any = None, device: _DeviceLike | None = None, requires_grad: builtins.bool = False, memory_format: Any = None, **kw: Any) -> Tensor:
    """Call torch.rand with the shape, dtype, device and memory format of a tensor."""
def randint_like(input: Tensor, *args: builtins.int, dtype: _dtype | None = None, layout: Any = None, device: _DeviceLike | None = None, requires_grad: builtins.bool = False, memory_format: Any = None, generator: _Generator | None = None, pin_memory: builtins.bool = False, **kw: Any) -> Tensor:
    """Call torch.randint with the shape, dtype, device and memory format of a tensor."""
def randn_like(input: Tensor, *, dtype: _dtype | None = None, layout: Any = None, device: _DeviceLike | None = None, requires_grad: builtins.bool = False, memory_format: Any = None, **kw: Any) -> Tensor:
    """Call torch.randn with the shape, dtype, device and memory format of a tensor."""
def range(start: Any, end: Any, step: Any = 1, *, dtype: _dtype | None = None, out: Tensor | None = None, layout: Any = None, device: _DeviceLike | None = None, requires_grad: builtins.bool = False, pin_memory: builtins.bool = False) -> Tensor:
    """Return the numbers from ``start`` to ``end``, which is included. See torch.range."""
def ravel(input: Tensor) -> Tensor:
    """Return all elements in one dim. See torch.ravel."""
def real(input: Tensor, **kw: Any) -> Tensor:
    """The real part; a real tensor as it is. See torch.real."""
def reciprocal(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return 1 divided by each element. See torch.reciprocal."""
def reciprocal_(input: Tensor) -> Tensor:
    """Return 1 divided by each element. See torch.reciprocal."""
def relu(input: Tensor) -> Tensor:
    """Return the input where it is positive, else 0. See torch.nn.functional.relu."""
def relu_(input: Tensor) -> Tensor:
    """Return the input where it is positive, else 0. See torch.nn.functional.relu."""
def remainder(input: Tensor | _Number, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
    """Return the remainder of floor division, with the sign of ``other``. See torch.remainder."""
def renorm(input: Tensor, p: _Number, dim: builtins.int, maxnorm: _Number, *, out: Tensor | None = None) -> Tensor:
    """Return each slice along ``dim`` scaled down to have p-norm ``maxnorm`` at most. See torch.renorm."""
def repeat_interleave(input: Tensor, repeats: Any = None, dim: builtins.int | None = None, *, output_size: builtins.int | None = None) -> Tensor:
    """Repeat each element, or each slice of a dim. See torch.repeat_interleave."""
@overload
def reshape(input: Tensor, *shape: builtins.int) -> Tensor: ...
@overload
def reshape(input: Tensor, shape: Sequence[builtins.int]) -> Tensor:
    """Return the same elements in another shape, a copy if strides allow no view. See torch.reshape."""
def resize_as_(self: Tensor, other: Tensor, memory_format: Any = None) -> Tensor:
    """Resize the tensor to the size of ``other``. See torch.Tensor.resize_as_."""
def resolve_conj(input: Tensor) -> Tensor:
    """Return the tensor itself. See torch.resolve_conj."""
def resolve_neg(input: Tensor) -> Tensor:
    """Return the tensor itself. See torch.resolve_neg."""
def result_type(tensor1: Any, tensor2: Any) -> _dtype:
    """Return the dtype in which an operation on two operands computes. See torch.result_type."""
def rms_norm(input: Tensor, normalized_shape: Sequence[builtins.int], weight: Tensor | None = None, eps: builtins.float | None = None) -> Tensor:
    """Return the input divided by its root mean square over its last dimensions. See torch.nn.functional.rms_norm."""
def rnn_relu_cell(input: Tensor, hx: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None = None, b_hh: Tensor | None = None) -> Tensor:
    """Return the next state of a simple recurrent cell with relu. See torch.nn.RNNCell."""
def rnn_tanh_cell(input: Tensor, hx: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None = None, b_hh: Tensor | None = None) -> Tensor:
    """Return the next state of a simple recurrent cell with tanh. See torch.nn.RNNCell."""
def roll(input: Tensor, shifts: builtins.int | Sequence[builtins.int], dims: builtins.int | Sequence[builtins.int] | None = None) -> Tensor:
    """Move elements along dims, around the ends. See torch.roll."""
def rot90(input: Tensor, k: builtins.int = 1, dims: Sequence[builtins.int] = ...) -> Tensor:
    """Rotate a plane by ``k`` quarters. See torch.rot90."""
def round(input: Tensor, *, decimals: builtins.int = 0, out: Tensor | None = None) -> Tensor:
    """Return the nearest integer, or multiple of a power of ten; halves go to the even one. See torch.round."""
def round_(input: Tensor, *, decimals: builtins.int = 0) -> Tensor:
    """Return the nearest integer, or multiple of a power of ten; halves go to the even one. See torch.round."""
def row_stack(tensors: Sequence[Tensor], *, out: Tensor | None = None) -> Tensor:
    """Return tensors joined along rows. See torch.vstack."""
def rrelu(input: Tensor, lower: builtins.float = 0.125, upper: builtins.float = 0.3333333333333333, training: builtins.bool = False, generator: Any = None) -> Tensor:
    """Apply leaky relu with random slopes in training. See torch.nn.functional.rrelu."""
def rrelu_(input: Tensor, lower: builtins.float = 0.125, upper: builtins.float = 0.3333333333333333, training: builtins.bool = False, generator: Any = None) -> Tensor:
    """Apply leaky relu with random slopes in training, in place. See torch.nn.functional.rrelu."""
def rsqrt(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return 1 divided by the square root. See torch.rsqrt."""
def rsqrt_(input: Tensor) -> Tensor:
    """Return 1 divided by the square root. See torch.rsqrt."""
def rsub(input: Tensor, other: Tensor | _Number, *, alpha: _Number = 1) -> Tensor:
    """Return ``other`` minus ``alpha`` times ``input``. See torch.rsub."""
def scatter(input: Tensor, dim: builtins.int, index: Tensor, src: Tensor | _Number | None = None, *, value: _Number | None = None, reduce: builtins.str | None = None, out: Tensor | None = None) -> Tensor:
    """Return ``src`` (or one value) written to ``self[index[i][j]][j]`` for dim 0, and so on. See torch.scatter."""
def scatter_add(input: Tensor, dim: builtins.int, index: Tensor, src: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return ``src`` added at ``self[index[i][j]][j]`` for dim 0, and so on. See torch.scatter_add."""
def scatter_reduce(input: Tensor, dim: builtins.int, index: Tensor, src: Tensor, reduce: builtins.str, *, include_self: builtins.bool = True, out: Tensor | None = None) -> Tensor:
    """Return values combined by sum, prod, mean, amax or amin at indexed places. See torch.scatter_reduce."""
def searchsorted(sorted_sequence: Tensor, input: Tensor | _Number, *, out_int32: builtins.bool = False, right: builtins.bool = False, side: builtins.str | None = None, sorter: Tensor | None = None, out: Tensor | None = None) -> Tensor:
    """Return the positions at which the values would be inserted into sorted rows. See torch.searchsorted."""
def segment_reduce(data: Tensor, reduce: builtins.str, *, lengths: Tensor | None = None, indices: Tensor | None = None, offsets: Tensor | None = None, axis: builtins.int = 0, unsafe: builtins.bool = False, initial: builtins.float | None = None) -> Tensor:
    """Return the sum, mean, product or extreme of each run of slices along ``axis``. See torch.segment_reduce."""
def select(input: Tensor, dim: builtins.int, index: builtins.int) -> Tensor:
    """Return the elements at one index of a dim, without this dim. See torch.select."""
def select_copy(input: Tensor, dim: builtins.int, index: builtins.int, *, out: Tensor | None = None) -> Tensor:
    """Return a copy of the result of torch.select. See torch.select_copy."""
def select_scatter(input: Tensor, src: Tensor, dim: builtins.int, index: builtins.int, *, out: Tensor | None = None) -> Tensor:
    """Return ``input`` with ``src`` in place of ``select(dim, index)``. See torch.select_scatter."""
def selu(input: Tensor) -> Tensor:
    """Return elu with the scale and alpha that keep mean 0 and variance 1. See torch.nn.functional.selu."""
def selu_(input: Tensor) -> Tensor:
    """Return elu with the scale and alpha that keep mean 0 and variance 1. See torch.nn.functional.selu."""
def set_autocast_cpu_dtype(*args: Any) -> Any:
    """set_autocast_dtype of cpu. See torch.set_autocast_cpu_dtype."""
def set_autocast_cpu_enabled(*args: Any) -> Any:
    """set_autocast_enabled of cpu. See torch.set_autocast_cpu_enabled."""
def set_autocast_gpu_dtype(*args: Any) -> Any:
    """set_autocast_dtype of cuda. See torch.set_autocast_gpu_dtype."""
def set_autocast_ipu_dtype(*args: Any) -> Any:
    """set_autocast_dtype of ipu. See torch.set_autocast_ipu_dtype."""
def set_autocast_ipu_enabled(*args: Any) -> Any:
    """set_autocast_enabled of ipu. See torch.set_autocast_ipu_enabled."""
def set_autocast_xla_dtype(*args: Any) -> Any:
    """set_autocast_dtype of xla. See torch.set_autocast_xla_dtype."""
def set_autocast_xla_enabled(*args: Any) -> Any:
    """set_autocast_enabled of xla. See torch.set_autocast_xla_enabled."""
def sgn(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the sign, for complex numbers the direction. See torch.sgn."""
short: _dtype
def sigmoid(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the logistic function 1 / (1 + exp(-x)). See torch.sigmoid."""
def sigmoid_(input: Tensor) -> Tensor:
    """Return the logistic function 1 / (1 + exp(-x)). See torch.sigmoid."""
def sign(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return -1, 0 or 1. See torch.sign."""
signal: Any
def signbit(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return whether the sign bit is set. See torch.signbit."""
def sin(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the sine. See torch.sin."""
def sin_(input: Tensor) -> Tensor:
    """Return the sine. See torch.sin."""
def sinc(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return sin(pi x) / (pi x), 1 at 0. See torch.sinc."""
def sinc_(input: Tensor) -> Tensor:
    """Return sin(pi x) / (pi x), 1 at 0. See torch.sinc."""
def sinh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the hyperbolic sine. See torch.sinh."""
def sinh_(input: Tensor) -> Tensor:
    """Return the hyperbolic sine. See torch.sinh."""
def slice_copy(input: Tensor, dim: builtins.int = 0, start: builtins.int | None = None, end: builtins.int | None = None, step: builtins.int = 1, *, out: Tensor | None = None) -> Tensor:
    """Return a copy of the result of torch.slice. See torch.slice_copy."""
def slice_scatter(input: Tensor, src: Tensor, dim: builtins.int = 0, start: builtins.int | None = None, end: builtins.int | None = None, step: builtins.int = 1, *, out: Tensor | None = None) -> Tensor:
    """Return ``input`` with ``src`` in place of a slice of a dim. See torch.slice_scatter."""
def slogdet(input: Tensor, *, out: Any = None) -> Any:
    """Return the determinant's sign and the logarithm of its magnitude. See torch.slogdet."""
def softmax(input: Tensor, dim: builtins.int, dtype: _dtype | None = None, *, out: Tensor | None = None) -> Tensor:
    """Return exp of the input, scaled to sum 1 along ``dim``. See torch.softmax."""
def solve(*args: Any, **kwargs: Any) -> Any:
    """RuntimeError: PyTorch has removed it for torch.linalg.solve."""
def sort(input: Tensor, dim: builtins.int = -1, descending: builtins.bool = False, *, stable: builtins.bool = False, out: Sequence[Tensor] | None = None) -> sort_result:
    """Return the elements in order along ``dim``, with their indices; always stable. See torch.sort."""
sparse_bsc: Any
sparse_bsr: Any
sparse_coo: Any
sparse_csc: Any
sparse_csr: Any
def split(tensor: Tensor, split_size_or_sections: builtins.int | Sequence[builtins.int], dim: builtins.int = 0) -> builtins.tuple[Tensor, ...]:
    """Return parts of one size (the last may be smaller) or of given sizes. See torch.split."""
def split_copy(input: Tensor, split_size: builtins.int, dim: builtins.int = 0, *, out: Tensor | None = None) -> Tensor:
    """Return copies of the parts that torch.split returns. See torch.split_copy."""
def split_with_sizes(input: Tensor, split_sizes: Sequence[builtins.int], dim: builtins.int = 0) -> builtins.tuple[Tensor, ...]:
    """Return parts of given sizes. See torch.split."""
def split_with_sizes_copy(input: Tensor, split_sizes: Sequence[builtins.int], dim: builtins.int = 0, *, out: Tensor | None = None) -> Tensor:
    """Return a copy of the result of torch.split_with_sizes. See torch.split_with_sizes_copy."""
def sqrt(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the square root. See torch.sqrt."""
def sqrt_(input: Tensor) -> Tensor:
    """Return the square root. See torch.sqrt."""
def square(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return each element times itself. See torch.square."""
def square_(input: Tensor) -> Tensor:
    """Return each element times itself. See torch.square."""
def squeeze(input: Tensor, dim: builtins.int | Sequence[builtins.int] | None = None) -> Tensor:
    """Return dims of size 1 dropped. See torch.squeeze."""
def squeeze_copy(input: Tensor, dim: builtins.int | Sequence[builtins.int] | None = None, *, out: Tensor | None = None) -> Tensor:
    """Return a copy of the result of torch.squeeze. See torch.squeeze_copy."""
def stack(tensors: Sequence[Tensor], dim: builtins.int = 0, *, out: Tensor | None = None) -> Tensor:
    """Return tensors of one shape joined along a new dim. See torch.stack."""
def std(input: Tensor, dim: builtins.bool | builtins.int | Sequence[builtins.int] | None = None, unbiased: builtins.bool | None = None, keepdim: builtins.bool = False, *, correction: builtins.float | None = None, out: Tensor | None = None) -> Tensor:
    """Return the standard deviation: the square root of ``var``. See torch.std."""
def std_mean(input: Tensor, dim: builtins.int | Sequence[builtins.int] | None = None, unbiased: builtins.bool | None = None, keepdim: builtins.bool = False, *, correction: builtins.float | None = None) -> builtins.tuple[Tensor, Tensor]:
    """Return the standard deviation and the mean. See torch.std_mean."""
def stft(input: Tensor, n_fft: builtins.int, hop_length: builtins.int | None = None, win_length: builtins.int | None = None, window: Tensor | None = None, center: builtins.bool = True, pad_mode: builtins.str = 'reflect', normalized: builtins.bool = False, onesided: builtins.bool | None = None, return_complex: builtins.bool | None = None, align_to_window: builtins.bool | None = None) -> Tensor:
    """Return the spectra of windows that slide over a signal: (batch, frequency, frame). See torch.stft."""
strided: Any
def sub(input: Tensor | _Number, other: Tensor | _Number, *, alpha: _Number = 1, out: Tensor | None = None) -> Tensor:
    """Subtract ``alpha`` times ``other``. See torch.sub."""
def subtract(input: Tensor | _Number, other: Tensor | _Number, *, alpha: _Number = 1, out: Tensor | None = None) -> Tensor:
    """Subtract ``alpha`` times ``other``. See torch.sub."""
def sum(input: Tensor, dim: builtins.int | Sequence[builtins.int] | None = None, keepdim: builtins.bool = False, *, dtype: _dtype | None = None, out: Tensor | None = None) -> Tensor:
    """Return the sum of all elements, or along ``dim``; of integers in int64. See torch.sum."""
def svd(input: Tensor, some: builtins.bool = True, compute_uv: builtins.bool = True, *, out: Sequence[Tensor] | None = None) -> svd_result:
    """Return U, S and V of input = U diag(S) Vᴴ. See torch.svd."""
def swapaxes(input: Tensor, axis0: builtins.int, axis1: builtins.int) -> Tensor:
    """Return two dims swapped. See torch.swapaxes."""
def swapdims(input: Tensor, dim0: builtins.int, dim1: builtins.int) -> Tensor:
    """Return two dims swapped. See torch.swapdims."""
def symeig(*args: Any, **kwargs: Any) -> Any:
    """RuntimeError: PyTorch has removed it for torch.linalg.eigh."""
def t(input: Tensor) -> Tensor:
    """Return a matrix transposed, or a vector unchanged. See torch.t."""
def t_copy(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return a copy of the result of torch.t. See torch.t_copy."""
def take(input: Tensor, index: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the elements at flat indices. See torch.take."""
def take_along_dim(input: Tensor, indices: Tensor, dim: builtins.int | None = None, *, out: Tensor | None = None) -> Tensor:
    """Return ``gather`` with both arguments broadcast; indices wrap around. See torch.take_along_dim."""
def tan(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the tangent. See torch.tan."""
def tan_(input: Tensor) -> Tensor:
    """Return the tangent. See torch.tan."""
def tanh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the hyperbolic tangent. See torch.tanh."""
def tanh_(input: Tensor) -> Tensor:
    """Return the hyperbolic tangent. See torch.tanh."""
def tensor_split(input: Tensor, indices_or_sections: Any = None, dim: builtins.int = 0, *, indices: Any = None, sections: builtins.int | None = None) -> builtins.tuple[Tensor, ...]:
    """Split into equal parts (sizes may differ by 1), or at given indices. See torch.tensor_split."""
def tensordot(a: Tensor, b: Tensor, dims: Any = 2, *, out: Tensor | None = None) -> Tensor:
    """Return the sum of products over pairs of dimensions. See torch.tensordot."""
def threshold(input: Tensor, threshold: _Number, value: _Number) -> Tensor:
    """Return the input where it is above ``threshold``, else ``value``. See torch.nn.functional.threshold."""
def threshold_(input: Tensor, threshold: _Number, value: _Number) -> Tensor:
    """Return the input where it is above ``threshold``, else ``value``. See torch.nn.functional.threshold."""
@overload
def tile(input: Tensor, *dims: builtins.int) -> Tensor: ...
@overload
def tile(input: Tensor, dims: Sequence[builtins.int]) -> Tensor:
    """Repeat the whole tensor along the last dims. See torch.tile."""
def topk(input: Tensor, k: builtins.int, dim: builtins.int = -1, largest: builtins.bool = True, sorted: builtins.bool = True, *, out: Sequence[Tensor] | None = None) -> topk_result:
    """Return the ``k`` largest (or smallest) elements along ``dim``, always in order, with their indices. See torch.topk."""
def trace(input: Tensor) -> Tensor:
    """Return the sum of the diagonal. See torch.trace."""
def transpose(input: Tensor, dim0: builtins.int, dim1: builtins.int) -> Tensor:
    """Return two dims swapped. See torch.transpose."""
def transpose_copy(input: Tensor, dim0: builtins.int, dim1: builtins.int, *, out: Tensor | None = None) -> Tensor:
    """Return a copy of the result of torch.transpose. See torch.transpose_copy."""
def trapezoid(y: Tensor, x: Tensor | None = None, *, dx: _Number | None = None, dim: builtins.int = -1, out: Tensor | None = None) -> Tensor:
    """Return the integral of ``y`` along ``dim`` by the trapezoidal rule. See torch.trapezoid."""
def trapz(y: Tensor, x: Tensor | None = None, *, dx: _Number | None = None, dim: builtins.int = -1, out: Tensor | None = None) -> Tensor:
    """Return the integral of ``y`` along ``dim`` by the trapezoidal rule. See torch.trapezoid."""
def triangular_solve(b: Any, A: Any, upper: Any = True, transpose: Any = False, unitriangular: Any = False, *, out: Tensor | None = None) -> Any:
    """Return X of AX = b for a triangular A, and A. See torch.triangular_solve."""
def tril(input: Tensor, diagonal: builtins.int = 0, *, out: Tensor | None = None) -> Tensor:
    """Return the lower triangle, zeros elsewhere. See torch.tril."""
def tril_indices(row: builtins.int, col: builtins.int, offset: builtins.int = 0, *, dtype: _dtype | None = None, layout: Any = None, device: _DeviceLike | None = None, requires_grad: builtins.bool = False, pin_memory: builtins.bool = False) -> Tensor:
    """Return the rows and columns of the elements on and below a diagonal. See torch.tril_indices."""
def triu(input: Tensor, diagonal: builtins.int = 0, *, out: Tensor | None = None) -> Tensor:
    """Return the upper triangle, zeros elsewhere. See torch.triu."""
def triu_indices(row: builtins.int, col: builtins.int, offset: builtins.int = 0, *, dtype: _dtype | None = None, layout: Any = None, device: _DeviceLike | None = None, requires_grad: builtins.bool = False, pin_memory: builtins.bool = False) -> Tensor:
    """Return the rows and columns of the elements on and above a diagonal. See torch.triu_indices."""
def true_divide(input: Tensor | _Number, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
    """Return the quotient. See torch.true_divide."""
def trunc(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the integer part. See torch.trunc."""
def trunc_(input: Tensor) -> Tensor:
    """Return the integer part. See torch.trunc."""
uint16: _dtype
uint32: _dtype
uint64: _dtype
uint8: _dtype
def unbind(input: Tensor, dim: builtins.int = 0) -> builtins.tuple[Tensor, ...]:
    """Return the elements at each index of a dim, without this dim. See torch.unbind."""
def unbind_copy(input: Tensor, dim: builtins.int = 0, *, out: Tensor | None = None) -> Tensor:
    """Return a copy of the result of torch.unbind. See torch.unbind_copy."""
def unflatten(input: Tensor, dim: builtins.int, sizes: Sequence[builtins.int]) -> Tensor:
    """Split one dim into several. See torch.unflatten."""
def unfold_copy(input: Tensor, dimension: builtins.int, size: builtins.int, step: builtins.int, *, out: Tensor | None = None) -> Tensor:
    """Return a copy of the result of torch.unfold. See torch.unfold_copy."""
def unique(input: Tensor, sorted: builtins.bool = True, return_inverse: builtins.bool = False, return_counts: builtins.bool = False, dim: builtins.int | None = None) -> Any:
    """Return the distinct elements (or slices along ``dim``), always sorted; each NaN is one. See torch.unique."""
def unique_consecutive(input: Tensor, return_inverse: builtins.bool = False, return_counts: builtins.bool = False, dim: builtins.int | None = None) -> Any:
    """Return the elements (or slices along ``dim``) that differ from the one before. See torch.unique_consecutive."""
def unsafe_chunk(input: Tensor, chunks: builtins.int, dim: builtins.int = 0) -> Tensor:
    """Return ``chunk`` whose parts may be written to, since they are copies. See torch.unsafe_chunk."""
def unsafe_split(input: Tensor, split_size: builtins.int, dim: builtins.int = 0, *, out: Tensor | None = None) -> Tensor:
    """Return ``split`` whose parts may be written to, since they are copies. See torch.unsafe_split."""
def unsafe_split_with_sizes(input: Tensor, split_sizes: Sequence[builtins.int], dim: builtins.int = 0, *, out: Tensor | None = None) -> Tensor:
    """Return ``split_with_sizes`` whose parts may be written to, since they are copies. See torch.unsafe_split_with_sizes."""
def unsqueeze(input: Tensor, dim: builtins.int) -> Tensor:
    """Insert a dim of size 1. See torch.unsqueeze."""
def unsqueeze_copy(input: Tensor, dim: builtins.int, *, out: Tensor | None = None) -> Tensor:
    """Return a copy of the result of torch.unsqueeze. See torch.unsqueeze_copy."""
def vander(x: Tensor, N: builtins.int | None = None, increasing: builtins.bool = False) -> Tensor:
    """Return the Vandermonde matrix of a vector. See torch.vander."""
def var(input: Tensor, dim: builtins.bool | builtins.int | Sequence[builtins.int] | None = None, unbiased: builtins.bool | None = None, keepdim: builtins.bool = False, *, correction: builtins.float | None = None, out: Tensor | None = None) -> Tensor:
    """Return the variance, divided by N - ``correction`` (1 by default). See torch.var."""
def var_mean(input: Tensor, dim: builtins.int | Sequence[builtins.int] | None = None, unbiased: builtins.bool | None = None, keepdim: builtins.bool = False, *, correction: builtins.float | None = None) -> builtins.tuple[Tensor, Tensor]:
    """Return the variance and the mean. See torch.var_mean."""
def vdot(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the dot product of two vectors, the first conjugated. See torch.vdot."""
def view_as_complex(input: Tensor) -> Tensor:
    """Return the last dim of two real elements as complex elements. See torch.view_as_complex."""
def view_as_complex_copy(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return a copy of the result of torch.view_as_complex. See torch.view_as_complex_copy."""
def view_as_real(input: Tensor) -> Tensor:
    """Return complex elements as a last dim of two real ones. See torch.view_as_real."""
def view_as_real_copy(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return a copy of the result of torch.view_as_real. See torch.view_as_real_copy."""
def view_copy(input: Tensor, size: Any = None, *, dtype: Any = None, out: Tensor | None = None) -> Tensor:
    """Return a copy in another shape, or of the same bytes as another dtype. See torch.view_copy."""
def vsplit(input: Any, indices_or_sections: Any) -> Any:
    """Return parts along rows. See torch.vsplit."""
def vstack(tensors: Sequence[Tensor], *, out: Tensor | None = None) -> Tensor:
    """Return tensors joined along rows. See torch.vstack."""
def where(condition: Tensor, *args: Any, **kw: Any) -> Any:
    """Return ``input`` where the condition is True, else ``other``. Alone, return its True indices. See torch.where."""
def xlogy(input: Tensor | _Number, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
    """Return x log(y), 0 where x is 0. See torch.xlogy."""
def xlogy_(input: Tensor | _Number, other: Tensor | _Number) -> Tensor:
    """Return x log(y), 0 where x is 0. See torch.xlogy."""
xpu: Any
def zero_(input: Tensor) -> Tensor:
    """Return all elements replaced by 0. See torch.Tensor.zero_."""
@overload
def zeros(*size: builtins.int, dtype: _dtype | None = None, out: Tensor | None = None, layout: Any = None, device: _DeviceLike | None = None, requires_grad: builtins.bool = False, pin_memory: builtins.bool = False) -> Tensor: ...
@overload
def zeros(size: Sequence[builtins.int], *, dtype: _dtype | None = None, out: Tensor | None = None, layout: Any = None, device: _DeviceLike | None = None, requires_grad: builtins.bool = False, pin_memory: builtins.bool = False) -> Tensor:
    """Return a tensor of zeros. See torch.zeros."""
def zeros_like(input: Tensor, *, dtype: _dtype | None = None, layout: Any = None, device: _DeviceLike | None = None, requires_grad: builtins.bool = False, pin_memory: builtins.bool = False, memory_format: Any = None) -> Tensor:
    """Return zeros in the shape of another tensor. See torch.zeros_like."""
