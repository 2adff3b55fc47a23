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
from jtorch import BFloat16Tensor as BFloat16Tensor
from jtorch import BoolTensor as BoolTensor
from jtorch import ByteTensor as ByteTensor
from jtorch import CharTensor as CharTensor
from jtorch import DoubleTensor as DoubleTensor
from jtorch import FloatTensor as FloatTensor
from jtorch import Generator as Generator
from jtorch import HalfTensor as HalfTensor
from jtorch import IntTensor as IntTensor
from jtorch import LongTensor as LongTensor
from jtorch import ShortTensor as ShortTensor
from jtorch import abs as abs
from jtorch import abs_ as abs_
from jtorch import absolute as absolute
from jtorch import acos as acos
from jtorch import acos_ as acos_
from jtorch import acosh as acosh
from jtorch import acosh_ as acosh_
from jtorch import adaptive_avg_pool1d as adaptive_avg_pool1d
from jtorch import adaptive_max_pool1d as adaptive_max_pool1d
from jtorch import add as add
from jtorch import addbmm as addbmm
from jtorch import addcdiv as addcdiv
from jtorch import addcmul as addcmul
from jtorch import addmm as addmm
from jtorch import addmv as addmv
from jtorch import addmv_ as addmv_
from jtorch import addr as addr
from jtorch import adjoint as adjoint
from jtorch import affine_grid_generator as affine_grid_generator
from jtorch import alias_copy as alias_copy
from jtorch import all as all
from jtorch import allclose as allclose
from jtorch import alpha_dropout as alpha_dropout
from jtorch import alpha_dropout_ as alpha_dropout_
from jtorch import amax as amax
from jtorch import amin as amin
from jtorch import aminmax as aminmax
from jtorch import angle as angle
from jtorch import any as any
from jtorch import arange as arange
from jtorch import arccos as arccos
from jtorch import arccos_ as arccos_
from jtorch import arccosh as arccosh
from jtorch import arccosh_ as arccosh_
from jtorch import arcsin as arcsin
from jtorch import arcsin_ as arcsin_
from jtorch import arcsinh as arcsinh
from jtorch import arcsinh_ as arcsinh_
from jtorch import arctan as arctan
from jtorch import arctan2 as arctan2
from jtorch import arctan_ as arctan_
from jtorch import arctanh as arctanh
from jtorch import arctanh_ as arctanh_
from jtorch import are_deterministic_algorithms_enabled as are_deterministic_algorithms_enabled
from jtorch import argmax as argmax
from jtorch import argmin as argmin
from jtorch import argsort as argsort
from jtorch import argwhere as argwhere
from jtorch import as_strided as as_strided
from jtorch import as_strided_ as as_strided_
from jtorch import as_strided_copy as as_strided_copy
from jtorch import as_strided_scatter as as_strided_scatter
from jtorch import asin as asin
from jtorch import asin_ as asin_
from jtorch import asinh as asinh
from jtorch import asinh_ as asinh_
from jtorch import atan as atan
from jtorch import atan2 as atan2
from jtorch import atan_ as atan_
from jtorch import atanh as atanh
from jtorch import atanh_ as atanh_
from jtorch import atleast_1d as atleast_1d
from jtorch import atleast_2d as atleast_2d
from jtorch import atleast_3d as atleast_3d
from jtorch import autocast as autocast
from jtorch import autocast_decrement_nesting as autocast_decrement_nesting
from jtorch import autocast_increment_nesting as autocast_increment_nesting
from jtorch import avg_pool1d as avg_pool1d
from jtorch import baddbmm as baddbmm
from jtorch import bartlett_window as bartlett_window
from jtorch import batch_norm as batch_norm
from jtorch import batch_norm_update_stats as batch_norm_update_stats
from jtorch import bernoulli as bernoulli
from jtorch import bilinear as bilinear
from jtorch import binary_cross_entropy_with_logits as binary_cross_entropy_with_logits
from jtorch import bincount as bincount
from jtorch import binomial as binomial
from jtorch import bitwise_and as bitwise_and
from jtorch import bitwise_left_shift as bitwise_left_shift
from jtorch import bitwise_not as bitwise_not
from jtorch import bitwise_or as bitwise_or
from jtorch import bitwise_right_shift as bitwise_right_shift
from jtorch import bitwise_xor as bitwise_xor
from jtorch import blackman_window as blackman_window
from jtorch import block_diag as block_diag
from jtorch import bmm as bmm
from jtorch import broadcast_shapes as broadcast_shapes
from jtorch import broadcast_tensors as broadcast_tensors
from jtorch import broadcast_to as broadcast_to
from jtorch import bucketize as bucketize
from jtorch import can_cast as can_cast
from jtorch import cartesian_prod as cartesian_prod
from jtorch import cat as cat
from jtorch import cdist as cdist
from jtorch import ceil as ceil
from jtorch import ceil_ as ceil_
from jtorch import celu as celu
from jtorch import celu_ as celu_
from jtorch import chain_matmul as chain_matmul
from jtorch import channel_shuffle as channel_shuffle
from jtorch import channels_last as channels_last
from jtorch import channels_last_3d as channels_last_3d
from jtorch import cholesky as cholesky
from jtorch import cholesky_inverse as cholesky_inverse
from jtorch import cholesky_solve as cholesky_solve
from jtorch import chunk as chunk
from jtorch import clamp as clamp
from jtorch import clamp_ as clamp_
from jtorch import clamp_max as clamp_max
from jtorch import clamp_max_ as clamp_max_
from jtorch import clamp_min as clamp_min
from jtorch import clamp_min_ as clamp_min_
from jtorch import clear_autocast_cache as clear_autocast_cache
from jtorch import clip as clip
from jtorch import clip_ as clip_
from jtorch import clone as clone
from jtorch import column_stack as column_stack
from jtorch import combinations as combinations
from jtorch import compiled_with_cxx11_abi as compiled_with_cxx11_abi
from jtorch import complex as complex
from jtorch import concat as concat
from jtorch import concatenate as concatenate
from jtorch import cond as cond
from jtorch import conj as conj
from jtorch import conj_physical as conj_physical
from jtorch import conj_physical_ as conj_physical_
from jtorch import constant_pad_nd as constant_pad_nd
from jtorch import contiguous_format as contiguous_format
from jtorch import conv1d as conv1d
from jtorch import conv2d as conv2d
from jtorch import conv3d as conv3d
from jtorch import conv_tbc as conv_tbc
from jtorch import conv_transpose1d as conv_transpose1d
from jtorch import conv_transpose2d as conv_transpose2d
from jtorch import conv_transpose3d as conv_transpose3d
from jtorch import convolution as convolution
from jtorch import copysign as copysign
from jtorch import corrcoef as corrcoef
from jtorch import cos as cos
from jtorch import cos_ as cos_
from jtorch import cosh as cosh
from jtorch import cosh_ as cosh_
from jtorch import cosine_embedding_loss as cosine_embedding_loss
from jtorch import cosine_similarity as cosine_similarity
from jtorch import count_nonzero as count_nonzero
from jtorch import cov as cov
from jtorch import cross as cross
from jtorch import ctc_loss as ctc_loss
from jtorch import cummax as cummax
from jtorch import cummin as cummin
from jtorch import cumprod as cumprod
from jtorch import cumsum as cumsum
from jtorch import cumulative_trapezoid as cumulative_trapezoid
from jtorch import default_generator as default_generator
from jtorch import deg2rad as deg2rad
from jtorch import deg2rad_ as deg2rad_
from jtorch import dequantize as dequantize
from jtorch import det as det
from jtorch import detach as detach
from jtorch import detach_ as detach_
from jtorch import detach_copy as detach_copy
from jtorch import diag as diag
from jtorch import diag_embed as diag_embed
from jtorch import diagflat as diagflat
from jtorch import diagonal as diagonal
from jtorch import diagonal_copy as diagonal_copy
from jtorch import diagonal_scatter as diagonal_scatter
from jtorch import diff as diff
from jtorch import digamma as digamma
from jtorch import dist as dist
from jtorch import div as div
from jtorch import divide as divide
from jtorch import dot as dot
from jtorch import dropout as dropout
from jtorch import dropout_ as dropout_
from jtorch import dsplit as dsplit
from jtorch import dstack as dstack
from jtorch import e as e
from jtorch import eig as eig
from jtorch import einsum as einsum
from jtorch import embedding as embedding
from jtorch import embedding_bag as embedding_bag
from jtorch import embedding_renorm_ as embedding_renorm_
from jtorch import empty as empty
from jtorch import empty_like as empty_like
from jtorch import empty_permuted as empty_permuted
from jtorch import eq as eq
from jtorch import equal as equal
from jtorch import erf as erf
from jtorch import erf_ as erf_
from jtorch import erfc as erfc
from jtorch import erfc_ as erfc_
from jtorch import erfinv as erfinv
from jtorch import exp as exp
from jtorch import exp2 as exp2
from jtorch import exp2_ as exp2_
from jtorch import exp_ as exp_
from jtorch import expand_copy as expand_copy
from jtorch import expm1 as expm1
from jtorch import expm1_ as expm1_
from jtorch import eye as eye
from jtorch import fake_quantize_per_channel_affine as fake_quantize_per_channel_affine
from jtorch import fake_quantize_per_tensor_affine as fake_quantize_per_tensor_affine
from jtorch import feature_alpha_dropout as feature_alpha_dropout
from jtorch import feature_alpha_dropout_ as feature_alpha_dropout_
from jtorch import feature_dropout as feature_dropout
from jtorch import feature_dropout_ as feature_dropout_
from jtorch import fill as fill
from jtorch import fill_ as fill_
from jtorch import fix as fix
from jtorch import fix_ as fix_
from jtorch import flatten as flatten
from jtorch import flip as flip
from jtorch import fliplr as fliplr
from jtorch import flipud as flipud
from jtorch import float_power as float_power
from jtorch import floor as floor
from jtorch import floor_ as floor_
from jtorch import floor_divide as floor_divide
from jtorch import fmax as fmax
from jtorch import fmin as fmin
from jtorch import fmod as fmod
from jtorch import frac as frac
from jtorch import frac_ as frac_
from jtorch import frexp as frexp
from jtorch import frobenius_norm as frobenius_norm
from jtorch import full as full
from jtorch import full_like as full_like
from jtorch import gather as gather
from jtorch import gcd as gcd
from jtorch import gcd_ as gcd_
from jtorch import ge as ge
from jtorch import geqrf as geqrf
from jtorch import ger as ger
from jtorch import get_autocast_cpu_dtype as get_autocast_cpu_dtype
from jtorch import get_autocast_dtype as get_autocast_dtype
from jtorch import get_autocast_gpu_dtype as get_autocast_gpu_dtype
from jtorch import get_autocast_ipu_dtype as get_autocast_ipu_dtype
from jtorch import get_autocast_xla_dtype as get_autocast_xla_dtype
from jtorch import get_default_dtype as get_default_dtype
from jtorch import get_deterministic_debug_mode as get_deterministic_debug_mode
from jtorch import get_device as get_device
from jtorch import get_device_module as get_device_module
from jtorch import get_num_interop_threads as get_num_interop_threads
from jtorch import get_num_threads as get_num_threads
from jtorch import get_rng_state as get_rng_state
from jtorch import gradient as gradient
from jtorch import greater as greater
from jtorch import greater_equal as greater_equal
from jtorch import grid_sampler as grid_sampler
from jtorch import grid_sampler_2d as grid_sampler_2d
from jtorch import grid_sampler_3d as grid_sampler_3d
from jtorch import group_norm as group_norm
from jtorch import gru as gru
from jtorch import gru_cell as gru_cell
from jtorch import gt as gt
from jtorch import hamming_window as hamming_window
from jtorch import hann_window as hann_window
from jtorch import hardshrink as hardshrink
from jtorch import hash_tensor as hash_tensor
from jtorch import heaviside as heaviside
from jtorch import hinge_embedding_loss as hinge_embedding_loss
from jtorch import histc as histc
from jtorch import histogram as histogram
from jtorch import histogramdd as histogramdd
from jtorch import hsplit as hsplit
from jtorch import hstack as hstack
from jtorch import hypot as hypot
from jtorch import i0 as i0
from jtorch import i0_ as i0_
from jtorch import igamma as igamma
from jtorch import igammac as igammac
from jtorch import imag as imag
from jtorch import index_add as index_add
from jtorch import index_copy as index_copy
from jtorch import index_fill as index_fill
from jtorch import index_put as index_put
from jtorch import index_put_ as index_put_
from jtorch import index_reduce as index_reduce
from jtorch import index_select as index_select
from jtorch import inf as inf
from jtorch import init_num_threads as init_num_threads
from jtorch import initial_seed as initial_seed
from jtorch import inner as inner
from jtorch import instance_norm as instance_norm
from jtorch import inverse as inverse
from jtorch import is_autocast_cache_enabled as is_autocast_cache_enabled
from jtorch import is_autocast_cpu_enabled as is_autocast_cpu_enabled
from jtorch import is_autocast_enabled as is_autocast_enabled
from jtorch import is_autocast_ipu_enabled as is_autocast_ipu_enabled
from jtorch import is_autocast_xla_enabled as is_autocast_xla_enabled
from jtorch import is_complex as is_complex
from jtorch import is_conj as is_conj
from jtorch import is_deterministic_algorithms_warn_only_enabled as is_deterministic_algorithms_warn_only_enabled
from jtorch import is_floating_point as is_floating_point
from jtorch import is_inference as is_inference
from jtorch import is_neg as is_neg
from jtorch import is_nonzero as is_nonzero
from jtorch import is_same_size as is_same_size
from jtorch import is_signed as is_signed
from jtorch import is_storage as is_storage
from jtorch import is_tensor as is_tensor
from jtorch import is_warn_always_enabled as is_warn_always_enabled
from jtorch import isclose as isclose
from jtorch import isfinite as isfinite
from jtorch import isin as isin
from jtorch import isinf as isinf
from jtorch import isnan as isnan
from jtorch import isneginf as isneginf
from jtorch import isposinf as isposinf
from jtorch import isreal as isreal
from jtorch import istft as istft
from jtorch import kaiser_window as kaiser_window
from jtorch import kl_div as kl_div
from jtorch import kron as kron
from jtorch import kthvalue as kthvalue
from jtorch import layer_norm as layer_norm
from jtorch import lcm as lcm
from jtorch import lcm_ as lcm_
from jtorch import ldexp as ldexp
from jtorch import ldexp_ as ldexp_
from jtorch import le as le
from jtorch import legacy_contiguous_format as legacy_contiguous_format
from jtorch import lerp as lerp
from jtorch import less as less
from jtorch import less_equal as less_equal
from jtorch import lgamma as lgamma
from jtorch import linalg as linalg
from jtorch import linspace as linspace
from jtorch import lobpcg as lobpcg
from jtorch import log as log
from jtorch import log10 as log10
from jtorch import log10_ as log10_
from jtorch import log1p as log1p
from jtorch import log1p_ as log1p_
from jtorch import log2 as log2
from jtorch import log2_ as log2_
from jtorch import log_ as log_
from jtorch import log_softmax as log_softmax
from jtorch import logaddexp as logaddexp
from jtorch import logaddexp2 as logaddexp2
from jtorch import logcumsumexp as logcumsumexp
from jtorch import logdet as logdet
from jtorch import logical_and as logical_and
from jtorch import logical_not as logical_not
from jtorch import logical_or as logical_or
from jtorch import logical_xor as logical_xor
from jtorch import logit as logit
from jtorch import logit_ as logit_
from jtorch import logspace as logspace
from jtorch import logsumexp as logsumexp
from jtorch import lstm as lstm
from jtorch import lstm_cell as lstm_cell
from jtorch import lstsq as lstsq
from jtorch import lt as lt
from jtorch import lu as lu
from jtorch import lu_solve as lu_solve
from jtorch import lu_unpack as lu_unpack
from jtorch import manual_seed as manual_seed
from jtorch import margin_ranking_loss as margin_ranking_loss
from jtorch import masked_fill as masked_fill
from jtorch import masked_scatter as masked_scatter
from jtorch import masked_select as masked_select
from jtorch import matmul as matmul
from jtorch import matrix_exp as matrix_exp
from jtorch import matrix_power as matrix_power
from jtorch import matrix_rank as matrix_rank
from jtorch import max as max
from jtorch import max_pool1d as max_pool1d
from jtorch import max_pool1d_with_indices as max_pool1d_with_indices
from jtorch import max_pool2d as max_pool2d
from jtorch import max_pool3d as max_pool3d
from jtorch import maximum as maximum
from jtorch import mean as mean
from jtorch import median as median
from jtorch import memory_format as memory_format
from jtorch import meshgrid as meshgrid
from jtorch import min as min
from jtorch import minimum as minimum
from jtorch import mm as mm
from jtorch import mode as mode
from jtorch import moveaxis as moveaxis
from jtorch import movedim as movedim
from jtorch import msort as msort
from jtorch import mul as mul
from jtorch import multinomial as multinomial
from jtorch import multiply as multiply
from jtorch import mv as mv
from jtorch import mvlgamma as mvlgamma
from jtorch import nan as nan
from jtorch import nan_to_num as nan_to_num
from jtorch import nan_to_num_ as nan_to_num_
from jtorch import nanmean as nanmean
from jtorch import nanmedian as nanmedian
from jtorch import nanquantile as nanquantile
from jtorch import nansum as nansum
from jtorch import narrow as narrow
from jtorch import narrow_copy as narrow_copy
from jtorch import native_batch_norm as native_batch_norm
from jtorch import native_channel_shuffle as native_channel_shuffle
from jtorch import native_dropout as native_dropout
from jtorch import native_group_norm as native_group_norm
from jtorch import native_layer_norm as native_layer_norm
from jtorch import ne as ne
from jtorch import neg as neg
from jtorch import neg_ as neg_
from jtorch import negative as negative
from jtorch import negative_ as negative_
from jtorch import newaxis as newaxis
from jtorch import nextafter as nextafter
from jtorch import nonzero as nonzero
from jtorch import nonzero_static as nonzero_static
from jtorch import norm as norm
from jtorch import norm_except_dim as norm_except_dim
from jtorch import normal as normal
from jtorch import not_equal as not_equal
from jtorch import nuclear_norm as nuclear_norm
from jtorch import numel as numel
from jtorch import ones as ones
from jtorch import ones_like as ones_like
from jtorch import orgqr as orgqr
from jtorch import ormqr as ormqr
from jtorch import outer as outer
from jtorch import pairwise_distance as pairwise_distance
from jtorch import pca_lowrank as pca_lowrank
from jtorch import pdist as pdist
from jtorch import permute as permute
from jtorch import permute_copy as permute_copy
from jtorch import pi as pi
from jtorch import pinverse as pinverse
from jtorch import pixel_shuffle as pixel_shuffle
from jtorch import pixel_unshuffle as pixel_unshuffle
from jtorch import poisson as poisson
from jtorch import poisson_nll_loss as poisson_nll_loss
from jtorch import polar as polar
from jtorch import polygamma as polygamma
from jtorch import positive as positive
from jtorch import pow as pow
from jtorch import prelu as prelu
from jtorch import preserve_format as preserve_format
from jtorch import prod as prod
from jtorch import promote_types as promote_types
from jtorch import put as put
from jtorch import qr as qr
from jtorch import quantile as quantile
from jtorch import rad2deg as rad2deg
from jtorch import rad2deg_ as rad2deg_
from jtorch import rand as rand
from jtorch import rand_like as rand_like
from jtorch import randint as randint
from jtorch import randint_like as randint_like
from jtorch import randn as randn
from jtorch import randn_like as randn_like
from jtorch import randperm as randperm
from jtorch import range as range
from jtorch import ravel as ravel
from jtorch import real as real
from jtorch import reciprocal as reciprocal
from jtorch import reciprocal_ as reciprocal_
from jtorch import relu as relu
from jtorch import relu_ as relu_
from jtorch import remainder as remainder
from jtorch import renorm as renorm
from jtorch import repeat_interleave as repeat_interleave
from jtorch import reshape as reshape
from jtorch import resize_as_ as resize_as_
from jtorch import resolve_conj as resolve_conj
from jtorch import resolve_neg as resolve_neg
from jtorch import result_type as result_type
from jtorch import rms_norm as rms_norm
from jtorch import rnn_relu as rnn_relu
from jtorch import rnn_relu_cell as rnn_relu_cell
from jtorch import rnn_tanh as rnn_tanh
from jtorch import rnn_tanh_cell as rnn_tanh_cell
from jtorch import roll as roll
from jtorch import rot90 as rot90
from jtorch import round as round
from jtorch import round_ as round_
from jtorch import row_stack as row_stack
from jtorch import rrelu as rrelu
from jtorch import rrelu_ as rrelu_
from jtorch import rsqrt as rsqrt
from jtorch import rsqrt_ as rsqrt_
from jtorch import rsub as rsub
from jtorch import scalar_tensor as scalar_tensor
from jtorch import scatter as scatter
from jtorch import scatter_add as scatter_add
from jtorch import scatter_reduce as scatter_reduce
from jtorch import searchsorted as searchsorted
from jtorch import seed as seed
from jtorch import segment_reduce as segment_reduce
from jtorch import select as select
from jtorch import select_copy as select_copy
from jtorch import select_scatter as select_scatter
from jtorch import selu as selu
from jtorch import selu_ as selu_
from jtorch import set_autocast_cache_enabled as set_autocast_cache_enabled
from jtorch import set_autocast_cpu_dtype as set_autocast_cpu_dtype
from jtorch import set_autocast_cpu_enabled as set_autocast_cpu_enabled
from jtorch import set_autocast_dtype as set_autocast_dtype
from jtorch import set_autocast_enabled as set_autocast_enabled
from jtorch import set_autocast_gpu_dtype as set_autocast_gpu_dtype
from jtorch import set_autocast_ipu_dtype as set_autocast_ipu_dtype
from jtorch import set_autocast_ipu_enabled as set_autocast_ipu_enabled
from jtorch import set_autocast_xla_dtype as set_autocast_xla_dtype
from jtorch import set_autocast_xla_enabled as set_autocast_xla_enabled
from jtorch import set_default_dtype as set_default_dtype
from jtorch import set_default_tensor_type as set_default_tensor_type
from jtorch import set_deterministic_debug_mode as set_deterministic_debug_mode
from jtorch import set_flush_denormal as set_flush_denormal
from jtorch import set_num_interop_threads as set_num_interop_threads
from jtorch import set_num_threads as set_num_threads
from jtorch import set_rng_state as set_rng_state
from jtorch import set_warn_always as set_warn_always
from jtorch import sgn as sgn
from jtorch import sigmoid as sigmoid
from jtorch import sigmoid_ as sigmoid_
from jtorch import sign as sign
from jtorch import signbit as signbit
from jtorch import sin as sin
from jtorch import sin_ as sin_
from jtorch import sinc as sinc
from jtorch import sinc_ as sinc_
from jtorch import sinh as sinh
from jtorch import sinh_ as sinh_
from jtorch import slice_copy as slice_copy
from jtorch import slice_scatter as slice_scatter
from jtorch import slogdet as slogdet
from jtorch import softmax as softmax
from jtorch import solve as solve
from jtorch import sort as sort
from jtorch import special as special
from jtorch import split as split
from jtorch import split_copy as split_copy
from jtorch import split_with_sizes as split_with_sizes
from jtorch import split_with_sizes_copy as split_with_sizes_copy
from jtorch import sqrt as sqrt
from jtorch import sqrt_ as sqrt_
from jtorch import square as square
from jtorch import square_ as square_
from jtorch import squeeze as squeeze
from jtorch import squeeze_copy as squeeze_copy
from jtorch import stack as stack
from jtorch import std as std
from jtorch import std_mean as std_mean
from jtorch import stft as stft
from jtorch import sub as sub
from jtorch import subtract as subtract
from jtorch import sum as sum
from jtorch import svd as svd
from jtorch import svd_lowrank as svd_lowrank
from jtorch import swapaxes as swapaxes
from jtorch import swapdims as swapdims
from jtorch import sym_float as sym_float
from jtorch import sym_int as sym_int
from jtorch import sym_ite as sym_ite
from jtorch import sym_max as sym_max
from jtorch import sym_min as sym_min
from jtorch import sym_not as sym_not
from jtorch import sym_sum as sym_sum
from jtorch import symeig as symeig
from jtorch import t as t
from jtorch import t_copy as t_copy
from jtorch import take as take
from jtorch import take_along_dim as take_along_dim
from jtorch import tan as tan
from jtorch import tan_ as tan_
from jtorch import tanh as tanh
from jtorch import tanh_ as tanh_
from jtorch import tensor_split as tensor_split
from jtorch import tensordot as tensordot
from jtorch import threshold as threshold
from jtorch import threshold_ as threshold_
from jtorch import tile as tile
from jtorch import topk as topk
from jtorch import trace as trace
from jtorch import transpose as transpose
from jtorch import transpose_copy as transpose_copy
from jtorch import trapezoid as trapezoid
from jtorch import trapz as trapz
from jtorch import triangular_solve as triangular_solve
from jtorch import tril as tril
from jtorch import tril_indices as tril_indices
from jtorch import triplet_margin_loss as triplet_margin_loss
from jtorch import triu as triu
from jtorch import triu_indices as triu_indices
from jtorch import true_divide as true_divide
from jtorch import trunc as trunc
from jtorch import trunc_ as trunc_
from jtorch import typename as typename
from jtorch import unbind as unbind
from jtorch import unbind_copy as unbind_copy
from jtorch import unflatten as unflatten
from jtorch import unfold_copy as unfold_copy
from jtorch import unique as unique
from jtorch import unique_consecutive as unique_consecutive
from jtorch import unravel_index as unravel_index
from jtorch import unsafe_chunk as unsafe_chunk
from jtorch import unsafe_split as unsafe_split
from jtorch import unsafe_split_with_sizes as unsafe_split_with_sizes
from jtorch import unsqueeze as unsqueeze
from jtorch import unsqueeze_copy as unsqueeze_copy
from jtorch import use_deterministic_algorithms as use_deterministic_algorithms
from jtorch import vander as vander
from jtorch import var as var
from jtorch import var_mean as var_mean
from jtorch import vdot as vdot
from jtorch import view_as_complex as view_as_complex
from jtorch import view_as_complex_copy as view_as_complex_copy
from jtorch import view_as_real as view_as_real
from jtorch import view_as_real_copy as view_as_real_copy
from jtorch import view_copy as view_copy
from jtorch import vsplit as vsplit
from jtorch import vstack as vstack
from jtorch import where as where
from jtorch import while_loop as while_loop
from jtorch import xlogy as xlogy
from jtorch import xlogy_ as xlogy_
from jtorch import zero_ as zero_
from jtorch import zeros as zeros
from jtorch import zeros_like as zeros_like
from jtorch._api.aten_native import _batch_norm_with_update as _batch_norm_with_update
from jtorch._api.aten_native import _chunk_cat as _chunk_cat
from jtorch._api.aten_native import _native_batch_norm_legit as _native_batch_norm_legit
from jtorch._api.aten_native import _softmax_backward_data as _softmax_backward_data
from jtorch._api.aten_native import _unsafe_masked_index as _unsafe_masked_index
from jtorch._api.aten_native import _unsafe_masked_index_put_accumulate as _unsafe_masked_index_put_accumulate
from jtorch._api.aten_native import native_dropout_backward as native_dropout_backward
from jtorch.amp.scaling import unscale_ as _aliased_unscale_
from jtorch.amp.scaling import update_scale_ as _aliased_update_scale_
from jtorch.nn._functional.recurrent import pack_padded_sequence as _aliased_pack_padded_sequence
from jtorch.nn._functional.recurrent import pad_packed_sequence as _aliased_pad_packed_sequence
from jtorch.random import _sample_dirichlet as _sample_dirichlet
from jtorch.random import _standard_gamma as _standard_gamma
from jtorch.tensor import Tensor

