"""What the methods of a ProcessGroup take beside tensors. See torch.distributed.AllreduceOptions and its kin."""
from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from jtorch.distributed.reductions import ReduceOp

_NOT_SET = timedelta(milliseconds=-1)


@dataclass
class AllgatherOptions:
    """Of all-gathers."""

    timeout: timedelta = _NOT_SET
    asyncOp: bool = True


class AllToAllOptions(AllgatherOptions):
    """Of all-to-alls."""


@dataclass
class AllreduceOptions(AllgatherOptions):
    """Of all-reduces."""

    reduceOp: Any = ReduceOp.SUM


class AllreduceCoalescedOptions(AllreduceOptions):
    """Of all-reduces of several tensors."""


class ReduceScatterOptions(AllreduceOptions):
    """Of reduce-scatters."""


@dataclass
class GatherOptions(AllgatherOptions):
    """Of gathers: ``rootRank`` is a place in the group."""

    rootRank: int = 0


class ScatterOptions(GatherOptions):
    """Of scatters."""


@dataclass
class BroadcastOptions(GatherOptions):
    """Of broadcasts."""

    rootTensor: int = 0


@dataclass
class ReduceOptions(BroadcastOptions):
    """Of reductions to one rank."""

    reduceOp: Any = ReduceOp.SUM


@dataclass
class BarrierOptions(AllgatherOptions):
    """Of barriers."""

    device_ids: list[int] = field(default_factory=list)
    device: Any = None
