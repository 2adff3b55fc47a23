"""Collectives that go on while the program does. See torch.distributed.Work."""
from __future__ import annotations

import atexit
import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future as _Future
from concurrent.futures import TimeoutError as _TimeoutError
from datetime import timedelta
from typing import Any

from jtorch import futures
from jtorch.distributed.errors import DistBackendError


class Work:
    """A collective that has been begun. See torch.distributed.Work."""

    def __init__(self, future: _Future, result: Any = None):
        self._future, self._result = future, result

    def wait(self, timeout: timedelta | None = None) -> bool:
        """Waits until it is done, and raises what it raised; DistBackendError after ``timeout``."""
        try:
            self._future.result(None if not timeout else timeout.total_seconds())
        except _TimeoutError:
            raise DistBackendError(f"wait timed out after {timeout}") from None
        return True

    def is_completed(self) -> bool:
        """Whether it is done."""
        return self._future.done()

    def is_success(self) -> bool:
        """Whether it is done and has not raised."""
        return self._future.done() and self._future.exception() is None

    def exception(self) -> BaseException | None:
        """What it raised."""
        return self._future.exception() if self._future.done() else None

    def result(self) -> Any:
        """The tensors it writes to."""
        self.wait()
        return self._result

    def get_future(self) -> Any:
        """A ``torch.futures.Future`` of the tensors."""
        made: futures.Future = futures.Future()

        def tell(done: _Future) -> None:
            if done.exception() is not None:
                made.set_exception(done.exception())
            else:
                made.set_result(self._result)
        self._future.add_done_callback(tell)
        return made

    def source_rank(self) -> int:
        """The rank that a message came from: of those that say so only."""
        raise RuntimeError("sourceRank() may only be called on work objects that correspond to a recv or recv-from-any call.")


SECONDS_AT_EXIT = 2.0


class Lane:
    """A thread that does what it is given, in order; without anything to do there is none.

    What it is given by itself, where a callback of a collective begins another one, it does at once: on each rank that is
    before what was given meanwhile.
    """

    def __init__(self, name: str):
        self._name = name
        self._waiting: queue.SimpleQueue = queue.SimpleQueue()
        self._last: _Future | None = None
        self._thread: threading.Thread | None = None

    def submit(self, do: Callable[[], Any]) -> _Future:
        """Does it after what was given before."""
        made: _Future = _Future()
        if threading.current_thread() is self._thread:
            _settle(made, do)
            return made
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name=self._name, daemon=True)
            self._thread.start()
            atexit.register(self._end)
        self._last = made
        self._waiting.put((do, made))
        return made

    def run(self, do: Callable[[], Any]) -> Any:
        """Does it now, behind what was given before: in this thread, if there is nothing."""
        if self._last is None or self._last.done() or threading.current_thread() is self._thread:
            return do()
        return self.submit(do).result()

    def _run(self) -> None:
        while (given := self._waiting.get()) is not None:
            do, made = given
            _settle(made, do)
            del given, do, made

    def _end(self) -> None:
        """Lets the thread end before Python does: one that is freeing JAX's arrays then would take the process down.

        One that waits for a rank that is gone is left behind.
        """
        self._waiting.put(None)
        if self._thread is not None:
            self._thread.join(SECONDS_AT_EXIT)


def _settle(made: _Future, do: Callable[[], Any]) -> None:
    try:
        result = do()
    except BaseException as error:      # noqa: BLE001  (whoever waits for it gets it)
        made.set_exception(error)
    else:
        made.set_result(result)


def done(result: Any = None) -> Work:
    """Work that is done."""
    future: _Future = _Future()
    future.set_result(result)
    return Work(future, result)
