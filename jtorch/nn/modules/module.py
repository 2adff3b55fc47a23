"""Module: named parameters, buffers and submodules, and operations on all of them."""
from __future__ import annotations

import inspect
import sys
from collections import OrderedDict
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

from jtorch._api import functions
from jtorch._api.settings import typename
from jtorch._base import warned
from jtorch.nn.modules._conversion import convert
from jtorch.nn.modules._destination import destination
from jtorch.nn.modules._hook_methods import HookMethods
from jtorch.nn.modules._hooks import (
    Hooks,
    call_with_hooks,
    register_module_backward_hook,
    register_module_buffer_registration_hook,
    register_module_forward_hook,
    register_module_forward_pre_hook,
    register_module_full_backward_hook,
    register_module_full_backward_pre_hook,
    register_module_module_registration_hook,
    register_module_parameter_registration_hook,
    registered,
)
from jtorch.nn.modules._hooks import _WrappedHook as _WrappedHook
from jtorch.nn.modules._state import EXTRA as _EXTRA_STATE_KEY_SUFFIX  # noqa: F401 (PyTorch's name)
from jtorch.nn.modules._state import StateMethods
from jtorch.nn.modules._state import _IncompatibleKeys as _IncompatibleKeys
from jtorch.nn.parameter import Buffer
from jtorch.tensor import Parameter, Tensor

# The global hooks under PyTorch's names.
_global_forward_pre_hooks, _global_forward_hooks = Hooks.forward_pre, Hooks.forward
_global_backward_pre_hooks, _global_backward_hooks = Hooks.backward_pre, Hooks.backward
_global_parameter_registration_hooks, _global_buffer_registration_hooks = Hooks.parameter, Hooks.buffer
_global_module_registration_hooks = Hooks.module


def _addindent(s_: str, numSpaces: int) -> str:
    """Return a text whose lines after the first are indented. Blank lines become empty."""
    first, *rest = s_.split("\n")
    return "\n".join([first, *[" " * numSpaces + line if line.strip() else "" for line in rest]])


_COMPLEX = ("Complex modules are a new feature under active development whose design may change, and some modules might not "
            "work as expected when using complex tensors as parameters or buffers. Please file an issue at https://github.com/pytorch/"
            "pytorch/issues/new?template=bug-report.yml if a complex module does not work as expected.")
_OWN = ("_parameters", "_buffers", "_modules")
_HOOKS = ("_backward_pre_hooks", "_backward_hooks", "_forward_hooks", "_forward_pre_hooks", "_state_dict_hooks",
          "_state_dict_pre_hooks", "_load_state_dict_pre_hooks", "_load_state_dict_post_hooks")
_MARKS = ("_forward_hooks_with_kwargs", "_forward_hooks_always_called", "_forward_pre_hooks_with_kwargs")
_START = {**dict.fromkeys(_OWN, dict), **dict.fromkeys((*_HOOKS, *_MARKS), OrderedDict), "_non_persistent_buffers_set": set}


