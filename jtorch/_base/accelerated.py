"""Whether this process computes on an accelerator."""
from __future__ import annotations

import sys

import jax


def is_accelerated() -> bool:
    """Whether JAX has an accelerator. Asks nothing of JAX in a process that has not started XLA."""
    started = getattr(sys.modules.get("jax._src.xla_bridge"), "backends_are_initialized", None)
    return started is not None and started() and jax.default_backend() != "cpu"
