"""The stored values of a tensor of any layout, and a tensor of other values in the same places."""
from __future__ import annotations

from jtorch._base.layout import sparse_coo, strided
from jtorch.sparse.creation import sparse_coo_tensor, sparse_csr_tensor
from jtorch.tensor import Tensor


class Stored:
    """The values of a tensor: the tensor itself if it is strided."""

    def __init__(self, data: Tensor):
        self._like = data.coalesce() if data.layout is sparse_coo else data
        self.values = self._like if data.layout is strided else self._like.values()

    def rebuilt(self, values: Tensor) -> Tensor:
        """Return a tensor of other values in the same places."""
        like = self._like
        if like.layout is strided:
            return values
        if like.layout is sparse_coo:
            return sparse_coo_tensor(like.indices(), values, like.size(), is_coalesced=True)
        return sparse_csr_tensor(like.crow_indices(), like.col_indices(), values, like.size())
