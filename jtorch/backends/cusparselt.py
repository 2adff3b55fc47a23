"""torch.backends.cusparselt."""
from __future__ import annotations


def is_available() -> bool:
    """Return False: XLA does not use cuSPARSELt. See torch.backends.cusparselt."""
    return False


def version() -> None:
    """Return None: cuSPARSELt is not available. See torch.backends.cusparselt."""