_Number: TypeAlias = builtins.int | builtins.float | builtins.complex
_DeviceLike: TypeAlias = _device | builtins.str | builtins.int

_amp_foreach_non_finite_check_and_unscale_ = _aliased_unscale_
_amp_update_scale_ = _aliased_update_scale_
def _dirichlet_grad(x: Tensor, alpha: Tensor, total: Tensor) -> Tensor:
    """Return the derivative of a beta sample ``x`` by ``alpha``, divided by 1 - x. The other concentration is total - alpha."""
def _fake_quantize_learnable_per_channel_affine(input: Tensor, scale: Tensor, zero_point: Tensor, axis: builtins.int, quant_min: builtins.int, quant_max: builtins.int, grad_factor: builtins.float = 1.0) -> Tensor:
    """Return ``input`` rounded to multiples of a scale per slice along ``axis``, with gradients of scales and zero points."""
def _fake_quantize_learnable_per_tensor_affine(input: Tensor, scale: Tensor, zero_point: Tensor, quant_min: builtins.int, quant_max: builtins.int, grad_factor: builtins.float = 1.0) -> Tensor:
    """Return ``input`` rounded to multiples of ``scale[0]``, with gradients of the scale and the zero point."""
def _foreach_abs(self: Any, *args: Any, **kw: Any) -> Any:
    """``abs`` of each tensor of a list. See torch._foreach_abs."""
