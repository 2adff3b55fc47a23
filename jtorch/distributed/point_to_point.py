"""Messages from one rank to another, over one connection per pair and tag. See torch.distributed.send."""
from __future__ import annotations

import time
from collections.abc import Callable
from multiprocessing.connection import Connection, wait
from typing import Any

import numpy as np

from jtorch.distributed import collectives, membership
from jtorch.distributed.arrays import array_of, check_tensor, put
from jtorch.distributed.backends import Backend
from jtorch.distributed.device_messages import DeviceMessageWork
from jtorch.distributed.errors import DistBackendError
from jtorch.distributed.groups import ProcessGroup
from jtorch.distributed.profiled import with_event
from jtorch.distributed.tcp_store import pack, unpack
from jtorch.distributed.work import Lane, Work
from jtorch.tensor import Tensor

_lanes: dict[tuple, Lane] = {}


class MessageWork(Work):
    """A send or receive in progress; a receive knows its sender."""

    def source_rank(self) -> int:
        """Return the sender's rank; -1 for a send."""
        source = self._future.result()
        return -1 if source is None else source

    _source_rank = source_rank


def _purpose(pg: ProcessGroup, tag: int) -> str:
    return f"messages {pg.group_name} {tag}"


def _peer(pg: ProcessGroup, rank: int | None, group_rank: int | None, what: str) -> int:
    """Return the global rank of the peer; ValueError if the peer is this process."""
    at = collectives._group_rank_of(pg, rank, group_rank, what)
    if at == pg.rank():
        side = "destination" if what == "dst" else "source"
        raise ValueError(f"Invalid {side} rank: {what} rank should not be the same as the rank of the current process.")
    return pg.ranks[at]


def _send_function(pg: ProcessGroup, tensor: Tensor, to: int, tag: int) -> Callable[[], None]:
    array = np.ascontiguousarray(array_of(pg, tensor))
    head = pack(array.dtype.name.encode(), repr(tuple(array.shape)).encode())

    def do() -> None:
        link = pg.world.connections.to(to, _purpose(pg, tag))
        try:
            link.send_bytes(head)
            link.send_bytes(array.reshape(-1).view(np.uint8).data)
        except OSError as error:
            raise DistBackendError(f"[Rank {pg.rank()}] send: Connection closed by peer: rank {to} has ended ({error})") from None
    return do


def _receive_function(pg: ProcessGroup, tensor: Tensor, source: int | None, tag: int) -> Callable[[], int]:
    def do() -> int:
        seconds = pg.timeout.total_seconds()
        rank, link = _next_message(pg, source, tag, time.monotonic() + seconds, seconds)
        try:
            head = unpack(link.recv_bytes())
            data = link.recv_bytes()
        except (EOFError, OSError):
            raise DistBackendError(f"[Rank {pg.rank()}] recv: Connection closed by peer: rank {rank} has ended") from None
        own = array_of(pg, tensor)
        if head[0].decode() != own.dtype.name or len(data) != own.nbytes:
            raise DistBackendError(f"[Rank {pg.rank()}] recv: rank {rank} sends {head[0].decode()} {head[1].decode()}, and "
                                   f"{own.dtype.name} {tuple(own.shape)} is expected")
        put(tensor, np.frombuffer(data, own.dtype).reshape(own.shape))
        return rank
    return do


def _next_message(pg: ProcessGroup, source: int | None, tag: int, until: float, seconds: float) -> tuple[int, Connection]:
    """Return the sender and the connection of the next message, from one rank or from whichever sends first."""
    connections, purpose = pg.world.connections, _purpose(pg, tag)
    late = DistBackendError(f"[Rank {pg.rank()}] Timed out after {seconds:.0f} s in recv, waiting for "
                            f"{'any rank' if source is None else f'rank {source}'}")
    if source is not None:
        link = connections.of(source, purpose, max(0.0, until - time.monotonic()))
        if not link.poll(max(0.0, until - time.monotonic())):
            raise late
        return source, link
    while time.monotonic() < until:
        arrived = {link: rank for (rank, sent_for), link in list(connections._arrived.items())
                   if sent_for == purpose and rank in pg.ranks}
        ready = wait(list(arrived), 0.01)
        if ready:
            first: Any = ready[0]
            return arrived[first], first
        time.sleep(0.001)
    raise late


def _lane(*key: Any) -> Lane:
    return _lanes.setdefault(key, Lane("messages"))


def send(tensor: Tensor, dst: int | None = None, group: Any = None, tag: int = 0, group_dst: int | None = None) -> None:
    """Send a tensor to a rank, and wait until it is sent. See torch.distributed.send.

    Args:
        tensor: a tensor of any shape and dtype. With "nccl" both ranks' tensors are on their GPUs, and a program of both
            moves the elements.
        dst: the receiver's global rank.
        group: the group; all ranks, if None.
        tag: matches the message with the receiver's ``tag``.
        group_dst: the receiver's rank in the group, in place of ``dst``.

    Raises:
        ValueError: this process is the receiver, or both or none of ``dst`` and ``group_dst``.
        DistBackendError: the receiver has ended.

    """
    work = isend(tensor, dst, group, tag, group_dst)
    if work is not None:
        work.wait()


