"""torch._functorch.make_functional: modules as functions of their parameters, as functorch had them before torch.func."""
from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any

from jtorch._api import functions
from jtorch.func import functional_call
from jtorch.nn.modules.module import Module
from jtorch.tensor import Tensor


def _parts(model: Module, untracked: bool) -> tuple[Module, dict[str, Any], dict[str, Any]]:
    """Return a copy of a model, its parameters and its buffers."""
    made = copy.deepcopy(model)
    parameters: dict[str, Any] = dict(made.named_parameters())
    if untracked:
        parameters = {name: p.detach() for name, p in parameters.items()}
    return made, parameters, dict(made.named_buffers())


class FunctionalModule(Module):
    """A module that gets its parameters in each call. See functorch.make_functional."""

    def __init__(self, stateless_model: Module, param_names: tuple[str, ...]):
        super().__init__()
        self.stateless_model, self.param_names = stateless_model, param_names

    @staticmethod
    def _create_from(model: Module, disable_autograd_tracking: bool = False) -> tuple[FunctionalModule, tuple[Any, ...]]:
        made, parameters, _ = _parts(model, disable_autograd_tracking)
        return FunctionalModule(made, tuple(parameters)), tuple(parameters.values())

    def forward(self, params: Sequence[Any], *args: Any, **kwargs: Any) -> Any:     # type: ignore[override]
        """Run the model with these parameters."""
        return functional_call(self.stateless_model, dict(zip(self.param_names, params, strict=True)), args, kwargs)


class FunctionalModuleWithBuffers(Module):
    """A module that gets its parameters and buffers in each call. See functorch.make_functional_with_buffers."""

    def __init__(self, stateless_model: Module, param_names: tuple[str, ...], buffer_names: tuple[str, ...]):
        super().__init__()
        self.stateless_model, self.param_names, self.buffer_names = stateless_model, param_names, buffer_names

    @staticmethod
    def _create_from(model: Module, disable_autograd_tracking: bool = False) -> tuple[
            FunctionalModuleWithBuffers, tuple[Any, ...], tuple[Any, ...]]:
        made, parameters, buffers = _parts(model, disable_autograd_tracking)
        return (FunctionalModuleWithBuffers(made, tuple(parameters), tuple(buffers)), tuple(parameters.values()),
                tuple(buffers.values()))

    def forward(self, params: Sequence[Any], buffers: Sequence[Any], *args: Any, **kwargs: Any) -> Any:     # type: ignore[override]
        """Run the model with these parameters and buffers."""
        given = dict(zip((*self.param_names, *self.buffer_names), (*params, *buffers), strict=True))
        return functional_call(self.stateless_model, given, args, kwargs)


def make_functional(model: Module, disable_autograd_tracking: bool = False) -> tuple[FunctionalModule, tuple[Any, ...]]:
    """Return a function of (parameters, *arguments), and the parameters; RuntimeError if the model has buffers."""
    if list(model.buffers()):
        raise RuntimeError("make_functional(model): `model` has buffers. Please use make_functional_with_buffers(model) instead.")
    return FunctionalModule._create_from(model, disable_autograd_tracking)


def make_functional_with_buffers(model: Module, disable_autograd_tracking: bool = False) -> tuple[
        FunctionalModuleWithBuffers, tuple[Any, ...], tuple[Any, ...]]:
    """Return a function of (parameters, buffers, *arguments), the parameters and the buffers."""
    return FunctionalModuleWithBuffers._create_from(model, disable_autograd_tracking)


def _stacked(parts: Sequence[Sequence[Tensor]]) -> tuple[Tensor, ...]:
    return tuple(functions.stack(group).detach() for group in zip(*parts, strict=True))      # type: ignore[attr-defined]


def combine_state_for_ensemble(models: Sequence[Module]) -> tuple[Callable, tuple[Tensor, ...], tuple[Tensor, ...]]:
    """Return one function for several models of one class, and the models' parameters and buffers, stacked for vmap."""
    if not models:
        raise RuntimeError("combine_state_for_ensemble: Expected at least one model, got 0.")
    if len({m.training for m in models}) > 1:
        raise RuntimeError("combine_state_for_ensemble: Expected all models to have the same training/eval mode.")
    if len({type(m) for m in models}) > 1:
        raise RuntimeError("combine_state_for_ensemble: Expected all models to be of the same class.")
    made, parameters, buffers = zip(*[make_functional_with_buffers(m) for m in models], strict=True)
    return made[0], _stacked(parameters), _stacked(buffers)