def _foreach_abs_(self: Any, *args: Any, **kw: Any) -> Any:
    """``abs_`` of each tensor of a list. See torch._foreach_abs_."""
def _foreach_acos(self: Any, *args: Any, **kw: Any) -> Any:
    """``acos`` of each tensor of a list. See torch._foreach_acos."""
def _foreach_acos_(self: Any, *args: Any, **kw: Any) -> Any:
    """``acos_`` of each tensor of a list. See torch._foreach_acos_."""
def _foreach_add(self: Any, *args: Any, **kw: Any) -> Any:
    """``add`` of each tensor of a list. See torch._foreach_add."""
def _foreach_add_(self: Any, *args: Any, **kw: Any) -> Any:
    """``add_`` of each tensor of a list. See torch._foreach_add_."""
def _foreach_addcdiv(self: Any, *args: Any, **kw: Any) -> Any:
    """``addcdiv`` of each tensor of a list. See torch._foreach_addcdiv."""
def _foreach_addcdiv_(self: Any, *args: Any, **kw: Any) -> Any:
    """``addcdiv_`` of each tensor of a list. See torch._foreach_addcdiv_."""
def _foreach_addcmul(self: Any, *args: Any, **kw: Any) -> Any:
    """``addcmul`` of each tensor of a list. See torch._foreach_addcmul."""
