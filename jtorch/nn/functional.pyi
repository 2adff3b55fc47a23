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
from jtorch._api.aten_native import native_channel_shuffle as native_channel_shuffle
from jtorch._api.scaled_mm import ScalingType as ScalingType
from jtorch._api.scaled_mm import SwizzleType as SwizzleType
from jtorch._api.scaled_mm import scaled_grouped_mm as scaled_grouped_mm
from jtorch._api.scaled_mm import scaled_mm as scaled_mm
from jtorch.nn._functional.attention import multi_head_attention_forward as multi_head_attention_forward
from jtorch.nn._functional.dropout import alpha_dropout as alpha_dropout
from jtorch.nn._functional.dropout import dropout as dropout
from jtorch.nn._functional.dropout import feature_alpha_dropout as feature_alpha_dropout
from jtorch.nn._functional.dropout import gumbel_softmax as gumbel_softmax
from jtorch.nn._functional.dropout import rrelu as rrelu
from jtorch.nn._functional.dropout import rrelu_ as rrelu_
from jtorch.nn._functional.dropout import scaled_dot_product_attention as scaled_dot_product_attention
from jtorch.nn._functional.loss_functions import linear_cross_entropy as linear_cross_entropy
from jtorch.nn._functional.loss_functions import triplet_margin_with_distance_loss as triplet_margin_with_distance_loss
from jtorch.tensor import Tensor

_Number: TypeAlias = builtins.int | builtins.float | builtins.complex
_DeviceLike: TypeAlias = _device | builtins.str | builtins.int

def adaptive_avg_pool1d(input: Tensor, output_size: builtins.int | Sequence[builtins.int]) -> Tensor:
    """Return means of ``output_size`` parts of the last dimension. See torch.nn.functional.adaptive_avg_pool1d."""
def adaptive_avg_pool2d(input: Tensor, output_size: builtins.int | Sequence[builtins.int | None]) -> Tensor:
    """Return means of parts of the last two dimensions. See torch.nn.functional.adaptive_avg_pool2d."""
def adaptive_avg_pool3d(input: Tensor, output_size: builtins.int | Sequence[builtins.int | None]) -> Tensor:
    """Return means of parts of the last three dimensions. See torch.nn.functional.adaptive_avg_pool3d."""
def adaptive_max_pool1d(input: Tensor, output_size: builtins.int | Sequence[builtins.int], return_indices: builtins.bool = False) -> Tensor:
    """Return maxima of ``output_size`` parts of the last dimension. See torch.nn.functional.adaptive_max_pool1d."""
def adaptive_max_pool1d_with_indices(input: Tensor, output_size: Any, return_indices: builtins.bool = False) -> Any:
    """The maximum of each part, and where it is. See torch.nn.functional.adaptive_max_pool1d."""
def adaptive_max_pool2d(input: Tensor, output_size: builtins.int | Sequence[builtins.int | None], return_indices: builtins.bool = False) -> Tensor:
    """Return maxima of parts of the last two dimensions. See torch.nn.functional.adaptive_max_pool2d."""
def adaptive_max_pool2d_with_indices(input: Tensor, output_size: Any, return_indices: builtins.bool = False) -> Any:
    """The maximum of each part, and where it is. See torch.nn.functional.adaptive_max_pool2d."""
def adaptive_max_pool3d(input: Tensor, output_size: builtins.int | Sequence[builtins.int | None], return_indices: builtins.bool = False) -> Tensor:
    """Return maxima of parts of the last three dimensions. See torch.nn.functional.adaptive_max_pool3d."""
def adaptive_max_pool3d_with_indices(input: Tensor, output_size: Any, return_indices: builtins.bool = False) -> Any:
    """The maximum of each part, and where it is. See torch.nn.functional.adaptive_max_pool3d."""
def affine_grid(theta: Tensor, size: Sequence[builtins.int], align_corners: builtins.bool | None = None) -> Tensor:
    """Return the grid that grid_sample needs for an affine map. See torch.nn.functional.affine_grid."""
