"""Permuting, indexing, joining, copying and conversion of sparse tensors."""
from __future__ import annotations

import math
from typing import Any

import numpy as np

from jtorch._api import functions
from jtorch._api.other_layouts import EXPECTED
from jtorch._base.layout import IN_WORDS, sparse_bsc, sparse_bsr, sparse_coo, sparse_csc, sparse_csr
from jtorch.ops.view import matrix_dims
from jtorch.sparse import places
from jtorch.sparse.blocks import is_block
from jtorch.sparse.convert import as_coo, coalesce, take, to_dense, to_layout
from jtorch.sparse.rules import expected, not_there, rule
from jtorch.sparse.tensor import CLASSES, CooTensor, SparseTensor, coo, is_sparse, make
from jtorch.tensor import Tensor


def _dim(t: SparseTensor, dim: int, n: int | None = None) -> int:
    n = t.dim() if n is None else n
    if not -n <= dim < n:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-n}, {n - 1}], but got {dim})")
    return dim % n


_TRANSPOSED = {sparse_csr: sparse_csc, sparse_csc: sparse_csr, sparse_bsr: sparse_bsc, sparse_bsc: sparse_bsr}


@rule("t", "transpose", "swapaxes", "swapdims")
def transpose(t: SparseTensor, dim0: int = 0, dim1: int = 1) -> SparseTensor:
    """Exchange two dims. A matrix compressed by rows becomes one compressed by columns, and vice versa."""
    a, b = _dim(t, dim0), _dim(t, dim1)
    if a == b:
        return t
    if not isinstance(t, CooTensor):
        values = t.stored_values.transpose(-2, -1) if is_block(t.layout) else t.stored_values       # type: ignore[attr-defined]
        return make(CLASSES[_TRANSPOSED[t.layout]], t.stored_indices, values, tuple(t.shape)[::-1])
    order = list(range(t.dim()))
    order[a], order[b] = b, a
    return permute(t, order)


def conjugate_transpose(t: SparseTensor, dims: list[int], conjugate: bool = True) -> SparseTensor:
    """Exchange the last two dims unless ``dims`` is sorted, and conjugate if ``conjugate`` is True."""
    turned: Any = transpose(t, -2, -1) if dims != sorted(dims) else t
    return turned.conj() if conjugate else turned       # type: ignore[no-any-return]


@rule("adjoint")
def adjoint(t: SparseTensor) -> SparseTensor:
    """Exchange the last two dims, and conjugate."""
    return conjugate_transpose(t, matrix_dims(t.dim(), "tensor.adjoint()"))


@rule("permute")
def permute(t: SparseTensor, *args: Any, **named: Any) -> SparseTensor:
    """Permute the dims."""
    dims = args or (named["dims"],)
    order = [_dim(t, d) for d in (dims[0] if len(dims) == 1 and isinstance(dims[0], (tuple, list)) else dims)]
    if not isinstance(t, CooTensor):
        raise not_there("as_strided", (t,))
    k = t.sparse_dim()
    if sorted(order[:k]) != list(range(k)):
        raise RuntimeError("transpose: cannot transpose a sparse dimension with a dense dimension")
    moved = order[k:] != list(range(k, t.dim()))
    values = t.stored_values.permute((0, *[d - k + 1 for d in order[k:]])) if moved else t.stored_values
    return coo(t.stored_indices[0][order[:k]], values, tuple([t.shape[d] for d in order]))


@rule("index_select")
def index_select(t: SparseTensor, dim: int, index: Tensor) -> SparseTensor:
    """Return the elements along a dim in the order of ``index``."""
    if not isinstance(t, CooTensor):
        raise not_there("index_select", (t,))
    dim, wanted = _dim(t, dim), places.host(index)
    n = t.shape[dim]
    if wanted.size and (wanted.min() < -n or wanted.max() >= n):
        bad = wanted[(wanted < -n) | (wanted >= n)][0]
        raise IndexError(f"index_select(): index contains {bad} that is out of range for tensor of size {list(t.shape)} at "
                         f"dimension {dim}")
    wanted = np.where(wanted < 0, wanted + n, wanted)
    size = (*tuple(t.shape)[:dim], len(wanted), *tuple(t.shape)[dim + 1:])
    if dim >= t.sparse_dim():
        values = functions.index_select(t.stored_values, dim - t.sparse_dim() + 1, places.tensor(wanted, t.stored_indices[0]))
        return _with_coalesced(coo(t.stored_indices[0], values, size), t.coalesced)
    indices = places.host(t.stored_indices[0])
    order = np.argsort(indices[dim], kind="stable")
    at, kept = places.pairs(wanted, places.begins(indices[dim], n))
    kept = order[kept]
    made = indices[:, kept]
    made[dim] = at
    return coo(places.tensor(made, t.stored_indices[0]), take(t.stored_values, kept), size)