def _foreach_addcmul_(self: Any, *args: Any, **kw: Any) -> Any:
    """``addcmul_`` of each tensor of a list. See torch._foreach_addcmul_."""
def _foreach_asin(self: Any, *args: Any, **kw: Any) -> Any:
    """``asin`` of each tensor of a list. See torch._foreach_asin."""
def _foreach_asin_(self: Any, *args: Any, **kw: Any) -> Any:
    """``asin_`` of each tensor of a list. See torch._foreach_asin_."""
def _foreach_atan(self: Any, *args: Any, **kw: Any) -> Any:
    """``atan`` of each tensor of a list. See torch._foreach_atan."""
def _foreach_atan_(self: Any, *args: Any, **kw: Any) -> Any:
    """``atan_`` of each tensor of a list. See torch._foreach_atan_."""
def _foreach_ceil(self: Any, *args: Any, **kw: Any) -> Any:
    """``ceil`` of each tensor of a list. See torch._foreach_ceil."""
def _foreach_ceil_(self: Any, *args: Any, **kw: Any) -> Any:
    """``ceil_`` of each tensor of a list. See torch._foreach_ceil_."""
def _foreach_clamp_max(self: Any, *args: Any, **kw: Any) -> Any:
    """``clamp_max`` of each tensor of a list. See torch._foreach_clamp_max."""
