"""Functions that stay one call in a trace, so that the host knows them by their names (see ``elementwise.ON_HOST``)."""
from __future__ import annotations

from collections.abc import Callable

import jax


def by_name(fn: Callable) -> Callable:
    """``fn`` as one call in every trace, also where the jits inside are left out (see ``jtorch.engine.host.program``)."""
    jitted = jax.jit(fn)

    def call(*args):
        with jax.disable_jit(False):
            return jitted(*args)
    return call
