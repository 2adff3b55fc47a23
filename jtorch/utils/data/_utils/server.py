"""A clean process from which worker processes are forked quickly, since the main process must not be forked.

XLA's threads do not survive a fork, so a process that has run JAX cannot be forked safely, and a fresh process takes long to
import JAX. So one server process imports jtorch, without starting XLA, and forks itself for each worker. It is a
``multiprocessing`` fork server with its own settings. Its children do not import the user's ``__main__`` unless a worker
needs it.
"""
from __future__ import annotations

import io
import sys
from multiprocessing import context, process, util
from typing import Any

CLEAN = sys.platform != "win32"      # Windows has no fork server, so CONTEXT spawns processes.

if CLEAN:
    import os
    from multiprocessing import forkserver, popen_forkserver, reduction, spawn

    _server = forkserver.ForkServer()
    _server.set_forkserver_preload(["jtorch.utils.data._utils.process"])

    def _close(*numbers: int) -> None:
        for n in numbers:
            os.close(n)

    class _Popen(popen_forkserver.Popen):
        """A child of the server."""

        def _launch(self, process_obj: Any) -> None:
            settings = spawn.get_preparation_data(process_obj._name)
            settings.pop("init_main_from_path", None)
            settings.pop("init_main_from_name", None)
            text = io.BytesIO()
            context.set_spawning_popen(self)
            try:
                reduction.dump(settings, text)
                reduction.dump(process_obj, text)
            finally:
                context.set_spawning_popen(None)
            self.sentinel, to_child = _server.connect_to_new_process(self._fds)     # type: ignore[attr-defined]
            kept = os.dup(to_child)     # When this copy closes, the child knows that this process has ended.
            self.finalizer = util.Finalize(self, _close, (kept, self.sentinel))
            with open(to_child, "wb") as pipe:
                pipe.write(text.getbuffer())
            self.pid = forkserver.read_signed(self.sentinel)

    class _Process(process.BaseProcess):
        _start_method = "forkserver"

        @staticmethod
        def _Popen(process_obj: Any) -> Any:
            return _Popen(process_obj)

    class _Context(context.BaseContext):
        _name = "forkserver"
        Process = _Process      # type: ignore[assignment]

    CONTEXT: Any = _Context()
else:
    CONTEXT = context.SpawnContext()


def start() -> None:
    """Start the server if it does not run, without waiting for its imports."""
    if CLEAN:
        _server.ensure_running()
