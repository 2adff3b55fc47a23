"""The methods of Module that register hooks."""
from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from jtorch._nodes.hooks import RemovableHandle
from jtorch.nn.modules._hooks import Hooks, _WrappedHook, mark


class HookMethods:
    """Module's methods for hooks. The hooks are in dicts of the module, in the order in which they run."""

    _backward_pre_hooks: OrderedDict[int, Callable]
    _backward_hooks: OrderedDict[int, Callable]
    _forward_hooks: OrderedDict[int, Callable]
    _forward_pre_hooks: OrderedDict[int, Callable]
    _forward_hooks_with_kwargs: dict[int, bool]
    _forward_hooks_always_called: dict[int, bool]
    _forward_pre_hooks_with_kwargs: dict[int, bool]
    _state_dict_hooks: OrderedDict[int, Callable]
    _state_dict_pre_hooks: OrderedDict[int, Callable]
    _load_state_dict_pre_hooks: OrderedDict[int, Callable]
    _load_state_dict_post_hooks: OrderedDict[int, Callable]
    _is_full_backward_hook: bool | None

    def register_forward_pre_hook(self, hook: Callable, *, prepend: bool = False, with_kwargs: bool = False) -> RemovableHandle:
        """Register ``hook(module, args)`` before forward; its result, if any, replaces the arguments.

        With ``with_kwargs`` the hook gets ``(module, args, kwargs)`` and returns None or both. See torch.nn.Module.
        """
        marks = self._forward_pre_hooks_with_kwargs
        handle = RemovableHandle(self._forward_pre_hooks, hook, extra_dict=marks, first=prepend)
        mark(handle, marks, with_kwargs)
        return handle

    def register_forward_hook(self, hook: Callable, *, prepend: bool = False, with_kwargs: bool = False,
                              always_call: bool = False) -> RemovableHandle:
        """Register ``hook(module, args, output)`` after forward; its result, if any, replaces the output.

        With ``with_kwargs`` the hook gets ``(module, args, kwargs, output)``. With ``always_call`` it also runs if
        forward raises.
        """
        kwargs, always = self._forward_hooks_with_kwargs, self._forward_hooks_always_called
        handle = RemovableHandle(self._forward_hooks, hook, extra_dict=[kwargs, always], first=prepend)
        mark(handle, kwargs, with_kwargs)
        mark(handle, always, always_call)
        return handle

    def register_full_backward_pre_hook(self, hook: Callable, prepend: bool = False) -> RemovableHandle:
        """Register ``hook(module, grad_output)`` before the module's backward; its result replaces grad_output."""
        return RemovableHandle(self._backward_pre_hooks, hook, first=prepend)

    def register_full_backward_hook(self, hook: Callable, prepend: bool = False) -> RemovableHandle:
        """Register ``hook(module, grad_input, grad_output)`` after the module's backward; its result replaces
        grad_input.
        """
        self._choose_backward(True)
        return RemovableHandle(self._backward_hooks, hook, first=prepend)

    def register_backward_hook(self, hook: Callable) -> RemovableHandle:
        """Register a backward hook that sees only the last operation's gradients; deprecated in PyTorch."""
        self._choose_backward(False)
        return RemovableHandle(self._backward_hooks, hook)

    def _choose_backward(self, full: bool) -> None:
        if self._is_full_backward_hook is (not full):
            raise RuntimeError("Cannot use both regular backward hooks and full backward hooks on a single Module. Please use "
                               "only one of them.")
        self._is_full_backward_hook = full

    def _get_backward_hooks(self) -> tuple[list[Callable], list[Callable]]:
        """Return (full backward hooks, non-full backward hooks)."""
        found: dict[Any, list] = {True: [], False: [], None: []}
        found[Hooks.full_backward] += Hooks.backward.values()
        found[self._is_full_backward_hook] += self._backward_hooks.values()
        return found[True], found[False]

    def register_state_dict_post_hook(self, hook: Any) -> RemovableHandle:
        """Register ``hook(module, state_dict, prefix, local_metadata)`` after ``state_dict``, which it can change in
        place.
        """
        hook._from_public_api = True
        return RemovableHandle(self._state_dict_hooks, hook)

    def _register_state_dict_hook(self, hook: Callable) -> RemovableHandle:
        if getattr(hook, "_from_public_api", False):
            raise RuntimeError("Cannot register the same function as the state dict post hook that was previously registered via "
                               "register_state_dict_post_hook")
        return RemovableHandle(self._state_dict_hooks, hook)

    def register_state_dict_pre_hook(self, hook: Callable) -> RemovableHandle:
        """Register ``hook(module, prefix, keep_vars)`` before ``state_dict``."""
        return RemovableHandle(self._state_dict_pre_hooks, hook)

    def register_load_state_dict_pre_hook(self, hook: Callable) -> RemovableHandle:
        """Register ``hook(module, state_dict, prefix, ...)`` before a state dict is loaded."""
        return self._register_load_state_dict_pre_hook(hook, with_module=True)

    def _register_load_state_dict_pre_hook(self, hook: Callable, with_module: bool = False) -> RemovableHandle:
        return RemovableHandle(self._load_state_dict_pre_hooks, _WrappedHook(hook, self if with_module else None))

    def register_load_state_dict_post_hook(self, hook: Callable) -> RemovableHandle:
        """Register ``hook(module, incompatible_keys)`` after a state dict is loaded."""
        return RemovableHandle(self._load_state_dict_post_hooks, hook)
