"""torch.backends.openmp."""
from __future__ import annotations


def is_available() -> bool:
    """Return False: XLA uses its own threads. See torch.backends.openmp."""
    return False
