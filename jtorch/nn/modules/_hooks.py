"""Global module hooks, and calls of modules that have hooks."""
from __future__ import annotations

import functools
import weakref
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from jtorch._base import warned
from jtorch._nodes.hooks import RemovableHandle
from jtorch.autograd import Function
from jtorch.no_grad import mode
from jtorch.tensor import Tensor


class _Registries:
    __slots__ = ("always_called", "backward", "backward_pre", "buffer", "forward", "forward_pre", "full_backward", "module",
                 "parameter", "with_kwargs")
    full_backward: bool | None      # True if the ``backward`` hooks are full hooks. A module cannot mix both kinds.

    def __init__(self) -> None:
        self.forward: OrderedDict[int, Callable] = OrderedDict()
        self.forward_pre: OrderedDict[int, Callable] = OrderedDict()
        self.backward: OrderedDict[int, Callable] = OrderedDict()
        self.backward_pre: OrderedDict[int, Callable] = OrderedDict()
        self.parameter: OrderedDict[int, Callable] = OrderedDict()
        self.buffer: OrderedDict[int, Callable] = OrderedDict()
        self.module: OrderedDict[int, Callable] = OrderedDict()
        self.with_kwargs: dict[int, bool] = {}
        self.always_called: dict[int, bool] = {}
        self.full_backward = None


Hooks = _Registries()       # the global hooks, which run for all modules


def register_module_forward_pre_hook(hook: Callable) -> RemovableHandle:
    """Register ``hook(module, args)`` before every module's forward. See torch.nn.modules.module."""
    return RemovableHandle(Hooks.forward_pre, hook)


def register_module_forward_hook(hook: Callable, *, with_kwargs: bool = False, always_call: bool = False) -> RemovableHandle:
    """Register ``hook(module, args, output)`` after every module's forward. See torch.nn.modules.module."""
    handle = RemovableHandle(Hooks.forward, hook, extra_dict=[Hooks.with_kwargs, Hooks.always_called])
    mark(handle, Hooks.with_kwargs, with_kwargs)
    mark(handle, Hooks.always_called, always_call)
    return handle


def register_module_full_backward_pre_hook(hook: Callable) -> RemovableHandle:
    """Register ``hook(module, grad_output)`` before every module's backward. See torch.nn.modules.module."""
    return RemovableHandle(Hooks.backward_pre, hook)


def register_module_full_backward_hook(hook: Callable) -> RemovableHandle:
    """Register ``hook(module, grad_input, grad_output)`` after every module's backward. See torch.nn.modules.module."""
    _choose_backward(True)
    return RemovableHandle(Hooks.backward, hook)


def register_module_backward_hook(hook: Callable) -> RemovableHandle:
    """Register a global backward hook that sees only a module's last operation; deprecated in PyTorch."""
    _choose_backward(False)
    return RemovableHandle(Hooks.backward, hook)


def register_module_parameter_registration_hook(hook: Callable) -> RemovableHandle:
    """Register ``hook(module, name, parameter)`` for new parameters of modules; its result replaces the parameter."""
    return RemovableHandle(Hooks.parameter, hook)


def register_module_buffer_registration_hook(hook: Callable) -> RemovableHandle:
    """Register ``hook(module, name, buffer)`` for new buffers of modules; its result replaces the buffer."""
    return RemovableHandle(Hooks.buffer, hook)


def register_module_module_registration_hook(hook: Callable) -> RemovableHandle:
    """Register ``hook(module, name, submodule)`` for new submodules; its result replaces the submodule."""
    return RemovableHandle(Hooks.module, hook)


def _choose_backward(full: bool) -> None:
    if Hooks.full_backward is (not full):
        raise RuntimeError("Cannot use both regular backward hooks and full backward hooks as a global Module hook. Please use "
                           "only one of them.")
    Hooks.full_backward = full


def mark(handle: RemovableHandle, marks: dict, wanted: bool) -> None:
    """Set a hook's flag in ``marks`` if ``wanted``."""
    if wanted:
        marks[handle.id] = True


def registered(hooks: OrderedDict, module: Any, name: str, given: Any) -> Any:
    """Call the registration hooks, and return ``given`` or what the last hook put in its place."""
    for hook in hooks.values():
        new = hook(module, name, given)
        given = given if new is None else new
    return given


