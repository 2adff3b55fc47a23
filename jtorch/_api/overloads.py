"""Functions whose overloads one signature cannot express. They choose an op by their arguments."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import index
from typing import Any

import jtorch.dtype as dtypes
from jtorch._api import functions, overridden
from jtorch._api.creation import as_tensor
from jtorch._api.names import put
from jtorch._api.typed_tensors import MemoryFormat
from jtorch.dispatch import call_view, return_type
from jtorch.engine import call_of
from jtorch.ops.check import wrap_dim
from jtorch.ops.einsum import sublist_equation
from jtorch.ops.join import check_meshgrid
from jtorch.ops.registry import OPS, T
from jtorch.ops.strided import is_expanded
from jtorch.storage import aval_of, set_version
from jtorch.tape import node_class
from jtorch.tensor import Tensor, class_of


def view(self: Tensor, *size: Any, dtype: dtypes.dtype | None = None, **named: Any) -> Tensor:
    """Return a view with another shape or dtype. See torch.Tensor.view."""
    if named and (size or dtype is not None):
        raise TypeError(f"view() got an unexpected keyword argument '{next(iter(named))}'")
    if dtype is not None or (len(size) == 1 and isinstance(size[0], (dtypes.dtype, type))):
        wanted = dtypes.as_dtype(dtype or size[0], "view")
        return call_view(call_of(OPS["view_dtype"], (T, wanted)), (self,))
    sizes = size[0] if len(size) == 1 and isinstance(size[0], (tuple, list)) else size or _size_by_name(named)
    try:
        numbers = tuple([n if n.__class__ is int else index(n) for n in sizes])
    except TypeError:
        got = ", ".join([type(n).__name__ for n in size])
        raise TypeError(f"view() received an invalid combination of arguments - got ({got})") from None
    return call_view(call_of(OPS["view"], (T, numbers)), (self,))


def _size_by_name(named: dict[str, Any]) -> Any:
    """Return the size that ``view`` got by name. Raise TypeError if it got another argument by name."""
    if named.keys() != {"size"}:
        got = ", ".join([f"{k}={type(v).__name__}" for k, v in named.items()])
        raise TypeError(f"view() received an invalid combination of arguments - got ({got})")
    return named["size"]


def squeeze(self: Tensor, *dim: Any, **kw: Any) -> Tensor:
    """Drop dims of size 1. Several dims may be given as separate arguments. See torch.Tensor.squeeze."""
    return overridden.squeeze(self, *(dim if len(dim) < 2 else (dim,)), **kw)


def squeeze_(self: Tensor, *dim: Any, **kw: Any) -> Tensor:
    """Drop dims of size 1 in place. See torch.Tensor.squeeze_."""
    return overridden.squeeze_(self, *(dim if len(dim) < 2 else (dim,)), **kw)


def where(condition: Tensor, *args: Any, **kw: Any) -> Any:
    """Return ``input`` where the condition is True, else ``other``. Alone, return its True indices. See torch.where."""
    if not args and not kw:
        return functions.nonzero(condition, as_tuple=True)
    return overridden.where(condition, *args, **kw)


def tensor_where(self: Tensor, condition: Tensor, other: Any) -> Tensor:
    """Return ``self`` where the condition is True, else ``other``. See torch.Tensor.where."""
    return overridden.where(condition, self, other)


def repeat_interleave(input: Tensor, repeats: Any = None, dim: int | None = None, *, output_size: int | None = None) -> Tensor:
    """Repeat each element, or each slice of a dim. See torch.repeat_interleave."""
    made = _repeat_interleave(input, repeats, dim)
    if output_size is not None and output_size != aval_of(made).shape[-1 if dim is None else dim]:
        raise RuntimeError("allocated size does not match required size")
    return made


def _repeat_interleave(input: Tensor, repeats: Any, dim: int | None) -> Tensor:
    if repeats is None:
        _check_one_dim(input)
        return _repeat_index(input)
    if not isinstance(repeats, Tensor):
        repeats = as_tensor(repeats) if isinstance(repeats, (list, tuple)) else int(repeats)
    if dim is None:
        input, dim = functions.flatten(input), 0
    if isinstance(repeats, int):
        return _repeated(input, repeats, wrap_dim(dim, len(aval_of(input).shape)))
    _check_repeats(input, repeats, dim)
    if repeats.numel() == 1:
        repeats = repeats.reshape(1).expand(input.size(dim))       # type: ignore[attr-defined]
    return input.index_select(dim, _repeat_index(repeats))       # type: ignore[attr-defined]


def _repeated(input: Tensor, repeats: int, dim: int) -> Tensor:
    """Repeat each slice the same number of times, as a view of an expanded copy like PyTorch."""
    if repeats < 0:
        raise RuntimeError("Repeats must be non-negative")
    each = functions.unsqueeze(input, dim + 1)
    shape = [repeats if d == dim + 1 else n for d, n in enumerate(aval_of(each).shape)]
    whole = class_of(each).expand(each, shape)
    return functions.flatten(class_of(whole).clone(whole, memory_format=_CONTIGUOUS), dim, dim + 1)


def _check_one_dim(repeats: Tensor) -> None:
    if repeats.dim() > 1:
        raise RuntimeError("repeat_interleave only accept 1D vector as repeat")


def _check_repeats(input: Tensor, repeats: Tensor, dim: int) -> None:
    _check_one_dim(repeats)
    if repeats.numel() not in (1, input.size(dim)):
        raise RuntimeError("repeats must have the same size as input along dim, but got repeats.size(0) "
                           f"= {repeats.numel()} and input.size({dim}) = {input.size(dim)}")


def _atleast(made: Callable):
    """Return a function that applies an op to any number of tensors."""
    name, wanted = made.__name__, int(made.__name__[-2])

    def one(t: Any):
        return t if isinstance(t, Tensor) and len(aval_of(t).shape) >= wanted else made(t)

    def atleast(*tensors: Any):
        if len(tensors) == 1 and isinstance(tensors[0], Tensor):
            return one(tensors[0])
        given = tensors[0] if len(tensors) == 1 else tensors
        return tuple([one(t) for t in given])
    atleast.__name__ = name
    atleast.__doc__ = f"Tensors with at least that many dimensions. See torch.{name}."
    return atleast


def broadcast_tensors(*tensors: Any) -> tuple[Tensor, ...]:
    """Return views of the tensors in their common shape. See torch.broadcast_tensors."""
    given = tuple(tensors[0]) if len(tensors) == 1 and not isinstance(tensors[0], Tensor) else tensors
    from jtorch.ops.check import broadcast_shapes
    shapes = [aval_of(t).shape for t in given]
    shape = broadcast_shapes(*shapes)
    return tuple([t if own == shape else class_of(t).expand(t, shape) for t, own in zip(given, shapes, strict=True)])


def as_strided_copy(input: Tensor, size: Any, stride: Any, storage_offset: int | None = None, *,
                    out: Tensor | None = None) -> Tensor:
    """Return a copy of torch.as_strided's result. See torch.as_strided_copy."""
    if out is not None:
        return overridden.as_strided_copy(input, size, stride, storage_offset, out=out)
    shown = functions.as_strided(input, size, stride, storage_offset)
    made = class_of(shown).clone(shown, memory_format=_CONTIGUOUS)
    if made._node is not None:
        made._node.__class__ = node_class("AsStridedBackward0_copy")
    return made


