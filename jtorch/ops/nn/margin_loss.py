"""Losses with a margin between classes or between pairs. See torch.nn.functional.multi_margin_loss."""
from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from jtorch.ops import check, promotion
from jtorch.ops.facts import Saves
from jtorch.ops.nn._common import clamp_min, common_dtype, functional, reduced, reduction_of, require_float
from jtorch.ops.nn.distance import pairwise_distance
from jtorch.ops.registry import Scalar, Tensor


def _by_reduction(position: int, unreduced: str):
    return lambda t: {"mean": "MeanBackward0", "sum": "SumBackward0"}.get(t[position], unreduced)


def _same_ndim(name: str, **tensors: jax.Array) -> None:
    sizes = ", ".join(f"{k}: torch.Size({list(t.shape)})" for k, t in tensors.items())
    check.require(len({t.ndim for t in tensors.values()}) == 1, f"{name} : All input tensors should have same "
                  f"dimension but got sizes: {sizes} ")


@functional(promote="numeric", promotes="input1 input2 target", broadcast=False,
    backward_name=_by_reduction(6, "ClampMinBackward0"), saves=Saves(checks=check.nothing))
def margin_ranking_loss(input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0,
                        size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean"):
    """Return how far the first input is from ``margin`` above the second. See torch.nn.functional.margin_ranking_loss."""
    reduction = reduction_of(size_average, reduce, reduction)
    _same_ndim("margin_ranking_loss", input1=input1, input2=input2, target=target)
    shape = check.broadcast_shapes(input1.shape, input2.shape, target.shape)
    a, b, y = (jnp.broadcast_to(x, shape) for x in (input1, input2, target))
    apart = -y * (a - b)
    apart = apart.astype(promotion.to_float(apart.dtype))
    return reduced(clamp_min(apart + jnp.asarray(margin, apart.dtype), 0), reduction)


@functional(backward_name=_by_reduction(6, "AddBackward0"))
def cosine_embedding_loss(input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0,
                          size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean"):
    """Pull pairs with target 1 together and other pairs apart. See torch.nn.functional.cosine_embedding_loss."""
    reduction = reduction_of(size_average, reduce, reduction)
    _check_cosine_embedding(input1, input2, target)
    dtype = common_dtype(input1.dtype, input2.dtype)
    dtype = dtype if jnp.issubdtype(dtype, jnp.inexact) else jnp.float32
    shape = check.broadcast_shapes(input1.shape, input2.shape)
    a, b = (jnp.broadcast_to(x.astype(dtype), shape) for x in (input1, input2))
    axis, eps = target.ndim, 1e-12
    cosine = jnp.sum(a * b, axis=axis) / jnp.sqrt((jnp.sum(a * a, axis=axis) + eps) * (jnp.sum(b * b, axis=axis) + eps))
    out = check.broadcast_shapes(cosine.shape, target.shape)
    target = target.astype(jnp.int8) if target.dtype == bool else target
    cosine, target = jnp.broadcast_to(cosine, out), jnp.broadcast_to(target, out)
    near = jnp.where(target == 1, 1 - cosine, 0)
    return reduced(near + jnp.where(target == -1, clamp_min(cosine - margin, 0), 0), reduction)


def _check_cosine_embedding(input1: jax.Array, input2: jax.Array, target: jax.Array) -> None:
    check.require(target.ndim <= 1, "0D or 1D target tensor expected, multi-target not supported")
    kind = "1D target tensor expects 2D input tensors" if target.ndim else "0D target tensor expects 1D input tensors"
    check.require(input1.ndim == input2.ndim == target.ndim + 1, f"{kind}, but found inputs with sizes "
                  f"{list(input1.shape)} and {list(input2.shape)}.")


@functional(backward_name=_by_reduction(9, "ClampMinBackward0"), saves=Saves(checks=check.nothing))
def triplet_margin_loss(anchor: Tensor, positive: Tensor, negative: Tensor, margin: float = 1.0, p: float = 2,
                        eps: float = 1e-6, swap: bool = False, size_average: bool | None = None,
                        reduce: bool | None = None, reduction: str = "mean"):
    """Return how far the negative is from ``margin`` beyond the positive. See torch.nn.functional.triplet_margin_loss."""
    reduction = reduction_of(size_average, reduce, reduction)
    check.require(margin > 0, f"margin must be greater than 0, got {margin}", ValueError)
    _check_triplet(anchor, positive, negative)
    near, far = pairwise_distance(anchor, positive, p, eps), pairwise_distance(anchor, negative, p, eps)
    if swap:
        far = jnp.minimum(far, pairwise_distance(positive, negative, p, eps))
    near, far = jnp.broadcast_arrays(near, far)
    return reduced(clamp_min(margin + near - far, 0), reduction)


def _check_triplet(anchor: jax.Array, positive: jax.Array, negative: jax.Array) -> None:
    check.require(anchor.ndim == positive.ndim == negative.ndim, "The anchor, positive, and negative tensors are "
                  f"expected to have the same number of dimensions, but got: anchor {anchor.ndim}D, positive "
                  f"{positive.ndim}D, and negative {negative.ndim}D inputs")


def _first_invalid(name: str, input: jax.Array) -> None:
    valid = input.ndim <= 2 and (input.ndim < 2 or input.shape[1] != 0) and (input.ndim != 1 or input.size != 0)
    check.require(valid, "Expected non-empty vector or matrix with optional 0-dim batch size, but got: "
                  f"{list(input.shape)}")


def _multi_margin_flag(input, target, *_):
    classes, flat = input.shape[-1] if input.ndim else 1, target.reshape(-1).astype(jnp.int64)
    if flat.size == 0:
        return jnp.zeros((), bool), jnp.zeros((), jnp.int64)
    wrong = (flat < 0) | (flat >= classes)
    return jnp.any(wrong), flat[jnp.argmax(wrong)]


def _multi_margin_error(detail: int, *_) -> Exception:
    return RuntimeError("target out of range")


@functional(value_check=(_multi_margin_flag, _multi_margin_error))
def multi_margin_loss(input: Tensor, target: Tensor, p: int = 1, margin: Scalar = 1.0, weight: Tensor | None = None,
                      size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean"):
    """Return by how much other classes violate the margin to the target class. See torch.nn.functional.multi_margin_loss."""
    reduction = reduction_of(size_average, reduce, reduction)
    check.require(p in (1, 2), "only p == 1 and p == 2 supported", ValueError)
    check.require(weight is None or weight.ndim == 1, "weight must be one-dimensional", ValueError)
    _check_multi_margin(input, target, weight)
    rows = jnp.atleast_2d(input)
    y = target.reshape(-1, 1).astype(jnp.int64)
    is_target = jnp.arange(rows.shape[1])[None] == y
    own = jnp.sum(jnp.where(is_target, rows, 0), axis=1, keepdims=True)
    gap = jnp.asarray(margin, rows.dtype) - own + rows
    gap = jnp.where(gap > 0, gap, 0) if p == 1 else jnp.square(jnp.where(gap > 0, gap, 0))
    if weight is not None:
        gap = gap * jnp.take(weight, y, axis=0, mode="clip")
    loss = jnp.sum(jnp.where(is_target, 0, gap), axis=1) / rows.shape[1]
    return reduced(loss.reshape(target.shape) if reduction == "none" else loss, reduction)


def _check_multi_margin(input: jax.Array, target: jax.Array, weight: jax.Array | None) -> None:
    _first_invalid("multi_margin_loss", input)
    require_float(input, "multi_margin_loss")
    rows = input.shape[0] if input.ndim == 2 else 1
    check.require(target.ndim <= 1 and target.size == rows, "multi_margin_loss: target tensor should be 1-D with size "
                  f"equal to the number of input samples (batch size). Expected target size [{rows}], but got "
                  f"{list(target.shape)}. Input has shape {list(input.shape)}.")
    classes = input.shape[-1] if input.ndim else 1
    check.require(weight is None or weight.size == classes, f"inconsistent weight size, expected {classes} but got "
                  f"{list(weight.shape) if weight is not None else []}")
    check.require(target.dtype == jnp.int64, f"expected scalar type Long but found {check.scalar_name(target.dtype)}")


def _labels_flag(input, target, *_):
    wrong = (target < -1) | (target >= (input.shape[-1] if input.ndim else 1))
    return jnp.any(wrong), jnp.zeros((), jnp.int64)


def _labels_error(detail: int, *_) -> Exception:
    return RuntimeError("argument #2 'target' is out of range")


@functional(backward_name="MultilabelMarginLossBackward0", value_check=(_labels_flag, _labels_error))
def multilabel_margin_loss(input: Tensor, target: Tensor, size_average: bool | None = None, reduce: bool | None = None,
                           reduction: str = "mean"):
    """Return by how much other classes violate a margin of 1 to the targets. See torch.nn.functional.multilabel_margin_loss."""
    reduction = reduction_of(size_average, reduce, reduction)
    _first_invalid("multilabel_margin_loss", input)
    require_float(input, "multilabel_margin_loss_forward_out_frame")
    check.require(target.shape == input.shape or input.ndim == 0, f"inconsistent target size: {list(target.shape)} for "
                  f"input of size: {list(input.shape)}")
    check.require(target.dtype == jnp.int64, f"expected scalar type Long but found {check.scalar_name(target.dtype)}")
    rows, labels = (x.reshape(-1, x.shape[-1] if x.ndim else 1) for x in (input, target))
    listed = jnp.cumsum((labels < 0).astype(np.int32), axis=1) == 0
    own = jnp.take_along_axis(rows, jnp.where(listed, labels, 0), axis=1, mode="clip")
    classes = jnp.arange(rows.shape[1])[None, None]
    is_target = jnp.any(listed[:, :, None] & (labels[:, :, None] == classes), axis=1)
    gap = 1 - own[:, :, None] + rows[:, None, :]
    counted = listed[:, :, None] & ~is_target[:, None, :] & (gap > 0)
    loss = jnp.sum(jnp.where(counted, gap, 0), axis=(1, 2)) / rows.shape[1]
    return reduced(loss.reshape(input.shape[:-1]) if reduction == "none" else loss, reduction)
