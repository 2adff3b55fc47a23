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
from jtorch.nn.functional import ScalingType as ScalingType
from jtorch.nn.functional import SwizzleType as SwizzleType
from jtorch.nn.functional import adaptive_avg_pool1d as adaptive_avg_pool1d
from jtorch.nn.functional import adaptive_avg_pool2d as adaptive_avg_pool2d
from jtorch.nn.functional import adaptive_avg_pool3d as adaptive_avg_pool3d
from jtorch.nn.functional import adaptive_max_pool1d as adaptive_max_pool1d
from jtorch.nn.functional import adaptive_max_pool1d_with_indices as adaptive_max_pool1d_with_indices
from jtorch.nn.functional import adaptive_max_pool2d as adaptive_max_pool2d
from jtorch.nn.functional import adaptive_max_pool2d_with_indices as adaptive_max_pool2d_with_indices
from jtorch.nn.functional import adaptive_max_pool3d as adaptive_max_pool3d
from jtorch.nn.functional import adaptive_max_pool3d_with_indices as adaptive_max_pool3d_with_indices
from jtorch.nn.functional import affine_grid as affine_grid
from jtorch.nn.functional import alpha_dropout as alpha_dropout
from jtorch.nn.functional import avg_pool1d as avg_pool1d
from jtorch.nn.functional import avg_pool2d as avg_pool2d
from jtorch.nn.functional import avg_pool3d as avg_pool3d
from jtorch.nn.functional import batch_norm as batch_norm
from jtorch.nn.functional import bilinear as bilinear
from jtorch.nn.functional import binary_cross_entropy as binary_cross_entropy
from jtorch.nn.functional import binary_cross_entropy_with_logits as binary_cross_entropy_with_logits
from jtorch.nn.functional import celu as celu
from jtorch.nn.functional import celu_ as celu_
from jtorch.nn.functional import channel_shuffle as channel_shuffle
from jtorch.nn.functional import conv1d as conv1d
from jtorch.nn.functional import conv2d as conv2d
from jtorch.nn.functional import conv3d as conv3d
from jtorch.nn.functional import conv_tbc as conv_tbc
from jtorch.nn.functional import conv_transpose1d as conv_transpose1d
from jtorch.nn.functional import conv_transpose2d as conv_transpose2d
from jtorch.nn.functional import conv_transpose3d as conv_transpose3d
from jtorch.nn.functional import cosine_embedding_loss as cosine_embedding_loss
from jtorch.nn.functional import cosine_similarity as cosine_similarity
from jtorch.nn.functional import cross_entropy as cross_entropy
from jtorch.nn.functional import ctc_loss as ctc_loss
from jtorch.nn.functional import dropout as dropout
from jtorch.nn.functional import dropout1d as dropout1d
from jtorch.nn.functional import dropout2d as dropout2d
from jtorch.nn.functional import dropout3d as dropout3d
from jtorch.nn.functional import elu as elu
from jtorch.nn.functional import elu_ as elu_
from jtorch.nn.functional import embedding as embedding
from jtorch.nn.functional import embedding_bag as embedding_bag
from jtorch.nn.functional import feature_alpha_dropout as feature_alpha_dropout
from jtorch.nn.functional import fold as fold
from jtorch.nn.functional import fractional_max_pool2d as fractional_max_pool2d
from jtorch.nn.functional import fractional_max_pool2d_with_indices as fractional_max_pool2d_with_indices
from jtorch.nn.functional import fractional_max_pool3d as fractional_max_pool3d
from jtorch.nn.functional import fractional_max_pool3d_with_indices as fractional_max_pool3d_with_indices
from jtorch.nn.functional import gaussian_nll_loss as gaussian_nll_loss
from jtorch.nn.functional import gelu as gelu
from jtorch.nn.functional import glu as glu
from jtorch.nn.functional import grid_sample as grid_sample
from jtorch.nn.functional import group_norm as group_norm
from jtorch.nn.functional import grouped_mm as grouped_mm
from jtorch.nn.functional import gumbel_softmax as gumbel_softmax
from jtorch.nn.functional import hardshrink as hardshrink
from jtorch.nn.functional import hardsigmoid as hardsigmoid
from jtorch.nn.functional import hardswish as hardswish
from jtorch.nn.functional import hardtanh as hardtanh
from jtorch.nn.functional import hardtanh_ as hardtanh_
from jtorch.nn.functional import hinge_embedding_loss as hinge_embedding_loss
from jtorch.nn.functional import huber_loss as huber_loss
from jtorch.nn.functional import instance_norm as instance_norm
from jtorch.nn.functional import interpolate as interpolate
from jtorch.nn.functional import kl_div as kl_div
from jtorch.nn.functional import l1_loss as l1_loss
from jtorch.nn.functional import layer_norm as layer_norm
from jtorch.nn.functional import leaky_relu as leaky_relu
from jtorch.nn.functional import leaky_relu_ as leaky_relu_
from jtorch.nn.functional import linear as linear
from jtorch.nn.functional import local_response_norm as local_response_norm
from jtorch.nn.functional import log_softmax as log_softmax
from jtorch.nn.functional import logsigmoid as logsigmoid
from jtorch.nn.functional import lp_pool1d as lp_pool1d
from jtorch.nn.functional import lp_pool2d as lp_pool2d
from jtorch.nn.functional import lp_pool3d as lp_pool3d
from jtorch.nn.functional import margin_ranking_loss as margin_ranking_loss
from jtorch.nn.functional import max_pool1d as max_pool1d
from jtorch.nn.functional import max_pool1d_with_indices as max_pool1d_with_indices
from jtorch.nn.functional import max_pool2d as max_pool2d
from jtorch.nn.functional import max_pool2d_with_indices as max_pool2d_with_indices
from jtorch.nn.functional import max_pool3d as max_pool3d
from jtorch.nn.functional import max_pool3d_with_indices as max_pool3d_with_indices
from jtorch.nn.functional import max_unpool1d as max_unpool1d
from jtorch.nn.functional import max_unpool2d as max_unpool2d
from jtorch.nn.functional import max_unpool3d as max_unpool3d
from jtorch.nn.functional import mish as mish
from jtorch.nn.functional import mse_loss as mse_loss
from jtorch.nn.functional import multi_head_attention_forward as multi_head_attention_forward
from jtorch.nn.functional import multi_margin_loss as multi_margin_loss
from jtorch.nn.functional import multilabel_margin_loss as multilabel_margin_loss
from jtorch.nn.functional import multilabel_soft_margin_loss as multilabel_soft_margin_loss
from jtorch.nn.functional import native_channel_shuffle as native_channel_shuffle
from jtorch.nn.functional import nll_loss as nll_loss
from jtorch.nn.functional import normalize as normalize
from jtorch.nn.functional import one_hot as one_hot
from jtorch.nn.functional import pad as pad
from jtorch.nn.functional import pairwise_distance as pairwise_distance
from jtorch.nn.functional import pdist as pdist
from jtorch.nn.functional import pixel_shuffle as pixel_shuffle
from jtorch.nn.functional import pixel_unshuffle as pixel_unshuffle
from jtorch.nn.functional import poisson_nll_loss as poisson_nll_loss
from jtorch.nn.functional import prelu as prelu
from jtorch.nn.functional import relu as relu
from jtorch.nn.functional import relu6 as relu6
from jtorch.nn.functional import relu_ as relu_
from jtorch.nn.functional import rms_norm as rms_norm
from jtorch.nn.functional import rrelu as rrelu
from jtorch.nn.functional import rrelu_ as rrelu_
from jtorch.nn.functional import scaled_dot_product_attention as scaled_dot_product_attention
from jtorch.nn.functional import scaled_grouped_mm as scaled_grouped_mm
from jtorch.nn.functional import scaled_mm as scaled_mm
from jtorch.nn.functional import selu as selu
from jtorch.nn.functional import selu_ as selu_
from jtorch.nn.functional import sigmoid as sigmoid
from jtorch.nn.functional import silu as silu
from jtorch.nn.functional import smooth_l1_loss as smooth_l1_loss
from jtorch.nn.functional import soft_margin_loss as soft_margin_loss
from jtorch.nn.functional import softmax as softmax
from jtorch.nn.functional import softmin as softmin
from jtorch.nn.functional import softplus as softplus
from jtorch.nn.functional import softshrink as softshrink
from jtorch.nn.functional import softsign as softsign
from jtorch.nn.functional import tanh as tanh
from jtorch.nn.functional import tanhshrink as tanhshrink
from jtorch.nn.functional import threshold as threshold
from jtorch.nn.functional import threshold_ as threshold_
from jtorch.nn.functional import triplet_margin_loss as triplet_margin_loss
from jtorch.nn.functional import unfold as unfold
from jtorch.nn.functional import upsample as upsample
from jtorch.nn.functional import upsample_bilinear as upsample_bilinear
from jtorch.nn.functional import upsample_nearest as upsample_nearest
from jtorch.tensor import Tensor

_Number: TypeAlias = builtins.int | builtins.float | builtins.complex
_DeviceLike: TypeAlias = _device | builtins.str | builtins.int

def hardsigmoid_(input: Tensor) -> Tensor:
    """Return ``relu6(input + 3) / 6``. See torch.nn.functional.hardsigmoid."""
def hardswish_(input: Tensor) -> Tensor:
    """Return ``input * relu6(input + 3) / 6``. See torch.nn.functional.hardswish."""
def mish_(input: Tensor) -> Tensor:
    """Return ``input * tanh(softplus(input))``. See torch.nn.functional.mish."""
def relu6_(input: Tensor) -> Tensor:
    """Return the input, at least 0 and at most 6. See torch.nn.functional.relu6."""
def sigmoid_(input: Tensor) -> Tensor:
    """Return the logistic function 1 / (1 + exp(-x)). See torch.sigmoid."""
def silu_(input: Tensor) -> Tensor:
    """Return ``input * sigmoid(input)``. See torch.nn.functional.silu."""
def tanh_(input: Tensor) -> Tensor:
    """Return the hyperbolic tangent. See torch.tanh."""