def avg_pool1d(input: Tensor, kernel_size: builtins.int | Sequence[builtins.int], stride: builtins.int | Sequence[builtins.int] | None = None, padding: builtins.int | Sequence[builtins.int] = 0, ceil_mode: builtins.bool = False, count_include_pad: builtins.bool = True) -> Tensor:
    """Return the mean of each window over one dimension. See torch.nn.functional.avg_pool1d."""
def avg_pool2d(input: Tensor, kernel_size: builtins.int | Sequence[builtins.int], stride: builtins.int | Sequence[builtins.int] | None = None, padding: builtins.int | Sequence[builtins.int] = 0, ceil_mode: builtins.bool = False, count_include_pad: builtins.bool = True, divisor_override: builtins.int | None = None) -> Tensor:
    """Return the mean of each window over two dimensions. See torch.nn.functional.avg_pool2d."""
def avg_pool3d(input: Tensor, kernel_size: builtins.int | Sequence[builtins.int], stride: builtins.int | Sequence[builtins.int] | None = None, padding: builtins.int | Sequence[builtins.int] = 0, ceil_mode: builtins.bool = False, count_include_pad: builtins.bool = True, divisor_override: builtins.int | None = None) -> Tensor:
    """Return the mean of each window over three dimensions. See torch.nn.functional.avg_pool3d."""
def batch_norm(input: Tensor, running_mean: Tensor | None, running_var: Tensor | None, weight: Tensor | None = None, bias: Tensor | None = None, training: builtins.bool = False, momentum: _Number = 0.1, eps: builtins.float = 1e-05) -> Tensor:
    """Return the input with mean 0 and variance 1 per channel. See torch.nn.functional.batch_norm."""
def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """Return ``input1 @ weight[k] @ input2`` for each output feature k, plus ``bias``. See torch.nn.functional.bilinear."""
def binary_cross_entropy(input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: builtins.bool | None = None, reduce: builtins.bool | None = None, reduction: builtins.str = 'mean') -> Tensor:
    """Return the cross entropy between probabilities. See torch.nn.functional.binary_cross_entropy."""
def binary_cross_entropy_with_logits(input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: builtins.bool | None = None, reduce: builtins.bool | None = None, reduction: builtins.str = 'mean', pos_weight: Tensor | None = None) -> Tensor:
    """Return binary_cross_entropy of the input's sigmoid. See torch.nn.functional.binary_cross_entropy_with_logits."""
def celu(input: Tensor, alpha: _Number = 1.0, inplace: builtins.bool = False) -> Tensor:
    """Return the input where it is positive, else ``alpha * (exp(input / alpha) - 1)``. See torch.nn.functional.celu."""
def celu_(input: Tensor, alpha: _Number = 1.0) -> Tensor:
    """Return the input where it is positive, else ``alpha * (exp(input / alpha) - 1)``. See torch.nn.functional.celu."""
def channel_shuffle(input: Tensor, groups: builtins.int) -> Tensor:
    """Return the channels of ``groups`` groups, dealt out in turn. See torch.nn.functional.channel_shuffle."""
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
def cosine_embedding_loss(input1: Tensor, input2: Tensor, target: Tensor, margin: builtins.float = 0, size_average: builtins.bool | None = None, reduce: builtins.bool | None = None, reduction: builtins.str = 'mean') -> Tensor:
    """Pull pairs with target 1 together and other pairs apart. See torch.nn.functional.cosine_embedding_loss."""
def cosine_similarity(x1: Tensor, x2: Tensor, dim: builtins.int = 1, eps: builtins.float = 1e-08) -> Tensor:
    """Return the cosine of the angle between vectors along ``dim``. See torch.nn.functional.cosine_similarity."""
def cross_entropy(input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: builtins.bool | None = None, ignore_index: builtins.int = -100, reduce: builtins.bool | None = None, reduction: builtins.str = 'mean', label_smoothing: builtins.float = 0.0) -> Tensor:
    """Return the cross entropy between logits and class indices or probabilities. See torch.nn.functional.cross_entropy."""