def _foreach_clamp_max_(self: Any, *args: Any, **kw: Any) -> Any:
    """``clamp_max_`` of each tensor of a list. See torch._foreach_clamp_max_."""
def _foreach_clamp_min(self: Any, *args: Any, **kw: Any) -> Any:
    """``clamp_min`` of each tensor of a list. See torch._foreach_clamp_min."""
def _foreach_clamp_min_(self: Any, *args: Any, **kw: Any) -> Any:
    """``clamp_min_`` of each tensor of a list. See torch._foreach_clamp_min_."""
def _foreach_clone(self: Any, *, memory_format: Any = None) -> builtins.tuple:
    """``clone`` of each tensor of a list. See torch._foreach_clone."""
def _foreach_copy_(self: Any, *args: Any, **kw: Any) -> Any:
    """``copy_`` of each tensor of a list. See torch._foreach_copy_."""
def _foreach_cos(self: Any, *args: Any, **kw: Any) -> Any:
    """``cos`` of each tensor of a list. See torch._foreach_cos."""
def _foreach_cos_(self: Any, *args: Any, **kw: Any) -> Any:
    """``cos_`` of each tensor of a list. See torch._foreach_cos_."""
def _foreach_cosh(self: Any, *args: Any, **kw: Any) -> Any:
    """``cosh`` of each tensor of a list. See torch._foreach_cosh."""
def _foreach_cosh_(self: Any, *args: Any, **kw: Any) -> Any:
    """``cosh_`` of each tensor of a list. See torch._foreach_cosh_."""
def _foreach_div(self: Any, *args: Any, **kw: Any) -> Any:
    """``div`` of each tensor of a list. See torch._foreach_div."""
def _foreach_div_(self: Any, *args: Any, **kw: Any) -> Any:
    """``div_`` of each tensor of a list. See torch._foreach_div_."""
def _foreach_erf(self: Any, *args: Any, **kw: Any) -> Any:
    """``erf`` of each tensor of a list. See torch._foreach_erf."""
def _foreach_erf_(self: Any, *args: Any, **kw: Any) -> Any:
    """``erf_`` of each tensor of a list. See torch._foreach_erf_."""
def _foreach_erfc(self: Any, *args: Any, **kw: Any) -> Any:
    """``erfc`` of each tensor of a list. See torch._foreach_erfc."""
def _foreach_erfc_(self: Any, *args: Any, **kw: Any) -> Any:
    """``erfc_`` of each tensor of a list. See torch._foreach_erfc_."""
def _foreach_exp(self: Any, *args: Any, **kw: Any) -> Any:
    """``exp`` of each tensor of a list. See torch._foreach_exp."""
def _foreach_exp_(self: Any, *args: Any, **kw: Any) -> Any:
    """``exp_`` of each tensor of a list. See torch._foreach_exp_."""
def _foreach_expm1(self: Any, *args: Any, **kw: Any) -> Any:
    """``expm1`` of each tensor of a list. See torch._foreach_expm1."""
def _foreach_expm1_(self: Any, *args: Any, **kw: Any) -> Any:
    """``expm1_`` of each tensor of a list. See torch._foreach_expm1_."""
def _foreach_floor(self: Any, *args: Any, **kw: Any) -> Any:
    """``floor`` of each tensor of a list. See torch._foreach_floor."""
def _foreach_floor_(self: Any, *args: Any, **kw: Any) -> Any:
    """``floor_`` of each tensor of a list. See torch._foreach_floor_."""
def _foreach_frac(self: Any, *args: Any, **kw: Any) -> Any:
    """``frac`` of each tensor of a list. See torch._foreach_frac."""
def _foreach_frac_(self: Any, *args: Any, **kw: Any) -> Any:
    """``frac_`` of each tensor of a list. See torch._foreach_frac_."""
def _foreach_lerp(self: Any, *args: Any, **kw: Any) -> Any:
    """``lerp`` of each tensor of a list. See torch._foreach_lerp."""
def _foreach_lerp_(self: Any, *args: Any, **kw: Any) -> Any:
    """``lerp_`` of each tensor of a list. See torch._foreach_lerp_."""
