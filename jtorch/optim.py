"""torch.optim: optimizers whose step is one record, all parameters of a group at once."""
from __future__ import annotations

import functools
import sys
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable
from itertools import chain
from typing import Any

import numpy as np

from jtorch import engine, storage
from jtorch.engine import Value, call_of
from jtorch.hooks import RemovableHandle
from jtorch.no_grad import enable_grad, no_grad
from jtorch.ops.registry import NUMBERS, OPS, T
from jtorch.storage import value_of
from jtorch.tensor import Tensor, wrap


class _Required:
    def __repr__(self):
        return "<required parameter>"


required = _Required()


def write_all(tensors: Iterable[Tensor], values: Iterable[Value]) -> None:
    """Gives each tensor its new value."""
    for t, v in zip(tensors, values, strict=True):
        s = t._storage
        if t._view is None and s.host is None:
            s.value = v
            s.generation += 1
            (t._counter or s).version += 1
        else:
            storage.write(t, v)


def values_of(tensors: list[Tensor]) -> list[Value]:
    """What the tensors show now."""
    values = [t._storage.value if t._view is None else None for t in tensors]
    return [value_of(t) for t in tensors] if None in values else values      # type: ignore[return-value]


class Optimizer:
    """The base of all optimizers. See torch.optim.Optimizer.

    A subclass gives ``defaults`` and ``_update(group)``, which records the new values of one group's parameters.

    Args:
        params: tensors, (name, tensor) pairs, or dicts that each describe a group.
        defaults: the options of groups that do not set them.

    """

    def __init__(self, params, defaults: dict[str, Any]):
        if isinstance(params, Tensor):
            raise TypeError("params argument given to the optimizer should be an iterable of Tensors or dicts, but got "
                            f"{params.type()}")     # type: ignore[attr-defined]
        self.defaults = defaults
        self.state: defaultdict[Any, Any] = defaultdict(dict)
        self.param_groups: list[dict[str, Any]] = []
        self._hooks_init()
        groups = list(params)
        if not groups:
            raise ValueError("optimizer got an empty parameter list")
        for group in groups if isinstance(groups[0], dict) else [{"params": groups}]:
            self.add_param_group(group)

    def _hooks_init(self) -> None:
        self._step_pre_hooks: OrderedDict[int, Callable] = OrderedDict()
        self._step_post_hooks: OrderedDict[int, Callable] = OrderedDict()
        self._state_dict_pre_hooks: OrderedDict[int, Callable] = OrderedDict()
        self._state_dict_post_hooks: OrderedDict[int, Callable] = OrderedDict()
        self._load_pre_hooks: OrderedDict[int, Callable] = OrderedDict()
        self._load_post_hooks: OrderedDict[int, Callable] = OrderedDict()

    # ------------------------------------------------------------ groups

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Adds a group with options of its own. See torch.optim.Optimizer.add_param_group."""
        if not isinstance(param_group, dict):
            raise TypeError(f"param_group must be a dict, but got {type(param_group)}")
        group = dict(param_group)
        params = group["params"]
        if isinstance(params, set):
            raise TypeError("optimizer parameters need to be organized in ordered collections, but the ordering of tensors in "
                            "sets will change between runs. Please use a list instead.")
        params = [params] if isinstance(params, Tensor) else list(params)
        if params and isinstance(params[0], tuple):
            group["param_names"] = [n for n, _ in params]
            params = [p for _, p in params]
        self._check_params(params)
        group["params"] = params
        for name, default in self.defaults.items():
            if default is required and name not in group:
                raise ValueError(f"parameter group didn't specify a value of required optimization parameter {name}")
            group.setdefault(name, default)
        self.param_groups.append(group)

    def _check_params(self, params: list) -> None:
        for p in params:
            if not isinstance(p, Tensor):
                raise TypeError(f"optimizer can only optimize Tensors, but one of the params is {type(p).__name__}")
            if not self.defaults.get("differentiable", None) and not (p.is_leaf or p.retains_grad):
                raise ValueError("can't optimize a non-leaf Tensor")
        if len(params) != len({id(p) for p in params}):
            import warnings
            warnings.warn("optimizer contains a parameter group with duplicate parameters; in future, this will cause an error; "
                          "see github.com/pytorch/pytorch/issues/40967 for more information", stacklevel=3)
        known = {id(p) for g in self.param_groups for p in g["params"]}
        if any(id(p) in known for p in params):
            raise ValueError("some parameters appear in more than one parameter group")

    def __repr__(self) -> str:
        lines = [f"{type(self).__name__} ("]
        for i, group in enumerate(self.param_groups):
            lines += [f"Parameter Group {i}", *[f"    {k}: {group[k]}" for k in sorted(group) if k != "params"]]
        return "\n".join([*lines, ")"])

    # ------------------------------------------------------------ stepping

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Clears the gradients of all parameters. See torch.optim.Optimizer.zero_grad."""
        for group in self.param_groups:
            for p in group["params"]:
                if set_to_none or p._grad is None:
                    p._grad = None
                else:
                    p._grad.detach_() if p._grad.grad_fn is not None else p._grad.requires_grad_(False)
                    p._grad.zero_()

    def step(self, closure: Callable[[], Any] | None = None):
        """One step of optimization; ``closure`` re-evaluates the model and returns the loss."""
        if self._step_pre_hooks or self._step_post_hooks:
            return self._step_with_hooks(closure)
        return self._step(closure)

    def _step(self, closure):
        loss = None
        if closure is not None:
            with enable_grad():
                loss = closure()
        with no_grad():
            for group in self.param_groups:
                self._update(group)
        engine.end()
        return loss

    def _step_with_hooks(self, closure):
        args, kwargs = (closure,) if closure is not None else (), {}
        for hook in list(self._step_pre_hooks.values()):
            new = hook(self, args, kwargs)
            if new is not None:
                args, kwargs = new
        loss = self._step(*(args or (None,)), **kwargs)
        for hook in list(self._step_post_hooks.values()):
            hook(self, args, kwargs)
        return loss

    def _update(self, group: dict[str, Any]) -> None:
        raise NotImplementedError

    def register_step_pre_hook(self, hook: Callable) -> RemovableHandle:
        """``hook(optimizer, args, kwargs)`` runs before each step."""
        return RemovableHandle(self._step_pre_hooks, hook)

    def register_step_post_hook(self, hook: Callable) -> RemovableHandle:
        """``hook(optimizer, args, kwargs)`` runs after each step."""
        return RemovableHandle(self._step_post_hooks, hook)

    # ------------------------------------------------------------ state

    def state_dict(self) -> dict[str, Any]:
        """The state and the options of the groups, with parameters numbered. See torch.optim.Optimizer.state_dict."""
        for hook in self._state_dict_pre_hooks.values():
            hook(self)
        numbers: dict[int, int] = {}
        groups = []
        for group in self.param_groups:
            for p in group["params"]:
                numbers.setdefault(id(p), len(numbers))
            groups.append({**{k: v for k, v in group.items() if k != "params"},
                           "params": [numbers[id(p)] for p in group["params"]]})
        state = {numbers[id(k)] if isinstance(k, Tensor) else k: v for k, v in self.state.items()}
        out = {"state": state, "param_groups": groups}
        for hook in self._state_dict_post_hooks.values():
            new = hook(self, out)
            out = out if new is None else new
        return out

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Takes over the state and options of another optimizer. See torch.optim.Optimizer.load_state_dict."""
        state_dict = dict(state_dict)
        for hook in self._load_pre_hooks.values():
            new = hook(self, state_dict)
            state_dict = state_dict if new is None else new
        mine, theirs = self.param_groups, [dict(g) for g in state_dict["param_groups"]]
        if len(mine) != len(theirs):
            raise ValueError("loaded state dict has a different number of parameter groups")
        if any(len(a["params"]) != len(b["params"]) for a, b in zip(mine, theirs, strict=True)):
            raise ValueError("loaded state dict contains a parameter group that doesn't match the size of optimizer's group")
        params = dict(zip(chain.from_iterable(g["params"] for g in theirs), chain.from_iterable(g["params"] for g in mine),
                          strict=True))
        self.state = defaultdict(dict, {params.get(k, k): _loaded(params.get(k), v) for k, v in state_dict["state"].items()})
        self.param_groups = [{**b, "params": a["params"]} for a, b in zip(mine, theirs, strict=True)]
        for hook in self._load_post_hooks.values():
            hook(self)

    def register_state_dict_pre_hook(self, hook: Callable, prepend: bool = False) -> RemovableHandle:
        """``hook(optimizer)`` runs before ``state_dict``."""
        return RemovableHandle(self._state_dict_pre_hooks, hook, first=prepend)

    def register_state_dict_post_hook(self, hook: Callable, prepend: bool = False) -> RemovableHandle:
        """``hook(optimizer, state_dict)`` runs after ``state_dict``."""
        return RemovableHandle(self._state_dict_post_hooks, hook, first=prepend)

    def register_load_state_dict_pre_hook(self, hook: Callable, prepend: bool = False) -> RemovableHandle:
        """``hook(optimizer, state_dict)`` runs before ``load_state_dict``."""
        return RemovableHandle(self._load_pre_hooks, hook, first=prepend)

    def register_load_state_dict_post_hook(self, hook: Callable, prepend: bool = False) -> RemovableHandle:
        """``hook(optimizer)`` runs after ``load_state_dict``."""
        return RemovableHandle(self._load_post_hooks, hook, first=prepend)

    def __getstate__(self) -> dict[str, Any]:
        return {"defaults": self.defaults, "state": self.state, "param_groups": self.param_groups}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._hooks_init()


def _loaded(param: Tensor | None, value: Any, key: str = "") -> Any:
    """A state entry in its parameter's dtype and device; ``step`` stays as it is."""
    if isinstance(value, Tensor):
        if param is None or key == "step":
            return value.clone()        # type: ignore[attr-defined]
        dtype = param.dtype if param.is_floating_point() and value.is_floating_point() else value.dtype
        return value.to(dtype=dtype, device=param.device, copy=True)        # type: ignore[attr-defined]
    if isinstance(value, dict):
        return {k: _loaded(param, v, k) for k, v in value.items()}
    return type(value)(_loaded(param, v) for v in value) if isinstance(value, (list, tuple)) else value


