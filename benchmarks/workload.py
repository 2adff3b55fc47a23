"""The class of a workload, and functions that workloads for ``jax.jit`` share.

Functions import JAX when they run, because the process that measures PyTorch's memory must not load JAX.
"""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

Step = Callable[[], Any]


@dataclass(frozen=True)
class Workload:
    """A named step. ``eager`` is the same code for PyTorch and jtorch; ``jitted`` is written for ``jax.jit``, or None."""

    name: str
    eager: Callable[[Any], Step]
    jitted: Callable[[], Step] | None = None
    steps: int = 200                        # Steps in one round.
    bars: tuple[float | None, float | None] = (None, None)  # Upper limits for the ratios to PyTorch's and jax.jit's time.


def cross_entropy(logits, labels):
    """Return the mean cross entropy over the batch."""
    import jax
    import jax.numpy as jnp
    return -jnp.take_along_axis(jax.nn.log_softmax(logits, -1), labels[:, None], 1).mean()


def adam(p, g, m, v, t, lr=1e-3):
    """Return the new parameter and its new moments after a step of Adam."""
    import jax.numpy as jnp
    m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
    return p - lr * (m / (1 - 0.9 ** t)) / (jnp.sqrt(v) / jnp.sqrt(1 - 0.999 ** t) + 1e-8), m, v
