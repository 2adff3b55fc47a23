"""Collectives, which all ranks of a group call together. See torch.distributed.all_reduce."""
from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from jtorch import engine
from jtorch._base.layout import strided
from jtorch.distributed import kernels
from jtorch.distributed.arrays import (
    array_of,
    check_tensor,
    check_tensors,
    described,
    joined,
    put,
    reshaped,
    split,
    stacked,
    zeros_like,
)
from jtorch.distributed.backends import Backend
from jtorch.distributed.groups import ProcessGroup
from jtorch.distributed.membership import _group_of_call, get_group_rank
from jtorch.distributed.profiled import with_event
from jtorch.distributed.reductions import ReduceOp, body_of, check_complex
from jtorch.distributed.sparse_sum import sum_of_sparse
from jtorch.distributed.work import Work, done
from jtorch.tensor import Tensor

# Maps functions to the names under which PyTorch's profiler shows them, if these differ.
_SHOWN_AS = {"all_reduce_coalesced": "all_reduce", "all_gather_coalesced": "all_gather", "all_to_all_single": "all_to_all"}


def _begin(group: Any, name: str, do: Callable[[ProcessGroup], Any], async_op: bool, result: Any,
           sent: Iterable[Tensor] = ()) -> Work | None:
    """Run a collective after the group's earlier collectives, now or as Work.

    Args:
        group: the ranks; all, if None.
        name: the function's name.
        do: the collective on a process group.
        async_op: whether to return a Work at once.
        result: the Work's result.
        sent: tensors whose shapes a profile shows.

    """
    pg = _group_of_call(group, name)
    if pg is None:
        return None
    on = pg.backend_of(sent)
    run = with_event(f"{on}:{_SHOWN_AS.get(name, name)}", sent, lambda: do(pg))
    pg.world.finish_messages()
    if on != Backend.GLOO:      # Run in this thread: one thread has to start all programs of the job, in one order.
        engine.end()
        run()
        return done(result) if async_op else None
    if async_op:
        engine.end()    # End the trace in this thread, because the lane's thread would run the deferred calls one by one.
        return Work(pg.lane.submit(run), result)
    pg.lane.run(run)
    return None


def _group_rank_of(pg: ProcessGroup, rank: int | None, group_rank: int | None, what: str, default: int | None = None) -> int:
    """Return the group rank that a call names as a global or a group rank; ``default`` if it names neither."""
    if rank is None and group_rank is None:
        rank = default
    if (rank is None) == (group_rank is None):
        raise ValueError(f"Must specify {what} or group_{what}" if rank is None else
                         f"Can't specify both group_{what} and {what}")
    return get_group_rank(pg, rank) if group_rank is None else group_rank        # type: ignore[arg-type]


def all_reduce(tensor: Tensor, op: Any = ReduceOp.SUM, group: Any = None, async_op: bool = False) -> Work | None:
    """Replace a tensor by its reduction over all ranks. See torch.distributed.all_reduce.

    Args:
        tensor: a tensor of any shape, the same shape and dtype on all ranks. Its device must have a backend in the group.
            With "gloo" sparse tensors can be summed.
        op: the reduction: ``ReduceOp.SUM``, ``PRODUCT``, ``MIN`` or ``MAX``. With "gloo" also ``BAND``, ``BOR`` and ``BXOR``
            of integers and bools; with "nccl" also ``AVG``.
        group: the ranks; all, if None.
        async_op: whether to return a Work at once.

    Returns:
        A Work if ``async_op``, else None.

    Raises:
        ValueError: the reduction does not take this dtype.
        DistBackendError: a rank calls another collective, does not come in time, or has ended.

    >>> dist = torch.distributed
    >>> dist.init_process_group(store=dist.HashStore(), rank=0, world_size=1)     # a job of one process
    >>> x = torch.tensor([1., 2.])
    >>> dist.all_reduce(x)
    >>> x
    tensor([1., 2.])
    >>> dist.destroy_process_group()

    """
    check_tensor(tensor, "tensor")
    check_complex(op, tensor.dtype)
    if tensor.layout is not strided:
        return _begin(group, "all_reduce", lambda pg: sum_of_sparse(pg, tensor, op, _gather_arrays), async_op, [tensor], [tensor])

    def do(pg: ProcessGroup) -> None:
        array = array_of(pg, tensor)
        body = kernels.all_reduce(body_of(op, array))
        put(tensor, pg.run(described("all_reduce", array, op.name), body, array))
    return _begin(group, "all_reduce", do, async_op, [tensor], [tensor])


