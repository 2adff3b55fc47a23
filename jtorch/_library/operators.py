"""The records of operators, and the choice of a call's kernel."""
from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from jtorch._api import torch_function as protocol
from jtorch._base import late_bindings, warned
from jtorch._library.arguments import Binder
from jtorch._library.dispatch_keys import AUTOGRAD, BACKENDS, AutoDispatchBelowAutograd, excluded
from jtorch._library.schema import FunctionSchema
from jtorch.amp.autocast_mode import is_autocast_enabled
from jtorch.engine.batched import is_batched
from jtorch.no_grad import mode
from jtorch.storage import aval_of, value_of
from jtorch.tensor import Tensor

OPERATORS: dict[str, Operator] = {}         # keys: "ns::name.overload"
PACKETS: dict[str, list[Operator]] = {}     # keys: "ns::name"; overloads in the order of definition


def fallthrough_kernel() -> None:
    """Mark a dispatch key, when registered as its kernel, so that calls skip the key."""
    raise NotImplementedError("fallthrough_kernel() should never be called.")


class Operator:
    """One overload of an operator: its schema and all kernels."""

    def __init__(self, name: str):
        self.name = name
        self.schema: FunctionSchema | None = None
        self.binder: Any = None
        self.where = ""             # the line that defined the operator
        self.tags: list = []
        self.kernels: dict[str, Callable] = {}
        self.fake: Callable | None = None
        self.select: Callable | None = None     # chooses the kernel of a call without tensors by its arguments
        self.vmap: Callable | None = None
        self.formula: Callable | None = None    # runs a call below autograd, and records it with the registered backward
        self.rules: dict[Any, Callable] = {}    # rules of modes and classes with __torch_dispatch__, by class
        self.writes: Callable | None = None     # increments the versions of the tensors that a call has written to

    def define(self, schema: FunctionSchema, tags: list, where: str) -> None:
        """Set the operator's schema."""
        self.schema, self.binder, self.tags, self.where = schema, Binder(schema), tags, where

    # ---------------------------------------------------------------- a call, step by step

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        values = self.binder.bind(args, kwargs)
        return self.run(*self.binder.as_called(values))

    def run(self, args: tuple, kwargs: dict) -> Any:
        """Call the kernel for arguments that fit the schema."""
        tensors = list(tensors_of([*args, *kwargs.values()]))
        device = device_of(tensors)
        key = "" if device is None else BACKENDS.get(device, "CPU")
        autocast = self.kernels.get(f"Autocast{key}")
        if autocast is not None and f"Autocast{key}" not in excluded.names and is_autocast_enabled(device):
            return autocast(*args, **kwargs)
        if self.vmap is not None and any(aval_of(t).traced and not is_batched(value_of(t)) for t in tensors):
            return self.vmap(args, kwargs)
        return self.recorded(args, kwargs, key, tensors)

    def recorded(self, args: tuple, kwargs: dict, key: str, tensors: list) -> Any:
        """Run the autograd step of a call, and the steps below it."""
        if excluded.names >= AUTOGRAD:
            return self.below(args, kwargs, key)
        own = self.kernels.get(f"Autograd{key}") or self.kernels.get("Autograd")
        if own is not None and own is not fallthrough_kernel:
            return own(*args, **kwargs)
        wants = mode.grad and any([t.requires_grad for t in tensors])
        if self.formula is not None:
            return self.formula(args, kwargs, wants)
        made = self.below(args, kwargs, key)
        if wants and own is None and self.backend(key) is not self.kernels.get("CompositeImplicitAutograd"):
            _warn_in_backward(self.name, made)
        return made

    def backend(self, key: str) -> Callable | None:
        """Return a backend's kernel, or None."""
        found = self.kernels.get(key)
        if found is None and key == "Meta":
            found = self.fake
        if found is None:
            found = self.kernels.get("CompositeExplicitAutograd") or self.kernels.get("CompositeImplicitAutograd")
        return found

    def below(self, args: tuple, kwargs: dict, key: str) -> Any:
        """Run the device step of a call, after autograd."""
        if late_bindings.aten is not None:
            made = late_bindings.aten.below(self, args, kwargs)
            if made is not None:
                return made
        if self.vmap is not None and any(is_batched(value_of(t)) for t in tensors_of([*args, *kwargs.values()])):
            return self.vmap(args, kwargs)
        kernel = self.select(args) if self.select is not None and not key else self.backend(key)
        if kernel is None or kernel is fallthrough_kernel:
            raise NotImplementedError(self._missing(key))
        made = kernel(*args, **kwargs)
        if self.writes is not None:
            self.writes(args, kwargs)
        return made

    def redispatch(self, args: tuple, kwargs: dict) -> Any:
        """Call the kernel below autograd."""
        with AutoDispatchBelowAutograd():
            return self.below(args, kwargs, BACKENDS.get(device_of(list(tensors_of([*args, *kwargs.values()]))) or "", ""))

    def _missing(self, key: str) -> str:
        there = [*self.kernels, *(["Meta"] if self.fake is not None else [])]
        if key == "Meta":
            return (f"{self.name}: attempted to run this operator with Meta tensors, but there was no fake impl or Meta kernel "
                    "registered. You may have run into this message while using an operator with PT2 compilation APIs "
                    "(torch.compile/torch.export); in order to use this operator with those APIs you'll need to add a fake impl.")
        if not key:
            return ("There were no tensor arguments to this function (e.g., you passed an empty list of Tensors), but no "
                    "fallback "
                    f"function is registered for schema {self.name}.  This usually means that this function requires a non-empty "
                    "list of Tensors, or that you (the operator writer) forgot to register a fallback function.  Available "
                    f"functions are [{', '.join(there)}].")
        return (f"Could not run '{self.name}' with arguments from the '{key}' backend. This could be because the operator "
                "doesn't "
                "exist for this backend, or was omitted during the selective/custom build process (if using custom build). "
                f"'{self.name}' is only available for these backends: [{', '.join(there)}].")


