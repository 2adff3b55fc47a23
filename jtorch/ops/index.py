"""Indexing, slicing, picking and placing elements.

See https://docs.pytorch.org/docs/stable/torch.html#indexing-slicing-joining-mutating-ops. Indices out of range are
errors (``value_check``), so reads and writes promise XLA that all are in range. If an element is written twice, the last
value remains.
"""
from __future__ import annotations

import math
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

from jtorch.ops import check, out_dtypes, strided
from jtorch.ops.elementwise import NEVER, as_number, beyond_first, unfit
from jtorch.ops.facts import InPlace, Memory, Out, Saves
from jtorch.ops.layout import COLUMNS, INDEXED, KEPT, LIKE_FIRST
from jtorch.ops.registry import Number, T, Tensor, op
from jtorch.ops.view_part import check_strided, diagonal_geometry, select_geometry, slice_geometry

# checks of index values


def _outside(index, n: int, low: int | None = None):
    """Return (is some index outside [low, n), the first such index). ``low`` is -n by default."""
    if index.size == 0:
        return np.asarray(False), np.asarray(0, np.int64)
    index = index.reshape(-1).astype(np.int64)
    bad = (index < (-n if low is None else low)) | (index >= n)
    return jnp.any(bad), index[jnp.argmax(bad)]


def _size_at(input, dim: int) -> int:
    dim = check.wrap_dim(dim, input.ndim)
    return input.shape[dim] if input.ndim else 1


def at_dim(low: int | None, error: type[Exception] = IndexError, message: str = "", *, reads: bool = True):
    """Return the value check of an op (input, dim, index, …) whose indices along ``dim`` begin at ``low``.

    An op that only writes does not check indices of an empty input.
    """
    def flag(input, dim, index, *_, **__):
        return _outside(index, _size_at(input, dim), low) if input.size or reads else NEVER

    def raised(detail, input, dim, index, *_, **__):
        text = message or "index {} is out of bounds for dimension {} with size {}"
        return error(text.format(detail, check.wrap_dim(dim, input.ndim), _size_at(input, dim)))
    return flag, raised


def _in_flat(name: str):
    """Return the value check of an op (input, index, …) with flat indices."""
    def flag(input, index, *_, **__):
        return _outside(index, input.size)

    def raised(detail, input, *_, **__):
        return IndexError(f"{name}out of range: tried to access index {detail} on a tensor of {input.size} elements.")
    return flag, raised


def narrow(index, n: int):
    """Return an index of a dim of size ``n`` as int32 if possible, since XLA's code for 32 bits is faster."""
    return index.astype(np.int32 if n < 2**31 else np.int64)


def small(index, n: int):
    """Return an index counted from the front, as int32 if possible."""
    index = narrow(index, n)
    return jnp.where(index < 0, index + index.dtype.type(n), index)


# index arrays


def _check_indices(input, indices) -> None:
    check.require(len(indices) <= input.ndim, f"too many indices for tensor of dimension {input.ndim} "
                  f"(got {len(indices)})", IndexError)
    given = [i for i in indices if i is not None]
    try:
        check.broadcast_shapes(*[i.shape for i in given])
    except RuntimeError:
        raise IndexError("shape mismatch: indexing tensors could not be broadcast together with shapes "
                         + ", ".join(str(list(i.shape)) for i in given)) from None
    for i, n in zip(indices, input.shape, strict=False):
        check.require(i is None or n or not i.size, "index is out of bounds for dimension with size 0", IndexError)


def _slots(input, indices) -> tuple:
    """Return the argument of ``.at[]``: broadcast indices, and full slices for None."""
    _check_indices(input, indices)
    shape = check.broadcast_shapes(*[i.shape for i in indices if i is not None])
    return tuple(slice(None) if i is None else jnp.broadcast_to(small(i, n), shape)
                 for i, n in zip(indices, input.shape, strict=False))