def with_gradients(group: dict[str, Any]) -> list[Tensor]:
    """The parameters of a group that have a gradient."""
    return [p for p in group["params"] if p._grad is not None]


def number(x: Any):
    """(argument, marker) of an option that is a Python number or a tensor of one element."""
    if isinstance(x, Tensor):
        return value_of(x), T
    x = float(x)
    return x, NUMBERS[float]


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

    def _update_some(self, group: dict[str, Any], params: list[Tensor], buffers: list[Tensor]) -> None:
        if not params:
            return
        n, decay, momentum = len(params), group["weight_decay"], group["momentum"] != 0
        options = [number(group[k]) for k in ("lr", "momentum", "dampening")]
        options += [number(decay)] if decay else []
        template = (_marks(n), _marks(n), _marks(len(buffers)), *[m for _, m in options], *(() if decay else (None,)),
                    bool(group["nesterov"]), bool(group["maximize"]), momentum)
        args: list = [value_of(p) for p in params]
        args += [value_of(p._grad) for p in params]         # type: ignore[arg-type]
        args += [value_of(b) for b in buffers]
        args += [a for a, _ in options]
        outs = engine.record(call_of(OPS["_sgd_step"], template), args)
        write_all(params, outs[:n])
        if buffers:
            write_all(buffers, outs[n:])
        elif momentum:
            for p, v in zip(params, outs[n:], strict=True):
                self.state[p]["momentum_buffer"] = wrap(v)


