"""Schedulers that set only the learning rate. ``jtorch._optimizers.lr_scheduler`` exports them."""
from __future__ import annotations

import math
import types
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

from jtorch._base import warned
from jtorch._optimizers.optimizer import Optimizer
from jtorch._optimizers.scheduler import EPOCH_DEPRECATION_WARNING, LRScheduler, _per_group, _set
from jtorch._optimizers.scheduler_docs import documented


@documented("lambda epoch: 1 / (epoch + 1)", rates=[1.0, 0.5, 0.3333])
class LambdaLR(LRScheduler):
    """Sets the initial rate times a function of the epoch. See torch.optim.lr_scheduler.LambdaLR.

    Args:
        lr_lambda: a function of the epoch (int) that returns a factor (float) of the initial rate, or a list of one
            for each group.

    """

    def __init__(self, optimizer: Optimizer, lr_lambda: Callable | list[Callable], last_epoch: int = -1):
        n = len(optimizer.param_groups)
        self.lr_lambdas = list(lr_lambda) if isinstance(lr_lambda, (list, tuple)) else [lr_lambda] * n
        if len(self.lr_lambdas) != n:
            raise ValueError(f"Expected {n} lr_lambdas, but got {len(self.lr_lambdas)}")
        super().__init__(optimizer, last_epoch)

    def state_dict(self) -> dict[str, Any]:
        """Return all attributes but the optimizer; callable objects are represented by their attributes."""
        state = {k: v for k, v in super().state_dict().items() if k != "lr_lambdas"}
        return {**state, "lr_lambdas": [None if isinstance(f, types.FunctionType) else dict(f.__dict__) for f in self.lr_lambdas]}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Load the state of another scheduler."""
        self.__dict__.update({k: v for k, v in state_dict.items() if k != "lr_lambdas"})
        for f, state in zip(self.lr_lambdas, state_dict["lr_lambdas"], strict=True):
            if state is not None:
                f.__dict__.update(state)

    def get_lr(self) -> list:
        self._warn_if_asked()
        return [base * f(self.last_epoch) for f, base in zip(self.lr_lambdas, self.base_lrs, strict=True)]


@documented("lambda epoch: 0.5", rates=[1.0, 0.5, 0.25])
class MultiplicativeLR(LambdaLR):
    """Multiplies the rate by a function of the epoch in each epoch. See torch.optim.lr_scheduler.MultiplicativeLR.

    Args:
        lr_lambda: a function of the epoch (int) that returns a factor (float) of the current rate, or a list of one
            for each group.

    """

    def get_lr(self) -> list:
        self._warn_if_asked()
        if self._is_initial:
            return self._lrs()
        return [g["lr"] * f(self.last_epoch) for f, g in zip(self.lr_lambdas, self.optimizer.param_groups, strict=True)]


@documented("step_size=2", rates=[1.0, 1.0, 0.1, 0.1, 0.01])
class StepLR(LRScheduler):
    """Multiplies the rate by gamma every ``step_size`` epochs. See torch.optim.lr_scheduler.StepLR.

    Args:
        step_size (int): the number of epochs between two changes.
        gamma (float): the factor of each change.

    """

    def __init__(self, optimizer: Optimizer, step_size: int, gamma: float = 0.1, last_epoch: int = -1):
        self.step_size, self.gamma = step_size, gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list:
        self._warn_if_asked()
        return self._lrs() if self.last_epoch == 0 or self.last_epoch % self.step_size else self._scaled(self.gamma)

    def _get_closed_form_lr(self) -> list:
        return [base * self.gamma ** (self.last_epoch // self.step_size) for base in self.base_lrs]


@documented("milestones=[1, 3]", rates=[1.0, 0.1, 0.1, 0.01, 0.01])
class MultiStepLR(LRScheduler):
    """Multiplies the rate by gamma at each milestone. See torch.optim.lr_scheduler.MultiStepLR.

    Args:
        milestones (iterable of ints): the epochs at which the rate changes; a repeated epoch counts each time.
        gamma (float): the factor of each change.

    """

    def __init__(self, optimizer: Optimizer, milestones: Iterable[int], gamma: float = 0.1, last_epoch: int = -1):
        self.milestones, self.gamma = Counter(milestones), gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list:
        self._warn_if_asked()
        times = self.milestones[self.last_epoch] if self.last_epoch in self.milestones else 0
        return self._scaled(self.gamma ** times) if times else self._lrs()

    def _get_closed_form_lr(self) -> list:
        passed = bisect_right(sorted(self.milestones.elements()), self.last_epoch)
        return [base * self.gamma ** passed for base in self.base_lrs]


@documented("factor=0.5, total_iters=2", rates=[0.5, 0.5, 1.0, 1.0])
class ConstantLR(LRScheduler):
    """Multiplies the rate by a factor in the first epochs. See torch.optim.lr_scheduler.ConstantLR.

    Args:
        factor (float): the factor in the first ``total_iters`` epochs, from 0 to 1.
        total_iters (int): the number of epochs with the factor.

    Raises:
        ValueError: ``factor`` is not within 0 and 1.

    """

    def __init__(self, optimizer: Optimizer, factor: float = 1.0 / 3, total_iters: int = 5, last_epoch: int = -1):
        if factor > 1.0 or factor < 0:
            raise ValueError("Constant multiplicative factor expected to be between 0 and 1.")
        self.factor, self.total_iters = factor, total_iters
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list:
        self._warn_if_asked()
        if self.last_epoch == 0:
            return self._scaled(self.factor)
        return self._scaled(1.0 / self.factor) if self.last_epoch == self.total_iters else self._lrs()

    def _get_closed_form_lr(self) -> list:
        return [base * (self.factor if self.last_epoch < self.total_iters else 1) for base in self.base_lrs]


@documented("start_factor=0.5, total_iters=2", rates=[0.5, 0.75, 1.0, 1.0])
class LinearLR(LRScheduler):
    """Multiplies the rate by a factor that changes linearly. See torch.optim.lr_scheduler.LinearLR.

    Args:
        start_factor, end_factor (float): the factors in the first epoch, and from epoch ``total_iters`` on.
        total_iters (int): the number of epochs over which the factor changes.

    Raises:
        ValueError: ``start_factor`` is not above 0 and at most 1, or ``end_factor`` not within 0 and 1.

    """

    def __init__(self, optimizer: Optimizer, start_factor: float = 1.0 / 3, end_factor: float = 1.0, total_iters: int = 5,
                 last_epoch: int = -1):
        if start_factor > 1.0 or start_factor <= 0:
            raise ValueError("Starting multiplicative factor expected to be greater than 0 and less or equal to 1.")
        if end_factor > 1.0 or end_factor < 0:
            raise ValueError("Ending multiplicative factor expected to be between 0 and 1.")
        self.start_factor, self.end_factor, self.total_iters = start_factor, end_factor, total_iters
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list:
        self._warn_if_asked()
        if self.last_epoch == 0:
            return self._scaled(self.start_factor)
        if self._is_initial or self.last_epoch > self.total_iters:
            return self._lrs()
        change = self.end_factor - self.start_factor
        return self._scaled(1.0 + change / (self.total_iters * self.start_factor + (self.last_epoch - 1) * change))

    def _get_closed_form_lr(self) -> list:
        done = min(self.total_iters, self.last_epoch) / self.total_iters
        return [base * (self.start_factor + (self.end_factor - self.start_factor) * done) for base in self.base_lrs]


@documented("gamma=0.5", rates=[1.0, 0.5, 0.25])
class ExponentialLR(LRScheduler):
    """Multiplies the rate by gamma in each epoch. See torch.optim.lr_scheduler.ExponentialLR.

    Args:
        gamma (float): the factor of each epoch.

    """

    def __init__(self, optimizer: Optimizer, gamma: float, last_epoch: int = -1):
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list:
        self._warn_if_asked()
        return self._lrs() if self._is_initial else self._scaled(self.gamma)

    def _get_closed_form_lr(self) -> list:
        return [base * self.gamma ** self.last_epoch for base in self.base_lrs]


@documented("total_iters=4", rates=[1.0, 0.75, 0.5, 0.25, 0.0])
class PolynomialLR(LRScheduler):
    """Lowers the rate to 0 by a polynomial. See torch.optim.lr_scheduler.PolynomialLR.

    Args:
        total_iters (int): the epochs until the rate is 0.
        power (float): the polynomial's exponent.

    """

    def __init__(self, optimizer: Optimizer, total_iters: int = 5, power: float = 1.0, last_epoch: int = -1):
        self.total_iters, self.power = total_iters, power
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list:
        self._warn_if_asked()
        if self._is_initial or self.last_epoch > self.total_iters:
            return self._lrs()
        left = 1.0 - self.last_epoch / self.total_iters
        return self._scaled((left / (1.0 - (self.last_epoch - 1) / self.total_iters)) ** self.power)

    def _get_closed_form_lr(self) -> list:
        left = 1.0 - min(self.total_iters, self.last_epoch) / self.total_iters
        return [base * left ** self.power for base in self.base_lrs]


@documented("T_max=2", rates=[1.0, 0.5, 0.0])
class CosineAnnealingLR(LRScheduler):
    """Lowers the rate to ``eta_min`` by half a cosine. See torch.optim.lr_scheduler.CosineAnnealingLR.

    Args:
        T_max (int): the epochs of half a period.
        eta_min (float): the smallest rate.

    Source: Loshchilov and Hutter 2017, arXiv:1608.03983, without the restarts.

    """

    def __init__(self, optimizer: Optimizer, T_max: int, eta_min: float = 0.0, last_epoch: int = -1):
        self.T_max, self.eta_min = T_max, eta_min
        super().__init__(optimizer, last_epoch)

    def _height(self, epoch: int) -> float:
        return 1 + math.cos(math.pi * epoch / self.T_max)

    def get_lr(self) -> list:
        self._warn_if_asked()
        if self._is_initial:
            return self._lrs()
        if self._step_count == 1 and self.last_epoch > 0:
            return self._get_closed_form_lr()
        groups = self.optimizer.param_groups
        if (self.last_epoch - 1 - self.T_max) % (2 * self.T_max) == 0:
            rise = (1 - math.cos(math.pi / self.T_max)) / 2
            return [g["lr"] + (base - self.eta_min) * rise for base, g in zip(self.base_lrs, groups, strict=True)]
        ratio = self._height(self.last_epoch) / self._height(self.last_epoch - 1)
        return [ratio * (g["lr"] - self.eta_min) + self.eta_min for g in groups]

    def _get_closed_form_lr(self) -> list:
        return [self.eta_min + (base - self.eta_min) * self._height(self.last_epoch) / 2 for base in self.base_lrs]


@documented("T_0=2", rates=[1.0, 0.5, 1.0, 0.5])
class CosineAnnealingWarmRestarts(LRScheduler):
    """Lowers the rate by half cosines of growing length, with restarts between them.

    See torch.optim.lr_scheduler.CosineAnnealingWarmRestarts.

    Args:
        T_0 (int): the epochs of the first cosine.
        T_mult (int): the factor by which each following cosine is longer.
        eta_min (float): the smallest rate.

    Raises:
        ValueError: ``T_0`` is no positive int, ``T_mult`` no int from 1 on, or ``eta_min`` no number.

    Source: Loshchilov and Hutter 2017, arXiv:1608.03983.

    """

    def __init__(self, optimizer: Optimizer, T_0: int, T_mult: int = 1, eta_min: float = 0.0, last_epoch: int = -1):
        if T_0 <= 0 or not isinstance(T_0, int):
            raise ValueError(f"Expected positive integer T_0, but got {T_0}")
        if T_mult < 1 or not isinstance(T_mult, int):
            raise ValueError(f"Expected integer T_mult >= 1, but got {T_mult}")
        if not isinstance(eta_min, (float, int)):
            raise ValueError(f"Expected float or int eta_min, but got {eta_min} of type {type(eta_min)}")
        self.T_0, self.T_i, self.T_mult, self.eta_min = T_0, T_0, T_mult, eta_min
        self.T_cur = last_epoch
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list:
        self._warn_if_asked()
        height = (1 + math.cos(math.pi * self.T_cur / self.T_i)) / 2
        return [self.eta_min + (base - self.eta_min) * height for base in self.base_lrs]

    def step(self, epoch: float | None = None) -> None:
        """Set the rates for the next epoch, or for ``epoch``, which can be a fraction."""
        if epoch is None and self.last_epoch >= 0:
            self.last_epoch, self.T_cur = self.last_epoch + 1, self.T_cur + 1
            if self.T_cur >= self.T_i:
                self.T_cur, self.T_i = self.T_cur % self.T_i, self.T_i * self.T_mult
        else:
            self._go_to(0 if epoch is None else epoch)
        self._get_lr_called_within_step = True
        values = self.get_lr()
        self._get_lr_called_within_step = False
        self._take(values)

    def _go_to(self, epoch: float) -> None:
        if epoch < 0:
            raise ValueError(f"Expected non-negative epoch, but got {epoch}")
        self.last_epoch = math.floor(epoch)
        if epoch < self.T_0:
            self.T_cur, self.T_i = epoch, self.T_0      # type: ignore[assignment]
        elif self.T_mult == 1:
            self.T_cur = epoch % self.T_0       # type: ignore[assignment]
        else:
            restarts = int(math.log(epoch / self.T_0 * (self.T_mult - 1) + 1, self.T_mult))
            self.T_i = self.T_0 * self.T_mult ** restarts
            self.T_cur = epoch - self.T_0 * (self.T_mult ** restarts - 1) / (self.T_mult - 1)       # type: ignore[assignment]


class ReduceLROnPlateau(LRScheduler):
    """Lowers the rate when a metric has stopped improving. See torch.optim.lr_scheduler.ReduceLROnPlateau.

    Args:
        optimizer (Optimizer): the optimizer whose groups' rates are set.
        mode (str): "min" if the metric should fall, "max" if it should grow.
        factor (float): the factor of each change, below 1.
        patience (int): the number of epochs without improvement before a change.
        threshold (float), threshold_mode (str): the smallest improvement that counts, relative ("rel") or absolute
            ("abs").
        cooldown (int): the number of epochs after a change in which bad epochs do not count.
        min_lr (float, or one for each group): the smallest rate.
        eps (float): the smallest change that is made.

    Raises:
        ValueError: ``factor`` is 1 or more, a mode is unknown, or ``min_lr`` has not one entry for each group.
        TypeError: ``optimizer`` is no Optimizer.

    Example::

        >>> opt = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=1.0)
        >>> scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(opt, patience=1)
        >>> for loss in (1.0, 1.0, 1.0):
        ...     opt.step()
        ...     scheduler.step(loss)
        >>> scheduler.get_last_lr()
        [0.1]

    """

    def __init__(self, optimizer: Optimizer, mode: str = "min", factor: float = 0.1, patience: int = 10, threshold: float = 1e-4,
                 threshold_mode: str = "rel", cooldown: int = 0, min_lr: Any = 0, eps: float = 1e-8):
        if factor >= 1.0:
            raise ValueError("Factor should be < 1.0.")
        if not isinstance(optimizer, Optimizer):
            raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")
        if mode not in {"min", "max"}:
            raise ValueError("mode " + mode + " is unknown!")
        if threshold_mode not in {"rel", "abs"}:
            raise ValueError("threshold mode " + threshold_mode + " is unknown!")
        self.optimizer, self.factor, self.patience, self.cooldown, self.eps = optimizer, factor, patience, cooldown, eps
        if isinstance(min_lr, (list, tuple)) and len(min_lr) != len(optimizer.param_groups):
            raise ValueError(f"expected {len(optimizer.param_groups)} min_lrs, got {len(min_lr)}")
        self.min_lrs = _per_group(optimizer, min_lr, "min_lr")
        self.default_min_lr = None if isinstance(min_lr, (list, tuple)) else min_lr
        self.mode, self.threshold, self.threshold_mode = mode, threshold, threshold_mode
        self.last_epoch, self._last_lr = 0, self._lrs()
        self._reset()

    def _reset(self) -> None:
        self.best = math.inf if self.mode == "min" else -math.inf
        self.cooldown_counter = self.num_bad_epochs = 0
        self.mode_worse = self.best

    def step(self, metrics: Any, epoch: int | None = None) -> None:     # type: ignore[override]
        """Record an epoch's metric, and lower the rates if it has not improved for more than ``patience`` epochs."""
        current = float(metrics)
        if epoch is not None:
            warned.warn(EPOCH_DEPRECATION_WARNING)
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        better = self._is_better(current, self.best)
        self.best = current if better else self.best
        self.num_bad_epochs = 0 if better else self.num_bad_epochs + 1
        if self.in_cooldown:
            self.cooldown_counter, self.num_bad_epochs = self.cooldown_counter - 1, 0
        if self.num_bad_epochs > self.patience:
            self._reduce_lr()
            self.cooldown_counter, self.num_bad_epochs = self.cooldown, 0
        self._last_lr = self._lrs()

    def _fit_min_lrs(self) -> None:
        """Extend the minimum rates to groups that were added since."""
        n = len(self.optimizer.param_groups)
        if n == len(self.min_lrs):
            return
        if self.default_min_lr is None:
            raise RuntimeError(f"The number of param groups in the `optimizer` ({n}) differs from when `ReduceLROnPlateau` was "
                               f"initialized ({len(self.min_lrs)}), usually due to a new param group being added to the "
                               "optimizer. Please modify the `min_lrs` field to match the length of the `optimizer` param "
                               "groups.")
        self.min_lrs = [self.default_min_lr] * n

    def _reduce_lr(self) -> None:
        self._fit_min_lrs()
        for group, least in zip(self.optimizer.param_groups, self.min_lrs, strict=True):
            old = float(group["lr"])
            new = max(old * self.factor, least)
            if old - new > self.eps:
                _set(group, "lr", new)

    @property
    def in_cooldown(self) -> bool:
        """Return whether the rates were lowered less than ``cooldown`` epochs ago."""
        return self.cooldown_counter > 0

    def _is_better(self, a: float, best: float) -> bool:
        sign = -1 if self.mode == "min" else 1
        margin = self.threshold if self.threshold_mode == "abs" else None
        edge = best + sign * margin if margin is not None else best * (1 + sign * self.threshold)
        return sign * a > sign * edge
