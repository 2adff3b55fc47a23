"""View ops that show a part of the elements: slices, selections, diagonals, windows and splits.

See https://docs.pytorch.org/docs/stable/tensor_view.html. ``view.py`` explains geometry functions.
"""
from __future__ import annotations

from typing import Any

import jax.numpy as jnp
from jax import lax

from jtorch.ops import check, strided
from jtorch.ops.facts import InPlaceView, ViewRule
from jtorch.ops.registry import Tensor, op
from jtorch.ops.view import Geometry

# one dim cut


def _replaced(values, d: int, value: int) -> tuple[int, ...]:
    return (*values[:d], value, *values[d + 1:])


def slice_range(n: int, start: int | None, end: int | None, step: int) -> tuple[int, int]:
    """Return (start, number of elements) of a slice of a dim of size ``n``. Bounds are clamped."""
    check.require(step > 0, "slice step must be positive")
    start, end = (0 if start is None else start), (n if end is None else end)
    start = min(max(start + n if start < 0 else start, 0), n)
    end = min(max(end + n if end < 0 else end, start), n)
    return start, (end - start + step - 1) // step


def _slice_args(size, dim, start, end, step) -> tuple[int, int, int]:
    check.require(len(size) > 0, "slice() cannot be applied to a 0-dim tensor.", IndexError)
    dim = check.wrap_dim(dim, len(size))
    return dim, *slice_range(size[dim], start, end, step)


def slice_geometry(size, stride, offset, dim=0, start=None, end=None, step=1) -> Geometry:
    """Return the geometry of ``slice``."""
    dim, start, n = _slice_args(size, dim, start, end, step)
    return _replaced(size, dim, n), _replaced(stride, dim, stride[dim] * step), offset + start * stride[dim]


@op(name="slice", view=slice_geometry, saves="none", function=False, method=False)
def slice_(input: Tensor, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1):
    """Return ``input[..., start:end:step, ...]`` on one dim."""
    dim, start, n = _slice_args(input.shape, dim, start, end, step)
    return cut(input, dim, start, n, step)


def cut(x, dim: int, start: int, n: int, step: int = 1):
    """Return ``n`` elements of a dim from ``start`` on."""
    return lax.slice_in_dim(x, start, start + max((n - 1) * step + 1, 0), step, dim)


def _narrow_args(size, dim, start, length) -> tuple[int, int]:
    check.require(len(size) > 0, "narrow() cannot be applied to a 0-dim tensor.")
    check.require(isinstance(start, check.Int) and not isinstance(start, bool), "start must be an 0-dim integral Tensor.")
    check.require(length >= 0, "narrow(): length must be non-negative.")
    dim = check.wrap_dim(dim, len(size))
    n = size[dim]
    check.require(-n <= start <= n, f"start out of range (expected to be in range of [{-n}, {n}], but got {start})",
                  IndexError)
    start = start + n if start < 0 else start
    check.require(start + length <= n, f"start ({start}) + length ({length}) exceeds dimension size ({n}).")
    return dim, start


def _narrow(size, stride, offset, dim, start, length) -> Geometry:
    dim, start = _narrow_args(size, dim, start, length)
    return _replaced(size, dim, length), tuple(stride), offset + start * stride[dim]


@op(view=_narrow, saves="none", backward_name="SliceBackward0", composite=True)
def narrow(input: Tensor, dim: int, start: Any, length: int):
    """Return ``length`` elements of a dim from ``start`` on. See torch.narrow."""
    dim, start = _narrow_args(input.shape, dim, start, length)
    return cut(input, dim, start, length)


def select_args(size, dim, index) -> tuple[int, int]:
    """Return (dim, index) counted from the front. Raise PyTorch's IndexErrors."""
    check.require(len(size) > 0, "select() cannot be applied to a 0-dim tensor.", IndexError)
    dim = check.wrap_dim(dim, len(size))
    n = size[dim]
    check.require(-n <= index < n, f"select(): index {index} out of range for tensor of size {list(size)} at dimension "
                  f"{dim}", IndexError)
    return dim, index % n


def select_geometry(size, stride, offset, dim, index) -> Geometry:
    """Return the geometry of ``select``."""
    dim, index = select_args(size, dim, index)
    return (*size[:dim], *size[dim + 1:]), (*stride[:dim], *stride[dim + 1:]), offset + index * stride[dim]


@op(view=select_geometry, saves="none")
def select(input: Tensor, dim: int, index: int):
    """Return the elements at one index of a dim, without this dim. See torch.select."""
    dim, index = select_args(input.shape, dim, index)
    return lax.index_in_dim(input, index, dim, keepdims=False)


