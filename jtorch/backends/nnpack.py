"""torch.backends.nnpack."""
from __future__ import annotations


def is_available() -> bool:
    """False: XLA does not use NNPACK. See torch.backends.nnpack."""
    return False
