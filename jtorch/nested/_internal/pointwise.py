"""Functions of nested tensors that apply to their values: pointwise functions, conversions, copies and masks."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from jtorch.nested._internal import dims, nested_int
from jtorch.nested._internal.nested_tensor import NestedTensor, offsets_of, values_of
from jtorch.nested._internal.padding import from_padded
from jtorch.tensor import Tensor


def pointwise(func: Callable, *args: Any, **kwargs: Any) -> Any:
    """Compute a function of the values; dense arguments are broadcast to the nested one."""
    nt = next(a for a in (*args, *kwargs.values()) if isinstance(a, NestedTensor))
    return wrapped(nt, func(*[_fitted(func, nt, a, args) for a in args],
                            **{k: _fitted(func, nt, a, args) for k, a in kwargs.items()}))


def in_place(func: Callable, *args: Any, **kwargs: Any) -> Any:
    """Run an in-place function on the values of the first argument, and return the argument."""
    nt = args[0]
    if not isinstance(nt, NestedTensor):
        raise NotImplementedError(f"{func.__name__}: a nested tensor cannot be written into a dense one")
    func(nt._values, *[_fitted(func, nt, a, args) for a in args[1:]], **kwargs)
    return nt


def on_values(func: Callable, input: NestedTensor, *args: Any, **kwargs: Any) -> Any:
    """Compute a function of the values alone."""
    return input._like(func(input._values, *args, **kwargs))


def wrapped(nt: NestedTensor, result: Any) -> Any:
    """Return results for the values as nested tensors of the structure of ``nt``."""
    if isinstance(result, (tuple, list)):
        return type(result)([nt._like(r) for r in result])
    return nt._like(result)


def _fitted(func: Callable, nt: NestedTensor, x: Any, args: tuple) -> Any:
    """Return an argument in a form that broadcasts with the values of ``nt``."""
    if isinstance(x, NestedTensor):
        if x is not nt and not dims.matches(nt, x._size):
            raise _mismatch(func, *args[:2])
        return x._values
    if not isinstance(x, Tensor) or x.dim() == 0:
        return x
    if x.dim() > nt.dim():
        raise NotImplementedError("NYI: broadcasting NT with T with larger dim")
    short = x
    while short.dim() > 0 and short.shape[0] == 1:
        short = short.squeeze(0)
    if nt.dim() >= short.dim() + 2:
        return short
    if x.dim() != nt.dim() or x.shape[0] != len(nt):
        raise _mismatch(func, *args[:2])
    size = [nt._get_max_seqlen() if i == nt._ragged_idx else n for i, n in enumerate(x.shape)]
    return from_padded(x.expand(size), nt)._values


def _mismatch(func: Callable, a: Any, b: Any) -> RuntimeError:
    name = {"truediv": "div", "itruediv": "div"}.get(func.__name__.strip("_"), func.__name__.strip("_"))
    sizes = [x._size if isinstance(x, NestedTensor) and isinstance(a, NestedTensor) and isinstance(b, NestedTensor) else x.shape
             for x in (a, b)]
    return RuntimeError(f"cannot call binary pointwise function {name}.Tensor with inputs of shapes {sizes[0]} and {sizes[1]}")


def new_like(func: Callable, input: NestedTensor, *args: Any, **kwargs: Any) -> NestedTensor:
    """Return a nested tensor of the input's structure with new values, such as zeros."""
    kwargs.pop("layout", None)
    return moved(input, func(input._values, *args, **kwargs))


def converted(func: Callable, input: NestedTensor, *args: Any, **kwargs: Any) -> NestedTensor:
    """Return a nested tensor with values of another dtype or on another device."""
    values = func(input._values, *[values_of(a) for a in args], **kwargs)
    return input if values is input._values else moved(input, values)


def moved(input: NestedTensor, values: Tensor) -> NestedTensor:
    """Return a nested tensor with these values, and with the input's structure on their device."""
    if values.device == input.device:
        return input._like(values)
    offsets = input._offsets.to(values.device)
    lengths = None if input._lengths is None else input._lengths.to(values.device)
    nested_int.share(offsets if lengths is None else lengths, input._size[input._ragged_idx])
    known = {name: n for name, n in input._metadata_cache.items() if name != "places"}
    return NestedTensor(values, offsets, lengths=lengths, _ragged_idx=input._ragged_idx, _metadata_cache=known)


def contiguous(func: Callable, input: NestedTensor, *args: Any, **kwargs: Any) -> NestedTensor:
    """Return a nested tensor without holes and with contiguous values."""
    if input._lengths is None:
        return input if input._values.is_contiguous() else input._like(func(input._values))
    if input._ragged_idx != 1:
        raise AssertionError("NJT with ragged_idx != 1 not supported for contiguous clone")
    from jtorch.nested._internal.nested_tensor import jagged_from_list
    return jagged_from_list(input.unbind(), None)[0]


def masked_select(func: Callable, input: NestedTensor, mask: NestedTensor) -> NestedTensor:
    """Return the elements where the mask is True; a component may become empty."""
    if input.dim() > 2:
        raise RuntimeError("masked_select only support 2-D selections currently")
    if input._size != mask._size:
        raise RuntimeError(f"Mask with shape {mask.shape} is not compatible with input's shape {input.shape}")
    return NestedTensor(func(input._values, mask._values), offsets_of(mask._values)[input._offsets])
