"""Functions of ``torch`` that are also in ``torch.nn.functional``. In ``torch`` their reductions and modes are numbers.

The default ``reduction`` is 0 (none) as in PyTorch's Python functions, although its schemas declare 1 (mean).
"""
from __future__ import annotations

from typing import Any

import numpy as np

from jtorch._api import functions, nn_functions, overridden
from jtorch._api.creation import from_host
from jtorch._api.names import put
from jtorch.no_grad import no_grad
from jtorch.ops.random import check_dropout
from jtorch.tensor import Tensor

_REDUCTIONS = ("none", "mean", "sum")
_BAGS = ("sum", "mean", "max")


def binary_cross_entropy_with_logits(input: Tensor, target: Tensor, weight: Tensor | None = None,
                                     pos_weight: Tensor | None = None, reduction: int = 0) -> Tensor:
    """See torch.nn.functional.binary_cross_entropy_with_logits."""
    return nn_functions.binary_cross_entropy_with_logits(input, target, weight, reduction=_REDUCTIONS[reduction],
                                                         pos_weight=pos_weight)


def cosine_embedding_loss(input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0, reduction: int = 0) -> Tensor:
    """See torch.nn.functional.cosine_embedding_loss."""
    return nn_functions.cosine_embedding_loss(input1, input2, target, margin, reduction=_REDUCTIONS[reduction])


def ctc_loss(log_probs: Tensor, targets: Tensor, input_lengths: Any, target_lengths: Any, blank: int = 0, reduction: int = 0,
             zero_infinity: bool = False) -> Tensor:
    """See torch.nn.functional.ctc_loss."""
    return nn_functions.ctc_loss(log_probs, targets, input_lengths, target_lengths, blank, _REDUCTIONS[reduction], zero_infinity)


def hinge_embedding_loss(input: Tensor, target: Tensor, margin: float = 1.0, reduction: int = 0) -> Tensor:
    """See torch.nn.functional.hinge_embedding_loss."""
    return nn_functions.hinge_embedding_loss(input, target, margin, reduction=_REDUCTIONS[reduction])


def kl_div(input: Tensor, target: Tensor, reduction: int = 0, *, log_target: bool = False) -> Tensor:
    """See torch.nn.functional.kl_div. 1 is the mean over all elements."""
    loss = nn_functions.kl_div(input, target, reduction="none", log_target=log_target)
    return loss if reduction == 0 else loss.mean() if reduction == 1 else loss.sum()


def margin_ranking_loss(input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0, reduction: int = 0) -> Tensor:
    """See torch.nn.functional.margin_ranking_loss."""
    if len({t.dim() for t in (input1, input2, target) if isinstance(t, Tensor)}) > 1:       # nn.functional refuses these.
        input1, input2, target = functions.broadcast_tensors(input1, input2, target)
    return nn_functions.margin_ranking_loss(input1, input2, target, margin, reduction=_REDUCTIONS[reduction])


def poisson_nll_loss(input: Tensor, target: Tensor, log_input: bool, full: bool, eps: float, reduction: int) -> Tensor:
    """See torch.nn.functional.poisson_nll_loss."""
    return nn_functions.poisson_nll_loss(input, target, log_input, full, None, eps, None, _REDUCTIONS[reduction])


def triplet_margin_loss(anchor: Tensor, positive: Tensor, negative: Tensor, margin: float = 1.0, p: float = 2, eps: float = 1e-06,
                        swap: bool = False, reduction: int = 0) -> Tensor:
    """See torch.nn.functional.triplet_margin_loss."""
    return nn_functions.triplet_margin_loss(anchor, positive, negative, margin, p, eps, swap, reduction=_REDUCTIONS[reduction])


def batch_norm(input: Tensor, weight: Tensor | None, bias: Tensor | None, running_mean: Tensor | None, running_var: Tensor | None,
               training: bool, momentum: float, eps: float, cudnn_enabled: bool) -> Tensor:
    """See torch.nn.functional.batch_norm."""
    return nn_functions.batch_norm(input, running_mean, running_var, weight, bias, training, momentum, eps)


def instance_norm(input: Tensor, weight: Tensor | None, bias: Tensor | None, running_mean: Tensor | None,
                  running_var: Tensor | None, use_input_stats: bool, momentum: float, eps: float, cudnn_enabled: bool) -> Tensor:
    """See torch.nn.functional.instance_norm."""
    return nn_functions.instance_norm(input, running_mean, running_var, weight, bias, use_input_stats, momentum, eps)


def affine_grid_generator(theta: Tensor, size: Any, align_corners: bool) -> Tensor:
    """See torch.nn.functional.affine_grid."""
    return nn_functions.affine_grid(theta, size, align_corners)


def embedding_renorm_(input: Tensor, indices: Tensor, max_norm: float, norm_type: float) -> Tensor:
    """Scale the rows at ``indices`` down to ``max_norm`` in place, as nn.functional.embedding does first."""
    with no_grad():
        nn_functions.embedding(indices, input, None, max_norm, norm_type)
    return input