def view_copy(input: Tensor, size: Any = None, *, dtype: Any = None, out: Tensor | None = None) -> Tensor:
    """Return a copy in another shape, or of the same bytes as another dtype. See torch.view_copy."""
    if dtype is None and not isinstance(size, dtypes.dtype):
        return overridden.view_copy(input, size, out=out)
    shown = view(input, dtype=size if dtype is None else dtype)
    made = class_of(shown).clone(shown)
    return made if out is None else out.copy_(made)     # type: ignore[attr-defined]


def as_strided_scatter(input: Tensor, src: Tensor, size: Any, stride: Any, storage_offset: int | None = None, *,
                       out: Tensor | None = None) -> Tensor:
    """Return ``input`` with ``src`` in place of ``as_strided(size, stride, offset)``. See torch.as_strided_scatter."""
    if out is not None or input._view is None or input.requires_grad or src.requires_grad or \
            is_expanded(input.shape, input.stride()):
        return overridden.as_strided_scatter(input, src, size, stride, storage_offset, **({} if out is None else {"out": out}))
    numel = input.untyped_storage().nbytes() // input.element_size()
    # As in PyTorch, the result has a copy of the whole storage.
    memory = functions.as_strided(input.detach(), (numel,), (1,), 0).clone()
    offset = input.storage_offset() if storage_offset is None else storage_offset
    part = functions.as_strided(memory, size, stride, offset)
    if part.shape != src.shape:
        raise RuntimeError("expected src to have a size equal to the slice of self. src size = "
                           f"{list(src.shape)}, slice size = {list(part.shape)}")
    part.copy_(src)
    set_version(memory, 0)
    return functions.as_strided(memory, input.shape, input.stride(), input.storage_offset()).detach()


