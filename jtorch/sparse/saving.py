"""Sparse tensors in pickles and checkpoints, in PyTorch's format."""
from __future__ import annotations

from typing import Any

from jtorch._base.layout import sparse_coo
from jtorch.sparse.creation import sparse_compressed_tensor, sparse_coo_tensor
from jtorch.sparse.tensor import CLASSES, CooTensor, SparseTensor, make
from jtorch.tensor import Tensor


def arguments(t: SparseTensor) -> tuple:
    """Return the arguments of PyTorch's ``_rebuild_sparse_tensor``."""
    parts: tuple = (*t.stored_indices, t.stored_values.detach(), t.shape)
    return t.layout, ((*parts, t.coalesced) if isinstance(t, CooTensor) else parts)


def rebuilt(layout: Any, data: tuple) -> SparseTensor:
    """Return the tensor of a layout and the data that ``arguments`` returned for it."""
    if layout is sparse_coo:
        indices, values, size, *coalesced = data
        return sparse_coo_tensor(indices, values, size, check_invariants=True, is_coalesced=bool(coalesced and coalesced[0]))
    starts, others, values, size = data
    return sparse_compressed_tensor(starts, others, values, size, layout=layout, check_invariants=True)


def unchecked(layout: Any, data: tuple) -> SparseTensor:
    """Return a tensor before its elements are read; later it will ``become`` the result of ``rebuilt``."""
    kind = CLASSES.get(layout)
    indices, (values, size) = (data[:1], data[1:3]) if layout is sparse_coo else (data[:2], data[2:4])
    if kind is None or not isinstance(values, Tensor):
        return rebuilt(layout, data)
    return make(kind, tuple(indices), values, tuple(size))      # type: ignore[no-any-return]


def unpickled(layout: str, data: tuple, requires_grad: bool) -> SparseTensor:
    """Return the tensor of a pickle that an earlier version wrote."""
    from jtorch._base import layout as layouts
    return rebuilt(getattr(layouts, layout.removeprefix("torch.")), data).requires_grad_(requires_grad)
