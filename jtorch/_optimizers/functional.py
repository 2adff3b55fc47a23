"""Optimizers that are given gradients instead of reading ``param.grad``. Those of ``torch.distributed.optim``."""
from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from jtorch._base import warned
from jtorch._optimizers.adam import Adam, AdamW
from jtorch._optimizers.adam_family import Adamax
from jtorch._optimizers.adaptive import Adadelta, Adagrad, RMSprop, Rprop
from jtorch._optimizers.optimizer import Optimizer
from jtorch._optimizers.sgd import SGD
from jtorch.tensor import Tensor

# These options are attributes; the others are in ``defaults``, where they can be changed.
_ATTRIBUTES = frozenset("amsgrad centered coalesce_grad etas foreach fused maximize nesterov step_sizes".split())
# These options are accepted and change nothing.
_UNUSED = frozenset(("coalesce_grad", "warmup_lr_multiplier", "warmup_num_iters"))


class _Functional:
    """An optimizer whose ``step`` takes the parameters' gradients. It has one group of parameters, which may be empty."""

    kind: type[Optimizer]
    options: dict[str, Any]
    checked = False

    def __init__(self, params: list[Tensor], *args: Any, _allow_empty_param_list: bool = False, **kwargs: Any):
        warned.warn("`TorchScript` support for functional optimizers is deprecated and will be removed in a future PyTorch "
                    "release. Consider using the `torch.compile` optimizer instead.", DeprecationWarning)
        given = self._given(args, kwargs)
        if self.checked:
            _check(given)
        self.__dict__.update({name: value for name, value in given.items() if name in _ATTRIBUTES})
        betas = dict(zip(("beta1", "beta2"), given.pop("betas", ()), strict=False))
        self.defaults = {name: value for name, value in given.items() if name not in _ATTRIBUTES} | betas
        if not params and not _allow_empty_param_list:
            raise ValueError("optimizer got an empty parameter list")
        self.param_group = {"params": params}
        self.state: dict[Tensor, dict[str, Any]] = defaultdict(dict)
        self._optimizer: Optimizer | None = None

    def _given(self, args: tuple, kwargs: dict[str, Any]) -> dict[str, Any]:
        """Return all options, of which those that are not given have their defaults."""
        named = dict(zip(self.options, args, strict=False))
        unknown = [name for name in kwargs if name not in self.options or name in named]
        if unknown or len(args) > len(self.options):
            raise TypeError(f"{type(self).__name__}() got unexpected arguments: {', '.join(unknown) or args[len(self.options):]}")
        return {**self.options, **named, **kwargs}

    def step(self, gradients: Sequence[Tensor | None]) -> None:
        """Update the parameters. ``gradients`` has a gradient or None for each; ValueError for another number of them."""
        params = self.param_group["params"]
        if len(params) != len(gradients):
            raise ValueError("the gradients passed in does not equal to the size of the parameters!"
                             f"Params length: {len(params)}. Gradients length: {len(gradients)}")
        self._update(list(zip(params, gradients, strict=True)))

    def _update(self, pairs: list[tuple[Tensor, Tensor | None]]) -> None:
        updated = [(p, g, p.grad) for p, g in pairs if g is not None]
        if not updated:
            return
        try:
            for p, g, _ in updated:
                p.grad = g
            self._optimizer_of([p for p, *_ in updated]).step()
        finally:
            for p, _, before in updated:
                p.grad = before

    def _optimizer_of(self, params: list[Tensor]) -> Optimizer:
        options = {name: value for name, value in {**vars(self), **self.defaults}.items()
                   if name in self.options and name not in _UNUSED}
        if "beta1" in self.defaults:
            options["betas"] = (self.defaults["beta1"], self.defaults["beta2"])
        if self._optimizer is None:
            self._optimizer = self.kind(params, **options)
            self.state.update(self._optimizer.state)
            self._optimizer.state = self.state      # type: ignore[assignment]
        self._optimizer.param_groups[0].update(params=params, **options)
        return self._optimizer