def diag(input: Tensor, diagonal: int = 0, *, out: Tensor | None = None) -> Tensor:
    """Return the diagonal of a matrix, or a matrix with a vector as its diagonal. See torch.diag."""
    made = functions.diagonal_copy if isinstance(input, Tensor) and len(aval_of(input).shape) == 2 else overridden.diag
    return made(input, diagonal) if out is None else made(input, diagonal, out=out)


def ravel(input: Tensor) -> Tensor:
    """Return all elements in one dim. See torch.ravel."""
    made = class_of(input).contiguous(input)
    return class_of(made).view(made, -1)


def meshgrid(*tensors: Any, indexing: str | None = None) -> tuple[Tensor, ...]:
    """Return views of vectors expanded to the grid that they span. See torch.meshgrid."""
    given = tuple(tensors[0]) if len(tensors) == 1 and not isinstance(tensors[0], Tensor) else tensors
    check_meshgrid([aval_of(t) for t in given], indexing)
    order = list(range(len(given)))
    if indexing == "xy":
        order[:2] = order[:2][::-1]
    shape = [aval_of(given[i]).numel for i in order]
    dims = [order.index(i) for i in range(len(given))]
    made = []
    for t, d in zip(given, dims, strict=True):
        view = class_of(t).view(t, [-1 if d == k else 1 for k in range(len(given))])
        made.append(class_of(view).expand(view, shape))
    return tuple(made)


def _itself_if_real(made: Callable):
    """Return a function for complex tensors that returns real tensors unchanged."""
    name = made.__name__

    def conjugate(input: Tensor, **kw: Any) -> Tensor:
        return input if isinstance(input, Tensor) and not aval_of(input).dtype.is_complex and not kw else made(input, **kw)
    conjugate.__name__ = name
    conjugate.__doc__ = f"The {'real part' if name == 'real' else 'complex conjugate'}; a real tensor as it is. See torch.{name}."
    return conjugate


def gradient(input: Tensor, *, spacing: Any = 1, dim: Any = None, edge_order: int = 1) -> tuple[Tensor, ...]:
    """Return central differences along each of ``dim``, one-sided at the edges. See torch.gradient."""
    if isinstance(spacing, Tensor):
        raise TypeError("gradient() received an invalid combination of arguments - got (Tensor, spacing=Tensor)")
    dims = tuple(range(len(aval_of(input).shape))) if dim is None else (dim,) if isinstance(dim, int) else tuple(dim)
    if isinstance(spacing, (list, tuple)):
        _check_spacing(spacing, dims, len(aval_of(input).shape), dim is None)
    else:
        spacing = [1 if spacing is None else spacing] * len(dims)
    made: Any = overridden.gradient(input, list(spacing), dims, edge_order) if dims else ()
    return made