def tensors_of(values: Any) -> Iterator[Tensor]:
    """Yield the tensors among ``values`` and in lists."""
    for v in values:
        if isinstance(v, Tensor):
            yield v
        elif v.__class__ in (list, tuple):
            yield from [t for t in v if isinstance(t, Tensor)]


def device_of(tensors: list) -> str | None:
    """Return the device type of a call: the first that is not the CPU, else the CPU, or None without tensors."""
    types = [t.device.type for t in tensors]
    return next((t for t in types if t != "cpu"), types[0] if types else None)


def _warn_in_backward(name: str, made: Any) -> None:
    def warn(grad: Tensor) -> None:
        warned.warn(f"{name}: an autograd kernel was not registered to the Autograd key(s) but we are trying to backprop "
                    "through "
                    "it. This may lead to silently incorrect behavior. This behavior is deprecated and will be removed in a "
                    "future version of PyTorch. If your operator is differentiable, please ensure you have registered an "
                    "autograd kernel to the correct Autograd key (e.g. DispatchKey::Autograd, DispatchKey::"
                    "CompositeImplicitAutograd). If your operator is not differentiable, or to squash this warning and use the "
                    "previous behavior, please register torch::CppFunction::makeFallthrough() to DispatchKey::Autograd.")
    for t in tensors_of(made if isinstance(made, (tuple, list)) else [made]):
        if t.requires_grad:
            t.register_hook(warn)


def operator(name: str) -> Operator:
    """Return an operator's record, making one if necessary, since kernels may be registered before the schema."""
    found = OPERATORS.get(name)
    if found is None:
        found = OPERATORS[name] = Operator(name)
    return found


def defined(name: str) -> Operator:
    """Return the record of a defined operator. Raise RuntimeError if it has no schema."""
    found = OPERATORS.get(name)
    if found is None or found.schema is None:
        raise RuntimeError(f"operator {name} does not exist")
    return found


def taken_over(func: Any, args: tuple, kwargs: dict) -> Any:
    """Return the result of a class or mode with ``__torch_function__``, or NOT_OVERRIDDEN."""
    return protocol.ask(func, [*args, *kwargs.values()], args, kwargs)