def isend(tensor: Tensor, dst: int | None = None, group: Any = None, tag: int = 0, group_dst: int | None = None) -> Work | None:
    """Begin to send a tensor to a rank. See torch.distributed.isend, and ``send`` for the arguments.

    Returns:
        The Work; None if this process is not in the group.

    """
    check_tensor(tensor, "tensor")
    pg = membership._group_of_call(group, "isend")
    if pg is None:
        return None
    to = _peer(pg, dst, group_dst, "dst")
    if pg.backend_of([tensor]) == Backend.NCCL:
        return _on_gpus(pg, tensor, to, tag, sends=True)
    run = with_event("gloo:send", [tensor], _send_function(pg, tensor, to, tag))
    return MessageWork(_lane(pg, "to", to, tag).submit(run), [tensor])


def recv(tensor: Tensor, src: int | None = None, group: Any = None, tag: int = 0, group_src: int | None = None) -> int:
    """Receive a tensor from a rank, or from any. See torch.distributed.recv.

    Args:
        tensor: a tensor with the sent tensor's dtype and number of elements, which is written to.
        src: the sender's global rank; any rank, if neither it nor ``group_src`` is given. "nccl" needs one of them.
        group: the group; all ranks, if None.
        tag: matches the message with the sender's ``tag``.
        group_src: the sender's rank in the group, in place of ``src``.

    Returns:
        The sender's rank; -1 if this process is not in the group.

    Raises:
        DistBackendError: the sender has ended, sends another dtype or size, or nothing within the group's timeout.

    """
    work = irecv(tensor, src, group, tag, group_src)
    if work is None:
        return -1
    work.wait()
    return work.source_rank()


def irecv(tensor: Tensor, src: int | None = None, group: Any = None, tag: int = 0, group_src: int | None = None) -> Work | None:
    """Begin to receive a tensor. See torch.distributed.irecv, and ``recv`` for the arguments.

    Returns:
        The Work; None if this process is not in the group.

    """
    check_tensor(tensor, "tensor")
    pg = membership._group_of_call(group, "irecv")
    if pg is None:
        return None
    source = None if src is None and group_src is None else _peer(pg, src, group_src, "src")
    if pg.backend_of([tensor]) == Backend.NCCL:
        if source is None:
            raise RuntimeError("Backend nccl does not support recvAnysource")
        return _on_gpus(pg, tensor, source, tag, sends=False)
    name = "gloo:recvAnySource" if source is None else "gloo:recv"
    take = with_event(name, [tensor], _receive_function(pg, tensor, source, tag))
    return MessageWork(_lane(pg, "of", source, tag).submit(take), [tensor])


def _on_gpus(pg: ProcessGroup, tensor: Tensor, peer: int, tag: int, *, sends: bool) -> Work:
    messages = pg.world.messages
    assert messages is not None
    return DeviceMessageWork(messages, messages.post(pg, tensor, peer, tag, sends), tensor, pg.timeout.total_seconds())


class P2POp:
    """A send or receive of ``batch_isend_irecv``. See torch.distributed.P2POp.

    Args:
        op: ``isend`` or ``irecv``.
        tensor: the tensor to send or to receive into.
        peer: the other side's global rank.
        group: the group; all ranks, if None.
        tag: matches the messages of sender and receiver.
        group_peer: the other side's rank in the group, in place of ``peer``.

    """

    def __init__(self, op: Callable, tensor: Tensor, peer: int | None = None, group: Any = None, tag: int = 0,
                 group_peer: int | None = None):
        if op not in (isend, irecv):
            raise ValueError("Invalid ``op``. Expected ``op`` to be of type ``torch.distributed.isend`` or "
                             "``torch.distributed.irecv``.")
        check_tensor(tensor, "tensor")
        self.op, self.tensor, self.group, self.tag = op, tensor, group, tag
        self.peer, self.group_peer = peer, group_peer
        if not membership._rank_not_in_group(group):
            self.group = pg = membership._group_or_default(group)
            self.group_peer = collectives._group_rank_of(pg, peer, group_peer, "peer")
            self.peer = pg.ranks[self.group_peer]


def batch_isend_irecv(p2p_op_list: list[P2POp]) -> list[Work]:
    """Begin several sends and receives. See torch.distributed.batch_isend_irecv.

    Args:
        p2p_op_list: the sends and receives.

    Returns:
        Their Works.

    Raises:
        ValueError: an empty list, or elements that are no P2POp.

    """
    if not p2p_op_list or not all(isinstance(op, P2POp) for op in p2p_op_list):
        raise ValueError("Invalid ``p2p_op_list``. Each op is expected to to be of type ``torch.distributed.P2POp``.")
    works = [op.op(op.tensor, None, op.group, op.tag, op.group_peer) for op in p2p_op_list]
    return [w for w in works if w is not None]
