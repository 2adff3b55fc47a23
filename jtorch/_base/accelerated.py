"""Whether this process computes on an accelerator, and whether what is being traced is for a mesh or for other processes."""
from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Iterator

import jax


def is_accelerated() -> bool:
    """Whether JAX has an accelerator. Asks nothing of JAX in a process that has not started XLA."""
    started = getattr(sys.modules.get("jax._src.xla_bridge"), "backends_are_initialized", None)
    return started is not None and started() and jax.default_backend() != "cpu"


class _Tracing(threading.local):
    """What a thread traces is for."""

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
    """What is traced in the block is for one device or a mesh, on which XLA cuts up what it knows."""
    return _with("is_mesh", is_mesh)


def traced_for_others() -> contextlib.AbstractContextManager[None]:
    """What is traced in the block is written down for other processes, which have XLA's own ops alone."""
    return _with("is_portable", True)


def is_portable() -> bool:
    """Whether what this thread traces is for other processes."""
    return _tracing.is_portable


def is_spread() -> bool:
    """Whether what this thread traces is for a mesh."""
    return _tracing.is_mesh
