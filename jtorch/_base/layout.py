"""torch.layout."""
from __future__ import annotations


class layout:
    """The storage scheme of a tensor: all elements (``torch.strided``), or some with indices (``torch.sparse_coo``, …)."""

    __module__ = "jtorch"

    def __init__(self, name: str):
        self.name = name

    def __repr__(self):
        return f"torch.{self.name}"

    def __reduce__(self):
        from jtorch.serialization.rebuild import _get_layout
        return _get_layout, (repr(self),)


strided = layout("strided")
sparse_coo = layout("sparse_coo")
sparse_csr = layout("sparse_csr")
sparse_csc = layout("sparse_csc")
sparse_bsr = layout("sparse_bsr")
sparse_bsc = layout("sparse_bsc")
jagged = layout("jagged")
IN_WORDS = {strided: "Strided", sparse_coo: "Sparse", sparse_csr: "SparseCsr", sparse_csc: "SparseCsc", sparse_bsr: "SparseBsr",
            sparse_bsc: "SparseBsc", jagged: "Jagged"}        # names in messages
in_use: set[layout] = set()       # sparse layouts of tensors that this process has made