class _OfOneParameter(_Functional):
    def step_param(self, param: Tensor, grad: Tensor | None) -> None:
        """Update one parameter, which need not be of the group."""
        self._update([(param, grad)])


def _check(given: dict[str, Any]) -> None:
    """Raise ValueError for an option out of its range."""
    betas = {f"beta parameter at index {i}": (beta, beta < 1.0) for i, beta in enumerate(given["betas"])}
    for name, (value, is_below) in {"learning rate": (given["lr"], True), "epsilon value": (given["eps"], True), **betas,
                                    "weight_decay value": (given["weight_decay"], True)}.items():
        if not (0.0 <= value and is_below):
            raise ValueError(f"Invalid {name}: {value}")


class _FunctionalAdadelta(_Functional):
    kind = Adadelta
    options = {"lr": 1.0, "rho": 0.9, "eps": 1e-6, "weight_decay": 0.0, "foreach": False, "maximize": False}


class _FunctionalAdagrad(_Functional):
    kind = Adagrad
    options = {"lr": 1e-2, "lr_decay": 0.0, "weight_decay": 0.0, "initial_accumulator_value": 0.0, "warmup_lr_multiplier": 1.0,
               "warmup_num_iters": 0.0, "eps": 1e-10, "coalesce_grad": True, "foreach": False, "fused": False, "maximize": False}


class _FunctionalAdam(_OfOneParameter):
    kind = Adam
    checked = True
    options = {"lr": 1e-3, "betas": (0.9, 0.999), "eps": 1e-8, "weight_decay": 0.0, "amsgrad": False, "maximize": False,
               "foreach": False, "fused": False}


class _FunctionalAdamW(_OfOneParameter):
    kind = AdamW
    checked = True
    options = {**_FunctionalAdam.options, "weight_decay": 1e-2}


class _FunctionalAdamax(_Functional):
    kind = Adamax
    checked = True
    options = {"lr": 1e-3, "betas": (0.9, 0.999), "eps": 1e-8, "weight_decay": 0.0, "foreach": False, "maximize": False}


class _FunctionalRMSprop(_Functional):
    kind = RMSprop
    options = {"lr": 1e-2, "alpha": 0.99, "eps": 1e-8, "weight_decay": 0.0, "momentum": 0.0, "centered": False, "foreach": False,
               "maximize": False}


class _FunctionalRprop(_Functional):
    kind = Rprop
    options = {"lr": 1e-2, "etas": (0.5, 1.2), "step_sizes": (1e-6, 50), "foreach": False, "maximize": False}


class _FunctionalSGD(_OfOneParameter):
    kind = SGD
    options = {"lr": 1e-2, "momentum": 0.0, "dampening": 0.0, "weight_decay": 0.0, "nesterov": False, "maximize": False,
               "foreach": False, "fused": False}


_CLASSES = (_FunctionalAdadelta, _FunctionalAdagrad, _FunctionalAdam, _FunctionalAdamW, _FunctionalAdamax, _FunctionalRMSprop,
            _FunctionalRprop, _FunctionalSGD)
functional_optim_map: dict[Any, Any] = {kind.kind: kind for kind in _CLASSES}


def register_functional_optim(key: Any, optim: Any) -> None:
    """Make ``as_functional_optim(key)`` return an object of the class ``optim``, unless the key has a class already."""
    functional_optim_map.setdefault(key, optim)


def as_functional_optim(optim_cls: type, *args: Any, **kwargs: Any) -> Any:
    """Return an optimizer without parameters whose ``step_param(param, grad)`` updates as ``optim_cls`` does.

    >>> from jtorch.distributed.optim import as_functional_optim
    >>> optimizer = as_functional_optim(torch.optim.SGD, lr=0.5)
    >>> w = torch.ones(2)
    >>> optimizer.step_param(w, torch.ones(2))
    >>> w
    tensor([0.5000, 0.5000])
    """
    if optim_cls not in functional_optim_map:
        raise ValueError(f"Optimizer {optim_cls} does not have a functional counterpart!") from KeyError(optim_cls)
    return functional_optim_map[optim_cls]([], *args, **kwargs, _allow_empty_param_list=True)
