"""Creation of sparse tensors from indices and values. See torch.sparse_coo_tensor and similar functions."""
from __future__ import annotations

from typing import Any

import numpy as np

from jtorch._api import functions
from jtorch._api.creation import as_tensor
from jtorch._base.layout import IN_WORDS, sparse_bsc, sparse_bsr, sparse_coo, sparse_csc, sparse_csr
from jtorch.no_grad import mode
from jtorch.sparse import blocks, places
from jtorch.sparse.blocks import is_block
from jtorch.sparse.rules import not_there, rule
from jtorch.sparse.tensor import CLASSES, CompressedTensor, CooTensor, coo, make
from jtorch.tensor import Tensor

invariants = [False]        # Whether constructors check indices, unless they get ``check_invariants``.


def _indices(given: Any, device: Any) -> Tensor:
    t = as_tensor(given, device=device)
    t = t.detach() if t.dtype.name in ("int64", "int32") else t.detach().long()
    return t.to(device) if device is not None else t


def _values(given: Any, dtype: Any, device: Any, requires_grad: bool) -> Tensor:
    """Return the values as a tensor: a leaf if ``requires_grad``, else a view of ``given`` that passes gradients on to it."""
    made = as_tensor(given, dtype=dtype, device=device)
    if requires_grad:
        return made.detach().requires_grad_()
    return made.view_as(made) if made.requires_grad and mode.grad else made.detach()        # type: ignore[attr-defined]


def sparse_coo_tensor(*args: Any, dtype: Any = None, device: Any = None, requires_grad: bool = False, pin_memory: bool = False,
                      check_invariants: bool | None = None, is_coalesced: bool | None = None, **named: Any) -> CooTensor:
    """Return a COO tensor. See torch.sparse_coo_tensor.

    Args:
        args: ``indices``, integers of shape (sparse dims, number of values); ``values`` of shape (number of values, dense
            dims ...); and ``size``. A size alone gives a tensor without values. Without a size, the smallest that fits is
            used.
        dtype: the dtype of the values.
        device: the device.
        requires_grad: whether autograd records operations on the tensor.
        pin_memory: accepted and ignored.
        check_invariants: whether to check that indices are within bounds.
        is_coalesced: whether the indices are unique and sorted.
        named: the same arguments by name.

    Returns:
        The tensor.

    Raises:
        RuntimeError: shapes that do not fit, or a negative index.

    >>> torch.sparse_coo_tensor([[0, 1], [1, 0]], [2.0, 3.0], (2, 2)).to_dense()
    tensor([[0., 2.],
            [3., 0.]])

    """
    parts = dict(zip(("indices", "values", "size"), args, strict=False), **named)
    odd = next((k for k in named if k not in ("indices", "values", "size")), None)
    if odd is not None:
        raise TypeError(f"sparse_coo_tensor() got an unexpected keyword argument '{odd}'")
    if "values" not in parts:
        size = parts.get("size", parts.get("indices"))
        spelled = args if args and all(isinstance(n, int) for n in args) else size or ()
        return _empty(tuple(int(n) for n in spelled), dtype, device, requires_grad)
    indices = places.tensor(places.host(_indices(parts["indices"], device)), _indices(parts["indices"], device))
    values = _values(parts["values"], dtype, device, requires_grad)
    size = parts.get("size")
    _check_form(indices, values, None if size is None else tuple(size))
    shape = _size_of(indices, values) if size is None else tuple([int(n) for n in size])
    if invariants[0] if check_invariants is None else check_invariants:
        _check_bounds(places.host(indices), shape)
    return coo(indices, values, shape, bool(is_coalesced))


@rule("new_zeros", "new_empty")
def new_empty(t: Any, *size: Any, dtype: Any = None, device: Any = None, requires_grad: bool = False, **kw: Any) -> CooTensor:
    """Return a COO tensor without values, with the dtype and device of ``t``."""
    if not isinstance(t, CooTensor):
        raise not_there("new_empty", (t,))
    given = size[0] if len(size) == 1 and isinstance(size[0], (tuple, list)) else kw.get("size", size)
    return _empty(tuple([int(n) for n in given]), dtype or t.dtype, device or t.device, requires_grad)


def _empty(size: tuple, dtype: Any, device: Any, requires_grad: bool) -> CooTensor:
    if any(n < 0 for n in size):
        raise RuntimeError("numel: integer multiplication overflow")
    values = functions.zeros(0, dtype=dtype, device=device, requires_grad=requires_grad)
    return coo(places.tensor(np.zeros((len(size), 0), np.int64), values), values, size, True)