def _check_spacing(spacing: Any, dims: tuple[int, ...], ndim: int, all_dims: bool) -> None:
    if len(spacing) != len(dims):
        wanted = (f"a scalar, or a list of length equal to 'self.dim() = {ndim}', since dim argument was not given, but got a "
                  f"list of length {len(spacing)}" if all_dims else "a scalar or it's spacing and dim arguments to have the same "
                  f"length, but got a spacing argument of length {len(spacing)} and a dim argument of length {len(dims)}.")
        raise RuntimeError(f"torch.gradient expected spacing to be unspecified, {wanted}")
    if len({isinstance(s, Tensor) for s in spacing}) > 1:
        k = next(i for i, s in enumerate(spacing) if not isinstance(s, Tensor))
        raise TypeError(f"expected Tensor as element {k} in argument 1, but got {type(spacing[k]).__name__}")


def histogramdd(input: Tensor, bins: Any, range: Any = None, weight: Tensor | None = None, density: bool = False) -> Any:
    """Return the number (or weight) of points in each bin of a space, and the edges of the bins. See torch.histogramdd."""
    if len(aval_of(input).shape) < 2:
        raise RuntimeError("torch.histogramdd: input tensor should have at least 2 dimensions")
    n = aval_of(input).shape[-1]
    bins = [bins] * n if isinstance(bins, int) else list(bins)
    given = [b for b in bins if isinstance(b, Tensor)]
    if len(bins) != n:
        raise RuntimeError(f"torch.histogramdd: expected {n} sequences of bin edges for a {n}-dimensional histogram but got "
                           f"{len(bins)}" if given else "histogramdd: The size of bins must be equal to the innermost dimension "
                           "of the input.")
    counts = None if given else tuple(bins)
    limits = None if range is None else tuple(map(float, range))
    hist, *edges = functions._histogramdd(input, given, counts, limits, weight, density)
    return return_type("histogramdd", ("hist", "bin_edges"))((hist, tuple(given or edges)))


def sum_to_size(self: Tensor, *size: Any) -> Tensor:
    """Sum over the dims that broadcasting from ``size`` repeats, if there are any. See torch.Tensor.sum_to_size."""
    sizes = tuple(size[0]) if len(size) == 1 and isinstance(size[0], (tuple, list)) else size
    return self if sizes and tuple(aval_of(self).shape) == sizes else overridden.sum_to_size(self, sizes)


def unravel_index(indices: Tensor, shape: Any) -> tuple[Tensor, ...]:
    """Convert flat indices to coordinates in ``shape``. See torch.unravel_index."""
    if not isinstance(shape, (int, Sequence)):
        raise TypeError(f"expected 'shape' to be int or sequence of ints, but got {type(shape)}")
    sizes = [shape] if isinstance(shape, int) else list(shape)
    odd = [n for n in sizes if not isinstance(n, int)]
    if odd:
        raise TypeError(f"expected 'shape' sequence to only contain ints, but got {type(odd[0])}")
    found = overridden.unravel_index(indices, tuple(map(int, sizes)))
    return functions.unbind(found, -1)


def tensor_split(input: Tensor, indices_or_sections: Any = None, dim: int = 0, *, indices: Any = None,
                 sections: int | None = None) -> tuple[Tensor, ...]:
    """Split into equal parts (sizes may differ by 1), or at given indices. See torch.tensor_split."""
    given = [x for x in (indices_or_sections, indices, sections) if x is not None]
    if len(given) != 1:
        raise TypeError("tensor_split() received an invalid combination of arguments: one of indices_or_sections, indices and "
                        "sections is wanted")
    return overridden.tensor_split(input, given[0], dim)


