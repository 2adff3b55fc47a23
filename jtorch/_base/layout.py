"""torch.layout."""
from __future__ import annotations


class layout:
    """How elements are laid out: all of them (``torch.strided``), or some with their places (``torch.sparse_coo``, …)."""

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
sparse_bsr = layout("sparse_bsr")       # this one and those below: named, but no tensor has it
sparse_bsc = layout("sparse_bsc")
jagged = layout("jagged")
IN_WORDS = {strided: "Strided", sparse_coo: "Sparse", sparse_csr: "SparseCsr", sparse_csc: "SparseCsc", sparse_bsr: "SparseBsr",
            sparse_bsc: "SparseBsc", jagged: "Jagged"}        # as messages say them
in_use: set[layout] = set()       # the sparse ones of which tensors have been made in this process
