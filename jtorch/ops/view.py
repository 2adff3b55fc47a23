"""View ops that show all elements of their input in another shape.

See https://docs.pytorch.org/docs/stable/tensor_view.html.
Each op has a body and a geometry function. The geometry function maps (size, stride, offset) and the other arguments to the
result's geometry, with PyTorch's strides even for sizes 0 and 1, because programs print them. A
geometry of None means that a copy is needed. If the geometry depends on the input's dtype, the function has
a keyword ``source`` for the dtype.
"""
from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from jtorch._base import warned
from jtorch.ops import check, strided
from jtorch.ops.facts import InPlaceView, ViewRule
from jtorch.ops.registry import Size, Tensor, Tensors, dtype, op

Geometry = tuple[tuple[int, ...], tuple[int, ...], int]
ITSELF = "itself"       # what a geometry function returns if the result is the argument itself, not a new tensor


# view, reshape and ops built on them


def _view(size, stride, offset, new_size) -> Geometry:
    new_size = strided.infer_size(new_size, math.prod(size))
    new_stride = strided.compute_view_stride(size, stride, new_size)
    if new_stride is None:
        raise RuntimeError("view size is not compatible with input tensor's size and stride (at least one dimension "
                           "spans across two contiguous subspaces). Use .reshape(...) instead.")
    return new_size, new_stride, offset


def _reshape(size, stride, offset, shape) -> Geometry | None:
    shape = strided.infer_size(shape, math.prod(size))
    new_stride = strided.compute_view_stride(size, stride, shape)
    return None if new_stride is None else (shape, new_stride, offset)


def _reshaped(x, shape):
    return x.reshape(strided.infer_size(shape, x.size))


@op(view=_view, saves="none", function=False)
def view(input: Tensor, size: Size):
    """Return the same elements in another shape, never a copy. See torch.Tensor.view."""
    return _reshaped(input, size)


@op(view=ViewRule(lambda size, stride, offset, other: _view(size, stride, offset, other.shape), copy_name="UnsafeViewBackward0"),
    saves="none", function=False, backward_name="ViewBackward0")
def view_as(input: Tensor, other: Tensor):
    """Return ``view`` with the shape of another tensor. See torch.Tensor.view_as."""
    return _reshaped(input, other.shape)


_NAMES: dict[str, Any] = {"alias_name": "ReshapeAliasBackward0", "copy_name": "UnsafeViewBackward0"}


@op(view=ViewRule(_reshape, **_NAMES), saves="none", backward_name="ViewBackward0")
def reshape(input: Tensor, shape: Size):
    """Return the same elements in another shape, a copy if strides allow no view. See torch.reshape."""
    return _reshaped(input, shape)


@op(view=ViewRule(lambda size, stride, offset, other: _reshape(size, stride, offset, other.shape), **_NAMES),
    saves="none", function=False, backward_name="ViewBackward0")
def reshape_as(input: Tensor, other: Tensor):
    """Return ``reshape`` with the shape of another tensor. See torch.Tensor.reshape_as."""
    return _reshaped(input, other.shape)


def _ravel(size, stride, offset) -> Geometry | None:
    return ((math.prod(size),), (1,), offset) if strided.is_contiguous(size, stride) else None


@op(view=ViewRule(_ravel, copy_name="UnsafeViewBackward0"), saves="none", backward_name="ViewBackward0")
def ravel(input: Tensor):
    """Return all elements in one dim. See torch.ravel."""
    return input.reshape(input.size)


def _flat_size(size, start_dim, end_dim) -> tuple[int, ...]:
    start, end = check.wrap_dim(start_dim, len(size)), check.wrap_dim(end_dim, len(size))
    check.require(start <= end, "flatten() has invalid args: start_dim cannot come after end_dim")
    return (*size[:start], math.prod(size[start:end + 1]), *size[end + 1:])


def _flatten(size, stride, offset, start_dim=0, end_dim=-1) -> Geometry | str | None:
    shape = _flat_size(size, start_dim, end_dim)
    return ITSELF if len(shape) == len(size) and size else _reshape(size, stride, offset, shape)