def _indices_outside(input, indices, *_, **__):
    """Return ``_outside`` for several index tensors. The detail is 64 * index + number of the index tensor."""
    if 0 in [n for d, n in enumerate(input.shape) if d >= len(indices) or indices[d] is None]:
        return NEVER        # nothing is read or written
    bad, detail = np.asarray(False), np.asarray(0, np.int64)
    for k, (i, n) in enumerate(_with_sizes(input, indices)):
        this, value = _outside(i, n)
        detail = jnp.where(bad, detail, value * 64 + k)
        bad = bad | this
    return bad, detail


def _with_sizes(input, indices) -> list[tuple]:
    return [(i, n) for i, n in zip(indices, input.shape, strict=False) if i is not None]


def _index_error(detail, input, indices, *_, **__):
    """Return PyTorch's error, which counts index tensors instead of the input's dims."""
    value, k = divmod(int(detail), 64)
    return IndexError(f"index {value} is out of bounds for dimension {k} with size {_with_sizes(input, indices)[k][1]}")


@op(value_check=(_indices_outside, _index_error), function=False, method=False, layout=INDEXED)
def index(input: Tensor, indices: list[Tensor | None]):
    """Return ``input[indices]`` for index arrays, None for a full slice. See torch.Tensor.__getitem__."""
    return input.at[_slots(input, indices)].get(mode="promise_in_bounds")


@op(value_check=(_indices_outside, _index_error),
    inplace=InPlace(True, fills=True, deprecated="tensor[indices] = tensor", adds=lambda template: template[-1] is True),
    memory=Memory(apart=True),
    layout=LIKE_FIRST)
def index_put(input: Tensor, indices: list[Tensor | None], values: Tensor, accumulate: bool = False):
    """Return ``input`` with ``input[indices]`` replaced by or (``accumulate``) added to. See torch.Tensor.index_put_."""
    at = _slots(input, indices)
    shape = jax.eval_shape(lambda x: x.at[at].get(mode="promise_in_bounds"), input).shape
    fits = values.ndim <= len(shape) and all(v in (1, n) for v, n in zip(values.shape[::-1], shape[::-1], strict=False))
    check.require(fits, f"shape mismatch: value tensor of shape {list(values.shape)} cannot be broadcast to indexing "
                  f"result of shape {list(shape)}")
    check.require(values.dtype == input.dtype, "Index put requires the source and destination dtypes match, got "
                  f"{check.scalar_name(input.dtype)} for the destination and {check.scalar_name(values.dtype)} for "
                  "the source.")
    values = jnp.broadcast_to(values, shape)
    if accumulate:
        return add_at(input, at, values)
    return set_last(input, at, values)


def add_at(x, at: tuple, values):
    """Return ``x.at[at].add(values)``. For bools addition is ``or``."""
    if x.dtype == bool:
        return add_at(x.astype(np.int32), at, values.astype(np.int32)) != 0
    return x.at[at].add(values, mode="promise_in_bounds")


def set_last(x, at: tuple, values):
    """Return ``x.at[at].set(values)``; the last of several values for an element remains. ``at``: indices and full slices.

    As in PyTorch each value gets the gradient of its element, even if another value remains there.
    """
    indices = [i for i in at if not isinstance(i, slice)]
    if not indices or 0 in values.shape:
        return x if indices else jnp.broadcast_to(values, x.shape)
    return _set_last(tuple(not isinstance(i, slice) for i in at), x, indices, values)


def _placed(indexed: tuple[bool, ...], indices: list) -> tuple:
    """Return an index tuple with the indices at marked positions and full slices elsewhere."""
    left = iter(indices)
    return tuple(next(left) if marked else slice(None) for marked in indexed)


