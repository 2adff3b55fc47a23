"""Messages between two ranks on their GPUs: a program of both ranks moves each message.

A GPU runs programs in order. So two ranks start the program of a message together, and a rank starts one at a time. The lower
rank proposes a message that both have posted, and waits until the other agrees. Proposals go to higher ranks only, and the
highest rank waits for nobody. So ranks that exchange messages in a ring do not block each other. Messages move while a rank
waits for one of its messages, and before its next collective.
"""
from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from datetime import timedelta
from multiprocessing.connection import Connection, wait
from typing import Any

from jtorch.distributed import kernels
from jtorch.distributed.arrays import array_of, described, put, reshaped
from jtorch.distributed.connections import Connections, pauses
from jtorch.distributed.errors import DistBackendError
from jtorch.distributed.tcp_store import pack, unpack
from jtorch.distributed.transport import Transport
from jtorch.distributed.work import Work
from jtorch.tensor import Tensor

_PURPOSE = "messages of GPUs"
_POLL = 0.01        # Seconds between two looks for messages of ranks that have not connected yet.


@dataclass
class _Message:
    peer: int
    source: int             # The global rank of the sender.
    tensor: Tensor
    array: Any              # The elements: those that are sent, or those that will be replaced.
    said: str               # Dtype and number of elements, which both ranks compare.
    future: Future = field(default_factory=Future)


