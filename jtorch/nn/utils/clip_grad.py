"""Gradient clipping, by the total norm or by element."""
from __future__ import annotations

import types
from collections.abc import Iterable
from typing import Any

from jtorch._api import functions
from jtorch._api.creation import tensor
from jtorch._base import warned
from jtorch.no_grad import no_grad
from jtorch.tensor import Tensor


def _tensors(given: Tensor | Iterable[Any]) -> list[Any]:
    return [given] if isinstance(given, Tensor) else list(given)


def _grads(parameters: Tensor | Iterable[Any]) -> list[Any]:
    return [p.grad for p in _tensors(parameters) if p.grad is not None]


@no_grad()
def get_total_norm(tensors: Tensor | Iterable[Any], norm_type: float = 2.0, error_if_nonfinite: bool = False,
                   foreach: bool | None = None) -> Tensor:
    """Return the norm of all tensors as one vector. See torch.nn.utils.get_total_norm.

    Raises RuntimeError for a norm that is not finite if ``error_if_nonfinite``. ``foreach`` has no effect, since the
    engine compiles the calls together.
    """
    tensors, norm_type = _tensors(tensors), float(norm_type)
    if not tensors:
        return tensor(0.0)
    device, norm = tensors[0].device, functions.linalg.vector_norm
    total = norm(functions.stack([norm(t, norm_type).to(device) for t in tensors]), norm_type)
    if error_if_nonfinite and not total.isfinite():
        raise RuntimeError(f"The total norm of order {norm_type} for gradients from `parameters` is non-finite, so it cannot be "
                           "clipped. To disable this error and scale the gradients by the non-finite norm anyway, set "
                           "`error_if_nonfinite=False`")
    return total


@no_grad()
def clip_grads_with_norm_(parameters: Tensor | Iterable[Any], max_norm: float, total_norm: Tensor,
                          foreach: bool | None = None) -> None:
    """Scale the gradients as clip_grad_norm_ does, given their total norm.

    See torch.nn.utils.clip_grads_with_norm_.
    """
    grads = _grads(parameters)
    if not grads:
        return
    factor = (float(max_norm) / (total_norm + 1e-6)).clamp(max=1.0)      # type: ignore[operator]
    for g in grads:
        g.mul_(factor.to(g.device))


@no_grad()
def clip_grad_norm_(parameters: Tensor | Iterable[Any], max_norm: float, norm_type: float = 2.0,
                    error_if_nonfinite: bool = False, foreach: bool | None = None) -> Tensor:
    """Scale the gradients in place so that their total norm is at most ``max_norm``, and return the norm before.

    Raises RuntimeError for a norm that is not finite if ``error_if_nonfinite``, before it changes any gradient. See
    torch.nn.utils.clip_grad_norm_.

        >>> p = torch.zeros(2, requires_grad=True)
        >>> p.grad = torch.tensor([3.0, 4.0])
        >>> torch.nn.utils.clip_grad_norm_(p, 1.0), p.grad
        (tensor(5.), tensor([0.6000, 0.8000]))
    """
    given = _tensors(parameters)
    if not given and isinstance(parameters, types.GeneratorType):
        warned.warn("`parameters` is an empty generator, no gradient clipping will occur.")
    total = get_total_norm(_grads(given), norm_type, error_if_nonfinite, foreach)
    clip_grads_with_norm_(given, max_norm, total, foreach)
    return total


def clip_grad_norm(parameters: Tensor | Iterable[Any], max_norm: float, norm_type: float = 2.0,
                   error_if_nonfinite: bool = False, foreach: bool | None = None) -> Tensor:
    """clip_grad_norm_ under its old name; deprecated in PyTorch."""
    warned.warn("`torch.nn.utils.clip_grad_norm` is now deprecated in favor of `torch.nn.utils.clip_grad_norm_`.",
                FutureWarning)
    return clip_grad_norm_(parameters, max_norm, norm_type, error_if_nonfinite, foreach)


@no_grad()
def clip_grad_value_(parameters: Tensor | Iterable[Any], clip_value: float, foreach: bool | None = None) -> None:
    """Limit each element of the gradients to ±``clip_value``, in place. See torch.nn.utils.clip_grad_value_."""
    for g in _grads(parameters):
        g.clamp_(-float(clip_value), float(clip_value))
