"""torch.optim.optimizer: the base class of optimizers, and hooks around every optimizer's step."""
from __future__ import annotations

import functools
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable
from itertools import chain
from typing import Any, TypeAlias

from jtorch import engine
from jtorch._base.error_notes import with_note
from jtorch._nodes.hooks import RemovableHandle
from jtorch._optimizers import groups, scaled
from jtorch._optimizers.arguments import with_gradients
from jtorch._optimizers.for_packages import DeviceDict as DeviceDict
from jtorch._optimizers.for_packages import DeviceDtypeDict as DeviceDtypeDict
from jtorch._optimizers.for_packages import StateDict as StateDict
from jtorch._optimizers.for_packages import _capturable_doc as _capturable_doc
from jtorch._optimizers.for_packages import _device_dtype_check_for_fused as _device_dtype_check_for_fused
from jtorch._optimizers.for_packages import _differentiable_doc as _differentiable_doc
from jtorch._optimizers.for_packages import _disable_dynamo_if_unsupported as _disable_dynamo_if_unsupported
from jtorch._optimizers.for_packages import _foreach_doc as _foreach_doc
from jtorch._optimizers.for_packages import _foreach_supported_types as _foreach_supported_types
from jtorch._optimizers.for_packages import _fused_doc as _fused_doc
from jtorch._optimizers.for_packages import (
    _get_foreach_kernels_supported_devices as _get_foreach_kernels_supported_devices,
)
from jtorch._optimizers.for_packages import _get_fused_kernels_supported_devices as _get_fused_kernels_supported_devices
from jtorch._optimizers.for_packages import _get_scalar_dtype as _get_scalar_dtype
from jtorch._optimizers.for_packages import _maximize_doc as _maximize_doc
from jtorch._optimizers.for_packages import _params_doc as _params_doc
from jtorch._optimizers.for_packages import _stack_if_compiling as _stack_if_compiling
from jtorch._optimizers.for_packages import _to_scalar as _to_scalar
from jtorch._optimizers.for_packages import _view_as_real as _view_as_real
from jtorch._optimizers.groups import required as required
from jtorch.no_grad import enable_grad, no_grad
from jtorch.tensor import Parameter, Tensor

ParamsT: TypeAlias = Iterable[Tensor] | Iterable[dict[str, Any]] | Iterable[tuple[str, Tensor]]

_global_optimizer_pre_hooks: dict[int, Callable] = OrderedDict()
_global_optimizer_post_hooks: dict[int, Callable] = OrderedDict()


def register_optimizer_step_pre_hook(hook: Callable) -> RemovableHandle:
    """Register ``hook(optimizer, args, kwargs)`` before each step of every optimizer; it can return new (args,
    kwargs).
    """
    return RemovableHandle(_global_optimizer_pre_hooks, hook)


def register_optimizer_step_post_hook(hook: Callable) -> RemovableHandle:
    """Register ``hook(optimizer, args, kwargs)`` after each step of every optimizer."""
    return RemovableHandle(_global_optimizer_post_hooks, hook)


def with_hooks(func: Callable) -> Callable:
    """Wrap a step so that the hooks run before and after it. See torch.optim.Optimizer.profile_hook_step."""
    @functools.wraps(func)
    def hooked(*args, **kwargs):
        self = args[0]
        for hook in chain(list(_global_optimizer_pre_hooks.values()), list(self._optimizer_step_pre_hooks.values())):
            new = hook(self, args, kwargs)
            if new is not None:
                args, kwargs = _checked(func, new)
        out = func(*args, **kwargs)
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
    """Wrap a user-defined step so that it records gradients only with ``differentiable=True``."""
    @functools.wraps(step)
    def run(self, *args, **kwargs):
        with enable_grad() if self.defaults["differentiable"] else no_grad():
            return step(self, *args, **kwargs)
    return run


def _get_value(x: Any) -> Any:
    """Return a 1-element tensor as a number."""
    return x.item() if isinstance(x, Tensor) else x


_HOOKS = [f"_optimizer_{what}_{when}_hooks" for what in ("step", "state_dict", "load_state_dict") for when in ("pre", "post")]


def _get_capturable_supported_devices(supports_xla: bool = True) -> list[str]:
    """Return the device types on which PyTorch's optimizers can be captured in a graph."""
    return ["cuda", "xpu", "hpu", "privateuseone", *(["xla"] if supports_xla else [])]


def _default_to_fused_or_foreach(params: list, differentiable: bool, use_fused: bool = False) -> tuple[bool, bool]:
    """Return PyTorch's choice of (fused, foreach). jtorch runs one program in either case."""
    if differentiable:
        return False, False
    found = [p for p in params if p is not None]
    fused = use_fused and all([type(p) in (Tensor, Parameter) and p.is_floating_point() for p in found])
    return fused, not fused and all([type(p) in (Tensor, Parameter) and p.device.type in ("cuda", "xpu", "mtia") for p in found])


