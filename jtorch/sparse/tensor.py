"""Sparse tensors: index tensors, and a dense tensor of the stored values, which carries the history.

Ops on dense tensors compute everything on the values, so ``backward`` needs no rules for sparse tensors.
"""
from __future__ import annotations

from typing import Any

from jtorch import engine, storage
from jtorch._backward.view_history import requires_grad
from jtorch._base.layout import IN_WORDS, in_use, layout, sparse_bsc, sparse_bsr, sparse_coo, sparse_csc, sparse_csr
from jtorch.ops.view import h_dims, matrix_dims
from jtorch.storage import Storage, aval_of
from jtorch.tensor import Tensor, blank


class _NoStorage(Storage):
    """The storage of a sparse tensor: it has a shape, dtype and device, and raises if elements are accessed."""

    def __init__(self, aval: engine.Aval):
        self.value: Any = None
        self.aval, self.version, self.generation, self.saved = aval, 0, 0, 0

    def content(self) -> Any:
        """Raise NotImplementedError: there is no content."""
        raise NotImplementedError("Cannot access storage of SparseTensorImpl")

    def to_host(self) -> None:
        """Raise NotImplementedError: there is no content to move."""
        self.content()


class SparseTensor(Tensor):
    """A tensor that stores some of its elements. ``torch.sparse_coo_tensor`` and similar functions create them."""

    _is_of_layout = True
    _asked_by_all = False       # Handwritten functions need not dispatch to this class, since the functions that they call do.
    layout: layout = sparse_coo     # type: ignore[assignment]
    stored_indices: tuple[Tensor, ...]  # One int64 tensor for COO; two of int64 or int32 for other layouts.
    stored_values: Tensor

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: tuple = (), kwargs: Any = None) -> Any:
        """Dispatch a function to its rule for sparse tensors."""
        from jtorch.sparse.rules import dispatch
        return dispatch(func, args, kwargs or {})

    # ------------------------------------------------------------ properties

    is_sparse = property(lambda self: self.layout is sparse_coo)
    is_sparse_csr = property(lambda self: self.layout is sparse_csr)
    backend = property(lambda self: ("Sparse" if self.is_sparse else "SparseCsr") + self.device.type.upper())

    @property
    def grad_fn(self) -> Any:
        """The node that computed the values."""
        return self.stored_values.grad_fn

    is_leaf = property(lambda self: self.stored_values.is_leaf)       # type: ignore[assignment]
    _version = property(lambda self: self.stored_values._version)     # type: ignore[assignment]
    retains_grad = property(lambda self: self.stored_values.retains_grad)     # type: ignore[assignment]

    def sparse_dim(self) -> int:
        """Return the number of dims that the indices have. See torch.Tensor.sparse_dim."""
        return 2 if not self.is_sparse else self.stored_indices[0].shape[0]

    def dense_dim(self) -> int:
        """Return the number of dims that each value has. See torch.Tensor.dense_dim."""
        return self.stored_values.dim() - 1

    def _nnz(self) -> int:
        return self.stored_values.shape[0]

    def _dimI(self) -> int:
        return self.sparse_dim()

    def _dimV(self) -> int:
        return self.dense_dim()

    def stride(self, dim: int | None = None) -> Any:
        """Return zeros for COO, as PyTorch does; RuntimeError for other layouts."""
        if not self.is_sparse:
            raise RuntimeError(f"{self._kind()} tensors do not have strides")
        return (0,) * self.dim() if dim is None else 0

    def is_contiguous(self, memory_format: Any = None) -> bool:
        """Return False for COO, as PyTorch does; RuntimeError for other layouts."""
        if not self.is_sparse:
            raise RuntimeError(f"{self._kind()} tensors do not have is_contiguous")
        return False

    def _kind(self) -> str:
        return f"Sparse {self.layout.name.removeprefix('sparse_').upper()}"

    def data_ptr(self) -> int:
        """Raise NotImplementedError: a sparse tensor has no memory of its own."""
        self._storage.content()
        return 0

    def untyped_storage(self) -> Any:
        """Raise NotImplementedError: a sparse tensor has no storage."""
        self._storage.content()

    storage = untyped_storage

    # ------------------------------------------------------------ autograd

    @property
    def requires_grad(self) -> bool:
        """Whether autograd computes gradients of the values."""
        return requires_grad(self.stored_values)

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        self.requires_grad_(value)

    def requires_grad_(self, requires_grad: bool = True) -> SparseTensor:
        """Set whether autograd records operations on this leaf. See torch.Tensor.requires_grad_."""
        if self.stored_values.grad_fn is None and self.stored_values.requires_grad is not requires_grad:
            self.stored_values = self.stored_values.detach()
        self.stored_values.requires_grad_(requires_grad)
        return self

    @property
    def grad(self) -> Any:
        """The gradient of the values, as a sparse tensor with the same indices."""
        found = self.stored_values.grad
        return None if found is None else self.rebuilt(found)

    @grad.setter
    def grad(self, value: Any) -> None:
        self.stored_values.grad = None if value is None else value.stored_values

    @property     # type: ignore[misc]
    def data(self) -> SparseTensor:     # type: ignore[override]
        """A tensor of the same values without history."""
        return self.rebuilt(self.stored_values.data)

    def detach(self) -> SparseTensor:
        """Return a tensor of the same values without history. See torch.Tensor.detach."""
        return self.rebuilt(self.stored_values.detach())

    def detach_(self) -> SparseTensor:
        """Drop the history. See torch.Tensor.detach_."""
        self.stored_values = self.stored_values.detach()
        return self

    def retain_grad(self) -> None:
        """Make ``backward`` fill ``grad`` of this non-leaf tensor too."""
        self.stored_values.retain_grad()

    def register_hook(self, hook: Any) -> Any:
        """Register a hook that ``backward`` calls with the gradient; its result replaces the gradient."""
        def of_values(grad: Tensor) -> Any:
            made = hook(self.rebuilt(grad))
            return None if made is None else made.stored_values
        return self.stored_values.register_hook(of_values)

    # ------------------------------------------------------------ copies and replacements

    def rebuilt(self, values: Tensor) -> SparseTensor:
        """Return a tensor with the same indices and other values."""
        size = tuple(self.shape)[:self.sparse_dim()] + tuple(values.shape[1:])
        return make(type(self), self.stored_indices, values, size, self)

    def become(self, other: SparseTensor) -> SparseTensor:
        """Replace this tensor's elements by those of another one."""
        self.stored_indices, self.stored_values = other.stored_indices, other.stored_values
        storage.show(self, other._storage, None)
        if isinstance(self, CooTensor):
            self.coalesced = bool(getattr(other, "coalesced", False))
        return self

    def _attributes(self) -> dict:
        """Return the attributes that the user set on the tensor."""
        return {k: v for k, v in super()._attributes().items() if k not in ("stored_indices", "stored_values", "coalesced")}

    def __deepcopy__(self, memo: dict) -> SparseTensor:
        import copy
        made = self.detach().rebuilt(self.stored_values.detach().clone())
        made.stored_indices = tuple([copy.deepcopy(i, memo) for i in self.stored_indices])
        memo[id(self)] = made
        return made.requires_grad_(self.requires_grad)

    def __repr__(self, **options: Any) -> str:      # type: ignore[override]
        from jtorch.sparse.text import text_of
        return text_of(self)

    __str__ = __repr__

    def __format__(self, spec: str) -> str:
        return object.__format__(self, spec)

    def __hash__(self) -> int:
        return id(self)

    @property
    def T(self) -> Any:
        """The tensor with its dims in reverse order."""
        from jtorch.sparse.shape import permute
        return permute(self, list(range(self.dim()))[::-1])

    @property
    def mT(self) -> Any:
        """The tensor with its last two dims exchanged."""
        from jtorch.sparse.shape import conjugate_transpose
        return conjugate_transpose(self, matrix_dims(self.dim(), "tensor.mT"), conjugate=False)

    @property
    def mH(self) -> Any:
        """The tensor with its last two dims exchanged, conjugated."""
        from jtorch.sparse.shape import conjugate_transpose
        return conjugate_transpose(self, matrix_dims(self.dim(), "tensor.mH"))

    @property
    def H(self) -> Any:
        """The matrix transposed and conjugated."""
        from jtorch.sparse.shape import conjugate_transpose
        return conjugate_transpose(self, h_dims(self.dim()))

    def __len__(self) -> int:
        return self.shape[0]