def _with_coalesced(t: CooTensor, coalesced: bool) -> CooTensor:
    t.coalesced = coalesced
    return t


@rule("select")
def select(t: SparseTensor, dim: int, index: int) -> Any:
    """Return the elements at one index of a dim; dense if no sparse dim is left."""
    c = as_coo(t)
    dim, n = _dim(c, dim), c.shape[_dim(c, dim)]
    if not -n <= index < n:
        raise IndexError(f"select(): index {index} out of range for tensor of size {list(t.shape)} at dimension {dim}")
    size, k = (*tuple(c.shape)[:dim], *tuple(c.shape)[dim + 1:]), c.sparse_dim()
    if dim >= k:
        return coo(c.stored_indices[0], c.stored_values.select(dim - k + 1, index), size)
    indices = places.host(c.stored_indices[0])
    kept = np.flatnonzero(indices[dim] == index % n)
    values = take(c.stored_values, kept)
    if k == 1:
        return values.sum(0)
    return coo(places.tensor(np.delete(indices[:, kept], dim, 0), c.stored_indices[0]), values, size, c.coalesced)


@rule("__getitem__", "getitem")
def getitem(t: SparseTensor, index: Any) -> Any:
    """Index by integers: ``t[i]`` and ``t[i, j]``."""
    found: Any = t
    for i in index if isinstance(index, tuple) else (index,):
        if not isinstance(i, (int, np.integer)) or isinstance(i, bool):
            raise not_there("as_strided", (t,))
        found = select(found, 0, int(i)) if is_sparse(found) else found[i]
    return found


@rule("unbind")
def unbind(t: SparseTensor, dim: int = 0) -> tuple:
    """Return the tensors along a dim."""
    return tuple([select(t, dim, i) for i in range(t.shape[dim])])


@rule("__iter__")
def rows(t: SparseTensor) -> Any:
    """Return an iterator over the tensors along the first dim."""
    return iter(unbind(t))


@rule("unsqueeze")
def unsqueeze(t: SparseTensor, dim: int) -> SparseTensor:
    """Insert a dim of size 1."""
    if not isinstance(t, CooTensor):
        raise RuntimeError("Sparse CSR tensors do not have strides")
    at, k = _dim(t, dim, t.dim() + 1), t.sparse_dim()
    size = (*tuple(t.shape)[:at], 1, *tuple(t.shape)[at:])
    if at > k:
        return coo(t.stored_indices[0], t.stored_values.unsqueeze(at - k + 1), size)
    return coo(places.tensor(np.insert(places.host(t.stored_indices[0]), at, 0, 0), t.stored_indices[0]), t.stored_values, size)


# ---------------------------------------------------------------- concatenation

@rule("cat", "concat", "concatenate")
def cat(tensors: Any, dim: int = 0) -> SparseTensor:
    """Concatenate sparse tensors."""
    tensors = list(tensors)
    if not all(is_sparse(t) for t in tensors):
        dense = next(i for i, t in enumerate(tensors) if not is_sparse(t))
        raise RuntimeError(f"Concatenating sparse tensors, but a dense tensor was found at position {dense}.")
    if not all(isinstance(t, CooTensor) for t in tensors):
        raise RuntimeError("Sparse CSR tensors do not have is_contiguous")
    first, dim = tensors[0], _dim(tensors[0], dim)
    _check_joined(tensors, dim)
    k, total = first.sparse_dim(), sum([t.shape[dim] for t in tensors])
    size = (*tuple(first.shape)[:dim], total, *tuple(first.shape)[dim + 1:])
    if dim >= k:
        return _cat_dense(tensors, dim - k + 1, size)
    parts, start = [], 0
    for t in tensors:
        part = places.host(t.stored_indices[0]).copy()
        part[dim] += start
        parts.append(part)
        start += t.shape[dim]
    indices = places.tensor(np.concatenate(parts, 1), first.stored_indices[0])
    return coo(indices, functions.cat([t.stored_values for t in tensors]), size)


def _check_joined(tensors: list, dim: int) -> None:
    first = tensors[0]
    for i, t in enumerate(tensors):
        if (t.sparse_dim(), t.dense_dim()) != (first.sparse_dim(), first.dense_dim()):
            raise RuntimeError("All tensors must have the same: sparse_dim and dense_dim")
        for d, (a, b) in enumerate(zip(t.shape, first.shape, strict=True)):
            if d != dim and a != b:
                raise RuntimeError(f"All tensors must have the same shape: {list(first.shape)} (except in the "
                                   "concatenating dimension),"
                                   f" but found shape: {list(t.shape)} at position {i}.")