@op(view=ViewRule(_flatten, **_NAMES), saves="none", backward_name="ViewBackward0", composite=True)
def flatten(input: Tensor, start_dim: int = 0, end_dim: int = -1):
    """Merge several dims into one. See torch.flatten."""
    return input.reshape(_flat_size(input.shape, start_dim, end_dim))


def _unflat_size(size, dim, sizes) -> tuple[int, ...]:
    dim = check.wrap_dim(dim, len(size))
    check.require(len(sizes) > 0, "unflatten: sizes must be non-empty")
    n = size[dim] if size else 0
    check.require(len(size) > 0, "unflatten got an unexpected error:\nDimension specified as 0 but tensor has "
                  "no dimensions")
    try:
        sizes = strided.infer_size(sizes, n)
    except RuntimeError as e:
        if "is invalid for" not in str(e):
            raise RuntimeError(f"unflatten got an unexpected error:\n{e}") from None
        raise RuntimeError(f"unflatten: Provided sizes {list(sizes)} don't multiply up to the size of dim {dim} ({n}) "
                           "in the input tensor") from None
    return (*size[:dim], *sizes, *size[dim + 1:])


@op(view=lambda size, stride, offset, dim, sizes: _view(size, stride, offset, _unflat_size(size, dim, sizes)),
    saves="none", backward_name="ViewBackward0", composite=True)
def unflatten(input: Tensor, dim: int, sizes: tuple[int, ...]):
    """Split one dim into several. See torch.unflatten."""
    return input.reshape(_unflat_size(input.shape, dim, sizes))


# the same sizes in another order


def _permute(size, stride, offset, dims) -> Geometry:
    dims = _permutation(dims, len(size))
    return tuple(size[d] for d in dims), tuple(stride[d] for d in dims), offset


def _permutation(dims: Sequence[int], ndim: int) -> list[int]:
    check.require(len(dims) == ndim, "permute(sparse_coo): number of dimensions in the tensor input does not match the "
                  f"length of the desired ordering of dimensions i.e. input.dim() = {ndim} is not equal to len(dims) = "
                  f"{len(dims)}")
    wrapped = [check.wrap_dim(d, ndim) for d in dims]
    check.require(len(set(wrapped)) == ndim, "permute(): duplicate dims are not allowed.")
    return wrapped


def _swap(ndim: int, dim0: int, dim1: int) -> list[int]:
    dim0, dim1 = check.wrap_dim(dim0, ndim), check.wrap_dim(dim1, ndim)
    dims = list(range(ndim))
    if ndim:
        dims[dim0], dims[dim1] = dim1, dim0
    return dims


def _transpose(size, stride, offset, dim0, dim1) -> Geometry:
    return _permute(size, stride, offset, _swap(len(size), dim0, dim1))


@op(view=_permute, saves="none")
def permute(input: Tensor, dims: Size):
    """Return the dims in another order. See torch.permute."""
    return input.transpose(_permutation(dims, input.ndim))


@op(view=ViewRule(_transpose, inplace=InPlaceView()), saves="none")
def transpose(input: Tensor, dim0: int, dim1: int):
    """Return two dims swapped. See torch.transpose."""
    return input.transpose(_swap(input.ndim, dim0, dim1))


@op(view=ViewRule(_transpose, inplace=InPlaceView()), saves="none", backward_name="TransposeBackward0")
def swapdims(input: Tensor, dim0: int, dim1: int):
    """Return two dims swapped. See torch.swapdims."""
    return input.transpose(_swap(input.ndim, dim0, dim1))


@op(view=ViewRule(_transpose, inplace=InPlaceView()), saves="none", backward_name="TransposeBackward0")
def swapaxes(input: Tensor, axis0: int, axis1: int):
    """Return two dims swapped. See torch.swapaxes."""
    return input.transpose(_swap(input.ndim, axis0, axis1))


def _t_dims(ndim: int) -> list[int]:
    check.require(ndim <= 2, f"t() expects a tensor with <= 2 dimensions, but self is {ndim}D")
    return list(range(ndim))[::-1]


def _check_t(ndim: int) -> None:
    check.require(ndim <= 2, f"t_() expects a tensor with <= 2 dimensions, but self is {ndim}D")


@op(view=ViewRule(lambda size, stride, offset: _permute(size, stride, offset, _t_dims(len(size))),
                  inplace=InPlaceView(check=_check_t)),
    saves="none")
