"""The barrier, and the monitored barrier, which names the missing ranks. See torch.distributed.barrier."""
from __future__ import annotations

import time
from datetime import timedelta
from typing import Any

from jtorch._base import warned
from jtorch.distributed.backends import Backend
from jtorch.distributed.collectives import _begin
from jtorch.distributed.errors import DistBackendError
from jtorch.distributed.groups import ProcessGroup
from jtorch.distributed.membership import _rank_not_in_group, get_backend
from jtorch.distributed.work import Work


def barrier(group: Any = None, async_op: bool = False, device_ids: Any = None) -> Work | None:
    """Wait until all ranks of the group call this. See torch.distributed.barrier.

    Args:
        group: the ranks; all, if None.
        async_op: whether to return a Work at once.
        device_ids: accepted and ignored.

    Returns:
        A Work if ``async_op``, else None.

    Raises:
        DistBackendError: a rank calls another collective, does not come in time, or has ended.

    >>> dist = torch.distributed
    >>> dist.init_process_group(store=dist.HashStore(), rank=0, world_size=1)     # a job of one process
    >>> dist.barrier()
    >>> dist.destroy_process_group()

    """
    return _begin(group, "barrier", lambda pg: pg.agree("barrier", pg.timeout.total_seconds()), async_op, None)


def monitored_barrier(group: Any = None, timeout: timedelta | None = None, wait_all_ranks: bool = False) -> None:
    """Wait until all ranks call this; rank 0 names the missing ranks. See torch.distributed.monitored_barrier.

    Args:
        group: the ranks; all, if None.
        timeout: how long rank 0 waits; the group's timeout, if None.
        wait_all_ranks: whether rank 0 names all missing ranks, or only the first.

    Raises:
        RuntimeError: a rank did not come.

    """
    if isinstance(timeout, float):
        warned.warn("Please specify timeout arg as a timedelta. "
                    f"Converting current value of {timeout} assuming it represents seconds")
        timeout = timedelta(seconds=timeout)
    if timeout is not None and not isinstance(timeout, timedelta):
        raise TypeError(f"Expected timeout argument to be of type datetime.timedelta, got {timeout}")

    if not _rank_not_in_group(group) and get_backend(group) not in (Backend.GLOO, Backend.XLA):
        raise ValueError("monitored_barrier is only implemented for GLOO backend.")

    def do(pg: ProcessGroup) -> None:
        pg.monitored += 1
        one = _Monitored(pg, (pg.timeout if timeout is None else timeout).total_seconds())
        if pg.rank() == 0:
            one.wait_for_all(wait_all_ranks)
        else:
            one.report()
    _begin(group, "monitored_barrier", do, False, None)


class _Monitored:
    """One monitored barrier: the other ranks report to rank 0, which answers when all have reported."""

    def __init__(self, pg: ProcessGroup, seconds: float):
        self.pg, self.seconds, self.purpose = pg, seconds, f"monitored {pg.group_name}"
        self.until = time.monotonic() + seconds
        self.said = str(pg.monitored).encode()

    def _send(self, rank: int, said: bytes) -> None:
        self.pg.world.connections.to(self.pg.ranks[rank], self.purpose).send_bytes(said)

    def _receive(self, rank: int, until: float) -> bytes:
        """Return what a rank says about this barrier or a later one, and skip messages about earlier, failed barriers."""
        while True:
            link = self.pg.world.connections.of(self.pg.ranks[rank], self.purpose, max(0.0, until - time.monotonic()))
            if not link.poll(max(0.0, until - time.monotonic())):
                raise DistBackendError(f"Timed out after {self.seconds:g} s")
            heard = link.recv_bytes()
            if int(heard.split()[0]) >= self.pg.monitored:
                return heard

    def report(self) -> None:
        """Report to rank 0, and wait for its answer; other ranks than 0 call this."""
        said = (f"Rank {self.pg.rank()} successfully reached monitoredBarrier, but received errors while waiting for send/recv "
                "from rank 0. Please check rank 0 logs for faulty rank.")
        try:
            self._send(0, self.said)
            heard = self._receive(0, self.until)
        except (OSError, EOFError, RuntimeError) as error:
            raise RuntimeError(f"{said}\n Original exception: \n{error}") from None
        if heard != self.said:
            raise RuntimeError(said)

    def wait_for_all(self, name_all: bool) -> None:
        """Wait for the reports of all ranks and answer them; rank 0 calls this."""
        came: list[int] = []
        ms = round(self.seconds * 1000)
        try:
            for rank in range(1, self.pg.size()):
                self._wait_for(rank, came, name_all, ms)
            absent = [rank for rank in range(1, self.pg.size()) if rank not in came]
            if absent:
                raise RuntimeError(f"[Rank 0]: Ranks {', '.join(map(str, absent))} failed to pass monitoredBarrier in {ms} ms")
        except RuntimeError:
            for rank in came:
                self._send(rank, self.said + b" failed")
            raise
        for rank in came:
            self._send(rank, self.said)

    def _wait_for(self, rank: int, came: list[int], name_all: bool, ms: int) -> None:
        if not name_all and time.monotonic() >= self.until:
            seen = f"Successfully processed ranks: {', '.join(map(str, came))}" if came else "No ranks successfully processed"
            raise RuntimeError(f"[Rank 0]: Rank 0 timed out in monitoredBarrier after {ms} ms.\n {seen} in monitoredBarrier.")
        try:
            self._receive(rank, time.monotonic() + self.seconds if name_all else self.until)
            came.append(rank)
        except (OSError, EOFError, RuntimeError) as error:
            if not name_all:
                raise RuntimeError(f"[Rank 0]: Rank {rank} failed to pass monitoredBarrier in {ms} ms\n Original exception: \n"
                                   f"{error}") from None