class Messages:
    """The messages of this rank that have been posted and have not moved yet."""

    def __init__(self, connections: Connections, transport: Transport):
        self._connections, self._transport, self._rank = connections, transport, connections.rank
        self._posted: dict[tuple[int, str], deque[_Message]] = {}       # Maps (other rank, key) to this rank's messages.
        self._announced: dict[tuple[int, str], deque[str]] = {}     # Maps (higher rank, key) to what that rank has posted.
        self._lock = threading.RLock()

    def post(self, pg: Any, tensor: Tensor, peer: int, tag: int, sends: bool) -> Future:
        """Post a message, and return the future of its sender's rank. The n-th send goes to the n-th receive with its tag."""
        array = array_of(pg, tensor)
        flat = reshaped(array, (array.size,))
        source = self._rank if sends else peer
        message, key = _Message(peer, source, tensor, flat, described("", flat)), f"{pg.group_name} {source} {tag}"
        with self._lock:
            self._posted.setdefault((peer, key), deque()).append(message)
            if peer < self._rank:
                self._tell(peer, "have", key, message.said)
        return message.future

    def run_until(self, done: Callable[[], bool], seconds: float) -> None:
        """Move messages until ``done()``; DistBackendError if a rank has ended, or after ``seconds``."""
        until, looks = time.monotonic() + seconds, pauses()
        look = time.monotonic() + next(looks)
        while not done():
            with self._lock:
                moved = self._step(until)
            if moved or done():
                continue
            now = time.monotonic()
            if now >= until:
                raise self._late(seconds)
            if now >= look:
                self._connections.check_alive(self._peers())
                look = now + next(looks)
            links = [link for peer in self._peers() if (link := self._link(peer)) is not None]
            if links:
                wait(links, _POLL)
            else:
                time.sleep(_POLL)

    def finish(self, seconds: float) -> None:
        """Move all messages that have been posted."""
        if any(self._posted.values()):
            self.run_until(lambda: not any(self._posted.values()), seconds)

    def try_now(self) -> None:
        """Move the messages that both ranks have posted already."""
        with self._lock:
            self._step(time.monotonic() + _POLL)

    def _late(self, seconds: float) -> DistBackendError:
        peer, message = next((m.peer, m) for waiting in self._posted.values() for m in waiting)
        return DistBackendError(f"[Rank {self._rank}] Timed out after {seconds:.0f} s in "
                                f"{'send' if message.source == self._rank else 'recv'}, waiting for rank {peer}")

    def _peers(self) -> list[int]:
        return sorted({peer for (peer, _), waiting in self._posted.items() if waiting})

    def _link(self, peer: int) -> Connection | None:
        return self._connections._arrived.get((peer, _PURPOSE))

    def _tell(self, peer: int, *words: str) -> None:
        try:
            self._connections.to(peer, _PURPOSE).send_bytes(pack(*[w.encode() for w in words]))
        except OSError as error:
            raise DistBackendError(f"[Rank {self._rank}] Connection closed by peer: rank {peer} has ended ({error})") from None

    def _step(self, until: float) -> bool:
        """Move messages that both ranks have posted, and return whether there was one."""
        moved = False
        for peer in self._peers():
            # A rank may end after the last message, so nothing is read behind that.
            while peer in self._peers() and (link := self._link(peer)) is not None and link.poll(0):
                moved |= self._hear(peer, link) == "run"
        for peer, key in list(self._posted):
            if peer > self._rank and self._posted[peer, key] and self._announced.get((peer, key)):
                self._propose(peer, key, until)
                moved = True
        return moved

    def _hear(self, peer: int, link: Connection) -> str:
        try:
            kind, key, said = [w.decode() for w in unpack(link.recv_bytes())]
        except (EOFError, OSError):
            raise DistBackendError(f"[Rank {self._rank}] Connection closed by peer: rank {peer} has ended") from None
        if kind == "have":
            self._announced.setdefault((peer, key), deque()).append(said)
        elif kind == "run":
            message = self._posted[peer, key].popleft()
            if said == message.said:
                start = self._prepared(message)
                self._tell(peer, "yes", key, "")
                start()
            else:
                message.future.set_exception(self._differing(message, said))
        return kind

    def _propose(self, peer: int, key: str, until: float) -> None:
        message, theirs = self._posted[peer, key].popleft(), self._announced[peer, key].popleft()
        start = self._prepared(message)
        self._tell(peer, "run", key, message.said)
        if theirs != message.said:
            message.future.set_exception(self._differing(message, theirs))
            return
        link, kind = self._connections.of(peer, _PURPOSE, max(0.0, until - time.monotonic())), ""
        while kind != "yes":
            if not link.poll(max(0.0, until - time.monotonic())):
                raise DistBackendError(f"[Rank {self._rank}] Timed out: rank {peer} has posted a message, and does not wait for "
                                       "it")
            kind = self._hear(peer, link)
        start()

    def _prepared(self, message: _Message) -> Callable[[], None]:
        """Return the function that moves a message, once both ranks are ready."""
        pair = sorted((self._rank, message.peer))
        ready = self._transport.ready(tuple(pair), kernels.send(pair.index(message.source)), message.array)

        def start() -> None:
            with self._connections.naming_ranks(pair, "send" if message.source == self._rank else "recv"):
                made = ready()
            if message.source != self._rank:
                put(message.tensor, made)
            message.future.set_result(message.source)
        return start

    def _differing(self, message: _Message, theirs: str) -> DistBackendError:
        sent, taken = (message.said, theirs) if message.source == self._rank else (theirs, message.said)
        return DistBackendError(f"[Rank {self._rank}] rank {message.source} sends{sent}, and the other rank expects{taken}")


class DeviceMessageWork(Work):
    """A message on GPUs in progress. Waiting for it moves the rank's messages."""

    def __init__(self, messages: Messages, future: Future, tensor: Tensor, seconds: float):
        super().__init__(future, [tensor])
        self._messages, self._seconds = messages, seconds

    def wait(self, timeout: timedelta | None = None) -> bool:
        """Wait until the message has moved, and raise its error."""
        self._messages.run_until(self._future.done, timeout.total_seconds() if timeout else self._seconds)
        return super().wait()

    def is_completed(self) -> bool:
        """Return whether the message has moved."""
        self._messages.try_now()
        return super().is_completed()

    def get_future(self) -> Any:
        """Wait, and return a ``torch.futures.Future`` of the tensor."""
        self.wait()
        return super().get_future()

    def source_rank(self) -> int:
        """Return the sender's rank."""
        return self._future.result()

    _source_rank = source_rank