def ctc_loss(log_probs: Tensor, targets: Tensor, input_lengths: Tensor | Sequence[builtins.int], target_lengths: Tensor | Sequence[builtins.int], blank: builtins.int = 0, reduction: builtins.str = 'mean', zero_infinity: builtins.bool = False) -> Tensor:
    """Return minus the log-probability of ``targets`` under all alignments. See torch.nn.functional.ctc_loss."""
def dropout1d(input: Tensor, p: builtins.float = 0.5, training: builtins.bool = True, inplace: builtins.bool = False) -> Tensor:
    """Dropout of whole channels of 1-dimensional data. See torch.nn.functional.dropout1d."""
def dropout2d(input: Tensor, p: builtins.float = 0.5, training: builtins.bool = True, inplace: builtins.bool = False) -> Tensor:
    """Dropout of whole channels of 2-dimensional data. See torch.nn.functional.dropout2d."""
def dropout3d(input: Tensor, p: builtins.float = 0.5, training: builtins.bool = True, inplace: builtins.bool = False) -> Tensor:
    """Dropout of whole channels of 3-dimensional data. See torch.nn.functional.dropout3d."""
def elu(input: Tensor, alpha: _Number = 1.0, inplace: builtins.bool = False) -> Tensor:
    """Return the input where it is positive, else ``alpha * (exp(input) - 1)``. See torch.nn.functional.elu."""
def elu_(input: Tensor, alpha: _Number = 1.0) -> Tensor:
    """Return the input where it is positive, else ``alpha * (exp(input) - 1)``. See torch.nn.functional.elu."""
def embedding(input: Tensor, weight: Tensor, padding_idx: builtins.int | None = None, max_norm: builtins.float | None = None, norm_type: builtins.float = 2.0, scale_grad_by_freq: builtins.bool = False, sparse: builtins.bool = False) -> Tensor:
    """Return the rows of ``weight`` at ``input``. See torch.nn.functional.embedding. Gradients are never sparse."""
def embedding_bag(input: Tensor, weight: Tensor, offsets: Tensor | None = None, max_norm: builtins.float | None = None, norm_type: builtins.float = 2, scale_grad_by_freq: builtins.bool = False, mode: builtins.str = 'mean', sparse: builtins.bool = False, per_sample_weights: Tensor | None = None, include_last_offset: builtins.bool = False, padding_idx: builtins.int | None = None) -> Tensor:
    """Return sums, means or maxima of bags of rows. See torch.nn.functional.embedding_bag. Gradients are never sparse."""
def fold(input: Tensor, output_size: builtins.int | Sequence[builtins.int], kernel_size: builtins.int | Sequence[builtins.int], dilation: builtins.int | Sequence[builtins.int] = 1, padding: builtins.int | Sequence[builtins.int] = 0, stride: builtins.int | Sequence[builtins.int] = 1) -> Tensor:
    """Return images from sliding blocks, which add up where they overlap. See torch.nn.functional.fold."""
def fractional_max_pool2d(input: Tensor, kernel_size: Any, output_size: Any = None, output_ratio: Any = None, return_indices: builtins.bool = False, _random_samples: Tensor | None = None) -> Any:
    """Maxima of windows at random places. See torch.nn.functional.fractional_max_pool2d."""
def fractional_max_pool2d_with_indices(input: Tensor, kernel_size: Any, output_size: Any = None, output_ratio: Any = None, return_indices: builtins.bool = False, _random_samples: Tensor | None = None) -> Any:
    """Maxima of windows at random places, and where they are. See torch.nn.functional.fractional_max_pool2d."""
def fractional_max_pool3d(input: Tensor, kernel_size: Any, output_size: Any = None, output_ratio: Any = None, return_indices: builtins.bool = False, _random_samples: Tensor | None = None) -> Any:
    """Maxima of windows at random places. See torch.nn.functional.fractional_max_pool3d."""
def fractional_max_pool3d_with_indices(input: Tensor, kernel_size: Any, output_size: Any = None, output_ratio: Any = None, return_indices: builtins.bool = False, _random_samples: Tensor | None = None) -> Any:
    """Maxima of windows at random places, and where they are. See torch.nn.functional.fractional_max_pool3d."""
