"""torch.distributed.algorithms.model_averaging.hierarchical_model_averager: average often in small groups, rarely in large
ones.

Source: Lin and others, "Don't use large mini-batches, use local SGD", 2018; Wang and Joshi, "Cooperative SGD", 2018.
"""
from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from jtorch.distributed.algorithms.model_averaging.averagers import ModelAverager, check_warmup, warn_of_no_gain
from jtorch.distributed.algorithms.model_averaging.utils import average_parameters_or_parameter_groups
from jtorch.distributed.membership import new_subgroups

__all__ = ["HierarchicalModelAverager"]


class HierarchicalModelAverager(ModelAverager):
    """Averages parameters in the group of the longest period that divides the step.

    Args:
        period_group_size_dict: maps each period, in steps, to a group size. Both rise, and the last size is that of
            ``process_group``.
        warmup_steps: the number of steps before the first average.
        process_group: all ranks that have the model; all ranks of the job, if None.

    Raises:
        ValueError: no periods, a period below 1, a wrong last size, or a negative ``warmup_steps``.

    """

    def __init__(self, period_group_size_dict: dict[int, int] | None = None, warmup_steps: int = 0, process_group: Any = None):
        super().__init__(process_group)
        if not period_group_size_dict:
            raise ValueError("Arg ``period_group_size_dict`` must not be empty.")
        periods, sizes, whole = list(period_group_size_dict), list(period_group_size_dict.values()), self.process_group.size()
        if periods[0] <= 0:
            raise ValueError("The minimum period in arg ``period_group_size_dict`` must be a positive value.")
        if periods[-1] == 1:
            warn_of_no_gain("the maximum period in arg ``period_group_size_dict``")
        if sizes[-1] != whole:
            raise ValueError(f"The last value in arg ``period_group_size_dict`` {sizes[-1]} must be equal to the size of arg "
                             f"``process_group`` {whole}.")
        self.period_process_group_dict = {
            period: self.process_group if size == whole else new_subgroups(size, self.process_group)[0]
            for period, size in period_group_size_dict.items()}
        check_warmup(warmup_steps)
        self.warmup_steps, self._periods = warmup_steps, periods

    def _find_process_group(self) -> Any:
        """Return the group that averages at this step; None if no period divides the step."""
        period = next((p for p in reversed(self._periods) if self.step % p == 0), None)
        return None if period is None else self.period_process_group_dict[period]

    def average_parameters(self, params: Iterable[Any]) -> None:
        """Count a step, and average the parameters if they are due."""
        group = self._find_process_group() if self.step >= self.warmup_steps else None
        if group is not None:
            average_parameters_or_parameter_groups(params, group)
        self.step += 1
