"""torch.optim: optimizers whose step is one record, all parameters of a group at once."""
from __future__ import annotations

import functools
import sys
from collections import OrderedDict, defaultdict
from collections.abc import Callable
from typing import Any

import numpy as np

from jtorch import engine, storage
from jtorch._optimizers import groups
from jtorch._optimizers import optimizer as optimizer
from jtorch._optimizers.groups import required as required
from jtorch.engine import Value, call_of
from jtorch.hooks import RemovableHandle
from jtorch.no_grad import enable_grad, no_grad
from jtorch.ops.registry import NUMBERS, OPS, T
from jtorch.storage import value_of, values_of, write_all
from jtorch.tensor import Tensor, wrap

_pre_hooks, _post_hooks = optimizer._global_optimizer_pre_hooks, optimizer._global_optimizer_post_hooks


_HOOKS = [f"_optimizer_{what}_{when}_hooks" for what in ("step", "state_dict", "load_state_dict") for when in ("pre", "post")]


class Optimizer:
    """The base of all optimizers. See torch.optim.Optimizer.

    A subclass gives ``defaults`` and ``_update(group)``, which records the new values of one group's parameters, or, as in
    PyTorch, a ``step`` of its own.

    Args:
        params: tensors, (name, tensor) pairs, or dicts that each describe a group.
        defaults: the options of groups that do not set them.

    """

    _step_supports_amp_scaling = False
    _optimizer_step_pre_hooks: OrderedDict[int, Callable]
    _optimizer_step_post_hooks: OrderedDict[int, Callable]
    _optimizer_state_dict_pre_hooks: OrderedDict[int, Callable]
    _optimizer_state_dict_post_hooks: OrderedDict[int, Callable]
    _optimizer_load_state_dict_pre_hooks: OrderedDict[int, Callable]
    _optimizer_load_state_dict_post_hooks: OrderedDict[int, Callable]

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
            raise ValueError("optimizer got an empty parameter list")
        for group in given if isinstance(given[0], dict) else [{"params": given}]:
            self.add_param_group(group)
        groups.check_fused(defaults)
        if defaults.get("fused"):
            self._step_supports_amp_scaling = True

    profile_hook_step = staticmethod(optimizer.with_hooks)

    def _patch_step_function(self) -> None:
        """Lets a ``step`` that its class defines run the hooks. Until it is called that ``step`` runs none, as in PyTorch."""
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
        """Adds a group with options of its own. See torch.optim.Optimizer.add_param_group."""
        groups.add_group(param_group, self.defaults, self.param_groups)

    def __repr__(self) -> str:
        text = f"{type(self).__name__} ("
        for i, group in enumerate(self.param_groups):
            text += f"\nParameter Group {i}\n" + "".join([f"    {k}: {group[k]}\n" for k in sorted(group) if k != "params"])
        return text + ")"

    # ------------------------------------------------------------ stepping

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Clears the gradients of all parameters. See torch.optim.Optimizer.zero_grad."""
        if "_zero_grad_profile_name" not in self.__dict__:      # made without Optimizer.__init__
            self._patch_step_function()
        for group in self.param_groups:
            for p in group["params"]:
                if set_to_none or p._grad is None:
                    p._grad = None
                else:
                    p._grad.detach_() if p._grad.grad_fn is not None else p._grad.requires_grad_(False)
                    p._grad.zero_()

    def step(self, closure: Callable[[], Any] | None = None):
        """One step of optimization; ``closure`` re-evaluates the model and returns the loss."""
        if self._optimizer_step_pre_hooks or self._optimizer_step_post_hooks or _pre_hooks or _post_hooks:
            return optimizer.with_hooks(_step)(self, closure) if closure is not None else optimizer.with_hooks(_step)(self)
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
        engine.end()
        return loss

    def _loss(self, closure):
        if closure is None:
            return None
        with enable_grad():
            return closure()

    def _step_differentiable(self) -> None:
        """A step that autograd sees; in optimizers that have no such option ``defaults`` never asks for it."""
        with enable_grad():
            for group in self.param_groups:
                groups.check_flags(group, self.defaults)
                self._update_differentiable(group, with_gradients(group))

    def _update_differentiable(self, group: dict[str, Any], params: list[Tensor]) -> None:
        raise NotImplementedError(f"{type(self).__name__} with differentiable=True is not built")

    step.hooked = True      # type: ignore[attr-defined]

    def _cuda_graph_capture_health_check(self) -> None:
        """Nothing: there are no CUDA graphs here."""

    _accelerator_graph_capture_health_check = _optimizer_step_code = _cuda_graph_capture_health_check

    def _update(self, group: dict[str, Any]) -> None:
        raise NotImplementedError

    def register_step_pre_hook(self, hook: Callable) -> RemovableHandle:
        """``hook(optimizer, args, kwargs)`` runs before each step."""
        return RemovableHandle(self._optimizer_step_pre_hooks, hook)

    def register_step_post_hook(self, hook: Callable) -> RemovableHandle:
        """``hook(optimizer, args, kwargs)`` runs after each step."""
        return RemovableHandle(self._optimizer_step_post_hooks, hook)

    # ------------------------------------------------------------ state

    def state_dict(self) -> dict[str, Any]:
        """The state and the options of the groups, with parameters numbered. See torch.optim.Optimizer.state_dict."""
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
        """Takes over the state and options of another optimizer. See torch.optim.Optimizer.load_state_dict."""
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
        """``hook(optimizer)`` runs before ``state_dict``."""
        return RemovableHandle(self._optimizer_state_dict_pre_hooks, hook, first=prepend)

    def register_state_dict_post_hook(self, hook: Callable, prepend: bool = False) -> RemovableHandle:
        """``hook(optimizer, state_dict)`` runs after ``state_dict``."""
        return RemovableHandle(self._optimizer_state_dict_post_hooks, hook, first=prepend)

    def register_load_state_dict_pre_hook(self, hook: Callable, prepend: bool = False) -> RemovableHandle:
        """``hook(optimizer, state_dict)`` runs before ``load_state_dict``."""
        return RemovableHandle(self._optimizer_load_state_dict_pre_hooks, hook, first=prepend)

    def register_load_state_dict_post_hook(self, hook: Callable, prepend: bool = False) -> RemovableHandle:
        """``hook(optimizer)`` runs after ``load_state_dict``."""
        return RemovableHandle(self._optimizer_load_state_dict_post_hooks, hook, first=prepend)

    def __getstate__(self) -> dict[str, Any]:
        return {"defaults": self.defaults, "state": self.state, "param_groups": self.param_groups}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._hooks_init()
        self.defaults.setdefault("differentiable", False)
        groups.completed(self.param_groups, self.state, self.defaults)


def _step(self: Optimizer, closure: Callable[[], Any] | None = None):
    return self._step(closure)


def with_gradients(group: dict[str, Any]) -> list[Tensor]:
    """The parameters of a group that have a gradient."""
    return [p for p in group["params"] if p._grad is not None]


def number(x: Any):
    """(argument, marker) of an option that is a Python number or a tensor of one element."""
    if isinstance(x, Tensor):
        return value_of(x if x.ndim == 0 else x.detach().reshape(())), T      # type: ignore[attr-defined]
    x = float(x)
    return x, NUMBERS[float]


def scalars(options: tuple) -> tuple[list | tuple, tuple]:
    """The arguments and markers of several such options."""
    if set(map(type, options)) == _FLOAT:
        return options, (NUMBERS[float],) * len(options)
    made = [number(x) for x in options]
    return [a for a, _ in made], tuple([m for _, m in made])


_FLOAT = {float}


def check_option(name: str, value: Any, ok: bool) -> None:
    """ValueError ``Invalid learning rate: -1`` and the like."""
    if not ok:
        raise ValueError(f"Invalid {name}: {value}")


@functools.lru_cache(1024)
def _marks(n: int) -> tuple:
    return (T,) * n


class SGD(Optimizer):
    """Stochastic gradient descent, with momentum and weight decay. See torch.optim.SGD."""

    def __init__(self, params, lr=1e-3, momentum: float = 0, dampening: float = 0, weight_decay: float = 0,
                 nesterov: bool = False, *, maximize: bool = False, foreach: bool | None = None, differentiable: bool = False,
                 fused: bool | None = None):
        groups.check_tensor(lr, "lr")
        check_option("learning rate", lr, not lr < 0.0)
        check_option("momentum value", momentum, not momentum < 0.0)
        check_option("weight_decay value", weight_decay, not weight_decay < 0.0)
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("Nesterov momentum requires a momentum and zero dampening")
        super().__init__(params, dict(lr=lr, momentum=momentum, dampening=dampening, weight_decay=weight_decay, nesterov=nesterov,
                                      maximize=maximize, foreach=foreach, differentiable=differentiable, fused=fused))

    def _update(self, group: dict[str, Any]) -> None:
        params = with_gradients(group)
        if group["momentum"] == 0:
            self._update_some(group, params, [])
            return
        known = [p for p in params if self.state[p].get("momentum_buffer") is not None]
        fresh = [p for p in params if self.state[p].get("momentum_buffer") is None]
        self._update_some(group, known, [self.state[p]["momentum_buffer"] for p in known])
        self._update_some(group, fresh, [])

    def _update_differentiable(self, group: dict[str, Any], params: list[Tensor]) -> None:
        differentiable.sgd(self, group, params)

    def _update_some(self, group: dict[str, Any], params: list[Tensor], buffers: list[Tensor]) -> None:
        if not params:
            return
        n, decay, momentum = len(params), group["weight_decay"], group["momentum"] != 0
        options, marks = scalars((group["lr"], group["momentum"], group["dampening"], *((decay,) if decay else ())))
        template = (_marks(n), _marks(n), _marks(len(buffers)), *marks, *(() if decay else (None,)),
                    bool(group["nesterov"]), bool(group["maximize"]), momentum)
        args = values_of([*params, *[p._grad for p in params], *buffers])       # type: ignore[list-item]
        outs = engine.record(call_of(OPS["_sgd_step"], template), [*args, *options])
        write_all([*params, *buffers], outs if buffers else outs[:n])
        if momentum and not buffers:
            for p, v in zip(params, outs[n:], strict=True):
                self.state[p]["momentum_buffer"] = wrap(v)


class Adam(Optimizer):
    """Adam. See torch.optim.Adam."""

    _decoupled = False

    def __init__(self, params, lr=1e-3, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8, weight_decay: float = 0,
                 amsgrad: bool = False, *, foreach: bool | None = None, maximize: bool = False, capturable: bool = False,
                 differentiable: bool = False, fused: bool | None = None, decoupled_weight_decay: bool = False):
        groups.check_tensor(lr, "lr", foreach=foreach and not capturable)
        check_option("learning rate", lr, 0.0 <= lr)
        check_option("epsilon value", eps, 0.0 <= eps)
        check_option("beta parameter at index 0", betas[0], 0.0 <= betas[0] < 1.0)
        check_option("beta parameter at index 1", betas[1], 0.0 <= betas[1] < 1.0)
        check_option("weight_decay value", weight_decay, 0.0 <= weight_decay)
        betas = groups.checked_betas(betas, foreach=foreach and not capturable)
        super().__init__(params, dict(lr=lr, betas=betas, eps=eps, weight_decay=weight_decay, amsgrad=amsgrad, maximize=maximize,
                                      foreach=foreach, capturable=capturable, differentiable=differentiable, fused=fused,
                                      decoupled_weight_decay=self._decoupled or decoupled_weight_decay))

    def _start(self, p: Tensor, amsgrad: bool) -> dict[str, Tensor]:
        """The state of a parameter that is updated for the first time."""
        state, aval = self.state[p], storage.aval_of(p)
        state["step"] = wrap(_zero_step())
        for name in ("exp_avg", "exp_avg_sq", *(("max_exp_avg_sq",) if amsgrad else ())):
            state[name] = wrap(_zeros(aval))
        return state

    def _update(self, group: dict[str, Any]) -> None:
        params = with_gradients(group)
        if not params:
            return
        amsgrad, known, decay = group["amsgrad"], self.state, group["weight_decay"]
        states = [known[p] or self._start(p, amsgrad) for p in params]
        n = len(params)
        targets = [*params, *[s["exp_avg"] for s in states], *[s["exp_avg_sq"] for s in states]]
        if amsgrad:
            targets += [s["max_exp_avg_sq"] for s in states]
        counters = [s["step"] for s in states]
        steps = values_of(counters)
        distinct = [steps[0]] if steps.count(steps[0]) == n else list(dict.fromkeys(steps))
        options, marks = scalars((group["lr"], *group["betas"], group["eps"], *((decay,) if decay else ())))
        c = _adam_call(n, amsgrad, len(distinct), () if len(distinct) == 1 else tuple(map(distinct.index, steps)), marks,
                       bool(self._decoupled or group.get("decoupled_weight_decay")), bool(group["maximize"]))
        arguments = values_of([*params, *[p._grad for p in params], *targets[n:]])      # type: ignore[list-item]
        outs = engine.record(c, [*arguments, *distinct, *options])
        new = dict(zip(distinct, outs[len(targets):], strict=True))
        write_all([*targets, *counters], outs[:len(targets)] + [new[v] for v in steps])

    def _update_differentiable(self, group: dict[str, Any], params: list[Tensor]) -> None:
        if params:
            differentiable.adam(self, group, params)


@functools.lru_cache(256)
def _adam_call(n: int, amsgrad: bool, distinct: int, places: tuple[int, ...], marks: tuple, decoupled: bool,
               maximize: bool) -> engine.Call:
    """The call of a step of ``n`` parameters, of which number ``i`` has step number ``places[i]``."""
    columns = (*[_marks(n)] * 4, _marks(n) if amsgrad else ())
    options = marks if len(marks) == 5 else (*marks, None)
    return call_of(OPS["_adam_step"], (*columns, _marks(distinct), *options, places or (0,) * n, decoupled, maximize))


class AdamW(Adam):
    """Adam with decoupled weight decay. See torch.optim.AdamW."""

    _decoupled = True

    def __init__(self, params, lr=1e-3, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8, weight_decay: float = 1e-2,
                 amsgrad: bool = False, *, maximize: bool = False, foreach: bool | None = None, capturable: bool = False,
                 differentiable: bool = False, fused: bool | None = None):
        super().__init__(params, lr, betas, eps, weight_decay, amsgrad, foreach=foreach, maximize=maximize, capturable=capturable,
                         differentiable=differentiable, fused=fused)


_STEP_ZERO: list[Value] = []


def _zero_step() -> Value:
    """Step 0, one value for all parameters, so that one scalar counts for all that are in step."""
    if not _STEP_ZERO:
        _STEP_ZERO.append(Value(engine.aval_of((), np.dtype(np.float32), engine.CPU), np.zeros((), np.float32)))
    return _STEP_ZERO[0]


def _zeros(aval: engine.Aval) -> Value:
    zeros = np.zeros(aval.shape, aval.np)
    return Value(aval, zeros if aval.device is engine.CPU else engine.put(zeros, aval.device))


# Beside this file, since each builds on the classes above.
from jtorch import lr_scheduler as lr_scheduler  # noqa: E402
from jtorch._optimizers import differentiable, scaled  # noqa: E402
from jtorch._optimizers import swa_utils as swa_utils  # noqa: E402
from jtorch._optimizers.adam_family import Adamax, NAdam, RAdam, SparseAdam  # noqa: E402
from jtorch._optimizers.adaptive import ASGD, Adadelta, Adafactor, Adagrad, RMSprop, Rprop  # noqa: E402
from jtorch._optimizers.lbfgs import LBFGS  # noqa: E402
from jtorch._optimizers.muon import Muon  # noqa: E402
from jtorch._optimizers.optax import Optax  # noqa: E402
from jtorch._optimizers.swapped import swap_in_optimizer_params_and_state  # noqa: E402

# A file has no submodules of its own.
for _module in (lr_scheduler, swa_utils, optimizer):
    sys.modules[f"jtorch.optim.{_module.__name__.rpartition('.')[2]}"] = _module
optimizer.Optimizer = Optimizer     # type: ignore[attr-defined]

__all__ = ["ASGD", "LBFGS", "SGD", "Adadelta", "Adafactor", "Adagrad", "Adam", "AdamW", "Adamax", "Muon", "NAdam", "Optax",
           "Optimizer", "RAdam", "RMSprop", "Rprop", "SparseAdam", "lr_scheduler",
           "swa_utils", "swap_in_optimizer_params_and_state"]