def abs_(self: Tensor) -> Tensor:
    """Replace each element by its magnitude. See torch.Tensor.abs_."""
    if self.is_complex():
        raise RuntimeError("In-place abs is not supported for complex tensors.")
    return overridden.abs_(self)


def float_power_(self: Tensor, exponent: Any) -> Tensor:
    """Compute the power in place, for tensors of double precision. See torch.Tensor.float_power_."""
    complex_ = self.is_complex() or isinstance(exponent, complex) or (isinstance(exponent, Tensor) and exponent.is_complex())
    needed = dtypes.complex128 if complex_ else dtypes.float64
    if self.dtype is not needed:
        raise RuntimeError(f"the base given to float_power_ has dtype {self.dtype.scalar_name} but the operation's result "
                           f"requires dtype {needed.scalar_name}")
    return overridden.float_power_(self, exponent)


_CONTIGUOUS = MemoryFormat("contiguous_format")


def einsum(*args: Any) -> Tensor:
    """Return a sum of products by Einstein's convention, given as an equation or as lists of labels. See torch.einsum.

    Args:
        args: an equation and the operands, one by one or in a list; or operand, labels, operand, labels, ..., and perhaps
            the labels of the result. A label is a number from 0 to 51 or an ellipsis.

    Returns:
        a Tensor.

    Raises:
        ValueError: there is no operand, or a label is out of range.

    Example::

        >>> a = torch.ones(2, 3)
        >>> torch.einsum(a, [0, 1], [1, 0]).shape
        torch.Size([3, 2])

    """
    if len(args) < 2:
        raise ValueError("einsum(): must specify the equation string and at least one operand, "
                         "or at least one operand and its subscripts list")
    if not isinstance(args[0], Tensor):
        return overridden.einsum(*args)       # type: ignore[attr-defined, no-any-return]
    ends = len(args) % 2 == 1
    equation = sublist_equation(args[1::2], args[-1] if ends else None)
    return overridden.einsum(equation, *args[:len(args) - ends:2])        # type: ignore[attr-defined, no-any-return]


def _repeat_index(repeats: Tensor) -> Tensor:
    """Return a tensor in which index i occurs ``repeats[i]`` times."""
    from jtorch._api.generate import _call_dynamic
    return _call_dynamic(OPS["repeat_interleave_index"], (T,), [repeats])


def bind() -> None:
    """Replace functions made from op records by functions of this module."""
    f = functions
    ours: dict[str, Any] = {
        "meshgrid": meshgrid, "ravel": ravel, "diag": diag, "as_strided_copy": as_strided_copy, "view_copy": view_copy,
        "where": where, "abs_": abs_,
        "as_strided_scatter": as_strided_scatter, "repeat_interleave": repeat_interleave, "gradient": gradient,
        "einsum": einsum, "broadcast_tensors": broadcast_tensors, "tensor_split": tensor_split, "unravel_index": unravel_index,
        **{made.__name__: _itself_if_real(made) for made in (f.real, f.conj, f.conj_physical)},
        **{made.__name__: _atleast(made) for made in (f.atleast_1d, f.atleast_2d, f.atleast_3d)}}
    put(functions, ours, replaces=True)
    put(Tensor, {"where": tensor_where})
    put(functions, {"histogramdd": histogramdd, "resize_as_": Tensor.resize_as_})       # type: ignore[attr-defined]
    put(Tensor, {**{n: ours[n] for n in ("abs_", "conj", "conj_physical", "diag", "as_strided_scatter", "ravel", "tensor_split")},
                 "absolute_": abs_, "float_power_": float_power_, "view": view, "squeeze": squeeze, "squeeze_": squeeze_,
                 "repeat_interleave": repeat_interleave, "sum_to_size": sum_to_size},
        replaces=True)