def _foreach_lgamma(self: Any, *args: Any, **kw: Any) -> Any:
    """``lgamma`` of each tensor of a list. See torch._foreach_lgamma."""
def _foreach_lgamma_(self: Any, *args: Any, **kw: Any) -> Any:
    """``lgamma_`` of each tensor of a list. See torch._foreach_lgamma_."""
def _foreach_log(self: Any, *args: Any, **kw: Any) -> Any:
    """``log`` of each tensor of a list. See torch._foreach_log."""
def _foreach_log10(self: Any, *args: Any, **kw: Any) -> Any:
    """``log10`` of each tensor of a list. See torch._foreach_log10."""
def _foreach_log10_(self: Any, *args: Any, **kw: Any) -> Any:
    """``log10_`` of each tensor of a list. See torch._foreach_log10_."""
def _foreach_log1p(self: Any, *args: Any, **kw: Any) -> Any:
    """``log1p`` of each tensor of a list. See torch._foreach_log1p."""
def _foreach_log1p_(self: Any, *args: Any, **kw: Any) -> Any:
    """``log1p_`` of each tensor of a list. See torch._foreach_log1p_."""
def _foreach_log2(self: Any, *args: Any, **kw: Any) -> Any:
    """``log2`` of each tensor of a list. See torch._foreach_log2."""
def _foreach_log2_(self: Any, *args: Any, **kw: Any) -> Any:
    """``log2_`` of each tensor of a list. See torch._foreach_log2_."""
def _foreach_log_(self: Any, *args: Any, **kw: Any) -> Any:
    """``log_`` of each tensor of a list. See torch._foreach_log_."""
def _foreach_max(self: Any) -> Any:
    """``max`` of each tensor of a list. See torch._foreach_max."""
def _foreach_maximum(self: Any, *args: Any, **kw: Any) -> Any:
    """``maximum`` of each tensor of a list. See torch._foreach_maximum."""
def _foreach_maximum_(self: Any, *args: Any, **kw: Any) -> Any:
    """``maximum_`` of each tensor of a list. See torch._foreach_maximum_."""
def _foreach_minimum(self: Any, *args: Any, **kw: Any) -> Any:
    """``minimum`` of each tensor of a list. See torch._foreach_minimum."""
def _foreach_minimum_(self: Any, *args: Any, **kw: Any) -> Any:
    """``minimum_`` of each tensor of a list. See torch._foreach_minimum_."""
def _foreach_mm(self: Any, mat2: Any) -> Any:
    """``mm`` of each tensor of a list. See torch._foreach_mm."""
def _foreach_mul(self: Any, *args: Any, **kw: Any) -> Any:
    """``mul`` of each tensor of a list. See torch._foreach_mul."""
def _foreach_mul_(self: Any, *args: Any, **kw: Any) -> Any:
    """``mul_`` of each tensor of a list. See torch._foreach_mul_."""
def _foreach_neg(self: Any, *args: Any, **kw: Any) -> Any:
    """``neg`` of each tensor of a list. See torch._foreach_neg."""
def _foreach_neg_(self: Any, *args: Any, **kw: Any) -> Any:
    """``neg_`` of each tensor of a list. See torch._foreach_neg_."""
def _foreach_norm(self: Any, ord: Any = 2, dtype: Any = None) -> builtins.tuple:
    """``norm`` of each tensor of a list. See torch._foreach_norm."""
def _foreach_pow(self: Any, *args: Any, **kw: Any) -> Any:
    """``pow`` of each tensor of a list. See torch._foreach_pow."""
def _foreach_pow_(self: Any, *args: Any, **kw: Any) -> Any:
    """``pow_`` of each tensor of a list. See torch._foreach_pow_."""
def _foreach_powsum(self: Any, ord: Any = 2, dtype: Any = None) -> builtins.tuple:
    """``powsum`` of each tensor of a list. See torch._foreach_powsum."""
def _foreach_reciprocal(self: Any, *args: Any, **kw: Any) -> Any:
    """``reciprocal`` of each tensor of a list. See torch._foreach_reciprocal."""
def _foreach_reciprocal_(self: Any, *args: Any, **kw: Any) -> Any:
    """``reciprocal_`` of each tensor of a list. See torch._foreach_reciprocal_."""
def _foreach_round(self: Any, *args: Any, **kw: Any) -> Any:
    """``round`` of each tensor of a list. See torch._foreach_round."""
def _foreach_round_(self: Any, *args: Any, **kw: Any) -> Any:
    """``round_`` of each tensor of a list. See torch._foreach_round_."""
def _foreach_rsqrt(self: Any, *args: Any, **kw: Any) -> Any:
    """``rsqrt`` of each tensor of a list. See torch._foreach_rsqrt."""
def _foreach_rsqrt_(self: Any, *args: Any, **kw: Any) -> Any:
    """``rsqrt_`` of each tensor of a list. See torch._foreach_rsqrt_."""
def _foreach_sigmoid(self: Any, *args: Any, **kw: Any) -> Any:
    """``sigmoid`` of each tensor of a list. See torch._foreach_sigmoid."""
def _foreach_sigmoid_(self: Any, *args: Any, **kw: Any) -> Any:
    """``sigmoid_`` of each tensor of a list. See torch._foreach_sigmoid_."""
def _foreach_sign(self: Any, *args: Any, **kw: Any) -> Any:
    """``sign`` of each tensor of a list. See torch._foreach_sign."""
def _foreach_sign_(self: Any, *args: Any, **kw: Any) -> Any:
    """``sign_`` of each tensor of a list. See torch._foreach_sign_."""
def _foreach_sin(self: Any, *args: Any, **kw: Any) -> Any:
    """``sin`` of each tensor of a list. See torch._foreach_sin."""
def _foreach_sin_(self: Any, *args: Any, **kw: Any) -> Any:
    """``sin_`` of each tensor of a list. See torch._foreach_sin_."""
def _foreach_sinh(self: Any, *args: Any, **kw: Any) -> Any:
    """``sinh`` of each tensor of a list. See torch._foreach_sinh."""
def _foreach_sinh_(self: Any, *args: Any, **kw: Any) -> Any:
    """``sinh_`` of each tensor of a list. See torch._foreach_sinh_."""
def _foreach_sqrt(self: Any, *args: Any, **kw: Any) -> Any:
    """``sqrt`` of each tensor of a list. See torch._foreach_sqrt."""
def _foreach_sqrt_(self: Any, *args: Any, **kw: Any) -> Any:
    """``sqrt_`` of each tensor of a list. See torch._foreach_sqrt_."""
def _foreach_sub(self: Any, *args: Any, **kw: Any) -> Any:
    """``sub`` of each tensor of a list. See torch._foreach_sub."""
def _foreach_sub_(self: Any, *args: Any, **kw: Any) -> Any:
    """``sub_`` of each tensor of a list. See torch._foreach_sub_."""
def _foreach_tan(self: Any, *args: Any, **kw: Any) -> Any:
    """``tan`` of each tensor of a list. See torch._foreach_tan."""
def _foreach_tan_(self: Any, *args: Any, **kw: Any) -> Any:
    """``tan_`` of each tensor of a list. See torch._foreach_tan_."""
def _foreach_tanh(self: Any, *args: Any, **kw: Any) -> Any:
    """``tanh`` of each tensor of a list. See torch._foreach_tanh."""
