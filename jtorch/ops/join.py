"""Joining, repeating and reordering of tensors.

See https://docs.pytorch.org/docs/stable/torch.html#indexing-slicing-joining-mutating-ops and #other-operations.
"""
from __future__ import annotations

import itertools
import math

import jax.numpy as jnp
import numpy as np
from jax import lax

import jtorch.dtype as dtypes
from jtorch._base import warned
from jtorch.ops import check, out_dtypes, promotion, strided
from jtorch.ops.facts import InPlace, Memory, Out, Saves
from jtorch.ops.layout import AS_ALL_SUGGEST, LIKE_FIRST, ROLLED, STACKED, TURNED
from jtorch.ops.registry import Size, Tensor, Tensors, op
from jtorch.ops.view_part import diagonal_dims, diagonal_geometry

# joining


def _promoted(tensors) -> list:
    """Return the tensors in their common dtype."""
    common = promotion.result_type((np.dtype(x.dtype), promotion.DIM if x.ndim else promotion.ZERO_DIM)
                                   for x in tensors)
    return [x.astype(common) for x in tensors]


def _check_cat(tensors, dim: int) -> None:
    first = tensors[0]
    for i, x in enumerate(tensors[1:], 1):
        check.require(x.ndim == first.ndim, f"Tensors must have same number of dimensions: got {first.ndim} and "
                      f"{x.ndim}")
        for d, (a, b) in enumerate(zip(first.shape, x.shape, strict=True)):
            check.require(d == dim or a == b, f"Sizes of tensors must match except in dimension {dim}. Expected size "
                          f"{a} but got size {b} for tensor number {i} in the list.")


def _cat(tensors, dim: int):
    tensors = _promoted(tensors)
    for i, x in enumerate(tensors):
        check.require(x.ndim > 0, f"zero-dimensional tensor (at position {i}) cannot be concatenated")
    # Old versions of PyTorch had only 1-dim empty tensors, so PyTorch still skips them.
    kept = [x for x in tensors if x.shape != (0,)]
    if not kept:
        return tensors[0]       # the dim does not matter
    dim = check.wrap_dim(dim, kept[0].ndim)
    _check_cat(kept, dim)
    # XLA aborts the process for an empty slice at the end of a concatenation with an empty array.
    full = [x for x in kept if not (x.shape[dim].__class__ is int and x.shape[dim] == 0)]
    return jnp.concatenate(full or kept[:1], dim)


def _not_cast(result, out, *_) -> None:
    target = dtypes.of_numpy(np.dtype(out.dtype))
    if not dtypes.can_cast(dtypes.of_numpy(np.dtype(result.dtype)), target):
        raise TypeError(f"torch.cat(): input types can't be cast to the desired output type {target.scalar_name}")


@op(saves="none", method=False, aliases=("concat", "concatenate"), memory=Memory(apart=True),
    out=Out(refuses=_not_cast), layout=AS_ALL_SUGGEST)
def cat(tensors: list[Tensor], dim: int = 0):
    """Return tensors joined along a dim they have. See torch.cat."""
    check.require(len(tensors) > 0, "torch.cat(): expected a non-empty list of Tensors", ValueError)
    return _cat(tensors, dim)


@op(saves="none", method=False, memory=Memory(apart=True), out=Out(refuses=_not_cast), layout=STACKED)
def stack(tensors: list[Tensor], dim: int = 0):
    """Return tensors of one shape joined along a new dim. See torch.stack."""
    check.require(len(tensors) > 0, "stack expects a non-empty TensorList")
    dim = check.wrap_dim(dim, tensors[0].ndim + 1)
    for i, x in enumerate(tensors):
        check.require(x.shape == tensors[0].shape, f"stack expects each tensor to be equal size, but got "
                      f"{list(tensors[0].shape)} at entry 0 and {list(x.shape)} at entry {i}")
    return jnp.stack(_promoted(tensors), dim)


def _not_empty(tensors, name: str) -> None:
    check.require(len(tensors) > 0, f"{name} expects a non-empty TensorList")


@op(saves="none", method=False, backward_name="CatBackward0", memory=Memory(apart=True), out=Out(refuses=_not_cast),
    layout=AS_ALL_SUGGEST)
def hstack(tensors: list[Tensor]):
    """Return tensors joined along columns (vectors along their dim). See torch.hstack."""
    _not_empty(tensors, "hstack")
    tensors = [jnp.atleast_1d(x) for x in tensors]
    return _cat(tensors, 0 if tensors[0].ndim == 1 else 1)


