"""Work: collectives that run while the program continues. See torch.distributed.Work."""
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
    """A collective that has begun. See torch.distributed.Work."""

    def __init__(self, future: _Future, result: Any = None):
        self._future, self._result = future, result

    def wait(self, timeout: timedelta | None = None) -> bool:
        """Wait until the collective is done, and raise its error; DistBackendError after ``timeout``."""
        try:
            self._future.result(None if not timeout else timeout.total_seconds())
        except _TimeoutError:
            raise DistBackendError(f"wait timed out after {timeout}") from None
        return True

    def is_completed(self) -> bool:
        """Return whether the collective is done."""
        return self._future.done()

    def is_success(self) -> bool:
        """Return whether the collective is done without an error."""
        return self._future.done() and self._future.exception() is None

    def exception(self) -> BaseException | None:
        """Return the collective's error; None if there is none."""
        return self._future.exception() if self._future.done() else None

    def result(self) -> Any:
        """Wait, and return the tensors that the collective writes to."""
        self.wait()
        return self._result

    def get_future(self) -> Any:
        """Return a ``torch.futures.Future`` of the tensors."""
        made: futures.Future = futures.Future()

        def tell(done: _Future) -> None:
            if done.exception() is not None:
                made.set_exception(done.exception())
            else:
                made.set_result(self._result)
        self._future.add_done_callback(tell)
        return made

    def source_rank(self) -> int:
        """Return the sender's rank; only receives know it, so this raises RuntimeError."""
        raise RuntimeError("sourceRank() may only be called on work objects that correspond to a recv or recv-from-any call.")


SECONDS_AT_EXIT = 2.0


class Lane:
    """A thread that runs functions in the order of their submission; it starts with the first one.

    A function that is submitted from the lane's own thread, such as a collective in another's callback, runs at once. So it
    comes before functions that other threads submitted meanwhile, on every rank.
    """

    def __init__(self, name: str):
        self._name = name
        self._waiting: queue.SimpleQueue = queue.SimpleQueue()
        self._last: _Future | None = None
        self._thread: threading.Thread | None = None

    def submit(self, do: Callable[[], Any]) -> _Future:
        """Run a function after those submitted before, and return its future."""
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
        """Run a function after those submitted before, and return its result; run it in this thread if none is pending."""
        if self._last is None or self._last.done() or threading.current_thread() is self._thread:
            return do()
        return self.submit(do).result()

    def _run(self) -> None:
        while (given := self._waiting.get()) is not None:
            do, made = given
            _settle(made, do)
            del given, do, made

    def _end(self) -> None:
        """Stop the thread before Python ends, since a thread that frees JAX's arrays at that time crashes the process.

        A thread that waits for a lost rank is abandoned after SECONDS_AT_EXIT.
        """
        self._waiting.put(None)
        if self._thread is not None:
            self._thread.join(SECONDS_AT_EXIT)


def _settle(made: _Future, do: Callable[[], Any]) -> None:
    try:
        result = do()
    except BaseException as error:      # noqa: BLE001  (the future hands the error to whoever waits for it)
        made.set_exception(error)
    else:
        made.set_result(result)


def done(result: Any = None) -> Work:
    """Return a Work that is done already."""
    future: _Future = _Future()
    future.set_result(result)
    return Work(future, result)
