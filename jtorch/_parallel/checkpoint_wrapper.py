"""Wrappers for activation checkpointing. See torch.distributed.algorithms._checkpoint.checkpoint_wrapper."""
from __future__ import annotations

import enum
import functools
from collections.abc import Callable, Iterator
from typing import Any

from jtorch.autograd.graph import save_on_cpu
from jtorch.distributed.fsdp.wrap import lambda_auto_wrap_policy
from jtorch.nn.modules.module import Module
from jtorch.utils.checkpoint import checkpoint

_CHECKPOINT_WRAPPED_MODULE = "_checkpoint_wrapped_module"
_CHECKPOINT_PREFIX = _CHECKPOINT_WRAPPED_MODULE + "."


class CheckpointImpl(enum.Enum):
    """The kind of checkpoint: reentrant or not."""

    REENTRANT = enum.auto()
    NO_REENTRANT = enum.auto()


def _renamed(state_dict: dict[str, Any], old: str, new: str) -> None:
    """Rename the entries that begin with ``old`` so that they begin with ``new``, in place and in order."""
    for key in [key for key in state_dict if key.startswith(old)] if old != new else ():
        state_dict[new + key.removeprefix(old)] = state_dict.pop(key)


class ActivationWrapper(Module):
    """A module that wraps another. State dicts and parameters have the inner module's names."""

    def __init__(self, mod: Module):
        super().__init__()
        self._checkpoint_wrapped_module = mod
        self._register_state_dict_hook(self._post_state_dict_hook)
        self.register_load_state_dict_pre_hook(self._pre_load_state_dict_hook)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Raise ValueError: subclasses define ``forward``."""
        raise ValueError("Subclasses should implement forward().")

    def __getattr__(self, name: str) -> Any:
        try:
            return super().__getattr__(name)
        except AttributeError:
            return getattr(super().__getattr__(_CHECKPOINT_WRAPPED_MODULE), name)

    def __getitem__(self, key: int) -> Any:
        return self._checkpoint_wrapped_module[key]     # type: ignore[index]

    def named_parameters(self, *args: Any, **kwargs: Any) -> Iterator:
        """Yield the parameters under names without the wrapper's prefix."""
        for name, p in super().named_parameters(*args, **kwargs):
            yield name.replace(_CHECKPOINT_PREFIX, ""), p

    @staticmethod
    def _post_state_dict_hook(module: Module, state_dict: dict[str, Any], prefix: str, *args: Any) -> dict[str, Any]:
        _renamed(state_dict, f"{prefix}{_CHECKPOINT_PREFIX}", prefix)
        return state_dict

    @staticmethod
    def _pre_load_state_dict_hook(module: Module, state_dict: dict[str, Any], prefix: str, *args: Any) -> None:
        _renamed(state_dict, prefix, f"{prefix}{_CHECKPOINT_PREFIX}")


class OffloadWrapper(ActivationWrapper):
    """A wrapper that keeps the tensors saved for backward on the CPU."""

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Run the wrapped module."""
        with save_on_cpu(pin_memory=True):
            return self._checkpoint_wrapped_module(*args, **kwargs)


class CheckpointWrapper(ActivationWrapper):
    """A wrapper that recomputes the module's activations in backward instead of saving them."""

    def __init__(self, mod: Module, checkpoint_impl: CheckpointImpl = CheckpointImpl.NO_REENTRANT,
                 checkpoint_fn: Callable | None = None, **checkpoint_fn_kwargs: Any):
        super().__init__(mod)
        self.checkpoint_impl = checkpoint_impl
        options: dict[str, Any] = {} if checkpoint_fn else {"use_reentrant": checkpoint_impl is CheckpointImpl.REENTRANT}
        self.checkpoint_fn = functools.partial(checkpoint_fn or checkpoint, **options, **checkpoint_fn_kwargs)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Run the wrapped module under a checkpoint."""
        if self.checkpoint_impl is not CheckpointImpl.REENTRANT or not kwargs:
            return self.checkpoint_fn(self._checkpoint_wrapped_module, *args, **kwargs)

        def by_position(*given: Any) -> Any:
            named = dict(zip(kwargs, given[len(args):], strict=True))
            return self._checkpoint_wrapped_module(*given[:len(args)], **named)
        return self.checkpoint_fn(by_position, *args, *kwargs.values())


def offload_wrapper(module: Module) -> Module:
    """Wrap a module so that the tensors it saves for backward are kept on the CPU."""
    return OffloadWrapper(module)


def checkpoint_wrapper(module: Module, checkpoint_impl: CheckpointImpl = CheckpointImpl.NO_REENTRANT,
                       checkpoint_fn: Callable | None = None, **checkpoint_fn_kwargs: Any) -> Module:
    """Wrap a module so that backward recomputes its activations.

    Args:
        module: the module.
        checkpoint_impl: the kind of checkpoint.
        checkpoint_fn: a function that is called with the module and its arguments, in place of
            ``torch.utils.checkpoint.checkpoint``.
        checkpoint_fn_kwargs: further arguments of the checkpoint function.

    Returns:
        The wrapper.

    """
    return CheckpointWrapper(module, checkpoint_impl, checkpoint_fn, **checkpoint_fn_kwargs)


def apply_activation_checkpointing(model: Module, checkpoint_wrapper_fn: Callable = checkpoint_wrapper,
                                   check_fn: Callable[[Module], bool] = lambda _: True,
                                   auto_wrap_policy: Callable | None = None) -> None:
    """Wrap the submodules that ``check_fn`` or a policy selects, in place; the model itself is not wrapped."""
    _wrap_within(model, auto_wrap_policy or functools.partial(lambda_auto_wrap_policy, lambda_fn=check_fn), checkpoint_wrapper_fn)


def _numel(module: Module) -> int:
    return sum(p.numel() for p in module.parameters())


def _wrap_within(module: Module, policy: Callable, wrapper: Callable) -> int:
    """Wrap the submodules that a policy selects, and return the number of elements in wrapped modules."""
    if not policy(module=module, recurse=True, nonwrapped_numel=_numel(module)):
        return 0
    wrapped = 0
    for name, child in list(module.named_children()):
        size = _numel(child)
        inside = _wrap_within(child, policy, wrapper)
        if policy(module=child, recurse=False, nonwrapped_numel=size - inside):
            setattr(module, name, wrapper(child))
            inside = size
        wrapped += inside
    return wrapped
