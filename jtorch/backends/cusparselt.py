"""torch.backends.cusparselt."""
from __future__ import annotations


def is_available() -> bool:
    """False: XLA does not use cuSPARSELt. See torch.backends.cusparselt."""
    return False


def version() -> None:
    """None, since it is not there. See torch.backends.cusparselt."""