def broadcast(tensor: Tensor, src: int | None = None, group: Any = None, async_op: bool = False,
              group_src: int | None = None) -> Work | None:
    """Replace a tensor by that of rank ``src``. See torch.distributed.broadcast.

    Args:
        tensor: a tensor of any shape and dtype, the same on all ranks. It is written to on ranks other than ``src``.
        src: the global rank that sends.
        group: the ranks; all, if None.
        async_op: whether to return a Work at once.
        group_src: the sender's rank in the group, in place of ``src``.

    Returns:
        A Work if ``async_op``, else None.

    Raises:
        ValueError: both or none of ``src`` and ``group_src``.
        DistBackendError: a rank calls another collective, does not come in time, or has ended.

    >>> dist = torch.distributed
    >>> dist.init_process_group(store=dist.HashStore(), rank=0, world_size=1)     # a job of one process
    >>> dist.broadcast(torch.ones(2), src=0)
    >>> dist.destroy_process_group()

    """
    check_tensor(tensor, "tensor")

    def do(pg: ProcessGroup) -> None:
        array, at = array_of(pg, tensor), _group_rank_of(pg, src, group_src, "src")
        made = pg.run(described("broadcast", array, at), kernels.broadcast(at), array)
        if pg.rank() != at:
            put(tensor, made)
    return _begin(group, "broadcast", do, async_op, [tensor], [tensor])


def reduce(tensor: Tensor, dst: int | None = None, op: Any = ReduceOp.SUM, group: Any = None, async_op: bool = False,
           group_dst: int | None = None) -> Work | None:
    """Replace the tensor of rank ``dst`` by the reduction over all ranks. See torch.distributed.reduce.

    Args:
        tensor: a tensor of any shape, the same shape and dtype on all ranks. It is written to on rank ``dst``.
        dst: the global rank that receives.
        op: the reduction.
        group: the ranks; all, if None.
        async_op: whether to return a Work at once.
        group_dst: the receiver's rank in the group, in place of ``dst``.

    Returns:
        A Work if ``async_op``, else None.

    Raises:
        ValueError: both or none of ``dst`` and ``group_dst``, or a reduction that does not take this dtype.
        DistBackendError: a rank calls another collective, does not come in time, or has ended.

    >>> dist = torch.distributed
    >>> dist.init_process_group(store=dist.HashStore(), rank=0, world_size=1)     # a job of one process
    >>> dist.reduce(torch.ones(2), dst=0)
    >>> dist.destroy_process_group()

    """
    check_tensor(tensor, "tensor")

    def do(pg: ProcessGroup) -> None:
        array, at = array_of(pg, tensor), _group_rank_of(pg, dst, group_dst, "dst")
        made = pg.run(described("reduce", array, op.name, at), kernels.all_reduce(body_of(op, array)), array)
        if pg.rank() == at:
            put(tensor, made)
    return _begin(group, "reduce", do, async_op, [tensor], [tensor])


def _gather_arrays(pg: ProcessGroup, name: str, array: Any, *more: Any) -> Any:
    """Return the arrays of all ranks, with shape (ranks, ...)."""
    return pg.run(described(name, array, *more), kernels.all_gather, array)