def gaussian_nll_loss(input: Tensor, target: Tensor, var: Tensor | builtins.float, full: builtins.bool = False, eps: builtins.float = 1e-06, reduction: builtins.str = 'mean') -> Tensor:
    """Return minus the log-likelihood of normal values with variance ``var``. See torch.nn.functional.gaussian_nll_loss."""
def gelu(input: Tensor, *, approximate: builtins.str = 'none') -> Tensor:
    """Return the input times the normal distribution function at it. See torch.nn.functional.gelu."""
def glu(input: Tensor, dim: builtins.int = -1) -> Tensor:
    """Return the first half along ``dim`` times the sigmoid of the second. See torch.nn.functional.glu."""
def grid_sample(input: Tensor, grid: Tensor, mode: builtins.str = 'bilinear', padding_mode: builtins.str = 'zeros', align_corners: builtins.bool | None = None) -> Tensor:
    """Return the input at the points of ``grid``, whose coordinates are in [-1, 1]. See torch.nn.functional.grid_sample."""
def group_norm(input: Tensor, num_groups: builtins.int, weight: Tensor | None = None, bias: Tensor | None = None, eps: builtins.float = 1e-05) -> Tensor:
    """Return the input with mean 0 and variance 1 over each group of channels. See torch.nn.functional.group_norm."""
def grouped_mm(mat_a: Tensor, mat_b: Tensor, *, offs: Tensor | None = None, bias: Tensor | None = None, out_dtype: _dtype | None = None) -> Tensor:
    """Return one matrix product per group, whose rows or columns end at ``offs``. See torch.nn.functional.grouped_mm."""
def hardshrink(input: Tensor, lambd: _Number = 0.5) -> Tensor:
    """Return the input, or 0 where it is within ``lambd`` of 0. See torch.nn.functional.hardshrink."""
def hardsigmoid(input: Tensor, inplace: builtins.bool = False) -> Tensor:
    """Return ``relu6(input + 3) / 6``. See torch.nn.functional.hardsigmoid."""
def hardswish(input: Tensor, inplace: builtins.bool = False) -> Tensor:
    """Return ``input * relu6(input + 3) / 6``. See torch.nn.functional.hardswish."""
def hardtanh(input: Tensor, min_val: builtins.float = -1.0, max_val: builtins.float = 1.0, inplace: builtins.bool = False) -> Tensor:
    """Return the input, at least ``min_val`` and at most ``max_val``. See torch.nn.functional.hardtanh."""
def hardtanh_(input: Tensor, min_val: builtins.float = -1.0, max_val: builtins.float = 1.0) -> Tensor:
    """Return the input, at least ``min_val`` and at most ``max_val``. See torch.nn.functional.hardtanh."""
def hinge_embedding_loss(input: Tensor, target: Tensor, margin: builtins.float = 1.0, size_average: builtins.bool | None = None, reduce: builtins.bool | None = None, reduction: builtins.str = 'mean') -> Tensor:
    """Return the input for targets of 1, ``margin`` minus it for -1. See torch.nn.functional.hinge_embedding_loss."""
def huber_loss(input: Tensor, target: Tensor, reduction: builtins.str = 'mean', delta: builtins.float = 1.0, weight: Tensor | None = None) -> Tensor:
    """Return a loss that is squared below ``delta`` and ``delta`` times absolute above. See torch.nn.functional.huber_loss."""
def instance_norm(input: Tensor, running_mean: Tensor | None = None, running_var: Tensor | None = None, weight: Tensor | None = None, bias: Tensor | None = None, use_input_stats: builtins.bool = True, momentum: _Number = 0.1, eps: builtins.float = 1e-05) -> Tensor:
    """Return the input with mean 0 and variance 1 per sample and channel. See torch.nn.functional.instance_norm."""
def interpolate(input: Tensor, size: builtins.int | Sequence[builtins.int] | None = None, scale_factor: builtins.float | Sequence[builtins.float] | None = None, mode: builtins.str = 'nearest', align_corners: builtins.bool | None = None, recompute_scale_factor: builtins.bool | None = None, antialias: builtins.bool = False) -> Tensor:
    """Return the input resampled to ``size`` or by ``scale_factor``. See torch.nn.functional.interpolate."""
