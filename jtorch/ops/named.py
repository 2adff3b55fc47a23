"""Functions that stay a single call in a JAX trace, so that the host recognizes them or JAX traces them once."""
from __future__ import annotations

from collections.abc import Callable

import jax


def by_name(fn: Callable) -> Callable:
    """Return ``fn`` as a single call in every JAX trace, so that the host recognizes it (``elementwise.ON_HOST``).

    It stays a call even in traces that inline jits (see ``jtorch.engine.host.program``).
    """
    jitted = jax.jit(fn)

    def call(*args):
        with jax.disable_jit(False):
            return jitted(*args)
    return call


traced_once = by_name       # for functions that recur, such as an optimizer's rule: JAX traces and lowers them once per shape
