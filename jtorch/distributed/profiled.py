"""Profiler events of collectives and messages: ``gloo:all_reduce`` or ``nccl:all_reduce``, with the shapes of the tensors."""
from __future__ import annotations

from collections.abc import Callable, Iterable
from time import perf_counter
from typing import Any

from jtorch.engine import timeline
from jtorch.tensor import Tensor


def with_event(name: str, tensors: Iterable[Tensor], do: Callable[[], Any]) -> Callable[[], Any]:
    """Wrap ``do`` so that it adds an event to the active profile; return ``do`` itself if no profile is active."""
    if not timeline.is_watching():
        return do
    shapes = [[*t.shape, *((2,) if t.dtype.is_complex else ())] for t in tensors]     # PyTorch sends complex numbers as pairs.

    def run() -> Any:
        start = perf_counter()
        try:
            return do()
        finally:
            timeline.annotate(name, start, "collective", inputs=shapes)
    return run