def all_gather(tensor_list: list[Tensor], tensor: Tensor, group: Any = None, async_op: bool = False) -> Work | None:
    """Fill a list with the tensors of all ranks. See torch.distributed.all_gather.

    Args:
        tensor_list: a tensor for each rank, with the shape and dtype of ``tensor``; they are written to.
        tensor: this rank's tensor.
        group: the ranks; all, if None.
        async_op: whether to return a Work at once.

    Returns:
        A Work if ``async_op``, else None.

    Raises:
        RuntimeError: a list of another length than the group has ranks, or tensors of another shape.
        ValueError: tensors of another dtype.
        DistBackendError: a rank calls another collective, does not come in time, or has ended.

    >>> dist = torch.distributed
    >>> dist.init_process_group(store=dist.HashStore(), rank=0, world_size=1)     # a job of one process
    >>> rows = [torch.zeros(2)]
    >>> dist.all_gather(rows, torch.tensor([1., 2.]))
    >>> rows
    [tensor([1., 2.])]
    >>> dist.destroy_process_group()

    """
    check_tensors(tensor_list, "tensor_list")
    check_tensor(tensor, "tensor")

    def do(pg: ProcessGroup) -> None:
        if len(tensor_list) != pg.size():
            raise RuntimeError("ProcessGroupGloo::allgather: invalid output tensor list at index 0 (expected length "
                               f"{pg.size()}, got {len(tensor_list)})")
        for t in tensor_list:
            _check_dtypes(tensor, t)
            _check_shapes(t, tensor)
        for t, row in zip(tensor_list, _gather_arrays(pg, "all_gather", array_of(pg, tensor)), strict=True):
            put(t, row)
    return _begin(group, "all_gather", do, async_op, [tensor_list], [tensor])


def _check_dtypes(*tensors: Tensor) -> None:
    """Raise ValueError unless all tensors have one dtype; a complex dtype counts as its real one."""
    for t in tensors[1:]:
        if t.dtype.to_real() is not tensors[0].dtype.to_real():
            raise ValueError(f"Invalid usage of tensors with different dtypesFound {tensors[0].dtype} and  {t.dtype}")


def _check_shapes(t: Tensor, tensor: Tensor) -> None:
    if t.shape != tensor.shape:
        wanted, found = ("(" + ", ".join(map(str, x.shape)) + ")" for x in (tensor, t))
        raise RuntimeError(f"ProcessGroupGloo::allgather: invalid tensor size at index 0 (expected {wanted}, got {found})")


def all_gather_into_tensor(output_tensor: Tensor, input_tensor: Tensor, group: Any = None, async_op: bool = False) -> Work | None:
    """Concatenate or stack the tensors of all ranks. See torch.distributed.all_gather_into_tensor.

    Args:
        output_tensor: a tensor with ranks times as many elements as ``input_tensor``, which is written to. Its shape is
            (ranks * n, ...) or (ranks, n, ...).
        input_tensor: this rank's tensor (n, ...).
        group: the ranks; all, if None.
        async_op: whether to return a Work at once.

    Returns:
        A Work if ``async_op``, else None.

    Raises:
        ValueError: an output of another size.
        DistBackendError: a rank calls another collective, does not come in time, or has ended.

    >>> dist = torch.distributed
    >>> dist.init_process_group(store=dist.HashStore(), rank=0, world_size=1)     # a job of one process
    >>> out = torch.zeros(1, 2)
    >>> dist.all_gather_into_tensor(out, torch.tensor([1., 2.]))
    >>> out
    tensor([[1., 2.]])
    >>> dist.destroy_process_group()

    """
    check_tensor(output_tensor, "output_tensor")
    check_tensor(input_tensor, "input_tensor")

    def do(pg: ProcessGroup) -> None:
        if output_tensor.numel() != input_tensor.numel() * pg.size():
            raise ValueError("output tensor size must be equal to world_size times input tensor size")
        put(output_tensor, _gather_arrays(pg, "all_gather_into_tensor", array_of(pg, input_tensor)))
    return _begin(group, "all_gather_into_tensor", do, async_op, [output_tensor], [input_tensor])


