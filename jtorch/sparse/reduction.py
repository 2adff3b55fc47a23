"""Sums, norms and softmax of sparse tensors."""
from __future__ import annotations

from typing import Any

import numpy as np

from jtorch._api import functions
from jtorch.sparse import places
from jtorch.sparse.convert import as_coo, coalesce, like, summed
from jtorch.sparse.rules import not_there, rule
from jtorch.sparse.tensor import CooTensor, SparseTensor, coo
from jtorch.tensor import Tensor


def _dims(t: SparseTensor, dim: Any) -> list[int]:
    n, found = t.dim(), []
    for d in dim if isinstance(dim, (tuple, list)) else (dim,):
        if not -n <= d < n:
            raise IndexError(f"Dimension out of range (expected to be in range of [{-n}, {n - 1}], but got {d})")
        found.append(d % n)
    return found


@rule("sum")
def sum_of(t: SparseTensor, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    """Sum over some dims; the result is sparse if a sparse dim is left. See torch.sparse.sum."""
    values = t.stored_values if dtype is None else t.stored_values.to(dtype)
    if dim is None or (isinstance(dim, (tuple, list)) and not dim):
        return values.sum()
    dims = _dims(t, dim)
    if not isinstance(t, CooTensor) and not keepdim:
        raise RuntimeError("reduction operations on CSR tensors with keepdim=False is unsupported")
    return like(_summed_over(as_coo(t.rebuilt(values)), dims, keepdim), t) if not isinstance(t, CooTensor) else \
        _summed_over(t.rebuilt(values), dims, keepdim)


def _summed_over(t: Any, dims: list[int], keepdim: bool) -> Any:
    k = t.sparse_dim()
    gone, inner = [d for d in dims if d < k], [d - k + 1 for d in dims if d >= k]
    values = t.stored_values.sum(inner, keepdim=keepdim) if inner else t.stored_values
    rest = tuple(values.shape[1:])
    if len(gone) == k:
        made = values.sum(0)
        return made.reshape((1,) * k + rest) if keepdim else made
    kept = [d for d in range(k) if d not in gone]
    sizes = tuple([t.shape[d] for d in kept])
    if not gone:
        return coalesce(coo(t.stored_indices[0], values, (*tuple(t.shape)[:k], *rest), t.coalesced))
    numbers, inverse = places.unique(places.flat(places.host(t.stored_indices[0])[kept], sizes))
    indices, size = places.unflat(numbers, sizes), sizes
    if keepdim:
        for d in gone:
            indices, size = np.insert(indices, d, 0, 0), (*size[:d], 1, *size[d:])
    return coo(places.tensor(indices, t.stored_indices[0]), summed(values, inverse, len(numbers)), (*size, *rest), not keepdim)


@rule("norm")
def norm(t: SparseTensor, p: Any = "fro", dim: Any = None, keepdim: bool = False, dtype: Any = None) -> Tensor:
    """Return the 2-norm of all elements."""
    if not isinstance(t, CooTensor) or dim is not None or p not in ("fro", 2, 2.0, None):
        raise not_there("norm", (t,))
    return functions.norm(coalesce(t).stored_values)


@rule("any")
def any_of(t: SparseTensor) -> Tensor:
    """Return whether any stored value is nonzero."""
    return functions.any(as_coo(t).stored_values)


@rule("__bool__")
def truth(t: SparseTensor) -> bool:
    """Return the truth value of a tensor with one element; RuntimeError for others."""
    if t.numel() != 1:
        raise RuntimeError("Boolean value of Tensor with more than one value is ambiguous")
    return bool(t.stored_values.any())


def softmax(t: Any, dim: int, dtype: Any, log: bool) -> SparseTensor:
    """Compute the softmax of the stored values along a dim; other elements count as minus infinity."""
    if not isinstance(t, CooTensor):
        raise not_there("_sparse_log_softmax" if log else "_sparse_softmax", (t,))
    c = coalesce(t)
    values = c.stored_values if dtype is None else c.stored_values.to(dtype)
    dim, k = _dims(c, dim)[0], c.sparse_dim()
    if dim >= k:
        fn = functions.log_softmax if log else functions.softmax
        return c.rebuilt(fn(values, dim - k + 1))
    kept = [d for d in range(k) if d != dim]
    numbers, inverse = places.unique(places.flat(places.host(c.stored_indices[0])[kept], tuple([c.shape[d] for d in kept])))
    group = places.tensor(inverse, c.stored_indices[0])
    spread = group.reshape((-1, *[1] * (values.dim() - 1))).expand(values.shape)
    low = functions.full((len(numbers), *values.shape[1:]), -np.inf, dtype=values.dtype, device=values.device)
    top = functions.scatter_reduce(low, 0, spread, values.detach(), "amax")
    shifted = values - functions.index_select(top, 0, group)
    total = functions.index_select(summed(shifted.exp(), inverse, len(numbers)), 0, group)
    return c.rebuilt(shifted - total.log() if log else shifted.exp() / total)
