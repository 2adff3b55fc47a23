"""Module: parameters, buffers and submodules under names, and what can be done to all of them."""
from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import Any

import jtorch.dtype as dtypes
from jtorch.hooks import RemovableHandle
from jtorch.nn import _state
from jtorch.nn._hooks import Hooks, call_with_hooks, registered
from jtorch.nn._make import typename
from jtorch.no_grad import no_grad
from jtorch.tensor import Parameter, Tensor, alias


class Buffer(Tensor):
    """A tensor that a module registers as a buffer when it is assigned. See torch.nn.Buffer."""

    persistent = True

    def __new__(cls, data: Tensor | None = None, *, persistent: bool = True):
        t = alias(data if data is not None else Tensor())
        t.__class__ = cls
        t.persistent = persistent       # type: ignore[attr-defined]
        return t.requires_grad_(data is not None and data.requires_grad)

    def __init__(self, data=None, *, persistent=True):
        pass


def indented(text: str, n: int = 2) -> str:
    """The text with all lines but the first moved in."""
    return text.replace("\n", "\n" + " " * n)


_OWN = ("_parameters", "_buffers", "_modules")
_HOOKS = ("_backward_pre_hooks", "_backward_hooks", "_forward_hooks", "_forward_pre_hooks", "_state_dict_hooks",
          "_state_dict_pre_hooks", "_load_state_dict_pre_hooks", "_load_state_dict_post_hooks")
_SETS = ("_non_persistent_buffers_set", "_forward_hooks_with_kwargs", "_forward_hooks_always_called",
         "_forward_pre_hooks_with_kwargs")


