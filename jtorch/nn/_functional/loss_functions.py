"""Loss functions composed of other functions, or of the user's function."""
from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import jtorch.dtype as dtypes
from jtorch._api import nn_functions as F
from jtorch._base import warned
from jtorch.tensor import Tensor

if TYPE_CHECKING:
    from jtorch.nn.modules.linear_cross_entropy import LinearCrossEntropyOptions



def _check_linear(input: Any, linear_weight: Any, linear_bias: Any) -> None:
    """Raise RuntimeError unless the shapes fit a linear layer on rows."""
    if not 1 <= input.dim() <= 2:
        raise RuntimeError(f"expected input with dimensionality 1 or 2, got {input.dim()}")
    if linear_weight.dim() < 2:
        raise RuntimeError(f"expected linear_weight with dimensionality at least 2, got {linear_weight.dim()}")
    features, out = input.shape[-1], tuple(linear_weight.shape[:-1])
    if features != linear_weight.shape[-1]:
        raise RuntimeError("expected equal input and linear_weight last dimensions (in_features), got "
                           f"{features} and {linear_weight.shape[-1]}, respectively")
    if linear_bias is not None and tuple(linear_bias.shape) != out:
        raise RuntimeError(f"expected linear_bias shape {out}, got {tuple(linear_bias.shape)}")
    if len(out) > 1 and input.dim() == 1:
        raise RuntimeError(f"K-dimensional loss defined by linear_weight shape {tuple(linear_weight.shape)} requires batched "
                           f"input, (N, {features}), got unbatched input with shape {tuple(input.shape)}")


def linear_cross_entropy(input: Tensor, linear_weight: Tensor, target: Tensor, *, linear_bias: Tensor | None = None,
                         weight: Tensor | None = None, reduction: str = "mean", ignore_index: int | None = None,
                         label_smoothing: float = 0.0, options: LinearCrossEntropyOptions | None = None) -> Tensor:
    """Compute ``cross_entropy(linear(input, linear_weight, linear_bias), target)``.

    See torch.nn.functional.linear_cross_entropy.

    ``options`` are checked and have no other effect, since XLA decides which values to keep in memory.
    """
    _check_linear(input, linear_weight, linear_bias)
    out = tuple(linear_weight.shape[:-1])
    shape = (*input.shape[:-1], *out)
    if tuple(target.shape) == shape and ignore_index is not None:
        raise RuntimeError("ignore_index cannot be specified when target contains probabilities")
    if options is not None:
        _use_options(options, input, target, out, reduction, label_smoothing, linear_bias)
    rows = linear_weight.reshape((math.prod(out), input.shape[-1]))     # type: ignore[attr-defined]
    bias = None if linear_bias is None else linear_bias.reshape(-1)     # type: ignore[attr-defined]
    return F.cross_entropy(F.linear(input, rows, bias).reshape(shape), target, weight=weight, reduction=reduction,
                           ignore_index=-100 if ignore_index is None else ignore_index, label_smoothing=label_smoothing)


def _use_options(options: Any, input: Any, target: Any, out: tuple, reduction: str, smoothing: float, bias: Any) -> None:
    """Warn and raise as PyTorch's chunked computation does."""
    chunked = len(out) == 1 and reduction in ("mean", "sum", "none") and smoothing == 0 and target.dtype is dtypes.int64
    if chunked:
        _check_chunk(options, input.shape[0] if input.dim() == 2 else 1, out[0], input)
        return
    shape = None if bias is None else tuple(bias.shape)
    warned.warn("linear_cross_entropy: ``options`` ignored; chunked path needs reduction in {'mean','sum','none'}, "
                "label_smoothing == 0, target.dtype == int64, out_features == (). Got "
                f"reduction={reduction!r}, label_smoothing={smoothing}, target.dtype={target.dtype}, "
                f"out_features={out[1:]}, tracing=False, linear_bias.shape={shape}.")


def _check_chunk(options: Any, rows: int, classes: int, input: Any) -> None:
    """Raise ValueError if the options' chunk size and chunking method disagree."""
    method, size = options.chunking_method, options.batch_chunk_size
    if method == "auto":
        half_on_cpu = input.device.type == "cpu" and input.dtype in (dtypes.float16, dtypes.bfloat16)
        method = None if size is not None else "aspect_ratio" if half_on_cpu else "aspect_ratio:2"
    if method is None or size is None:
        return
    wanted = -(-rows // -(-classes // input.shape[-1]))
    found = min((1 << (wanted - 1).bit_length()) // int(method.partition(":")[2] or 1), rows)
    if size != found:
        raise ValueError(f"batch_chunk_size (={size}) and chunking_method ('{method}') give different chunk sizes ({size} vs "
                         f"{found}); pass only one.")


def triplet_margin_with_distance_loss(anchor: Tensor, positive: Tensor, negative: Tensor, *,
                                      distance_function: Callable[[Tensor, Tensor], Tensor] | None = None,
                                      margin: float = 1.0, swap: bool = False, reduction: str = "mean") -> Tensor:
    """Compute triplet_margin_loss with the user's distance function.

    See torch.nn.functional.triplet_margin_with_distance_loss.
    """
    if reduction not in ("mean", "sum", "none"):
        raise ValueError(f"{reduction} is not a valid value for reduction")
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    if not anchor.ndim == positive.ndim == negative.ndim:
        raise RuntimeError("The anchor, positive, and negative tensors are expected to have the same number of dimensions, but "
                           f"got: anchor {anchor.ndim}D, positive {positive.ndim}D, and negative {negative.ndim}D inputs")
    distance: Any = F.pairwise_distance if distance_function is None else distance_function
    near, far = distance(anchor, positive), distance(anchor, negative)
    if swap:
        far = far.minimum(distance(positive, negative))
    loss = (margin + near - far).clamp_min(0)
    return loss if reduction == "none" else getattr(loss, reduction)()
