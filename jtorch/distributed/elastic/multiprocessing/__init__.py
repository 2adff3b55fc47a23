"""torch.distributed.elastic.multiprocessing: names of PyTorch's process monitor; torch.distributed.run starts processes."""
from __future__ import annotations

from enum import IntFlag

from jtorch.distributed.lazy_exports import lazy_getattr

__getattr__ = lazy_getattr(__name__, {}, not_built="DefaultLogsSpecs LogsDest LogsSpecs PContext RunProcsResult start_processes")


class Std(IntFlag):
    """The streams of a process, as flags. See torch.distributed.elastic.multiprocessing.Std."""

    NONE = 0
    OUT = 1
    ERR = 2
    ALL = 3

    @classmethod
    def from_str(cls, vm: str) -> Std | dict[int, Std]:
        """Return the streams that a number such as "1" names, or a dict of ranks for a text such as "0:3,1:0"."""
        if ":" not in vm:
            return cls(int(vm))
        return {int(rank): cls(int(streams)) for rank, streams in (part.split(":") for part in vm.split(","))}