def _foreach_tanh_(self: Any, *args: Any, **kw: Any) -> Any:
    """``tanh_`` of each tensor of a list. See torch._foreach_tanh_."""
def _foreach_trunc(self: Any, *args: Any, **kw: Any) -> Any:
    """``trunc`` of each tensor of a list. See torch._foreach_trunc."""
def _foreach_trunc_(self: Any, *args: Any, **kw: Any) -> Any:
    """``trunc_`` of each tensor of a list. See torch._foreach_trunc_."""
def _foreach_zero_(self: Any, *args: Any, **kw: Any) -> Any:
    """``zero_`` of each tensor of a list. See torch._foreach_zero_."""
def _histogramdd(input: Tensor, edges: Sequence[Tensor], bins: Sequence[builtins.int] | None = None, range: Sequence[builtins.float] | None = None, weight: Tensor | None = None, density: builtins.bool = False) -> Tensor:
    """Return the number (or weight) of points in each bin of a space, and each dim's edges. See torch.histogramdd."""
_pack_padded_sequence = _aliased_pack_padded_sequence
_pad_packed_sequence = _aliased_pad_packed_sequence
def _segment_reduce(data: Tensor, reduce: builtins.str, *, lengths: Tensor | None = None, indices: Tensor | None = None, offsets: Tensor | None = None, axis: builtins.int = 0, unsafe: builtins.bool = False, initial: builtins.float | None = None) -> Tensor:
    """Return the sum, mean, product or extreme of each run of slices along ``axis``. See torch.segment_reduce."""
def _standard_gamma_grad(input: Tensor, output: Tensor) -> Tensor:
    """Return the derivative of a standard gamma sample ``output`` by its concentration ``input``. See torch._standard_gamma."""
def _upsample_bilinear2d_aa(input: Tensor, output_size: Sequence[builtins.int] | None, align_corners: builtins.bool, scales_h: builtins.float | Sequence[builtins.float] | None = None, scales_w: builtins.float | None = None, *, scale_factors: Sequence[builtins.float] | None = None) -> Tensor:
    """Return interpolate(mode="bilinear", antialias=True) for a size and perhaps scales that differ from the sizes' ratio."""
def _weight_norm(v: Tensor, g: Tensor, dim: builtins.int = 0) -> Tensor:
    """Return the direction of ``v`` with the lengths ``g``. See torch._weight_norm."""
def absolute_(input: Tensor) -> Tensor:
    """Return the magnitude of each element; its gradient at 0 is 0. See torch.abs."""
def add_(input: Tensor | _Number, other: Tensor | _Number, *, alpha: _Number = 1) -> Tensor:
    """Add ``alpha`` times ``other``. See torch.add."""
def addbmm_(input: Tensor, batch1: Tensor, batch2: Tensor, *, beta: _Number = 1, alpha: _Number = 1) -> Tensor:
    """Return beta * input + alpha * the sum of the products of a batch. See torch.addbmm."""
def addcdiv_(input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: _Number = 1) -> Tensor:
    """Add ``value * tensor1 / tensor2``. See torch.addcdiv."""
def addcmul_(input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: _Number = 1) -> Tensor:
    """Add ``value * tensor1 * tensor2``. See torch.addcmul."""
def addmm_(input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: _Number = 1, alpha: _Number = 1) -> Tensor:
    """Return beta * input + alpha * (mat1 @ mat2). See torch.addmm."""
def addr_(input: Tensor, vec1: Tensor, vec2: Tensor, *, beta: _Number = 1, alpha: _Number = 1) -> Tensor:
    """Return beta * input + alpha * the outer product of two vectors. See torch.addr."""
def arctan2_(input: Tensor, other: Tensor) -> Tensor:
    """Return the angle of the vector (``other``, ``input``). See torch.atan2."""
def atan2_(input: Tensor, other: Tensor) -> Tensor:
    """Return the angle of the vector (``other``, ``input``). See torch.atan2."""
def baddbmm_(input: Tensor, batch1: Tensor, batch2: Tensor, *, beta: _Number = 1, alpha: _Number = 1) -> Tensor:
    """Return beta * input + alpha * the products of a batch. See torch.baddbmm."""
def bitwise_and_(input: Tensor | _Number, other: Tensor | _Number) -> Tensor:
    """Return the bits set in both. See torch.bitwise_and."""
def bitwise_left_shift_(input: Tensor | _Number, other: Tensor | _Number) -> Tensor:
    """Return bits moved up by ``other``, 0 beyond the width. See torch.bitwise_left_shift."""
def bitwise_not_(input: Tensor) -> Tensor:
    """Return each bit inverted. See torch.bitwise_not."""
def bitwise_or_(input: Tensor | _Number, other: Tensor | _Number) -> Tensor:
    """Return the bits set in either. See torch.bitwise_or."""
def bitwise_right_shift_(input: Tensor | _Number, other: Tensor | _Number) -> Tensor:
    """Return bits moved down by ``other``, keeping the sign. See torch.bitwise_right_shift."""
def bitwise_xor_(input: Tensor | _Number, other: Tensor | _Number) -> Tensor:
    """Return the bits set in one of the two. See torch.bitwise_xor."""
def copysign_(input: Tensor, other: Tensor | _Number) -> Tensor:
    """Return the magnitude of ``input`` with the sign of ``other``. See torch.copysign."""
def cumprod_(input: Tensor, dim: builtins.int, *, dtype: _dtype | None = None) -> Tensor:
    """Return the products of the elements so far along ``dim``. See torch.cumprod."""
def cumsum_(input: Tensor, dim: builtins.int, *, dtype: _dtype | None = None) -> Tensor:
    """Return the sums of the elements so far along ``dim``. See torch.cumsum."""
def digamma_(input: Tensor) -> Tensor:
    """Return the logarithmic derivative of the gamma function. See torch.digamma."""
def div_(input: Tensor | _Number, other: Tensor | _Number, *, rounding_mode: builtins.str | None = None) -> Tensor:
    """Return the quotient, rounded if ``rounding_mode`` is "trunc" or "floor". See torch.div."""
def divide_(input: Tensor | _Number, other: Tensor | _Number, *, rounding_mode: builtins.str | None = None) -> Tensor:
    """Return the quotient, rounded if ``rounding_mode`` is "trunc" or "floor". See torch.div."""
def eq_(input: Tensor, other: Tensor | _Number) -> Tensor:
    """Return whether the elements are equal. See torch.eq."""
def erfinv_(input: Tensor) -> Tensor:
    """Return the inverse of the error function. See torch.erfinv."""
def float_power_(input: Tensor | _Number, exponent: Tensor | builtins.complex) -> Tensor:
    """Return ``pow`` computed in float64 or complex128. See torch.float_power."""
def floor_divide_(input: Tensor | _Number, other: Tensor | _Number) -> Tensor:
    """Return the quotient rounded down. See torch.floor_divide."""
def fmod_(input: Tensor, other: Tensor | _Number) -> Tensor:
    """Return the remainder of truncating division, with the sign of ``input``. See torch.fmod."""
def ge_(input: Tensor, other: Tensor | _Number) -> Tensor:
    """Return whether ``input`` is greater or equal. See torch.ge."""
def greater_(input: Tensor, other: Tensor | _Number) -> Tensor:
    """Return whether ``input`` is greater. See torch.gt."""