class CooTensor(SparseTensor):
    """A COO tensor: indices of shape (sparse dims, number of values), and values; duplicate elements are summed."""

    coalesced = False

    def is_coalesced(self) -> bool:
        """Return whether the indices are known to be unique and sorted. See torch.Tensor.is_coalesced."""
        return self.coalesced

    def _indices(self) -> Tensor:
        return self.stored_indices[0]

    def _values(self) -> Tensor:
        return self.stored_values.detach()

    def indices(self) -> Tensor:
        """Return the indices, with a row for each sparse dim. See torch.Tensor.indices."""
        self._require_coalesced("indices")
        return self.stored_indices[0].detach()

    def values(self) -> Tensor:
        """Return the values. See torch.Tensor.values."""
        self._require_coalesced("values")
        return self.stored_values.view_as(self.stored_values)       # type: ignore[attr-defined]

    def _require_coalesced(self, what: str) -> None:
        if not self.coalesced:
            raise RuntimeError(f"Cannot get {what} on an uncoalesced tensor, please call .coalesce() first")

    def _coalesced_(self, coalesced: bool) -> CooTensor:
        self.coalesced = coalesced
        return self


class CompressedTensor(SparseTensor):
    """A CSR or CSC matrix: the offsets of each row's (column's) values, the column (row) of each value, and the values."""

    layout = sparse_csr

    def _index_tensor(self, layout: Any, name: str) -> Tensor:
        if (self.layout in (sparse_csr, sparse_bsr)) is not (layout is sparse_csr):
            wanted = "row" if layout is sparse_csr else "column"
            raise RuntimeError(f"{name} expected sparse {wanted} compressed tensor layout but got {IN_WORDS[self.layout]}")
        return self.stored_indices[name in ("col_indices", "row_indices")].detach()

    def crow_indices(self) -> Tensor:
        """Return the offset of each row's first value, and the number of values. See torch.Tensor.crow_indices."""
        return self._index_tensor(sparse_csr, "crow_indices")

    def col_indices(self) -> Tensor:
        """Return the column of each value. See torch.Tensor.col_indices."""
        return self._index_tensor(sparse_csr, "col_indices")

    def ccol_indices(self) -> Tensor:
        """Return the offset of each column's first value, and the number of values. See torch.Tensor.ccol_indices."""
        return self._index_tensor(sparse_csc, "ccol_indices")

    def row_indices(self) -> Tensor:
        """Return the row of each value. See torch.Tensor.row_indices."""
        return self._index_tensor(sparse_csc, "row_indices")

    def values(self) -> Tensor:
        """Return the values. See torch.Tensor.values."""
        return self.stored_values.view_as(self.stored_values)       # type: ignore[attr-defined]

    _values = values