def _check_form(indices: Tensor, values: Tensor, size: tuple | None) -> None:
    if indices.dim() == 1:
        k, nnz = indices.shape[0], 1
    elif indices.dim() == 2:
        k, nnz = indices.shape
    else:
        raise RuntimeError(f"indices must be sparse_dim x nnz, but got: {list(indices.shape)}")
    if size is not None and len(size) != k + max(values.dim() - 1, 0):
        raise RuntimeError(f"'len(size) == sparse_dim + dense_dim' is not satisfied: len(size) = {len(size)}, sparse_dim = {k}, "
                           f"dense_dim = {max(values.dim() - 1, 0)}")
    if indices.dim() != 2:
        raise RuntimeError(f"indices must be sparse_dim x nnz, but got: {list(indices.shape)}")
    if not values.dim() or values.shape[0] != nnz:
        got = values.shape[0] if values.dim() else 1
        raise RuntimeError(f"indices and values must have same nnz, but got nnz from indices: {nnz}, nnz from values: {got}")


def _size_of(indices: Tensor, values: Tensor) -> tuple:
    """Return the smallest size that contains all indices."""
    array = places.host(indices)
    for d, row in enumerate(array):
        if row.size and row.min() < 0:
            raise RuntimeError(f"found negative index {row.min()} for dim {d}")
    return (*[int(row.max()) + 1 if row.size else 0 for row in array], *values.shape[1:])


def _check_bounds(indices: np.ndarray, size: tuple) -> None:
    for d, row in enumerate(indices):
        if row.size and row.min() < 0:
            raise RuntimeError(f"found negative index {row.min()} for dim {d}")
        if row.size and row.max() >= size[d]:
            raise RuntimeError(f"size is inconsistent with indices: for dim {d}, size is {size[d]} but found index {row.max()}")


# ---------------------------------------------------------------- compressed

def sparse_compressed_tensor(compressed_indices: Any, plain_indices: Any, values: Any, size: Any = None, *, dtype: Any = None,
                             layout: Any = None, device: Any = None, pin_memory: bool = False, requires_grad: bool = False,
                             check_invariants: bool | None = None) -> CompressedTensor:
    """Return a CSR, CSC, BSR or BSC matrix, as ``layout`` says. See torch.sparse_compressed_tensor.

    Args:
        compressed_indices: for each row (CSR) or column (CSC) the offset of its first value, and the number of values at the
            end.
        plain_indices: the column (CSR) or row (CSC) of each value.
        values: the values, of shape (number of values,); for block layouts (number of blocks, height, width).
        size: the size; the smallest that fits, if None.
        dtype: the dtype of the values.
        layout: ``torch.sparse_csr``, ``torch.sparse_csc``, ``torch.sparse_bsr`` or ``torch.sparse_bsc``.
        device: the device.
        pin_memory: accepted and ignored.
        requires_grad: whether autograd records operations on the matrix.
        check_invariants: whether to check the indices.

    Returns:
        The matrix.

    Raises:
        NotImplementedError: batches or dense dims.
        RuntimeError: another layout.

    """
    if layout not in (sparse_csr, sparse_csc, sparse_bsr, sparse_bsc):
        raise RuntimeError("sparse_compressed_tensor expected sparse compressed tensor layout but got "
                           f"{'none' if layout is None else IN_WORDS[layout]}")
    starts, others = _indices(compressed_indices, device), _indices(plain_indices, device)
    values = _values(values, dtype, device, requires_grad)
    block = is_block(layout)
    if block and values.dim() < 3:
        raise RuntimeError("values must have dimensionality > sum of batch and block dimensionalities (=0 + 2) but got "
                           f"{values.dim()}")
    if starts.dim() != 1 or others.dim() != 1 or values.dim() != (3 if block else 1):
        raise NotImplementedError("batches of sparse matrices, and sparse matrices with dense dims, are not built; "
                                  "torch.sparse_coo_tensor has dense dims")
    shape = _matrix_size(starts, others, values, layout) if size is None else tuple([int(n) for n in size])
    if invariants[0] if check_invariants is None else check_invariants:
        (blocks.check if block else _check_compressed)(starts, others, values, shape, layout)
    return make(CLASSES[layout], (starts, others), values, shape)


def _matrix_size(starts: Tensor, others: Tensor, values: Tensor, layout: Any) -> tuple:
    if is_block(layout):
        return blocks.inferred_size(starts, others, values.shape[1:], layout)
    array = places.host(others)
    size = starts.shape[0] - 1, int(array.max()) + 1 if array.size else 0
    return size if layout is sparse_csr else size[::-1]


def _check_compressed(starts: Tensor, others: Tensor, values: Tensor, shape: tuple, layout: Any) -> None:
    begin, plain = places.host(starts), places.host(others)
    (c, n, of), (p, m, in_all) = (("crow", shape[0], "nrows"), ("col", shape[1], "ncols")) if layout is sparse_csr else \
        (("ccol", shape[1], "ncols"), ("row", shape[0], "nrows"))
    rules = ((len(begin) == n + 1, f"{c}_indices.shape[-1] must be equal to {of} + 1 as defined by {c}_indices, but got"),
             (len(plain) == len(values), f"{p}_indices and values must have the same number of elements, but got"),
             (not len(begin) or begin[0] == 0, f"`{c}_indices[..., 0] == 0` is not satisfied."),
             (not len(begin) or begin[-1] == len(plain), f"`{c}_indices[..., -1] == nnz` is not satisfied."),
             (bool(np.all(np.diff(begin) >= 0)), f"`0 <= {c}_indices[..., 1:] - {c}_indices[..., :-1] <= {in_all}` is not "
                                                 "satisfied."),
             (not plain.size or (plain.min() >= 0 and plain.max() < m), f"`0 <= {p}_indices < {in_all}` is not satisfied."))
    for holds, text in rules:
        if not holds:
            raise RuntimeError(text)


