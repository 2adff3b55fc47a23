"""Sparse tensors in pickles and checkpoints, as PyTorch writes them."""
from __future__ import annotations

from typing import Any

from jtorch._base.layout import sparse_coo
from jtorch.sparse.creation import sparse_compressed_tensor, sparse_coo_tensor
from jtorch.sparse.tensor import CooTensor, SparseTensor


def arguments(t: SparseTensor) -> tuple:
    """What PyTorch's ``_rebuild_sparse_tensor`` takes."""
    parts: tuple = (*t.indexed, t.entries.detach(), t.shape)
    return t.layout, ((*parts, t.coalesced) if isinstance(t, CooTensor) else parts)


def rebuilt(layout: Any, data: tuple) -> SparseTensor:
    """A tensor of these arguments."""
    if layout is sparse_coo:
        indices, values, size, *coalesced = data
        return sparse_coo_tensor(indices, values, size, check_invariants=True, is_coalesced=bool(coalesced and coalesced[0]))
    starts, others, values, size = data
    return sparse_compressed_tensor(starts, others, values, size, layout=layout, check_invariants=True)


def reduced(t: SparseTensor) -> tuple:
    """(function, arguments) for pickle."""
    return unpickled, (repr(t.layout), *arguments(t)[1:], t.requires_grad)


def unpickled(layout: str, data: tuple, requires_grad: bool) -> SparseTensor:
    """The tensor of a pickle."""
    from jtorch._base import layout as layouts
    return rebuilt(getattr(layouts, layout.removeprefix("torch.")), data).requires_grad_(requires_grad)