@partial(jax.custom_jvp, nondiff_argnums=(0,))
def _set_last(indexed: tuple[bool, ...], x, indices: list, values):
    at, dims = _placed(indexed, indices), [d for d, marked in enumerate(indexed) if marked]
    count = math.prod(x.shape[d] for d in dims)
    place = at[dims[0]].astype(np.int32 if count < 2**31 else np.int64)
    for d in dims[1:]:
        place = place * x.shape[d] + at[d].astype(place.dtype)
    window = tuple([1 if d in dims else n for d, n in enumerate(x.shape)])
    if place.size == 1 and x.size and values.size == math.prod(window):     # XLA writes a slice in place, unlike a scatter
        starts = [at[d].reshape(()).astype(place.dtype) if d in dims else place.dtype.type(0) for d in range(x.ndim)]
        return jax.lax.dynamic_update_slice(x, values.reshape(window), starts)
    if place.size > 1:
        place = strided.last_wins(place, count)
        # A value that another one overwrites has a place from ``count`` on. This index is beyond the first dim, so XLA drops
        # the value.
        first = jnp.where(place < count, at[dims[0]].astype(place.dtype), place)
        at = (*at[:dims[0]], first, *at[dims[0] + 1:])
    return x.at[at].set(values, mode="drop", unique_indices=True)


@_set_last.defjvp
def _set_last_jvp(indexed: tuple[bool, ...], primals, tangents):
    at = _placed(indexed, primals[1])
    written = jnp.zeros(primals[0].shape, bool).at[at].set(True, mode="promise_in_bounds")
    emptied = jnp.where(written, 0, tangents[0])
    return _set_last(indexed, *primals), emptied.at[at].add(tangents[2], mode="promise_in_bounds")


@op(value_check=_in_flat(""), saves="all", memory=Memory(apart=True),
    out=Out(refuses=out_dtypes.refusal("take(): self and out expected to have the same dtype, but got self.dtype = {made} and "
                                       "out.dtype = {out}"), not_expanded=True))
def take(input: Tensor, index: Tensor):
    """Return the elements at flat indices. See torch.take."""
    check.require(index.dtype == np.int64, f"take(): Expected a long tensor for index, but got "
                  f"{check.scalar_name(index.dtype)}")
    check.require(input.size or not index.size, "take(): tried to take from an empty tensor", IndexError)
    return input.reshape(-1).at[small(index, input.size)].get(mode="promise_in_bounds")


@op(inplace=True, value_check=_in_flat(""), out=False, saves=Saves("all", checks=lambda template, edges: (1, 2)),
    memory=Memory(apart=True), layout=LIKE_FIRST)
def put(input: Tensor, index: Tensor, source: Tensor, accumulate: bool = False):
    """Write ``source`` to flat indices of the input. See torch.Tensor.put_."""
    check.require(index.dtype == np.int64, f"put_(): Expected a long tensor for index, but got "
                  f"{check.scalar_name(index.dtype)}")
    check.require(source.dtype == input.dtype, "put_(): self and source expected to have the same dtype, but got "
                  f"self.dtype = {check.scalar_name(input.dtype)} and source.dtype = {check.scalar_name(source.dtype)}")
    check.require(source.size == index.size, "put_(): Expected source and index to have the same number of elements, "
                  f"but got source.numel() = {source.size}, index.numel() = {index.size}", IndexError)
    check.require(input.size or not index.size, "put_(): Tried to put elements into an empty tensor", IndexError)
    flat, at, values = input.reshape(-1), (small(index, input.size).reshape(-1),), source.reshape(-1)
    written = add_at(flat, at, values) if accumulate else set_last(flat, at, values)
    return written.reshape(input.shape)


# one index along a dim


def _select_outside(detail, input, dim, *_, **__):
    if check.wrap_dim(dim, input.ndim) == 1:
        return RuntimeError(f"INDICES element is out of DATA bounds, id={detail} axis_dim={input.shape[1]}")
    return IndexError("index out of range in self")


@op(value_check=(at_dim(0)[0], _select_outside), memory=Memory(apart=True),
    out=Out(refuses=out_dtypes.refusal("index_select(): self and result must have the same scalar type"), not_expanded=True))
def index_select(input: Tensor, dim: int, index: Tensor):
    """Return the slices of a dim at an index vector. See torch.index_select."""
    dim = check.wrap_dim(dim, input.ndim)
    check.require(index.ndim <= 1, "index_select(): Index is supposed to be a vector", IndexError)
    check.require(index.dtype in (np.int32, np.int64), "index_select(): Expected dtype int32 or int64 for index")
    if not input.ndim:
        check.require(index.size == 1, f"index_select(): Index to scalar can have only 1 value, got "
                      f"{index.size} value(s)")
        return input
    if input.ndim > 1 and index.size and not input.shape[dim]:
        raise RuntimeError("index_select(): self indexing axis dim should be positive")
    check.require(input.shape[dim] or not index.size, "index out of range in self", IndexError)
    return input.at[along(input, dim, index)].get(mode="promise_in_bounds")


