"""torch.distributed.distributed_c10d: the module of PyTorch that defines groups and collectives."""
from __future__ import annotations

from typing import Any

from jtorch._base.not_built import placeholder
from jtorch.distributed.backends import Backend, get_default_backend_for_device
from jtorch.distributed.barriers import barrier, monitored_barrier
from jtorch.distributed.coalesced import all_gather_coalesced, all_reduce_coalesced
from jtorch.distributed.collectives import _all_gather_base as _all_gather_base
from jtorch.distributed.collectives import _reduce_scatter_base as _reduce_scatter_base
from jtorch.distributed.collectives import (
    all_gather,
    all_gather_into_tensor,
    all_gather_single,
    all_reduce,
    all_to_all,
    all_to_all_single,
    broadcast,
    gather,
    reduce,
    reduce_scatter,
    reduce_scatter_single,
    reduce_scatter_tensor,
    scatter,
)
from jtorch.distributed.debug import DebugLevel, get_debug_level
from jtorch.distributed.for_packages import _broadcast_coalesced as _broadcast_coalesced
from jtorch.distributed.for_packages import _get_default_store as _get_default_store
from jtorch.distributed.for_packages import _get_process_group_name as _get_process_group_name
from jtorch.distributed.for_packages import _new_process_group_helper as _new_process_group_helper
from jtorch.distributed.for_packages import _object_to_tensor as _object_to_tensor
from jtorch.distributed.for_packages import _resolve_process_group as _resolve_process_group
from jtorch.distributed.for_packages import _tensor_to_object as _tensor_to_object
from jtorch.distributed.for_packages import _world
from jtorch.distributed.groups import ProcessGroup, default_pg_timeout
from jtorch.distributed.membership import (
    GroupMember,
    destroy_process_group,
    get_backend,
    get_backend_config,
    get_global_rank,
    get_group_rank,
    get_node_local_rank,
    get_pg_count,
    get_process_group_ranks,
    get_rank,
    get_world_size,
    group,
    init_process_group,
    is_backend_available,
    is_gloo_available,
    is_initialized,
    is_mpi_available,
    is_nccl_available,
    is_torchelastic_launched,
    is_ucc_available,
    is_xccl_available,
    new_group,
    new_subgroups,
    new_subgroups_by_enumeration,
)
from jtorch.distributed.membership import _get_default_group as _get_default_group
from jtorch.distributed.membership import _rank_not_in_group as _rank_not_in_group
from jtorch.distributed.objects import (
    all_gather_object,
    broadcast_object_list,
    gather_object,
    recv_object_list,
    scatter_object_list,
    send_object_list,
)
from jtorch.distributed.options import AllgatherOptions as AllgatherOptions
from jtorch.distributed.options import (
    AllreduceCoalescedOptions,
    AllreduceOptions,
    AllToAllOptions,
    BarrierOptions,
    BroadcastOptions,
    GatherOptions,
    ReduceOptions,
    ReduceScatterOptions,
    ScatterOptions,
)
from jtorch.distributed.point_to_point import P2POp, batch_isend_irecv, irecv, isend, recv, send
from jtorch.distributed.reductions import ReduceOp
from jtorch.distributed.rendezvous import register_rendezvous_handler as register_rendezvous_handler
from jtorch.distributed.rendezvous import rendezvous as rendezvous
from jtorch.distributed.store import PrefixStore, Store
from jtorch.distributed.work import Work

__all__ = ["AllToAllOptions", "AllreduceCoalescedOptions", "AllreduceOptions", "Backend", "BarrierOptions",
           "BroadcastOptions", "DebugLevel", "GatherOptions", "GroupMember", "P2POp", "PrefixStore", "ProcessGroup",
           "ReduceOp", "ReduceOptions", "ReduceScatterOptions", "ScatterOptions", "Store", "Work", "all_gather",
           "all_gather_coalesced", "all_gather_into_tensor", "all_gather_object", "all_gather_single", "all_reduce",
           "all_reduce_coalesced", "all_to_all", "all_to_all_single", "barrier", "batch_isend_irecv", "broadcast",
           "broadcast_object_list", "default_pg_timeout", "destroy_process_group", "gather", "gather_object", "get_backend",
           "get_backend_config", "get_debug_level", "get_default_backend_for_device", "get_global_rank", "get_group_rank",
           "get_node_local_rank", "get_pg_count", "get_process_group_ranks", "get_rank", "get_world_size", "group",
           "init_process_group", "irecv", "is_backend_available", "is_gloo_available", "is_initialized", "is_mpi_available",
           "is_nccl_available", "is_torchelastic_launched", "is_ucc_available", "is_xccl_available", "isend",
           "monitored_barrier", "new_group", "new_subgroups", "new_subgroups_by_enumeration", "recv", "recv_object_list",
           "reduce", "reduce_scatter", "reduce_scatter_single", "reduce_scatter_tensor", "scatter", "scatter_object_list",
           "send", "send_object_list"]


def __getattr__(name: str) -> Any:
    if name in ("_pg_map", "_pg_names", "_pg_group_ranks"):
        return getattr(_world, name[1:])
    if name in ("ProcessGroupGloo", "ProcessGroupNCCL", "ProcessGroupMPI", "ProcessGroupUCC"):
        return placeholder("distributed", name)
    raise AttributeError(f"module 'torch.distributed.distributed_c10d' has no attribute {name!r}")