@op(saves="none", method=False, aliases=("row_stack",), backward_name="CatBackward0", memory=Memory(apart=True),
    out=Out(refuses=_not_cast), layout=AS_ALL_SUGGEST)
def vstack(tensors: list[Tensor]):
    """Return tensors joined along rows. See torch.vstack."""
    _not_empty(tensors, "vstack")
    return _cat([jnp.atleast_2d(x) for x in tensors], 0)


@op(saves="none", method=False, backward_name="CatBackward0", memory=Memory(apart=True), out=Out(refuses=_not_cast),
    layout=AS_ALL_SUGGEST)
def dstack(tensors: list[Tensor]):
    """Return tensors joined along the third dim. See torch.dstack."""
    _not_empty(tensors, "dstack")
    return _cat([jnp.atleast_3d(x) for x in tensors], 2)


@op(saves="none", method=False, backward_name="CatBackward0", memory=Memory(apart=True), out=Out(refuses=_not_cast),
    layout=AS_ALL_SUGGEST)
def column_stack(tensors: list[Tensor]):
    """Return tensors joined along columns, vectors being columns. See torch.column_stack."""
    _not_empty(tensors, "column_stack")
    return _cat([x if x.ndim > 1 else x.reshape(x.size, 1) for x in tensors], 1)


@op(saves="none", method=False, out=False)
def block_diag(tensors: Tensors):
    """Return matrices along the diagonal of a larger one. See torch.block_diag."""
    for i, x in enumerate(tensors):
        check.require(x.ndim <= 2, f"torch.block_diag: Input tensors must have 2 or fewer dimensions. Input {i} has "
                      f"{x.ndim} dimensions")
    if not len(tensors):
        return jnp.zeros((1, 0), np.float32)
    blocks = [jnp.atleast_2d(x) for x in _promoted(tensors)]
    width, left, rows = sum(b.shape[1] for b in blocks), 0, []
    for b in blocks:
        rows.append(jnp.pad(b, ((0, 0), (left, width - left - b.shape[1]))))
        left += b.shape[1]
    return jnp.concatenate(rows)


# all pairs and tuples


def _check_one_dtype(tensors) -> None:
    check.require(all(x.dtype == tensors[0].dtype for x in tensors), "meshgrid expects all tensors to have the same "
                  "dtype")


def _grid(vectors) -> list:
    """Return each vector broadcast along its own dim of the common grid."""
    shape = tuple(v.size for v in vectors)
    return [lax.broadcast_in_dim(v.reshape(v.size), shape, (d,)) for d, v in enumerate(vectors)]


@op(saves="none", method=False, out=False, backward_name="ExpandBackward0")
def meshgrid(tensors: Tensors, *, indexing: str | None = None):
    """Return vectors expanded over the grid they span. See torch.meshgrid."""
    check_meshgrid(tensors, indexing)
    if indexing != "xy" or len(tensors) < 2:
        return _grid(tensors)
    swapped = _grid([tensors[1], tensors[0], *tensors[2:]])
    return [swapped[1], swapped[0], *swapped[2:]]


def check_meshgrid(tensors, indexing: str | None) -> None:
    """Raise PyTorch's errors, and warn if ``indexing`` is None. The arguments are arrays or avals."""
    _not_empty(tensors, "meshgrid")
    if indexing is None:
        warned.warn_once("torch.meshgrid: in an upcoming release, it will be required to pass the indexing argument.")
    for x in tensors:
        n = len(x.shape)
        check.require(n <= 1, f"torch.meshgrid: Expected 0D or 1D tensor in the tensor list but got: {n}D")
    _check_one_dtype(tensors)
    check.require(indexing in (None, "ij", "xy"), 'torch.meshgrid: indexing must be one of "xy" or "ij", but '
                  f"received: {indexing}")


def _check_vector(x) -> None:
    check.require(x.ndim == 1, f"Expect a 1D vector, but got shape {list(x.shape)}")


@op(saves="none", method=False, out=False, backward_name="StackBackward0")
def cartesian_prod(tensors: Tensors):
    """Return all tuples of one element of each vector. See torch.cartesian_prod."""
    for x in tensors:
        _check_vector(x)
    if len(tensors) == 1:
        return tensors[0]
    _check_one_dtype(tensors)
    return jnp.stack([g.reshape(-1) for g in _grid(tensors)], -1)


