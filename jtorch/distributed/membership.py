"""Joining and leaving a job, and creating its groups. See torch.distributed.init_process_group."""
from __future__ import annotations

from datetime import timedelta
from typing import Any

from jtorch._base import warned
from jtorch.device import cuda_count, interned
from jtorch.device import device as _device
from jtorch.distributed import groups
from jtorch.distributed.backends import Backend, backends_of
from jtorch.distributed.groups import NonGroupMember, ProcessGroup, World, default_pg_timeout
from jtorch.distributed.store import Store

_state: dict[str, World | None] = {"world": None}


class _GroupMeta(type):
    @property
    def WORLD(cls) -> ProcessGroup | None:
        """The group of all ranks; None before this process has joined a job."""
        world = _state["world"]
        return None if world is None else world.default


class group(metaclass=_GroupMeta):      # noqa: N801
    """``group.WORLD`` is the group of all ranks."""


class GroupMember(metaclass=_GroupMeta):
    """Holds the group of all ranks, and the value that stands for a group outside of it."""

    NON_GROUP_MEMBER = NonGroupMember


# ---------------------------------------------------------------- joining and leaving

def is_available() -> bool:
    """Return True: torch.distributed is always available."""
    return True


def is_initialized() -> bool:
    """Return whether this process has joined a job."""
    return _state["world"] is not None


def is_gloo_available() -> bool:
    """Return True: collectives on CPUs use Gloo."""
    return True


def is_nccl_available() -> bool:
    """Return whether there is a GPU, which collectives use by NCCL."""
    return cuda_count() > 0


def is_mpi_available() -> bool:
    """Return False: MPI is not built."""
    return False


is_ucc_available = is_xccl_available = is_mpi_available


def is_backend_available(backend: str) -> bool:
    """Return whether there is a backend of this name: ``gloo`` and ``xla``, and ``nccl`` with a GPU."""
    names = [pair.rpartition(":")[2] for pair in backend.lower().split(",")]
    return all(name in (Backend.GLOO, Backend.XLA) or (name == Backend.NCCL and is_nccl_available()) for name in names)


def is_torchelastic_launched() -> bool:
    """Return whether ``torch.distributed.run`` started this process."""
    import os
    return os.environ.get("TORCHELASTIC_RUN_ID") is not None


def init_process_group(backend: str | None = None, init_method: str | None = None, timeout: timedelta | None = None,
                       world_size: int = -1, rank: int = -1, store: Store | None = None, group_name: str = "",
                       pg_options: Any = None, device_id: Any = None, _ranks: Any = None) -> None:
    """Join a job. See torch.distributed.init_process_group.

    Args:
        backend: ``"gloo"`` runs collectives on CPUs by JAX. ``"nccl"`` runs them on one GPU of each rank, by a JAX runtime of
            the whole job; call it before the first tensor. ``"cpu:gloo,cuda:nccl"`` has both. The default is ``"nccl"`` if
            there is a GPU, and else ``"gloo"``. ``"xla"`` makes one JAX runtime of the job, so that a mesh has the devices of
            all processes; call it before the first tensor.
        init_method: the URL of the store: ``env://`` (the default), ``tcp://host:port`` or ``file:///path``.
        timeout: the time limit of collectives; 30 minutes, if None.
        world_size: the number of processes.
        rank: this process's rank.
        store: the store, in place of ``init_method``.
        group_name: accepted and ignored; it is deprecated in PyTorch too.
        pg_options: accepted and ignored.
        device_id: the GPU of this rank, as a device or an index. If None, it is the current GPU if the program has set it, or
            that of ``LOCAL_RANK``.

    Raises:
        ValueError: this process has joined a job already, the arguments do not suffice, or the backend is ``"nccl"`` and there
            is no GPU.
        RuntimeError: the backend is ``"xla"`` or ``"nccl"``, and JAX has started already.
        NotImplementedError: another backend.

    >>> dist = torch.distributed
    >>> dist.init_process_group(store=dist.HashStore(), rank=0, world_size=1)     # a job of one process
    >>> dist.get_rank(), dist.get_world_size()
    (0, 1)
    >>> dist.destroy_process_group()

    """
    if is_initialized():
        raise ValueError("trying to initialize the default process group twice!")
    if init_method is not None and store is not None:
        raise ValueError("Cannot specify both init_method and store.")
    if store is not None and world_size <= 0:
        raise ValueError("world_size must be positive if using store")
    if store is not None and rank < 0:
        raise ValueError("rank must be non-negative if using store")
    if timeout is not None and not isinstance(timeout, timedelta):
        raise TypeError(f"Expected timeout argument to be of type datetime.timedelta, got {timeout}")
    place = _place_of_rank(device_id)
    gpu = place.index if place is not None and place.type == "cuda" else None
    named = backends_of(backend, place)
    _state["world"] = groups.join(named, init_method, timeout or default_pg_timeout, world_size, rank, store, gpu)


