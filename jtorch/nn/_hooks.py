"""Calls of modules that have hooks."""
from __future__ import annotations

import warnings
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from jtorch.autograd import Function
from jtorch.hooks import RemovableHandle
from jtorch.no_grad import mode
from jtorch.tensor import Tensor


class Hooks:
    """The hooks that hold for all modules."""

    forward: OrderedDict[int, Callable] = OrderedDict()
    forward_pre: OrderedDict[int, Callable] = OrderedDict()
    backward: OrderedDict[int, Callable] = OrderedDict()
    backward_pre: OrderedDict[int, Callable] = OrderedDict()
    parameter: OrderedDict[int, Callable] = OrderedDict()
    buffer: OrderedDict[int, Callable] = OrderedDict()
    module: OrderedDict[int, Callable] = OrderedDict()
    with_kwargs: set[int] = set()
    always_called: set[int] = set()


def register_module_forward_pre_hook(hook: Callable) -> RemovableHandle:
    """``hook(module, args)`` runs before every module's forward."""
    return RemovableHandle(Hooks.forward_pre, hook)


def register_module_forward_hook(hook: Callable, *, with_kwargs: bool = False, always_call: bool = False) -> RemovableHandle:
    """``hook(module, args, output)`` runs after every module's forward."""
    handle = RemovableHandle(Hooks.forward, hook)
    if with_kwargs:
        Hooks.with_kwargs.add(handle.id)
    if always_call:
        Hooks.always_called.add(handle.id)
    return handle


def register_module_full_backward_pre_hook(hook: Callable) -> RemovableHandle:
    """``hook(module, grad_output)`` runs before every module's backward."""
    return RemovableHandle(Hooks.backward_pre, hook)


def register_module_full_backward_hook(hook: Callable) -> RemovableHandle:
    """``hook(module, grad_input, grad_output)`` runs after every module's backward."""
    return RemovableHandle(Hooks.backward, hook)


def register_module_parameter_registration_hook(hook: Callable) -> RemovableHandle:
    """``hook(module, name, parameter)`` runs when a module gets a parameter."""
    return RemovableHandle(Hooks.parameter, hook)


def register_module_buffer_registration_hook(hook: Callable) -> RemovableHandle:
    """``hook(module, name, buffer)`` runs when a module gets a buffer."""
    return RemovableHandle(Hooks.buffer, hook)


def register_module_module_registration_hook(hook: Callable) -> RemovableHandle:
    """``hook(module, name, submodule)`` runs when a module gets a submodule."""
    return RemovableHandle(Hooks.module, hook)


def registered(hooks: OrderedDict, module: Any, name: str, given: Any) -> Any:
    """What registration hooks make of ``given``."""
    for hook in hooks.values():
        new = hook(module, name, given)
        given = given if new is None else new
    return given


class BackwardHookFunction(Function):
    """The identity: its node is where hooks see the gradients of a module's inputs or outputs."""

    @staticmethod
    def forward(ctx, *args):
        """The same tensors."""
        ctx.mark_non_differentiable(*[a for a in args if not a.requires_grad])
        return tuple([a.view_as(a) for a in args])

    @staticmethod
    def backward(ctx, *grads):
        """The same gradients."""
        return grads


def _placed(index: list[int] | None, values: tuple, n: int) -> tuple:
    out: list = [None] * n
    for i, v in zip(index or (), values, strict=False):
        out[i] = v
    return tuple(out)


class BackwardCall:
    """The full backward hooks of one call of a module."""

    def __init__(self, module: Any, hooks: list[Callable], pre_hooks: list[Callable]):
        self.module, self.hooks, self.pre_hooks = module, hooks, pre_hooks
        self.grad_outputs: tuple | None = None
        self.inputs: list[int] | None = None
        self.outputs: list[int] | None = None
        self.n_inputs = self.n_outputs = -1

    def _through(self, args: tuple, hook: Callable) -> tuple[tuple, list[int] | None]:
        index = [i for i, a in enumerate(args) if isinstance(a, Tensor)]
        if not (mode.grad and any(args[i].requires_grad for i in index)):
            return args, None
        new = BackwardHookFunction.apply(*[args[i] for i in index])
        next(t.grad_fn for t in new if t.grad_fn is not None).register_hook(hook)
        out = list(args)
        for i, t in zip(index, new, strict=True):
            out[i] = t
        return (tuple(out) if type(args) is tuple else type(args)(*out)), index

    def on_inputs(self, args: tuple) -> tuple:
        """The inputs, watched."""
        self.n_inputs = len(args)
        args, self.inputs = self._through(args, self._input_hook)
        return args

    def on_outputs(self, result: Any) -> Any:
        """The outputs, watched."""
        args = result if isinstance(result, tuple) else (result,)
        self.n_outputs = len(args)
        args, self.outputs = self._through(args, self._output_hook)
        return args if isinstance(result, tuple) else args[0]

    def _input_hook(self, grad_input: tuple, _: tuple) -> tuple | None:
        if self.grad_outputs is None:       # the gradient came past the outputs
            return None
        res = _placed(self.inputs, grad_input, self.n_inputs)
        for hook in self.hooks:
            out = hook(self.module, res, self.grad_outputs)
            if out is None:
                continue
            if len(out) != len(res):
                raise RuntimeError("Backward hook returned an invalid number of grad_input, "
                                   f"got {len(out)}, but expected {len(res)}")
            res = out
        self.grad_outputs = None
        return tuple([res[i] for i in self.inputs or ()])

    def _output_hook(self, _: tuple, grad_output: tuple) -> tuple:
        grads = _placed(self.outputs, grad_output, self.n_outputs)
        for hook in self.pre_hooks:
            new = hook(self.module, grads)
            if new is None:
                continue
            new = new if isinstance(new, tuple) else (new,)
            if len(new) != len(grads):
                raise RuntimeError("Backward pre hook returned an invalid number of grad_output, "
                                   f"got {len(new)}, but expected {len(grads)}")
            grads = new
        self.grad_outputs = grads
        if self.inputs is None:
            self._without_inputs(grads)
        return tuple([grads[i] for i in self.outputs or ()])

    def _without_inputs(self, grads: tuple) -> None:
        warnings.warn("Full backward hook is firing when gradients are computed with respect to module outputs since no inputs "
                      "require gradients. See https://docs.pytorch.org/docs/main/generated/torch.nn.Module.html#torch.nn.Module."
                      "register_full_backward_hook for more details.", UserWarning, stacklevel=5)
        for hook in self.hooks:
            res = hook(self.module, (None,) * self.n_inputs, grads)
            if res is not None and not (isinstance(res, tuple) and all(x is None for x in res)):
                raise RuntimeError("Backward hook for Modules where no input requires gradient should always return None or None "
                                   "for all gradients.")
        self.grad_outputs = None


