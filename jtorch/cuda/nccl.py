"""torch.cuda.nccl: NCCL, the library for communication between GPUs. Only XLA calls its functions."""
from __future__ import annotations

from collections.abc import Iterable
from importlib import metadata
from typing import Any

from jtorch._base.refused import refused

__all__ = ["all_gather", "all_reduce", "broadcast", "init_rank", "reduce", "reduce_scatter", "unique_id", "version"]
_PACKAGES = ("nvidia-nccl-cu13", "nvidia-nccl-cu12")


def version() -> tuple[int, ...]:
    """Return the version of the NCCL package that JAX uses. See torch.cuda.nccl.version."""
    for name in _PACKAGES:
        try:
            return tuple(int(part) for part in metadata.version(name).split(".")[:3])
        except metadata.PackageNotFoundError:
            continue
    raise NotImplementedError("torch.cuda.nccl.version: no package of NCCL is installed, so its version is not known")


def is_available(tensors: Iterable[Any]) -> bool:
    """Return False: NCCL's functions do not take tensors. See torch.cuda.nccl.is_available."""
    return False


_INSTEAD = "torch.distributed's collectives do the same"
all_reduce = refused("cuda.nccl.all_reduce", _INSTEAD)
all_gather = refused("cuda.nccl.all_gather", _INSTEAD)
reduce = refused("cuda.nccl.reduce", _INSTEAD)
reduce_scatter = refused("cuda.nccl.reduce_scatter", _INSTEAD)
broadcast = refused("cuda.nccl.broadcast", _INSTEAD)
init_rank = refused("cuda.nccl.init_rank", "torch.distributed.init_process_group joins processes")
unique_id = refused("cuda.nccl.unique_id", "torch.distributed.init_process_group joins processes")
