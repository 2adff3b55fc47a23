"""torch.backends.mkl."""
from __future__ import annotations

VERBOSE_OFF, VERBOSE_ON = 0, 1


def is_available() -> bool:
    """Return False: XLA does not use MKL. See torch.backends.mkl.is_available."""
    return False


class verbose:  # noqa: N801
    """A context for MKL's log, without effect since there is no MKL."""

    def __init__(self, enable):
        self.enable = enable

    def __enter__(self):
        return self

    def __exit__(self, *exc_info):
        return False
