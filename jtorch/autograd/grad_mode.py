"""torch.autograd.grad_mode: the grad modes, and settings of autograd that jtorch accepts."""
from __future__ import annotations

from jtorch import storage, tape
from jtorch.no_grad import _Context, enable_grad, inference_mode, no_grad, set_grad_enabled


class set_multithreading_enabled(_Context):
    """Accept the setting, which has no effect. A backward never runs in several threads at once.

    Args:
        mode (bool): accepted.

    """

    def __init__(self, mode: bool) -> None:
        self.mode = mode

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exc) -> None:
        pass

    def clone(self):
        """Return a new context with the same arguments."""
        return type(self)(self.mode)


class enforce_grad_layout_policy(set_multithreading_enabled):
    """Accept the setting, which has no effect. A gradient always has the strides of its leaf, or is contiguous.

    Args:
        enable (bool): accepted.

    """

    def __init__(self, enable: bool = True) -> None:
        super().__init__(enable)


class _unsafe_preserve_version_counter(_Context):
    """Hide writes in this block from autograd: the tensors' versions are restored at its end."""

    def __init__(self, tensors) -> None:
        self.tensors = tuple(tensors) if isinstance(tensors, (tuple, list)) else (tensors,)
        self.before = tuple([t._version for t in self.tensors])

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exc) -> None:
        for t, version in zip(self.tensors, self.before, strict=True):
            if tape.counter_of(t).version != version:
                storage.set_version(t, version)
                storage.untracked_writes[t._storage] = 0

    def clone(self):
        """Return a new context with the same arguments."""
        return type(self)(self.tensors)


__all__ = ["enable_grad", "enforce_grad_layout_policy", "inference_mode", "no_grad", "set_grad_enabled",
           "set_multithreading_enabled"]

del _Context      # PyTorch's module does not have this name.