def t(input: Tensor):
    """Return a matrix transposed, or a vector unchanged. See torch.t."""
    return input.transpose(_t_dims(input.ndim))


def _T(size, stride, offset) -> Geometry:
    if not size:
        _warn_0d("Tensor.T", "This function is the identity in these cases.")
    elif len(size) != 2:
        warned.warn("The use of `x.T` on tensors of dimension other than 2 to reverse their shape is deprecated and "
                    "it will throw an error in a future release. Consider `x.mT` to transpose batches of matrices or "
                    "`x.permute(*torch.arange(x.ndim - 1, -1, -1))` to reverse the dimensions of a tensor.")
    return tuple(size)[::-1], tuple(stride)[::-1], offset


def _warn_0d(name: str, advice: str) -> None:
    warned.warn(f"{name} is deprecated on 0-D tensors. {advice}")


@op(view=_T, saves="none", function=False, method=False, backward_name="PermuteBackward0")
def T(input: Tensor):
    """Return the dims in reverse order. See torch.Tensor.T."""
    return input.transpose()


def matrix_dims(ndim: int, name: str) -> list[int]:
    """Return the dims with the last two exchanged; raise PyTorch's error for a tensor with one dim."""
    check.require(ndim != 1, f"{name} is only supported on matrices or batches of matrices. Got 1-D tensor.")
    return [*range(ndim - 2), ndim - 1, ndim - 2] if ndim else []


def h_dims(ndim: int, name: str = "tensor.H") -> list[int]:
    """Return the dims of a matrix exchanged; raise PyTorch's error for other numbers of dims than 0 and 2."""
    check.require(ndim in (0, 2), f"{name} is only supported on matrices (2-D tensors). Got {ndim}-D tensor."
                  + (" For batches of matrices, consider using tensor.mH" if ndim > 2 else ""))
    return list(range(ndim))[::-1]


def _adjoint(name: str, dims_of, advice: str = "Consider using x.conj()."):
    """Return the geometry function of a conjugating transpose, which copies complex elements."""
    def geometry(size, stride, offset, *, source=None) -> Geometry | str | None:
        dims = dims_of(len(size), name)
        if not size:
            _warn_0d(name.replace("tensor.", "Tensor."), advice)
            if source is None or source.kind != "c" or name == "tensor.mT":
                return ITSELF
        is_complex = source is not None and source.kind == "c" and name != "tensor.mT"
        return None if is_complex else _permute(size, stride, offset, dims)
    return geometry


def _conjugate(x):
    return jnp.conj(x) if x.dtype.kind == "c" else x


@op(view=_adjoint("tensor.mT", matrix_dims, "This function is the identity in these cases."), saves="none",
    function=False, method=False, backward_name="TransposeBackward0")
def mT(input: Tensor):
    """Return the last two dims swapped. See torch.Tensor.mT."""
    return input.transpose(matrix_dims(input.ndim, "tensor.mT"))


@op(view=_adjoint("tensor.mH", matrix_dims), saves="none", function=False, method=False,
    backward_name="TransposeBackward0")
def mH(input: Tensor):
    """Return the last two dims swapped, complex elements conjugated (a copy then). See torch.Tensor.mH."""
    return _conjugate(input.transpose(matrix_dims(input.ndim, "tensor.mH")))


@op(view=_adjoint("tensor.adjoint()", matrix_dims), saves="none", backward_name="TransposeBackward0")
def adjoint(input: Tensor):
    """Return the last two dims swapped, complex elements conjugated (a copy then). See torch.adjoint."""
    return _conjugate(input.transpose(matrix_dims(input.ndim, "tensor.adjoint()")))


@op(view=_adjoint("tensor.H", h_dims), saves="none", function=False, method=False, backward_name="TransposeBackward0")
def H(input: Tensor):
    """Return a matrix transposed and conjugated (a copy if complex). See torch.Tensor.H."""
    return _conjugate(input.transpose(h_dims(input.ndim)))


def _unless_0_dim(name: str, of_0_dim: str) -> Callable[[tuple, tuple[int, ...]], str]:
    """Return a function that gives the node's name: ``name``, or ``of_0_dim`` for a 0-dim tensor."""
    return lambda template, shape: name if shape else of_0_dim


