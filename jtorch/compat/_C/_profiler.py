"""torch._C._profiler: settings of PyTorch's profiler."""
from __future__ import annotations

from typing import Any


class _ExperimentalConfig:
    """Settings of Kineto, which ``torch.profiler.profile`` accepts and ignores. They can be read as attributes."""

    def __init__(self, **settings: Any):
        vars(self).update(settings)
