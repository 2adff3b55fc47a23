"""Compile in a thread beside the user's, while the program runs on call by call.

When a result is used is decided by counts and estimates (``schedule``), never by whether it is there already: who asks for it
too early waits. So a program switches to compiled code at the same call in every run, and its numbers have the same bits.
"""
from __future__ import annotations

import atexit
import os
import queue
import threading
from collections.abc import Callable
from time import perf_counter
from typing import Any


class Job:
    """Something that the thread is to make, and what came of it."""

    __slots__ = ("_done", "_error", "_made", "_make", "seconds")

    def __init__(self, make: Callable[[], Any]):
        self._make: Callable[[], Any] | None = make
        self._done, self._made, self._error = threading.Event(), None, None
        self.seconds = 0.0

    def run(self) -> None:
        """Make it. An error is kept for who asks for the result."""
        assert self._make is not None
        start = perf_counter()
        try:
            self._made = self._make()
        except BaseException as error:
            self._error = error     # type: ignore[assignment]
        self._make, self.seconds = None, perf_counter() - start
        self._done.set()

    def result(self) -> Any:
        """Return what was made, once it is there; raise the error that came instead."""
        self._done.wait()
        if self._error is not None:
            raise self._error
        return self._made


class _Worker:
    """The thread and the jobs that wait for it. It begins with the first job."""

    def __init__(self):
        self._lock = threading.Lock()
        self._jobs: queue.SimpleQueue[Job] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._busy, self._stopped = threading.Lock(), False     # the first is held while a job runs

    def submit(self, job: Job) -> None:
        with self._lock:
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name="jtorch compiles", daemon=True)
                self._thread.start()
        self._jobs.put(job)

    def _work(self) -> None:
        while True:
            job = self._jobs.get()
            with self._busy:
                if self._stopped:
                    return
                job.run()

    def stop(self) -> None:
        """Wait for the job that runs, and begin no other: XLA must not be compiling while its library is taken down."""
        self._stopped = True
        with self._busy:
            pass


_worker = _Worker()


def submit(make: Callable[[], Any]) -> Job:
    """Have the thread call ``make`` behind all that it was given before."""
    job = Job(make)
    _worker.submit(job)
    return job


def _in_child() -> None:
    global _worker
    _worker = _Worker()     # a forked process has no other thread than the one that forked


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)
atexit.register(lambda: _worker.stop())
