"""torch.optim.optimizer: hooks around every optimizer's step. ``jtorch.optim`` puts ``Optimizer`` here too."""
from __future__ import annotations

import functools
from collections import OrderedDict
from collections.abc import Callable, Iterable
from itertools import chain
from typing import Any, TypeAlias

from jtorch._optimizers.groups import required as required
from jtorch.hooks import RemovableHandle
from jtorch.no_grad import set_grad_enabled
from jtorch.tensor import Tensor

ParamsT: TypeAlias = Iterable[Tensor] | Iterable[dict[str, Any]] | Iterable[tuple[str, Tensor]]

_global_optimizer_pre_hooks: dict[int, Callable] = OrderedDict()
_global_optimizer_post_hooks: dict[int, Callable] = OrderedDict()


def register_optimizer_step_pre_hook(hook: Callable) -> RemovableHandle:
    """``hook(optimizer, args, kwargs)`` runs before each step of every optimizer; it may return new (args, kwargs)."""
    return RemovableHandle(_global_optimizer_pre_hooks, hook)


def register_optimizer_step_post_hook(hook: Callable) -> RemovableHandle:
    """``hook(optimizer, args, kwargs)`` runs after each step of every optimizer."""
    return RemovableHandle(_global_optimizer_post_hooks, hook)


def with_hooks(step: Callable) -> Callable:
    """A step that runs the hooks before and after it. See torch.optim.Optimizer.profile_hook_step."""
    @functools.wraps(step)
    def hooked(*args, **kwargs):
        self = args[0]
        for hook in chain(list(_global_optimizer_pre_hooks.values()), list(self._optimizer_step_pre_hooks.values())):
            new = hook(self, args, kwargs)
            if new is not None:
                args, kwargs = _checked(step, new)
        out = step(*args, **kwargs)
        for hook in chain(list(self._optimizer_step_post_hooks.values()), list(_global_optimizer_post_hooks.values())):
            hook(self, args, kwargs)
        return out
    hooked.hooked = True        # type: ignore[attr-defined]
    return hooked


def _checked(step: Callable, new: Any) -> tuple:
    if not (isinstance(new, tuple) and len(new) == 2):
        raise RuntimeError(f"{step} must return None or a tuple of (new_args, new_kwargs), but got {new}.")
    return new


def _use_grad_for_differentiable(step: Callable) -> Callable:
    """A step of one's own that runs without gradients, unless its optimizer was made with ``differentiable=True``."""
    @functools.wraps(step)
    def run(self, *args, **kwargs):
        with set_grad_enabled(bool(self.defaults["differentiable"])):
            return step(self, *args, **kwargs)
    return run


def _get_value(x: Any) -> Any:
    """A tensor of one element as a number."""
    return x.item() if isinstance(x, Tensor) else x
