"""A store that one process serves over TCP. See torch.distributed.TCPStore."""
from __future__ import annotations

import contextlib
import socket
import struct
import threading
import time
from datetime import timedelta
from multiprocessing.connection import Connection

from jtorch.distributed.errors import DistNetworkError, DistStoreError
from jtorch.distributed.store import DEFAULT_TIMEOUT, HashStore, Store, arrive

GREETING = b"jtorch-store-1"
_WORKERS = "\0workers"


def pack(*parts: bytes) -> bytes:
    """Pack several pieces of bytes into one message, each with its length."""
    return b"".join([struct.pack("<I", len(p)) + p for p in parts])


def unpack(message: bytes) -> list[bytes]:
    """Return the pieces of a message; ValueError if the message is truncated."""
    parts, at = [], 0
    while at < len(message):
        (n,) = struct.unpack_from("<I", message, at)
        if at + 4 + n > len(message):
            raise ValueError("a message that was cut off")
        parts.append(message[at + 4:at + 4 + n])
        at += 4 + n
    return parts


def listen(host: str, port: int) -> socket.socket:
    """Return a socket that listens on this address only; DistNetworkError if the port is taken."""
    family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
    made = socket.socket(family, socket.SOCK_STREAM)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        made.bind((host, port))
    except OSError as error:
        made.close()
        raise DistNetworkError(f"The server socket has failed to listen on any local network address. port: {port}, "
                               f"useIpv6: {family == socket.AF_INET6}, code: {-(error.errno or 0)}, name: E"
                               f"{'ADDRINUSE' if error.errno == 98 else error.errno}, message: {error.strerror}") from None
    made.listen(1024)
    return made


def connect(host: str, port: int, seconds: float, retries: bool = True) -> Connection:
    """Connect to an address, and retry until it listens; DistNetworkError after ``seconds``, or at once without ``retries``."""
    until = time.monotonic() + seconds
    while True:
        try:
            made = socket.create_connection((host, port), timeout=max(0.1, until - time.monotonic()))
        except OSError as error:
            if not retries:
                raise DistNetworkError(f"The client socket has failed to connect to ({host}, {port}): {error}") from error
            if time.monotonic() >= until:
                raise DistNetworkError(f"The client socket has timed out after {int(seconds * 1000)}ms while trying to connect "
                                       f"to ({host}, {port}): {error}") from error
            time.sleep(0.05)
            continue
        return as_connection(made)


def as_connection(made: socket.socket) -> Connection:
    """Wrap a socket in a Connection, which sends and receives whole messages."""
    made.settimeout(None)
    made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return Connection(made.detach())


class _Server:
    """Answers the requests of all connections, each in its own thread."""

    def __init__(self, host: str, port: int):
        self.held = HashStore()
        self._socket = listen(host, port)
        self.port = self._socket.getsockname()[1]
        threading.Thread(target=self._accept, name="jtorch store", daemon=True).start()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):      # ``close`` has closed the socket.
            while True:
                made, _ = self._socket.accept()
                threading.Thread(target=self._serve, args=(as_connection(made),), daemon=True).start()

    def _serve(self, client: Connection) -> None:
        with contextlib.suppress(EOFError, OSError, ValueError, struct.error), client:
            if client.recv_bytes(len(GREETING)) != GREETING:
                return
            while True:
                client.send_bytes(pack(*self._answer(*unpack(client.recv_bytes()))))

    def _answer(self, kind: bytes, *args: bytes) -> list[bytes]:
        held = self.held
        if kind == b"read":
            found = held.read(args[0].decode())
            return [] if found is None else [found]
        if kind == b"wait":
            return [k.encode() for k in held.wait_until([a.decode() for a in args[1:]], float(args[0]))]
        if kind == b"num":
            return [str(held.num_keys()).encode()]
        told = held.update(args[0].decode(), (kind.decode(), *args[1:]))
        return [] if told is None else [told]

    def close(self) -> None:
        """Stop listening."""
        self._socket.close()