def along(input, dim: int, index) -> tuple:
    """Return the argument of ``.at[]`` for an index vector along ``dim``."""
    return (*[slice(None)] * dim, small(index.reshape(-1), _size_at(input, dim)))


def check_source(name: str, input, dim: int, index, source) -> None:
    """Raise PyTorch's errors of ``index_add`` and ``index_reduce``."""
    check.require(index.dtype in (np.int32, np.int64), f"{name}: Expected dtype int32/int64 for index but got: "
                  f"{check.scalar_name(index.dtype)}")
    check.require(index.ndim <= 1, f"{name}: Index is supposed to be a vector, but got dim: {index.ndim} with type: "
                  f"{check.scalar_name(index.dtype)} and size: {list(index.shape)}", IndexError)
    check.require(source.dtype == input.dtype, f"{name}: self ({check.scalar_name(input.dtype)}) and source "
                  f"({check.scalar_name(source.dtype)}) must have the same scalar type")
    n = source.shape[dim] if dim < source.ndim else 1
    check.require(dim < (source.ndim or 1), f"{name}: Indexing dim {dim} is out of bounds of the source tensor "
                  f"with dim {source.ndim}")
    check.require(source.ndim or index.size == 1, f"Dimension specified as {dim} but tensor has no dimensions", IndexError)
    check.require(index.size == n, f"{name}: Number of indices ({index.size}) should be equal to source.size(dim): "
                  f"({n}), for dim: {dim}")
    rest, given = ([m for d, m in enumerate(a.shape) if d != dim] for a in (input, source))
    same = source.ndim == input.ndim and rest == given
    check.require(same, "source tensor shape must match self tensor shape, "
                  f"excluding the specified dimension. Got self.shape = {list(input.shape)} source.shape = "
                  f"{list(source.shape)}")


def as_1d(*arrays):
    """Return the arrays, with one dim added to 0-dim arrays."""
    return tuple(a.reshape(1) if a.ndim == 0 else a for a in arrays)


def _add_outside(detail, input, dim, *rest, **kw):
    return at_dim(0, RuntimeError)[1](detail, input, dim, *rest) if input.ndim > 1 else IndexError("index out of range in self")


def _add_flag(input, *rest, **_):
    return at_dim(0, reads=input.ndim < 2)[0](input, *rest)


@op(inplace=True, value_check=(_add_flag, _add_outside),
    saves=Saves("all", checks=lambda template, edges: (1, 2) if edges[2] is not None else (), frees=beyond_first),
    memory=Memory(apart=True), out=Out(refuses=out_dtypes.EXPECTED), fits="alpha")
def index_add(input: Tensor, dim: int, index: Tensor, source: Tensor, *, alpha: Number = 1):
    """Add ``alpha`` times the slices of ``source`` to the slices at an index vector. See torch.Tensor.index_add_."""
    dim = check.wrap_dim(dim, input.ndim)
    check_source("index_add_()", input, dim, index, source)
    alpha = alpha if isinstance(alpha, check.Int) else jnp.asarray(alpha).astype(source.dtype)
    scaled = source if isinstance(alpha, check.Int) and alpha == 1 else source & alpha if source.dtype == bool else source * alpha
    x, scaled = as_1d(input, scaled)
    return add_at(x, along(input, dim, index), scaled).reshape(input.shape)


@op(inplace=True,
    value_check=at_dim(0, message="index_copy_(): index {} is out of bounds for dimension {} with size {}",
                                     reads=False),
    saves=Saves("all", checks=lambda template, edges: (1, 2) if edges[2] is not None else (1,)),
    memory=Memory(apart=True, checks_first=lambda template, ndim: check.wrap_dim(template[1], ndim)),
    out=Out(refuses=out_dtypes.EXPECTED))