def gather(tensor: Tensor, gather_list: list[Tensor] | None = None, dst: int | None = None, group: Any = None,
           async_op: bool = False, group_dst: int | None = None) -> Work | None:
    """Fill the list of rank ``dst`` with the tensors of all ranks. See torch.distributed.gather.

    Args:
        tensor: this rank's tensor.
        gather_list: on rank ``dst``, a tensor for each rank, which is written to; None on the others.
        dst: the global rank that receives; 0, if neither it nor ``group_dst`` is given.
        group: the ranks; all, if None.
        async_op: whether to return a Work at once.
        group_dst: the receiver's rank in the group, in place of ``dst``.

    Returns:
        A Work if ``async_op``, else None.

    Raises:
        ValueError: a list on another rank than ``dst``, or none on ``dst``.
        DistBackendError: a rank calls another collective, does not come in time, or has ended.

    >>> dist = torch.distributed
    >>> dist.init_process_group(store=dist.HashStore(), rank=0, world_size=1)     # a job of one process
    >>> rows = [torch.zeros(2)]
    >>> dist.gather(torch.ones(2), rows, dst=0)
    >>> dist.destroy_process_group()

    """
    check_tensor(tensor, "tensor")

    def do(pg: ProcessGroup) -> None:
        at = _group_rank_of(pg, dst, group_dst, "dst", 0)
        if pg.rank() == at and not gather_list:
            raise ValueError("Argument ``gather_list`` must be specified on destination rank.")
        if pg.rank() != at and gather_list:
            raise ValueError("Argument ``gather_list`` must NOT be specified on non-destination ranks.")
        rows = _gather_arrays(pg, "gather", array_of(pg, tensor), at)
        for t, row in zip(gather_list or (), rows if gather_list else (), strict=True):
            put(t, row)
    return _begin(group, "gather", do, async_op, [gather_list], [tensor])


def scatter(tensor: Tensor, scatter_list: list[Tensor] | None = None, src: int | None = None, group: Any = None,
            async_op: bool = False, group_src: int | None = None) -> Work | None:
    """Send each rank its tensor of rank ``src``'s list. See torch.distributed.scatter.

    Args:
        tensor: the tensor that receives, of the same shape and dtype on all ranks.
        scatter_list: on rank ``src``, a tensor for each rank; None on the others.
        src: the global rank that sends; 0, if neither it nor ``group_src`` is given.
        group: the ranks; all, if None.
        async_op: whether to return a Work at once.
        group_src: the sender's rank in the group, in place of ``src``.

    Returns:
        A Work if ``async_op``, else None.

    Raises:
        ValueError: a list on another rank than ``src``, or none on ``src``.
        DistBackendError: a rank calls another collective, does not come in time, or has ended.

    >>> dist = torch.distributed
    >>> dist.init_process_group(store=dist.HashStore(), rank=0, world_size=1)     # a job of one process
    >>> dist.scatter(torch.zeros(2), [torch.ones(2)], src=0)
    >>> dist.destroy_process_group()

    """
    check_tensor(tensor, "tensor")

    def do(pg: ProcessGroup) -> None:
        at, own = _group_rank_of(pg, src, group_src, "src", 0), array_of(pg, tensor)
        if pg.rank() == at and not scatter_list:
            raise ValueError("Argument ``scatter_list`` must be specified on source rank.")
        if pg.rank() != at and scatter_list:
            raise ValueError("Argument ``scatter_list`` must NOT be specified on non-source ranks.")
        rows = stacked([array_of(pg, t) for t in scatter_list]) if scatter_list else zeros_like(own, (pg.size(), *own.shape))
        put(tensor, pg.run(described("scatter", own, at), kernels.scatter, rows))
    return _begin(group, "scatter", do, async_op, [tensor], [tensor] if scatter_list is None else scatter_list)