def _place_of_rank(device_id: Any) -> _device | None:
    """Return the device that ``device_id`` names; ValueError if it is not one of the accelerators."""
    if device_id is None:
        return None
    count = cuda_count()
    if isinstance(device_id, int):
        if not count:
            raise ValueError("device_id is an int, but no accelerator support is found from the current compilation. Please use "
                             "a different compiled version that supports your accelerator.")
        device_id = interned("cuda", device_id)
    if device_id.type == "cpu":
        raise ValueError("init_process_group device_id parameter must be an accelerator with an index")
    if not count or device_id.type != "cuda":
        raise ValueError(f"device_id {device_id} does not match the current compilation's accelerator support: "
                         f"{'cuda' if count else None}. Please use a different compiled version that supports your accelerator.")
    if device_id.index is None:
        raise ValueError("Please use a device_id with index.")
    if device_id.index >= count:
        raise ValueError(f"device_id {device_id} is out of range. Please use a device index less than the number of accelerators "
                         f"available: {count}.")
    return device_id


def destroy_process_group(group: Any = None) -> None:
    """Leave the job, or remove one of its groups. See torch.distributed.destroy_process_group.

    Args:
        group: the group to remove; None or the group of all ranks leaves the job.

    Raises:
        ValueError: the group is not of this job, or this process has not joined one.

    >>> dist = torch.distributed
    >>> dist.init_process_group(store=dist.HashStore(), rank=0, world_size=1)     # a job of one process
    >>> dist.destroy_process_group()
    >>> dist.is_initialized()
    False

    """
    if _rank_not_in_group(group):
        return
    world = _world()
    if group is None or group is world.default:
        world.close()
        _state["world"] = None
    elif group in world.groups:
        world.groups.remove(group)
    else:
        raise ValueError("Invalid process group specified")


def _world() -> World:
    world = _state["world"]
    if world is None:
        raise ValueError("Default process group has not been initialized, please make sure to call init_process_group.")
    return world


def _get_default_group() -> ProcessGroup:
    return _world().default


def _group_or_default(group: Any) -> ProcessGroup:
    return _world().default if group is None else group


def _rank_not_in_group(group: Any) -> bool:
    return group is NonGroupMember


def _group_of_call(group: Any, name: str) -> ProcessGroup | None:
    """Return the group of a call; warn and return None if this process is not in the group."""
    if _rank_not_in_group(group):
        warned.warn(f"Running {name} on global rank {_world().rank} which does not belong to the given group.")
        return None
    return _group_or_default(group)


def new_group(ranks: list[int] | None = None, timeout: timedelta | None = None, backend: str | None = None,
              pg_options: Any = None, use_local_synchronization: bool = False, group_desc: str | None = None,
              device_id: Any = None) -> Any:
    """Create a group of some ranks; all processes create all groups in the same order. See torch.distributed.new_group.

    Args:
        ranks: the global ranks; all, if None.
        timeout: the time limit of its collectives; that of the job, if None.
        backend: that of the job, if None. All processes create a group with a backend that the job does not have yet.
        pg_options: accepted and ignored.
        use_local_synchronization: whether only the group's ranks call this.
        group_desc: a description.
        device_id: accepted and ignored.

    Returns:
        The group; ``GroupMember.NON_GROUP_MEMBER`` in processes that are not in it.

    Raises:
        ValueError: ranks that are not of the job, or duplicates.

    >>> dist = torch.distributed
    >>> dist.init_process_group(store=dist.HashStore(), rank=0, world_size=1)     # a job of one process
    >>> dist.new_group([0]).size()
    1
    >>> dist.destroy_process_group()

    """
    world = _world()
    wanted = list(range(world.size)) if ranks is None else list(ranks)
    if len(wanted) > world.size:
        raise ValueError("the new group's world size should be less or equal to the world size set by init_process_group")
    outside = [r for r in wanted if not 0 <= r < world.size]
    if outside:
        raise ValueError(f"Rank {outside[0]} is out of range. Valid ranks are 0 to {world.size - 1} (world_size={world.size})")
    if len(set(wanted)) != len(wanted):
        raise ValueError("Cannot create a group with duplicate ranks")
    backends = None if backend is None else backends_of(backend)
    name = "local:" + ",".join(map(str, wanted)) if use_local_synchronization else None
    return world.group(sorted(wanted), timeout or world.default.timeout, group_desc or "undefined", name, backends)