def _moved(ndim: int, source, destination) -> list[int]:
    source, destination = ((d,) if isinstance(d, check.Int) else tuple(d) for d in (source, destination))
    check.require(len(source) == len(destination), f"movedim: Invalid source or destination dims: source "
                  f"({list(source)} dims) should contain the same number of dims as destination "
                  f"({list(destination)} dims)")
    pairs = [[check.wrap_dim(d, ndim) for d in dims] for dims in (source, destination)]
    for name, wrapped, dims in zip(("source", "destination"), pairs, (source, destination), strict=True):
        check.require(len(set(wrapped)) == len(dims), f"movedim: repeated dim in `{name}` ({list(dims)})")
    if ndim == 0:
        return []
    order = [d for d in range(ndim) if d not in pairs[0]]
    for at, d in sorted(zip(pairs[1], pairs[0], strict=True)):
        order.insert(at, d)
    return order


@op(view=ViewRule(lambda size, stride, offset, source, destination:
    _permute(size, stride, offset, _moved(len(size), source, destination))), saves="none",
    aliases=("moveaxis",), backward_name_by_shapes=_unless_0_dim("PermuteBackward0", "AliasBackward0"), composite=True)
def movedim(input: Tensor, source: int | tuple[int, ...], destination: int | tuple[int, ...]):
    """Return dims moved to other places, the rest in order. See torch.movedim."""
    return input.transpose(_moved(input.ndim, source, destination))


# sizes of 1


def _squeezed(size, dim) -> list[int]:
    """Return the dims that remain."""
    dims = check.wrap_dims(dim, len(size), empty_is_all=False)
    return [d for d in range(len(size)) if size[d] != 1 or d not in dims]


def _squeeze(size, stride, offset, dim=None) -> Geometry:
    keep = _squeezed(size, dim)
    return tuple(size[d] for d in keep), tuple(stride[d] for d in keep), offset


def _squeeze_name(template: tuple) -> str:
    dim = template[1]
    return f"SqueezeBackward{0 if dim is None else 1 if isinstance(dim, check.Int) else 2}"


@op(view=ViewRule(_squeeze, inplace=InPlaceView(further=3)), saves="none", backward_name=_squeeze_name)
def squeeze(input: Tensor, dim: int | tuple[int, ...] | None = None):
    """Return dims of size 1 dropped. See torch.squeeze."""
    return input.reshape([input.shape[d] for d in _squeezed(input.shape, dim)])


def _unsqueeze(size, stride, offset, dim) -> Geometry:
    dim = check.wrap_dim(dim, len(size) + 1)
    step = size[dim] * stride[dim] if dim < len(size) else 1
    return (*size[:dim], 1, *size[dim:]), (*stride[:dim], step, *stride[dim:]), offset


@op(view=ViewRule(_unsqueeze, inplace=InPlaceView()), saves="none")
def unsqueeze(input: Tensor, dim: int):
    """Insert a dim of size 1. See torch.unsqueeze."""
    return jnp.expand_dims(input, check.wrap_dim(dim, input.ndim + 1))


def _atleast_1d(size, stride, offset) -> Geometry:
    return (size, stride, offset) if size else ((1,), (1,), offset)


def _atleast_2d(size, stride, offset) -> Geometry:
    return (size, stride, offset) if len(size) > 1 else _unsqueeze(*_atleast_1d(size, stride, offset), 0)


def _atleast_3d(size, stride, offset) -> Geometry:
    return (size, stride, offset) if len(size) > 2 else _unsqueeze(*_atleast_2d(size, stride, offset), -1)


@op(view=_atleast_1d, saves="none", method=False, backward_name="ViewBackward0")
def atleast_1d(input: Tensor):
    """Add a dim to a 0-dim tensor. See torch.atleast_1d."""
    return jnp.atleast_1d(input)


@op(view=_atleast_2d, saves="none", method=False,
    backward_name_by_shapes=_unless_0_dim("UnsqueezeBackward0", "ViewBackward0"))
def atleast_2d(input: Tensor):
    """Add leading dims of size 1 up to two dims. See torch.atleast_2d."""
    return jnp.atleast_2d(input)