class Adam(Optimizer):
    """Adam. See torch.optim.Adam."""

    _decoupled = False

    def __init__(self, params, lr=1e-3, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8, weight_decay: float = 0,
                 amsgrad: bool = False, *, foreach: bool | None = None, maximize: bool = False, capturable: bool = False,
                 differentiable: bool = False, fused: bool | None = None, decoupled_weight_decay: bool = False):
        check_option("learning rate", lr, 0.0 <= lr)
        check_option("epsilon value", eps, 0.0 <= eps)
        check_option("beta parameter at index 0", betas[0], 0.0 <= betas[0] < 1.0)
        check_option("beta parameter at index 1", betas[1], 0.0 <= betas[1] < 1.0)
        check_option("weight_decay value", weight_decay, 0.0 <= weight_decay)
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
        amsgrad = group["amsgrad"]
        known = self.state
        states = [known[p] or self._start(p, amsgrad) for p in params]
        columns = [[s["exp_avg"] for s in states], [s["exp_avg_sq"] for s in states],
                   [s["max_exp_avg_sq"] for s in states] if amsgrad else []]
        steps = values_of([s["step"] for s in states])
        distinct = list(dict.fromkeys(steps))
        args: list = values_of(params)
        args += values_of([p._grad for p in params])        # type: ignore[misc]
        for column in columns:
            args += values_of(column)
        args += distinct
        template = self._template(group, len(params), [len(c) for c in columns], steps, distinct, args)
        outs = engine.record(call_of(OPS["_adam_step"], template), args)
        targets = [*params, *columns[0], *columns[1], *columns[2]]
        write_all(targets, outs[:len(targets)])
        new = dict(zip(distinct, outs[len(targets):], strict=True))
        write_all([s["step"] for s in states], [new[v] for v in steps])

    def _template(self, group: dict[str, Any], n: int, sizes: list[int], steps: list, distinct: list, args: list) -> tuple:
        """The template of the step's call; the options that are runtime scalars are added to ``args``."""
        decay = group["weight_decay"]
        options = [number(group["lr"]), *[number(b) for b in group["betas"]], number(group["eps"])]
        options += [number(decay)] if decay else []
        args += [a for a, _ in options]
        place = {v: i for i, v in enumerate(distinct)}
        return (_marks(n), _marks(n), *[_marks(k) for k in sizes], _marks(len(distinct)), *[m for _, m in options],
                *(() if decay else (None,)), tuple([place[v] for v in steps]),
                bool(self._decoupled or group.get("decoupled_weight_decay")), bool(group["maximize"]))


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
from jtorch._optimizers.adam_family import Adamax, NAdam, RAdam, SparseAdam  # noqa: E402
from jtorch._optimizers.adaptive import ASGD, Adadelta, Adafactor, Adagrad, RMSprop, Rprop  # noqa: E402
from jtorch._optimizers.muon import Muon  # noqa: E402

sys.modules["jtorch.optim.lr_scheduler"] = lr_scheduler      # a file has no submodules of its own

__all__ = ["ASGD", "SGD", "Adadelta", "Adafactor", "Adagrad", "Adam", "AdamW", "Adamax", "Muon", "NAdam", "Optimizer", "RAdam",
           "RMSprop", "Rprop", "SparseAdam", "lr_scheduler"]