def reduce_scatter(output: Tensor, input_list: list[Tensor], op: Any = ReduceOp.SUM, group: Any = None,
                   async_op: bool = False) -> Work | None:
    """Reduce lists of tensors over the ranks, and give each rank the result at its place in the list.

    See torch.distributed.reduce_scatter.

    Args:
        output: the tensor that receives this rank's result.
        input_list: a tensor for each rank, with the shape and dtype of ``output``.
        op: the reduction.
        group: the ranks; all, if None.
        async_op: whether to return a Work at once.

    Returns:
        A Work if ``async_op``, else None.

    Raises:
        ValueError: sizes that do not fit, or a reduction that does not take this dtype.
        DistBackendError: a rank calls another collective, does not come in time, or has ended.

    >>> dist = torch.distributed
    >>> dist.init_process_group(store=dist.HashStore(), rank=0, world_size=1)     # a job of one process
    >>> dist.reduce_scatter(torch.zeros(2), [torch.ones(2)])
    >>> dist.destroy_process_group()

    """
    check_tensor(output, "output")
    check_tensors(input_list, "input_list")
    return _reduce_rows(output, input_list, lambda pg: stacked([array_of(pg, t) for t in input_list]), "reduce_scatter", op,
                        group, async_op)


def reduce_scatter_tensor(output: Tensor, input: Tensor, op: Any = ReduceOp.SUM, group: Any = None,
                          async_op: bool = False) -> Work | None:
    """Reduce a tensor over the ranks, and give each rank its part of the result. See torch.distributed.reduce_scatter_tensor.

    Args:
        output: the tensor (n, ...) that receives this rank's part.
        input: a tensor (ranks * n, ...) or (ranks, n, ...) of the same dtype.
        op: the reduction.
        group: the ranks; all, if None.
        async_op: whether to return a Work at once.

    Returns:
        A Work if ``async_op``, else None.

    Raises:
        ValueError: sizes that do not fit, or a reduction that does not take this dtype.
        DistBackendError: a rank calls another collective, does not come in time, or has ended.

    >>> dist = torch.distributed
    >>> dist.init_process_group(store=dist.HashStore(), rank=0, world_size=1)     # a job of one process
    >>> dist.reduce_scatter_tensor(torch.zeros(2), torch.ones(2))
    >>> dist.destroy_process_group()

    """
    check_tensor(output, "output")
    check_tensor(input, "input")
    return _reduce_rows(output, [input], lambda pg: array_of(pg, input), "reduce_scatter_tensor", op, group, async_op)


def _reduce_rows(output: Tensor, sent: list[Tensor], rows: Callable, name: str, op: Any, group: Any,
                 async_op: bool) -> Work | None:
    def do(pg: ProcessGroup) -> None:
        array = rows(pg)
        if array.size != output.numel() * pg.size():
            raise ValueError("input tensor must be the same size as output size times world size")
        array = reshaped(array, (pg.size(), *output.shape))
        put(output, pg.run(described(name, array, op.name), kernels.reduce_scatter(body_of(op, array)), array))
    return _begin(group, name, do, async_op, [output], sent)


def all_to_all(output_tensor_list: list[Tensor], input_tensor_list: list[Tensor], group: Any = None,
               async_op: bool = False) -> Work | None:
    """Send tensor i of each rank's list to rank i. See torch.distributed.all_to_all.

    Args:
        output_tensor_list: a tensor for each rank, which receives that rank's tensor.
        input_tensor_list: a tensor for each rank, of one dtype; the sizes may differ.
        group: the ranks; all, if None.
        async_op: whether to return a Work at once.

    Returns:
        A Work if ``async_op``, else None.

    Raises:
        ValueError: lists of another length than the group has ranks, or sizes that the ranks do not agree on.
        DistBackendError: a rank calls another collective, does not come in time, or has ended.

    >>> dist = torch.distributed
    >>> dist.init_process_group(store=dist.HashStore(), rank=0, world_size=1)     # a job of one process
    >>> rows = [torch.zeros(2)]
    >>> dist.all_to_all(rows, [torch.ones(2)])
    >>> dist.destroy_process_group()

    """
    check_tensors(output_tensor_list, "output_tensor_list")
    check_tensors(input_tensor_list, "input_tensor_list")

    def do(pg: ProcessGroup) -> None:
        sent, wanted = [array_of(pg, t) for t in input_tensor_list], [t.numel() for t in output_tensor_list]
        rows = _exchange_rows(pg, "all_to_all", sent, wanted)
        for t, row in zip(output_tensor_list, rows, strict=True):
            put(t, row)
    return _begin(group, "all_to_all", do, async_op, [output_tensor_list], input_tensor_list)