def index_copy(input: Tensor, dim: int, index: Tensor, source: Tensor):
    """Return the slices at an index vector replaced by those of ``source``. See torch.Tensor.index_copy_."""
    dim = check.wrap_dim(dim, input.ndim)
    _check_copy(input, dim, index, source)
    _check_room(input, dim, index)
    x, source = as_1d(input, source)
    return set_last(x, along(input, dim, index), source).reshape(input.shape)


def _check_room(input, dim: int, index) -> None:
    """Raise PyTorch's error for a write of slices along a dim of size 0, which PyTorch checks with the first slice."""
    size = [1 if d == dim else n for d, n in enumerate(input.shape)]
    if input.size or not index.size or 0 in size:
        return
    stride = [0 if d == dim else s for d, s in enumerate(strided.contiguous_strides(input.shape))]
    strided.require_room(size, stride, 0, np.dtype(input.dtype).itemsize, 0)


def _check_copy(input, dim: int, index, source) -> None:
    name, n = "index_copy_()", source.shape[dim] if dim < source.ndim else 1
    check.require(index.ndim <= 1, f"{name}: Index should have dimension 1 or 0 (got {index.ndim})", IndexError)
    check.require(source.ndim in (0, input.ndim) or not input.ndim, f"{name}: When source and destination are not "
                  f"scalars, their dimensionality must match. Source dimensionality ({source.ndim}), destination "
                  f"dimensionality ({input.ndim})", IndexError)
    check.require(source.ndim or index.size == 1, f"{name}: When source is scalar, index should have one element (got "
                  f"{index.size})", IndexError)
    check.require(index.dtype == np.int64, f"{name}: Expected a long tensor for index, but got "
                  f"{check.scalar_name(index.dtype)}")
    check.require(source.dtype == input.dtype, f"{name}: self and source expected to have the same dtype, but got "
                  f"(self) {check.scalar_name(input.dtype)} and (source) {check.scalar_name(source.dtype)}")
    rest, given = ([str(m) for d, m in enumerate(a.shape) if d != dim] for a in (input, source))
    check.require(rest == given, f"{name}: Source/destination tensor must have same slice shapes. Destination slice "
                  f"shape: {' '.join(rest)} at dimension {dim} and source slice shape: {' '.join(given)} at "
                  "dimension 0.")
    check.require(index.size == n, f"{name}: Number of indices ({index.size}) should be equal to source.size(dim) "
                  f"({n})", IndexError)


def _number_name(template: tuple, position: int, name: str) -> str:
    return f"{name}{1 if template[position] is T else 0}"


def _fill_unfit(input, dim, index, value):
    outside, detail = at_dim(None, reads=False)[0](input, dim, index)
    bad, _ = unfit(value, input.dtype)
    return outside | bad, jnp.where(bad, _UNFIT, detail)


def _fill_error(detail, input, dim, index, value) -> Exception:
    return _unfit_error(detail, input) if int(detail) == _UNFIT else at_dim(None)[1](detail, input, dim, index)


_UNFIT = np.int64(-(1 << 62))       # the detail of the value check for a value that does not fit the dtype


@op(inplace=InPlace(True, fills=True, deprecated="tensor[mask] = scalar", reads=2), out=False,
    value_check=(_fill_unfit, _fill_error),
    backward_name=lambda template: _number_name(template, 3, "IndexFillBackward"), layout=LIKE_FIRST, fits="value")
def index_fill(input: Tensor, dim: int, index: Tensor, value: Tensor | Number):
    """Return the slices at an index vector filled with one value. See torch.Tensor.index_fill_."""
    dim = check.wrap_dim(dim, input.ndim)
    check.require(value.ndim == 0, "index_fill_ only supports a 0-dimensional value tensor, but got tensor with "
                  f"{value.ndim} dimension(s).")
    check.require(index.dtype == np.int64, "index_fill_(): Expected dtype int64 for index.", IndexError)
    check.require(index.ndim <= 1, "Index has to be a vector/scalar")
    check.require(value.dtype.kind != "c" or input.dtype.kind == "c", "index_fill_(): Converting complex Scalar to "
                  "non-complex type is not supported")
    _check_room(input, dim, index)
    if not input.size:
        return input
    hit = jnp.zeros(_size_at(input, dim), np.bool_).at[small(index.reshape(-1), _size_at(input, dim))].set(True)
    hit = hit.reshape([-1 if d == dim else 1 for d in range(input.ndim)])
    return jnp.where(jnp.broadcast_to(hit, input.shape), value.astype(input.dtype), input)


