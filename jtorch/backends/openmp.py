"""torch.backends.openmp."""
from __future__ import annotations


def is_available() -> bool:
    """False: XLA has threads of its own. See torch.backends.openmp."""
    return False
