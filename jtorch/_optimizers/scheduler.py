"""The base class of learning rate schedulers. A new rate is an argument of the step's program, so nothing
recompiles.
"""
from __future__ import annotations

import functools
import weakref
from typing import Any

from jtorch._base import warned
from jtorch._optimizers.optimizer import Optimizer
from jtorch.tensor import Tensor


def _copy(x: Any) -> Any:
    return x.clone() if isinstance(x, Tensor) else x        # type: ignore[attr-defined]


def _set(group: dict[str, Any], key: str, value: Any) -> None:
    if isinstance(group[key], Tensor):
        group[key].fill_(float(value))      # type: ignore[attr-defined]
    else:
        group[key] = value


def _per_group(optimizer: Optimizer, value: Any, name: str) -> list:
    """Return one value for each group of an optimizer."""
    n = len(optimizer.param_groups)
    if not isinstance(value, (list, tuple)):
        return [value] * n
    if len(value) != n:
        raise ValueError(f"{name} must have the same length as optimizer.param_groups. {name} has {len(value)} values, "
                         f"param_groups has {n}.")
    return list(value)


def _note_steps(optimizer: Optimizer) -> None:
    """Wrap the optimizer's step so that it records the call, for the warning about the order of calls."""
    if hasattr(optimizer.step, "_wrapped_by_lr_sched"):
        return
    # The optimizer holds the function, so the function holds only a weak reference to the optimizer.
    step, ref = optimizer.step, weakref.ref(optimizer)
    optimizer.step = _counting(step, ref)       # type: ignore[method-assign]


def _counting(step: Any, ref: weakref.ref) -> Any:
    bare = getattr(step, "__func__", None) or functools.partial(_call, step)

    @functools.wraps(getattr(step, "__func__", step))
    def counted(*args, **kwargs):
        owner = ref()
        owner._opt_called = True        # type: ignore[union-attr]
        return bare(owner, *args, **kwargs)

    counted._wrapped_by_lr_sched = True     # type: ignore[attr-defined]
    return counted


def _call(step: Any, owner: Any, *args: Any, **kwargs: Any) -> Any:
    return step(*args, **kwargs)


_ORDER = ("Detected call of `lr_scheduler.step()` before `optimizer.step()`. In PyTorch 1.1.0 and later, you should call them in "
          "the opposite order: `optimizer.step()` before `lr_scheduler.step()`.  Failure to do this will result in PyTorch "
          "skipping the first value of the learning rate schedule. See more details at "
          "https://pytorch.org/docs/stable/optim.html#how-to-adjust-learning-rate")
_OVERRIDDEN = ("Seems like `optimizer.step()` has been overridden after learning rate scheduler initialization. Please, make "
               "sure to call `optimizer.step()` before `lr_scheduler.step()`. See more details at "
               "https://pytorch.org/docs/stable/optim.html#how-to-adjust-learning-rate")
EPOCH_DEPRECATION_WARNING = (
    "The epoch parameter in `scheduler.step()` was not necessary and is being deprecated where possible. Please use "
    "`scheduler.step()` to step the scheduler. During the deprecation, if epoch is different from None, the closed form is used "
    "instead of the new chainable form, where available. Please open an issue if you are unable to replicate your use case: "
    "https://github.com/pytorch/pytorch/issues/new/choose.")


class LRScheduler:
    """The base class of schedulers: a subclass defines ``get_lr``. See torch.optim.lr_scheduler.LRScheduler.

    Args:
        optimizer (Optimizer): the optimizer whose groups' rates are set.
        last_epoch (int): the last epoch, to resume after it; -1 starts, and stores each group's ``initial_lr``.

    Raises:
        TypeError: ``optimizer`` is no Optimizer.
        KeyError: ``last_epoch`` is not -1, and a group has no ``initial_lr``.

    Example::

        >>> opt = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=1.0)
        >>> class Halving(torch.optim.lr_scheduler.LRScheduler):
        ...     def get_lr(self):
        ...         return [base * 0.5 ** self.last_epoch for base in self.base_lrs]
        >>> scheduler = Halving(opt)
        >>> rates = []
        >>> for epoch in range(3):
        ...     rates.append(round(scheduler.get_last_lr()[0], 4))
        ...     opt.step()
        ...     scheduler.step()
        >>> rates
        [1.0, 0.5, 0.25]

    """

    _get_lr_called_within_step = False
    _is_initial = False
    _hidden: tuple[str, ...] = ("optimizer",)       # attributes that state_dict omits

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1):
        if not isinstance(optimizer, Optimizer):
            raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")
        self.optimizer = optimizer
        for i, group in enumerate(optimizer.param_groups):
            if last_epoch == -1:
                group.setdefault("initial_lr", _copy(group["lr"]))
            elif "initial_lr" not in group:
                raise KeyError(f"param 'initial_lr' is not specified in param_groups[{i}] when resuming scheduler with "
                               "last_epoch >= 0.")
        self.base_lrs: list = [_copy(g["initial_lr"]) for g in optimizer.param_groups]
        self.last_epoch = last_epoch
        _note_steps(optimizer)
        self._initial_step()

    def _initial_step(self) -> None:
        self._step_count = 0
        self._is_initial = True
        try:
            self.step()
        finally:
            self._is_initial = False

    def state_dict(self) -> dict[str, Any]:
        """Return all attributes but the optimizer."""
        return {k: v for k, v in self.__dict__.items() if k not in self._hidden}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Load the state of another scheduler."""
        self.__dict__.update(state_dict)

    def get_last_lr(self) -> list:
        """Return the learning rates that the last step has set."""
        return self._last_lr

    def get_lr(self) -> list:
        """Return the learning rates to set next."""
        raise NotImplementedError

    def _warn_if_asked(self) -> None:
        if not self._get_lr_called_within_step:
            warned.warn("To get the last learning rate computed by the scheduler, please use `get_last_lr()`.")

    def _lrs(self) -> list:
        return [_copy(g["lr"]) for g in self.optimizer.param_groups]

    def _scaled(self, factor: float) -> list:
        return [g["lr"] * factor for g in self.optimizer.param_groups]

    def step(self, epoch: int | None = None) -> None:
        """Set the learning rates for the next epoch."""
        self._warn_about_order()
        self._step_count += 1
        if epoch is not None:
            warned.warn(EPOCH_DEPRECATION_WARNING)
        self._update_lr(epoch)

    def _update_lr(self, epoch: int | None = None) -> None:
        self._get_lr_called_within_step = True
        try:
            self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
            values = self.get_lr() if epoch is None else getattr(self, "_get_closed_form_lr", self.get_lr)()
        finally:
            self._get_lr_called_within_step = False
        self._take(values)

    def _take(self, values: list) -> None:
        for group, value in zip(self.optimizer.param_groups, values, strict=True):
            _set(group, "lr", value)
        self._last_lr = self._lrs()

    def _warn_about_order(self) -> None:
        if self._step_count == 1:
            if not hasattr(self.optimizer.step, "_wrapped_by_lr_sched"):
                warned.warn(_OVERRIDDEN)
            elif not getattr(self.optimizer, "_opt_called", False):
                warned.warn(_ORDER)
