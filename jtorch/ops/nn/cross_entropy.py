"""Losses of class indices: cross_entropy and nll_loss. See torch.nn.functional.cross_entropy.

The log-probability of a target is gathered, which reads nothing else. Its derivative is that of a comparison and a sum,
so that backward is elementwise and fuses with the preceding loop, instead of a scatter.
"""
from __future__ import annotations

import functools

import jax
import jax.numpy as jnp
from jax import lax

from jtorch.ops import check
from jtorch.ops.elementwise import widen
from jtorch.ops.facts import Saves
from jtorch.ops.nn._common import common_dtype, functional, not_implemented, reduction_of, require_float
from jtorch.ops.registry import Tensor


def _check_index_target(input: jax.Array, target: jax.Array, weight: jax.Array | None) -> None:
    if input.ndim == 1:
        check.require(target.ndim == 0 or target.shape == (1,), "For 1D input, 1D target must have size 1, but got "
                      f"target size: {target.shape[0] if target.ndim else 1}", ValueError)
    elif input.ndim == 2:
        check.require(target.ndim <= 1, "0D or 1D target tensor expected, multi-target not supported")
    else:
        _check_spatial_target(input, target)
    check.require(target.dtype in (jnp.int64, jnp.uint8), "expected target dtype to be Long or Byte, but got "
                  f"{check.scalar_name(target.dtype)}", advice="Classes are of int64: target.long(). Probabilities "
                                                               "have the input's shape.")
    channels = input.shape[min(1, input.ndim - 1)]
    check.require(weight is None or weight.shape == (channels,), "weight tensor should be defined either for all "
                  f"{channels} classes or no classes but got weight tensor of shape: "
                  f"{list(weight.shape) if weight is not None else 0}")
    check.require(weight is None or weight.dtype == input.dtype, "expected scalar type "
                  f"{check.scalar_name(input.dtype)} but found "
                  f"{check.scalar_name(weight.dtype) if weight is not None else ''}")


def _check_spatial_target(input: jax.Array, target: jax.Array) -> None:
    expected = [input.shape[0], *input.shape[2:]]
    if input.ndim == 4 and target.ndim == 3:
        check.require(list(target.shape) == expected, f"size mismatch (got input: {list(input.shape)} , target: "
                      f"{list(target.shape)}")
    check.require(input.ndim != 4 or target.ndim == 3, "only batches of spatial targets supported (3D tensors) but got "
                  f"targets of dimension: {target.ndim}")
    check.require(list(target.shape) == expected, f"Expected target size {expected}, got {list(target.shape)}")


def _check_batch(input: jax.Array, target: jax.Array) -> None:
    if input.ndim > 1:
        n, m = input.shape[0], target.shape[0] if target.ndim else 1
        check.require(n == m, f"Expected input batch_size ({n}) to match target batch_size ({m}).", ValueError)


def _weights(x: jax.Array, target: jax.Array, weight: jax.Array | None, ignore_index: int) -> jax.Array:
    """Return the weight of each target: its class's weight, or 0 if it is ignored."""
    kept = target != ignore_index
    if weight is None:
        return kept.astype(x.dtype)
    picked = jnp.take(weight.astype(x.dtype), jnp.where(kept, target, 0), axis=0, mode="clip")
    return jnp.where(kept, picked, 0)


@functools.partial(jax.custom_jvp, nondiff_argnums=(2,))
def _picked(x: jax.Array, target: jax.Array, axis: int) -> jax.Array:
    """Return the element of ``x`` at each target along an axis; the result is arbitrary for invalid targets."""
    if not x.size:
        return jnp.zeros(target.shape, x.dtype)
    return jnp.squeeze(jnp.take_along_axis(x, jnp.expand_dims(target, axis), axis, mode="clip"), axis)


@_picked.defjvp
def _tangent_of_picked(axis: int, primals: tuple, tangents: tuple) -> tuple[jax.Array, jax.Array]:
    x, target = primals
    classes = lax.broadcasted_iota(target.dtype, x.shape, axis)
    picked = jnp.where(classes == jnp.expand_dims(target, axis), tangents[0], 0)
    return _picked(x, target, axis), jnp.sum(picked, axis=axis)


def _averaged(loss: jax.Array, weights: jax.Array, reduction: str) -> jax.Array:
    """Return ``loss`` reduced. The mean divides by the sum of the weights."""
    if reduction == "none":
        return loss
    total = jnp.sum(loss)
    return total / jnp.sum(weights) if reduction == "mean" else total


def _picked_log_softmax(x: jax.Array, target: jax.Array, axis: int) -> jax.Array:
    """Return ``_picked`` of log_softmax, with the same bits. Picking does not have to wait for the sum."""
    largest = lax.stop_gradient(jnp.max(x, axis=axis, initial=-jnp.inf))
    total = jnp.sum(jnp.exp(x - jnp.expand_dims(largest, axis)), axis=axis)
    return _picked(x, target, axis) - largest - jnp.log(total)


def _classes(x: jax.Array, target: jax.Array) -> tuple[jax.Array, int]:
    """Return (targets as int64, the class axis of ``x``)."""
    axis = min(1, x.ndim - 1)
    return target.astype(jnp.int64).reshape(x.shape[:axis] + x.shape[axis + 1:]), axis


