"""torch.autograd.grad_mode: the grad modes, and two settings that change nothing here."""
from __future__ import annotations

from jtorch.no_grad import _Context, enable_grad, inference_mode, no_grad, set_grad_enabled


class set_multithreading_enabled(_Context):
    """Accepted: backward runs in the thread that called it in any case."""

    def __init__(self, mode: bool) -> None:
        self.mode = mode

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exc) -> None:
        pass

    def clone(self):
        """A fresh context of the same kind."""
        return type(self)(self.mode)


class enforce_grad_layout_policy(set_multithreading_enabled):
    """Accepted: the strides of gradients are contiguous in any case."""


__all__ = ["enable_grad", "enforce_grad_layout_policy", "inference_mode", "no_grad", "set_grad_enabled",
           "set_multithreading_enabled"]