@op(view=_atleast_3d, saves="none", method=False,
    backward_name_by_shapes=_unless_0_dim("UnsqueezeBackward0", "ViewBackward0"))
def atleast_3d(input: Tensor):
    """Add dims of size 1 up to three dims. See torch.atleast_3d."""
    return jnp.atleast_3d(input)


# repeating without copying


def _expand(size, stride, offset, sizes, *, implicit=False, source=None) -> Geometry:
    shape = _expanded_size(size, sizes, source)
    more = len(shape) - len(size)
    steps: list[int] = []
    for d in range(len(shape) - 1, -1, -1):
        had = size[d - more] if d >= more else 1
        step = stride[d - more] if d >= more else (shape[d + 1] * steps[-1] if size else 0)
        steps.append(step if had == shape[d] else 0)
    return shape, tuple(reversed(steps)), offset


def _expanded_size(size, sizes, source: np.dtype | None) -> tuple[int, ...]:
    more = len(sizes) - len(size)
    check.require(more >= 0, f"expand({check.type_name(source or np.dtype(np.float32))}{{{list(size)}}}, "
                  f"size={list(sizes)}): the number of sizes provided ({len(sizes)}) must be greater or equal to the "
                  f"number of dimensions in the tensor ({len(size)})")
    shape = list(sizes)
    for d in range(len(sizes) - 1, -1, -1):
        had = size[d - more] if d >= more else 1
        if sizes[d] == -1:
            check.require(d >= more, f"The expanded size of the tensor (-1) isn't allowed in a leading, non-existing "
                          f"dimension {d}")
            shape[d] = had
        check.require(had in (shape[d], 1), f"The expanded size of the tensor ({shape[d]}) must match the existing "
                      f"size ({had}) at non-singleton dimension {d}.  Target sizes: {list(sizes)}.  "
                      f"Tensor sizes: {list(size)}")
    return tuple(shape)


@op(view=_expand, saves="none", function=False)
def expand(input: Tensor, size: Size, *, implicit: bool = False):
    """Return dims of size 1 repeated without a copy. See torch.Tensor.expand."""
    return jnp.broadcast_to(input, _expanded_size(input.shape, size, input.dtype))


@op(view=lambda size, stride, offset, other, *, source=None: _expand(size, stride, offset, other.shape, source=source),
    saves="none", function=False, backward_name="ExpandBackward0")
def expand_as(input: Tensor, other: Tensor):
    """Return ``expand`` to the shape of another tensor. See torch.Tensor.expand_as."""
    return jnp.broadcast_to(input, _expanded_size(input.shape, other.shape, input.dtype))


@op(view=_expand, saves="none", backward_name="ExpandBackward0")
def broadcast_to(input: Tensor, size: Size):
    """Return ``expand`` as a function. See torch.broadcast_to."""
    return jnp.broadcast_to(input, _expanded_size(input.shape, size, input.dtype))


@op(saves="none", method=False, out=False, backward_name="ExpandBackward0")
def broadcast_tensors(tensors: Tensors):
    """Return all tensors expanded to their common shape. See torch.broadcast_tensors."""
    shape = check.broadcast_shapes(*[x.shape for x in tensors])
    return [jnp.broadcast_to(x, shape) for x in tensors]


# the same elements under another dtype