def call_with_hooks(module: Any, args: tuple, kwargs: dict) -> Any:
    """``module(*args, **kwargs)`` with all hooks."""
    state = _Call(module, args, kwargs)
    try:
        return state.run()
    except Exception:
        state.always_called()
        raise


class _Call:
    def __init__(self, module: Any, args: tuple, kwargs: dict):
        self.module, self.args, self.kwargs = module, args, kwargs
        self.result: Any = None
        self.called: set[int] = set()

    def run(self) -> Any:
        module = self.module
        full, old = module._sorted_backward_hooks()
        pre = [*Hooks.backward_pre.values(), *module._backward_pre_hooks.values()]
        self._forward_pre()
        watch = BackwardCall(module, full, pre) if full or pre else None
        if watch is not None:
            self.args = watch.on_inputs(self.args)
        self.result = module.forward(*self.args, **self.kwargs)
        for key, hook in self._forward_hooks():
            self.called.add(key)
            self._forward_hook(key, hook)
        if watch is not None:
            if not isinstance(self.result, (Tensor, tuple)):
                warnings.warn("For backward hooks to be called, module output should be a Tensor or a tuple of Tensors but "
                              f"received {type(self.result)}", UserWarning, stacklevel=4)
            self.result = watch.on_outputs(self.result)
        if old:
            self._old_backward(old)
        return self.result

    def _forward_hooks(self) -> list:
        return [*Hooks.forward.items(), *self.module._forward_hooks.items()]

    def _forward_pre(self) -> None:
        module = self.module
        for key, hook in [*Hooks.forward_pre.items(), *module._forward_pre_hooks.items()]:
            if key in module._forward_pre_hooks_with_kwargs:
                new = hook(module, self.args, self.kwargs)
                if new is not None:
                    if not (isinstance(new, tuple) and len(new) == 2):
                        raise RuntimeError("forward pre-hook must return None or a tuple of (new_args, new_kwargs), but got "
                                           f"{new}.")
                    self.args, self.kwargs = new
            else:
                new = hook(module, self.args)
                if new is not None:
                    self.args = new if isinstance(new, tuple) else (new,)

    def _forward_hook(self, key: int, hook: Callable) -> None:
        with_kwargs = key in self.module._forward_hooks_with_kwargs or key in Hooks.with_kwargs
        given = (self.args, self.kwargs) if with_kwargs else (self.args,)
        new = hook(self.module, *given, self.result)
        if new is not None:
            self.result = new

    def _old_backward(self, hooks: list[Callable]) -> None:
        """Hooks on the node of the output: what PyTorch calls non-full."""
        var = self.result
        while not isinstance(var, Tensor):
            var = next(v for v in var.values() if isinstance(v, Tensor)) if isinstance(var, dict) else var[0]
        if var.grad_fn is not None:
            for hook in hooks:
                var.grad_fn.register_hook(lambda gi, go, hook=hook: hook(self.module, gi, go))

    def always_called(self) -> None:
        """Runs the hooks that are called even though forward has raised."""
        wanted = self.module._forward_hooks_always_called | Hooks.always_called
        for key, hook in self._forward_hooks():
            if key not in wanted or key in self.called:
                continue
            try:
                self._forward_hook(key, hook)
            except Exception as e:
                warnings.warn("module forward hook with ``always_call=True`` raised an exception that was silenced as another "
                              f"error was raised in forward: {e!s}", UserWarning, stacklevel=4)
