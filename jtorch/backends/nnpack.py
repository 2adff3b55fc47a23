"""torch.backends.nnpack."""
from __future__ import annotations

import contextlib
from collections.abc import Iterator

_setting = [True]


def is_available() -> bool:
    """Return False: XLA does not use NNPACK. See torch.backends.nnpack."""
    return False


def set_flags(_enabled: bool) -> tuple[bool]:
    """Store the setting, which has no effect, and return the previous one. See torch.backends.nnpack.set_flags."""
    before = (_setting[0],)
    _setting[0] = _enabled
    return before


@contextlib.contextmanager
def flags(enabled: bool = False) -> Iterator[None]:
    """Apply ``set_flags`` within a block. See torch.backends.nnpack.flags."""
    before = set_flags(enabled)
    try:
        yield
    finally:
        set_flags(*before)
