"""torch.distributed.algorithms.model_averaging.averagers: parameters become their mean every few steps."""
from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any

from jtorch._base import warned
from jtorch.distributed.algorithms.model_averaging.utils import average_parameters_or_parameter_groups
from jtorch.distributed.membership import _group_or_default

__all__ = ["ModelAverager", "PeriodicModelAverager"]


class ModelAverager(ABC):
    """What averages parameters, and counts steps."""

    def __init__(self, process_group: Any = None):
        self.process_group = _group_or_default(process_group)
        self.step = 0

    @abstractmethod
    def average_parameters(self, params: Iterable[Any]) -> None:
        """A step: averages parameters if it is time."""


def check_warmup(steps: int) -> None:
    """ValueError for fewer than no steps."""
    if steps < 0:
        raise ValueError("Arg ``warmup_steps`` must be a non-negative number.")


def warn_of_no_gain(period: str) -> None:
    """Warns that parameters are averaged in each step, by the argument of this name."""
    warned.warn(f"When {period} is 1, no need to use model averaging because the communication cost of all-reducing parameters "
                "will be no less than the cost of all-reducing gradients by DistributedDataParallel in the backward pass. "
                "Therefore, only DistributedDataParallel should be used for this case.")


class PeriodicModelAverager(ModelAverager):
    """Averages parameters every ``period`` steps, from step ``warmup_steps`` on. See PyTorch's class of this name.

    Raises:
        ValueError: fewer than no steps to begin with, or a period below 1.

    """

    def __init__(self, period: int, warmup_steps: int = 0, process_group: Any = None):
        super().__init__(process_group)
        check_warmup(warmup_steps)
        if period < 1:
            raise ValueError("Arg ``period`` must be a positive value.")
        if period == 1:
            warn_of_no_gain("period")
        self.warmup_steps, self.period = warmup_steps, period

    def average_parameters(self, params: Iterable[Any]) -> None:
        """A step: averages parameters if it is time."""
        since = self.step - self.warmup_steps
        if since >= 0 and since % self.period == 0:
            average_parameters_or_parameter_groups(params, self.process_group)
        self.step += 1
