"""torch.distributed.algorithms.model_averaging.averagers: average parameters every few steps."""
from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any

from jtorch._base import warned
from jtorch.distributed.algorithms.model_averaging.utils import average_parameters_or_parameter_groups
from jtorch.distributed.membership import _group_or_default

__all__ = ["ModelAverager", "PeriodicModelAverager"]


class ModelAverager(ABC):
    """The base class of averagers, which counts steps and averages parameters."""

    def __init__(self, process_group: Any = None):
        self.process_group = _group_or_default(process_group)
        self.step = 0

    @abstractmethod
    def average_parameters(self, params: Iterable[Any]) -> None:
        """Count a step, and average the parameters if they are due."""


def check_warmup(steps: int) -> None:
    """Raise ValueError for a negative number of steps."""
    if steps < 0:
        raise ValueError("Arg ``warmup_steps`` must be a non-negative number.")


def warn_of_no_gain(period: str) -> None:
    """Warn that the argument ``period`` makes each step average parameters, which gains nothing."""
    warned.warn(f"When {period} is 1, no need to use model averaging because the communication cost of all-reducing parameters "
                "will be no less than the cost of all-reducing gradients by DistributedDataParallel in the backward pass. "
                "Therefore, only DistributedDataParallel should be used for this case.")


class PeriodicModelAverager(ModelAverager):
    """Averages parameters every ``period`` steps, beginning with step ``warmup_steps``. See PyTorch's class of this name.

    Args:
        period: the number of steps between two averages.
        warmup_steps: the number of steps before the first average.
        process_group: the ranks; all, if None.

    Raises:
        ValueError: a negative ``warmup_steps``, or a period below 1.

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
        """Count a step, and average the parameters if they are due."""
        since = self.step - self.warmup_steps
        if since >= 0 and since % self.period == 0:
            average_parameters_or_parameter_groups(params, self.process_group)
        self.step += 1