class Module:
    """The base of all neural network modules. See torch.nn.Module.

    Parameters, buffers and modules assigned as attributes are registered under their names; a subclass says in
    ``forward`` what a call does.
    """

    dump_patches = False
    _version = 1
    training: bool
    _parameters: dict[str, Parameter | None]
    _buffers: dict[str, Tensor | None]
    _modules: dict[str, Any]
    call_super_init = False
    _is_full_backward_hook: bool | None

    def __init__(self, *args: Any, **kwargs: Any):
        if not self.call_super_init and kwargs:
            raise TypeError(f"{type(self).__name__}.__init__() got an unexpected keyword argument '{next(iter(kwargs))}'")
        if not self.call_super_init and args:
            raise TypeError(f"{type(self).__name__}.__init__() takes 1 positional argument but {len(args) + 1} were given")
        state = self.__dict__
        state["training"] = True
        for name in _OWN:
            state[name] = {}
        for name in _HOOKS:
            state[name] = OrderedDict()
        for name in _SETS:
            state[name] = set()
        state["_is_full_backward_hook"] = None
        if self.call_super_init:
            super().__init__(*args, **kwargs)

    def forward(self, *input: Any) -> Any:
        """What a call computes: for subclasses to define."""
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
            if own in state and name in state[own]:
                return state[own][name]
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
        self.register_buffer(name, value, kept)

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
        for name in _HOOKS:
            self.__dict__.setdefault(name, OrderedDict())
        for name in _SETS:
            self.__dict__.setdefault(name, set())
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
        """Adds a tensor that is state but not a parameter; ``persistent`` ones are in the state dict."""
        if "_buffers" not in self.__dict__:
            raise AttributeError("cannot assign buffer before Module.__init__() call")
        self._check_name("buffer", name, "_buffers")
        if tensor is not None and not isinstance(tensor, Tensor):
            raise TypeError(f"cannot assign '{typename(tensor)}' object to buffer '{name}' (torch Tensor or None required)")
        self._buffers[name] = registered(Hooks.buffer, self, name, tensor)
        (self._non_persistent_buffers_set.discard if persistent else self._non_persistent_buffers_set.add)(name)

    def register_parameter(self, name: str, param: Parameter | None) -> None:
        """Adds a parameter under a name."""
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
        """Adds a submodule under a name."""
        if module is not None and not isinstance(module, Module):
            raise TypeError(f"{typename(module)} is not a Module subclass")
        self._check_name("module", name, "_modules")
        self._modules[name] = registered(Hooks.module, self, name, module)

    register_module = add_module

    # ------------------------------------------------------------ finding

    def get_submodule(self, target: str) -> Module:
        """The submodule of a dotted name."""
        found = self
        for item in target.split(".") if target else ():
            if not hasattr(found, item):
                raise AttributeError(f"{found._get_name()} has no attribute `{item}`")
            found = getattr(found, item)
            if not isinstance(found, Module):
                raise AttributeError(f"`{item}` is not an nn.Module")
        return found

    def set_submodule(self, target: str, module: Module, strict: bool = False) -> None:
        """Puts a module in the place of a dotted name."""
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
        """The parameter of a dotted name."""
        _, name, found = self._get_tensor(target)
        if not isinstance(found, Parameter):
            raise AttributeError(f"`{name}` is not an nn.Parameter")
        return found

    def get_buffer(self, target: str) -> Tensor:
        """The buffer of a dotted name."""
        module, name, found = self._get_tensor(target)
        if name not in module._buffers:
            raise AttributeError(f"`{name}` is not a buffer")
        return found

    def named_modules(self, memo: set | None = None, prefix: str = "",
                      remove_duplicate: bool = True) -> Iterator[tuple[str, Module]]:
        """(name, module) of this module and all below it."""
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
        """This module and all below it."""
        for _, module in self.named_modules(remove_duplicate=remove_duplicate):
            yield module

    def named_children(self) -> Iterator[tuple[str, Module]]:
        """(name, module) of the direct submodules."""
        memo = set()
        for name, module in self._modules.items():
            if module is not None and module not in memo:
                memo.add(module)
                yield name, module

    def children(self) -> Iterator[Module]:
        """The direct submodules."""
        for _, module in self.named_children():
            yield module

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
        """(name, parameter) of all parameters."""
        yield from self._named_members(lambda m: m._parameters.items(), prefix, recurse, remove_duplicate)

    def parameters(self, recurse: bool = True) -> Iterator[Parameter]:
        """All parameters."""
        for _, param in self.named_parameters(recurse=recurse):
            yield param

    def named_buffers(self, prefix: str = "", recurse: bool = True,
                      remove_duplicate: bool = True) -> Iterator[tuple[str, Tensor]]:
        """(name, buffer) of all buffers."""
        yield from self._named_members(lambda m: m._buffers.items(), prefix, recurse, remove_duplicate)

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        """All buffers."""
        for _, buffer in self.named_buffers(recurse=recurse):
            yield buffer

    # ------------------------------------------------------------ changing all

    def apply(self, fn: Callable[[Module], None]):
        """Calls ``fn`` with every submodule and then this one."""
        for module in self.children():
            module.apply(fn)
        fn(self)
        return self

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True):
        for module in self.children() if recurse else ():
            module._apply(fn)
        for param in self._parameters.values():
            if param is not None:
                _change(param, fn)
        for name, buffer in self._buffers.items():
            if buffer is not None:
                self._buffers[name] = fn(buffer)
        return self

    def to(self, *args: Any, **kwargs: Any):
        """Moves parameters and buffers to a device, and floating ones to a dtype. See torch.nn.Module.to."""
        device, dtype = _destination(args, kwargs)
        if dtype is not None and not (dtype.is_floating_point or dtype.is_complex):
            raise TypeError(f"nn.Module.to only accepts floating point or complex dtypes, but got desired dtype={dtype}")
        return self._apply(lambda t: t.to(device=device, dtype=dtype if t.is_floating_point() or t.is_complex() else None))    # type: ignore[attr-defined]

    def cuda(self, device: Any = None):
        """Moves parameters and buffers to a GPU."""
        return self._apply(lambda t: t.cuda(device))        # type: ignore[attr-defined]

    def cpu(self):
        """Moves parameters and buffers to the CPU."""
        return self._apply(lambda t: t.cpu())       # type: ignore[attr-defined]

    def type(self, dst_type: Any):
        """Casts parameters and buffers."""
        return self._apply(lambda t: t.type(dst_type))      # type: ignore[attr-defined]

    def _cast(self, name: str):
        return self._apply(lambda t: getattr(t, name)() if t.is_floating_point() else t)

    def float(self):
        """Casts floating parameters and buffers to float32."""
        return self._cast("float")

    def double(self):
        """Casts floating parameters and buffers to float64."""
        return self._cast("double")

    def half(self):
        """Casts floating parameters and buffers to float16."""
        return self._cast("half")

    def bfloat16(self):
        """Casts floating parameters and buffers to bfloat16."""
        return self._cast("bfloat16")

    def share_memory(self):
        """Itself: tensors are not shared between processes here."""
        return self._apply(lambda t: t.share_memory_())     # type: ignore[attr-defined]

    def train(self, mode: bool = True):
        """Sets training mode."""
        if not isinstance(mode, bool):
            raise ValueError("training mode is expected to be boolean")
        self.training = mode
        for module in self.children():
            module.train(mode)
        return self

    def eval(self):
        """Sets evaluation mode."""
        return self.train(False)

    def requires_grad_(self, requires_grad: bool = True):
        """Sets whether the parameters get gradients."""
        for p in self.parameters():
            p.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forgets the parameters' gradients, or makes them zero."""
        for p in self.parameters():
            if p.grad is None:
                continue
            if set_to_none:
                p.grad = None
            else:
                p.grad = p.grad.detach()
                p.grad.zero_()      # type: ignore[attr-defined]

    def compile(self, *args: Any, **kwargs: Any) -> None:
        """Nothing: what repeats is compiled anyway."""

    # ------------------------------------------------------------ hooks

    def _sorted_backward_hooks(self) -> tuple[list, list]:
        """(full hooks, those of PyTorch's older kind)."""
        own = list(self._backward_hooks.values())
        full = list(Hooks.backward.values())
        return (full + own, []) if self._is_full_backward_hook else (full, own)

    def register_forward_pre_hook(self, hook: Callable, *, prepend: bool = False, with_kwargs: bool = False) -> RemovableHandle:
        """``hook(module, args)`` runs before forward; what it returns replaces the arguments."""
        handle = RemovableHandle(self._forward_pre_hooks, hook, first=prepend)
        if with_kwargs:
            self._forward_pre_hooks_with_kwargs.add(handle.id)
        return handle

    def register_forward_hook(self, hook: Callable, *, prepend: bool = False, with_kwargs: bool = False,
                              always_call: bool = False) -> RemovableHandle:
        """``hook(module, args, output)`` runs after forward; what it returns replaces the output."""
        handle = RemovableHandle(self._forward_hooks, hook, first=prepend)
        if with_kwargs:
            self._forward_hooks_with_kwargs.add(handle.id)
        if always_call:
            self._forward_hooks_always_called.add(handle.id)
        return handle

    def register_full_backward_pre_hook(self, hook: Callable, prepend: bool = False) -> RemovableHandle:
        """``hook(module, grad_output)`` runs before the module's backward."""
        return RemovableHandle(self._backward_pre_hooks, hook, first=prepend)

    def register_full_backward_hook(self, hook: Callable, prepend: bool = False) -> RemovableHandle:
        """``hook(module, grad_input, grad_output)`` runs after the module's backward."""
        self._choose_backward(True)
        return RemovableHandle(self._backward_hooks, hook, first=prepend)

    def register_backward_hook(self, hook: Callable) -> RemovableHandle:
        """Deprecated in PyTorch: sees the gradients of the last operation only."""
        self._choose_backward(False)
        return RemovableHandle(self._backward_hooks, hook)

    def _choose_backward(self, full: bool) -> None:
        if self._is_full_backward_hook is (not full):
            raise RuntimeError("Cannot use both regular backward hooks and full backward hooks on a single Module. Please use "
                               "only one of them.")
        self._is_full_backward_hook = full

    def register_state_dict_post_hook(self, hook: Callable) -> RemovableHandle:
        """``hook(module, state_dict, prefix, local_metadata)`` runs after ``state_dict``."""
        return RemovableHandle(self._state_dict_hooks, hook)

    def _register_state_dict_hook(self, hook: Callable) -> RemovableHandle:
        return RemovableHandle(self._state_dict_hooks, hook)

    def register_state_dict_pre_hook(self, hook: Callable) -> RemovableHandle:
        """``hook(module, prefix, keep_vars)`` runs before ``state_dict``."""
        return RemovableHandle(self._state_dict_pre_hooks, hook)

    def register_load_state_dict_pre_hook(self, hook: Callable) -> RemovableHandle:
        """``hook(module, state_dict, prefix, ...)`` runs before a state dict is loaded."""
        return RemovableHandle(self._load_state_dict_pre_hooks, lambda *args: hook(self, *args))

    def _register_load_state_dict_pre_hook(self, hook: Callable, with_module: bool = False) -> RemovableHandle:
        return RemovableHandle(self._load_state_dict_pre_hooks, (lambda *args: hook(self, *args)) if with_module else hook)

    def register_load_state_dict_post_hook(self, hook: Callable) -> RemovableHandle:
        """``hook(module, incompatible_keys)`` runs after a state dict is loaded."""
        return RemovableHandle(self._load_state_dict_post_hooks, hook)

    # ------------------------------------------------------------ state

    def get_extra_state(self) -> Any:
        """What the state dict holds besides tensors: for subclasses to define."""
        raise RuntimeError("Reached a code path in Module.get_extra_state() that should never be called.")

    def set_extra_state(self, state: Any) -> None:
        """Takes back what ``get_extra_state`` gave: for subclasses to define."""
        raise RuntimeError("Reached a code path in Module.set_extra_state() that should never be called.")

    set_extra_state._is_default = True      # type: ignore[attr-defined]

    def _save_to_state_dict(self, destination: dict, prefix: str, keep_vars: bool) -> None:
        for name, value in [*self._parameters.items(), *self._buffers.items()]:
            if value is not None and name not in self._non_persistent_buffers_set:
                destination[prefix + name] = value if keep_vars else value.detach()
        if type(self).get_extra_state is not Module.get_extra_state:
            destination[prefix + _state.EXTRA] = self.get_extra_state()

    def state_dict(self, *args: Any, destination: Any = None, prefix: str = "", keep_vars: bool = False) -> Any:
        """All parameters and persistent buffers by name. See torch.nn.Module.state_dict."""
        given = dict(zip(("destination", "prefix", "keep_vars"), args, strict=False))
        destination, prefix = given.get("destination", destination), given.get("prefix", prefix)
        keep_vars = given.get("keep_vars", keep_vars)
        if destination is None:
            destination = OrderedDict()
            destination._metadata = OrderedDict()
        local = {"version": self._version}
        if hasattr(destination, "_metadata"):
            destination._metadata[prefix[:-1]] = local
        for pre_hook in self._state_dict_pre_hooks.values():
            pre_hook(self, prefix, keep_vars)
        self._save_to_state_dict(destination, prefix, keep_vars)
        for name, module in self._modules.items():
            if module is not None:
                module.state_dict(destination=destination, prefix=f"{prefix}{name}.", keep_vars=keep_vars)
        for hook in self._state_dict_hooks.values():
            new = hook(self, destination, prefix, local)
            destination = destination if new is None else new
        return destination

    def _load_from_state_dict(self, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys,
                              error_msgs) -> None:
        for hook in self._load_state_dict_pre_hooks.values():
            hook(state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs)
        _state.load_own(self, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs)

    def load_state_dict(self, state_dict: Any, strict: bool = True, assign: bool = False) -> _state.IncompatibleKeys:
        """Copies a state dict into this module. See torch.nn.Module.load_state_dict."""
        return _state.load(self, state_dict, strict, assign)

    # ------------------------------------------------------------ text

    def _get_name(self) -> str:
        return type(self).__name__

    def extra_repr(self) -> str:
        """What stands in the parentheses: for subclasses to define."""
        return ""

    def __repr__(self):
        extra = self.extra_repr()
        lines = extra.split("\n") if extra else []
        children = [f"({name}): {indented(repr(m))}" for name, m in self._modules.items()]
        if len(lines) == 1 and not children:
            return f"{self._get_name()}({lines[0]})"
        lines += children
        return f"{self._get_name()}(" + ("\n  " + "\n  ".join(lines) + "\n" if lines else "") + ")"


def _change(param: Parameter, fn: Callable[[Tensor], Tensor]) -> None:
    """Gives a parameter and its gradient new content, as ``to`` does: they stay the same objects."""
    with no_grad():
        new = fn(param)
        grad = param._grad
        if new is not param:
            param.data = new
        if grad is not None:
            grad.data = fn(grad)


def _destination(args: tuple, kwargs: dict) -> tuple[Any, Any]:
    """(device, dtype) of the arguments of ``to``."""
    device, dtype = kwargs.pop("device", None), kwargs.pop("dtype", None)
    other = kwargs.pop("tensor", None)
    for a in (*args, other):
        if isinstance(a, Tensor):
            device, dtype = a.device, a.dtype
        elif isinstance(a, dtypes.dtype) or a.__class__ is type:
            dtype = dtypes.as_dtype(a, "to")
        elif a is not None and a.__class__ is not bool:
            device = a
    return device, dtypes.as_dtype(dtype, "to")
