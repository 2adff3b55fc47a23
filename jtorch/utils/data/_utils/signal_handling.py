"""Signals of workers that die. A worker here is seen to have ended by its pipe, so nothing is set up."""
from __future__ import annotations

from typing import Any


def _set_worker_signal_handlers(*args: Any) -> None:
    """Nothing: a worker that dies closes its pipe."""


_set_worker_pids = _remove_worker_pids = _error_if_any_worker_fails = _set_SIGCHLD_handler = _set_worker_signal_handlers
