"""Calls whose overloads one signature cannot express: they choose between ops by what they are given."""
from __future__ import annotations

from typing import Any

import jtorch.dtype as dtypes
from jtorch.creation import as_tensor
from jtorch.dispatch import call_view
from jtorch.engine import call_of
from jtorch.ops.join import check_meshgrid
from jtorch.ops.registry import OPS, T
from jtorch.tensor import Tensor

F: dict[str, Any] = {}      # the package's functions, filled when they are bound


def view(self: Tensor, *size: Any, dtype: dtypes.dtype | None = None) -> Tensor:
    """The same memory in another shape, or as another dtype. See torch.Tensor.view."""
    if dtype is not None or (len(size) == 1 and isinstance(size[0], dtypes.dtype)):
        wanted = dtype or size[0]
        if wanted is self.dtype:
            return call_view(call_of(OPS["alias"], (T,)), (self,))
        return call_view(call_of(OPS["view_dtype"], (T, wanted)), (self,))
    sizes = size[0] if len(size) == 1 and isinstance(size[0], (tuple, list)) else size
    return call_view(call_of(OPS["view"], (T, tuple([int(n) for n in sizes]))), (self,))


def where(condition: Tensor, *args: Any, **kw: Any) -> Any:
    """``input`` where the condition holds, ``other`` elsewhere; alone, the indices where it holds. See torch.where."""
    if not args and not kw:
        return F["nonzero"](condition, as_tuple=True)
    return F["_where"](condition, *args, **kw)


def tensor_where(self: Tensor, condition: Tensor, other: Any) -> Tensor:
    """``self`` where the condition holds, ``other`` elsewhere. See torch.Tensor.where."""
    return F["_where"](condition, self, other)


def repeat_interleave(input: Tensor, repeats: Any = None, dim: int | None = None, *, output_size: int | None = None) -> Tensor:
    """Each element (or slice of a dim) repeated. See torch.repeat_interleave."""
    if repeats is None:
        return F["repeat_interleave_index"](input)
    if not isinstance(repeats, Tensor):
        repeats = as_tensor(repeats) if isinstance(repeats, (list, tuple)) else int(repeats)
    if isinstance(repeats, int):
        return F["_repeat_interleave"](input, repeats, dim)
    if dim is None:
        input, dim = input.reshape(-1), 0       # type: ignore[attr-defined]
    _check_repeats(input, repeats, dim)
    if repeats.numel() == 1:
        return F["_repeat_interleave"](input, int(repeats.item()), dim)
    return input.index_select(dim, F["repeat_interleave_index"](repeats))       # type: ignore[attr-defined]


def _check_repeats(input: Tensor, repeats: Tensor, dim: int) -> None:
    if repeats.dim() > 1:
        raise RuntimeError("repeat_interleave only accept 1D vector as repeat")
    if repeats.numel() not in (1, input.size(dim)):
        raise RuntimeError("repeats must have the same size as input along dim, but got repeats.size(0) "
                           f"= {repeats.numel()} and input.size({dim}) = {input.size(dim)}")


def _atleast(name: str):
    def atleast(*tensors: Any):
        if len(tensors) == 1 and isinstance(tensors[0], Tensor):
            return F[f"_{name}"](tensors[0])
        given = tensors[0] if len(tensors) == 1 else tensors
        return tuple([F[f"_{name}"](t) for t in given])
    atleast.__name__ = name
    atleast.__doc__ = f"Tensors with at least that many dimensions. See torch.{name}."
    return atleast


def broadcast_tensors(*tensors: Any) -> tuple[Tensor, ...]:
    """Views of the tensors in their common shape. See torch.broadcast_tensors."""
    given = tuple(tensors[0]) if len(tensors) == 1 and not isinstance(tensors[0], Tensor) else tensors
    from jtorch.ops.check import broadcast_shapes
    shape = broadcast_shapes(*[t.shape for t in given])
    return tuple([t.expand(shape) for t in given])      # type: ignore[attr-defined]


def meshgrid(*tensors: Any, indexing: str | None = None) -> tuple[Tensor, ...]:
    """Views of vectors, expanded over the grid they span. See torch.meshgrid."""
    given = tuple(tensors[0]) if len(tensors) == 1 and not isinstance(tensors[0], Tensor) else tensors
    check_meshgrid(given, indexing)
    order = list(range(len(given)))
    if indexing == "xy":
        order[:2] = order[:2][::-1]
    shape = [given[i].numel() for i in order]
    dims = [order.index(i) for i in range(len(given))]
    return tuple([t.view([-1 if d == k else 1 for k in range(len(given))]).expand(shape)     # type: ignore[attr-defined]
                  for t, d in zip(given, dims, strict=True)])


def _itself_if_real(name: str):
    """The function of complex tensors that gives real ones back as they are."""
    def conjugate(input: Tensor, **kw: Any) -> Tensor:
        return input if isinstance(input, Tensor) and not input.is_complex() and not kw else F[f"_{name}"](input, **kw)
    conjugate.__name__ = name
    conjugate.__doc__ = f"The {'real part' if name == 'real' else 'complex conjugate'}; a real tensor as it is. See torch.{name}."
    return conjugate


def abs_(self: Tensor) -> Tensor:
    """The magnitude of each element, in place. See torch.Tensor.abs_."""
    if self.is_complex():
        raise RuntimeError("In-place abs is not supported for complex tensors.")
    return F["_abs_"](self)


def float_power_(self: Tensor, exponent: Any) -> Tensor:
    """The power in double precision, for tensors that are of it. See torch.Tensor.float_power_."""
    complex_ = self.is_complex() or isinstance(exponent, complex) or (isinstance(exponent, Tensor) and exponent.is_complex())
    needed = dtypes.complex128 if complex_ else dtypes.float64
    if self.dtype is not needed:
        raise RuntimeError(f"the base given to float_power_ has dtype {self.dtype.scalar_name} but the operation's result "
                           f"requires dtype {needed.scalar_name}")
    return F["_float_power_"](self, exponent)


_REPLACED = {"meshgrid": meshgrid, **{n: _itself_if_real(n) for n in ("real", "conj", "conj_physical")},
             "where": where, "repeat_interleave": repeat_interleave, "broadcast_tensors": broadcast_tensors,
             **{n: _atleast(n) for n in ("atleast_1d", "atleast_2d", "atleast_3d")}}


def bind(cls: type, torch: dict[str, Any]) -> None:
    """Puts these in the place of the functions made from the ops."""
    for name in (*_REPLACED, "nonzero"):
        F[f"_{name}"] = F[name] = torch[name]
    index = OPS["repeat_interleave_index"]
    from jtorch.bind import _call_dynamic
    F["repeat_interleave_index"] = lambda repeats: _call_dynamic(index, (T,), [repeats])
    torch.update(_REPLACED)
    F["_float_power_"], F["_abs_"] = cls.float_power_, cls.abs_     # type: ignore[attr-defined]
    cls.abs_ = cls.absolute_ = torch["abs_"] = abs_     # type: ignore[attr-defined]
    cls.float_power_, cls.real = float_power_, property(torch["real"])      # type: ignore[attr-defined]
    cls.conj, cls.conj_physical = torch["conj"], torch["conj_physical"]     # type: ignore[attr-defined]
    torch["resize_as_"] = cls.resize_as_        # type: ignore[attr-defined]
    cls.view, cls.where, cls.repeat_interleave = view, tensor_where, repeat_interleave       # type: ignore[attr-defined]