def greater_equal_(input: Tensor, other: Tensor | _Number) -> Tensor:
    """Return whether ``input`` is greater or equal. See torch.ge."""
def gt_(input: Tensor, other: Tensor | _Number) -> Tensor:
    """Return whether ``input`` is greater. See torch.gt."""
def heaviside_(input: Tensor, values: Tensor) -> Tensor:
    """Return 0 below 0, 1 above, ``values`` at 0. See torch.heaviside."""
def hypot_(input: Tensor, other: Tensor) -> Tensor:
    """Return the length of the vector (``input``, ``other``). See torch.hypot."""
def igamma_(input: Tensor, other: Tensor) -> Tensor:
    """Return the regularized lower incomplete gamma function. See torch.igamma."""
def igammac_(input: Tensor, other: Tensor) -> Tensor:
    """Return the regularized upper incomplete gamma function. See torch.igammac."""
def index_add_(input: Tensor, dim: builtins.int, index: Tensor, source: Tensor, *, alpha: _Number = 1) -> Tensor:
    """Add ``alpha`` times the slices of ``source`` to the slices at an index vector. See torch.Tensor.index_add_."""
def index_copy_(input: Tensor, dim: builtins.int, index: Tensor, source: Tensor) -> Tensor:
    """Return the slices at an index vector replaced by those of ``source``. See torch.Tensor.index_copy_."""
def index_fill_(input: Tensor, dim: builtins.int, index: Tensor, value: Tensor | _Number) -> Tensor:
    """Return the slices at an index vector filled with one value. See torch.Tensor.index_fill_."""
def index_reduce_(input: Tensor, dim: builtins.int, index: Tensor, source: Tensor, reduce: builtins.str, *, include_self: builtins.bool = True) -> Tensor:
    """Return slices combined by prod, mean, amax or amin at an index vector. See torch.Tensor.index_reduce_."""
def le_(input: Tensor, other: Tensor | _Number) -> Tensor:
    """Return whether ``input`` is less or equal. See torch.le."""
def lerp_(input: Tensor, end: Tensor, weight: Tensor | _Number) -> Tensor:
    """Return ``input + weight * (end - input)``. See torch.lerp."""
def less_(input: Tensor, other: Tensor | _Number) -> Tensor:
    """Return whether ``input`` is less. See torch.lt."""
def less_equal_(input: Tensor, other: Tensor | _Number) -> Tensor:
    """Return whether ``input`` is less or equal. See torch.le."""
def lgamma_(input: Tensor) -> Tensor:
    """Return the logarithm of the gamma function's magnitude. See torch.lgamma."""
def logical_and_(input: Tensor, other: Tensor) -> Tensor:
    """Return whether both are true. See torch.logical_and."""
def logical_not_(input: Tensor) -> Tensor:
    """Return whether each element is false. See torch.logical_not."""
def logical_or_(input: Tensor, other: Tensor) -> Tensor:
    """Return whether either is true. See torch.logical_or."""
def logical_xor_(input: Tensor, other: Tensor) -> Tensor:
    """Return whether one of the two is true. See torch.logical_xor."""
def lt_(input: Tensor, other: Tensor | _Number) -> Tensor:
    """Return whether ``input`` is less. See torch.lt."""
def masked_fill_(input: Tensor, mask: Tensor, value: Tensor | _Number) -> Tensor:
    """Return the input with one value where the mask is True. See torch.Tensor.masked_fill_."""
def masked_scatter_(input: Tensor, mask: Tensor, source: Tensor) -> Tensor:
    """Return the input with the elements of ``source``, in order, where the mask is True. See torch.Tensor.masked_scatter_."""
def mul_(input: Tensor | _Number, other: Tensor | _Number) -> Tensor:
    """Return the product. See torch.mul."""
def multiply_(input: Tensor | _Number, other: Tensor | _Number) -> Tensor:
    """Return the product. See torch.mul."""
def mvlgamma_(input: Tensor, p: builtins.int) -> Tensor:
    """Return the logarithm of the multivariate gamma function. See torch.mvlgamma."""
def ne_(input: Tensor, other: Tensor | _Number) -> Tensor:
    """Return whether the elements differ. See torch.ne."""
def nextafter_(input: Tensor, other: Tensor) -> Tensor:
    """Return the next number the dtype has after ``input``, towards ``other``. See torch.nextafter."""
def not_equal_(input: Tensor, other: Tensor | _Number) -> Tensor:
    """Return whether the elements differ. See torch.ne."""
def polygamma_(n: builtins.int, input: Tensor) -> Tensor:
    """Return the ``n``-th derivative of digamma. See torch.polygamma."""
def pow_(input: Tensor | _Number, exponent: Tensor | builtins.complex) -> Tensor:
    """Return ``input`` to the power ``exponent``. See torch.pow."""
def put_(input: Tensor, index: Tensor, source: Tensor, accumulate: builtins.bool = False) -> Tensor:
    """Write ``source`` to flat indices of the input. See torch.Tensor.put_."""
def remainder_(input: Tensor | _Number, other: Tensor | _Number) -> Tensor:
    """Return the remainder of floor division, with the sign of ``other``. See torch.remainder."""
def renorm_(input: Tensor, p: _Number, dim: builtins.int, maxnorm: _Number) -> Tensor:
    """Return each slice along ``dim`` scaled down to have p-norm ``maxnorm`` at most. See torch.renorm."""
def scatter_(input: Tensor, dim: builtins.int, index: Tensor, src: Tensor | _Number | None = None, *, value: _Number | None = None, reduce: builtins.str | None = None) -> Tensor:
    """Return ``src`` (or one value) written to ``self[index[i][j]][j]`` for dim 0, and so on. See torch.scatter."""
def scatter_add_(input: Tensor, dim: builtins.int, index: Tensor, src: Tensor) -> Tensor:
    """Return ``src`` added at ``self[index[i][j]][j]`` for dim 0, and so on. See torch.scatter_add."""
def scatter_reduce_(input: Tensor, dim: builtins.int, index: Tensor, src: Tensor, reduce: builtins.str, *, include_self: builtins.bool = True) -> Tensor:
    """Return values combined by sum, prod, mean, amax or amin at indexed places. See torch.scatter_reduce."""
def sgn_(input: Tensor) -> Tensor:
    """Return the sign, for complex numbers the direction. See torch.sgn."""
def sign_(input: Tensor) -> Tensor:
    """Return -1, 0 or 1. See torch.sign."""
def sub_(input: Tensor | _Number, other: Tensor | _Number, *, alpha: _Number = 1) -> Tensor:
    """Subtract ``alpha`` times ``other``. See torch.sub."""
def subtract_(input: Tensor | _Number, other: Tensor | _Number, *, alpha: _Number = 1) -> Tensor:
    """Subtract ``alpha`` times ``other``. See torch.sub."""
def tril_(input: Tensor, diagonal: builtins.int = 0) -> Tensor:
    """Return the lower triangle, zeros elsewhere. See torch.tril."""
def triu_(input: Tensor, diagonal: builtins.int = 0) -> Tensor:
    """Return the upper triangle, zeros elsewhere. See torch.triu."""
def true_divide_(input: Tensor | _Number, other: Tensor | _Number) -> Tensor:
    """Return the quotient. See torch.true_divide."""
def zero(input: Tensor) -> Tensor:
    """Return all elements replaced by 0. See torch.Tensor.zero_."""
