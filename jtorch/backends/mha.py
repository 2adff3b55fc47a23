"""torch.backends.mha: whether nn.MultiheadAttention may take PyTorch's fast path in inference."""
from __future__ import annotations

_fastpath = {"enabled": True}


def get_fastpath_enabled() -> bool:
    """Return whether the fast path is allowed. See torch.backends.mha."""
    return _fastpath["enabled"]


def set_fastpath_enabled(value: bool) -> None:
    """Allow the fast path or not: here that says only how outputs lie in memory. See torch.backends.mha."""
    _fastpath["enabled"] = value