# one index for each element


def _expanded_to(index, input, dim: int):
    """Return (input, index) cut to the same sizes except in ``dim``, both with at least one dim."""
    input, index = as_1d(input, index)
    for d in range(input.ndim):
        if d != dim and input.shape[d] != index.shape[d]:
            input = jax.lax.slice_in_dim(input, 0, index.shape[d], axis=d)
    return input, index


def check_index_dtype(name: str, index) -> None:
    """Raise RuntimeError unless the index has a dtype that ``gather`` and ``scatter`` accept."""
    check.require(index.dtype in (np.int32, np.int64), f"{name}(): Expected dtype int32/int64 for index")


@op(value_check=at_dim(0, RuntimeError), saves="all", memory=Memory(apart=True), out=Out(refuses=out_dtypes.EXPECTED))
def gather(input: Tensor, dim: int, index: Tensor, *, sparse_grad: bool = False):
    """Return ``input[index[i][j]][j]`` for dim 0, and so on. See torch.gather."""
    dim = check.wrap_dim(dim, input.ndim)
    if not index.size:
        return jnp.zeros(index.shape, input.dtype)
    check_index_dtype("gather", index)
    check.require(max(input.ndim, 1) == max(index.ndim, 1), "Index tensor must have the same number of dimensions as "
                  "input tensor")
    for d, (i, n) in enumerate(zip(index.shape, input.shape, strict=False)):
        check.require(d == dim or i <= n, f"Size does not match at dimension {d} expected index {list(index.shape)} to "
                      f"be no larger than self {list(input.shape)} apart from dimension {dim}")
    x, at = _expanded_to(index, input, dim)
    return jnp.take_along_axis(x, narrow(at, _size_at(input, dim)), dim, mode="promise_in_bounds").reshape(index.shape)


@op(backward_name="GatherBackward0", saves="all", composite=True, memory=Memory(apart=True),
    out=Out(refuses=out_dtypes.EXPECTED))
def take_along_dim(input: Tensor, indices: Tensor, dim: int | None = None):
    """Return ``gather`` with both arguments broadcast; indices wrap around. See torch.take_along_dim."""
    check.require(indices.dtype == np.int64, "torch.take_along_dim(): dtype of indices should be Long but got "
                  f"{check.scalar_name(indices.dtype)}")
    if dim is None:
        return input.reshape(-1).at[_wrapped(indices.reshape(-1), input.size)].get(mode="promise_in_bounds")
    check.require(input.ndim == indices.ndim, "torch.take_along_dim(): input and indices should have the same number "
                  f"of dimensions, but got {input.ndim} dimensions for input, and {indices.ndim} dimensions "
                  "for indices")
    check.require(input.ndim, "Dimension specified as 0 but tensor has no dimensions", IndexError)
    d = check.wrap_dim(dim, input.ndim)
    rest = check.broadcast_shapes(*[(*a.shape[:d], *a.shape[d + 1:]) for a in (input, indices)])
    x, at = (jnp.broadcast_to(a, (*rest[:d], *a.shape[d:d + 1], *rest[d:])) for a in (input, indices))
    x, at = as_1d(x, at)
    n = x.shape[d]
    found = jnp.take_along_axis(x, _wrapped(at, n), d, mode="promise_in_bounds")
    return found if indices.ndim else found.reshape(())


def _wrapped(index, n: int):
    return (index % max(n, 1)).astype(np.int32 if n < 2**31 else np.int64)


@op(promote="numeric", promotes="input other", inplace=False, method=False, fits="input:scalar other:scalar",
    out=Out(refuses=out_dtypes.refusal("Expected out type to be {made} but got {out}")))
