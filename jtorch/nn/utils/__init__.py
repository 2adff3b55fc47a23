"""torch.nn.utils: parameters and gradients taken together."""
from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from jtorch.creation import tensor
from jtorch.nn._make import torch
from jtorch.no_grad import no_grad
from jtorch.tensor import Tensor


def _grads(parameters: Any) -> list[Any]:
    given = [parameters] if isinstance(parameters, Tensor) else list(parameters)
    return [p.grad for p in given if p.grad is not None]


@no_grad()
def clip_grad_norm_(parameters: Any, max_norm: float, norm_type: float = 2.0, error_if_nonfinite: bool = False,
                    foreach: bool | None = None) -> Tensor:
    """Scales the gradients so that their common norm is at most ``max_norm``; returns what it was."""
    grads, order = _grads(parameters), float(norm_type)
    if not grads:
        return tensor(0.0)
    norm = torch("norm")(torch("stack")([torch("norm")(g, order) for g in grads]), order)
    if error_if_nonfinite and not norm.isfinite():
        raise RuntimeError(f"The total norm of order {order} for gradients from `parameters` is non-finite, so it cannot be "
                           "clipped. To disable this error and scale the gradients by the non-finite norm anyway, set "
                           "`error_if_nonfinite=False`")
    factor = (float(max_norm) / (norm + 1e-6)).clamp(max=1.0)
    for g in grads:
        g.mul_(factor)
    return norm


@no_grad()
def clip_grad_value_(parameters: Any, clip_value: float, foreach: bool | None = None) -> None:
    """Limits each element of the gradients."""
    for g in _grads(parameters):
        g.clamp_(-float(clip_value), float(clip_value))


def parameters_to_vector(parameters: Iterable[Any]) -> Tensor:
    """All parameters as one vector."""
    return torch("cat")([p.view(-1) for p in parameters])


def vector_to_parameters(vec: Any, parameters: Iterable[Any]) -> None:
    """Gives the parameters the elements of a vector."""
    if not isinstance(vec, Tensor):
        raise TypeError(f"expected torch.Tensor, but got: {type(vec).__module__}.{type(vec).__qualname__}")
    at = 0
    for p in parameters:
        p.data = vec[at:at + p.numel()].view_as(p).data     # type: ignore[index]
        at += p.numel()