class Module(HookMethods, StateMethods):
    """The base class of neural network modules. See torch.nn.Module.

    Parameters, buffers and modules assigned as attributes are registered under their names; a subclass says in
    ``forward`` what a call does.

    Shape: whatever ``forward`` takes and gives.

    Example::

        >>> class Scale(nn.Module):
        ...     def __init__(self):
        ...         super().__init__()
        ...         self.factor = nn.Parameter(torch.tensor(2.0))
        ...     def forward(self, x):
        ...         return self.factor * x
        >>> scale = Scale()
        >>> scale(torch.ones(2)).tolist(), list(scale.state_dict())
        ([2.0, 2.0], ['factor'])
    """

    dump_patches = False
    training: bool
    _parameters: dict[str, Parameter | None]
    _buffers: dict[str, Tensor | None]
    _modules: dict[str, Any]
    call_super_init = False

    def __init__(self, *args: Any, **kwargs: Any):
        if not self.call_super_init and kwargs:
            raise TypeError(f"{type(self).__name__}.__init__() got an unexpected keyword argument '{next(iter(kwargs))}'")
        if not self.call_super_init and args:
            raise TypeError(f"{type(self).__name__}.__init__() takes 1 positional argument but {len(args) + 1} were given")
        state = self.__dict__
        state["training"] = True
        state["_is_full_backward_hook"] = None
        for name, kind in _START.items():
            state[name] = kind()
        if self.call_super_init:
            super().__init__(*args, **kwargs)

    def forward(self, *input: Any) -> Any:
        """Compute the module's result. Subclasses define this method."""
        raise NotImplementedError(f'Module [{type(self).__name__}] is missing the required "forward" function')

    def __call__(self, *args, **kwargs):
        if (self._forward_hooks or self._forward_pre_hooks or self._backward_hooks or self._backward_pre_hooks
                or Hooks.forward or Hooks.forward_pre or Hooks.backward or Hooks.backward_pre):
            return call_with_hooks(self, args, kwargs)
        return self.forward(*args, **kwargs)

    # ------------------------------------------------------------ attributes

    def __getattr__(self, name: str) -> Any:
        state = self.__dict__
        for own in _OWN:
            held = state.get(own)
            if held is not None and name in held:
                return held[name]
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def __setattr__(self, name: str, value: Any) -> None:
        state = self.__dict__
        if isinstance(value, Parameter):
            if "_parameters" not in state:
                raise AttributeError("cannot assign parameters before Module.__init__() call")
            self._forget(name, "_parameters")
            self.register_parameter(name, value)
        elif name in state.get("_parameters", ()):
            if value is not None:
                raise TypeError(f"cannot assign '{typename(value)}' as parameter '{name}' (torch.nn.Parameter or None expected)")
            self.register_parameter(name, value)
        elif isinstance(value, Module):
            if "_modules" not in state:
                raise AttributeError("cannot assign module before Module.__init__() call")
            self._forget(name, "_modules")
            state["_modules"][name] = registered(Hooks.module, self, name, value)
        elif name in state.get("_modules", ()):
            if value is not None:
                raise TypeError(f"cannot assign '{typename(value)}' as child module '{name}' (torch.nn.Module or None expected)")
            state["_modules"][name] = registered(Hooks.module, self, name, value)
        elif isinstance(value, Buffer) or name in state.get("_buffers", ()):
            self._set_buffer(name, value)
        else:
            object.__setattr__(self, name, value)

    def _set_buffer(self, name: str, value: Any) -> None:
        if value is not None and not isinstance(value, Tensor):
            raise TypeError(f"cannot assign '{typename(value)}' as buffer '{name}' (torch.nn.Buffer, torch.Tensor or None "
                            "expected)")
        kept = value.persistent if isinstance(value, Buffer) else name not in self._non_persistent_buffers_set
        own = type(self).register_buffer
        if own is Module.register_buffer or "persistent" in inspect.signature(own).parameters:
            self.register_buffer(name, value, kept)
            return
        if not kept:
            raise RuntimeError("Registering a non-persistent buffer on a Module subclass that implements register_buffer() "
                               "without the persistent argument is not allowed.")
        self.register_buffer(name, value)

    def _forget(self, name: str, keep: str) -> None:
        state = self.__dict__
        state.pop(name, None)
        for own in _OWN:
            if own != keep:
                state[own].pop(name, None)
        state["_non_persistent_buffers_set"].discard(name)

    def __delattr__(self, name: str) -> None:
        for own in _OWN:
            if name in self.__dict__[own]:
                del self.__dict__[own][name]
                self._non_persistent_buffers_set.discard(name)
                return
        object.__delattr__(self, name)

    def __dir__(self):
        names = [*dir(type(self)), *self.__dict__, *self._parameters, *self._modules, *self._buffers]
        return sorted(n for n in names if not n[0].isdigit())

    def __setstate__(self, state: dict) -> None:
        self.__dict__.update(state)
        for name, kind in _START.items():
            self.__dict__.setdefault(name, kind())
        self.__dict__.setdefault("_is_full_backward_hook", None)

    # ------------------------------------------------------------ registering

    def _check_name(self, kind: str, name: Any, own: str) -> None:
        if not isinstance(name, str):
            raise TypeError(f"{kind} name should be a string. Got {typename(name)}")
        if "." in name:
            raise KeyError(f"{kind} name can't contain \".\"" + (f", got: {name}" if kind == "module" else ""))
        if name == "":
            raise KeyError(f'{kind} name can\'t be empty string ""')
        if hasattr(self, name) and name not in self.__dict__[own]:
            raise KeyError(f"attribute '{name}' already exists")

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        """Add a tensor that is state but no parameter; ``persistent`` buffers are in the state dict."""
        if "_buffers" not in self.__dict__:
            raise AttributeError("cannot assign buffer before Module.__init__() call")
        self._check_name("buffer", name, "_buffers")
        if tensor is not None and not isinstance(tensor, Tensor):
            raise TypeError(f"cannot assign '{typename(tensor)}' object to buffer '{name}' (torch Tensor or None required)")
        self._buffers[name] = registered(Hooks.buffer, self, name, tensor)
        (self._non_persistent_buffers_set.discard if persistent else self._non_persistent_buffers_set.add)(name)

    def register_parameter(self, name: str, param: Parameter | None) -> None:
        """Add a parameter under a name."""
        if "_parameters" not in self.__dict__:
            raise AttributeError("cannot assign parameter before Module.__init__() call")
        self._check_name("parameter", name, "_parameters")
        if param is not None and not isinstance(param, Parameter):
            raise TypeError(f"cannot assign '{typename(param)}' object to parameter '{name}' (torch.nn.Parameter or None "
                            "required)")
        if param is not None and param.grad_fn is not None:
            raise ValueError(f"Cannot assign non-leaf Tensor to parameter '{name}'. Model parameters must be created explicitly. "
                             f"To express '{name}' as a function of another Tensor, compute the value in the forward() method.")
        self._parameters[name] = param if param is None else registered(Hooks.parameter, self, name, param)

    def add_module(self, name: str, module: Module | None) -> None:
        """Add a submodule under a name."""
        if module is not None and not isinstance(module, Module):
            raise TypeError(f"{typename(module)} is not a Module subclass")
        self._check_name("module", name, "_modules")
        self._modules[name] = registered(Hooks.module, self, name, module)

    register_module = add_module

    # ------------------------------------------------------------ looking up submodules and tensors

    def get_submodule(self, target: str) -> Module:
        """Return the submodule with a dotted name."""
        found = self
        for item in target.split(".") if target else ():
            if not hasattr(found, item):
                raise AttributeError(f"{found._get_name()} has no attribute `{item}`")
            found = getattr(found, item)
            if not isinstance(found, Module):
                raise AttributeError(f"`{item}` is not an nn.Module")
        return found

    def set_submodule(self, target: str, module: Module, strict: bool = False) -> None:
        """Replace the submodule with a dotted name."""
        if target == "":
            raise ValueError("Cannot set the submodule without a target name!")
        if not isinstance(module, Module):
            raise ValueError(f"`module` is not an nn.Module, found {type(module)}")
        path, _, name = target.rpartition(".")
        parent = self.get_submodule(path)
        if strict and not hasattr(parent, name):
            raise AttributeError(f"{parent._get_name()} has no attribute `{name}`")
        if hasattr(parent, name) and not isinstance(getattr(parent, name), Module):
            raise AttributeError(f"`{name}` is not an nn.Module")
        setattr(parent, name, module)

    def _get_tensor(self, target: str) -> tuple[Module, str, Any]:
        path, _, name = target.rpartition(".")
        module = self.get_submodule(path)
        if not hasattr(module, name):
            raise AttributeError(f"{module._get_name()} has no attribute `{name}`")
        return module, name, getattr(module, name)

    def get_parameter(self, target: str) -> Parameter:
        """Return the parameter with a dotted name."""
        _, name, found = self._get_tensor(target)
        if not isinstance(found, Parameter):
            raise AttributeError(f"`{name}` is not an nn.Parameter")
        return found

    def get_buffer(self, target: str) -> Tensor:
        """Return the buffer with a dotted name."""
        module, name, found = self._get_tensor(target)
        if name not in module._buffers:
            raise AttributeError(f"`{name}` is not a buffer")
        return found

    def named_modules(self, memo: set | None = None, prefix: str = "",
                      remove_duplicate: bool = True) -> Iterator[tuple[str, Module]]:
        """Yield (name, module) for this module and all its descendants."""
        memo = set() if memo is None else memo
        if self in memo:
            return
        if remove_duplicate:
            memo.add(self)
        yield prefix, self
        for name, module in self._modules.items():
            if module is not None:
                yield from module.named_modules(memo, f"{prefix}.{name}" if prefix else name, remove_duplicate)

    def modules(self, remove_duplicate: bool = True) -> Iterator[Module]:
        """Yield this module and all its descendants."""
        for _, module in self.named_modules(remove_duplicate=remove_duplicate):
            yield module

    def named_children(self) -> Iterator[tuple[str, Module]]:
        """Yield (name, module) for the direct submodules."""
        first: dict[Module, str] = {}       # A module with several names is yielded once, with the first.
        for name, module in self._modules.items():
            if module is not None:
                first.setdefault(module, name)
        yield from ((name, module) for module, name in first.items())

    def children(self) -> Iterator[Module]:
        """Return the direct submodules."""
        return (module for _, module in self.named_children())

    def _named_members(self, get: Callable, prefix: str = "", recurse: bool = True,
                       remove_duplicate: bool = True) -> Iterator[tuple[str, Any]]:
        memo = set()
        modules = self.named_modules(prefix=prefix, remove_duplicate=remove_duplicate) if recurse else [(prefix, self)]
        for start, module in modules:
            for name, value in get(module):
                if value is None or value in memo:
                    continue
                if remove_duplicate:
                    memo.add(value)
                yield f"{start}.{name}" if start else name, value

    def named_parameters(self, prefix: str = "", recurse: bool = True,
                         remove_duplicate: bool = True) -> Iterator[tuple[str, Parameter]]:
        """Yield (name, parameter) for all parameters."""
        yield from self._named_members(lambda m: m._parameters.items(), prefix, recurse, remove_duplicate)

    def parameters(self, recurse: bool = True) -> Iterator[Parameter]:
        """Yield all parameters."""
        for _, param in self.named_parameters(recurse=recurse):
            yield param

    def named_buffers(self, prefix: str = "", recurse: bool = True,
                      remove_duplicate: bool = True) -> Iterator[tuple[str, Tensor]]:
        """Yield (name, buffer) for all buffers."""
        yield from self._named_members(lambda m: m._buffers.items(), prefix, recurse, remove_duplicate)

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        """Yield all buffers."""
        for _, buffer in self.named_buffers(recurse=recurse):
            yield buffer

    # ------------------------------------------------------------ moving and casting

    def apply(self, fn: Callable[[Module], None]):
        """Call ``fn`` with every submodule, and then with this module."""
        for module in self.children():
            module.apply(fn)
        fn(self)
        return self

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True):
        for module in self.children() if recurse else ():
            module._apply(fn)
        for name in [n for n, param in self._parameters.items() if param is not None]:
            convert(self, name, fn)
        for name, buffer in self._buffers.items():
            if buffer is not None:
                self._buffers[name] = fn(buffer)
        return self

    def to(self, *args: Any, **kwargs: Any):
        """Move parameters and buffers to a device, and floating ones to a dtype. See torch.nn.Module.to.

        The calls are ``to(device, dtype)``, ``to(dtype)`` and ``to(tensor)``. Parameters stay the same objects. Raises
        TypeError for a dtype that is neither floating nor complex.
        """
        device, dtype, memory_format = destination(args, kwargs)
        if dtype is not None and not (dtype.is_floating_point or dtype.is_complex):
            raise TypeError(f"nn.Module.to only accepts floating point or complex dtypes, but got desired dtype={dtype}")
        if dtype is not None and dtype.is_complex:
            warned.warn(_COMPLEX)

        def moved(t: Tensor) -> Tensor:
            try:
                return t.to(device=device, dtype=dtype if t.is_floating_point() or t.is_complex() else None,
                            memory_format=memory_format if memory_format and t.dim() in (4, 5) else None)
            except NotImplementedError as error:
                if str(error) != "Cannot copy out of meta tensor; no data!":
                    raise
                raise NotImplementedError(f"{error} Please use torch.nn.Module.to_empty() instead of torch.nn.Module.to() when "
                                          "moving module from meta to a different device.") from None
        return self._apply(moved)

    def to_empty(self, *, device: Any, recurse: bool = True):
        """Move to a device without copying elements, which become zeros. See torch.nn.Module.to_empty."""
        return self._apply(lambda t: functions.empty_like(t, device=device), recurse=recurse)

    def cuda(self, device: Any = None):
        """Move parameters and buffers to a GPU."""
        return self._apply(lambda t: t.cuda(device))        # type: ignore[attr-defined]

    def cpu(self):
        """Move parameters and buffers to the CPU."""
        return self._apply(lambda t: t.cpu())       # type: ignore[attr-defined]

    def type(self, dst_type: Any):
        """Cast parameters and buffers."""
        return self._apply(lambda t: t.type(dst_type))      # type: ignore[attr-defined]

    def _cast(self, name: str):
        return self._apply(lambda t: getattr(t, name)() if t.is_floating_point() else t)

    def float(self):
        """Cast floating parameters and buffers to float32."""
        return self._cast("float")

    def double(self):
        """Cast floating parameters and buffers to float64."""
        return self._cast("double")

    def half(self):
        """Cast floating parameters and buffers to float16."""
        return self._cast("half")

    def bfloat16(self):
        """Cast floating parameters and buffers to bfloat16."""
        return self._cast("bfloat16")

    def share_memory(self):
        """Move parameters and buffers to memory shared with other processes. See torch.Tensor.share_memory_."""
        return self._apply(lambda t: t.share_memory_())     # type: ignore[attr-defined]

    def train(self, mode: bool = True):
        """Set training mode, and call ``train`` of each submodule, which can override it."""
        if mode is not True and mode is not False:
            raise ValueError("training mode is expected to be boolean")
        for child in self.children():
            child.train(mode)
        self.training = mode
        return self

    def eval(self):
        """Set evaluation mode."""
        return self.train(False)

    def requires_grad_(self, requires_grad: bool = True):
        """Set whether the parameters get gradients."""
        for p in self.parameters():
            p.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Set the parameters' gradients to None, or to zeros without history."""
        for param in [p for p in self.parameters() if p.grad is not None]:
            if set_to_none:
                param.grad = None
            else:
                grad: Any = param.grad
                (grad.requires_grad_(False) if grad.is_leaf else grad.detach_()).zero_()

    def compile(self, *args: Any, **kwargs: Any) -> None:
        """Do nothing, since the engine compiles repeated work anyway."""

    # ------------------------------------------------------------ text

    def _get_name(self) -> str:
        return type(self).__name__

    def extra_repr(self) -> str:
        """Return the text in the parentheses of the repr. Subclasses define this method."""
        return ""

    def __repr__(self):
        extra = self.extra_repr()
        lines = extra.split("\n") if extra else []
        children = [f"({name}): {_addindent(repr(m), 2)}" for name, m in self._modules.items()]
        if len(lines) == 1 and not children:
            return f"{self._get_name()}({lines[0]})"
        lines += children
        return f"{self._get_name()}(" + ("\n  " + "\n  ".join(lines) + "\n" if lines else "") + ")"


