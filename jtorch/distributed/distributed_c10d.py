"""torch.distributed.distributed_c10d: PyTorch's place for groups and collectives."""
from __future__ import annotations

from jtorch.distributed.backends import get_default_backend_for_device
from jtorch.distributed.barriers import *  # noqa: F403
from jtorch.distributed.coalesced import *  # noqa: F403
from jtorch.distributed.collectives import *  # noqa: F403
from jtorch.distributed.collectives import _all_gather_base, _begin, _gathered, _reduce_scatter_base, _source
from jtorch.distributed.debug import *  # noqa: F403
from jtorch.distributed.groups import ProcessGroup, World, default_pg_timeout
from jtorch.distributed.membership import *  # noqa: F403
from jtorch.distributed.membership import _get_default_group, _group_or_default, _rank_not_in_group
from jtorch.distributed.objects import *  # noqa: F403
from jtorch.distributed.options import *  # noqa: F403
from jtorch.distributed.point_to_point import *  # noqa: F403
from jtorch.distributed.reductions import ReduceOp
from jtorch.distributed.rendezvous import register_rendezvous_handler, rendezvous
from jtorch.distributed.store import PrefixStore, Store
from jtorch.distributed.work import Work

__all__ = [
           "PrefixStore",
           "ProcessGroup",
           "ReduceOp",
           "Store",
           "Work",
           "World",
           "_all_gather_base",
           "_begin",
           "_gathered",
           "_get_default_group",
           "_group_or_default",
           "_rank_not_in_group",
           "_reduce_scatter_base",
           "_source",
           "default_pg_timeout",
           "get_default_backend_for_device",
           "register_rendezvous_handler",
           "rendezvous",
]