def _cat_dense(tensors: list, at: int, size: tuple) -> SparseTensor:
    parts, start, total = [], 0, size[tensors[0].sparse_dim() + at - 1]
    for t in tensors:
        shape = list(t.stored_values.shape)
        before, behind = shape.copy(), shape.copy()
        before[at], behind[at] = start, total - start - shape[at]
        parts.append(functions.cat([t.stored_values.new_zeros(before), t.stored_values, t.stored_values.new_zeros(behind)], at))
        start += shape[at]
    indices = np.concatenate([places.host(t.stored_indices[0]) for t in tensors], 1)
    return coo(places.tensor(indices, tensors[0].stored_indices[0]), functions.cat(parts), size)


@rule("stack")
def stack(tensors: Any, dim: int = 0) -> SparseTensor:
    """Stack sparse tensors along a new dim."""
    return cat([unsqueeze(t, dim) for t in tensors], dim)


# ---------------------------------------------------------------- copies and layouts

@rule("clone")
def clone(t: SparseTensor, *, memory_format: Any = None) -> SparseTensor:
    """Return a copy."""
    return t.rebuilt(t.stored_values.clone())


def _converting(name: str) -> Any:
    def convert(t: SparseTensor, *args: Any, **kw: Any) -> SparseTensor:
        values = getattr(t.stored_values, name)(*args, **kw)
        return t if values is t.stored_values else t.rebuilt(values)
    return convert


for _name in ("double float half bfloat16 int long short char byte bool cdouble cfloat cpu cuda requires_grad_ contiguous "
              "pin_memory").split():
    rule(_name)(_converting(_name))


@rule("to")
def to(t: SparseTensor, *args: Any, layout: Any = None, **kw: Any) -> Any:
    """Convert to another dtype, device or layout. See torch.Tensor.to."""
    from jtorch.device import device as device_class
    given = [x for x in args if x is not None]
    devices = [x for x in (*given, kw.get("device")) if isinstance(x, (device_class, str))]
    moved = [i.to(d) for d in devices for i in t.stored_indices]
    if given and is_sparse(given[0]):
        args = (given[0].device, given[0].dtype)
    values = t.stored_values.to(*args, **kw)
    made = t if values is t.stored_values and not moved else t.rebuilt(values)
    if moved:
        made.stored_indices = tuple(moved[-len(t.stored_indices):])
    return made if layout is None else to_layout(made, layout)


@rule("type", "type_")
def type_of(t: SparseTensor, dtype: Any = None, non_blocking: bool = False) -> Any:
    """Return the tensor's type as a string, or the tensor converted to a type. See torch.Tensor.type."""
    if dtype is None and not t.is_sparse:
        raise RuntimeError(f"Unimplemented backend {t.backend}")
    made: Any = t.stored_values.type(dtype)       # type: ignore[attr-defined]
    if dtype is None:
        module, _, name = made.rpartition(".")
        return f"{module}.sparse.{name}"
    return t if made is t.stored_values else to(t, made.dtype, device=made.device)


@rule("coalesce")
def coalesced(t: SparseTensor) -> SparseTensor:
    """Sum duplicate elements, and sort the elements by index."""
    if not isinstance(t, CooTensor):
        raise expected(t, "coalesce")
    return coalesce(t)


def _of_other_layout(name: str, wanted: str) -> None:
    def method(t: SparseTensor) -> Any:
        raise expected(t, name, wanted)
    rule(name)(method)


for _name, _wanted in EXPECTED.items():
    if _name != "coalesce":
        _of_other_layout(_name, _wanted)


@rule("to_dense")
def dense(t: SparseTensor, dtype: Any = None, *, masked_grad: Any = None) -> Tensor:
    """Return a dense tensor. See torch.Tensor.to_dense."""
    made = to_dense(t)
    return made if dtype is None else made.to(dtype)


@rule("to_sparse")
def to_sparse(t: Any, sparse_dim: Any = None, *, layout: Any = None, blocksize: Any = None, dense_dim: int | None = None) -> Any:
    """Convert to another sparse layout, COO by default. See torch.Tensor.to_sparse."""
    if sparse_dim is not None and not isinstance(sparse_dim, int):
        layout, sparse_dim = sparse_dim, None
    if layout is not None and (sparse_dim is not None or layout not in IN_WORDS):
        raise RuntimeError("to_sparse: layout and sparse_dim cannot both be given")
    return to_layout(t, layout, dense_dim, sparse_dim, blocksize)


@rule("to_sparse_coo")
def to_sparse_coo(t: Any) -> Any:
    """Convert to COO."""
    return to_layout(t, sparse_coo)


@rule("to_sparse_csr")
def to_sparse_csr(t: Any, dense_dim: int | None = None) -> Any:
    """Convert to CSR."""
    return to_layout(t, sparse_csr, dense_dim)


@rule("to_sparse_csc")
def to_sparse_csc(t: Any, dense_dim: int | None = None) -> Any:
    """Convert to CSC."""
    return to_layout(t, sparse_csc, dense_dim)


