"""Meetings of all ranks of a job, before they run a program together.

A thread of rank 0, the host, collects what the ranks say and answers all of them at once. It measures the time from the first
rank's arrival, and it sees the connections of ended processes close. So each error names the ranks that are missing, on every
rank. After an error the host answers every further message with the same error.
"""
from __future__ import annotations

import contextlib
import os
import pickle
import sys
import threading
import time
from collections.abc import Iterator
from multiprocessing.connection import Connection, wait
from typing import Any

import jax

from jtorch._base import caller
from jtorch.distributed.connections import Connections
from jtorch.distributed.errors import DistBackendError

# Seconds for which a program may go on after a rank has ended. Then this process ends, since XLA's collectives wait for ever.
GRACE = 5.0
_POLL = 0.5         # Seconds between two looks at the program that runs.


class Host:
    """The thread of rank 0 that all ranks report to."""

    def __init__(self, connections: Connections, size: int, seconds: float):
        self._connections, self._size, self.seconds = connections, size, seconds
        self._links: dict[Connection, int] = {}
        self._watchers: dict[int, Connection] = {}
        self._said: dict[int, tuple] = {}       # What each rank has said in this meeting.
        self._left: set[int] = set()
        self._since = 0.0
        self.failure: str | None = None
        threading.Thread(target=self._serve, name="jtorch meetings", daemon=True).start()

    def _serve(self) -> None:
        with contextlib.suppress(Exception):        # If a rank never joins, the call that joins raises the error.
            for rank in range(self._size):
                self._links[self._connections.of(rank, "meet", self.seconds)] = rank
                self._watchers[rank] = self._connections.of(rank, "watch", self.seconds)
            while self._links:
                self._look()

    def _look(self) -> None:
        left = self._since + self.seconds - time.monotonic() if self._said else None
        ready = wait(list(self._links), None if left is None else max(0.0, left))
        for link in ready:
            self._hear(link, self._links[link])     # type: ignore[arg-type, index]
        if len(self._said) == self._size:
            self._answer_all()
        elif self._said and not ready:
            self._fail(_late(self._said, self._size, self.seconds))

    def _hear(self, link: Connection, rank: int) -> None:
        try:
            said = pickle.loads(link.recv_bytes())
        except (EOFError, OSError):
            self._lose(link, rank)
            return
        if said[0] == "leave":
            self._left.add(rank)
            for watcher in self._watchers.values():
                _send(watcher, ("left", rank))
            self._lose(link, rank)
        elif self.failure is not None:
            _send(link, ("error", self.failure))
        else:
            if not self._said:
                self._since = time.monotonic()
            self._said[rank] = said
            if self._left:
                self._fail(f"rank {min(self._left)} has left the job, and rank {rank} waits for it at {said[-1]}")

    def _lose(self, link: Connection, rank: int) -> None:
        del self._links[link]
        self._said.pop(rank, None)
        if rank not in self._left:
            self._fail(f"rank {rank} has ended{_who_waits(self._said)}")
        elif self._said:
            self._fail(f"rank {rank} has left the job{_who_waits(self._said)}")

    def _fail(self, text: str) -> None:
        if self.failure is None:
            self.failure = text
        for link, rank in self._from_last_rank():
            if rank in self._said:
                _send(link, ("error", self.failure))
            _send(self._watchers[rank], ("error", self.failure))
        self._said.clear()

    def _answer_all(self) -> None:
        answer = answer_of(self._said)
        if answer[0] == "error":
            self._fail(answer[1])
            return
        self._said.clear()
        for link, _ in self._from_last_rank():
            _send(link, answer)

    def _from_last_rank(self) -> list[tuple[Connection, int]]:
        """Return the connections, rank 0's last. Rank 0 may end once it has its answer, and this thread ends with rank 0."""
        return sorted(self._links.items(), key=lambda item: -item[1])


def _send(link: Connection, message: tuple) -> None:
    with contextlib.suppress(OSError):      # The rank has ended. The next ``_look`` finds that.
        link.send_bytes(pickle.dumps(message))


def _who_waits(said: dict[int, tuple]) -> str:
    return "".join([f", and rank {rank} waits for it at {what[-1]}" for rank, what in sorted(said.items())][:1])


def _late(said: dict[int, tuple], size: int, seconds: float) -> str:
    missing = ", ".join([str(rank) for rank in range(size) if rank not in said])
    rank, what = min(said.items())
    alone = " All ranks must read such a value, because they compute it together." if "a read" in what[-1] else ""
    return f"Timed out after {seconds:g} s: rank {missing} has not come to {what[-1]}, where rank {rank} waits.{alone}"


def answer_of(said: dict[int, tuple]) -> tuple:
    """Return the answer to what all ranks have said: ("go", …), ("again", calls), ("describe", calls) or ("error", text)."""
    kinds = {what[0] for what in said.values()}
    if len(kinds) > 1:
        places = "; ".join([f"rank {rank} is at {what[-1]}" for rank, what in sorted(said.items())])
        return "error", f"The ranks disagree on what comes next: {places}"
    kind = kinds.pop()
    if kind == "calls":
        return "error", _difference({rank: what[1] for rank, what in said.items()})
    if kind == "run":
        return _answer_to_run([what[1] for _, what in sorted(said.items())])
    first = said[min(said)]
    other = next((rank for rank, what in sorted(said.items()) if what[1] != first[1]), None)
    if other is not None:
        return "error", f"The ranks disagree: rank {min(said)} is at {first[-1]}, but rank {other} is at {said[other][-1]}"
    return ("go",)