def kl_div(input: Tensor, target: Tensor, size_average: builtins.bool | None = None, reduce: builtins.bool | None = None, reduction: builtins.str = 'mean', log_target: builtins.bool = False) -> Tensor:
    """Return the divergence of ``target`` from the log-probabilities ``input``. See torch.nn.functional.kl_div."""
def l1_loss(input: Tensor, target: Tensor, size_average: builtins.bool | None = None, reduce: builtins.bool | None = None, reduction: builtins.str = 'mean', weight: Tensor | None = None) -> Tensor:
    """Return the absolute difference. See torch.nn.functional.l1_loss."""
def layer_norm(input: Tensor, normalized_shape: Sequence[builtins.int], weight: Tensor | None = None, bias: Tensor | None = None, eps: builtins.float = 1e-05) -> Tensor:
    """Return the input with mean 0 and variance 1 over its last dimensions. See torch.nn.functional.layer_norm."""
def leaky_relu(input: Tensor, negative_slope: _Number = 0.01, inplace: builtins.bool = False) -> Tensor:
    """Return the input where it is positive, else ``negative_slope`` times it. See torch.nn.functional.leaky_relu."""
def leaky_relu_(input: Tensor, negative_slope: _Number = 0.01) -> Tensor:
    """Return the input where it is positive, else ``negative_slope`` times it. See torch.nn.functional.leaky_relu."""
def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """Return ``input @ weight.T + bias``. See torch.nn.functional.linear."""
def local_response_norm(input: Tensor, size: builtins.int, alpha: builtins.float = 0.0001, beta: builtins.float = 0.75, k: builtins.float = 1.0) -> Tensor:
    """Return the input divided by its neighbouring channels' power. See torch.nn.functional.local_response_norm."""
def log_softmax(input: Tensor, dim: builtins.int | None = None, _stacklevel: builtins.int = 3, dtype: _dtype | None = None) -> Tensor:
    """Return torch.log_softmax, which may be called without ``dim``. See torch.nn.functional.log_softmax."""
def logsigmoid(input: Tensor) -> Tensor:
    """Return ``log(sigmoid(input))``. See torch.nn.functional.logsigmoid."""
def lp_pool1d(input: Tensor, norm_type: builtins.float, kernel_size: builtins.int, stride: builtins.int | Sequence[builtins.int] | None = None, ceil_mode: builtins.bool = False) -> Tensor:
    """Return the p-norm of each window over one dimension. See torch.nn.functional.lp_pool1d."""
def lp_pool2d(input: Tensor, norm_type: builtins.float, kernel_size: builtins.int | Sequence[builtins.int], stride: builtins.int | Sequence[builtins.int] | None = None, ceil_mode: builtins.bool = False) -> Tensor:
    """Return the p-norm of each window over two dimensions. See torch.nn.functional.lp_pool2d."""
def lp_pool3d(input: Tensor, norm_type: builtins.float, kernel_size: builtins.int | Sequence[builtins.int], stride: builtins.int | Sequence[builtins.int] | None = None, ceil_mode: builtins.bool = False) -> Tensor:
    """Return the p-norm of each window over three dimensions. See torch.nn.functional.lp_pool3d."""
def margin_ranking_loss(input1: Tensor, input2: Tensor, target: Tensor, margin: builtins.float = 0, size_average: builtins.bool | None = None, reduce: builtins.bool | None = None, reduction: builtins.str = 'mean') -> Tensor:
    """Return how far the first input is from ``margin`` above the second. See torch.nn.functional.margin_ranking_loss."""
def max_pool1d(input: Tensor, kernel_size: builtins.int | Sequence[builtins.int], stride: builtins.int | Sequence[builtins.int] | None = None, padding: builtins.int | Sequence[builtins.int] = 0, dilation: builtins.int | Sequence[builtins.int] = 1, ceil_mode: builtins.bool = False, return_indices: builtins.bool = False) -> Tensor:
    """Return the maximum of each window over one dimension. See torch.nn.functional.max_pool1d."""
def max_pool1d_with_indices(input: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1, ceil_mode: builtins.bool = False, return_indices: builtins.bool = False) -> Any:
    """The maximum of each window, and where it is. See torch.nn.functional.max_pool1d."""
