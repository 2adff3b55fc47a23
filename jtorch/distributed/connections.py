"""Connections between the processes of a job: each process accepts only peers that know the job's secret."""
from __future__ import annotations

import contextlib
import os
import socket
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from multiprocessing.connection import Connection, answer_challenge, deliver_challenge

from jtorch.distributed.errors import DistBackendError, DistNetworkError
from jtorch.distributed.store import Store
from jtorch.distributed.tcp_store import as_connection, connect, listen, pack, unpack

_GREETING_LIMIT = 10.0      # Seconds that a new connection has to identify itself.
_LONGEST_PAUSE = 5.0        # Seconds between two looks at whether a rank has ended.
_MOMENT = 2.0               # Seconds that the process of an ended rank may take to close its connections.


def pauses() -> Iterator[float]:
    """Yield the seconds until each next look at whether a rank has ended, without end."""
    pause = 0.5
    while True:
        yield pause
        pause = min(2 * pause, _LONGEST_PAUSE)


class Connections:
    """This process's connections to the other ranks, by rank and purpose.

    Args:
        store: the job's store, which holds each rank's address and rank 0's secret.
        rank: this process's rank.
        host: the address to listen on.
        seconds: the time limit for another process to join.

    """

    def __init__(self, store: Store, rank: int, host: str, seconds: float):
        self._store, self.rank, self._seconds = store, rank, seconds
        self._socket = listen(host, 0)
        self._arrived: dict[tuple[int, str], Connection] = {}
        self._news = threading.Condition()
        self._made: dict[tuple[int, str], Connection] = {}
        if rank == 0:
            store.set("secret", os.urandom(32).hex())
        store.set(f"address/{rank}", f"{host} {self._socket.getsockname()[1]}")
        self._secret = bytes.fromhex(store.get("secret").decode())
        threading.Thread(target=self._accept, name="jtorch connections", daemon=True).start()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):      # ``close`` has closed the socket.
            while True:
                made, _ = self._socket.accept()
                threading.Thread(target=self._greet, args=(made,), daemon=True).start()

    def _greet(self, made: socket.socket) -> None:
        link = as_connection(made)
        try:
            if not link.poll(_GREETING_LIMIT):
                raise EOFError
            answer_challenge(link, self._secret)
            deliver_challenge(link, self._secret)
            rank, purpose = unpack(link.recv_bytes(1024))
            with self._news:
                self._arrived[int(rank), purpose.decode()] = link
                self._news.notify_all()
        except Exception:       # Drop a peer that fails the challenge, sends a wrong greeting or is late.
            link.close()

    def to(self, rank: int, purpose: str) -> Connection:
        """Return the connection over which this process sends to another rank for a purpose."""
        found = self._made.get((rank, purpose))
        if found is None:
            host, port = self._address(rank)
            # No retries are needed: a rank begins to listen before it publishes its address.
            found = connect(host, port, self._seconds, retries=False)
            deliver_challenge(found, self._secret)
            answer_challenge(found, self._secret)
            found.send_bytes(pack(str(self.rank).encode(), purpose.encode()))
            self._made[rank, purpose] = found
        return found

    def _address(self, rank: int) -> tuple[str, int]:
        if self._store.wait_until([f"address/{rank}"], self._seconds):
            raise DistNetworkError(f"rank {rank} has not joined within {self._seconds:.0f} s")
        host, port = self._store.get(f"address/{rank}").decode().split()
        return host, int(port)

    def of(self, rank: int, purpose: str, seconds: float) -> Connection:
        """Return the connection over which another rank sends to this one; DistBackendError if none comes in time."""
        key, until = (rank, purpose), time.monotonic() + seconds
        for pause in pauses():
            with self._news:
                if self._news.wait_for(lambda: key in self._arrived, min(pause, max(0.0, until - time.monotonic()))):
                    return self._arrived[key]
            self.check_alive([rank])
            if time.monotonic() >= until:
                break
        raise DistBackendError(f"[Rank {self.rank}] Timed out after {seconds:.0f} s: rank {rank} has not come")

    def check_alive(self, ranks: Iterable[int]) -> None:
        """Raise DistBackendError if one of these ranks has joined the job, and has left it or ended since."""
        for rank in ranks:
            if self._has_ended(rank):
                raise DistBackendError(f"[Rank {self.rank}] Connection closed by peer: rank {rank} has ended")

    def _has_ended(self, rank: int) -> bool:
        if rank == self.rank or self._store.wait_until([f"address/{rank}"], 0):
            return False
        try:
            connect(*self._address(rank), _GREETING_LIMIT, retries=False).close()
        except DistNetworkError as error:
            return isinstance(error.__cause__, ConnectionRefusedError)
        return False

    def _ended_soon(self, ranks: Sequence[int]) -> list[int]:
        """Return the ranks that have ended, or end within a moment: an error may come before the end of its cause."""
        until = time.monotonic() + _MOMENT
        while not (found := [rank for rank in ranks if self._has_ended(rank)]) and time.monotonic() < until:
            time.sleep(_MOMENT / 10)
        return found

    @contextlib.contextmanager
    def naming_ranks(self, ranks: Sequence[int], call: str) -> Iterator[None]:
        """Name, in an error of a program of these ranks, the call and the ranks that have ended; all, if none has."""
        try:
            yield
        except DistBackendError as error:
            with contextlib.suppress(DistNetworkError):     # The store has ended with rank 0.
                ended = self._ended_soon(ranks)
                which = f"rank {', '.join(map(str, ended))} has ended" if ended else f"it has failed on ranks {list(ranks)}"
                raise DistBackendError(f"[Rank {self.rank}] {call}: {which}: {error}") from None
            raise DistBackendError(f"[Rank {self.rank}] {call}: rank 0 has ended: {error}") from None

    def missing(self, world_size: int) -> list[int]:
        """Return the ranks that have not joined the job."""
        return [r for r in range(world_size) if self._store.wait_until([f"address/{r}"], 0)]

    def close(self) -> None:
        """Stop listening, and close all connections."""
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)     # Without this the thread in ``_accept`` would keep the socket open.
        self._socket.close()
        for link in (*self._made.values(), *self._arrived.values()):
            link.close()