def where(condition: Tensor, input: Tensor | Number, other: Tensor | Number):
    """Return ``input`` where the condition is True, else ``other``. See torch.where."""
    check.require(condition.dtype in (np.bool_, np.uint8), "where expected condition to be a boolean tensor, but got a "
                  f"tensor with dtype {check.scalar_name(condition.dtype)}")
    shape = check.broadcast_shapes(condition.shape, input.shape, other.shape)
    condition, input, other = (jnp.broadcast_to(a, shape) for a in (condition.astype(np.bool_), input, other))
    return jnp.where(condition, input, other)


# masks


def _masked(input, mask):
    shape = check.broadcast_shapes(mask.shape, input.shape)
    return jnp.broadcast_to(input, shape), jnp.broadcast_to(mask, shape)


def _value_unfit(input, mask, value):
    return unfit(value, input.dtype)


def _unfit_error(detail, input, *_) -> Exception:
    return check.does_not_fit(input.dtype)


@op(inplace=InPlace(True, fills=True, deprecated="tensor[mask] = scalar", reads=2), out=False,
    value_check=(_value_unfit, _unfit_error),
    backward_name=lambda template: _number_name(template, 2, "MaskedFillBackward"), fits="value")
def masked_fill(input: Tensor, mask: Tensor, value: Tensor | Number):
    """Return the input with one value where the mask is True. See torch.Tensor.masked_fill_."""
    check.require(mask.dtype == np.bool_, "masked_fill_ only supports boolean masks, but got mask with dtype "
                  f"{check.c_name(mask.dtype)}")
    check.require(value.ndim == 0, "masked_fill_ only supports a 0-dimensional value tensor, but got tensor with "
                  f"{value.ndim} dimension(s).")
    x, mask = _masked(input, mask)
    return jnp.where(mask, as_number(value, input.dtype), x)


