"""Private names of torch.distributed.distributed_c10d that packages use: the table of groups, and objects as tensors."""
from __future__ import annotations

import io
import pickle
from typing import Any

import numpy as np

from jtorch._api.creation import tensor
from jtorch._base.refused import refused
from jtorch.distributed import membership
from jtorch.distributed.collectives import broadcast
from jtorch.distributed.groups import ProcessGroup, World
from jtorch.distributed.store import Store
from jtorch.tensor import Tensor

_new_process_group_helper = refused("distributed.distributed_c10d._new_process_group_helper",
                                    "torch.distributed.new_group makes groups")
split_group = refused("distributed.split_group", "torch.distributed.new_group makes groups")


class _World:
    """The groups of the job that this process has joined; empty before that."""

    @property
    def default_pg(self) -> ProcessGroup | None:
        """The group of all ranks; None before this process has joined a job."""
        return membership.group.WORLD

    @property
    def pg_map(self) -> dict[ProcessGroup, tuple[str, Store]]:
        """Maps each group to its backend and store."""
        return {pg: (pg.backend, pg.store) for pg in self._groups()}

    @property
    def pg_names(self) -> dict[ProcessGroup, str]:
        """Maps each group to its name."""
        return {pg: pg.group_name for pg in self._groups()}

    @property
    def pg_group_ranks(self) -> dict[ProcessGroup, dict[int, int]]:
        """Maps each group to the group ranks of its global ranks."""
        return {pg: {rank: i for i, rank in enumerate(pg.ranks)} for pg in self._groups()}

    @property
    def group_count(self) -> int:
        """The number of groups that the job has made."""
        return 0 if self._job() is None else membership._world().count

    def _job(self) -> World | None:
        return membership._world() if membership.is_initialized() else None

    def _groups(self) -> list[ProcessGroup]:
        job = self._job()
        return [] if job is None else list(job.groups)


_world = _World()


def _get_process_group_name(pg: ProcessGroup) -> str:
    """Return a group's name."""
    return _world.pg_names.get(pg, "None")


def _resolve_process_group(group_name: str) -> ProcessGroup:
    """Return the group with this name; raise RuntimeError if none has it."""
    for pg, name in _world.pg_names.items():
        if name == group_name:
            return pg
    raise RuntimeError(f"Could not resolve the process group registered under the name {group_name}")


def _get_default_store() -> Store:
    """Return the job's store; ValueError before this process has joined a job."""
    return membership._get_default_group().store


def _object_to_tensor(obj: Any, device: Any, group: Any = None) -> tuple[Tensor, Tensor]:
    """Return an object's pickle as a uint8 tensor, and its length as an int64 tensor."""
    data = np.frombuffer(pickle.dumps(obj), np.uint8).copy()
    return tensor(data, device=device), tensor([data.size], device=device)


def _tensor_to_object(tensor: Tensor, tensor_size: Any, group: Any = None) -> Any:
    """Return the object that ``_object_to_tensor`` pickled. A pickle can run any code, so the sender has to be trusted."""
    return pickle.load(io.BytesIO(tensor.cpu().numpy().tobytes()[:int(tensor_size)]))      # type: ignore[attr-defined]


def _broadcast_coalesced(process_group: Any, tensors: list[Tensor], buffer_size: int, src: int = 0) -> None:
    """Replace tensors by those of the group's rank ``src``, one message each; ``buffer_size`` has no effect."""
    for t in tensors:
        broadcast(t, group=process_group, group_src=src)