def _view_dtype(size, stride, offset, to, *, source=None) -> Geometry:
    if source is None or np.dtype(source).itemsize == np.dtype(to).itemsize:
        return tuple(size), tuple(stride), offset
    source, to = np.dtype(source), np.dtype(to)
    names = f"to view {check.scalar_name(source)} as {check.scalar_name(to)} (different element sizes)"
    check.require(len(size) > 0, f"self.dim() cannot be 0 {names}")
    if source.itemsize > to.itemsize:
        k = source.itemsize // to.itemsize
        check.require(stride[-1] == 1, f"self.stride(-1) must be 1 {names}, but got {stride[-1]}")
        return (*size[:-1], size[-1] * k), (*(s * k for s in stride[:-1]), 1), offset * k
    k = to.itemsize // source.itemsize
    check.require(size[-1] % k == 0, f"self.size(-1) must be divisible by {k} {names}, but got {size[-1]}")
    check.require(offset % k == 0, f"self.storage_offset() must be divisible by {k} {names}, but got {offset}")
    check.require(stride[-1] == 1, f"self.stride(-1) must be 1 {names}, but got {stride[-1]}")
    for d, s in enumerate(stride[:-1]):
        check.require(s % k == 0, f"self.stride({d}) must be divisible by {k} {names}, but got {s}")
    return (*size[:-1], size[-1] // k), (*(s // k for s in stride[:-1]), 1), offset // k


@op(view=_view_dtype, saves="none", function=False, method=False, differentiable=False)
def view_dtype(input: Tensor, dtype: dtype):
    """Return the bytes read as another dtype: ``x.view(dtype)``. See torch.Tensor.view."""
    _view_dtype(input.shape, strided.contiguous_strides(input.shape), 0, dtype, source=input.dtype)
    if input.ndim == 0:
        return strided.reinterpret(input.reshape(1), dtype).reshape(())
    return strided.reinterpret(input, dtype)


def _view_as_real(size, stride, offset) -> Geometry:
    return (*size, 2), (*(2 * s for s in stride), 1), 2 * offset


@op(view=ViewRule(_view_as_real, replayed=True, remade=True), saves="none", method=False)
def view_as_real(input: Tensor):
    """Return complex elements as a last dim of two real ones. See torch.view_as_real."""
    check.require(input.dtype.kind == "c", "view_as_real is only supported for complex tensors")
    return jnp.stack([input.real, input.imag], -1)


def _view_as_complex(size, stride, offset) -> Geometry:
    check.require(len(size) > 0, "Input tensor must have one or more dimensions")
    check.require(size[-1] == 2, "Tensor must have a last dimension of size 2")
    check.require(stride[-1] == 1, "Tensor must have a last dimension with stride 1")
    for n, s in zip(size[:-1], stride[:-1], strict=True):
        check.require(s % 2 == 0 or n == 1, "Tensor must have a stride divisible by 2 for all but last dimension")
    check.require(offset % 2 == 0, "Tensor must have a storage_offset divisible by 2")
    return tuple(size[:-1]), tuple(s // 2 for s in stride[:-1]), offset // 2


@op(view=ViewRule(_view_as_complex, replayed=True, remade=True), saves="none", method=False)
def view_as_complex(input: Tensor):
    """Return the last dim of two real elements as complex elements. See torch.view_as_complex."""
    check.require(input.dtype in (np.float32, np.float64, np.float16), "view_as_complex is only supported for half, "
                  f"float and double tensors, but got a tensor of scalar type: {check.scalar_name(input.dtype)}")
    _view_as_complex(input.shape, strided.contiguous_strides(input.shape), 0)
    return lax.complex(input[..., 0], input[..., 1])


def _real(size, stride, offset, *, source=None) -> Geometry:
    if source is not None and source.kind != "c":
        return size, stride, offset
    return tuple(size), tuple(2 * s for s in stride), 2 * offset


def _imag(size, stride, offset) -> Geometry:
    return tuple(size), tuple(2 * s for s in stride), 2 * offset + 1


@op(view=ViewRule(_real, replayed=True), saves="none", method=False, backward_name="SelectBackward0")
def real(input: Tensor):
    """Return the real part; a real tensor as it is. See torch.real."""
    return jnp.real(input)


@op(view=ViewRule(_imag, replayed=True), saves="none", method=False, backward_name="SelectBackward0")
def imag(input: Tensor):
    """Return the imaginary part. See torch.imag."""
    check.require(input.dtype.kind == "c", "imag is not implemented for tensors with non-complex dtypes.")
    return jnp.imag(input)


# the input itself


@op(view=lambda size, stride, offset: (tuple(size), tuple(stride), offset), saves="none", function=False, method=False)
def alias(input: Tensor):
    """Return a new view of the whole tensor: ``x[...]``."""
    return input


def _positive(size, stride, offset, *, source=None) -> str:
    check.require(source != np.bool_, "The `+` operator, on a bool tensor is not supported.")
    return ITSELF


@op(view=_positive, saves="none", operators=("__pos__",))
def positive(input: Tensor):
    """Return the input itself. See torch.positive."""
    return input
