"""torch.backends.kleidiai."""
from __future__ import annotations


def is_available() -> bool:
    """Return False: XLA does not use KleidiAI. See torch.backends.kleidiai."""
    return False