def _exchange_rows(pg: ProcessGroup, name: str, rows: list[Any], wanted: list[int]) -> list[Any]:
    """Send row i of each rank to rank i. Rows may differ in length: all are padded to the longest row of any rank."""
    if len(rows) != pg.size() or len(wanted) != pg.size():
        raise ValueError(f"{name}: expected {pg.size()} tensors, got {len(rows)} and {len(wanted)}")
    sizes = np.array([r.size for r in rows], np.int64)
    table = _gather_arrays(pg, f"{name} sizes", sizes)
    coming = table[:, pg.rank()]
    if list(coming) != wanted:
        raise ValueError(f"{name}: rank {pg.rank()} expects {wanted} elements of the ranks, which send {list(coming)}")
    width, dtype = max(int(table.max()), 1), rows[0].dtype
    flat = [reshaped(row, (row.size,)) for row in rows]
    filled = stacked([row if row.size == width else joined([row, zeros_like(row, (width - row.size,))]) for row in flat])
    made = pg.run(described(name, filled, dtype), kernels.all_to_all, filled)
    return [split(row, [n])[0] for row, n in zip(made, coming.tolist(), strict=True)]


def all_to_all_single(output: Tensor, input: Tensor, output_split_sizes: list[int] | None = None,
                      input_split_sizes: list[int] | None = None, group: Any = None, async_op: bool = False) -> Work | None:
    """Send parts of a tensor along its first dim to the ranks. See torch.distributed.all_to_all_single.

    Args:
        output: a tensor that receives the ranks' parts, concatenated along the first dim.
        input: a tensor of the same dtype and the same sizes along other dims.
        output_split_sizes: the sizes of the received parts; equal sizes, if None.
        input_split_sizes: the sizes of the sent parts; equal sizes, if None.
        group: the ranks; all, if None.
        async_op: whether to return a Work at once.

    Returns:
        A Work if ``async_op``, else None.

    Raises:
        ValueError: sizes that do not sum to the tensors' first dims, or that the ranks do not agree on.
        DistBackendError: a rank calls another collective, does not come in time, or has ended.

    >>> dist = torch.distributed
    >>> dist.init_process_group(store=dist.HashStore(), rank=0, world_size=1)     # a job of one process
    >>> out = torch.zeros(2)
    >>> dist.all_to_all_single(out, torch.tensor([1., 2.]))
    >>> out
    tensor([1., 2.])
    >>> dist.destroy_process_group()

    """
    check_tensor(output, "output")
    check_tensor(input, "input")

    def do(pg: ProcessGroup) -> None:
        array, n = array_of(pg, input), pg.size()
        sent = input_split_sizes or _even_sizes(array.shape[0], n)
        taken = output_split_sizes or _even_sizes(output.shape[0], n)
        if sum(sent) != array.shape[0] or sum(taken) != output.shape[0]:
            raise ValueError("Split sizes doesn't match total dim 0 size")
        each = int(np.prod(array.shape[1:]))
        rows = _exchange_rows(pg, "all_to_all_single", split(array, sent), [k * each for k in taken])
        put(output, joined(rows))
    return _begin(group, "all_to_all_single", do, async_op, [output], [input])


def _even_sizes(total: int, n: int) -> list[int]:
    if total % n:
        raise ValueError("Tensor's dim 0 does not divide equally across group size")
    return [total // n] * n


all_gather_single, reduce_scatter_single = all_gather_into_tensor, reduce_scatter_tensor
_all_gather_base, _reduce_scatter_base = all_gather_into_tensor, reduce_scatter_tensor
