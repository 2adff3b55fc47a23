"""Which modes with ``__torch_dispatch__`` are on in this thread, and when calls look for them."""
from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from typing import Any

from jtorch._base import seam
from jtorch.dispatch import calls
from jtorch.no_grad import mode


class _State(threading.local):
    """Each thread has its own."""

    def __init__(self) -> None:
        self.modes: list = []       # the innermost last
        self.off = 0                # how many blocks switch modes and classes off
        self.inside = 0             # in how many handlers the thread is


state = _State()
_lock = threading.Lock()
_entered = 0            # how many modes are on in all threads
_hooks: Any = None      # what calls go to; set by ``install``
_classes = False        # whether a class with __torch_dispatch__ has been defined


def install(hooks: Any) -> None:
    """Says what calls go to while a mode is on or a class takes over."""
    global _hooks
    _hooks = hooks


def _tell() -> None:
    seam.aten = _hooks if _entered or _classes else None
    calls.detour(seam.aten is not None and _entered > 0)


def expect_classes() -> None:
    """Lets calls look for tensors of classes that take over; plain tensors go on as they did."""
    global _classes
    with _lock:
        if not _classes:
            _classes = True
            _tell()


def push(dispatch_mode: Any) -> None:
    """Enters a mode in this thread."""
    global _entered
    state.modes.append(dispatch_mode)
    with _lock:
        _entered += 1
        _tell()


def pop() -> Any:
    """Leaves the innermost mode."""
    global _entered
    left = state.modes.pop()
    with _lock:
        _entered -= 1
        _tell()
    return left


@contextlib.contextmanager
def switched_off() -> Iterator[None]:
    """No mode and no class takes over a call meanwhile."""
    state.off += 1
    try:
        yield
    finally:
        state.off -= 1


@contextlib.contextmanager
def without_modes() -> Iterator[list]:
    """No mode is on meanwhile; classes go on taking over."""
    modes, state.modes = state.modes, []
    try:
        yield modes
    finally:
        state.modes = modes


@contextlib.contextmanager
def only(modes: list) -> Iterator[None]:
    """These modes are on meanwhile, in place of those that are."""
    before, state.modes = state.modes, modes
    try:
        yield
    finally:
        state.modes = before


@contextlib.contextmanager
def below_autograd() -> Iterator[None]:
    """Nothing is recorded for backward meanwhile."""
    before, mode.grad = mode.grad, False
    state.inside += 1
    try:
        yield
    finally:
        mode.grad = before
        state.inside -= 1
