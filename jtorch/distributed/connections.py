"""Connections between the processes of a job: each process accepts only peers that know the job's secret."""
from __future__ import annotations

import contextlib
import os
import socket
import threading
from multiprocessing.connection import Connection, answer_challenge, deliver_challenge

from jtorch.distributed.errors import DistBackendError, DistNetworkError
from jtorch.distributed.store import Store
from jtorch.distributed.tcp_store import as_connection, connect, listen, pack, unpack

_GREETING_LIMIT = 10.0      # Seconds that a new connection has to identify itself.


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
        with contextlib.suppress(OSError):      # The socket was closed.
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
        except Exception:       # Nothing of a peer that fails the challenge is trusted.
            link.close()

    def to(self, rank: int, purpose: str) -> Connection:
        """Return the connection over which this process sends to another rank for a purpose."""
        found = self._made.get((rank, purpose))
        if found is None:
            host, port = self._address(rank)
            found = connect(host, port, self._seconds)
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
        key = (rank, purpose)
        with self._news:
            if not self._news.wait_for(lambda: key in self._arrived, seconds):
                raise DistBackendError(f"[Rank {self.rank}] Timed out after {seconds:.0f} s: rank {rank} has not come")
            return self._arrived[key]

    def close(self) -> None:
        """Stop listening, and close all connections."""
        self._socket.close()
        for link in (*self._made.values(), *self._arrived.values()):
            link.close()