@rule("to_sparse_bsr")
def to_sparse_bsr(t: Any, blocksize: Any, dense_dim: int | None = None) -> Any:
    """Convert to BSR with blocks of ``blocksize`` (height, width)."""
    return to_layout(t, sparse_bsr, dense_dim, blocksize=blocksize)


@rule("to_sparse_bsc")
def to_sparse_bsc(t: Any, blocksize: Any, dense_dim: int | None = None) -> Any:
    """Convert to BSC with blocks of ``blocksize`` (height, width)."""
    return to_layout(t, sparse_bsc, dense_dim, blocksize=blocksize)


@rule("sparse_resize_")
def sparse_resize_(t: Any, size: Any, sparse_dim: int, dense_dim: int) -> Any:
    """Change the size in place, and keep the values. See torch.Tensor.sparse_resize_.

    If dense dims grow, the values' elements keep their order in memory, and zeros follow. PyTorch leaves these undefined.

    Raises:
        RuntimeError: the tensor has values, and a dim shrinks or their numbers change.

    """
    size = _checked_size(t, "sparse_resize_", size, sparse_dim, dense_dim)
    if not t._nnz():
        return _emptied(t, size, sparse_dim, dense_dim)
    for kind, before, now in (("sparse", t.sparse_dim(), sparse_dim), ("dense", t.dense_dim(), dense_dim)):
        if before != now:
            raise RuntimeError(f"changing the number of {kind} dimensions (from {before} to {now}) on a non-empty sparse "
                               "tensor is not supported.")
    old = tuple(t.shape)
    for kind, before, now in (("sparse", old[:sparse_dim], size[:sparse_dim]), ("dense", old[sparse_dim:], size[sparse_dim:])):
        if any(b < a for a, b in zip(before, now, strict=True)):
            raise RuntimeError(f"shrinking the size of {kind} dimensions (from {list(before)} to {list(now)}) on a non-empty "
                               "sparse tensor is not supported.")
    values, shape = t.stored_values.reshape(-1), (t._nnz(), *size[sparse_dim:])
    added = values.new_zeros((math.prod(shape) - len(values),))
    return t.become(coo(t.stored_indices[0], functions.cat([values, added]).reshape(shape), size, t.coalesced))


@rule("sparse_resize_and_clear_")
def sparse_resize_and_clear_(t: Any, size: Any, sparse_dim: int, dense_dim: int) -> Any:
    """Change the size in place, and drop the values. See torch.Tensor.sparse_resize_and_clear_."""
    size = _checked_size(t, "sparse_resize_and_clear_", size, sparse_dim, dense_dim)
    return _emptied(t, size, sparse_dim, dense_dim)


def _checked_size(t: Any, name: str, size: Any, sparse_dim: int, dense_dim: int) -> tuple[int, ...]:
    if not isinstance(t, CooTensor):
        raise not_there(name, (t,))
    if len(size) != sparse_dim + dense_dim:
        raise RuntimeError("'len(size) == sparse_dim + dense_dim' is not satisfied: "
                           f"len(size) = {len(size)}, sparse_dim = {sparse_dim}, dense_dim = {dense_dim}")
    return tuple(size)


def _emptied(t: CooTensor, size: tuple[int, ...], sparse_dim: int, dense_dim: int) -> Any:
    indices, values = t.stored_indices[0], t.stored_values
    return t.become(coo(indices.new_zeros((sparse_dim, 0)), values.new_zeros((0, *size[sparse_dim:])), size, True))


@rule("numpy", "__array__")
def to_numpy(t: SparseTensor, *args: Any, **kw: Any) -> Any:
    """Raise TypeError: NumPy has no sparse arrays."""
    raise TypeError(f"can't convert {IN_WORDS[t.layout]} layout tensor to numpy. Use Tensor.to_dense() first.")


@rule("tolist")
def tolist(t: SparseTensor) -> Any:
    """Raise RuntimeError: a sparse tensor has no storage."""
    raise RuntimeError("Cannot access data pointer of Tensor that doesn't have storage")


@rule("item", "__float__", "__int__", "__index__", "__complex__")
def item(t: SparseTensor) -> Any:
    """Return the value of a tensor with one element."""
    return to_dense(t).item()


@rule("reshape")
def reshape(t: SparseTensor, *args: Any) -> Any:
    """Raise RuntimeError: reshape is not built for sparse tensors."""
    raise RuntimeError("reshape is not implemented for sparse tensors" if t.is_sparse else
                       "Sparse CSR tensors do not have is_contiguous")


@rule("dropout")
def dropout(t: SparseTensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> SparseTensor:
    """Drop stored values at random."""
    from jtorch._api import nn_functions
    return t.rebuilt(nn_functions.dropout(t.stored_values, p, training))

