"""Flags: the process computes on an accelerator; the thread traces for a mesh; the thread traces for export."""
from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator

import jax

from jtorch._base import jax_private


def is_accelerated() -> bool:
    """Return whether JAX has an accelerator. Return False, without starting XLA, if XLA has not been started."""
    return bool(jax_private.backends_are_initialized()) and jax.default_backend() != "cpu"


class _Tracing(threading.local):
    """What the JAX traces of a thread are for: a mesh, or other processes."""

    is_mesh = is_portable = False


_tracing = _Tracing()


@contextlib.contextmanager
def _with(name: str, value: bool) -> Iterator[None]:
    before = getattr(_tracing, name)
    setattr(_tracing, name, value)
    try:
        yield
    finally:
        setattr(_tracing, name, before)


def traced_for(is_mesh: bool) -> contextlib.AbstractContextManager[None]:
    """Let JAX trace for a mesh, or for one device, in the block. On a mesh XLA can partition only its own ops."""
    return _with("is_mesh", is_mesh)


def traced_for_others() -> contextlib.AbstractContextManager[None]:
    """Let JAX trace for export in the block. Other processes have only XLA's own ops, no custom handlers."""
    return _with("is_portable", True)


def is_portable() -> bool:
    """Return whether JAX traces for other processes in this thread."""
    return _tracing.is_portable


def is_spread() -> bool:
    """Return whether JAX traces for a mesh in this thread."""
    return _tracing.is_mesh
