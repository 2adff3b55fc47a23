"""Matrix products with sparse matrices."""
from __future__ import annotations

from typing import Any

import numpy as np

from jtorch._api import functions
from jtorch._base.layout import IN_WORDS, sparse_csc, sparse_csr
from jtorch.ops import check
from jtorch.sparse import places
from jtorch.sparse.blocks import is_block
from jtorch.sparse.convert import as_coo, coalesce, summed, take, to_layout
from jtorch.sparse.elementwise import add, mul
from jtorch.sparse.rules import not_there, rule, written
from jtorch.sparse.shape import transpose
from jtorch.sparse.tensor import SparseTensor, coo, is_sparse
from jtorch.tensor import Tensor

_REDUCE = {"sum": "sum", "mean": "mean", "amax": "amax", "amin": "amin", "max": "amax", "min": "amin", "add": "sum"}


def _rows_and_columns(t: SparseTensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return the rows, columns and values of a sparse matrix."""
    if t.sparse_dim() != 2 or t.dense_dim():
        raise RuntimeError(f"Expected a sparse matrix, but got {t.sparse_dim()} sparse and {t.dense_dim()} dense dims")
    c = as_coo(t)
    rows, columns = c.stored_indices[0].unbind(0)
    return rows, columns, c.stored_values


def _require_alike(sparse: SparseTensor, dense: Tensor) -> None:
    if sparse.dtype is not dense.dtype:
        raise RuntimeError(f"expected scalar type {sparse.dtype.scalar_name} but found {dense.dtype.scalar_name}")
    if sparse.dim() == dense.dim() == 2 and sparse.shape[1] != dense.shape[0]:
        if not sparse.is_sparse:
            raise RuntimeError(f"mat1 and mat2 shapes cannot be multiplied ({'x'.join(map(str, sparse.shape))} and "
                               f"{'x'.join(map(str, dense.shape))})")
        raise RuntimeError(f"addmm: Argument #3 (dense): Expected dim 0 size {sparse.shape[1]}, got {dense.shape[0]}")


def by_dense(t: SparseTensor, dense: Tensor) -> Tensor:
    """Multiply a sparse matrix by a dense one."""
    _require_alike(t, dense)
    rows, columns, values = _rows_and_columns(t)
    terms = values.unsqueeze(1) * functions.index_select(dense, 0, columns)
    return functions.index_add(functions.zeros((t.shape[0], dense.shape[1]), dtype=t.dtype, device=t.device), 0, rows, terms)


def by_sparse(a: SparseTensor, b: SparseTensor) -> SparseTensor:
    """Multiply two sparse matrices. The result has the layout of the first one, or CSR if the first one is CSC."""
    if a.shape[1] != b.shape[0]:
        raise RuntimeError(f"mat1 and mat2 shapes cannot be multiplied ({a.shape[0]}x{a.shape[1]} and {b.shape[0]}x{b.shape[1]})")
    if a.dtype is not b.dtype:
        raise RuntimeError(f"expected scalar type {a.dtype.scalar_name} but found {b.dtype.scalar_name}")
    if is_block(a.layout):
        raise RuntimeError("zeros_sparse_compressed expected sparse compressed (non-block) tensor layout but got "
                           f"{IN_WORDS[a.layout]}")
    left, right = coalesce(as_coo(a)), coalesce(as_coo(b))
    rows, columns = places.host(left.stored_indices[0])
    theirs = places.host(right.stored_indices[0])
    at, other = places.pairs(columns, places.begins(theirs[0], b.shape[0]))
    size = a.shape[0], b.shape[1]
    numbers, inverse = places.unique(rows[at] * size[1] + theirs[1][other])
    values = summed(take(left.stored_values, at) * take(right.stored_values, other), inverse, len(numbers))
    made = coo(places.tensor(np.stack(np.divmod(numbers, max(size[1], 1))), left.stored_indices[0]), values, size, True)
    return to_layout(made, sparse_csr if a.layout is sparse_csc else a.layout)


def either(input: Any, mat2: Any) -> Any:
    """Return a product of matrices, of which none, one or both are sparse. See torch.spmm."""
    for at, (name, t) in enumerate((("input", input), ("mat2", mat2)), 1):
        if not isinstance(t, Tensor):
            raise TypeError(f"spmm(): argument '{name}' (position {at}) must be Tensor, not {type(t).__name__}")
    return matmul(input, mat2) if is_sparse(input) or is_sparse(mat2) else functions.mm(input, mat2)


@rule("matmul", "__matmul__", "mm", "spmm", "mv", "dsmm")
def matmul(a: Any, b: Any) -> Any:
    """Multiply two matrices, or a matrix and a vector, at least one of which is sparse."""
    if is_sparse(a) and is_sparse(b):
        return by_sparse(a, b)
    if is_sparse(a):
        if b.dim() == 1:
            _require_alike(a, b)
            check.require(a.shape[1] == b.shape[0], f"size mismatch, got input ({a.shape[0]}x{a.shape[1]}), vec ({b.shape[0]})")
            return by_dense(a, b.unsqueeze(1)).squeeze(1)
        if b.dim() != 2:
            raise not_there("matmul", (a,))
        return by_dense(a, b)
    if a.dim() == 1:
        return matmul(transpose(b), a)
    if a.dim() != 2:
        raise not_there("matmul", (b,))
    check.require(a.shape[1] == b.shape[0], f"mat1 and mat2 shapes cannot be multiplied ({a.shape[0]}x{a.shape[1]} and "
                                            f"{b.shape[0]}x{b.shape[1]})")
    return by_dense(transpose(b), a.t()).t()


@rule("__rmatmul__")
def _right(b: Any, a: Any) -> Any:
    return matmul(a, b)


spmm = dsmm = either


def _rows_with_elements(name: str, a: Any, b: Tensor) -> tuple[np.ndarray, Tensor]:
    """Return the rows in which a sparse matrix has elements, and these rows of its product with a dense matrix."""
    if not is_sparse(a) or not a.is_sparse:
        raise not_there(name, (a, b))
    if a.dense_dim():
        raise RuntimeError(f"{name}: Argument #2: scalar values expected, got {a.dense_dim()}D values")
    if b.dim() != 2:
        raise RuntimeError(f"{name}: Argument #3: matrices expected, got {b.dim()}D tensor")
    if a.shape[1] != b.shape[0]:
        raise RuntimeError(f"{name}: Argument #3: Expected dim 0 size {a.shape[1]}, got {b.shape[0]}")
    _require_alike(a, b)
    c = coalesce(a)
    rows, inverse = places.unique(places.host(c.stored_indices[0][0]))
    terms = c.stored_values.unsqueeze(1) * functions.index_select(b, 0, c.stored_indices[0][1])
    return rows, summed(terms, inverse, len(rows))


@rule("hspmm", "hsmm")
def hspmm(mat1: SparseTensor, mat2: Tensor, *, out: Any = None) -> SparseTensor:
    """Multiply a sparse matrix by a dense one, and return a COO tensor of dense rows. See torch.hspmm."""
    rows, values = _rows_with_elements("hspmm", mat1, mat2)
    made = coo(places.tensor(rows[None], values), values, (mat1.shape[0], mat2.shape[1]))
    return made if out is None else written(made, out, "hspmm", (mat1, mat2))


hsmm = hspmm


def _elements(rows: np.ndarray, values: Tensor) -> tuple[np.ndarray, Tensor]:
    """Return the indices and the values of all elements of the given rows."""
    n = values.shape[1]
    return np.stack([np.repeat(rows, n), np.tile(np.arange(n), len(rows))]), values.reshape(-1)


@rule("smm")
def smm(input: SparseTensor, mat: Tensor) -> SparseTensor:
    """Multiply a sparse matrix by a dense one, and return a COO matrix. See torch.smm."""
    if not is_sparse(input):
        raise RuntimeError("tensor.sspaddmm(...) can only be called on sparse tensors")
    indices, values = _elements(*_rows_with_elements("sspaddmm", input, mat))
    return coo(places.tensor(indices, values), values, (input.shape[0], mat.shape[1]))


@rule("sspaddmm")
def sspaddmm(input: Any, mat1: Any, mat2: Any, *, beta: Any = 1, alpha: Any = 1, out: Any = None) -> SparseTensor:
    """Add the product of a sparse and a dense matrix to a sparse one, as a COO matrix. See torch.sspaddmm."""
    if not is_sparse(input):
        raise RuntimeError("self.is_sparse() INTERNAL ASSERT FAILED. _internal_get_SparseTensorImpl: not a sparse tensor")
    for name, t, layout in (("mat1", mat1, "sparse"), ("mat2", mat2, "strided")):
        if is_sparse(t) is not (layout == "sparse"):
            raise RuntimeError(f"sspaddmm: expected '{name}' to have {layout} layout, got '{name}' with layout "
                               f"{IN_WORDS[t.layout]}")
    rows, product = _rows_with_elements("sspaddmm", mat1, mat2)
    for dim, size in enumerate((mat1.shape[0], mat2.shape[1])):
        if input.shape[dim] != size:
            raise RuntimeError(f"sspaddmm: Argument #1: Expected dim {dim} size {size}, got {input.shape[dim]}")
    indices, values = _elements(rows, product)
    all_places = functions.cat([input.stored_indices[0], places.tensor(indices, values)], 1)
    made = coo(all_places, functions.cat([input.stored_values * beta, values * alpha]), tuple(input.shape))
    return made if out is None else written(made, out, "sspaddmm", (input, mat1, mat2))


@rule("addmm")
def addmm(input: Any, mat1: Any, mat2: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    """Compute ``beta * input + alpha * (mat1 @ mat2)``. See torch.sparse.addmm."""
    product = matmul(mat1, mat2)
    if is_sparse(product):
        if not is_sparse(input):
            raise not_there("addmm", (product,))
        return add(mul(input, beta), product, alpha=alpha)
    if is_sparse(input):
        raise not_there("addmm", (input,))
    return input * beta + product * alpha


@rule("bmm")
def bmm(a: Any, b: Any) -> Tensor:
    """Multiply a batch of sparse matrices by dense ones."""
    if not is_sparse(a) or is_sparse(b) or not a.is_sparse:
        raise not_there("bmm", (a, b))
    if a.sparse_dim() != 3 or b.dim() != 3 or a.shape[0] != b.shape[0] or a.shape[2] != b.shape[1]:
        raise RuntimeError(f"bmm: the sizes do not fit: {list(a.shape)} and {list(b.shape)}")
    batch, rows, columns = a.stored_indices[0].unbind(0)
    n, m = a.shape[1], b.shape[2]
    terms = a.stored_values.unsqueeze(1) * b[batch, columns]      # type: ignore[index]
    zeros = functions.zeros((a.shape[0] * n, m), dtype=a.dtype, device=a.device)
    return functions.index_add(zeros, 0, batch * n + rows, terms).reshape((a.shape[0], n, m))


@rule("linear")
def linear(input: Any, weight: Any, bias: Any = None) -> Any:
    """Compute ``input @ weight.T + bias``."""
    made = matmul(input, transpose(weight) if is_sparse(weight) else weight.t())
    return made if bias is None else made + bias


def reduced(a: SparseTensor, b: Tensor, reduce: str) -> Any:
    """Multiply a CSR matrix by a dense one, with the sum, mean, maximum or minimum of the terms of each element."""
    if reduce not in _REDUCE:
        raise RuntimeError(f"reduce argument must be either sum, mean, max, min, amax, amin or prod, got {reduce}")
    if a.is_sparse:
        raise not_there("_sparse_mm_reduce_impl", (a,))
    if a.layout is not sparse_csr:
        got = str(a.layout).removeprefix("torch.sparse_").title()
        raise RuntimeError(f"sparse_mm_reduce: expect self to be SparseCsr, got Sparse{got}")
    _require_alike(a, b)
    rows, columns, values = _rows_and_columns(a)
    terms = values.unsqueeze(1) * functions.index_select(b, 0, columns)
    zeros = functions.zeros((a.shape[0], b.shape[1]), dtype=a.dtype, device=a.device)
    if _REDUCE[reduce] == "sum":
        return functions.index_add(zeros, 0, rows, terms)
    if _REDUCE[reduce] == "mean":
        counts = np.maximum(np.diff(places.host(a.stored_indices[0])), 1)
        return functions.index_add(zeros, 0, rows, terms) / places.tensor(counts, rows).to(a.dtype).unsqueeze(1)
    return functions.scatter_reduce(zeros, 0, rows.unsqueeze(1).expand(terms.shape), terms, _REDUCE[reduce], include_self=False)