__all__ = [
    "Module", "register_module_backward_hook", "register_module_buffer_registration_hook", "register_module_forward_hook",
    "register_module_forward_pre_hook", "register_module_full_backward_hook", "register_module_full_backward_pre_hook",
    "register_module_module_registration_hook", "register_module_parameter_registration_hook",
]


_NAMES = {"forward": "forward_hooks", "forward_pre": "forward_pre_hooks", "backward": "backward_hooks", "module":
          "module_registration_hooks", "backward_pre": "backward_pre_hooks", "parameter": "parameter_registration_hooks",
          "buffer": "buffer_registration_hooks", "with_kwargs": "forward_hooks_with_kwargs",
          "always_called": "forward_hooks_always_called", "full_backward": "is_full_backward_hook"}


def _of_hooks(name: str) -> property:
    return property(lambda module: getattr(Hooks, name), lambda module, value: setattr(Hooks, name, value))


class _WithHooks(ModuleType):
    """The global hooks as assignable attributes of this file, with PyTorch's names."""


for _name, _theirs in _NAMES.items():
    setattr(_WithHooks, f"_global_{_theirs}", _of_hooks(_name))
sys.modules[__name__].__class__ = _WithHooks

del HookMethods, StateMethods, _WithHooks      # PyTorch's module does not have these names
