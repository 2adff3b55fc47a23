"""Collectives that send many tensors in one message."""
from __future__ import annotations

from collections.abc import Iterable
from itertools import chain
from typing import Any

from jtorch._api.flattening import flattened, unflattened
from jtorch.distributed import kernels
from jtorch.distributed.arrays import array_of, check_tensors, complexes, described, joined, put, reals, split
from jtorch.distributed.collectives import _begin, _check_dtypes, _gather_arrays, broadcast
from jtorch.distributed.groups import ProcessGroup
from jtorch.distributed.reductions import ReduceOp, body_of, check_complex
from jtorch.distributed.work import Work
from jtorch.tensor import Tensor


def all_reduce_coalesced(tensors: list[Tensor], op: Any = ReduceOp.SUM, group: Any = None, async_op: bool = False) -> Any:
    """Reduce each tensor over all ranks, in one message. See torch.distributed.all_reduce_coalesced.

    Args:
        tensors: tensors of one dtype, which the results replace.
        op: the reduction.
        group: the ranks; all, if None.
        async_op: whether to return a Future at once.

    Returns:
        A Future of the tensors if ``async_op``, else None.

    Raises:
        ValueError: tensors of different dtypes, or complex tensors with another reduction than a sum.

    """
    work = begin_all_reduce(tensors, op, group, async_op)
    return None if work is None else work.get_future()


def begin_all_reduce(tensors: list[Tensor], op: Any, group: Any, async_op: bool) -> Work | None:
    """Begin ``all_reduce_coalesced``, and return its Work."""
    tensors = [tensors] if isinstance(tensors, Tensor) else tensors
    check_tensors(tensors, "tensor")
    _check_dtypes(*tensors)
    for t in tensors:
        check_complex(op, t.dtype)

    def do(pg: ProcessGroup) -> None:
        flat = _concatenated(pg, tensors)
        call = described("all_reduce_coalesced", flat, op.name, [tuple(t.shape) for t in tensors])
        _put_parts(tensors, pg.run(call, kernels.all_reduce(body_of(op, flat)), flat))
    return _begin(group, "all_reduce_coalesced", do, async_op, list(tensors), tensors)


def _concatenated(pg: ProcessGroup, tensors: Iterable[Tensor]) -> Any:
    """Return the tensors' elements as one flat array, with complex numbers as pairs."""
    return joined([reals(array_of(pg, t)) for t in tensors])


def _put_parts(tensors: list[Tensor], flat: Any) -> None:
    """Copy consecutive parts of ``flat`` into the tensors."""
    sizes = [t.numel() * (2 if t.dtype.is_complex else 1) for t in tensors]
    for t, part in zip(tensors, split(flat, sizes), strict=True):
        put(t, complexes(part) if t.dtype.is_complex else part)


def all_gather_coalesced(output_tensor_lists: list[list[Tensor]], input_tensor_list: list[Tensor], group: Any = None,
                         async_op: bool = False) -> Any:
    """Fill the list of each rank with that rank's tensors. See torch.distributed.all_gather_coalesced."""
    check_tensors(input_tensor_list, "input_tensor_list")
    if not isinstance(output_tensor_lists, list):
        raise TypeError("Invalid function argument: output_tensor_lists should be a list")
    for rank_list in output_tensor_lists:
        check_tensors(rank_list, "output_tensor_lists")
    _check_dtypes(*input_tensor_list, *chain(*output_tensor_lists))

    def do(pg: ProcessGroup) -> None:
        shapes = [tuple(t.shape) for t in input_tensor_list]
        rows = _gather_arrays(pg, "all_gather_coalesced", _concatenated(pg, input_tensor_list), shapes)
        for tensors, row in zip(output_tensor_lists, rows, strict=True):
            _put_parts(tensors, row)
    work = _begin(group, "all_gather_coalesced", do, async_op, output_tensor_lists, input_tensor_list)
    return None if work is None else work.get_future()


def broadcast_together(tensors: Iterable[Tensor], source: int, group: Any) -> list[tuple[Tensor, Tensor]]:
    """Pair each tensor with the one that the group's rank ``source`` has; tensors of one dtype share a message."""
    by_dtype: dict[Any, list[Tensor]] = {}
    for t in tensors:
        by_dtype.setdefault(t.dtype, []).append(t)
    received: list[tuple[Tensor, Tensor]] = []
    for alike in by_dtype.values():
        flat = flattened([t.detach() for t in alike])
        broadcast(flat, group=group, group_src=source)
        received += zip(alike, unflattened(flat, alike), strict=True)
    return received
