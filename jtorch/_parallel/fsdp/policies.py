"""The policies of fully_shard. See torch.distributed.fsdp."""
from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class MixedPrecisionPolicy:
    """The dtypes of gathered parameters, of the reduction of gradients, and of outputs.

    See torch.distributed.fsdp.MixedPrecisionPolicy.
    """

    param_dtype: Any = None
    reduce_dtype: Any = None
    output_dtype: Any = None
    cast_forward_inputs: bool = True


@dataclass
class OffloadPolicy:
    """A policy that offloads nothing. See torch.distributed.fsdp.OffloadPolicy."""


@dataclass
class CPUOffloadPolicy(OffloadPolicy):
    """A policy that keeps shards on the CPU. It is built only for meshes of CPUs, where it changes nothing.

    See torch.distributed.fsdp.CPUOffloadPolicy.
    """

    pin_memory: bool = True
