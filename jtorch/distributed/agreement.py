"""Agreement of a group's ranks on the collective that they run next."""
from __future__ import annotations

import time

from jtorch.distributed.connections import Connections
from jtorch.distributed.errors import DistBackendError, DistNetworkError


class Agreement:
    """A dissemination barrier over a group that compares the calls of its ranks.

    In round k, each rank sends its call to the rank that is 2**k places ahead. After log2(n) rounds every rank has compared
    its call with all others.

    Source: Hensgen, Finkel and Manber, "Two algorithms for barrier synchronization", 1988.
    """

    def __init__(self, connections: Connections, ranks: list[int], name: str):
        self._connections, self._ranks, self._purpose = connections, ranks, f"agree {name}"
        self._rank, self._place, self._count = connections.rank, ranks.index(connections.rank), 0

    def __call__(self, call: str, seconds: float) -> None:
        """Wait until all ranks of the group announce the same call.

        Args:
            call: the collective with its arguments, as text.
            seconds: the time limit for the whole exchange.

        Raises:
            DistBackendError: a rank announces another call, does not answer in time, or has ended.

        """
        self._count += 1
        said = f"#{self._count} {call}".encode()
        until, n, step = time.monotonic() + seconds, len(self._ranks), 1
        while step < n:
            ahead, behind = self._ranks[(self._place + step) % n], self._ranks[(self._place - step) % n]
            self._send(ahead, step, said)
            heard = self._receive(behind, step, until, call, seconds)
            if heard != said:
                raise DistBackendError(f"Detected mismatch between collectives on ranks. Rank {self._rank} is running "
                                       f"collective: {said.decode()}, but rank {behind} is running collective: {heard.decode()}.")
            step *= 2

    def _send(self, rank: int, step: int, said: bytes) -> None:
        try:
            self._connections.to(rank, f"{self._purpose} {step}").send_bytes(said)
        except (OSError, DistNetworkError) as error:
            raise DistBackendError(f"rank {self._rank}: rank {rank} has ended ({error})") from None

    def _receive(self, rank: int, step: int, until: float, call: str, seconds: float) -> bytes:
        link = self._connections.of(rank, f"{self._purpose} {step}", max(0.0, until - time.monotonic()))
        try:
            if not link.poll(max(0.0, until - time.monotonic())):
                raise DistBackendError(f"[Rank {self._rank}] Timed out after {seconds:.0f} s in {call}: rank {rank} has "
                                       "not called it")
            return link.recv_bytes()
        except (EOFError, OSError) as error:
            raise DistBackendError(f"[Rank {self._rank}] {call}: Connection closed by peer: rank {rank} has ended "
                                   f"({type(error).__name__})") from None