class _WrappedHook:
    """A hook that receives its module, which it references weakly. A copied module gets a new one."""

    def __init__(self, hook: Callable, module: Any = None):
        functools.update_wrapper(self, hook)
        self._bind(hook, () if module is None else (module,))

    def _bind(self, hook: Callable, first: tuple) -> None:
        self.hook, self.first = hook, [weakref.ref(module) for module in first]     # at most one module

    def _alive(self, doing: str) -> list:
        found = [ref() for ref in self.first]
        if doing and None in found:
            raise RuntimeError(f"You are trying to {doing} the hook of a dead Module!")
        return found

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.hook(*self._alive("call"), *args, **kwargs)

    def __getstate__(self) -> dict:     # the state has the keys of PyTorch's pickles
        return {"hook": self.hook, "with_module": bool(self.first), "module": next(iter(self._alive("")), None)}

    def __setstate__(self, state: dict) -> None:
        if state["with_module"] and state["module"] is None:
            raise RuntimeError("You are trying to revive the hook of a dead Module!")
        self._bind(state["hook"], (state["module"],) if state["with_module"] else ())


WrappedHook = _WrappedHook      # the name in pickles of earlier versions of jtorch


class BackwardHookFunction(Function):
    """The identity function. Hooks on its node see the gradients of a module's inputs or outputs."""

    @staticmethod
    def forward(ctx, *args):
        """Return the tensors unchanged."""
        ctx.mark_non_differentiable(*[a for a in args if not a.requires_grad])
        return args

    @staticmethod
    def backward(ctx, *grads):
        """Return the gradients unchanged."""
        return grads


def _placed(index: list[int] | None, values: tuple, n: int) -> tuple:
    out: list = [None] * n
    for i, v in zip(index or (), values, strict=False):
        out[i] = v
    return tuple(out)


class BackwardHook:
    """The full backward hooks of one call of a module. See torch.utils.hooks.BackwardHook."""

    def __init__(self, module: Any, user_hooks: list[Callable], user_pre_hooks: list[Callable]):
        self.module, self.user_hooks, self.user_pre_hooks = module, user_hooks, user_pre_hooks
        self.grad_outputs: Any = None
        self.input_tensors_index: list[int] | None = None
        self.output_tensors_index: list[int] | None = None
        self.n_inputs = self.n_outputs = -1

    def _through(self, args: tuple, run: Callable) -> tuple[tuple, list[int] | None]:
        index = [i for i, a in enumerate(args) if isinstance(a, Tensor)]
        if not (mode.grad and any([args[i].requires_grad for i in index])):
            return args, None
        new = BackwardHookFunction.apply(*[args[i] for i in index])

        def hook(grad_inputs: tuple, grad_outputs: tuple) -> tuple | None:      # PyTorch's errors contain the name ``hook``.
            return run(grad_inputs, grad_outputs)       # type: ignore[no-any-return]

        next(t.grad_fn for t in new if t.grad_fn is not None).register_hook(hook)
        out = list(args)
        for i, t in zip(index, new, strict=True):
            out[i] = t
        return (tuple(out) if type(args) is tuple else type(args)(*out)), index

    def setup_input_hook(self, args: tuple) -> tuple:
        """Pass the inputs through a node that calls the hooks."""
        self.n_inputs = len(args)
        args, self.input_tensors_index = self._through(args, self._input_hook)
        return args

    def setup_output_hook(self, args: Any) -> Any:
        """Pass the outputs through a node that calls the hooks."""
        outputs = args if isinstance(args, tuple) else (args,)
        self.n_outputs = len(outputs)
        outputs, self.output_tensors_index = self._through(outputs, self._output_hook)
        return outputs if isinstance(args, tuple) else outputs[0]

    def _input_hook(self, grad_input: tuple, _: tuple) -> tuple | None:
        if self.grad_outputs is None:       # The gradient did not pass through the outputs.
            return None
        res: Any = _placed(self.input_tensors_index, grad_input, self.n_inputs)
        for hook in self.user_hooks:
            res = self._checked(hook(self.module, res, self.grad_outputs), res, "Backward hook", "grad_input")
        self.grad_outputs = None
        return tuple([res[i] for i in self.input_tensors_index or ()])

    def _output_hook(self, _: tuple, grad_output: tuple) -> tuple:
        grads: Any = _placed(self.output_tensors_index, grad_output, self.n_outputs)
        for hook in self.user_pre_hooks:
            grads = self._checked(hook(self.module, grads), grads, "Backward pre hook", "grad_output")
        self.grad_outputs = grads
        if self.input_tensors_index is None:
            self._without_inputs(grads)
        return tuple([grads[i] for i in self.output_tensors_index or ()])

    @staticmethod
    def _checked(new: Any, given: Any, kind: str, what: str) -> Any:
        if new is None:
            return given
        if len(new) != len(given):
            raise RuntimeError(f"{kind} returned an invalid number of {what}, got {len(new)}, but expected {len(given)}")
        return new

    def _without_inputs(self, grads: Any) -> None:
        warned.warn("Full backward hook is firing when gradients are computed with respect to module outputs since no inputs "
                    "require gradients. See https://docs.pytorch.org/docs/main/generated/torch.nn.Module.html#torch.nn.Module."
                    "register_full_backward_hook for more details.")
        for hook in self.user_hooks:
            res = hook(self.module, (None,) * self.n_inputs, grads)
            if res is not None and not (isinstance(res, tuple) and all([x is None for x in res])):
                raise RuntimeError("Backward hook for Modules where no input requires gradient should always return None or None "
                                   "for all gradients.")
        self.grad_outputs = None