def convolution(input: Tensor, weight: Tensor, bias: Tensor | None, stride: Any, padding: Any, dilation: Any, transposed: bool,
                output_padding: Any, groups: int) -> Tensor:
    """Return a convolution or transposed convolution over the input's spatial dims. See torch.nn.functional.conv2d."""
    dims = input.dim() - 2
    if transposed:
        transposes = {1: nn_functions.conv_transpose1d, 2: nn_functions.conv_transpose2d, 3: nn_functions.conv_transpose3d}
        return transposes[dims](input, weight, bias, stride, padding, output_padding, groups, dilation)
    convolutions = {1: nn_functions.conv1d, 2: nn_functions.conv2d, 3: nn_functions.conv3d}
    return convolutions[dims](input, weight, bias, stride, padding, dilation, groups)


def adaptive_max_pool1d(input: Tensor, output_size: Any) -> tuple[Tensor, Tensor]:
    """Return the maxima and where they are. See torch.nn.functional.adaptive_max_pool1d."""
    return nn_functions.adaptive_max_pool1d(input, output_size, return_indices=True)      # type: ignore[return-value]


def embedding_bag(weight: Tensor, indices: Tensor, offsets: Tensor, scale_grad_by_freq: bool = False, mode: int = 0,
                  sparse: bool = False, per_sample_weights: Tensor | None = None, include_last_offset: bool = False,
                  padding_idx: int | None = None) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Return the sums, means or maxima of bags; and the bag of each index, the bags' sizes, and the maxima's rows.

    See torch.nn.functional.embedding_bag, which gives the first alone.
    """
    scaled, kept_sparse = (scale_grad_by_freq, sparse) if _BAGS[mode] != "max" else (False, False)
    made = nn_functions.embedding_bag(indices, weight, offsets, None, 2.0, scaled, _BAGS[mode], kept_sparse,
                                      per_sample_weights, include_last_offset, padding_idx)
    return made, *_of_bags(weight, indices, offsets, include_last_offset, padding_idx, _BAGS[mode])


def _of_bags(weight: Tensor, indices: Tensor, offsets: Tensor, include_last: bool, padding: int | None, mode: str) -> tuple:
    """Return the bag of each index, the number of indices in each bag, and the rows of the maxima."""
    named, begins = (t._numpy_copy() for t in (indices, offsets))
    bags = len(begins) - include_last
    bag = np.searchsorted(begins[:bags], np.arange(len(named)), "right") - 1
    kept = np.ones(len(named), bool) if padding is None else named != padding % weight.shape[0]
    sizes = np.bincount(bag[kept], minlength=bags)
    if mode == "max":
        rows = _rows_of_maxima(weight.detach()._numpy_copy(), named, [np.flatnonzero(kept & (bag == b)) for b in range(bags)])
    elif mode == "sum":
        rows = sizes = np.zeros_like(begins)
        bag = bag[:0] if padding is None else bag
    else:
        rows = sizes
    return tuple([from_host(a.astype(named.dtype)) for a in (bag, sizes, rows)])


def _rows_of_maxima(weight: np.ndarray, named: np.ndarray, bags: list[np.ndarray]) -> np.ndarray:
    rows = np.zeros((len(bags), weight.shape[1]), np.int64)
    for b, at in enumerate(bags):
        if len(at):
            rows[b] = named[at[weight[named[at]].argmax(0)]]
    return rows


def batch_norm_update_stats(input: Tensor, running_mean: Tensor | None, running_var: Tensor | None,
                            momentum: float) -> tuple[Tensor, Tensor]:
    """Return each channel's mean and biased variance, and update the running ones. See torch.nn.functional.batch_norm."""
    dims = [d for d in range(input.dim()) if d != 1]
    var, mean = functions.var_mean(input, dims, correction=0)
    count = input.numel() // input.shape[1]
    for running, new in ((running_mean, mean), (running_var, var * (count / max(count - 1, 1)))):
        if running is not None:
            with no_grad():
                running.mul_(1 - momentum).add_(new, alpha=momentum)
    return mean, var


def dropout_(input: Tensor, p: float, train: bool) -> Tensor:
    """Apply torch.dropout in place."""
    check_dropout(p)
    return nn_functions.dropout(input, p, train, True)


def feature_dropout_(input: Tensor, p: float, train: bool) -> Tensor:
    """Apply torch.feature_dropout in place."""
    check_dropout(p)
    return overridden.feature_dropout(input, p, train, True)


def alpha_dropout_(input: Tensor, p: float, train: bool) -> Tensor:
    """Apply torch.alpha_dropout in place."""
    check_dropout(p)
    return nn_functions.alpha_dropout(input, p, train, True)


def feature_alpha_dropout_(input: Tensor, p: float, train: bool) -> Tensor:
    """Apply torch.feature_alpha_dropout in place."""
    check_dropout(p)
    return nn_functions.feature_alpha_dropout(input, p, train, True)


NAMES = ("binary_cross_entropy_with_logits cosine_embedding_loss ctc_loss hinge_embedding_loss kl_div margin_ranking_loss "
         "poisson_nll_loss triplet_margin_loss batch_norm instance_norm affine_grid_generator embedding_renorm_ convolution "
         "adaptive_max_pool1d embedding_bag batch_norm_update_stats "
         "dropout_ feature_dropout_ alpha_dropout_ feature_alpha_dropout_").split()


def bind() -> None:
    """Add the functions of this module to the package."""
    new = {n: globals()[n] for n in NAMES}
    put(functions, {n: f for n, f in new.items() if n not in vars(functions)})
    put(functions, {n: f for n, f in new.items() if n in vars(functions)}, replaces=True)
