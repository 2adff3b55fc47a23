"""Collectives of Python objects, which are pickled. See torch.distributed.all_gather_object."""
from __future__ import annotations

import pickle
from typing import Any

import numpy as np

from jtorch.distributed import collectives, membership
from jtorch.distributed.arrays import tensor_of
from jtorch.distributed.groups import ProcessGroup
from jtorch.distributed.point_to_point import recv, send


def _gather_objects(pg: ProcessGroup, name: str, obj: Any) -> list[Any]:
    """Return the objects of all ranks of a group."""
    data = np.frombuffer(pickle.dumps(obj), np.uint8)
    sizes = collectives._gather_arrays(pg, f"{name} size", np.array([data.size], np.int64))[:, 0]
    rows = collectives._gather_arrays(pg, name, np.concatenate([data, np.zeros(int(sizes.max()) - data.size, np.uint8)]))
    # A pickle can run any code, so the ranks of a job trust each other.
    return [pickle.loads(row[:n].tobytes()) for row, n in zip(rows, sizes, strict=True)]


def all_gather_object(object_list: list, obj: Any, group: Any = None) -> None:
    """Fill a list with the objects of all ranks. See torch.distributed.all_gather_object.

    Args:
        object_list: the list, whose elements are replaced.
        obj: this rank's object, which can be pickled.
        group: the ranks; all, if None.

    >>> dist = torch.distributed
    >>> dist.init_process_group(store=dist.HashStore(), rank=0, world_size=1)     # a job of one process
    >>> found = [None]
    >>> dist.all_gather_object(found, {"loss": 1.5})
    >>> found
    [{'loss': 1.5}]
    >>> dist.destroy_process_group()

    """
    def do(pg: ProcessGroup) -> None:
        object_list[:] = _gather_objects(pg, "all_gather_object", obj)
    collectives._begin(group, "all_gather_object", do, False, None)


def gather_object(obj: Any, object_gather_list: list | None = None, dst: int | None = None, group: Any = None,
                  group_dst: int | None = None) -> None:
    """Fill the list of rank ``dst`` with the objects of all ranks. See torch.distributed.gather_object.

    Args:
        obj: this rank's object, which can be pickled.
        object_gather_list: on rank ``dst``, the list, whose elements are replaced; None on the others.
        dst: the global rank that receives; 0, if neither it nor ``group_dst`` is given.
        group: the ranks; all, if None.
        group_dst: the receiver's rank in the group, in place of ``dst``.

    Raises:
        ValueError: a list on another rank than ``dst``, or none on ``dst``.

    """
    def do(pg: ProcessGroup) -> None:
        at = collectives._group_rank_of(pg, dst, group_dst, "dst", 0)
        if (pg.rank() == at) != (object_gather_list is not None):
            raise ValueError("Argument ``gather_list`` must be specified on destination rank." if pg.rank() == at else
                             "Argument ``gather_list`` must NOT be specified on non-destination ranks.")
        found = _gather_objects(pg, "gather_object", obj)
        if object_gather_list is not None:
            object_gather_list[:] = found
    collectives._begin(group, "gather_object", do, False, None)


def broadcast_object_list(object_list: list, src: int | None = None, group: Any = None, device: Any = None,
                          group_src: int | None = None) -> None:
    """Replace a list's objects by those of rank ``src``. See torch.distributed.broadcast_object_list.

    Args:
        object_list: the list, of the same length on all ranks.
        src: the global rank that sends; 0, if neither it nor ``group_src`` is given.
        group: the ranks; all, if None.
        device: accepted and ignored.
        group_src: the sender's rank in the group, in place of ``src``.

    """
    def do(pg: ProcessGroup) -> None:
        at = collectives._group_rank_of(pg, src, group_src, "src", 0)
        found = _gather_objects(pg, "broadcast_object_list", list(object_list) if pg.rank() == at else None)[at]
        if pg.rank() != at:
            object_list[:] = found
    collectives._begin(group, "broadcast_object_list", do, False, None)


def scatter_object_list(scatter_object_output_list: list, scatter_object_input_list: list | None = None, src: int | None = None,
                        group: Any = None, group_src: int | None = None) -> None:
    """Send each rank its object of rank ``src``'s list. See torch.distributed.scatter_object_list.

    Args:
        scatter_object_output_list: a list with at least one element; the first becomes this rank's object.
        scatter_object_input_list: on rank ``src``, an object for each rank.
        src: the global rank that sends; 0, if neither it nor ``group_src`` is given.
        group: the ranks; all, if None.
        group_src: the sender's rank in the group, in place of ``src``.

    Raises:
        ValueError: an output that is no list, or is empty.

    """
    if not isinstance(scatter_object_output_list, list) or not scatter_object_output_list:
        raise ValueError("Expected argument scatter_object_output_list to be a list of size at least 1.")

    def do(pg: ProcessGroup) -> None:
        at = collectives._group_rank_of(pg, src, group_src, "src", 0)
        found = _gather_objects(pg, "scatter_object_list", scatter_object_input_list if pg.rank() == at else None)[at]
        scatter_object_output_list[0] = found[pg.rank()]
    collectives._begin(group, "scatter_object_list", do, False, None)


def _carrier(array: np.ndarray, group: Any, device: Any) -> Any:
    """Return an array as a tensor on a device, or on the device of the group."""
    if device is None and not membership._rank_not_in_group(group):
        device = membership._group_or_default(group).place
    return tensor_of(array).to(device or "cpu")     # type: ignore[attr-defined]


def send_object_list(object_list: list, dst: int | None = None, group: Any = None, device: Any = None,
                     group_dst: int | None = None) -> None:
    """Send a list of objects to a rank. See torch.distributed.send_object_list.

    Args:
        object_list: objects that can be pickled.
        dst: the receiver's global rank.
        group: the group; all ranks, if None.
        device: the device of the tensors that are sent; the group's device, if None.
        group_dst: the receiver's rank in the group, in place of ``dst``.

    """
    data = np.frombuffer(pickle.dumps(object_list), np.uint8)
    for array in (np.array([data.size], np.int64), data):
        send(_carrier(array, group, device), dst, group, group_dst=group_dst)


def recv_object_list(object_list: list, src: int | None = None, group: Any = None, device: Any = None,
                     group_src: int | None = None) -> int:
    """Receive a list of objects. See torch.distributed.recv_object_list.

    Args:
        object_list: the list, whose elements are replaced.
        src: the sender's global rank; any rank, if neither it nor ``group_src`` is given.
        group: the group; all ranks, if None.
        device: the device of the tensors that are received; the group's device, if None.
        group_src: the sender's rank in the group, in place of ``src``.

    Returns:
        The sender's rank.

    """
    size = _carrier(np.zeros(1, np.int64), group, device)
    rank = recv(size, src, group, group_src=group_src)
    data = _carrier(np.zeros(int(size.item()), np.uint8), group, device)
    recv(data, rank, group)
    object_list[:] = pickle.loads(data.cpu().numpy().tobytes())
    return rank
