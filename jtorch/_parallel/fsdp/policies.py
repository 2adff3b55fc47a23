"""What fully_shard can be told. See torch.distributed.fsdp."""
from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class MixedPrecisionPolicy:
    """In which dtypes parameters are gathered, gradients reduced and outputs given.

    See torch.distributed.fsdp.MixedPrecisionPolicy.
    """

    param_dtype: Any = None
    reduce_dtype: Any = None
    output_dtype: Any = None
    cast_forward_inputs: bool = True


@dataclass
class OffloadPolicy:
    """Nothing is moved elsewhere. See torch.distributed.fsdp.OffloadPolicy."""


@dataclass
class CPUOffloadPolicy(OffloadPolicy):
    """Parts lie on the CPU, where everything is. See torch.distributed.fsdp.CPUOffloadPolicy."""

    pin_memory: bool = True
