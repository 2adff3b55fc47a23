"""The methods of a ProcessGroup: its collectives, each of which returns a Work and takes group ranks.

Communication hooks and libraries call these methods; programs call the functions of torch.distributed.
"""
from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Any

from jtorch.distributed.options import AllreduceOptions, BroadcastOptions, GatherOptions, ReduceOptions
from jtorch.distributed.reductions import ReduceOp


def _functions() -> Any:
    return importlib.import_module("jtorch.distributed")


def _one(tensors: Any) -> Any:
    """Return the tensor, or the first one of a list."""
    return tensors[0] if isinstance(tensors, Sequence) else tensors


def _op(given: Any) -> Any:
    return getattr(given, "reduceOp", given)


def _root(given: Any) -> int:
    return getattr(given, "rootRank", given)


class Calls:
    """The collectives as methods of a process group."""

    def allreduce(self, tensors: Any, opts: Any = None, timeout: Any = None, *, op: Any = None) -> Any:
        """See torch.distributed.all_reduce."""
        return _functions().all_reduce(_one(tensors), _op(opts or op or AllreduceOptions()), self, True)

    def allreduce_coalesced(self, tensors: list, opts: Any = None) -> Any:
        """See torch.distributed.all_reduce_coalesced."""
        return importlib.import_module("jtorch.distributed.coalesced").begin_all_reduce(
            tensors, _op(opts or AllreduceOptions()), self, True)

    def broadcast(self, tensors: Any, opts: Any = None, timeout: Any = None, *, root: int | None = None) -> Any:
        """See torch.distributed.broadcast."""
        source = _root(BroadcastOptions() if opts is None else opts) if root is None else root
        return _functions().broadcast(_one(tensors), group=self, async_op=True, group_src=source)

    def reduce(self, tensors: Any, opts: Any = None, op: Any = ReduceOp.SUM, timeout: Any = None, *,
               root: int | None = None) -> Any:
        """See torch.distributed.reduce."""
        given = (ReduceOptions() if opts is None else opts) if root is None else root
        return _functions().reduce(_one(tensors), op=getattr(given, "reduceOp", op), group=self, async_op=True,
                                   group_dst=_root(given))

    def allgather(self, output_tensors: Any, input_tensors: Any, opts: Any = None, timeout: Any = None) -> Any:
        """See torch.distributed.all_gather."""
        outputs = output_tensors[0] if isinstance(output_tensors[0], Sequence) else output_tensors
        return _functions().all_gather(outputs, _one(input_tensors), self, True)

    def _allgather_base(self, output: Any, input: Any, opts: Any = None, timeout: Any = None) -> Any:
        return _functions().all_gather_into_tensor(output, input, self, True)

    def gather(self, output_tensors: Any, input_tensors: Any, opts: Any = None, timeout: Any = None, *,
               root: int | None = None) -> Any:
        """See torch.distributed.gather."""
        rows = output_tensors[0] if output_tensors and isinstance(output_tensors[0], Sequence) else output_tensors
        at = _root(GatherOptions() if opts is None else opts) if root is None else root
        return _functions().gather(_one(input_tensors), rows or None, group=self, async_op=True, group_dst=at)

    def scatter(self, output_tensors: Any, input_tensors: Any, opts: Any = None, timeout: Any = None, *,
                root: int | None = None) -> Any:
        """See torch.distributed.scatter."""
        rows = input_tensors[0] if input_tensors and isinstance(input_tensors[0], Sequence) else input_tensors
        at = _root(GatherOptions() if opts is None else opts) if root is None else root
        return _functions().scatter(_one(output_tensors), rows or None, group=self, async_op=True, group_src=at)

    def reduce_scatter(self, output_tensors: Any, input_tensors: Any, opts: Any = None, timeout: Any = None, *,
                       op: Any = None) -> Any:
        """See torch.distributed.reduce_scatter."""
        rows = input_tensors[0] if isinstance(input_tensors[0], Sequence) else input_tensors
        return _functions().reduce_scatter(_one(output_tensors), rows, _op(opts or op or AllreduceOptions()), self, True)

    def _reduce_scatter_base(self, output: Any, input: Any, opts: Any = None, timeout: Any = None) -> Any:
        return _functions().reduce_scatter_tensor(output, input, _op(opts or AllreduceOptions()), self, True)

    def alltoall(self, output_tensors: list, input_tensors: list, opts: Any = None, timeout: Any = None) -> Any:
        """See torch.distributed.all_to_all."""
        return _functions().all_to_all(output_tensors, input_tensors, self, True)

    def alltoall_base(self, output: Any, input: Any, output_split_sizes: list, input_split_sizes: list, opts: Any = None,
                      timeout: Any = None) -> Any:
        """See torch.distributed.all_to_all_single."""
        return _functions().all_to_all_single(output, input, output_split_sizes, input_split_sizes, self, True)

    def send(self, tensors: Any, dstRank: int, tag: int = 0) -> Any:
        """See torch.distributed.isend."""
        return _functions().isend(_one(tensors), group=self, tag=tag, group_dst=dstRank)

    def recv(self, tensors: Any, srcRank: int, tag: int = 0) -> Any:
        """See torch.distributed.irecv."""
        return _functions().irecv(_one(tensors), group=self, tag=tag, group_src=srcRank)

    def recv_anysource(self, tensors: Any, tag: int = 0) -> Any:
        """See torch.distributed.irecv."""
        return _functions().irecv(_one(tensors), group=self, tag=tag)

    def barrier(self, opts: Any = None, timeout: Any = None) -> Any:
        """See torch.distributed.barrier."""
        return _functions().barrier(self, True)

    def monitored_barrier(self, timeout: Any = None, wait_all_ranks: bool = False) -> None:
        """See torch.distributed.monitored_barrier."""
        _functions().monitored_barrier(self, timeout, wait_all_ranks)

    all_gather_single, reduce_scatter_single, all_to_all_single = _allgather_base, _reduce_scatter_base, alltoall_base
