"""Signals of workers that die. The end of a worker shows at its pipe, so no handlers are installed."""
from __future__ import annotations

from typing import Any


def _set_worker_signal_handlers(*args: Any) -> None:
    """Do nothing: a worker that dies closes its pipe."""


_set_worker_pids = _remove_worker_pids = _error_if_any_worker_fails = _set_SIGCHLD_handler = _set_worker_signal_handlers
