"""Conversion between layouts."""
from __future__ import annotations

from typing import Any

import numpy as np

from jtorch._api import functions
from jtorch._base.layout import IN_WORDS, layout, sparse_coo, sparse_csc, sparse_csr, strided
from jtorch.sparse import places
from jtorch.sparse.blocks import elements, is_block, to_blocks
from jtorch.sparse.blocks import from_dense as block_from_dense
from jtorch.sparse.tensor import CLASSES, CompressedTensor, CooTensor, SparseTensor, coo, make
from jtorch.tensor import Tensor


def take(values: Tensor, at: np.ndarray, like: Tensor | None = None) -> Tensor:
    """Return the values at some positions."""
    return functions.index_select(values, 0, places.tensor(at, values))


def summed(values: Tensor, at: np.ndarray, n: int) -> Tensor:
    """Sum the values that have the same number in ``at``; return ``n`` sums."""
    if len(at) == n and np.array_equal(at, np.arange(n)):
        return values
    zeros = functions.zeros((n, *values.shape[1:]), dtype=values.dtype, device=values.device)
    if values.dtype.name == "bool":
        return functions.index_add(zeros.int(), 0, places.tensor(at, values), values.int()).bool()
    return functions.index_add(zeros, 0, places.tensor(at, values), values)


def coalesce(t: CooTensor) -> CooTensor:
    """Sum duplicate elements, and sort the elements by index. See torch.Tensor.coalesce."""
    if t.coalesced:
        return t
    sizes = tuple(t.shape)[:t.sparse_dim()]
    numbers, inverse = places.unique(places.flat(places.host(t.stored_indices[0]), sizes))
    return coo(places.tensor(places.unflat(numbers, sizes), t.stored_indices[0]), summed(t.stored_values, inverse, len(numbers)),
               tuple(t.shape), True)


def as_coo(t: SparseTensor) -> CooTensor:
    """Return a tensor in COO layout, coalesced if it was in CSR or CSC."""
    if isinstance(t, CooTensor):
        return t
    if is_block(t.layout):
        return elements(t)      # type: ignore[arg-type]
    starts, others = map(places.host, t.stored_indices)
    pair = [places.rows_of(starts), others]
    values = t.stored_values
    if t.layout is sparse_csc:
        order = np.lexsort((pair[0], pair[1]))
        pair, values = [pair[1][order], pair[0][order]], take(values, order)
    return coo(places.tensor(np.stack(pair), t.stored_indices[0]), values, tuple(t.shape), True)


def compressed(t: SparseTensor, wanted: layout) -> CompressedTensor:
    """Return a matrix in CSR or CSC layout."""
    if t.layout is wanted:
        return t        # type: ignore[return-value]
    if is_block(t.layout):
        raise RuntimeError(f"sparse_compressed_to_{wanted.name}: expected SparseCsr or SparseCsc layout but got "
                           f"{IN_WORDS[t.layout]}")
    t = as_coo(t)
    if t.sparse_dim() != 2:
        raise RuntimeError("Can only convert a SparseTensor to CSR/CSC format if it has 2 sparse dimensions")
    t = coalesce(t)
    rows, columns = places.host(t.stored_indices[0])
    values, n = t.stored_values, t.shape[0]
    if wanted is sparse_csc:
        order = np.lexsort((rows, columns))
        rows, columns, values, n = columns[order], rows[order], take(values, order), t.shape[1]
    parts = tuple([places.tensor(a, t.stored_indices[0]) for a in (places.begins(rows, n), columns)])
    return make(CLASSES[wanted], parts, values, tuple(t.shape))


def to_dense(t: SparseTensor) -> Tensor:
    """Return a dense tensor. See torch.Tensor.to_dense."""
    t = as_coo(t)
    k = t.sparse_dim()
    sizes, rest = tuple(t.shape)[:k], tuple(t.shape)[k:]
    numbers = places.flat(places.host(t.stored_indices[0]), sizes)
    zeros = functions.zeros((int(np.prod(sizes, dtype=np.int64)), *rest), dtype=t.dtype, device=t.device)
    if t.dtype.name == "bool":
        made = functions.index_add(zeros.int(), 0, places.tensor(numbers, t.stored_indices[0]), t.stored_values.int()).bool()
    else:
        made = functions.index_add(zeros, 0, places.tensor(numbers, t.stored_indices[0]), t.stored_values)
    return made.reshape((*sizes, *rest))


def from_dense(t: Tensor, sparse_dim: int | None = None) -> CooTensor:
    """Return the nonzero elements of a dense tensor in COO layout."""
    k = t.dim() if sparse_dim is None else sparse_dim
    if t.dim() and not 0 < k <= t.dim():
        raise RuntimeError(f"sparse_dim argument must be in >0 and <={t.dim()}, but got {k}" if k <= 0 else
                           f"sparse_dim argument must be in [0,{t.dim()}], but got {k}")
    array = t.detach()._numpy_copy()
    kept = array.reshape(*array.shape[:k], -1).any(-1) if array.size else np.zeros(array.shape[:k], bool)
    numbers = np.flatnonzero(kept)
    sizes = tuple(t.shape)[:k]
    rows = t.reshape((int(np.prod(sizes, dtype=np.int64)), *tuple(t.shape)[k:]))
    return coo(places.tensor(places.unflat(numbers, sizes), t), take(rows, numbers), tuple(t.shape), True)


def to_layout(t: Any, wanted: layout | None, dense_dim: int | None = None, sparse_dim: int | None = None,
              blocksize: Any = None) -> Any:
    """Return a dense or sparse tensor in another layout."""
    wanted = sparse_coo if wanted is None else wanted
    if wanted is strided:
        return to_dense(t) if isinstance(t, SparseTensor) else t
    if not isinstance(t, SparseTensor) and is_block(wanted) is (blocksize is None) and wanted is not sparse_coo:
        given = "without" if blocksize is None else "with"
        raise RuntimeError(f"dense_to_sparse: conversion from Strided to {IN_WORDS[wanted]} {given} blocksize argument given is "
                           "not supported")
    if is_block(wanted):
        make: Any = to_blocks if isinstance(t, SparseTensor) else block_from_dense
        return make(t, wanted, blocksize)
    if not isinstance(t, SparseTensor):
        if wanted is not sparse_coo and t.dim() != 2:
            raise RuntimeError("batches of sparse matrices, and sparse ones with dense dims, are not built")
        t = from_dense(t, t.dim() - dense_dim if dense_dim is not None else sparse_dim)
    return as_coo(t) if wanted is sparse_coo else compressed(t, wanted)


def like(t: SparseTensor, other: SparseTensor) -> SparseTensor:
    """Return ``t`` in the layout of ``other``."""
    return to_layout(t, other.layout, blocksize=tuple(other.stored_values.shape[1:]) if is_block(other.layout) else None)


__all__ = ["as_coo", "coalesce", "compressed", "from_dense", "like", "sparse_csr", "summed", "take", "to_dense", "to_layout"]
