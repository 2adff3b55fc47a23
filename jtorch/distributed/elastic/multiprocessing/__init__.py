"""torch.distributed.elastic.multiprocessing: processes that are watched. torch.distributed.run starts them."""
from __future__ import annotations

from enum import IntFlag

from jtorch.distributed.lazy_exports import lazy_getattr

__getattr__ = lazy_getattr(__name__, {}, not_built="DefaultLogsSpecs LogsDest LogsSpecs PContext RunProcsResult start_processes")


class Std(IntFlag):
    """Which streams of a process are meant. See torch.distributed.elastic.multiprocessing.Std."""

    NONE = 0
    OUT = 1
    ERR = 2
    ALL = 3

    @classmethod
    def from_str(cls, vm: str) -> Std | dict[int, Std]:
        """Return the streams that "1" says, or those of each process that "0:3,1:0" says."""
        if ":" not in vm:
            return cls(int(vm))
        return {int(rank): cls(int(streams)) for rank, streams in (part.split(":") for part in vm.split(","))}