def _answer_to_run(proposals: list[Any]) -> tuple:
    calls = min([p.calls for p in proposals])
    if any([p.calls != calls for p in proposals]):
        return "again", calls
    if any([p.checked != proposals[0].checked for p in proposals]):
        return "describe", calls
    held = 0
    for p in proposals:
        held |= int.from_bytes(p.held, "little")
    first = proposals[0]
    return "go", first._replace(held=held.to_bytes(len(first.held), "little"), is_full=any([p.is_full for p in proposals]))


def _difference(calls: dict[int, list[tuple[str, str]]]) -> str:
    """Return the text of the first difference between the calls of the ranks."""
    first, theirs = min(calls.items())
    for at in range(max(map(len, calls.values()))):
        for rank, ours in sorted(calls.items()):
            a, b = (x[at] if at < len(x) else ("", "nothing more") for x in (theirs, ours))
            if a[0] != b[0]:
                return f"The ranks run different programs: rank {first} is at {a[1]}, but rank {rank} is at {b[1]}"
    return "The ranks run different programs"


class Meeting:
    """This rank's part in the meetings of a job.

    Args:
        connections: the connections between the ranks.
        size: the number of ranks.
        seconds: the time limit of a meeting, and of a program.

    """

    def __init__(self, connections: Connections, size: int, seconds: float):
        self._rank, self._seconds = connections.rank, seconds
        self._host = Host(connections, size, seconds) if connections.rank == 0 else None
        self._link = connections.to(0, "meet")
        self._news = connections.to(0, "watch")
        self.failure: str | None = None
        self._has_left = self._host_has_left = False
        self._failed_at = 0.0
        self._running_since: float | None = None
        threading.Thread(target=self._watch, name="jtorch watch", daemon=True).start()

    def __call__(self, said: Any) -> Any:
        """Agree with the other ranks on the calls that run now. ``said`` has ``proposal`` and ``calls``, see ``engine.job``."""
        proposal = said.proposal()
        while True:
            kind, *answer = self._ask(("run", proposal, proposal.where), proposal.where)
            if kind == "go":
                return answer[0]
            if kind == "describe":
                self._ask(("calls", said.calls(answer[0]), proposal.where), proposal.where)
            proposal = said.proposal(answer[0])

    def same(self, kind: str, what: Any, where: str) -> None:
        """Wait until all ranks say the same ``what``; DistBackendError if one says something else, is late or has ended."""
        where = f"{where} at {caller.line()}"
        self._ask((kind, what, where), where)

    def _ask(self, message: tuple, where: str) -> tuple:
        if self.failure is not None:
            raise DistBackendError(f"[Rank {self._rank}] {self.failure}")
        try:
            self._link.send_bytes(pickle.dumps(message))
            answer = pickle.loads(self._link.recv_bytes())
        except (EOFError, OSError):
            self.failure = f"rank 0 has ended, and rank {self._rank} waits for it at {where}"
            answer = "error", self.failure
        if answer[0] == "error":
            self.failure = answer[1]
            raise DistBackendError(f"[Rank {self._rank}] {self.failure}")
        return answer

    @contextlib.contextmanager
    def running(self) -> Iterator[None]:
        """Mark the time in which this rank runs programs of the job."""
        self._running_since = time.monotonic()
        try:
            yield
        except jax.errors.JaxRuntimeError as error:
            raise DistBackendError(f"[Rank {self._rank}] {self._reason()}a program of all ranks has failed: {error}") from None
        finally:
            self._running_since = None

    def _reason(self) -> str:
        """Wait a moment for the news of an ended rank, which may come after Gloo's error, and return it."""
        until = time.monotonic() + GRACE
        while self.failure is None and time.monotonic() < until:
            time.sleep(_POLL / 10)
        return "" if self.failure is None else f"{self.failure}: "

    def _watch(self) -> None:
        """End this process if a program hangs because another rank has ended, or takes too long: XLA would wait for ever."""
        with contextlib.suppress(OSError):
            while not self._has_left and not self._host_has_left:
                since = self._running_since
                if since is not None and time.monotonic() - since > self._seconds:
                    self._end_process(f"a program of all ranks has not ended within {self._seconds:g} s")
                if self.failure is None and self._news.poll(_POLL):
                    self._take_news()
                elif self.failure is not None:
                    time.sleep(_POLL)
                    if since is not None and since == self._running_since and time.monotonic() - self._failed_at > GRACE:
                        self._end_process(self.failure)

    def _take_news(self) -> None:
        try:
            kind, what = pickle.loads(self._news.recv_bytes())
        except (EOFError, OSError):
            kind, what = "error", "rank 0 has ended"
        if kind == "left":
            self._host_has_left |= what == 0
        elif not self._has_left:
            self.failure, self._failed_at = what, time.monotonic()

    def _end_process(self, why: str) -> None:
        """End this process, whose main thread is in a collective of XLA that never returns."""
        sys.stderr.write(f"DistBackendError: [Rank {self._rank}] {why}\n")
        sys.stderr.flush()
        os._exit(1)

    def leave(self) -> None:
        """Tell the others that this rank has no more calls."""
        if not self._has_left:
            self._has_left = True
            _send(self._link, ("leave",))
