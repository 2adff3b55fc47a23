"""torch.backends.mha: the setting of PyTorch's fast path for nn.MultiheadAttention in inference."""
from __future__ import annotations

_fastpath = {"enabled": True}


def get_fastpath_enabled() -> bool:
    """Return whether the fast path is allowed. See torch.backends.mha."""
    return _fastpath["enabled"]


def set_fastpath_enabled(value: bool) -> None:
    """Allow or forbid the fast path, with which outputs are contiguous, and 0 at padding. See torch.backends.mha."""
    _fastpath["enabled"] = value