def max_pool2d(input: Tensor, kernel_size: builtins.int | Sequence[builtins.int], stride: builtins.int | Sequence[builtins.int] | None = None, padding: builtins.int | Sequence[builtins.int] = 0, dilation: builtins.int | Sequence[builtins.int] = 1, ceil_mode: builtins.bool = False, return_indices: builtins.bool = False) -> Tensor:
    """Return the maximum of each window over two dimensions. See torch.nn.functional.max_pool2d."""
def max_pool2d_with_indices(input: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1, ceil_mode: builtins.bool = False, return_indices: builtins.bool = False) -> Any:
    """The maximum of each window, and where it is. See torch.nn.functional.max_pool2d."""
def max_pool3d(input: Tensor, kernel_size: builtins.int | Sequence[builtins.int], stride: builtins.int | Sequence[builtins.int] | None = None, padding: builtins.int | Sequence[builtins.int] = 0, dilation: builtins.int | Sequence[builtins.int] = 1, ceil_mode: builtins.bool = False, return_indices: builtins.bool = False) -> Tensor:
    """Return the maximum of each window over three dimensions. See torch.nn.functional.max_pool3d."""
def max_pool3d_with_indices(input: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1, ceil_mode: builtins.bool = False, return_indices: builtins.bool = False) -> Any:
    """The maximum of each window, and where it is. See torch.nn.functional.max_pool3d."""
def max_unpool1d(input: Tensor, indices: Tensor, kernel_size: builtins.int | Sequence[builtins.int], stride: builtins.int | Sequence[builtins.int] | None = None, padding: builtins.int | Sequence[builtins.int] = 0, output_size: Sequence[builtins.int] | None = None) -> Tensor:
    """Return maxima put back where max_pool1d found them, with 0 elsewhere. See torch.nn.functional.max_unpool1d."""
def max_unpool2d(input: Tensor, indices: Tensor, kernel_size: builtins.int | Sequence[builtins.int], stride: builtins.int | Sequence[builtins.int] | None = None, padding: builtins.int | Sequence[builtins.int] = 0, output_size: Sequence[builtins.int] | None = None) -> Tensor:
    """Return maxima put back where max_pool2d found them, with 0 elsewhere. See torch.nn.functional.max_unpool2d."""
def max_unpool3d(input: Tensor, indices: Tensor, kernel_size: builtins.int | Sequence[builtins.int], stride: builtins.int | Sequence[builtins.int] | None = None, padding: builtins.int | Sequence[builtins.int] = 0, output_size: Sequence[builtins.int] | None = None) -> Tensor:
    """Return maxima put back where max_pool3d found them, with 0 elsewhere. See torch.nn.functional.max_unpool3d."""
def mish(input: Tensor, inplace: builtins.bool = False) -> Tensor:
    """Return ``input * tanh(softplus(input))``. See torch.nn.functional.mish."""
def mse_loss(input: Tensor, target: Tensor, size_average: builtins.bool | None = None, reduce: builtins.bool | None = None, reduction: builtins.str = 'mean', weight: Tensor | None = None) -> Tensor:
    """Return the squared difference. See torch.nn.functional.mse_loss."""
def multi_margin_loss(input: Tensor, target: Tensor, p: builtins.int = 1, margin: _Number = 1.0, weight: Tensor | None = None, size_average: builtins.bool | None = None, reduce: builtins.bool | None = None, reduction: builtins.str = 'mean') -> Tensor:
    """Return by how much other classes violate the margin to the target class. See torch.nn.functional.multi_margin_loss."""
def multilabel_margin_loss(input: Tensor, target: Tensor, size_average: builtins.bool | None = None, reduce: builtins.bool | None = None, reduction: builtins.str = 'mean') -> Tensor:
    """Return by how much other classes violate a margin of 1 to the targets. See torch.nn.functional.multilabel_margin_loss."""
def multilabel_soft_margin_loss(input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: builtins.bool | None = None, reduce: builtins.bool | None = None, reduction: builtins.str = 'mean') -> Tensor:
    """Return the mean over classes of one-versus-all cross entropies. See torch.nn.functional.multilabel_soft_margin_loss."""
