"""Whether this process computes on an accelerator, and whether what is being traced is for a mesh or for other processes."""
from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Iterator

import jax

_tracing = threading.local()


def is_accelerated() -> bool:
    """Whether JAX has an accelerator. Asks nothing of JAX in a process that has not started XLA."""
    started = getattr(sys.modules.get("jax._src.xla_bridge"), "backends_are_initialized", None)
    return started is not None and started() and jax.default_backend() != "cpu"


@contextlib.contextmanager
def traced_for(is_mesh: bool) -> Iterator[None]:
    """What is traced in the block is for one device or a mesh, on which XLA cuts up what it knows."""
    before = is_spread()
    _tracing.is_mesh = is_mesh
    try:
        yield
    finally:
        _tracing.is_mesh = before


@contextlib.contextmanager
def traced_for_others() -> Iterator[None]:
    """What is traced in the block is written down for other processes, which have XLA's own ops alone."""
    before = is_portable()
    _tracing.is_portable = True
    try:
        yield
    finally:
        _tracing.is_portable = before


def is_portable() -> bool:
    """Whether what this thread traces is for other processes."""
    return getattr(_tracing, "is_portable", False)


def is_spread() -> bool:
    """Whether what this thread traces is for a mesh."""
    return getattr(_tracing, "is_mesh", False)
