"""Functions that stay one call in a trace: for their names, or for their repetitions."""
from __future__ import annotations

from collections.abc import Callable

import jax


def by_name(fn: Callable) -> Callable:
    """``fn`` as one call in every trace, so that the host knows it (``elementwise.ON_HOST``).

    Also where the jits inside are left out (see ``jtorch.engine.host.program``).
    """
    jitted = jax.jit(fn)

    def call(*args):
        with jax.disable_jit(False):
            return jitted(*args)
    return call


traced_once = by_name       # for what comes often, as an optimizer's rule: JAX traces and lowers it once for arguments of a shape
