"""Join contexts for ranks with different numbers of batches: ranks without inputs shadow the collectives of the others."""
from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, NamedTuple

from jtorch._api.functions import ones, zeros
from jtorch._base import warned
from jtorch.distributed.collectives import all_reduce
from jtorch.distributed.work import Work
from jtorch.tensor import Tensor

_EARLY = "Detected at least one rank that exhausted inputs. Throwing across all ranks."
_MANY = 1000


class JoinHook:
    """The calls of a rank that has no inputs left. See torch.distributed.algorithms.JoinHook."""

    def main_hook(self) -> None:
        """Take part in the collectives of one iteration of the others."""

    def post_hook(self, is_last_joiner: bool) -> None:
        """Run once all ranks have no more inputs."""


class _JoinConfig(NamedTuple):
    enable: bool = False
    throw_on_early_termination: bool = False
    is_first_joinable: bool = False

    @staticmethod
    def construct_disabled_join_config() -> _JoinConfig:
        """Return the configuration outside any ``Join``."""
        return _JoinConfig()


class Joinable(ABC):
    """A class that can be trained with uneven inputs. See torch.distributed.algorithms.Joinable."""

    @abstractmethod
    def __init__(self) -> None:
        super().__init__()
        self._join_config = _JoinConfig()

    @abstractmethod
    def join_hook(self, **kwargs: Any) -> JoinHook:
        """Return the hook that runs once this rank has no inputs left."""

    @property
    @abstractmethod
    def join_process_group(self) -> Any:
        """The process group whose ranks join."""


class Join:
    """A context in which ranks may have different numbers of inputs. See torch.distributed.algorithms.Join.

    Args:
        joinables: the participants, such as a DistributedDataParallel.
        enable: False if all ranks have the same number of inputs.
        throw_on_early_termination: whether all ranks raise once one has no inputs left.
        kwargs: arguments for each participant's ``join_hook``.

    Raises:
        ValueError: no joinables, or joinables of different groups.

    """

    def __init__(self, joinables: list, enable: bool = True, throw_on_early_termination: bool = False, **kwargs: Any):
        if not joinables:
            raise ValueError("The join context manager requires at least one joinable")
        groups = {id(j.join_process_group): j.join_process_group for j in joinables}
        if len(groups) > 1:
            raise ValueError("Using join context manager with multiple process groups")
        self._joinables, self._enable, self._throws = joinables, enable, throw_on_early_termination
        self._group = next(iter(groups.values()))
        self._hooks = [j.join_hook(**kwargs) for j in joinables]

    def __enter__(self) -> None:
        for i, joinable in enumerate(self._joinables):
            joinable._join_config = _JoinConfig(self._enable, self._throws, i == 0)

    def __exit__(self, kind: Any, value: Any, trace: Any) -> None:
        if not self._enable or kind is not None:
            return
        rounds = 0
        while self._others():
            if self._throws:
                all_reduce(ones(1, device=self._group.place), group=self._group)
                raise RuntimeError(f"Rank {self._group.rank()} exhausted all inputs.")
            if rounds == _MANY:
                warned.warn(f"Detected uneven input skew of greater than {_MANY}. This means that rank {self._group.rank()} "
                            f"has at least {_MANY} fewer inputs than other currently-active ranks. This level of skew could "
                            "lead to performance degradation during training.")
            for hook in self._hooks:
                hook.main_hook()
            rounds += 1
        for hook in self._hooks:
            hook.post_hook(rounds == 0)

    def _others(self) -> int:
        """Return the number of ranks that still have inputs."""
        count = zeros(1, device=self._group.place)
        all_reduce(count, group=self._group)
        return int(count.item())

    @staticmethod
    def notify_join_context(joinable: Any) -> Work | None:
        """Tell the ranks without inputs that this rank begins an iteration; only the first joinable sends this."""
        config = getattr(joinable, "_join_config", None)
        if config is None or not (config.enable and config.is_first_joinable):
            return None
        _tell(joinable.join_process_group, config.throw_on_early_termination)
        return None


def _tell(group: Any, throws: bool) -> int:
    """Announce an iteration of this rank, and return how many ranks take part."""
    count: Tensor = ones(1, device=group.place)
    all_reduce(count, group=group)
    active = int(count.item())
    if throws and active < group.size():
        ended = zeros(1, device=group.place)
        all_reduce(ended, group=group)
        raise RuntimeError(_EARLY)
    return active
