"""Concatenation of tensors into a flat tensor, and the reverse."""
from __future__ import annotations

from collections.abc import Sequence

from jtorch._api.functions import cat
from jtorch.tensor import Tensor


def flattened(tensors: Sequence[Tensor]) -> Tensor:
    """Return all elements of all tensors in one flat tensor."""
    return cat([t.reshape(-1) for t in tensors])        # type: ignore[attr-defined]


def unflattened(flat: Tensor, like: Sequence[Tensor]) -> list[Tensor]:
    """Return views of parts of a flat tensor in the shapes of ``like``."""
    parts = flat.split([t.numel() for t in like])       # type: ignore[attr-defined]
    return [part.view_as(t) for part, t in zip(parts, like, strict=True)]