class TCPStore(Store):
    """A store that one process (``is_master``) serves on ``host_name:port``, and to which the others connect.

    See torch.distributed.TCPStore.

    Args:
        host_name: the master's address, the only one on which it listens.
        port: the port; 0 for any free port, which the attribute ``port`` names.
        world_size: the number of stores.
        is_master: whether this store serves.
        timeout: the time limit of connecting, ``get`` and ``wait``.
        wait_for_workers: whether the master waits for ``world_size`` stores.
        multi_tenant: accepted and ignored.
        master_listen_fd: accepted and ignored.
        use_libuv: accepted and ignored.

    Raises:
        DistNetworkError: the port is taken, or the master can't be reached.
        DistStoreError: fewer than ``world_size`` stores came in time.

    >>> store = torch.distributed.TCPStore("127.0.0.1", 0, is_master=True)
    >>> store.set("k", "v")
    >>> store.get("k")
    b'v'

    """

    def __init__(self, host_name: str, port: int = 0, world_size: int | None = None, is_master: bool = False,
                 timeout: timedelta = DEFAULT_TIMEOUT, wait_for_workers: bool = True, multi_tenant: bool = False,
                 master_listen_fd: int | None = None, use_libuv: bool = True) -> None:
        super().__init__()
        self._timeout, self.host, self.world_size, self.is_master = timeout, host_name, world_size, is_master
        self._server = _Server(host_name, port) if is_master else None
        self.port = self._server.port if self._server is not None else port
        self._lock = threading.Lock()
        self._idle = [self._connect()]
        if world_size is not None and world_size > 0:
            self._wait_for_workers(world_size, wait_for_workers and is_master)

    def _connect(self) -> Connection:
        made = connect(self.host, self.port, self._timeout.total_seconds())
        made.send_bytes(GREETING)
        return made

    def _wait_for_workers(self, world_size: int, wait: bool) -> None:
        all_there = arrive(self, _WORKERS, world_size)
        if wait and self.wait_until([all_there], self._timeout.total_seconds()):
            joined = self.add(_WORKERS, 0)
            if joined < world_size:     # Otherwise the last worker joined just after the timeout.
                raise DistStoreError(f"Timed out after {int(self._timeout.total_seconds()) + 1} seconds waiting for clients. "
                                     f"{joined}/{world_size} clients joined.")

    def _ask(self, *parts: bytes) -> list[bytes]:
        """Send a request to the master, and return its answer. A connection serves one thread at a time, so waits do not
        block others.
        """
        with self._lock:
            link = self._idle.pop() if self._idle else None
        link = self._connect() if link is None else link
        try:
            link.send_bytes(pack(*parts))
            answer = unpack(link.recv_bytes())
        except (EOFError, OSError) as error:
            link.close()
            raise DistNetworkError(f"The store at {self.host}:{self.port} does not answer: its process may have ended "
                                   f"({error})") from None
        except BaseException:
            link.close()        # After an interrupt the next request must not read the pending answer of this one.
            raise
        with self._lock:
            self._idle.append(link)
        return answer

    def read(self, key: str) -> bytes | None:
        return next(iter(self._ask(b"read", key.encode())), None)

    def update(self, key: str, change: tuple) -> bytes | None:
        return next(iter(self._ask(change[0].encode(), key.encode(), *change[1:])), None)

    def wait_until(self, keys: list[str], seconds: float) -> list[str]:
        return [k.decode() for k in self._ask(b"wait", repr(seconds).encode(), *[k.encode() for k in keys])]

    def num_keys(self) -> int:
        return int(self._ask(b"num")[0])

    def __del__(self) -> None:
        if getattr(self, "_server", None) is not None:
            self._server.close()        # type: ignore[union-attr]
        for link in getattr(self, "_idle", ()):
            link.close()
