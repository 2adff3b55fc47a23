"""Operators of ``torch.ops.aten`` whose arguments or results differ from the function of the same name."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from jtorch._api import functions, nn_functions
from jtorch.dtype import bool_
from jtorch.tensor import Tensor

REDUCTIONS = ("none", "mean", "sum")
FORMS: dict[str, Callable] = {}


def form(*names: str) -> Callable:
    """Register a function as the kernel of some operators."""
    def note(fn: Callable) -> Callable:
        FORMS.update(dict.fromkeys(names, fn))
        return fn
    return note


@form("_softmax")
def _softmax(x: Any, dim: int, half_to_float: bool) -> Tensor:
    return functions.softmax(x.float() if half_to_float else x, dim)


@form("_log_softmax")
def _log_softmax(x: Any, dim: int, half_to_float: bool) -> Tensor:
    return functions.log_softmax(x.float() if half_to_float else x, dim)


@form("_safe_softmax")
def _safe_softmax(x: Any, dim: int, dtype: Any = None) -> Any:
    made = functions.softmax(x, dim, dtype=dtype)
    return made.masked_fill((x == float("-inf")).all(dim, keepdim=True), 0.0)       # type: ignore[attr-defined]


@form("_unsafe_view")
def _unsafe_view(x: Any, size: Any) -> Tensor:
    return x.view(size).clone()


@form("lift_fresh", "lift")
def _lift_fresh(x: Tensor) -> Tensor:
    return x


@form("_local_scalar_dense")
def _local_scalar_dense(x: Any) -> Any:
    return x.item()


def _loss(name: str, *others: str) -> None:
    """Register the kernel of a loss whose reduction is a number."""
    def loss(x: Tensor, target: Tensor, *rest: Any) -> Any:
        given = dict(zip(others, rest, strict=False))
        given["reduction"] = REDUCTIONS[given.get("reduction", 1)]
        return getattr(nn_functions, name)(x, target, **given)
    FORMS[name] = loss


for _name, *_others in (("mse_loss", "reduction"), ("smooth_l1_loss", "reduction", "beta"), ("huber_loss", "reduction", "delta"),
                        ("soft_margin_loss", "reduction"), ("multi_margin_loss", "p", "margin", "weight", "reduction"),
                        ("binary_cross_entropy", "weight", "reduction"),
                        ("binary_cross_entropy_with_logits", "weight", "pos_weight", "reduction")):
    _loss(_name, *_others)


@form("nll_loss_forward", "nll_loss2d_forward")
def nll_loss_forward(x: Any, target: Any, weight: Any, reduction: int, ignore_index: int) -> tuple[Any, Any]:
    """Return the loss and the total weight of the targets that are not ignored."""
    made = nn_functions.nll_loss(x, target, weight, ignore_index=ignore_index, reduction=REDUCTIONS[reduction])
    kept = target != ignore_index
    total = kept.sum().to(x.dtype) if weight is None else (weight[target * kept] * kept).sum()
    return made, total if reduction else total * 0


@form("log_sigmoid_forward")
def _log_sigmoid_forward(x: Any) -> tuple[Any, Any]:
    return nn_functions.logsigmoid(x), (-x.abs()).exp()


@form("_prelu_kernel")
def _prelu_kernel(x: Any, weight: Any) -> Any:
    return functions.where(x > 0, x, weight * x)


@form("elu")
def _elu(x: Any, alpha: Any = 1, scale: Any = 1, input_scale: Any = 1) -> Any:
    if input_scale != 1:
        return functions.where(x > 0, x, alpha * functions.expm1(x * input_scale)) * scale
    made: Any = nn_functions.elu(x, alpha)
    return made if scale == 1 else made * scale


@form("_adaptive_avg_pool2d")
def _adaptive_avg_pool2d(x: Tensor, output_size: Any) -> Tensor:
    return nn_functions.adaptive_avg_pool2d(x, output_size)


@form("_adaptive_avg_pool3d")
def _adaptive_avg_pool3d(x: Tensor, output_size: Any) -> Tensor:
    return nn_functions.adaptive_avg_pool3d(x, output_size)


@form("adaptive_max_pool2d")
def _adaptive_max_pool2d(x: Tensor, output_size: Any) -> Any:
    return nn_functions.adaptive_max_pool2d(x, output_size, True)


@form("adaptive_max_pool3d")
def _adaptive_max_pool3d(x: Tensor, output_size: Any) -> Any:
    return nn_functions.adaptive_max_pool3d(x, output_size, True)


def _max_pool(n: int) -> Callable:
    def pool(x: Tensor, kernel_size: Any, stride: Any = (), padding: Any = 0, dilation: Any = 1, ceil_mode: bool = False) -> Any:
        return getattr(nn_functions, f"max_pool{n}d")(x, _one_each(kernel_size), _one_each(stride) or None, _one_each(padding),
                                                      _one_each(dilation), ceil_mode, True)
    return pool


def _avg_pool(n: int) -> Callable:
    def pool(x: Tensor, kernel_size: Any, stride: Any = (), padding: Any = 0, ceil_mode: bool = False,
             count_include_pad: bool = True, divisor_override: Any = None) -> Any:
        return getattr(nn_functions, f"avg_pool{n}d")(x, _one_each(kernel_size), _one_each(stride) or None, _one_each(padding),
                                                      ceil_mode, count_include_pad, divisor_override)
    return pool


def _one_each(value: Any) -> Any:
    return tuple(value) if isinstance(value, (list, tuple)) else value


for _n in (2, 3):
    FORMS[f"max_pool{_n}d_with_indices"] = _max_pool(_n)
    FORMS[f"avg_pool{_n}d"] = _avg_pool(_n)


def _interpolation(mode: str) -> Callable:
    def interpolate(x: Any, output_size: Any, *rest: Any) -> Any:
        align = rest[0] if mode not in ("nearest", "nearest-exact") else None
        scales = rest[1:] if align is not None else rest
        given = [s for s in scales if s is not None]
        if given and len(given) == x.dim() - 2:
            return nn_functions.interpolate(x, scale_factor=tuple(given), mode=mode, align_corners=align,
                                            recompute_scale_factor=False)
        return nn_functions.interpolate(x, tuple(output_size), mode=mode, align_corners=align)
    return interpolate


for _name, _mode in (("upsample_bilinear2d", "bilinear"), ("upsample_bicubic2d", "bicubic"), ("upsample_linear1d", "linear"),
                     ("upsample_trilinear3d", "trilinear"), *[(f"upsample_nearest{n}d", "nearest") for n in (1, 2, 3)],
                     *[(f"_upsample_nearest_exact{n}d", "nearest-exact") for n in (1, 2, 3)]):
    FORMS[_name] = _interpolation(_mode)


def _padding(mode: str) -> Callable:
    return lambda x, padding: nn_functions.pad(x, tuple(padding), mode)


for _kind, _mode in (("reflection", "reflect"), ("replication", "replicate")):
    for _n in (1, 2, 3):
        FORMS[f"{_kind}_pad{_n}d"] = _padding(_mode)


@form("im2col")
def _im2col(x: Tensor, kernel_size: Any, dilation: Any, padding: Any, stride: Any) -> Tensor:
    return nn_functions.unfold(x, tuple(kernel_size), tuple(dilation), tuple(padding), tuple(stride))


@form("col2im")
def _col2im(x: Tensor, output_size: Any, kernel_size: Any, dilation: Any, padding: Any, stride: Any) -> Tensor:
    return nn_functions.fold(x, tuple(output_size), tuple(kernel_size), tuple(dilation), tuple(padding), tuple(stride))


@form("native_group_norm")
def _native_group_norm(x: Any, weight: Any, bias: Any, N: int, C: int, HxW: int, group: int, eps: float) -> tuple:
    rows = x.detach().reshape(N, group, C // group * HxW)
    mean, var = rows.mean(-1), rows.var(-1, correction=0)
    return nn_functions.group_norm(x, group, weight, bias, eps), mean, (var + eps).rsqrt()


@form("_scaled_dot_product_flash_attention_for_cpu")
def _flash_attention(query: Any, key: Any, value: Any, dropout_p: float = 0.0, is_causal: bool = False, *, attn_mask: Any = None,
                     scale: Any = None) -> tuple[Any, Any]:
    made = nn_functions.scaled_dot_product_attention(query, key, value, attn_mask, dropout_p, is_causal, scale=scale,
                                                     enable_gqa=query.shape[-3] != key.shape[-3])
    return made, _log_sum_exp(query.detach(), key.detach(), attn_mask, is_causal, scale)


def _log_sum_exp(q: Any, k: Any, mask: Any, is_causal: bool, scale: Any) -> Any:
    """Return each query's log-sum-exp of the attention scores."""
    if q.shape[-3] != k.shape[-3]:
        k = k.repeat_interleave(q.shape[-3] // k.shape[-3], -3)
    scores = q @ k.transpose(-2, -1) * (q.shape[-1] ** -0.5 if scale is None else scale)
    if is_causal:
        allowed = functions.ones(scores.shape[-2:], dtype=bool_, device=q.device).tril()
        scores = scores.masked_fill(~allowed, float("-inf"))
    elif mask is not None and mask.dtype.is_floating_point:
        scores = scores + mask
    elif mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    return scores.float().logsumexp(-1)


@form("linalg_vector_norm")
def _vector_norm(x: Any, ord: Any = 2, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    return functions.linalg.vector_norm(x, ord, None if dim is None else tuple(dim), keepdim, dtype=dtype)


@form("embedding")
def _embedding(weight: Any, indices: Any, padding_idx: int = -1, scale_grad_by_freq: bool = False, sparse: bool = False) -> Any:
    return nn_functions.embedding(indices, weight, None if padding_idx < 0 else padding_idx,
                                  scale_grad_by_freq=scale_grad_by_freq, sparse=sparse)


@form("repeat")
def _repeat(x: Any, repeats: Any) -> Any:
    return x.repeat(tuple(repeats))


@form("rsub")
def _rsub(x: Any, other: Any, alpha: Any = 1) -> Any:
    return other - x * alpha if alpha != 1 else other - x


@form("unfold")
def _unfold(x: Any, dimension: int, size: int, step: int) -> Any:
    return x.unfold(dimension, size, step)


def _reduced_by_default(name: str, position: int) -> None:
    """Register the kernel of a loss of ``torch``, with the mean (1) as the default reduction."""
    def loss(*args: Any, **kwargs: Any) -> Any:
        if len(args) <= position:
            kwargs.setdefault("reduction", 1)
        return getattr(functions, name)(*args, **kwargs)
    FORMS[name] = loss


for _name, _n in (("cosine_embedding_loss", 4), ("ctc_loss", 5), ("hinge_embedding_loss", 3), ("kl_div", 2),
                  ("margin_ranking_loss", 4), ("triplet_margin_loss", 7)):
    _reduced_by_default(_name, _n)