# diagonals and windows


def diagonal_dims(size, dim1, dim2) -> tuple[int, int]:
    """Return both dims counted from the front. Raise RuntimeError if they are equal."""
    wrapped = check.wrap_dim(dim1, len(size)), check.wrap_dim(dim2, len(size))
    check.require(wrapped[0] != wrapped[1], f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    return wrapped


def diagonal_geometry(size, stride, offset, diagonal=0, dim1=0, dim2=1) -> Geometry:
    """Return the geometry of ``diagonal``."""
    dim1, dim2 = diagonal_dims(size, dim1, dim2)
    n = max(min(size[dim1] + min(diagonal, 0), size[dim2] - max(diagonal, 0)), 0)
    if n:
        offset += diagonal * stride[dim2] if diagonal >= 0 else -diagonal * stride[dim1]
    rest = [d for d in range(len(size)) if d not in (dim1, dim2)]
    return (*(size[d] for d in rest), n), (*(stride[d] for d in rest), stride[dim1] + stride[dim2]), offset


def _diagonal(x, diagonal, dim1, dim2):
    return jnp.diagonal(x, diagonal, *diagonal_dims(x.shape, dim1, dim2))


@op(view=diagonal_geometry, saves="none")
def diagonal(input: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1):
    """Return the diagonal of two dims as the last dim. See torch.diagonal."""
    return _diagonal(input, offset, dim1, dim2)


@op(name="linalg.diagonal", saves="none", backward_name="DiagonalBackward0", out=False,
    view=lambda size, stride, at, *, offset=0, dim1=-2, dim2=-1:
    diagonal_geometry(size, stride, at, offset, dim1, dim2))
def linalg_diagonal(A: Tensor, *, offset: int = 0, dim1: int = -2, dim2: int = -1):
    """Return the diagonal of the last two dims. See torch.linalg.diagonal."""
    return _diagonal(A, offset, dim1, dim2)


def _unfold(size, stride, offset, dimension, width, step) -> Geometry:
    d = check.wrap_dim(dimension, len(size))
    check.require(width >= 0, f"size is {width} but must be >= 0")
    n = size[d] if size else 1
    check.require(width <= n, f"maximum size for tensor at dimension {d} is {n} but size is {width}")
    check.require(step > 0, f"step is {step} but must be > 0")
    if not size:
        return (width,), (1,), offset
    windows = (n - width) // step + 1
    return ((*_replaced(size, d, windows), width), (*_replaced(stride, d, stride[d] * step), stride[d]), offset)


@op(view=_unfold, saves="none", function=False)
def unfold(input: Tensor, dimension: int, size: int, step: int):
    """Return all windows of ``size`` elements of a dim, ``step`` apart, as a last dim. See torch.Tensor.unfold."""
    shape = _unfold(input.shape, input.shape, 0, dimension, size, step)[0]
    if not input.ndim:
        return input.reshape(1)[:size]
    d = check.wrap_dim(dimension, input.ndim)
    starts = jnp.arange(shape[d])[:, None] * step
    windows = jnp.take(input, starts + jnp.arange(size)[None, :], axis=d, mode="clip") if size else jnp.zeros(
        (*shape[:d + 1], 0, *shape[d + 1:-1]), input.dtype)
    return jnp.moveaxis(windows, d + 1, -1)


def _strided_geometry(size, stride, at, new_size, new_stride, storage_offset=None) -> Geometry:
    check_strided(new_size, new_stride, storage_offset or 0)
    return tuple(new_size), tuple(new_stride), at if storage_offset is None else storage_offset


@op(saves="none", view=ViewRule(_strided_geometry, inplace=InPlaceView()), through_storage=True)
def as_strided(input: Tensor, size: tuple[int, ...], stride: tuple[int, ...], storage_offset: int | None = None):
    """Return the view of the storage with this geometry. See torch.as_strided."""
    check_strided(size, stride, storage_offset or 0)
    return strided.strided_read(input.reshape(-1), size, stride, storage_offset or 0)


def check_strided(size, stride, offset) -> None:
    """Raise PyTorch's errors for an invalid geometry."""
    check.require(len(size) == len(stride), "mismatch in length of strides and shape")
    check.require(all(s >= 0 for s in stride), "as_strided: Negative strides are not supported at the moment, got "
                  f"strides: {list(stride)}")
    check.require(offset >= 0, f"Tensor: invalid storage offset {offset}")


# splits of one dim, whose geometries are slices


def _parts(lengths):
    """Return the geometry function of a splitting op. ``lengths`` returns the dim and the lengths of its parts."""
    def geometry(size, stride, offset, *args) -> list[Geometry]:
        dim, sizes = lengths(size, *args)
        starts = [sum(sizes[:i]) for i in range(len(sizes))]
        return [(_replaced(size, dim, n), tuple(stride), offset + a * stride[dim])
                for a, n in zip(starts, sizes, strict=True)]
    return geometry


def _cut_parts(x, dim: int, sizes: list[int]):
    return [cut(x, dim, sum(sizes[:i]), n) for i, n in enumerate(sizes)]


def _split_sizes(size, split_size, dim=0) -> tuple[int, list[int]]:
    if not isinstance(split_size, check.Int):
        return _given_sizes(size, split_size, dim)
    check.require(len(size) > 0, "split expects at least a 1-dimensional tensor")
    check.require(split_size >= 0, f"split expects split_size be non-negative, but got split_size={split_size}")
    dim = check.wrap_dim(dim, len(size))
    n = size[dim]
    check.require(split_size > 0 or n == 0, f"split_size can only be 0 if dimension size is 0, but got dimension "
                  f"size of {n}")
    count = max(-(-n // split_size), 1) if split_size else 1
    return dim, [split_size] * (count - 1) + [n - split_size * (count - 1)]


def _given_sizes(size, split_sizes, dim=0) -> tuple[int, list[int]]:
    check.require(len(size) > 0, "split expects at least a 1-dimensional tensor")
    dim, sizes = check.wrap_dim(dim, len(size)), list(split_sizes)
    check.require(min(sizes, default=0) >= 0, "split_with_sizes expects split_sizes have only non-negative entries, "
                  f"but got split_sizes={sizes}")
    check.require(sum(sizes) == size[dim], f"split_with_sizes expects split_sizes to sum exactly to {size[dim]} (input "
                  f"tensor's size at dimension {dim}), but got split_sizes={sizes}")
    return dim, sizes


def _chunk_sizes(size, chunks, dim=0) -> tuple[int, list[int]]:
    check.require(len(size) > 0, "chunk expects at least a 1-dimensional tensor")
    check.require(chunks > 0, f"chunk expects `chunks` to be greater than 0, got: {chunks}")
    dim = check.wrap_dim(dim, len(size))
    if size[dim] == 0:
        return dim, [0] * chunks
    return _split_sizes(size, -(-size[dim] // chunks), dim)


def _tensor_split(size, indices_or_sections, dim=0) -> tuple[int, list[tuple[int, int]]]:
    check.require(len(size) > 0, "tensor_split expected at least a 1-dimensional tensor, but got a tensor with 0 dims")
    check.require(not isinstance(indices_or_sections, float),
                  "tensor_split expected tensor_indices_or_sections to have dtype of long, but got Float")
    check.require(not isinstance(indices_or_sections, tuple) or not any([isinstance(n, tuple) for n in indices_or_sections]),
                  "tensor_split expected tensor_indices_or_sections to be a zero-dimensional or one-dimensional tensor, but got "
                  "a tensor with 2 dims")
    dim, ends = check.wrap_dim(dim, len(size)), indices_or_sections
    if isinstance(ends, check.Int):
        check.require(ends > 0, f"number of sections must be larger than 0, got {ends}")
        each, more = divmod(size[dim], ends)
        ends = [i * each + min(i, more) for i in range(1, ends)]
    return dim, [slice_range(size[dim], a, b, 1) for a, b in zip((0, *ends), (*ends, None), strict=True)]


def _tensor_split_geometry(size, stride, offset, indices_or_sections, dim=0) -> list[Geometry]:
    dim, ranges = _tensor_split(size, indices_or_sections, dim)
    return [(_replaced(size, dim, n), tuple(stride), offset + a * stride[dim]) for a, n in ranges]


def _split_name(template: tuple) -> str:
    return "SplitBackward0" if isinstance(template[1], check.Int) else "SplitWithSizesBackward0"


@op(view=_parts(_split_sizes), saves="none", backward_name=_split_name)
def split(tensor: Tensor, split_size_or_sections: int | tuple[int, ...], dim: int = 0):
    """Return parts of one size (the last may be smaller) or of given sizes. See torch.split."""
    return _cut_parts(tensor, *_split_sizes(tensor.shape, split_size_or_sections, dim))


@op(view=_parts(_given_sizes), saves="none")
def split_with_sizes(input: Tensor, split_sizes: tuple[int, ...], dim: int = 0):
    """Return parts of given sizes. See torch.split."""
    return _cut_parts(input, *_given_sizes(input.shape, split_sizes, dim))


def _chunk_name(template: tuple, size: tuple[int, ...]) -> str:
    """Return the node's name of ``chunk``. A dim of size 0 is split by sizes."""
    return "SplitBackward0" if size[check.wrap_dim(template[2], len(size))] else "SplitWithSizesBackward0"


@op(view=_parts(_chunk_sizes), saves="none", backward_name_by_shapes=_chunk_name, composite=True)
def chunk(input: Tensor, chunks: int, dim: int = 0):
    """Return at most ``chunks`` parts of one size; the last may be smaller. See torch.chunk."""
    return _cut_parts(input, *_chunk_sizes(input.shape, chunks, dim))


@op(view=ViewRule(_tensor_split_geometry, node_each=lambda template, size: _tensor_split(size, *template[1:])),
    saves="none", backward_name="SliceBackward0", composite=True)
def tensor_split(input: Tensor, indices_or_sections: int | tuple[int, ...], dim: int = 0):
    """Return parts as equal as possible, or cut at given places. See torch.tensor_split."""
    dim, ranges = _tensor_split(input.shape, indices_or_sections, dim)
    return [cut(input, dim, a, n) for a, n in ranges]


def _unbind(size, stride, offset, dim=0) -> list[Geometry]:
    return [select_geometry(size, stride, offset, dim, i) for i in range(_unbind_count(size, dim))]


def _unbind_count(size, dim) -> int:
    dim = check.wrap_dim(dim, len(size))
    check.require(len(size) > 0, "Dimension specified as 0 but tensor has no dimensions", IndexError)
    return size[dim]


@op(view=_unbind, saves="none")
def unbind(input: Tensor, dim: int = 0):
    """Return the elements at each index of a dim, without this dim. See torch.unbind."""
    return [lax.index_in_dim(input, i, dim, keepdims=False) for i in range(_unbind_count(input.shape, dim))]


def _numpy_split(name: str, min_ndim: int, dim: int):
    """Return a function that checks hsplit, vsplit or dsplit, which require equal parts, and returns their dim."""
    def checked(size, parts) -> int:
        known = isinstance(parts, (check.Int, tuple))
        check.require(known, f"{name}() received an invalid combination of arguments - got (Tensor, "
                      f"{type(parts).__name__})", TypeError)
        check.require(len(size) >= min_ndim, f"torch.{name} requires a tensor with at least {min_ndim} dimension, but "
                      f"got a tensor with {len(size)} dimensions!")
        d = 0 if len(size) == 1 else dim
        if isinstance(parts, check.Int):
            check.require(parts > 0 and size[d] % parts == 0, f"torch.{name} attempted to split along dimension {d}, "
                          f"but the size of the dimension {size[d]} is not divisible by the split_size {parts}!")
        return d
    return checked


_hdim, _vdim, _ddim = _numpy_split("hsplit", 1, 1), _numpy_split("vsplit", 2, 0), _numpy_split("dsplit", 3, 2)


def _split_along(dim_of):
    def geometry(size, stride, offset, parts) -> list[Geometry]:
        return _tensor_split_geometry(size, stride, offset, parts, dim_of(size, parts))
    return geometry


def _slices_along(dim_of):
    def slices(template: tuple, size: tuple[int, ...]) -> tuple[int, list[tuple[int, int]]]:
        return _tensor_split(size, template[1], dim_of(size, template[1]))
    return slices


@op(view=ViewRule(_split_along(_hdim), node_each=_slices_along(_hdim)), saves="none", backward_name="SliceBackward0")
def hsplit(input: Tensor, indices_or_sections: int | tuple[int, ...]):
    """Return parts along columns. See torch.hsplit."""
    return tensor_split(input, indices_or_sections, _hdim(input.shape, indices_or_sections))


@op(view=ViewRule(_split_along(_vdim), node_each=_slices_along(_vdim)), saves="none", backward_name="SliceBackward0")
def vsplit(input: Tensor, indices_or_sections: int | tuple[int, ...]):
    """Return parts along rows. See torch.vsplit."""
    return tensor_split(input, indices_or_sections, _vdim(input.shape, indices_or_sections))


@op(view=ViewRule(_split_along(_ddim), node_each=_slices_along(_ddim)), saves="none", backward_name="SliceBackward0")
def dsplit(input: Tensor, indices_or_sections: int | tuple[int, ...]):
    """Return parts along the third dim. See torch.dsplit."""
    return tensor_split(input, indices_or_sections, _ddim(input.shape, indices_or_sections))
