"""The stack of modes with ``__torch_dispatch__`` of each thread, and the switch that makes calls look for them."""
from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from typing import Any

from jtorch._base import late_bindings
from jtorch.dispatch import calls
from jtorch.no_grad import mode


class _State(threading.local):
    """A thread's modes and switches."""

    def __init__(self) -> None:
        self.modes: list = []       # innermost last
        self.off = 0                # the number of blocks that switch modes and classes off
        self.inside = 0             # the number of handlers that are running
        self.tracer: Any = None     # records the thread's calls as a graph


state = _State()
_lock = threading.Lock()
_entered = 0            # the number of active modes and tracers in all threads
_hooks: Any = None      # the module for ``late_bindings.aten``; set by ``install``
_classes = False        # True once a class with __torch_dispatch__ is defined


def install(hooks: Any) -> None:
    """Set the module that handles calls for modes and classes."""
    global _hooks
    _hooks = hooks


def _tell() -> None:
    late_bindings.aten = _hooks if _entered or _classes else None
    calls.detour(late_bindings.aten is not None and _entered > 0)


def expect_classes() -> None:
    """Let calls look for tensors of classes with ``__torch_dispatch__``. The extension still handles plain tensors."""
    global _classes
    with _lock:
        if not _classes:
            _classes = True
            _tell()


def push(dispatch_mode: Any) -> None:
    """Enter a mode in this thread."""
    global _entered
    state.modes.append(dispatch_mode)
    with _lock:
        _entered += 1
        _tell()


def pop() -> Any:
    """Leave the innermost mode."""
    global _entered
    left = state.modes.pop()
    with _lock:
        _entered -= 1
        _tell()
    return left


@contextlib.contextmanager
def traced_by(tracer: Any) -> Iterator[None]:
    """Send the thread's calls to a tracer before they are decomposed."""
    global _entered
    before, state.tracer = state.tracer, tracer
    with _lock:
        _entered += 1
        _tell()
    try:
        yield
    finally:
        state.tracer = before
        with _lock:
            _entered -= 1
            _tell()


@contextlib.contextmanager
def switched_off() -> Iterator[None]:
    """Switch modes and classes off in the block."""
    state.off += 1
    try:
        yield
    finally:
        state.off -= 1


@contextlib.contextmanager
def without_modes() -> Iterator[list]:
    """Switch modes off in the block, but not classes. Yield the modes."""
    modes, state.modes = state.modes, []
    try:
        yield modes
    finally:
        state.modes = modes


@contextlib.contextmanager
def only(modes: list) -> Iterator[None]:
    """Replace the thread's modes in the block."""
    before, state.modes = state.modes, modes
    try:
        yield
    finally:
        state.modes = before


@contextlib.contextmanager
def below_autograd() -> Iterator[None]:
    """Turn gradients off in the block, which runs a handler."""
    before, mode.grad = mode.grad, False
    state.inside += 1
    try:
        yield
    finally:
        mode.grad = before
        state.inside -= 1
