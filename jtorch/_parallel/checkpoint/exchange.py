"""The exchange between ranks of what they are about to write, and of their errors."""
from __future__ import annotations

import pickle
import traceback
from collections.abc import Callable
from typing import Any

import jtorch.distributed as dist


class CheckpointException(BaseException):
    """Raised on all ranks if some could not save or load; ``failures`` holds their exceptions.

    See torch.distributed.checkpoint.CheckpointException.
    """

    def __init__(self, msg: str, failures: dict[int, Any]):
        super().__init__(msg, failures)
        self._failures = failures

    @property
    def failures(self) -> dict[int, Any]:
        """The exceptions, by rank."""
        return self._failures

    def __str__(self) -> str:
        parts = ["".join([f"Traceback (most recent call last): (RANK {rank})\n", *trace, *traceback.format_exception_only(error)])
                 for rank, (error, trace) in self._failures.items()]
        return f"CheckpointException ranks:{self._failures.keys()}\n{''.join(parts)}"


class Alone:
    """The exchange of one process with itself."""

    rank, size = 0, 1

    def gather(self, obj: Any) -> list[Any]:
        """Return a list of this process's object."""
        return [obj]


class Together:
    """The exchange of a group's ranks by a collective."""

    def __init__(self, group: Any):
        self.group = dist._get_default_group() if group is None else group
        self.rank, self.size = self.group.rank(), self.group.size()

    def gather(self, obj: Any) -> list[Any]:
        """Return the objects of all ranks."""
        found: list[Any] = [None] * self.size
        dist.all_gather_object(found, obj, self.group)
        return found


_count = [0]


class ByStore(Together):
    """The exchange of a group's ranks by the job's store, which does not interfere with collectives of another thread."""

    def __init__(self, group: Any):
        super().__init__(group)
        _count[0] += 1
        self.prefix, self.step = f"checkpoint {_count[0]}", 0

    def gather(self, obj: Any) -> list[Any]:
        """Return the objects of all ranks."""
        store, self.step = self.group.store, self.step + 1
        keys = [f"{self.prefix}/{self.step}/{rank}" for rank in range(self.size)]
        store.set(keys[self.rank], pickle.dumps(obj))
        # A pickle can run any code, so all processes that can write to the job's store are trusted.
        return [pickle.loads(store.get(key)) for key in keys]


def done_by_all(ranks: Any, step: str, do: Callable[[], Any]) -> list[Any]:
    """Return the results of ``do`` on all ranks; CheckpointException on all, if it raises on one."""
    try:
        mine: Any = (do(), None)
    except Exception as error:      # noqa: BLE001  (all ranks get the error)
        mine = (None, (_plain(error), traceback.format_tb(error.__traceback__)))
    found = ranks.gather(mine)
    failures = {rank: failure for rank, (_, failure) in enumerate(found) if failure is not None}
    if failures:
        raise CheckpointException(step, failures)
    return [result for result, _ in found]


def _plain(error: Exception) -> Exception:
    """Return the error, or a RuntimeError of the same text if the error cannot be pickled."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:      # noqa: BLE001  (an error's class decides what its pickling raises)
        return RuntimeError(f"{type(error).__name__}: {error}")
    return error
