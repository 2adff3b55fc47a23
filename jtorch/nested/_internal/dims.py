"""Dims of nested tensors, and those of their values, which have no batch dim."""
from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from jtorch.nested._internal.nested_tensor import NestedTensor
from jtorch.ops.check import wrap_dim


def inner(nt: NestedTensor, dim: int) -> int:
    """Return the values' dim for a nonnegative dim. For the batch, return the ragged dim, along which the components lie."""
    return nt._ragged_idx - 1 if dim == 0 else dim - 1


def plain_dim(nt: NestedTensor, dim: int, name: str, ndim: int | None = None) -> int:
    """Return the values' dim for ``dim``; RuntimeError for the batch, and for the ragged dim unless ``ndim`` is given."""
    wrapped = wrap_dim(dim, nt.dim() if ndim is None else ndim)
    if wrapped == nt._ragged_idx and ndim is None:
        raise RuntimeError(f"{name}(): not supported for NestedTensor on ragged dim")
    if wrapped == 0:
        raise RuntimeError(f"{name}(): not supported for NestedTensor on dim=0")
    return inner(nt, wrapped)


def kinds(nt: NestedTensor, dims: Iterable[int]) -> tuple[list[int], bool, bool, bool]:
    """Return the values' dims, and whether ``dims`` contains the batch dim, the ragged dim, and others."""
    wrapped = [wrap_dim(d, nt.dim()) for d in dims]
    found = list(dict.fromkeys(inner(nt, d) for d in wrapped))
    return found, 0 in wrapped, nt._ragged_idx in wrapped, any(d not in (0, nt._ragged_idx) for d in wrapped)


def expect_contiguous(name: str, **tensors: Any) -> None:
    """Raise PyTorch's ValueError for nested tensors with holes, or ragged in another dim than the first after the batch."""
    for argument, t in tensors.items():
        if isinstance(t, NestedTensor) and (t._lengths is not None or t._ragged_idx != 1):
            raise ValueError(f"NestedTensor {name}: expected {argument} to be a contiguous jagged layout NestedTensor")


def matches(nt: NestedTensor, size: Any) -> bool:
    """Return whether a size agrees with the tensor's in all dims up to and including the ragged one; -1 agrees with all."""
    end = nt._ragged_idx + 1
    mine, theirs = nt._size[:end], tuple(size[:end])
    return len(mine) == len(theirs) and all(a == b or (type(b) is int and b == -1) for a, b in zip(mine, theirs, strict=True))
