"""Schedulers that also set the momentum, and composed schedulers. ``jtorch._optimizers.lr_scheduler`` exports them."""
from __future__ import annotations

import math
import types
from bisect import bisect_right
from collections.abc import Callable, Sequence
from typing import Any

from jtorch._optimizers.optimizer import Optimizer
from jtorch._optimizers.rate_schedules import ReduceLROnPlateau
from jtorch._optimizers.scheduler import LRScheduler, _per_group, _set


class _MomentumScheduler(LRScheduler):
    """A scheduler that can also set momentum (or beta1)."""

    def _start_momentum(self, optimizer: Optimizer, lowest: list, highest: list, last_epoch: int) -> None:
        self.use_beta1 = "betas" in optimizer.defaults
        for group, low, high in zip(optimizer.param_groups, lowest, highest, strict=True):
            if last_epoch == -1:
                self._set_momentum(group, high)
                group["max_momentum"], group["base_momentum"] = high, low

    def _set_momentum(self, group: dict[str, Any], value: float) -> None:
        if self.use_beta1:
            group["betas"] = (value, *group["betas"][1:])
        else:
            group["momentum"] = value


def _check_momentum(optimizer: Optimizer) -> None:
    if "momentum" not in optimizer.defaults and "betas" not in optimizer.defaults:
        raise ValueError("optimizer must support momentum or beta1 with `cycle_momentum` option enabled")


def _check_optimizer(optimizer: Any) -> None:
    if not isinstance(optimizer, Optimizer):
        raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")


