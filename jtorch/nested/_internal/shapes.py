"""Functions that change the shape of nested tensors, or select, join and divide them."""
from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from jtorch._api import functions as torch
from jtorch.nested._internal import dims
from jtorch.nested._internal.nested_tensor import NestedTensor, offsets_of
from jtorch.ops.check import wrap_dim
from jtorch.tensor import Tensor


def _sizes(size: tuple) -> tuple:
    return tuple(size[0]) if len(size) == 1 and isinstance(size[0], (tuple, list)) else size


def transpose(func: Callable, input: NestedTensor, dim0: int, dim1: int) -> NestedTensor:
    """Swap two dims other than the batch; the ragged one may be among them."""
    a, b = (wrap_dim(d, input.dim()) for d in (dim0, dim1))
    r = input._ragged_idx
    if r not in (a, b):
        for d in (a, b):
            dims.plain_dim(input, d, "transpose")
    elif 0 in (a, b):
        raise ValueError("Transpose is not supported on the batch dimension for jagged NT")
    ragged = {a: b, b: a}.get(r, r)
    return input._like(torch.transpose(input._values, dims.inner(input, a), dims.inner(input, b)), ragged)


def permute(func: Callable, input: NestedTensor, *order: Any) -> NestedTensor:
    """Reorder the dims after the batch."""
    order = _sizes(order)
    if len(order) != input.dim():
        raise ValueError(f"permute(): number of dimensions in the tensor input ({input.dim()}) does not match the length of the "
                         f"desired ordering of dimensions ({len(order)}).")
    found = [wrap_dim(d, input.dim()) for d in order]
    if len(set(found)) != len(found):
        raise ValueError("permute(): duplicate dims are not allowed.")
    if input._lengths is not None:
        raise ValueError("permute(): not supported on jagged layout nested tensor with holes")
    if found[0] != 0:
        raise ValueError("Permute is not supported on the batch dimension for jagged NT")
    return input._like(torch.permute(input._values, [d - 1 for d in found[1:]]), found.index(input._ragged_idx))


def view(func: Callable, input: NestedTensor, *size: Any) -> NestedTensor:
    """Return a view or copy of another shape with the same batch and ragged size."""
    size = _sizes(size)
    if input._ragged_idx != 1 and input._size != size:
        raise RuntimeError("view(): does not support ragged_idx != 1 except when inp._size == size. "
                           f"inp._size is ({input._size}) and size is ({size}).")
    if len(size) < 3 or not dims.matches(input, size):
        raise RuntimeError(f"view(): cannot view shape {input._size} as {list(size)}")
    r = input._ragged_idx
    return input._like(func(input._values, (*size[1:r], input._values.shape[r - 1], *size[r + 1:])))


def flatten(func: Callable, input: NestedTensor, start_dim: int = 0, end_dim: int = -1) -> NestedTensor:
    """Join dims on one side of the ragged one."""
    start, end = (dims.plain_dim(input, d, "flatten") for d in (start_dim, end_dim))
    if start == end:
        return input
    size = input._values.shape
    if start < input._ragged_idx - 1 <= end:
        raise RuntimeError("flatten(): does not support to join dims on both sides of the ragged one")
    made = (*size[:start], math.prod(size[start:end + 1]), *size[end + 1:])
    removed = end - start if end < input._ragged_idx - 1 else 0
    return input._like(torch.reshape(input._values, made), input._ragged_idx - removed)


def unflatten(func: Callable, input: NestedTensor, dim: int, sizes: Sequence[int]) -> NestedTensor:
    """Replace a dim other than the batch and the ragged one by dims of these sizes."""
    at = dims.plain_dim(input, dim, "unflatten")
    added = len(sizes) - 1 if at < input._ragged_idx - 1 else 0
    return input._like(torch.unflatten(input._values, at, sizes), input._ragged_idx + added)


def unsqueeze(func: Callable, input: NestedTensor, dim: int) -> NestedTensor:
    """Insert a dim of size 1 after the batch."""
    at = dims.plain_dim(input, dim, "unsqueeze", ndim=input.dim() + 1)
    return input._like(torch.unsqueeze(input._values, at), input._ragged_idx + (at <= input._ragged_idx - 1))


def squeeze(func: Callable, input: NestedTensor, dim: int) -> NestedTensor:
    """Remove a dim of size 1."""
    dims.expect_contiguous("squeeze_dim(self: jt, dim: any)", self=input)
    return input._like(torch.squeeze(input._values, dims.plain_dim(input, dim, "squeeze")))


def expand(func: Callable, input: NestedTensor, *size: Any) -> NestedTensor:
    """Repeat dims of size 1, without a copy."""
    size = _sizes(size)
    if not dims.matches(input, size):
        raise RuntimeError(f"expand(): cannot expand shape {input._size} -> {list(size)}")
    r = input._ragged_idx
    return input._like(input._values.expand([-1 if d == r else size[d] for d in range(1, input.dim())]))


def expand_as(func: Callable, input: Any, other: Any) -> Any:
    """Expand a dense or nested tensor to the shape of a nested one."""
    if isinstance(input, NestedTensor):
        return expand(func, input, other.shape)
    return other._like(func(input, other._values))


