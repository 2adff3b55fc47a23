"""The workloads timed on a GPU: the models of ``benchmarks`` at sizes for a GPU, and the same models at tiny sizes."""
from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from benchmarks.larger import gpt
from benchmarks.models import generation, resnet18
from benchmarks.programs import cached_generation
from benchmarks.workload import Step
from benchmarks.workloads import MLP


@dataclass(frozen=True)
class GpuWorkload:
    """A named step for PyTorch and jtorch, and in some cases for jax.jit."""

    name: str
    eager: Callable[[Any], Step]
    jitted: Callable[[], Step] | None = None


def by_hand(name: str, sizes: dict[str, Any]) -> Callable[[], Step]:
    """Return a function that makes the step of that name in ``by_hand.py``. The function imports the module and JAX."""
    return lambda: getattr(importlib.import_module("tools.gpu.by_hand"), name)(**sizes)


def _with_a_cache(torch: Any, sizes: dict[str, Any]) -> Step:
    """Return a step that generates tokens with a new model and a cache."""
    device = torch.get_default_device()

    def step():
        with torch.device(device):
            return [*cached_generation(torch, **sizes)][-1]
    return step


def workloads(tiny: bool) -> tuple[GpuWorkload, ...]:
    """Return all workloads."""
    mlp = MLP(32, (16, 32, 10)) if tiny else MLP(1024, (784, 4096, 4096, 4096, 10))
    image = {"batch": 2, "size": 16} if tiny else {"batch": 64, "size": 224, "classes": 1000}
    text = {"layers": 1, "width": 32, "batch": 2, "length": 16} if tiny else {
        "layers": 12, "width": 768, "batch": 8, "length": 512, "heads": 12, "vocabulary": 50257}
    tokens, wide = (4, {"layers": 1, "width": 32}) if tiny else (64, {"layers": 12, "width": 768})
    cached = {"count": tokens, "heads": 2 if tiny else 12, **wide}
    return (GpuWorkload("MLP", mlp.eager, mlp.jitted),
            GpuWorkload("ResNet-18", lambda torch: resnet18(torch, **image), None if tiny else by_hand("resnet18", image)),
            GpuWorkload("GPT-2 small", lambda torch: gpt(torch, **text), by_hand("gpt", text)),
            GpuWorkload("generation", lambda torch: generation(torch, tokens, **wide)),
            GpuWorkload("cached generation", lambda torch: _with_a_cache(torch, cached)))