class CyclicLR(_MomentumScheduler):
    """Cycles the rate between two limits (Smith 2015). See torch.optim.lr_scheduler.CyclicLR.

    Args:
        optimizer (Optimizer): the optimizer whose groups' rates are set.
        base_lr, max_lr (float, or one for each group): the smallest and the largest rate.
        step_size_up, step_size_down (int): the batches of each half; both the same if ``step_size_down`` is None.
        mode (str): "triangular", "triangular2" (each cycle half as high) or "exp_range" (``gamma`` to the number of
            batches).
        gamma (float): for "exp_range".
        scale_fn, scale_mode: a height (float) as a function of the cycle ("cycle") or the batch ("iterations"), in
            place of ``mode``.
        cycle_momentum (bool): whether the momentum cycles inversely, between ``base_momentum`` and ``max_momentum``.
        base_momentum, max_momentum (float, or one for each group): the limits of the momentum.
        last_epoch (int): the last batch, to resume after it; -1 starts.

    Raises:
        TypeError: ``optimizer`` is no Optimizer.
        ValueError: an unknown ``mode``, lists of another length than the groups, or an optimizer without momentum
            where it is to cycle.

    Source: Smith 2017, arXiv:1506.01186.

    Example::

        >>> opt = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=1.0)
        >>> scheduler = torch.optim.lr_scheduler.CyclicLR(opt, base_lr=0.1, max_lr=0.3, step_size_up=2,
        ...                                               cycle_momentum=False)
        >>> rates = []
        >>> for epoch in range(5):
        ...     rates.append(round(scheduler.get_last_lr()[0], 4))
        ...     opt.step()
        ...     scheduler.step()
        >>> rates
        [0.1, 0.2, 0.3, 0.2, 0.1]

    """

    def __init__(self, optimizer: Optimizer, base_lr: Any, max_lr: Any, step_size_up: int = 2000,
                 step_size_down: int | None = None, mode: str = "triangular", gamma: float = 1.0,
                 scale_fn: Callable[[float], float] | None = None,
                 scale_mode: str = "cycle", cycle_momentum: bool = True, base_momentum: Any = 0.8, max_momentum: Any = 0.9,
                 last_epoch: int = -1):
        _check_optimizer(optimizer)
        lowest, self.max_lrs = _per_group(optimizer, base_lr, "base_lr"), _per_group(optimizer, max_lr, "max_lr")
        if mode not in ("triangular", "triangular2", "exp_range") and scale_fn is None:
            raise ValueError("mode is invalid and scale_fn is None")
        up = float(step_size_up)
        self.total_size = up + (up if step_size_down is None else float(step_size_down))
        self.step_ratio, self.mode, self.gamma, self._scale_fn_custom = up / self.total_size, mode, gamma, scale_fn
        self.scale_mode = scale_mode if scale_fn is not None else "iterations" if mode == "exp_range" else "cycle"
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            _check_momentum(optimizer)
            self.base_momentums = _per_group(optimizer, base_momentum, "base_momentum")
            self.max_momentums = _per_group(optimizer, max_momentum, "max_momentum")
            self._start_momentum(optimizer, self.base_momentums, self.max_momentums, last_epoch)
        if last_epoch == -1:
            for lr, group in zip(lowest, optimizer.param_groups, strict=True):
                _set(group, "lr", lr)
        super().__init__(optimizer, last_epoch)
        self.base_lrs = lowest

    def scale_fn(self, x: float) -> float:
        """Return the amplitude's factor for the cycle (or iteration) ``x``."""
        if self._scale_fn_custom is not None:
            return self._scale_fn_custom(x)
        if self.mode == "exp_range":
            return self.gamma ** x
        return 1.0 if self.mode == "triangular" else 1 / 2.0 ** (x - 1)

    def get_lr(self) -> list:
        self._warn_if_asked()
        cycle = math.floor(1 + self.last_epoch / self.total_size)
        x = 1.0 + self.last_epoch / self.total_size - cycle
        height = x / self.step_ratio if x <= self.step_ratio else (x - 1) / (self.step_ratio - 1)
        scale = self.scale_fn(cycle if self.scale_mode == "cycle" else self.last_epoch)
        if self.cycle_momentum:
            for group, low, high in zip(self.optimizer.param_groups, self.base_momentums, self.max_momentums, strict=True):
                self._set_momentum(group, high - (high - low) * height * scale)
        return [low + (high - low) * height * scale for low, high in zip(self.base_lrs, self.max_lrs, strict=True)]

    def state_dict(self) -> dict[str, Any]:
        """Return all attributes but the optimizer; a callable object as scale_fn is represented by its attributes."""
        state, fn = super().state_dict(), self._scale_fn_custom
        plain = fn is None or isinstance(fn, types.FunctionType)
        return {**state, "_scale_fn_custom": None if plain else dict(fn.__dict__)}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Load the state of another scheduler."""
        super().load_state_dict({k: v for k, v in state_dict.items() if k != "_scale_fn_custom"})
        if state_dict["_scale_fn_custom"] is not None and self._scale_fn_custom is not None:
            self._scale_fn_custom.__dict__.update(state_dict["_scale_fn_custom"])


def _positive(name: str, value: Any) -> int:
    if not isinstance(value, int) or value <= 0:
        raise ValueError(f"Expected positive integer {name}, but got {value}")
    return value


class OneCycleLR(_MomentumScheduler):
    """Runs the rate through one cycle over the whole training (Smith and Topin 2017).

    See torch.optim.lr_scheduler.OneCycleLR.

    Args:
        optimizer (Optimizer): the optimizer whose groups' rates are set.
        max_lr (float, or one for each group): the largest rate.
        total_steps (int or None): the steps of the cycle; else ``epochs`` times ``steps_per_epoch``.
        epochs, steps_per_epoch (int or None): see above.
        pct_start (float): the fraction of the cycle in which the rate grows.
        anneal_strategy (str): "cos" or "linear".
        cycle_momentum (bool): whether the momentum cycles inversely, between ``max_momentum`` and ``base_momentum``.
        base_momentum, max_momentum (float, or one for each group): the limits of the momentum.
        div_factor, final_div_factor (float): ``max_lr / div_factor`` is the first rate, and that over
            ``final_div_factor`` the last.
        three_phase (bool): whether the rate first returns to the initial rate, and then falls to the final one.
        last_epoch (int): the last step, to resume after it; -1 starts.

    Raises:
        ValueError: neither ``total_steps`` nor both others, numbers outside of their range, an unknown strategy, or
            more steps than the cycle has.
        TypeError: ``optimizer`` is no Optimizer.

    Source: Smith and Topin 2017, arXiv:1708.07120.

    Example::

        >>> opt = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=1.0)
        >>> scheduler = torch.optim.lr_scheduler.OneCycleLR(opt, max_lr=1.0, total_steps=4, pct_start=0.5,
        ...                                                 cycle_momentum=False, anneal_strategy="linear")
        >>> rates = []
        >>> for epoch in range(3):
        ...     rates.append(round(scheduler.get_last_lr()[0], 4))
        ...     opt.step()
        ...     scheduler.step()
        >>> rates
        [0.04, 1.0, 0.5]

    """

    def __init__(self, optimizer: Optimizer, max_lr: Any, total_steps: int | None = None, epochs: int | None = None,
                 steps_per_epoch: int | None = None, pct_start: float = 0.3, anneal_strategy: str = "cos",
                 cycle_momentum: bool = True, base_momentum: Any = 0.85, max_momentum: Any = 0.95, div_factor: float = 25.0,
                 final_div_factor: float = 1e4, three_phase: bool = False, last_epoch: int = -1):
        _check_optimizer(optimizer)
        if total_steps is None and (epochs is None or steps_per_epoch is None):
            raise ValueError("You must define either total_steps OR (epochs AND steps_per_epoch)")
        self.total_steps: int = _positive("total_steps", total_steps) if total_steps is not None else (
            _positive("epochs", epochs) * _positive("steps_per_epoch", steps_per_epoch))
        if pct_start < 0 or pct_start > 1 or not isinstance(pct_start, float):
            raise ValueError(f"Expected float between 0 and 1 pct_start, but got {pct_start}")
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}")
        self._anneal_func_type, self.cycle_momentum = anneal_strategy, cycle_momentum
        self._schedule_phases = _phases(self.total_steps, pct_start, three_phase)
        highest = _per_group(optimizer, max_lr, "max_lr")
        if cycle_momentum:
            _check_momentum(optimizer)
            self._start_momentum(optimizer, _per_group(optimizer, base_momentum, "base_momentum"),
                                 _per_group(optimizer, max_momentum, "max_momentum"), last_epoch)
        for group, lr in zip(optimizer.param_groups, highest, strict=True):
            if last_epoch == -1:
                group.update(initial_lr=lr / div_factor, max_lr=lr, min_lr=lr / div_factor / final_div_factor)
        super().__init__(optimizer, last_epoch)

    def _between(self, start: float, end: float, done: float) -> float:
        if self._anneal_func_type == "linear":
            return (end - start) * done + start
        return end + (start - end) / 2.0 * (math.cos(math.pi * done) + 1)

    def get_lr(self) -> list:
        self._warn_if_asked()
        if self.last_epoch > self.total_steps:
            raise ValueError(f"Tried to step {self.last_epoch} times. The specified number of total steps is {self.total_steps}")
        ends = [phase["end_step"] for phase in self._schedule_phases]
        at = next((i for i, end in enumerate(ends) if self.last_epoch <= end), len(ends) - 1)
        first, phase = ends[at - 1] if at else 0.0, self._schedule_phases[at]
        done = (self.last_epoch - first) / (ends[at] - first)
        for group in self.optimizer.param_groups if self.cycle_momentum else ():
            self._set_momentum(group, self._between(group[phase["start_momentum"]], group[phase["end_momentum"]], done))
        return [self._between(g[phase["start_lr"]], g[phase["end_lr"]], done) for g in self.optimizer.param_groups]


def _phases(steps: int, start: float, three: bool) -> list[dict[str, Any]]:
    ends = [start * steps - 1, *((2 * start * steps - 2,) if three else ()), steps - 1]
    lrs = ["initial_lr", "max_lr", *(("initial_lr",) if three else ()), "min_lr"]
    momenta = ["max_momentum", "base_momentum", "max_momentum", *(("max_momentum",) if three else ())]
    return [{"end_step": end, "start_lr": lrs[i], "end_lr": lrs[i + 1], "start_momentum": momenta[i],
             "end_momentum": momenta[i + 1]} for i, end in enumerate(ends)]


class _Composed(LRScheduler):
    """A scheduler composed of others."""

    _hidden = ("optimizer", "_schedulers")
    _schedulers: list

    def _check(self, schedulers: Sequence, optimizer: Optimizer) -> None:
        name = type(self).__name__
        for i, s in enumerate(schedulers):
            if not hasattr(s, "optimizer"):
                raise TypeError(f"{name} at index {i} should have `optimizer` as its attribute.")
            if isinstance(s, ReduceLROnPlateau):
                raise ValueError(f"{name} does not support `ReduceLROnPlateau` scheduler as it requires additional kwargs to be "
                                 f"specified when calling `step`, but got one at index {i} in the given schedulers sequence.")
            if s.optimizer is not optimizer:
                raise ValueError(f"{name} expects all schedulers to belong to the same optimizer, but got scheduler "
                                 f"{type(s).__name__} at index {i} has {s.optimizer}, which is different from "
                                 f"{type(optimizer).__name__}.")

    def state_dict(self) -> dict[str, Any]:
        """Return all attributes but the optimizer, with the schedulers' states."""
        return {**super().state_dict(), "_schedulers": [s.state_dict() for s in self._schedulers]}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Load the state of another scheduler."""
        super().load_state_dict({k: v for k, v in state_dict.items() if k != "_schedulers"})
        for s, state in zip(self._schedulers, state_dict["_schedulers"], strict=True):
            s.load_state_dict(state)


class SequentialLR(_Composed):
    """Runs schedulers one after another. See torch.optim.lr_scheduler.SequentialLR.

    Args:
        optimizer (Optimizer): the optimizer whose groups' rates are set.
        schedulers (list of LRSchedulers): in the order of their use.
        milestones (list of ints): the epochs at which the next scheduler starts, one fewer than schedulers.
        last_epoch (int): the last epoch, to resume after it; -1 starts, and stores each group's ``initial_lr``.

    Raises:
        ValueError: no schedulers, schedulers of another optimizer, or a number of milestones that does not fit.

    Example::

        >>> opt = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=1.0)
        >>> from jtorch.optim.lr_scheduler import ConstantLR, ExponentialLR
        >>> parts = [ConstantLR(opt, 0.1, total_iters=2), ExponentialLR(opt, 0.5)]
        >>> scheduler = torch.optim.lr_scheduler.SequentialLR(opt, parts, milestones=[2])
        >>> rates = []
        >>> for epoch in range(4):
        ...     rates.append(round(scheduler.get_last_lr()[0], 4))
        ...     opt.step()
        ...     scheduler.step()
        >>> rates
        [0.1, 0.1, 1.0, 0.5]

    """

    def __init__(self, optimizer: Optimizer, schedulers: list[LRScheduler], milestones: list[int], last_epoch: int = -1):
        if len(schedulers) < 1:
            raise ValueError(f"{type(self).__name__} expects at least one scheduler, but got no scheduler.")
        self._check(schedulers, optimizer)
        if len(milestones) != len(schedulers) - 1:
            raise ValueError("Sequential Schedulers expects number of schedulers provided to be one more than the number of "
                             f"milestone points, but got number of schedulers {len(schedulers)} and the number of milestones to "
                             f"be equal to {len(milestones)}")
        self._schedulers, self._milestones, self.last_epoch, self.optimizer = schedulers, milestones, last_epoch + 1, optimizer
        for group in optimizer.param_groups:
            _set(group, "lr", group["initial_lr"])
        _undo(self)
        first = schedulers[bisect_right(milestones, 0)]
        first._initial_step()
        self._last_lr = first.get_last_lr()

    def step(self) -> None:     # type: ignore[override]
        """Step the current scheduler."""
        self.last_epoch += 1
        at = bisect_right(self._milestones, self.last_epoch)
        current = self._schedulers[at]
        if at > 0 and self._milestones[at - 1] == self.last_epoch:
            current._update_lr(0)
        else:
            current.step()
        self._last_lr = current.get_last_lr()


def _undo(scheduler: Any) -> None:
    """Undo the first step of a composed scheduler's parts."""
    if hasattr(scheduler, "_schedulers"):
        for s in scheduler._schedulers:
            _undo(s)
    elif hasattr(scheduler, "last_epoch"):
        scheduler.last_epoch -= 1


