"""Losses between tensors of the same shape. See https://docs.pytorch.org/docs/stable/nn.functional.html#loss-functions."""
from __future__ import annotations

import math

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import xlogy

from jtorch._base import warned
from jtorch.ops import check, promotion
from jtorch.ops.arithmetic import no_bools
from jtorch.ops.elementwise import widen
from jtorch.ops.facts import Saves
from jtorch.ops.layout import ITERATED
from jtorch.ops.nn._common import (
    clamp_min,
    common_dtype,
    functional,
    magnitude,
    reduced,
    reduction_of,
    require_float,
    size_text,
    warn_of_reduction,
)
from jtorch.ops.registry import Tensor


def _warn_of_broadcast(input, target, *args) -> None:
    """Warn if input and target differ in shape."""
    if input is not target and input.shape != target.shape:
        warned.warn(f"Using a target size ({size_text(target.shape)}) that is different to the input size "
                    f"({size_text(input.shape)}). This will likely lead to incorrect results due to broadcasting. "
                    "Please ensure they have the same size.")
    if args[0].__class__ is not str and (args[0] is not None or args[1] is not None or args[2] == "elementwise_mean"):
        warn_of_reduction(args[0], args[1], args[2])


def _broadcast(input: jax.Array, target: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Return both broadcast to their common shape."""
    shape = check.broadcast_shapes(input.shape, target.shape)
    return jnp.broadcast_to(input, shape), jnp.broadcast_to(target, shape)


def _weighted(loss: jax.Array, weight: jax.Array, shape: tuple[int, ...], reduction: str, *,
              over_weights: bool) -> jax.Array:
    """Return ``loss * weight`` reduced. The mean is over the weights or over the elements."""
    check.require(weight.shape == shape, "Weights and input must have the same size.", ValueError)
    dtype = common_dtype(loss.dtype, weight.dtype)
    loss, weight = loss.astype(dtype) * jnp.broadcast_to(weight.astype(dtype), loss.shape), weight.astype(dtype)
    return jnp.sum(loss) / jnp.sum(weight) if reduction == "mean" and over_weights else reduced(loss, reduction)


@functional(promote="numeric", promotes="input target", broadcast=False, warns=_warn_of_broadcast)
def mse_loss(input: Tensor, target: Tensor, size_average: bool | None = None, reduce: bool | None = None,
             reduction: str = "mean", weight: Tensor | None = None):
    """Return the squared difference. See torch.nn.functional.mse_loss."""
    reduction = reduction_of(size_average, reduce, reduction)
    shape = input.shape
    x, y = _broadcast(input, target)
    if weight is not None:
        return _weighted(jnp.square(x - y), weight, shape, reduction, over_weights=True)
    require_float(x, "mse_cpu")
    return reduced(jnp.square(x - y), reduction)


def _l1_name(template: tuple) -> str:
    return {"none": "AbsBackward0", "sum": "SumBackward0"}.get(template[4], "MeanBackward0")


@functional(promote="numeric", promotes="input target", broadcast=False, backward_name=_l1_name,
    warns=_warn_of_broadcast, saves=Saves(checks=check.nothing), refuses=no_bools)
def l1_loss(input: Tensor, target: Tensor, size_average: bool | None = None, reduce: bool | None = None,
            reduction: str = "mean", weight: Tensor | None = None):
    """Return the absolute difference. See torch.nn.functional.l1_loss."""
    reduction = reduction_of(size_average, reduce, reduction)
    shape = input.shape
    x, y = _broadcast(input, target)
    if weight is not None:
        return _weighted(magnitude(x - y), weight, shape, reduction, over_weights=True)
    return reduced(magnitude(x - y), reduction)


@functional(promote="numeric", promotes="input target", broadcast=False, backward_name="SmoothL1LossBackward0",
            warns=_warn_of_broadcast)
def smooth_l1_loss(input: Tensor, target: Tensor, size_average: bool | None = None, reduce: bool | None = None,
                   reduction: str = "mean", beta: float = 1.0):
    """Return a loss that is squared below ``beta`` and absolute above. See torch.nn.functional.smooth_l1_loss."""
    reduction = reduction_of(size_average, reduce, reduction)
    x, y = _broadcast(input, target)
    if beta == 0:
        return reduced(magnitude(x - y), reduction)
    check.require(beta >= 0, "smooth_l1_loss does not support negative values for beta.")
    require_float(x, "smooth_l1_cpu")
    z = magnitude(widen(x) - widen(y))
    return reduced(jnp.where(z < beta, 0.5 * z * z / beta, z - 0.5 * beta).astype(x.dtype), reduction)


@functional(backward_name="HuberLossBackward0", warns=_warn_of_broadcast, layout=ITERATED)
def huber_loss(input: Tensor, target: Tensor, reduction: str = "mean", delta: float = 1.0,
               weight: Tensor | None = None):
    """Return a loss that is squared below ``delta`` and ``delta`` times absolute above. See torch.nn.functional.huber_loss."""
    x, y = _broadcast(input, target.astype(input.dtype))
    reduction = reduction_of(None, None, reduction)
    check.require(delta > 0, "huber_loss does not support non-positive values for delta.")
    require_float(x, "huber_cpu")
    z = magnitude(x - y)
    loss = jnp.where(z < delta, 0.5 * z * z, delta * (z - 0.5 * delta))
    if weight is None:
        return reduced(loss, reduction)
    return _weighted(loss, weight, input.shape, reduction, over_weights=False)


@jax.custom_jvp
def _bce(x: jax.Array, y: jax.Array) -> jax.Array:
    return -(y * jnp.maximum(jnp.log(x), -100) + (1 - y) * jnp.maximum(jnp.log1p(-x), -100))


@_bce.defjvp
def _bce_jvp(primals, tangents):
    (x, y), (dx, dy) = primals, tangents        # PyTorch's gradient is finite at probabilities of 0 and 1
    slope = (x - y) / jnp.maximum((1 - x) * x, 1e-12)
    return _bce(x, y), slope * dx + (jnp.log1p(-x) - jnp.log(x)) * dy


def _bce_flag(input, *_):
    return jnp.any(~((input >= 0) & (input <= 1))), jnp.zeros((), jnp.int64)


def _bce_error(detail: int, *_) -> Exception:
    return RuntimeError("all elements of input should be between 0 and 1")


@functional(value_check=(_bce_flag, _bce_error), layout=ITERATED)
def binary_cross_entropy(input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: bool | None = None,
                         reduce: bool | None = None, reduction: str = "mean"):
    """Return the cross entropy between probabilities. See torch.nn.functional.binary_cross_entropy."""
    reduction = reduction_of(size_average, reduce, reduction)
    check.require(target.shape == input.shape, f"Using a target size ({size_text(target.shape)}) that is different to "
                  f"the input size ({size_text(input.shape)}) is deprecated. Please ensure they have the same "
                  "size.", ValueError)
    for other in (target, weight):
        check.require(other is None or other.dtype == input.dtype, f"Found dtype "
                      f"{check.scalar_name(other.dtype) if other is not None else ''} but expected "
                      f"{check.scalar_name(input.dtype)}")
    require_float(input, "binary_cross_entropy")
    loss = _bce(widen(input), widen(target)).astype(input.dtype)
    if weight is not None:
        loss = loss * jnp.broadcast_to(weight, check.broadcast_shapes(target.shape, weight.shape))
    return reduced(loss, reduction)


@functional(promote="numeric", promotes="input target weight pos_weight", broadcast=False,
            backward_name="BinaryCrossEntropyWithLogitsBackward0")
def binary_cross_entropy_with_logits(input: Tensor, target: Tensor, weight: Tensor | None = None,
                                     size_average: bool | None = None, reduce: bool | None = None,
                                     reduction: str = "mean", pos_weight: Tensor | None = None):
    """Return binary_cross_entropy of the input's sigmoid. See torch.nn.functional.binary_cross_entropy_with_logits."""
    reduction = reduction_of(size_average, reduce, reduction)
    check.require(target.shape == input.shape, f"Target size ({size_text(target.shape)}) must be the same as input "
                  f"size ({size_text(input.shape)})", ValueError)
    require_float(input, "log_sigmoid_cpu")
    dtype, input, target = common_dtype(input.dtype, target.dtype), widen(input), widen(target)
    log_p = jax.nn.log_sigmoid(input)
    if pos_weight is None:
        loss = (1 - target) * input - log_p
    else:
        shape = check.broadcast_shapes(target.shape, pos_weight.shape)
        x, y, log_p = (jnp.broadcast_to(a, shape) for a in (input, target, log_p))
        loss = (1 - y) * x - (1 + (jnp.broadcast_to(widen(pos_weight), shape) - 1) * y) * log_p
    return reduced((loss if weight is None else _product(loss, widen(weight))).astype(dtype), reduction)


def _product(a: jax.Array, b: jax.Array) -> jax.Array:
    shape = check.broadcast_shapes(a.shape, b.shape)
    return jnp.broadcast_to(a, shape) * jnp.broadcast_to(b, shape)


def _by_reduction(position: int, unreduced: str):
    """Return a function that gives the node's name of a loss that PyTorch composes of ops. The last op is the reduction."""
    return lambda t: {"mean": "MeanBackward0", "sum": "SumBackward0"}.get(t[position], unreduced)


def _warn_of_mean(input, target, size_average, reduce, reduction, log_target) -> None:
    warn_of_reduction(size_average, reduce, reduction)
    if reduction == "mean" and size_average is None and reduce is None:
        warned.warn("reduction: 'mean' divides the total loss by both the batch size and the support size."
                    "'batchmean' divides only by the batch size, and aligns with the KL div math definition."
                    "'mean' will be changed to behave the same as 'batchmean' in the next major release.")


def _kl_div_name(template: tuple) -> str:
    unreduced = "MulBackward0" if template[5] else "SubBackward0"
    return {"none": unreduced, "sum": "SumBackward0", "batchmean": "DivBackward0"}.get(template[4], "MeanBackward0")


@functional(promote="numeric", promotes="input target", broadcast=False, backward_name=_kl_div_name, warns=_warn_of_mean)
def kl_div(input: Tensor, target: Tensor, size_average: bool | None = None, reduce: bool | None = None,
           reduction: str = "mean", log_target: bool = False):
    """Return the divergence of ``target`` from the log-probabilities ``input``. See torch.nn.functional.kl_div."""
    batchmean = reduction == "batchmean" and size_average is None and reduce is None
    reduction = "sum" if batchmean else reduction_of(size_average, reduce, reduction)
    check.require(promotion.is_float(np.dtype(input.dtype)), "kl_div: Integral inputs not supported.")
    rows, shape = input.shape[0] if input.ndim else 1, check.broadcast_shapes(input.shape, target.shape)
    input, target = jnp.broadcast_to(input, shape), jnp.broadcast_to(target, shape)
    loss = jnp.exp(target) * (target - input) if log_target else xlogy(target, target) - target * input
    return reduced(loss, reduction) / rows if batchmean else reduced(loss, reduction)


def _poisson_name(template: tuple) -> str:
    return _by_reduction(7, "AddBackward0" if template[3] else "SubBackward0")(template)


@functional(promote="numeric", promotes="input target", broadcast=False, backward_name=_poisson_name)
def poisson_nll_loss(input: Tensor, target: Tensor, log_input: bool = True, full: bool = False,
                     size_average: bool | None = None, eps: float = 1e-8, reduce: bool | None = None,
                     reduction: str = "mean"):
    """Return minus the log-likelihood of Poisson counts. See torch.nn.functional.poisson_nll_loss."""
    reduction = reduction_of(size_average, reduce, reduction)
    shape = check.broadcast_shapes(target.shape, input.shape)
    dtype = promotion.to_float(np.dtype(input.dtype))
    x, y = (jnp.broadcast_to(a.astype(dtype), shape) for a in (input, target))
    loss = jnp.exp(x) - y * x if log_input else x - y * jnp.log(x + eps)
    if full:
        safe = jnp.where(y > 1, y, 2)
        loss = loss + jnp.where(y > 1, safe * jnp.log(safe) - safe + 0.5 * jnp.log(2 * math.pi * safe), 0)
    return reduced(loss, reduction)


def _var_flag(input, target, var, *_):
    return jnp.any(jnp.asarray(var) < 0), jnp.zeros((), jnp.int64)


def _var_error(detail: int, *_) -> Exception:
    return ValueError("var has negative entry/entries")


def _fit_var(input: jax.Array, var: jax.Array) -> jax.Array:
    """Return ``var``, with a last dimension of 1 added if it has one value for the input's last dimension."""
    if var.shape == input.shape:
        return var
    if var.shape == input.shape[:-1]:
        return var[..., None]
    single = var.ndim == input.ndim and sum(v for x, v in zip(input.shape, var.shape, strict=True) if x != v) == 1
    check.require(single, "var is of incorrect size", ValueError)
    return var


def _gaussian_name(template: tuple) -> str:
    return _by_reduction(5, "AddBackward0" if template[3] else "MulBackward0")(template)


@functional(value_check=(_var_flag, _var_error), backward_name=_gaussian_name, saves=Saves(checks=check.nothing))
def gaussian_nll_loss(input: Tensor, target: Tensor, var: Tensor | float, full: bool = False, eps: float = 1e-6,
                      reduction: str = "mean"):
    """Return minus the log-likelihood of normal values with variance ``var``. See torch.nn.functional.gaussian_nll_loss."""
    if isinstance(var, float):
        check.require(var >= 0, "var has negative entry/entries", ValueError)
        var = jnp.full(input.shape, var, input.dtype)
    var = _fit_var(input, var)
    check.require(reduction in ("none", "mean", "sum"), f"{reduction} is not valid", ValueError)
    dtype = common_dtype(common_dtype(input.dtype, target.dtype), var.dtype)
    input, target, var = input.astype(dtype), target.astype(dtype), var.astype(dtype)
    var = var + jax.lax.stop_gradient(jnp.maximum(var, eps) - var)      # clamped, but the gradient passes
    shape = check.broadcast_shapes(input.shape, target.shape, var.shape)
    input, target, var = (jnp.broadcast_to(a, shape) for a in (input, target, var))
    loss = 0.5 * (jnp.log(var) + jnp.square(input - target) / var)
    return reduced(loss + 0.5 * math.log(2 * math.pi) if full else loss, reduction)


@functional(backward_name="SoftMarginLossBackward0", layout=ITERATED)
def soft_margin_loss(input: Tensor, target: Tensor, size_average: bool | None = None, reduce: bool | None = None,
                     reduction: str = "mean"):
    """Return ``log(1 + exp(-target * input))``. See torch.nn.functional.soft_margin_loss."""
    reduction = reduction_of(size_average, reduce, reduction)
    dtype = np.dtype(common_dtype(input.dtype, target.dtype))
    if not promotion.is_float(dtype):
        raise RuntimeError(f"result type Float can't be cast to the desired output type {check.scalar_name(dtype)}")
    shape = check.broadcast_shapes(input.shape, target.shape)
    x, y = jnp.broadcast_to(input.astype(dtype), shape), jnp.broadcast_to(target.astype(dtype), shape)
    return reduced(jax.nn.softplus(-y * x), reduction)


@functional(backward_name=_by_reduction(5, "DivBackward0"))
def multilabel_soft_margin_loss(input: Tensor, target: Tensor, weight: Tensor | None = None,
                                size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean"):
    """Return the mean over classes of one-versus-all cross entropies. See torch.nn.functional.multilabel_soft_margin_loss."""
    if size_average is not None or reduce is not None:
        reduction = reduction_of(size_average, reduce, reduction)
    require_float(input, "log_sigmoid_cpu")
    y = target.astype(common_dtype(input.dtype, target.dtype))
    positive, negative = (jax.nn.log_sigmoid(x).astype(y.dtype) for x in (input, -input))
    shape = check.broadcast_shapes(input.shape, target.shape)
    positive, negative, y = (jnp.broadcast_to(a, shape) for a in (positive, negative, y))
    loss = -(y * positive + (1 - y) * negative)
    loss = loss if weight is None else _product(loss, weight.astype(loss.dtype))
    loss = jnp.sum(loss, axis=input.ndim - 1) / input.shape[-1]
    check.require(reduction in ("none", "mean", "sum"), f"{reduction} is not valid", ValueError)
    return reduced(loss, reduction)


@functional(promote="numeric", promotes="input target", backward_name=_by_reduction(5, "AddBackward0"),
    saves=Saves(checks=check.nothing))
def hinge_embedding_loss(input: Tensor, target: Tensor, margin: float = 1.0, size_average: bool | None = None,
                         reduce: bool | None = None, reduction: str = "mean"):
    """Return the input for targets of 1, ``margin`` minus it for -1. See torch.nn.functional.hinge_embedding_loss."""
    reduction = reduction_of(size_average, reduce, reduction)
    zero = jnp.zeros_like(input)
    far = jnp.where(target != 1, clamp_min(jnp.asarray(margin, input.dtype) - input, 0), zero)
    return reduced(far + jnp.where(target != -1, input, zero), reduction)