class Optimizer:
    """The base class of optimizers. See torch.optim.Optimizer.

    A subclass defines ``defaults`` and ``_update(group)``, which records the new values of one group's parameters. It
    can also define its own ``step``, as in PyTorch.

    Args:
        params: tensors, (name, tensor) pairs, or dicts that each describe a group.
        defaults: the options of groups that do not set them.

    Raises:
        ValueError: no parameters, a parameter that comes twice or is no leaf, or a group without an option that must be set.
        TypeError: parameters that are no Tensors.

    Example::

        >>> class SignDescent(torch.optim.Optimizer):
        ...     def __init__(self, params, lr):
        ...         super().__init__(params, {"lr": lr})
        ...     @torch.no_grad()
        ...     def step(self):
        ...         for group in self.param_groups:
        ...             for p in group["params"]:
        ...                 p.sub_(group["lr"] * p.grad.sign())
        >>> w = torch.ones(1, requires_grad=True)
        >>> (w * 3).backward()
        >>> SignDescent([w], lr=0.5).step()
        >>> w
        tensor([0.5000], requires_grad=True)

    """

    _step_supports_amp_scaling = False
    _on_several = False         # True if the parameters are on several devices.
    _optimizer_step_pre_hooks: OrderedDict[int, Callable]
    _optimizer_step_post_hooks: OrderedDict[int, Callable]
    _optimizer_state_dict_pre_hooks: OrderedDict[int, Callable]
    _optimizer_state_dict_post_hooks: OrderedDict[int, Callable]
    _optimizer_load_state_dict_pre_hooks: OrderedDict[int, Callable]
    _optimizer_load_state_dict_post_hooks: OrderedDict[int, Callable]

    sparse_step: str | None = None      # the name of the function in jtorch.sparse.gradients for sparse gradients

    def __init__(self, params, defaults: dict[str, Any]):
        if isinstance(params, Tensor):
            raise TypeError("params argument given to the optimizer should be an iterable of Tensors or dicts, but got "
                            f"{params.type()}")     # type: ignore[attr-defined]
        self.defaults = defaults
        self.state: defaultdict[Any, Any] = defaultdict(dict)
        self.param_groups: list[dict[str, Any]] = []
        self._hooks_init()
        given = list(params)
        if not given:
            raise with_note(ValueError("optimizer got an empty parameter list"), "Give it model.parameters(), of a "
                                                                                 "model that has some, "
                            "as a list where they are used twice: a generator is empty the second time.")
        for group in given if isinstance(given[0], dict) else [{"params": given}]:
            self.add_param_group(group)
        groups.check_fused(defaults)
        if defaults.get("fused"):
            self._step_supports_amp_scaling = True

    profile_hook_step = staticmethod(with_hooks)

    def _patch_step_function(self) -> None:
        """Wrap the class's own ``step`` so that it runs the hooks. Before this call it runs none, as in PyTorch."""
        cls: Any = type(self)
        self._zero_grad_profile_name = f"Optimizer.zero_grad#{cls.__name__}.zero_grad"
        if not getattr(cls.step, "hooked", None):
            cls.step = self.profile_hook_step(cls.step)
            cls.step.hooked = True

    def _hooks_init(self) -> None:
        self._patch_step_function()
        for name in _HOOKS:
            if name not in self.__dict__:
                setattr(self, name, OrderedDict())

    # ------------------------------------------------------------ groups

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add a parameter group with its options. See torch.optim.Optimizer.add_param_group."""
        groups.add_group(param_group, self.defaults, self.param_groups)
        params = self.param_groups[0]["params"][:1] + self.param_groups[-1]["params"]
        self._on_several = self._on_several or len({getattr(p, "_empty", p)._storage.aval.device for p in params}) > 1

    def __repr__(self) -> str:
        text = f"{type(self).__name__} ("
        for i, group in enumerate(self.param_groups):
            text += f"\nParameter Group {i}\n" + "".join([f"    {k}: {group[k]}\n" for k in sorted(group) if k != "params"])
        return text + ")"

    # ------------------------------------------------------------ stepping

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Clear the gradients of all parameters. See torch.optim.Optimizer.zero_grad."""
        if "_zero_grad_profile_name" not in self.__dict__:      # The optimizer was created without Optimizer.__init__.
            self._patch_step_function()
        for group in self.param_groups:
            for p in group["params"]:
                if set_to_none or p._grad is None:
                    p._grad = None
                else:
                    p._grad.detach_() if p._grad.grad_fn is not None else p._grad.requires_grad_(False)
                    p._grad.zero_()

    def step(self, closure: Callable[[], Any] | None = None):
        """Do one optimization step; ``closure`` re-evaluates the model and returns the loss."""
        if self._optimizer_step_pre_hooks or self._optimizer_step_post_hooks \
                or _global_optimizer_pre_hooks or _global_optimizer_post_hooks:
            return with_hooks(_step)(self, closure) if closure is not None else with_hooks(_step)(self)
        return self._step(closure)

    def _step(self, closure):
        loss = self._loss(closure)
        if self.defaults.get("differentiable"):
            self._step_differentiable()
            return loss
        if self._step_supports_amp_scaling and scaled.step(self):
            engine.end()
            return loss
        with no_grad():
            for group in self.param_groups:
                if group.get("capturable"):
                    groups.check_flags(group, self.defaults)
                self._update(group)
                _make_states_alike(self.state, group["params"])
        engine.end()
        return loss

    def _loss(self, closure):
        if closure is None:
            return None
        with enable_grad():
            return closure()

    def _step_differentiable(self) -> None:
        """Do a differentiable step. Optimizers without this option never call it."""
        with enable_grad():
            for group in self.param_groups:
                groups.check_flags(group, self.defaults)
                self._update_differentiable(group, with_gradients(group))

    def _update_differentiable(self, group: dict[str, Any], params: list[Tensor]) -> None:
        raise NotImplementedError(f"{type(self).__name__} with differentiable=True is not built")

    step.hooked = True      # type: ignore[attr-defined]

    def _cuda_graph_capture_health_check(self) -> None:
        """Do nothing: there are no CUDA graphs."""

    _accelerator_graph_capture_health_check = _optimizer_step_code = _cuda_graph_capture_health_check

    def _update(self, group: dict[str, Any]) -> None:
        raise NotImplementedError

    @staticmethod
    def _group_tensors_by_device_and_dtype(tensorlistlist: list[list], with_indices: bool = False) -> dict:
        """Group lists of tensors by device and dtype of the first list's tensors."""
        return groups.by_device_and_dtype(tensorlistlist, with_indices)

    def register_step_pre_hook(self, hook: Callable) -> RemovableHandle:
        """Register ``hook(optimizer, args, kwargs)`` before each step."""
        return RemovableHandle(self._optimizer_step_pre_hooks, hook)

    def register_step_post_hook(self, hook: Callable) -> RemovableHandle:
        """Register ``hook(optimizer, args, kwargs)`` after each step."""
        return RemovableHandle(self._optimizer_step_post_hooks, hook)

    # ------------------------------------------------------------ state

    def state_dict(self) -> dict[str, Any]:
        """Return the state and the groups' options, with parameters replaced by numbers.

        See torch.optim.Optimizer.state_dict.
        """
        for hook in self._optimizer_state_dict_pre_hooks.values():
            hook(self)
        numbers: dict[int, int] = {}
        packed = []
        for group in self.param_groups:
            for p in group["params"]:
                numbers.setdefault(id(p), len(numbers))
            packed.append({**{k: v for k, v in group.items() if k != "params"},
                           "params": [numbers[id(p)] for p in group["params"]]})
        state = {numbers[id(k)] if isinstance(k, Tensor) else k: v for k, v in self.state.items()}
        out: dict[str, Any] = {"state": state, "param_groups": packed}
        for hook in self._optimizer_state_dict_post_hooks.values():
            new = hook(self, out)
            out = out if new is None else new
        return out

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Load the state and options of another optimizer. See torch.optim.Optimizer.load_state_dict."""
        state_dict = dict(state_dict)
        for hook in self._optimizer_load_state_dict_pre_hooks.values():
            new = hook(self, state_dict)
            state_dict = state_dict if new is None else new
        saved = state_dict["param_groups"]
        new, numbers = groups.matched(self.param_groups, saved)
        self.__setstate__({"state": groups.loaded_state(state_dict["state"], saved, numbers), "param_groups": new})
        for hook in self._optimizer_load_state_dict_post_hooks.values():
            hook(self)

    def register_state_dict_pre_hook(self, hook: Callable, prepend: bool = False) -> RemovableHandle:
        """Register ``hook(optimizer)`` before ``state_dict``."""
        return RemovableHandle(self._optimizer_state_dict_pre_hooks, hook, first=prepend)

    def register_state_dict_post_hook(self, hook: Callable, prepend: bool = False) -> RemovableHandle:
        """Register ``hook(optimizer, state_dict)`` after ``state_dict``."""
        return RemovableHandle(self._optimizer_state_dict_post_hooks, hook, first=prepend)

    def register_load_state_dict_pre_hook(self, hook: Callable, prepend: bool = False) -> RemovableHandle:
        """Register ``hook(optimizer, state_dict)`` before ``load_state_dict``."""
        return RemovableHandle(self._optimizer_load_state_dict_pre_hooks, hook, first=prepend)

    def register_load_state_dict_post_hook(self, hook: Callable, prepend: bool = False) -> RemovableHandle:
        """Register ``hook(optimizer)`` after ``load_state_dict``."""
        return RemovableHandle(self._optimizer_load_state_dict_post_hooks, hook, first=prepend)

    def __getstate__(self) -> dict[str, Any]:
        return {"defaults": self.defaults, "state": self.state, "param_groups": self.param_groups}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._hooks_init()
        self.defaults.setdefault("differentiable", False)
        groups.completed(self.param_groups, self.state, self.defaults)


def _make_states_alike(states: dict, params: list) -> None:
    """Convert the states of subclass parameters to the subclass, by the parameter's ``_adopt``."""
    for p in params:
        if p._adopt is not None and p in states:
            for name, state in states[p].items():
                if isinstance(state, Tensor):
                    states[p][name] = p._adopt(state)


def _step(self: Optimizer, closure: Callable[[], Any] | None = None):
    return self._step(closure)
