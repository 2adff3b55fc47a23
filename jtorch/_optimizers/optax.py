"""optax's gradient transformations as torch optimizers."""
from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from jtorch import engine, storage
from jtorch._optimizers.arguments import number, with_gradients
from jtorch._optimizers.optimizer import Optimizer
from jtorch.engine import Value, call_of
from jtorch.no_grad import no_grad
from jtorch.ops.optimizer_optax import Transformation
from jtorch.ops.registry import OPS, T
from jtorch.storage import value_of, values_of, write_all
from jtorch.tensor import Tensor, wrap


def _optax() -> Any:
    try:
        return importlib.import_module("optax")
    except ImportError as error:
        raise ImportError("jtorch.optim.Optax needs optax: pip install optax (or jtorch-jax[optax])") from error


class Optax(Optimizer):
    """An optimizer that applies an optax ``GradientTransformation``, for example a ``chain`` with a schedule.

    A step is one op, which the engine compiles with the rest of the loop. The parameters of a group are one tree (a
    list). A parameter without a gradient is not changed; the state treats its gradient as zeros. A transformation with
    a ``value`` argument gets the loss that the closure of ``step`` returns.

    The state's arrays are tensors under ``state["group 0"]`` and so on, named by their position in optax's tree. So
    ``state_dict`` and ``load_state_dict`` work. A learning rate is part of the transformation: use optax's schedules
    instead of ``torch.optim.lr_scheduler``.

    Args:
        params: tensors, or dicts that each describe a group; a group may have its own ``transform``.
        transform: the transformation, with the sign that optax's optimizers have (updates are added).

    Raises:
        ImportError: optax is not installed.
        TypeError: ``transform`` has no ``init`` and ``update``.

    Example::

        >>> import jtorch as torch
        >>> import optax
        >>> x = torch.tensor([1.0, -2.0], requires_grad=True)
        >>> optimizer = torch.optim.Optax([x], optax.chain(optax.clip(0.5), optax.sgd(0.1)))
        >>> (x ** 2).sum().backward()
        >>> optimizer.step()
        >>> x
        tensor([ 0.9500, -1.9500], requires_grad=True)

    """

    def __init__(self, params, transform: Any):
        self._optax = _optax()
        self._transform = _checked(transform)
        self._rules: list[Any] = []
        super().__init__(params, {})

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        transform = _checked(param_group.pop("transform", self._transform) if isinstance(param_group, dict) else self._transform)
        super().add_param_group(param_group)
        at = len(self._rules)
        rule, state = self._start(transform, self.param_groups[at]["params"])
        self._rules.append(rule)
        self.state[f"group {at}"] = state

    def _start(self, transform: Any, params: list[Tensor]) -> tuple[Transformation, dict[str, Tensor]]:
        """Return a group's update rule, and the first state of its parameters."""
        with jax.enable_x64(True), jax.numpy_dtype_promotion("standard"):
            tree = transform.init([_array(p) for p in params])
        leaves, shape = jax.tree_util.tree_flatten_with_path(tree)
        update = self._optax.with_extra_args_support(transform).update
        rule = Transformation(update, self._optax.apply_updates, shape)
        place = params[0].device if params else engine.CPU
        return rule, {jax.tree_util.keystr(path): _tensor(leaf, place) for path, leaf in leaves}

    def _step(self, closure: Callable[[], Any] | None):
        loss = self._loss(closure)
        value = [] if loss is None else [number(loss)]
        with no_grad():
            for at, group in enumerate(self.param_groups):
                self._update_group(at, group["params"], value)
        engine.end()
        return loss

    def _update_group(self, at: int, params: list[Tensor], value: list[tuple]) -> None:
        state = list(self.state[f"group {at}"].values())
        if not with_gradients({"params": params}):
            return
        n = len(params)
        template = ((T,) * n, (T,) * n, (T,) * len(state), tuple([m for _, m in value]), ("value",) * len(value), self._rules[at])
        grads = [value_of(p._grad) if p._grad is not None else _zeros_like(p) for p in params]
        args = [*values_of(params), *grads, *values_of(state), *[v for v, _ in value]]
        outs = engine.record(call_of(OPS["_optax_step"], template), args)
        kept = [(p, v) for p, v in zip(params, outs[:n], strict=True) if p._grad is not None]
        write_all([p for p, _ in kept], [v for _, v in kept])
        write_all(state, outs[n:])

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "_transform": self._transform, "_rules": self._rules, "_optax": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__({**state, "_optax": _optax()})


def _checked(transform: Any) -> Any:
    if not (callable(getattr(transform, "init", None)) and callable(getattr(transform, "update", None))):
        raise TypeError(f"transform must be an optax.GradientTransformation, but got {type(transform).__name__}")
    return transform


def _array(t: Tensor) -> Any:
    value = value_of(t)
    engine.read(value)
    return jax.numpy.asarray(engine.host_array(value))


def _tensor(leaf: Any, place: Any) -> Tensor:
    array = np.asarray(leaf)
    aval = engine.aval_of(array.shape, array.dtype, place)
    return wrap(Value(aval, array if place is engine.CPU else engine.put(array, place)))


def _zeros_like(p: Tensor) -> Value:
    aval = storage.aval_of(p)
    return value_of(_tensor(np.zeros(aval.shape, aval.np), aval.device))
