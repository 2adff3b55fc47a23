"""Composite rules of shape functions: views, joins, copies such as ``tile``, ``diag`` and ``flip``, and ``nonzero``."""
from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from jtorch._api import functions as torch
from jtorch._api.typed_tensors import MemoryFormat
from jtorch._aten.asking import has_taker
from jtorch._aten.composites.rules import composite
from jtorch._aten.fitting import LISTS
from jtorch._aten.history import operated
from jtorch.engine import call_of
from jtorch.ops.check import broadcast_shapes
from jtorch.ops.registry import OPS, T
from jtorch.storage import aval_of, geometry_of

_CONTIGUOUS = MemoryFormat("contiguous_format")


def can_view(x: Any, shape: Sequence[int]) -> bool:
    """Return whether the tensor's strides allow a view with this shape."""
    c = call_of(OPS["reshape"], (T, tuple(shape)))
    return c.op.geometry(c.template, geometry_of(x), (aval_of(x),)) is not None


@composite("reshape")
def reshape(input: Any, shape: Any) -> Any:
    """Return a view if the strides allow it, else a view of a copy."""
    if can_view(input, shape):
        return input.view(shape)
    return unsafe_view(input.clone(memory_format=_CONTIGUOUS), shape)


def unsafe_view(x: Any, shape: Any) -> Any:
    """Return a temporary tensor in another shape by ``aten._unsafe_view``."""
    n = math.prod(x.shape)
    known = math.prod([s for s in shape if s != -1])
    sizes = [n // known if s == -1 and known else s for s in shape]
    return operated("_unsafe_view", {"self": x, "size": sizes}, call_of(OPS["reshape"], (T, tuple(sizes))), (x,))


@composite("reshape_as")
def _reshape_as(input: Any, other: Any) -> Any:
    return reshape(input, tuple(other.shape))


@composite("view_as")
def _view_as(input: Any, other: Any) -> Any:
    return input.view(tuple(other.shape))


@composite("flatten")
def _flatten(input: Any, start_dim: int = 0, end_dim: int = -1) -> Any:
    ndim = input.dim()
    if not ndim:
        return reshape(input, (1,))
    start, end = start_dim % ndim, end_dim % ndim
    if start == end:
        return input
    shape = tuple(input.shape)
    return reshape(input, (*shape[:start], math.prod(shape[start:end + 1]), *shape[end + 1:]))


@composite("ravel")
def _ravel(input: Any) -> Any:
    return reshape(input.contiguous(), (-1,))


@composite("unflatten")
def _unflatten(input: Any, dim: int, sizes: Any) -> Any:
    dim, shape = dim % input.dim(), tuple(input.shape)
    return input.view((*shape[:dim], *sizes, *shape[dim + 1:]))


@composite("T")
def _T(input: Any) -> Any:
    return input.permute(tuple(range(input.dim()))[::-1])


@composite("mT")
def _mT(input: Any) -> Any:
    return input.transpose(-2, -1)


@composite("H", "mH", "adjoint")
def _adjoint(input: Any) -> Any:
    return NotImplemented if input.is_complex() or input.dim() < 2 else input.transpose(-2, -1)


@composite("swapdims", "swapaxes")
def _swapdims(input: Any, **dims: int) -> Any:
    return input.transpose(*dims.values())


@composite("movedim")
def _movedim(input: Any, source: Any, destination: Any) -> Any:
    ndim = input.dim()
    from_, to = ([d % ndim for d in (x if x.__class__ in LISTS else [x])] for x in (source, destination))
    order = dict(zip(to, from_, strict=True))
    left = iter([d for d in range(ndim) if d not in from_])
    return input.permute([order[d] if d in order else next(left) for d in range(ndim)])


@composite("expand_as")
def _expand_as(input: Any, other: Any) -> Any:
    return input.expand(tuple(other.shape))


@composite("broadcast_to")
def _broadcast_to(input: Any, size: Any) -> Any:
    return input.expand(tuple(size))


@composite("broadcast_tensors")
def _broadcast_tensors(tensors: Any) -> Any:
    shape = broadcast_shapes(*[tuple(t.shape) for t in tensors])
    return [t.expand(shape) for t in tensors]


@composite("narrow")
def _narrow(input: Any, dim: int, start: Any, length: int) -> Any:
    if start.__class__ is not int:
        return NotImplemented
    begin = start if start >= 0 else start + input.shape[dim]
    return call_slice(input, dim, begin, begin + length)


def call_slice(x: Any, dim: int, start: int, end: int) -> Any:
    """Return the slice ``start:end`` of a dim."""
    index = (slice(None),) * (dim % x.dim())
    return x[(*index, slice(start, end))]


@composite("chunk")
def _chunk(input: Any, chunks: int, dim: int = 0) -> Any:
    return list(input.split(max(-(-input.shape[dim] // chunks), 1), dim)) if input.shape[dim] else NotImplemented


@composite("hstack")
def _hstack(tensors: Any) -> Any:
    return torch.cat(list(tensors), 0 if tensors[0].dim() == 1 else 1) if tensors[0].dim() else NotImplemented


@composite("vstack")
def _vstack(tensors: Any) -> Any:
    return torch.cat([torch.atleast_2d(t) for t in tensors], 0)


@composite("dstack")
def _dstack(tensors: Any) -> Any:
    return torch.cat([torch.atleast_3d(t) for t in tensors], 2)


@composite("atleast_1d")
def _atleast_1d(input: Any) -> Any:
    return input.reshape(1) if not input.dim() else input


@composite("atleast_2d")
def _atleast_2d(input: Any) -> Any:
    return input.reshape(1, 1) if not input.dim() else input.unsqueeze(0) if input.dim() == 1 else input


@composite("atleast_3d")
def _atleast_3d(input: Any) -> Any:
    if not input.dim():
        return input.reshape(1, 1, 1)
    return input.unsqueeze(0).unsqueeze(-1) if input.dim() == 1 else input.unsqueeze(-1) if input.dim() == 2 else input


@composite("tile")
def _tile(input: Any, dims: Any) -> Any:
    return input.repeat(*([1] * (input.dim() - len(dims))), *dims)


@composite("positive")
def _positive(input: Any) -> Any:
    return input


@composite("diag")
def _diag(input: Any, diagonal: int = 0) -> Any:
    if input.dim() == 1:
        return torch.diag_embed(input, diagonal)
    return input.diagonal(diagonal).clone(memory_format=_CONTIGUOUS)


@composite("nonzero")
def _nonzero(input: Any, as_tuple: bool = False) -> Any:
    if not as_tuple or not input.dim() or not has_taker([input]):
        return NotImplemented       # modes do not see the nonzero of a mask in an index: PyTorch passes masks to aten::index
    return list(torch.nonzero(input).unbind(1))


@composite("fliplr")
def _fliplr(input: Any) -> Any:
    return input.flip(1)


@composite("flipud")
def _flipud(input: Any) -> Any:
    return input.flip(0)


@composite("diagflat")
def _diagflat(input: Any, offset: int = 0) -> Any:
    return torch.diag_embed(input.contiguous().view(-1), offset)


@composite("column_stack")
def _column_stack(tensors: Any) -> Any:
    return torch.cat([t.reshape(t.numel(), 1) if t.dim() <= 1 else t for t in tensors], 1)


@composite("sum_to_size")
def _sum_to_size(input: Any, size: Any) -> Any:
    return summed_to(input, tuple(size))


def summed_to(x: Any, size: tuple) -> Any:
    """Return a tensor summed to the size that it was expanded from."""
    extra = x.dim() - len(size)
    dims = [*range(extra), *[i for i in range(extra, x.dim()) if size[i - extra] == 1 and x.shape[i] != 1]]
    if dims:
        x = x.sum(dims, keepdim=True)
    return x.view(size) if extra else x