class ChainedScheduler(_Composed):
    """Steps several schedulers together. See torch.optim.lr_scheduler.ChainedScheduler.

    Args:
        schedulers (sequence of LRSchedulers): schedulers of one optimizer, in the order in which they step.
        optimizer (Optimizer or None): the schedulers' optimizer, if given.

    Raises:
        ValueError: no schedulers, schedulers of several optimizers, or one whose ``step`` takes a metric.

    Example::

        >>> opt = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=1.0)
        >>> from jtorch.optim.lr_scheduler import ConstantLR, ExponentialLR
        >>> parts = [ExponentialLR(opt, 0.5), ConstantLR(opt, 0.5, total_iters=1)]
        >>> scheduler = torch.optim.lr_scheduler.ChainedScheduler(parts)
        >>> opt.step()
        >>> scheduler.step()
        >>> scheduler.get_last_lr()
        [0.5]

    """

    def __init__(self, schedulers: Sequence[LRScheduler], optimizer: Optimizer | None = None):
        if len(schedulers) < 1:
            raise ValueError(f"{type(self).__name__} expects at least one scheduler to be chained, but got no scheduler.")
        optimizer = optimizer or schedulers[0].optimizer
        self._check(schedulers, optimizer)
        self._schedulers, self.optimizer = list(schedulers), optimizer
        self._last_lr = self._lrs()

    def step(self) -> None:     # type: ignore[override]
        """Step each scheduler."""
        for s in self._schedulers:
            s.step()
        self._last_lr = self._lrs()