def _nll(picked: jax.Array, target: jax.Array, weight: jax.Array | None, ignore_index: int, reduction: str) -> jax.Array:
    weights = _weights(picked, target, weight, ignore_index)
    return _averaged(jnp.where(weights != 0, -weights * picked, 0), weights, reduction)


def _smoothed(logp, target, weight, ignore_index, reduction, smoothing: float) -> jax.Array:
    target, axis = _classes(logp, target)
    classes = logp.shape[axis]
    weighted = logp if weight is None else logp * _along(weight.astype(logp.dtype), axis, logp.ndim)
    spread = jnp.where(target == ignore_index, 0, -jnp.sum(weighted, axis=axis))
    nll = _nll(_picked(logp, target, axis), target, weight, ignore_index, reduction)
    spread = _averaged(spread, _weights(logp, target, weight, ignore_index), reduction)
    return (1 - smoothing) * nll + smoothing / classes * spread


def _along(weight: jax.Array, axis: int, ndim: int) -> jax.Array:
    return weight.reshape((1,) * axis + (-1,) + (1,) * (ndim - axis - 1))


def _of_probabilities(logp, target, weight, reduction: str, smoothing: float) -> jax.Array:
    axis = min(1, logp.ndim - 1)
    target = target.astype(logp.dtype)
    if smoothing > 0:
        target = target * (1 - smoothing) + smoothing / logp.shape[axis]
    product = logp * target if weight is None else logp * target * _along(weight.astype(logp.dtype), axis, logp.ndim)
    if reduction == "none":
        return -jnp.sum(product, axis=axis)
    total = -jnp.sum(product)
    if reduction == "sum":
        return total
    return total / (logp.size // max(logp.shape[axis], 1)) if logp.size else total * jnp.nan


def _flag(input, target, weight=None, size_average=None, ignore_index=-100, *_):
    """Return (is a class index out of range, the index), for ``value_check``."""
    if not jnp.issubdtype(target.dtype, jnp.integer) or target.size == 0:
        return jnp.zeros((), bool), jnp.zeros((), jnp.int64)
    classes, flat = input.shape[min(1, input.ndim - 1)], target.reshape(-1).astype(jnp.int64)
    wrong = (flat != ignore_index) & ((flat < 0) | (flat >= classes))
    return jnp.any(wrong), flat[jnp.argmax(wrong)]


def _error(detail: int, *_) -> Exception:
    return IndexError(f"Target {detail} is out of bounds.")


def _cross_entropy_name(template: tuple) -> str:
    return "NllLossBackward0" if template[7] in (0, (float, "0.0")) else "AddBackward0"


@functional(backward_name=_cross_entropy_name, value_check=(_flag, _error),
    saves=Saves(checks=lambda template, edges: (1, 2)))
def cross_entropy(input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: bool | None = None,
                  ignore_index: int = -100, reduce: bool | None = None, reduction: str = "mean",
                  label_smoothing: float = 0.0):
    """Return the cross entropy between logits and class indices or probabilities. See torch.nn.functional.cross_entropy."""
    reduction = reduction_of(size_average, reduce, reduction)
    check.require(0 <= label_smoothing <= 1, f"label_smoothing must be between 0.0 and 1.0. Got: {label_smoothing:g}")
    probabilities = input.shape == target.shape
    if probabilities:
        check.require(jnp.issubdtype(target.dtype, jnp.floating), "Expected floating point type for target with class "
                      f"probabilities, got {check.scalar_name(target.dtype)}")
        check.require(ignore_index < 0, "ignore_index is not supported for floating point target")
        check.require(weight is None or weight.shape == (input.shape[min(1, input.ndim - 1)],), "cross_entropy: weight "
                      "tensor should be defined either for all classes or no classes")
    axis = min(1, input.ndim - 1)
    require_float(input, f"log_softmax{'_lastdim' if axis == input.ndim - 1 else ''}_kernel_impl")
    wide = widen(input)
    if probabilities:
        out_dtype = common_dtype(input.dtype, target.dtype)
        logp = jax.nn.log_softmax(wide, axis=axis).astype(common_dtype(wide.dtype, target.dtype))
        return _of_probabilities(logp, target, weight, reduction, label_smoothing).astype(out_dtype)
    _check_batch(input, target)
    _check_index_target(input, target, weight)
    if label_smoothing > 0:
        logp = jax.nn.log_softmax(wide, axis=axis)
        return _smoothed(logp, target, weight, ignore_index, reduction, label_smoothing).astype(input.dtype)
    classes, axis = _classes(wide, target)
    return _nll(_picked_log_softmax(wide, classes, axis), classes, weight, ignore_index, reduction).astype(input.dtype)


@functional(value_check=(_flag, _error), saves="all")
def nll_loss(input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: bool | None = None,
             ignore_index: int = -100, reduce: bool | None = None, reduction: str = "mean"):
    """Return minus the log-probability of each target class. See torch.nn.functional.nll_loss."""
    reduction = reduction_of(size_average, reduce, reduction)
    check.require(input.ndim > 0, f"Expected 1 or more dimensions (got {input.ndim})", ValueError)
    _check_batch(input, target)
    _check_index_target(input, target, weight)
    if not jnp.issubdtype(input.dtype, jnp.floating):
        raise not_implemented("nll_loss_out_frame", input.dtype)
    classes, axis = _classes(input, target)
    return _nll(_picked(widen(input), classes, axis), classes, weight, ignore_index, reduction).astype(input.dtype)