def _too_few(input, mask, source):
    shape = check.broadcast_shapes(mask.shape, input.shape)
    ones = jnp.sum(mask.astype(np.int64)) * (math.prod(shape) // max(mask.size, 1))
    return ones > source.size, ones


@op(inplace=InPlace(True, reads=2), out=False, value_check=(_too_few, lambda detail, *_: RuntimeError(
    "Number of elements of source < number of ones in mask")))
def masked_scatter(input: Tensor, mask: Tensor, source: Tensor):
    """Return the input with the elements of ``source``, in order, where the mask is True. See torch.Tensor.masked_scatter_."""
    check.require(source.dtype == input.dtype, "masked_scatter: expected self and source to have same dtypes but got"
                  f"{check.scalar_name(input.dtype)} and {check.scalar_name(source.dtype)}")
    check.require(mask.dtype == np.bool_, "masked_scatter_ only supports boolean masks, but got mask with dtype "
                  f"{check.scalar_name(mask.dtype)}")
    x, mask = _masked(input, mask)
    if not x.size or not source.size:
        return x
    place = jnp.cumsum(mask.reshape(-1).astype(np.int32)).reshape(mask.shape) - 1
    return jnp.where(mask, source.reshape(-1).at[jnp.maximum(place, 0)].get(mode="clip"), x)


@op(dynamic=True)
def masked_select(input: Tensor, mask: Tensor):
    """Return the elements where the mask is True, in one dim. See torch.masked_select."""
    check.require(mask.dtype == np.bool_, "masked_select: expected BoolTensor for mask")
    shape = check.broadcast_shapes(mask.shape, input.shape)
    return np.broadcast_to(input, shape)[np.broadcast_to(mask, shape)]


@op(dynamic=True, differentiable=False, layout=COLUMNS,
    out=Out(refuses=out_dtypes.refusal("nonzero: Expected out tensor to have scalar type {made} but got scalar type{out}")))
def nonzero(input: Tensor, *, as_tuple: bool = False):
    """Return the indices of the elements that are not 0, as rows or as a tuple of columns. See torch.nonzero."""
    if as_tuple:
        return tuple(i.astype(np.int64) for i in np.nonzero(np.atleast_1d(input)))
    return _argwhere(input)


@op(dynamic=True, differentiable=False, out=False, layout=COLUMNS)
def argwhere(input: Tensor):
    """Return the indices of the elements that are not 0, as rows. See torch.argwhere."""
    return _argwhere(input)


def _argwhere(input):
    return np.argwhere(np.asarray(input)).astype(np.int64)


@op(differentiable=False, out=True)
def nonzero_static(input: Tensor, *, size: int, fill_value: int = -1):
    """Return the first ``size`` rows of ``nonzero``, or all and then rows of ``fill_value``. See torch.nonzero_static."""
    check.require(size >= 0, "nonzero_static: 'size' must be an non-negative integer")
    if not input.ndim:
        return jnp.zeros((size, 0), np.int64)
    if not (size and input.size):
        return jnp.full((size, input.ndim), fill_value, np.int64)
    found = jnp.nonzero(input, size=size, fill_value=fill_value)
    return jnp.stack([i.astype(np.int64) for i in found], 1)


@op(method=False, out=False, differentiable=False)
def unravel_index(indices: Tensor, shape: tuple[int, ...]):
    """Convert flat indices to coordinates in ``shape``, in a last dim. See torch.unravel_index."""
    check.require(indices.dtype.kind in "iu", f"expected 'indices' to be integer dtype, but got torch.{indices.dtype.name}",
                  TypeError)
    check.require(all(n >= 0 for n in shape), f"'shape' cannot have negative values, but got {tuple(shape)}", ValueError)
    steps = np.cumprod((1, *shape[:0:-1]))[::-1].astype(np.int64) if shape else np.zeros(0, np.int64)
    places = jnp.broadcast_to(indices.astype(np.int64)[..., None], (*indices.shape, len(shape)))
    each, sizes = (jnp.broadcast_to(jnp.asarray(a, np.int64), places.shape) for a in (steps, shape))
    return places // each % sizes if shape else places


# copies with one view overwritten; the geometry of the view assumes that the copy is contiguous


def _write_view(input, src, geometry):
    check.require(tuple(src.shape) == tuple(geometry[0]), "expected src to have a size equal to the slice of self. src "
                  f"size = {list(src.shape)}, slice size = {list(geometry[0])}")
    return strided.strided_write(input.reshape(-1), src.astype(input.dtype), *geometry).reshape(input.shape)


def _dense(input) -> tuple[tuple, tuple, int]:
    return input.shape, strided.contiguous_strides(input.shape), 0


@op(saves="none", layout=KEPT)
def select_scatter(input: Tensor, src: Tensor, dim: int, index: int):
    """Return ``input`` with ``src`` in place of ``select(dim, index)``. See torch.select_scatter."""
    return _write_view(input, src, select_geometry(*_dense(input), dim, index))


@op(saves="none", layout=KEPT, out=Out(refuses=out_dtypes.EXPECTED))
def slice_scatter(input: Tensor, src: Tensor, dim: int = 0, start: int | None = None, end: int | None = None,
                  step: int = 1):
    """Return ``input`` with ``src`` in place of a slice of a dim. See torch.slice_scatter."""
    return _write_view(input, src, slice_geometry(*_dense(input), dim, start, end, step))


@op(saves="none", layout=KEPT)
def diagonal_scatter(input: Tensor, src: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1):
    """Return ``input`` with ``src`` in place of a diagonal. See torch.diagonal_scatter."""
    return _write_view(input, src, diagonal_geometry(*_dense(input), offset, dim1, dim2))


@op(saves="none", layout=KEPT)
def as_strided_scatter(input: Tensor, src: Tensor, size: tuple[int, ...], stride: tuple[int, ...],
                       storage_offset: int | None = None):
    """Return ``input`` with ``src`` in place of ``as_strided(size, stride, offset)``. See torch.as_strided_scatter."""
    offset = storage_offset or 0
    check_strided(size, stride, offset)
    strided.require_room(size, stride, offset, input.dtype.itemsize, input.size * input.dtype.itemsize)
    return _write_view(input, src, (size, stride, offset))