def nll_loss(input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: builtins.bool | None = None, ignore_index: builtins.int = -100, reduce: builtins.bool | None = None, reduction: builtins.str = 'mean') -> Tensor:
    """Return minus the log-probability of each target class. See torch.nn.functional.nll_loss."""
def normalize(input: Tensor, p: builtins.float = 2.0, dim: builtins.int = 1, eps: builtins.float = 1e-12, *, out: Tensor | None = None) -> Tensor:
    """Return the input divided by its p-norm along ``dim``, at least ``eps``. See torch.nn.functional.normalize."""
def one_hot(tensor: Tensor, num_classes: builtins.int = -1) -> Tensor:
    """Return 1 at each index along a new last dimension, 0 elsewhere. See torch.nn.functional.one_hot."""
def pad(input: Tensor, pad: Sequence[builtins.int], mode: builtins.str = 'constant', value: builtins.float | None = None) -> Tensor:
    """Extend the last dimensions by constants, mirroring, repeating or wrapping. See torch.nn.functional.pad."""
def pairwise_distance(x1: Tensor, x2: Tensor, p: builtins.float = 2.0, eps: builtins.float = 1e-06, keepdim: builtins.bool = False) -> Tensor:
    """Return the p-norm of ``x1 - x2 + eps`` along the last dimension. See torch.nn.functional.pairwise_distance."""
def pdist(input: Tensor, p: builtins.float = 2.0) -> Tensor:
    """Return the p-norm distance of each pair of rows. See torch.nn.functional.pdist."""
def pixel_shuffle(input: Tensor, upscale_factor: builtins.int) -> Tensor:
    """Return channels spread over ``upscale_factor`` times as many rows and columns. See torch.nn.functional.pixel_shuffle."""
def pixel_unshuffle(input: Tensor, downscale_factor: builtins.int) -> Tensor:
    """Return the inverse of pixel_shuffle. See torch.nn.functional.pixel_unshuffle."""
def poisson_nll_loss(input: Tensor, target: Tensor, log_input: builtins.bool = True, full: builtins.bool = False, size_average: builtins.bool | None = None, eps: builtins.float = 1e-08, reduce: builtins.bool | None = None, reduction: builtins.str = 'mean') -> Tensor:
    """Return minus the log-likelihood of Poisson counts. See torch.nn.functional.poisson_nll_loss."""
def prelu(input: Tensor, weight: Tensor) -> Tensor:
    """Return the input where it is positive, else its channel's ``weight`` times it. See torch.nn.functional.prelu."""
def relu(input: Tensor, inplace: builtins.bool = False) -> Tensor:
    """Return the input where it is positive, else 0. See torch.nn.functional.relu."""
def relu6(input: Tensor, inplace: builtins.bool = False) -> Tensor:
    """Return the input, at least 0 and at most 6. See torch.nn.functional.relu6."""
def relu_(input: Tensor) -> Tensor:
    """Return the input where it is positive, else 0. See torch.nn.functional.relu."""
def rms_norm(input: Tensor, normalized_shape: Sequence[builtins.int], weight: Tensor | None = None, eps: builtins.float | None = None) -> Tensor:
    """Return the input divided by its root mean square over its last dimensions. See torch.nn.functional.rms_norm."""
def selu(input: Tensor, inplace: builtins.bool = False) -> Tensor:
    """Return elu with the scale and alpha that keep mean 0 and variance 1. See torch.nn.functional.selu."""
def selu_(input: Tensor) -> Tensor:
    """Return elu with the scale and alpha that keep mean 0 and variance 1. See torch.nn.functional.selu."""
def sigmoid(input: Tensor, inplace: builtins.bool = False) -> Tensor:
    """Return the logistic function 1 / (1 + exp(-x)). See torch.sigmoid."""
def silu(input: Tensor, inplace: builtins.bool = False) -> Tensor:
    """Return ``input * sigmoid(input)``. See torch.nn.functional.silu."""
