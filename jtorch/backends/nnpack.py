"""torch.backends.nnpack."""
from __future__ import annotations

import contextlib
from collections.abc import Iterator

_setting = [True]


def is_available() -> bool:
    """False: XLA does not use NNPACK. See torch.backends.nnpack."""
    return False


def set_flags(_enabled: bool) -> tuple[bool]:
    """Keep the setting, which changes nothing; return the one before. See torch.backends.nnpack.set_flags."""
    before = (_setting[0],)
    _setting[0] = _enabled
    return before


@contextlib.contextmanager
def flags(enabled: bool = False) -> Iterator[None]:
    """``set_flags`` for a ``with`` block. See torch.backends.nnpack.flags."""
    before = set_flags(enabled)
    try:
        yield
    finally:
        set_flags(*before)
