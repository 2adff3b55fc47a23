"""torch.distributed: collectives and process groups over JAX's collectives."""
from __future__ import annotations

import importlib
import sys
from typing import Any

from jtorch.distributed.backends import Backend as Backend
from jtorch.distributed.backends import get_default_backend_for_device as get_default_backend_for_device
from jtorch.distributed.barriers import barrier as barrier
from jtorch.distributed.barriers import monitored_barrier as monitored_barrier
from jtorch.distributed.coalesced import all_gather_coalesced as all_gather_coalesced
from jtorch.distributed.coalesced import all_reduce_coalesced as all_reduce_coalesced
from jtorch.distributed.collectives import _all_gather_base as _all_gather_base
from jtorch.distributed.collectives import _reduce_scatter_base as _reduce_scatter_base
from jtorch.distributed.collectives import all_gather as all_gather
from jtorch.distributed.collectives import all_gather_into_tensor as all_gather_into_tensor
from jtorch.distributed.collectives import all_gather_single as all_gather_single
from jtorch.distributed.collectives import all_reduce as all_reduce
from jtorch.distributed.collectives import all_to_all as all_to_all
from jtorch.distributed.collectives import all_to_all_single as all_to_all_single
from jtorch.distributed.collectives import broadcast as broadcast
from jtorch.distributed.collectives import gather as gather
from jtorch.distributed.collectives import reduce as reduce
from jtorch.distributed.collectives import reduce_scatter as reduce_scatter
from jtorch.distributed.collectives import reduce_scatter_single as reduce_scatter_single
from jtorch.distributed.collectives import reduce_scatter_tensor as reduce_scatter_tensor
from jtorch.distributed.collectives import scatter as scatter
from jtorch.distributed.debug import DebugLevel as DebugLevel
from jtorch.distributed.debug import get_debug_level as get_debug_level
from jtorch.distributed.debug import set_debug_level as set_debug_level
from jtorch.distributed.debug import set_debug_level_from_env as set_debug_level_from_env
from jtorch.distributed.device_mesh import DeviceMesh as DeviceMesh
from jtorch.distributed.device_mesh import init_device_mesh as init_device_mesh
from jtorch.distributed.errors import DistBackendError as DistBackendError
from jtorch.distributed.errors import DistError as DistError
from jtorch.distributed.errors import DistNetworkError as DistNetworkError
from jtorch.distributed.errors import DistStoreError as DistStoreError
from jtorch.distributed.errors import QueueEmptyError as QueueEmptyError
from jtorch.distributed.groups import ProcessGroup as ProcessGroup
from jtorch.distributed.groups import default_pg_timeout as default_pg_timeout
from jtorch.distributed.lazy_exports import lazy_getattr as _lazy_getattr
from jtorch.distributed.membership import GroupMember as GroupMember
from jtorch.distributed.membership import _get_default_group as _get_default_group
from jtorch.distributed.membership import _rank_not_in_group as _rank_not_in_group
from jtorch.distributed.membership import destroy_process_group as destroy_process_group
from jtorch.distributed.membership import get_backend as get_backend
from jtorch.distributed.membership import get_backend_config as get_backend_config
from jtorch.distributed.membership import get_global_rank as get_global_rank
from jtorch.distributed.membership import get_group_rank as get_group_rank
from jtorch.distributed.membership import get_node_local_rank as get_node_local_rank
from jtorch.distributed.membership import get_pg_count as get_pg_count
from jtorch.distributed.membership import get_process_group_ranks as get_process_group_ranks
from jtorch.distributed.membership import get_rank as get_rank
from jtorch.distributed.membership import get_world_size as get_world_size
from jtorch.distributed.membership import group as group
from jtorch.distributed.membership import init_process_group as init_process_group
from jtorch.distributed.membership import is_available as is_available
from jtorch.distributed.membership import is_backend_available as is_backend_available
from jtorch.distributed.membership import is_gloo_available as is_gloo_available
from jtorch.distributed.membership import is_initialized as is_initialized
from jtorch.distributed.membership import is_mpi_available as is_mpi_available
from jtorch.distributed.membership import is_nccl_available as is_nccl_available
from jtorch.distributed.membership import is_torchelastic_launched as is_torchelastic_launched
from jtorch.distributed.membership import is_ucc_available as is_ucc_available
from jtorch.distributed.membership import is_xccl_available as is_xccl_available
from jtorch.distributed.membership import new_group as new_group
from jtorch.distributed.membership import new_subgroups as new_subgroups
from jtorch.distributed.membership import new_subgroups_by_enumeration as new_subgroups_by_enumeration
from jtorch.distributed.objects import all_gather_object as all_gather_object
from jtorch.distributed.objects import broadcast_object_list as broadcast_object_list
from jtorch.distributed.objects import gather_object as gather_object
from jtorch.distributed.objects import recv_object_list as recv_object_list
from jtorch.distributed.objects import scatter_object_list as scatter_object_list
from jtorch.distributed.objects import send_object_list as send_object_list
from jtorch.distributed.options import AllreduceCoalescedOptions as AllreduceCoalescedOptions
from jtorch.distributed.options import AllreduceOptions as AllreduceOptions
from jtorch.distributed.options import AllToAllOptions as AllToAllOptions
from jtorch.distributed.options import BarrierOptions as BarrierOptions
from jtorch.distributed.options import BroadcastOptions as BroadcastOptions
from jtorch.distributed.options import GatherOptions as GatherOptions
from jtorch.distributed.options import ReduceOptions as ReduceOptions
from jtorch.distributed.options import ReduceScatterOptions as ReduceScatterOptions
from jtorch.distributed.options import ScatterOptions as ScatterOptions
from jtorch.distributed.point_to_point import P2POp as P2POp
from jtorch.distributed.point_to_point import batch_isend_irecv as batch_isend_irecv
from jtorch.distributed.point_to_point import irecv as irecv
from jtorch.distributed.point_to_point import isend as isend
from jtorch.distributed.point_to_point import recv as recv
from jtorch.distributed.point_to_point import send as send
from jtorch.distributed.reductions import ReduceOp as ReduceOp
from jtorch.distributed.rendezvous import register_rendezvous_handler as register_rendezvous_handler
from jtorch.distributed.rendezvous import rendezvous as rendezvous
from jtorch.distributed.store import FileStore as FileStore
from jtorch.distributed.store import HashStore as HashStore
from jtorch.distributed.store import PrefixStore as PrefixStore
from jtorch.distributed.store import Store as Store
from jtorch.distributed.tcp_store import TCPStore as TCPStore
from jtorch.distributed.work import Work as Work

reduce_op = ReduceOp


_gradients = _lazy_getattr(__name__, {"nn.parallel.buckets": "GradBucket",
                                      "distributed.for_packages": "_broadcast_coalesced _get_process_group_name split_group"},
                           not_built="ProcessGroupGloo ProcessGroupNCCL ProcessGroupMPI ProcessGroupUCC")
_PARTS = {"_composable", "algorithms", "_tensor", "checkpoint", "device_mesh", "fsdp", "nn", "optim", "tensor"}


def __getattr__(name: str) -> Any:
    """Import and return a submodule on first access; names that are not built raise when they are used."""
    if name in _PARTS:
        importlib.import_module(f"{__name__}.{name}")
    found = sys.modules.get(f"{__name__}.{name}")
    return _gradients(name) if found is None else found


__getattr__.__dict__["names"] = _gradients.__dict__["names"]