def smooth_l1_loss(input: Tensor, target: Tensor, size_average: builtins.bool | None = None, reduce: builtins.bool | None = None, reduction: builtins.str = 'mean', beta: builtins.float = 1.0) -> Tensor:
    """Return a loss that is squared below ``beta`` and absolute above. See torch.nn.functional.smooth_l1_loss."""
def soft_margin_loss(input: Tensor, target: Tensor, size_average: builtins.bool | None = None, reduce: builtins.bool | None = None, reduction: builtins.str = 'mean') -> Tensor:
    """Return ``log(1 + exp(-target * input))``. See torch.nn.functional.soft_margin_loss."""
def softmax(input: Tensor, dim: builtins.int | None = None, _stacklevel: builtins.int = 3, dtype: _dtype | None = None) -> Tensor:
    """Return torch.softmax, which may be called without ``dim``. See torch.nn.functional.softmax."""
def softmin(input: Tensor, dim: builtins.int | None = None, _stacklevel: builtins.int = 3, dtype: _dtype | None = None) -> Tensor:
    """Return softmax of the negated input. See torch.nn.functional.softmin."""
def softplus(input: Tensor, beta: _Number = 1.0, threshold: _Number = 20.0) -> Tensor:
    """Return ``log(1 + exp(beta * input)) / beta``, the input itself above ``threshold``. See torch.nn.functional.softplus."""
def softshrink(input: Tensor, lambd: _Number = 0.5) -> Tensor:
    """Return the input moved towards 0 by ``lambd``, or 0. See torch.nn.functional.softshrink."""
def softsign(input: Tensor) -> Tensor:
    """Return ``input / (1 + |input|)``. See torch.nn.functional.softsign."""
def tanh(input: Tensor, inplace: builtins.bool = False) -> Tensor:
    """Return the hyperbolic tangent. See torch.tanh."""
def tanhshrink(input: Tensor) -> Tensor:
    """Return ``input - tanh(input)``. See torch.nn.functional.tanhshrink."""
def threshold(input: Tensor, threshold: _Number, value: _Number, inplace: builtins.bool = False) -> Tensor:
    """Return the input where it is above ``threshold``, else ``value``. See torch.nn.functional.threshold."""
def threshold_(input: Tensor, threshold: _Number, value: _Number) -> Tensor:
    """Return the input where it is above ``threshold``, else ``value``. See torch.nn.functional.threshold."""
def triplet_margin_loss(anchor: Tensor, positive: Tensor, negative: Tensor, margin: builtins.float = 1.0, p: builtins.float = 2, eps: builtins.float = 1e-06, swap: builtins.bool = False, size_average: builtins.bool | None = None, reduce: builtins.bool | None = None, reduction: builtins.str = 'mean') -> Tensor:
    """Return how far the negative is from ``margin`` beyond the positive. See torch.nn.functional.triplet_margin_loss."""
def unfold(input: Tensor, kernel_size: builtins.int | Sequence[builtins.int], dilation: builtins.int | Sequence[builtins.int] = 1, padding: builtins.int | Sequence[builtins.int] = 0, stride: builtins.int | Sequence[builtins.int] = 1) -> Tensor:
    """Return the sliding blocks of a batch of images, each as a column. See torch.nn.functional.unfold."""
def upsample(input: Tensor, size: builtins.int | Sequence[builtins.int] | None = None, scale_factor: builtins.float | Sequence[builtins.float] | None = None, mode: builtins.str = 'nearest', align_corners: builtins.bool | None = None) -> Tensor:
    """Return interpolate under its old name. See torch.nn.functional.upsample."""
def upsample_bilinear(input: Tensor, size: builtins.int | Sequence[builtins.int] | None = None, scale_factor: builtins.float | Sequence[builtins.float] | None = None) -> Tensor:
    """Return interpolate with mode="bilinear" and align_corners=True. See torch.nn.functional.upsample_bilinear."""
def upsample_nearest(input: Tensor, size: builtins.int | Sequence[builtins.int] | None = None, scale_factor: builtins.float | Sequence[builtins.float] | None = None) -> Tensor:
    """Return interpolate with mode="nearest". See torch.nn.functional.upsample_nearest."""
