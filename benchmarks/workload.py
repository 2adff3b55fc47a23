"""A workload, and what those written for jax.jit share.

JAX is imported where it is used: the process that measures PyTorch's memory must not hold it.
"""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

Step = Callable[[], Any]


@dataclass(frozen=True)
class Workload:
    """A named step for PyTorch and jtorch (``eager``: one body for both) and, where it can be written, for jax.jit."""

    name: str
    eager: Callable[[Any], Step]
    jitted: Callable[[], Step] | None = None
    steps: int = 200                        # Steps in one round.
    bars: tuple[float | None, float | None] = (None, None)  # Limits for the ratios: of PyTorch's time, and of jax.jit's.


def cross_entropy(logits, labels):
    """The mean over the batch."""
    import jax
    import jax.numpy as jnp
    return -jnp.take_along_axis(jax.nn.log_softmax(logits, -1), labels[:, None], 1).mean()


def adam(p, g, m, v, t, lr=1e-3):
    """The new parameter and moments."""
    import jax.numpy as jnp
    m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
    return p - lr * (m / (1 - 0.9 ** t)) / (jnp.sqrt(v) / jnp.sqrt(1 - 0.999 ** t) + 1e-8), m, v
