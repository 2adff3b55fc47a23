"""Compile in the background, while the user's program goes on call by call.

A thread sends modules to another process, which compiles them, and loads the results. The process can be killed at any moment,
so a program that ends does not wait for the compiler. It also keeps XLA's threads free for what the program itself compiles.
If the process cannot be started, the thread compiles.

Counts and estimates decide when a result is used (``schedule``). A program that asks for a result too early waits for it. So
a program switches to compiled code at the same call in every run, and its numbers have the same bits.
"""
from __future__ import annotations

import atexit
import contextlib
import os
import pickle
import queue
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import Any

from jtorch._base import jax_private
from jtorch.engine.threads import ClientProxy
from jtorch.ops import _onednn

IDLE = 20.0         # Seconds without a module after which the server ends. A larger value keeps the server's memory for longer.
SERVER = Path(__file__).with_name("compile_server.py")


class Job:
    """A task of the background thread, and its result."""

    __slots__ = ("_done", "_error", "_made", "_make", "seconds")

    def __init__(self, make: Callable[[], Any]):
        self._make: Callable[[], Any] | None = make
        self._done, self._made, self._error = threading.Event(), None, None
        self.seconds = 0.0

    def run(self) -> None:
        """Do the task. An error is kept for the caller of ``result``."""
        assert self._make is not None
        start = perf_counter()
        try:
            self._made = self._make()
        except BaseException as error:
            self._error = error     # type: ignore[assignment]
        self._make, self.seconds = None, perf_counter() - start
        self._done.set()

    def result(self) -> Any:
        """Wait for the task, and return its result or raise its error."""
        self._done.wait()
        if self._error is not None:
            raise self._error
        return self._made


class _Server:
    """The process that compiles. It ends when ``_alive`` (the write end of a pipe) is closed, or with this process."""

    def __init__(self):
        ends, self._alive = os.pipe()
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-P", str(SERVER), str(ends), *_onednn.HANDLERS], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL, pass_fds=(ends,), env={**os.environ, "JAX_PLATFORMS": "cpu"})
        finally:
            os.close(ends)

    def compiled(self, request: tuple) -> bytes | None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        pickle.dump(request, self._process.stdin)
        self._process.stdin.flush()
        return pickle.load(self._process.stdout)

    def end(self) -> None:
        self._process.kill()
        os.close(self._alive)
        for pipe in (self._process.stdin, self._process.stdout):
            with contextlib.suppress(OSError):      # Closing flushes unwritten data, and the process has ended.
                pipe.close()        # type: ignore[union-attr]
        self._process.wait()


def _is_python(executable: str | None) -> bool:
    """Return whether ``sys.executable`` starts Python. If Python is embedded, it may start the embedding program."""
    return bool(executable) and "python" in Path(executable).name and not getattr(sys, "frozen", False)     # type: ignore[arg-type]


class _Worker:
    """The background thread with its waiting jobs, and the server.

    The thread starts with the first job, the server with the first module.
    """

    def __init__(self):
        self._lock = threading.Lock()       # Held while the thread or the server starts, and while the server ends.
        self._jobs: queue.SimpleQueue[Job | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._server: _Server | None = None
        self._has_server, self._stopped = _is_python(sys.executable), False

    def submit(self, job: Job) -> None:
        with self._lock:
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name="jtorch compiles", daemon=True)
                self._thread.start()
        self._jobs.put(job)

    def _work(self) -> None:
        while not self._stopped:
            try:
                job = self._jobs.get(timeout=IDLE if self._server is not None else None)
            except queue.Empty:
                self._end_server()
                continue
            if job is not None and not self._stopped:
                job.run()

    def serialized(self, request: tuple) -> bytes | None:
        """Return the executable that the server compiles; None if there is no server, or if it has failed.

        Raise SystemExit, which ends the job, if the worker is stopped.
        """
        try:
            with self._lock:
                if self._stopped:
                    raise SystemExit
                if self._server is None and self._has_server:
                    self._server = _Server()
            return self._server.compiled(request) if self._server is not None else None
        except (OSError, EOFError, ValueError, pickle.PickleError):
            self._end_server()
            self._has_server = False
        if self._stopped:
            raise SystemExit
        return None

    def _end_server(self) -> None:
        with self._lock:
            if self._server is not None:
                self._server.end()
            self._server = None

    def stop(self) -> None:
        """End the server and the thread: XLA must not compile or load anything while its library is taken down."""
        self._stopped = True
        self._end_server()
        if self._thread is not None:
            self._jobs.put(None)
            self._thread.join()


_worker = _Worker()


def submit(make: Callable[[], Any]) -> Job:
    """Have the background thread call ``make`` after all earlier tasks."""
    job = Job(make)
    _worker.submit(job)
    return job


class Client(ClientProxy):
    """A proxy of JAX's client: the server compiles, and JAX's client loads."""

    made: bytes | None = None       # The executable that the server has compiled.

    def compile_and_load(self, module: Any, executable_devices: Any, compile_options: Any, **more: Any) -> Any:
        """Return the loaded executable of a module. JAX's client compiles the module if the server cannot."""
        request = jax_private.module_to_bytecode(module), compile_options.SerializeAsString(), [d.id for d in executable_devices]
        self.made = _worker.serialized(request)
        if self.made is not None:
            with contextlib.suppress(RuntimeError):     # The executable may be for another JAX or another processor.
                return self._client.deserialize_executable(self.made, executable_devices=executable_devices,
                                                           compile_options=compile_options, **more)
        return self._client.compile_and_load(module, executable_devices=executable_devices, compile_options=compile_options,
                                             **more)


def _in_child() -> None:
    global _worker
    _worker = _Worker()     # A forked process has only the thread that forked.


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)
atexit.register(lambda: _worker.stop())
