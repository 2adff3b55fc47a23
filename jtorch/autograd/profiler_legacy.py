"""torch.autograd.profiler_legacy: an older name of the profiler."""
from __future__ import annotations

from jtorch.autograd.profiler import profile as profile

__all__ = ["profile"]