def call_with_hooks(module: Any, args: tuple, kwargs: dict) -> Any:
    """Call ``module(*args, **kwargs)`` with all hooks."""
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
        full, old = module._get_backward_hooks()
        pre = [*Hooks.backward_pre.values(), *module._backward_pre_hooks.values()]
        self._forward_pre()
        watch = BackwardHook(module, full, pre) if full or pre else None
        if watch is not None:
            self.args = watch.setup_input_hook(self.args)
        self.result = module.forward(*self.args, **self.kwargs)
        for key, hook in [*Hooks.forward.items(), *module._forward_hooks.items()]:
            self.called.add(key)
            self._forward_hook(key, hook)
        if watch is not None:
            self._watch_outputs(watch)
        if old:
            self._old_backward(old)
        return self.result

    def _watch_outputs(self, watch: BackwardHook) -> None:
        if not isinstance(self.result, (Tensor, tuple)):
            warned.warn("For backward hooks to be called, module output should be a Tensor or a tuple of Tensors but "
                        f"received {type(self.result)}")
        self.result = watch.setup_output_hook(self.result)

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
        """Register the non-full backward hooks on the output's node."""
        var = self.result
        while not isinstance(var, Tensor):
            var = next(v for v in var.values() if isinstance(v, Tensor)) if isinstance(var, dict) else var[0]
        if var.grad_fn is not None:
            for hook in hooks:
                var.grad_fn.register_hook(_WrappedHook(hook, self.module))
            wrong = _old_hook_problem(self.args, self.result, var.grad_fn)
            if wrong is not None:
                warned.warn(f"Using {wrong}", FutureWarning)

    def always_called(self) -> None:
        """Run the ``always_call`` hooks after forward has raised."""
        own = self.module._forward_hooks_always_called
        for hooks, wanted, kind in ((Hooks.forward, Hooks.always_called, "global module"),
                                    (self.module._forward_hooks, own, "module")):
            for key in [k for k in hooks if k in wanted and k not in self.called]:
                try:
                    self._forward_hook(key, hooks[key])
                except Exception as e:
                    warned.warn(f"{kind} forward hook with ``always_call=True`` raised an exception that was silenced as "
                                f"another error was raised in forward: {e!s}")


_NESTED = ("non-full backward hooks on a Module that does not {what} a single Tensor or a tuple of Tensors is deprecated and "
           "will be removed in future versions. This hook will be missing some of the {grad}. Please use "
           "register_full_backward_hook to get the documented behavior.")
_NODES = ("a non-full backward hook when {what} is deprecated and will be removed in future versions. This hook will be missing "
          "some {grad}. Please use register_full_backward_hook to get the documented behavior.")


def _old_hook_problem(inputs: Any, result: Any, node: Any) -> str | None:
    """Return PyTorch's message about gradients that a non-full backward hook misses; None if it misses none."""
    outputs = result if isinstance(result, tuple) else (result,)
    if not all([isinstance(r, Tensor) for r in outputs]):
        return _NESTED.format(what="return", grad="grad_output")
    if not all([isinstance(i, Tensor) for i in inputs]):
        return _NESTED.format(what="take as input", grad="grad_input")
    nodes = {r.grad_fn for r in outputs} - {None}
    if len(nodes) > 1:
        return _NODES.format(what="outputs are generated by different autograd Nodes", grad="grad_output")
    if node not in nodes:
        return ("a non-full backward hook when outputs are nested in python data structure is deprecated and will be removed in "
                "future versions. This hook will be missing some grad_output.")
    if {i.grad_fn for i in inputs} - {None} != {n for n, _ in node.next_functions}:
        return _NODES.format(what="the forward contains multiple autograd Nodes", grad="grad_input")
    return None
