"""Options of the methods of a ProcessGroup. See torch.distributed.AllreduceOptions."""
from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from jtorch.distributed.reductions import ReduceOp

_NOT_SET = timedelta(milliseconds=-1)


@dataclass
class AllgatherOptions:
    """Options of all-gathers."""

    timeout: timedelta = _NOT_SET
    asyncOp: bool = True


class AllToAllOptions(AllgatherOptions):
    """Options of all-to-alls."""


@dataclass
class AllreduceOptions(AllgatherOptions):
    """Options of all-reduces."""

    reduceOp: Any = ReduceOp.SUM


class AllreduceCoalescedOptions(AllreduceOptions):
    """Options of all-reduces of several tensors."""


class ReduceScatterOptions(AllreduceOptions):
    """Options of reduce-scatters."""


@dataclass
class GatherOptions(AllgatherOptions):
    """Options of gathers; ``rootRank`` is a group rank."""

    rootRank: int = 0


class ScatterOptions(GatherOptions):
    """Options of scatters."""


@dataclass
class BroadcastOptions(GatherOptions):
    """Options of broadcasts."""

    rootTensor: int = 0


@dataclass
class ReduceOptions(BroadcastOptions):
    """Options of reductions to one rank."""

    reduceOp: Any = ReduceOp.SUM


@dataclass
class BarrierOptions(AllgatherOptions):
    """Options of barriers."""

    device_ids: list[int] = field(default_factory=list)
    device: Any = None
