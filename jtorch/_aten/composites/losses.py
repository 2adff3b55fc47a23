"""Composite rules of elementwise functions, softmax, losses and ``normalize``."""
from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from jtorch._api import functions as torch
from jtorch._api import nn_functions as F
from jtorch._aten.composites.rules import composite
from jtorch._aten.history import operated
from jtorch._library.namespaces import ops
from jtorch.engine import call_of
from jtorch.ops.registry import NUMBERS, OPS, T

aten = ops.aten


@composite("rdiv")
def _rdiv(input: Any, other: Any) -> Any:
    return other.reciprocal() * input


@composite("nn.functional.softsign")
def _softsign(input: Any) -> Any:
    return input / (input.abs() + 1)


@composite("nn.functional.tanhshrink")
def _tanhshrink(input: Any) -> Any:
    return input - input.tanh()


@composite("isfinite")
def _isfinite(input: Any) -> Any:
    if not input.is_floating_point():
        return NotImplemented
    bounded = input.abs() != math.inf
    return (input == input) * bounded


@composite("where")
def _where(condition: Any, input: Any, other: Any) -> Any:
    from jtorch.tensor import Tensor
    if isinstance(input, Tensor) and isinstance(other, Tensor):
        return NotImplemented
    like = input if isinstance(input, Tensor) else other
    if not isinstance(like, Tensor):
        return NotImplemented
    a, b = (x if isinstance(x, Tensor) else scalar_tensor(x, like) for x in (input, other))
    return torch.where(condition, a, b)


def scalar_tensor(value: Any, like: Any) -> Any:
    """Return a number as a 0-dim tensor with the dtype and device of ``like``."""
    return aten.scalar_tensor.default(value, dtype=like.dtype, layout=like.layout, device=like.device)


def multiplied(x: Any, n: Any) -> Any:
    """Return a tensor times a number by ``aten.mul.Scalar``."""
    return operated("mul.Scalar", {"self": x, "other": n}, call_of(OPS["mul"], (T, NUMBERS[n.__class__])), (x, n))


def divided(x: Any, n: Any) -> Any:
    """Return a tensor divided by a number by ``aten.div.Scalar``."""
    return operated("div.Scalar", {"self": x, "other": n}, call_of(OPS["true_divide"], (T, NUMBERS[n.__class__])), (x, n))


# ---------------------------------------------------------------- softmax, losses and normalize

def _softmax_in(log: bool) -> Callable:
    def rule(input: Any, dim: Any, dtype: Any = None, **rest: Any) -> Any:
        if dtype is None or dtype is input.dtype or dim is None:
            return NotImplemented
        x = input.to(dtype)
        return x.log_softmax(dim) if log else x.softmax(dim)
    return rule


composite("softmax", "nn.functional.softmax")(_softmax_in(False))
composite("log_softmax", "nn.functional.log_softmax")(_softmax_in(True))


@composite("nn.functional.softmin")
def _softmin(input: Any, dim: Any = None, dtype: Any = None, **rest: Any) -> Any:
    return (-input).softmax(dim, dtype=dtype) if dim is not None else NotImplemented


def _reduced(x: Any, reduction: str) -> Any:
    return x.mean() if reduction == "mean" else x.sum() if reduction == "sum" else x


def _is_old(rest: dict) -> bool:
    return rest.get("size_average") is not None or rest.get("reduce") is not None


@composite("nn.functional.cross_entropy")
def _cross_entropy(input: Any, target: Any, weight: Any = None, ignore_index: int = -100, reduction: str = "mean",
                   label_smoothing: float = 0.0, **rest: Any) -> Any:
    if _is_old(rest):
        return NotImplemented
    dim = 0 if input.dim() == 1 else 1
    if target.shape == input.shape:
        return _of_probabilities(input, target, weight, reduction, label_smoothing, dim)
    logs = input.log_softmax(dim)
    loss = F.nll_loss(logs, target, weight, None, ignore_index, None, reduction)
    return loss if not label_smoothing else _smoothed(logs, loss, target, weight, ignore_index, reduction, label_smoothing, dim)


def _of_probabilities(input: Any, target: Any, weight: Any, reduction: str, smoothing: float, dim: int) -> Any:
    logs = input.log_softmax(dim)
    if smoothing > 0:
        target = target * (1 - smoothing) + smoothing / input.shape[dim]
    if weight is not None:
        logs = logs * weight.view([-1 if d == dim else 1 for d in range(input.dim())])
    terms = logs * target
    if reduction == "none":
        return -terms.sum(dim)
    total = -terms.sum()
    return divided(total, input.numel() // input.shape[dim]) if reduction == "mean" else total


def _smoothed(logs: Any, loss: Any, target: Any, weight: Any, ignored: int, reduction: str, smoothing: float, dim: int) -> Any:
    n = logs.shape[dim]
    if weight is None:
        smooth = -logs.sum(dim)
    else:
        smooth = -(logs * weight.view([-1 if d == dim else 1 for d in range(logs.dim())])).sum(dim)
    mask = target == ignored
    smooth = smooth.masked_fill_(mask, 0.0)
    if reduction == "mean":
        kept = (~mask).sum() if weight is None else weight.gather(0, target.masked_fill(mask, 0).flatten()) \
            .masked_fill_(mask.flatten(), 0).sum()
        smooth = smooth.sum() / kept
    elif reduction == "sum":
        smooth = smooth.sum()
    return multiplied(loss, 1 - smoothing) + multiplied(smooth, smoothing / n)


@composite("nn.functional.nll_loss")
def _nll_loss(input: Any, target: Any, weight: Any = None, ignore_index: int = -100, reduction: str = "mean",
              **rest: Any) -> Any:
    if _is_old(rest) or input.dim() in (1, 2, 4) or not input.numel():
        return NotImplemented
    n, classes, *size = input.shape
    made: Any = F.nll_loss(input.contiguous().view(n, classes, 1, -1), target.contiguous().view(n, 1, -1), weight, None,
                           ignore_index, None, reduction)
    return made.view((n, *size)) if reduction == "none" else made


@composite("nn.functional.l1_loss")
def _l1_loss(input: Any, target: Any, reduction: str = "mean", **rest: Any) -> Any:
    if _is_old(rest) or rest.get("weight") is not None:
        return NotImplemented
    return _reduced((input - target).abs(), reduction)


@composite("nn.functional.kl_div")
def _kl_div(input: Any, target: Any, reduction: str = "mean", log_target: bool = False, **rest: Any) -> Any:
    if _is_old(rest):
        return NotImplemented
    if log_target:
        terms = target.exp() * (target - input)
    else:
        weighted = target * input
        terms = torch.xlogy(target, target) - weighted
    return terms.sum() / input.shape[0] if reduction == "batchmean" else _reduced(terms, reduction)


@composite("nn.functional.normalize")
def _normalize(input: Any, p: float = 2.0, dim: Any = 1, eps: float = 1e-12, **rest: Any) -> Any:
    length = torch.linalg.vector_norm(input, p, dim, keepdim=True)
    return input / length.clamp_min(eps).expand(tuple(input.shape))
