"""torch.futures: results that another thread sets."""
from __future__ import annotations

import sys
import threading
import traceback
from collections.abc import Callable
from typing import Any, Generic, TypeVar

__all__ = ["Future", "collect_all", "wait_all"]
T = TypeVar("T")


class Future(Generic[T]):
    """A value that any thread sets once and any other thread can wait for. See torch.futures.Future.

    >>> f = torch.futures.Future()
    >>> g = f.then(lambda done: done.value() + 1)
    >>> f.set_result(1); g.wait()
    2

    """

    def __init__(self, *, devices: Any = None):
        self._changed = threading.Condition()
        self._done = False
        self._error: Exception | None = None
        self._value: Any = None
        self._callbacks: list[Callable] = []

    def done(self) -> bool:
        """Return whether the value or an error is set."""
        return self._done

    def wait(self) -> T:
        """Wait for the value and return it; raise the error if there is one."""
        with self._changed:
            self._changed.wait_for(self.done)
        return self.value()

    def value(self) -> T:
        """Return the value, or raise the error; RuntimeError if neither is set yet."""
        if not self._done:
            raise RuntimeError("Future.value() was called before the future was completed: call wait() first")
        if self._error is not None:
            raise self._error
        return self._value

    def _complete(self, value: Any, error: Exception | None) -> None:
        with self._changed:
            if self._done:
                raise RuntimeError("Attempting to mark a completed Future as complete again. Note that a Future can only be "
                                   "marked completed once.")
            self._value, self._error, self._done = value, error, True
            waiting, self._callbacks = self._callbacks, []
            self._changed.notify_all()
        for callback in waiting:
            callback(self)

    def set_result(self, result: T) -> None:
        """Set the value, and run the callbacks."""
        self._complete(result, None)

    def set_exception(self, result: Any) -> None:
        """Set an error, which ``wait`` and ``value`` raise."""
        if not isinstance(result, Exception):
            raise AssertionError(f"{result} is of type {type(result)}, not an Exception.")
        self._complete(None, result)

    def _when_done(self, callback: Callable) -> None:
        with self._changed:
            if not self._done:
                self._callbacks.append(callback)
                return
        callback(self)

    def then(self, callback: Callable[[Future[T]], Any]) -> Future:
        """Return a future of ``callback(self)``, which runs once this future is done."""
        made: Future = Future()

        def run(done: Future) -> None:
            try:
                made.set_result(callback(done))
            except Exception as error:  # noqa: BLE001  (whoever waits gets the error)
                made.set_exception(RuntimeError("Got the following error when running the callback: "
                                                f"{type(error).__name__}: {error}"))
        self._when_done(run)
        return made

    def add_done_callback(self, callback: Callable[[Future[T]], Any]) -> None:
        """Call ``callback`` once this future is done; an exception that it raises is printed."""
        def run(done: Future) -> None:
            try:
                callback(done)
            except Exception:  # noqa: BLE001  (nothing waits for the result)
                sys.stderr.write(f"Got the following error when running the callback: {traceback.format_exc()}")
        self._when_done(run)


def collect_all(futures: list[Future]) -> Future[list[Future]]:
    """Return a future of all futures, which is done once they are. See torch.futures.collect_all.

    Its error is that of the first future in the list that has one.
    """
    made: Future = Future()
    left, lock = [len(futures)], threading.Lock()

    def count(done: Future) -> None:
        with lock:
            left[0] -= 1
            finished = left[0] == 0
        if finished:
            _complete_all(made, futures)
    if not futures:
        made.set_result([])
    for future in futures:
        future._when_done(count)
    return made


def _complete_all(made: Future, futures: list[Future]) -> None:
    error = next((f._error for f in futures if f._error is not None), None)
    if error is None:
        made.set_result(list(futures))
    else:
        made.set_exception(error)


def wait_all(futures: list[Future]) -> list:
    """Return the values of all futures; raise the first error. See torch.futures.wait_all."""
    return [future.wait() for future in collect_all(futures).wait()]