def select(func: Callable, input: NestedTensor, dim: int, index: int) -> Any:
    """Return a component, or the nested tensor of one index of another dim."""
    if wrap_dim(dim, input.dim()) == 0:
        return unbind(func, input)[index]
    at = dims.plain_dim(input, dim, "select")
    if input._lengths is not None:
        raise ValueError("select(): not yet supported on dim != 0 for non-contiguous nested tensor with holes")
    return input._like(torch.select(input._values, at, index), input._ragged_idx - (at < input._ragged_idx - 1))


def getitem(func: Callable, input: NestedTensor, index: Any) -> Any:
    """Return a component or a part of it, or a nested tensor indexed along dims other than dim 0 and the ragged one."""
    index = index if isinstance(index, tuple) else (index,)
    if type(index[0]) is int:
        found = unbind(func, input)[index[0]]
        return found[index[1:]] if index[1:] else found
    index = _without_ellipsis(index, input.dim())
    for at, part in enumerate(index[:input._ragged_idx + 1]):
        if at in (0, input._ragged_idx) and part is not _ALL:
            kind = "ragged dim" if at else "dim=0"
            raise RuntimeError(f"slice(): not supported for NestedTensor on {kind}")
    removed = sum(type(part) is int for part in index[1:input._ragged_idx])
    return input._like(input._values[index[1:]], input._ragged_idx - removed)


# Stands for a dim that an ellipsis covers. ``getitem`` compares by identity, as a user's own slice of the batch must raise.
_ALL = slice(None)


def _without_ellipsis(index: tuple, ndim: int) -> tuple:
    at = next((i for i, part in enumerate(index) if part is Ellipsis), None)
    if at is None:
        return index
    used = sum(part is not None for part in index) - 1
    return (*index[:at], *[_ALL] * (ndim - used), *index[at + 1:])


def narrow(func: Callable, input: NestedTensor, dim: int, start: Any, length: int) -> NestedTensor:
    """Return a part of a dim other than the batch and the ragged one."""
    return input._like(torch.narrow(input._values, dims.plain_dim(input, dim, "narrow"), start, length))


def unbind(func: Callable, input: NestedTensor, dim: int = 0) -> Any:
    """Return the components, as views."""
    if dim != 0:
        raise RuntimeError("unbind(): only supported for NestedTensor on dim=0")
    at, lengths = input._ragged_idx - 1, input._component_lengths().tolist()
    if input._lengths is None:
        return torch.split(input._values, lengths, at)
    begins = input._offsets.tolist()
    return tuple(torch.narrow(input._values, at, b, n) for b, n in zip(begins[:-1], lengths, strict=True))


def split(func: Callable, input: NestedTensor, split_size_or_sections: Any, dim: int = 0) -> tuple:
    """Return parts of a dim other than the batch and the ragged one, as nested tensors."""
    dims.expect_contiguous("split_tensor(self: jt, split_size: any, dim: any?)", self=input)
    at = dims.plain_dim(input, dim, "split")
    return tuple(input._like(part) for part in torch.split(input._values, split_size_or_sections, at))


def chunk(func: Callable, input: NestedTensor, chunks: int, dim: int = 0) -> Any:
    """Divide the batch, or a dim other than the ragged one, into chunks. A chunk of the batch has some of the components."""
    dims.expect_contiguous("chunk_default(self: jt, chunks: any, dim: any?)", self=input)
    if wrap_dim(dim, input.dim()) != 0:
        at = dims.plain_dim(input, dim, "chunk")
        return tuple(input._like(part) for part in torch.chunk(input._values, chunks, at))
    parts = torch.chunk(torch.diff(input._offsets), chunks)
    values = torch.split(input._values, [int(n.sum().item()) for n in parts])
    return tuple(NestedTensor(v, offsets_of(n)) for v, n in zip(values, parts, strict=True))


def cat(func: Callable, tensors: Any, dim: int = 0) -> NestedTensor:
    """Join nested tensors of one structure, or dense ones that expand to it, along a dim that is neither batch nor ragged."""
    first = next(t for t in tensors if isinstance(t, NestedTensor))
    nested = [t if isinstance(t, NestedTensor) else expand_as(Tensor.expand_as, t, first) for t in tensors]
    return first._like(torch.cat([t._values for t in nested], dims.plain_dim(first, dim, "cat")))


def stack(func: Callable, tensors: Any, dim: int = 0) -> NestedTensor:
    """Join nested tensors of one structure along a new dim."""
    first = tensors[0]
    for t in tensors:
        if not isinstance(t, NestedTensor):
            raise RuntimeError("stack(): expected all nested tensors inputs")
        if t.dim() != first.dim():
            raise RuntimeError("stack(): expected all nested tensors to have the same dim")
        if not dims.matches(t, first._size):
            raise RuntimeError("stack(): expected all nested tensors to have the same nested structure")
    at = wrap_dim(dim, first.dim() + 1)
    dims.plain_dim(first, at, "stack", ndim=first.dim() + 1)
    if at == first._ragged_idx:
        raise RuntimeError("stack(): not supported for NestedTensor on ragged dim")
    return first._like(torch.stack([t._values for t in tensors], at - 1))