@op(saves="all", out=False, method=False, backward_name="StackBackward0")
def combinations(input: Tensor, r: int = 2, with_replacement: bool = False):
    """Return all combinations of ``r`` elements of a vector. See torch.combinations."""
    _check_vector(input)
    check.require(r >= 0, f"Expect a non-negative number, but got {r}")
    if r == 0:
        return jnp.zeros(0, input.dtype)
    choose = itertools.combinations_with_replacement if with_replacement else itertools.combinations
    rows = np.array(list(choose(range(input.size), r)), np.int32).reshape(-1, r)
    return input[rows] if rows.size else jnp.zeros(rows.shape, input.dtype)


# repetition


@op(saves="none", function=False, out=False)
def repeat(input: Tensor, repeats: Size):
    """Repeat the whole tensor along each dim. See torch.Tensor.repeat."""
    check.require(len(repeats) >= input.ndim, "Number of dimensions of repeat dims can not be smaller than number of "
                  "dimensions of tensor")
    shape = [n * r for n, r in zip((1,) * (len(repeats) - input.ndim) + input.shape, repeats, strict=True)]
    check.nonnegative(shape)
    return jnp.tile(input, repeats)


@op(saves="none", out=False, backward_name="RepeatBackward0")
def tile(input: Tensor, dims: Size):
    """Repeat the whole tensor along the last dims. See torch.tile."""
    return repeat(input, (1,) * (input.ndim - len(dims)) + tuple(dims))


@op(out=False, saves=Saves(frees=lambda template, edges: not isinstance(template[1], check.Int)),
    backward_name=lambda template: "ViewBackward0" if isinstance(template[1], check.Int) else "IndexSelectBackward0",
    composite=True)
def repeat_interleave(input: Tensor, repeats: Tensor | int, dim: int | None = None, *, output_size: int | None = None):
    """Repeat each element, or each slice of a dim. See torch.repeat_interleave.

    With a tensor of repeats the result's size depends on values, so JAX can trace the op only with ``output_size``.
    """
    if dim is None:
        input, dim = input.reshape(input.size), 0
    dim = check.wrap_dim(dim, input.ndim)
    if not input.ndim:
        input = input.reshape(1)
    if isinstance(repeats, check.Int):
        check.require(repeats >= 0, "Repeats must be non-negative")
        return jnp.repeat(input, repeats, dim)
    check.require(repeats.dtype in (np.int32, np.int64), f'"repeat_interleave_cpu" not implemented for '
                  f"'{check.scalar_name(repeats.dtype)}'", NotImplementedError)
    n = input.shape[dim]
    check.require(repeats.ndim <= 1, "repeat_interleave only accept 1D vector as repeat")
    check.require(repeats.size in (1, n), "repeats must have the same size as input along dim, but got repeats.size(0) "
                  f"= {repeats.size} and input.size({dim}) = {n}")
    repeats = jnp.broadcast_to(repeats.reshape(-1), (n,))
    length = int(jnp.sum(repeats)) if output_size is None else output_size
    return jnp.repeat(input, repeats, dim, total_repeat_length=length)


@op(dynamic=True, differentiable=False, function=False, method=False, tested=False)
def repeat_interleave_index(repeats: Tensor):
    """Return a tensor in which index i occurs ``repeats[i]`` times: ``torch.repeat_interleave(repeats)``."""
    check.require(repeats.size == 0 or repeats.min() >= 0, "repeats can not be negative")
    return np.repeat(np.arange(repeats.size, dtype=repeats.dtype), repeats)


# reordering


@op(saves="none", out=False, layout=LIKE_FIRST)
def flip(input: Tensor, dims: Size):
    """Return dims in reverse. See torch.flip."""
    dims = check.wrap_dims(dims, input.ndim, empty_is_all=False)
    return jnp.flip(input, dims)


@op(saves="none", out=False, backward_name="FlipBackward0", layout=LIKE_FIRST)
def fliplr(input: Tensor):
    """Return columns in reverse. See torch.fliplr."""
    check.require(input.ndim >= 2, "Input must be >= 2-d.")
    return jnp.fliplr(input)


@op(saves="none", out=False, backward_name="FlipBackward0", layout=LIKE_FIRST)
def flipud(input: Tensor):
    """Return rows in reverse. See torch.flipud."""
    check.require(input.ndim >= 1, "Input must be >= 1-d.")
    return jnp.flipud(input)