def sparse_csr_tensor(crow_indices: Any, col_indices: Any, values: Any, size: Any = None, *, dtype: Any = None,
                      device: Any = None, pin_memory: bool = False, requires_grad: bool = False,
                      check_invariants: bool | None = None, layout: Any = None) -> CompressedTensor:
    """Return a CSR matrix. See torch.sparse_csr_tensor, and ``torch.sparse_compressed_tensor`` for the arguments.

    >>> torch.sparse_csr_tensor([0, 1, 2], [1, 0], [2.0, 3.0], (2, 2)).to_dense()
    tensor([[0., 2.],
            [3., 0.]])

    """
    return sparse_compressed_tensor(crow_indices, col_indices, values, size, dtype=dtype, layout=sparse_csr, device=device,
                                    requires_grad=requires_grad, check_invariants=check_invariants)


def sparse_csc_tensor(ccol_indices: Any, row_indices: Any, values: Any, size: Any = None, *, dtype: Any = None,
                      device: Any = None, pin_memory: bool = False, requires_grad: bool = False,
                      check_invariants: bool | None = None, layout: Any = None) -> CompressedTensor:
    """Return a CSC matrix. See torch.sparse_csc_tensor, and ``torch.sparse_compressed_tensor`` for the arguments.

    >>> torch.sparse_csc_tensor([0, 1, 2], [1, 0], [2.0, 3.0], (2, 2)).to_dense()
    tensor([[0., 3.],
            [2., 0.]])

    """
    return sparse_compressed_tensor(ccol_indices, row_indices, values, size, dtype=dtype, layout=sparse_csc, device=device,
                                    requires_grad=requires_grad, check_invariants=check_invariants)


def sparse_bsr_tensor(crow_indices: Any, col_indices: Any, values: Any, size: Any = None, *, dtype: Any = None,
                      device: Any = None, pin_memory: bool = False, requires_grad: bool = False,
                      check_invariants: bool | None = None, layout: Any = None) -> CompressedTensor:
    """Return a BSR matrix; ``values`` has the shape (number of blocks, height, width). See torch.sparse_bsr_tensor.

    >>> torch.sparse_bsr_tensor([0, 1, 2], [1, 0], [[[1.0, 2.0]], [[3.0, 4.0]]]).to_dense()
    tensor([[0., 0., 1., 2.],
            [3., 4., 0., 0.]])

    """
    return sparse_compressed_tensor(crow_indices, col_indices, values, size, dtype=dtype, layout=sparse_bsr, device=device,
                                    requires_grad=requires_grad, check_invariants=check_invariants)


def sparse_bsc_tensor(ccol_indices: Any, row_indices: Any, values: Any, size: Any = None, *, dtype: Any = None,
                      device: Any = None, pin_memory: bool = False, requires_grad: bool = False,
                      check_invariants: bool | None = None, layout: Any = None) -> CompressedTensor:
    """Return a BSC matrix; ``values`` has the shape (number of blocks, height, width). See torch.sparse_bsc_tensor.

    >>> torch.sparse_bsc_tensor([0, 1, 2], [1, 0], [[[1.0, 2.0]], [[3.0, 4.0]]]).to_dense()
    tensor([[0., 0., 3., 4.],
            [1., 2., 0., 0.]])

    """
    return sparse_compressed_tensor(ccol_indices, row_indices, values, size, dtype=dtype, layout=sparse_bsc, device=device,
                                    requires_grad=requires_grad, check_invariants=check_invariants)


__all__ = ["sparse_bsc_tensor", "sparse_bsr_tensor", "sparse_compressed_tensor", "sparse_coo", "sparse_coo_tensor",
           "sparse_csc_tensor", "sparse_csr_tensor"]


# ---------------------------------------------------------------- conversion of indices, for graph packages

def _convert_indices_from_coo_to_csr(self: Tensor, size: int, *, out_int32: bool = False) -> Tensor:
    """Return the offset of the first value of each of ``size`` rows, for sorted row indices, and the number of values."""
    made = places.tensor(places.begins(places.host(self), size), self)
    return made.int() if out_int32 else made


def _convert_indices_from_csr_to_coo(crow_indices: Tensor, col_indices: Tensor, *, out_int32: bool = False,
                                     transpose: bool = False) -> Tensor:
    """Return the row and the column of each value."""
    pair = [places.rows_of(places.host(crow_indices)), places.host(col_indices)]
    made = places.tensor(np.stack(pair[::-1] if transpose else pair), crow_indices)
    return made.int() if out_int32 else made