class CscTensor(CompressedTensor):
    """A CSC matrix."""

    layout = sparse_csc


class BsrTensor(CompressedTensor):
    """A BSR matrix: the offsets of each row's (column's) blocks, the column (row) of each block, and the blocks."""

    layout = sparse_bsr

    def dense_dim(self) -> int:
        """Return 0: the dims of the values after the first are those of a block."""
        return 0

    def rebuilt(self, values: Tensor) -> SparseTensor:
        """Return a tensor with the same indices and other blocks."""
        return make(type(self), self.stored_indices, values, tuple(self.shape), self)       # type: ignore[no-any-return]


class BscTensor(BsrTensor):
    """A BSC matrix."""

    layout = sparse_bsc


CLASSES = {sparse_coo: CooTensor, sparse_csr: CompressedTensor, sparse_csc: CscTensor, sparse_bsr: BsrTensor,
           sparse_bsc: BscTensor}
for _cls in (SparseTensor, *CLASSES.values()):
    _cls.__name__, _cls.__qualname__ = "Tensor", "Tensor"       # The expression type(x) shows this name.
    _cls.__module__ = "torch"


def make(cls: type, indices: tuple, values: Tensor, size: tuple, like: Any = None) -> Any:
    """Return a sparse tensor. It is coalesced if ``like``, a COO tensor with the same indices, is coalesced."""
    t: Any = blank(cls)
    t.stored_indices, t.stored_values = indices, values
    in_use.add(cls.layout)      # type: ignore[attr-defined]
    aval = aval_of(values)
    kept: Any = _NoStorage(engine.Aval(tuple(int(n) for n in size), aval.np, aval.device))
    storage.show(t, kept, None)
    if like is not None and isinstance(like, CooTensor):
        t.coalesced = like.coalesced
    return t


def coo(indices: Tensor, values: Tensor, size: tuple, coalesced: bool = False) -> CooTensor:
    """Return a COO tensor."""
    t = make(CooTensor, (indices,), values, size)
    t.coalesced = coalesced or values.shape[0] < 2
    return t


def is_sparse(t: Any) -> bool:
    """Return whether an object is a sparse tensor of any layout."""
    return isinstance(t, SparseTensor)