@op(saves="none", out=False, layout=ROLLED)
def roll(input: Tensor, shifts: int | tuple[int, ...], dims: int | tuple[int, ...] | None = None):
    """Move elements along dims, around the ends. See torch.roll."""
    shifts = (shifts,) if isinstance(shifts, check.Int) else tuple(shifts)
    dims = () if dims is None else (dims,) if isinstance(dims, check.Int) else tuple(dims)
    check.require(len(shifts) > 0, "`shifts` required")
    if not dims and len(shifts) == 1:
        return jnp.roll(input.reshape(-1), shifts[0]).reshape(input.shape)
    check.require(input.ndim > 0, f"Dimension specified as {dims[0] if dims else 0} but tensor has no dimensions", IndexError)
    check.require(len(shifts) == len(dims), f"shifts and dimensions must align. shifts: {len(shifts)}, "
                  f"dims:{len(dims)}")
    if not input.size:
        return input
    dims = tuple(check.wrap_dim(d, input.ndim) for d in dims)
    return jnp.roll(input, shifts, dims) if input.ndim else input


@op(saves="none", out=False, layout=TURNED)
def rot90(input: Tensor, k: int = 1, dims: tuple[int, ...] = (0, 1)):
    """Rotate a plane by ``k`` quarters. See torch.rot90."""
    check.require(len(dims) == 2, f"expected total rotation dims == 2, but got dims = {len(dims)}")
    check.require(input.ndim >= 2, f"expected total dims >= 2, but got total dims = {input.ndim}")
    wrapped = tuple(check.wrap_dim(d, input.ndim) for d in dims)
    check.require(wrapped[0] != wrapped[1], f"expected rotation dims to be different, but got dim0 = {dims[0]} and "
                  f"dim1 = {dims[1]}")
    return jnp.rot90(input, k, (wrapped[0], wrapped[1]))


# triangles and diagonals


def _one_behind_the_other(template: tuple, size: tuple[int, ...], stride: tuple[int, ...]) -> bool:
    """Return whether a batch's matrices follow one another in memory. Otherwise PyTorch copies and refuses expanded tensors."""
    if len(size) <= 3:
        return True
    apart = size[-1] * size[-2]
    for d in range(len(size) - 3, -1, -1):
        if d or (stride[d] and size[d] != 1):
            if stride[d] != apart:
                return False
            apart *= size[d]
    return True


@op(saves="none", inplace=InPlace(True, fills=_one_behind_the_other), out=Out(refuses=out_dtypes.EXPECTED))
def tril(input: Tensor, diagonal: int = 0):
    """Return the lower triangle, zeros elsewhere. See torch.tril."""
    check.require(input.ndim >= 2, "tril: input tensor must have at least 2 dimensions")
    return jnp.tril(input, diagonal)


@op(saves="none", inplace=InPlace(True, fills=_one_behind_the_other), out=Out(refuses=out_dtypes.EXPECTED))
def triu(input: Tensor, diagonal: int = 0):
    """Return the upper triangle, zeros elsewhere. See torch.triu."""
    check.require(input.ndim >= 2, "triu: input tensor must have at least 2 dimensions")
    return jnp.triu(input, diagonal)


def _embedded(input, offset: int, dim1: int, dim2: int):
    ndim = input.ndim + 1
    dim1, dim2 = diagonal_dims((0,) * ndim, dim1, dim2)
    n = input.shape[-1] + abs(offset)
    rest = iter(input.shape[:-1])
    shape = tuple(n if d in (dim1, dim2) else next(rest) for d in range(ndim))
    zeros = jnp.zeros(math.prod(shape), input.dtype)
    geometry = diagonal_geometry(shape, strided.contiguous_strides(shape), 0, offset, dim1, dim2)
    return strided.strided_write(zeros, input, *geometry).reshape(shape)


@op(saves="none", out=False)
def diag_embed(input: Tensor, offset: int = 0, dim1: int = -2, dim2: int = -1):
    """Return the last dim as the diagonal of two new ones. See torch.diag_embed."""
    if not input.ndim:
        check.wrap_dim(dim1, 0)
    return _embedded(input, offset, dim1, dim2)


@op(saves="none", backward_name="DiagEmbedBackward0", out=Out(refuses=out_dtypes.OF_DIAG))
def diag(input: Tensor, diagonal: int = 0):
    """Return a vector as the diagonal of a matrix, or the diagonal of a matrix. See torch.diag."""
    check.require(input.ndim in (1, 2), f"diag(): Supports 1D or 2D tensors. Got {input.ndim}D")
    return _embedded(input, diagonal, -2, -1) if input.ndim == 1 else jnp.diagonal(input, diagonal)


@op(saves="none", out=False, backward_name="DiagEmbedBackward0")
def diagflat(input: Tensor, offset: int = 0):
    """Return all elements as the diagonal of a matrix. See torch.diagflat."""
    return _embedded(input.reshape(-1), offset, -2, -1)
