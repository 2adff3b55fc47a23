"""DataLoader workers that are processes, each with its own pipe.

A worker computes on the host and never starts XLA. ``share`` sends its results. A worker ends when the other end of its pipe
closes, because the iterator or its process is gone.
"""
from __future__ import annotations

import contextlib
import os
import pickle
import queue
import signal
import threading
from multiprocessing import connection, parent_process
from typing import Any

from jtorch import engine
from jtorch._base import warned
from jtorch.utils.data._utils import main, server, share, worker
from jtorch.utils.data._utils.errors import ExceptionWrapper
from jtorch.utils.data._utils.worker import Job


class CannotSend(Exception):
    """Raised if the dataset or a function of the job cannot be sent to a process."""


class Processes:
    """Worker processes, with their pipes and folders."""

    def __init__(self, job: Job, context: Any = None) -> None:
        self.folders = share.Folders()
        self.held: list[Any] = []       # Arrays whose files the workers may still have to open.
        self.members: list[Any] = []
        self.pipes: list[connection.Connection] = []
        try:
            sent = _prepared(job, context, share.Names(self.folders.paths, "job"), self.held)
            for i in range(job.num_workers):
                self._start(server.CONTEXT if context is None else context, sent, i)
        except BaseException:
            self.close()
            raise

    def _start(self, context: Any, sent: Any, worker_id: int) -> None:
        here, there = context.Pipe()
        name = f"DataLoader worker {worker_id}"
        member = context.Process(target=_run, args=(sent, worker_id, there, self.folders.paths), name=name, daemon=True)
        member.start()
        there.close()
        self.members.append(member)
        self.pipes.append(here)

    def send(self, worker_id: int, message: Any) -> None:
        """Send a message to a worker; the death of a worker shows in ``receive``."""
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            self.pipes[worker_id].send(message)

    def receive(self, timeout: float | None, active: list[bool]) -> Any:
        """Return the next result of a worker; ``queue.Empty`` after ``timeout`` seconds, RuntimeError if an active worker
        died.
        """
        working = [i for i, on in enumerate(active) if on]
        pipes: list[Any] = [self.pipes[i] for i in working]
        ready = connection.wait([*pipes, *[self.members[i].sentinel for i in working]], timeout)
        for pipe in pipes:
            if pipe in ready:
                with contextlib.suppress(EOFError, ConnectionResetError):
                    number, sent = pipe.recv()
                    return number, share.loads(sent)
        if not ready:
            raise queue.Empty
        raise self._death([i for i in working if self.members[i].sentinel in ready or self.pipes[i] in ready])

    def _death(self, workers: list[int]) -> RuntimeError:
        for i in workers:
            self.members[i].join(1)
        pids = ", ".join(str(self.members[i].pid) for i in workers)
        error = RuntimeError(f"DataLoader worker (pid(s) {pids}) exited unexpectedly")
        error.__cause__ = RuntimeError(_exit_text(self.members[workers[0]]))
        return error

    def stop(self, worker_id: int) -> None:
        """Tell a worker that no more messages follow."""
        self.send(worker_id, None)

    def close(self) -> None:
        """End all workers: after their current batch if that is soon done, else at once."""
        for i in range(len(self.pipes)):
            self.stop(i)
        for member in self.members:
            member.join(worker.MP_STATUS_CHECK_INTERVAL)
            if member.is_alive():
                member.terminate()
                member.join(worker.MP_STATUS_CHECK_INTERVAL)
        for pipe in self.pipes:
            pipe.close()
        self.folders.remove()


def _exit_text(member: Any) -> str:
    code = member.exitcode
    if code is not None and code < 0:
        return f"DataLoader worker (pid {member.pid}) is killed by signal: {signal.strsignal(-code)}. "
    return (f"DataLoader worker (pid {member.pid}) exited unexpectedly with exit code {code}. Details are lost due to "
            "multiprocessing. Rerunning with num_workers=0 may give better error trace.")


_PICKLING = (TypeError, AttributeError, pickle.PicklingError)


def _prepared(job: Job, context: Any, names: share.Names, held: list) -> Any:
    """Return (the job as ``share.loads`` takes it, or the job itself for a fork; the place of ``__main__`` if a worker has to
    import it; whether classes and functions are sent by value).
    """
    if context is not None:
        return _for_context(job, context, names)
    try:
        sent, of_main = share.dumps(job, names, held=held)
    except _PICKLING as error:
        return _by_value(job, names, held, error)
    if not of_main:
        return sent, None, False
    place = main.where_main_is()
    if place is not None:
        return sent, place, False
    return _by_value(job, names, held, None)


def _by_value(job: Job, names: share.Names, held: list, error: Exception | None) -> Any:
    if share.has_cloudpickle():
        try:
            return share.dumps(job, names, by_value=True, held=held)[0], None, True
        except _PICKLING as other:
            error = other
    raise CannotSend(f"{type(error).__name__}: {error}" if error is not None else
                     "it uses what the program itself defines, outside of `if __name__ == \"__main__\":`") from error


def _for_context(job: Job, context: Any, names: share.Names) -> Any:
    if context.get_start_method() == "fork":
        return job, None, False
    try:
        return share.dumps(job, names)[0], None, False
    except _PICKLING:
        warned.warn("Got pickle error when attempting to start a worker Process. This might be because the worker Process "
                    "arguments are not picklable. Leave multiprocessing_context out, or use multiprocessing_context='thread'.")
        raise


# ---------------------------------------------------------------- in the worker

def _run(prepared: Any, worker_id: int, pipe: connection.Connection, folders: list[str]) -> None:
    """Run a worker process."""
    sent, place, by_value = prepared
    names = share.Names(folders, str(worker_id))
    where = f"in DataLoader worker process {worker_id}"
    messages: queue.SimpleQueue = queue.SimpleQueue()

    def send(result: Any) -> None:
        number, data = result
        try:
            text = share.dumps(data, names, by_value)[0]
        except Exception:  # noqa: BLE001 (raised in the main process)
            text = share.dumps(ExceptionWrapper(where=where), None)[0]
        pipe.send((number, text))

    try:
        engine.stay_on_host()
        main.import_main(place)
        job = sent if isinstance(sent, Job) else share.loads(sent, keep=True)
        worker.enter_process(job, worker_id)
        listener = threading.Thread(target=_listen, args=(pipe, messages, folders), daemon=True)
        listener.start()
        worker.work(job, worker_id, where, messages.get, send)
    except KeyboardInterrupt:
        pass        # The main process has been interrupted too.
    except (BrokenPipeError, ConnectionResetError):
        share.remove(folders)


def _listen(pipe: connection.Connection, messages: queue.SimpleQueue, folders: list[str]) -> None:
    """Move messages from the pipe to a queue, so that the main process never waits for space in the pipe."""
    parent: Any = parent_process()
    try:
        while pipe in connection.wait([pipe, parent.sentinel]) and (message := pipe.recv()) is not None:
            messages.put(message)
        orphan = not parent.is_alive()
    except (EOFError, OSError):
        orphan = True
    if orphan:
        share.remove(folders)
        os._exit(1)
    while not messages.empty():     # Requests that have not begun are no longer needed.
        messages.get()
    messages.put(None)