def new_subgroups(group_size: int | None = None, group: Any = None, timeout: timedelta | None = None, backend: str | None = None,
                  pg_options: Any = None, group_desc: str | None = None) -> tuple:
    """Divide a group's ranks into consecutive groups of one size. See torch.distributed.new_subgroups.

    Args:
        group_size: the number of ranks of each new group.
        group: the group to divide; all ranks, if None.
        timeout: the time limit of their collectives; that of the job, if None.
        backend: that of the job, if None.
        pg_options: accepted and ignored.
        group_desc: a description.

    Returns:
        This process's group, and a list of all groups.

    Raises:
        ValueError: no size, or a size that does not divide the number of ranks.

    """
    if group_size is None:
        raise ValueError("Default group size only takes effect when CUDA is available.If your subgroup using a backend that does "
                         "not depend on CUDA,please pass in 'group_size' correctly.")
    ranks = get_process_group_ranks(group)
    if group_size <= 0:
        raise ValueError(f"The arg 'group_size' ({group_size}) must be positive")
    if len(ranks) < group_size:
        raise ValueError(f"The arg 'group_size' ({group_size}) must not exceed the world size ({len(ranks)})")
    if len(ranks) % group_size:
        raise ValueError(f"The world size ({len(ranks)}) must be divisible by 'group_size={group_size}'")
    parts = [ranks[i:i + group_size] for i in range(0, len(ranks), group_size)]
    return new_subgroups_by_enumeration(parts, timeout, backend, pg_options, group_desc)


def new_subgroups_by_enumeration(ranks_per_subgroup_list: list[list[int]], timeout: timedelta | None = None,
                                 backend: str | None = None, pg_options: Any = None, group_desc: str | None = None) -> tuple:
    """Create groups of these ranks. See torch.distributed.new_subgroups_by_enumeration.

    Args:
        ranks_per_subgroup_list: the global ranks of each group.
        timeout: the time limit of their collectives; that of the job, if None.
        backend: that of the job, if None.
        pg_options: accepted and ignored.
        group_desc: a description.

    Returns:
        This process's group, or None, and a list of all groups.

    Raises:
        ValueError: no groups, or a rank in two groups.

    """
    if not ranks_per_subgroup_list:
        raise ValueError("The arg 'ranks_per_subgroup_list' cannot be empty")
    made: list[Any] = []
    seen: dict[int, list[int]] = {}
    for ranks in ranks_per_subgroup_list:
        made.append(new_group(ranks, timeout, backend, pg_options, group_desc=group_desc))
        for rank in ranks:
            if rank in seen:
                raise ValueError(f"Rank {rank} has appeared in both subgroup {seen[rank]} and {ranks}")
            seen[rank] = ranks
    return next((g for g in made if g is not NonGroupMember), None), made


def get_rank(group: Any = None) -> int:
    """Return this process's rank in a group; -1 if it is not in the group."""
    return -1 if _rank_not_in_group(group) else _group_or_default(group).rank()


def get_world_size(group: Any = None) -> int:
    """Return the number of a group's ranks; -1 if this process is not in the group."""
    return -1 if _rank_not_in_group(group) else _group_or_default(group).size()


def get_backend(group: Any = None) -> Backend:
    """Return the name of a group's backend."""
    if _rank_not_in_group(group):
        raise ValueError("Invalid process group specified")
    return Backend(_group_or_default(group).backend)


def get_backend_config(group: Any = None) -> str:
    """Return a group's backends by type of device. See torch.distributed.get_backend_config."""
    return ",".join([f"{kind}:{backend}" for kind, backend in _group_or_default(group).backends.items()])


def get_pg_count() -> int:
    """Return the number of groups that this job has made."""
    return _world().count


def get_group_rank(group: ProcessGroup, global_rank: int) -> int:
    """Return the group rank of a global rank; ValueError if the rank is not in the group."""
    if global_rank not in group.ranks:
        raise ValueError(f"Global rank {global_rank} is not part of group {group}")
    return group.ranks.index(global_rank)


def get_global_rank(group: ProcessGroup, group_rank: int) -> int:
    """Return the global rank of a group rank; ValueError if the group has no such rank."""
    if not 0 <= group_rank < group.size():
        raise ValueError(f"Group rank {group_rank} is not part of group {group}")
    return group.ranks[group_rank]


def get_process_group_ranks(group: Any) -> list[int]:
    """Return the global ranks of a group."""
    return list(_group_or_default(group).ranks)


def get_node_local_rank(fallback_rank: int | None = None) -> int:
    """Return this process's rank on its machine, as the launcher set it."""
    import os
    if "LOCAL_RANK" in os.environ:
        return int(os.environ["LOCAL_RANK"])
    if fallback_rank is not None:
        return int(fallback_rank)
    raise RuntimeError("LOCAL_RANK is not in the environment. Consider passing fallback_rank to allow `get_node_local_rank` to "
                       "work, assuming you are not running in a multi-device context and want the code to run locally instead.")
