"""Indexing: ``t[...]`` and ``t[...] = value``. Basic indices become views, tensors and masks ``index`` and ``index_put``.

As in PyTorch, the basic part (ints, slices, None, ellipsis) is applied first. Index tensors then index that view.
"""
from __future__ import annotations

import functools
import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

import jtorch.dtype as dtypes
from jtorch import engine, storage, tape
from jtorch._api import functions, overridden
from jtorch._api.creation import as_tensor, from_host, tensor
from jtorch._api.names import put
from jtorch._api.op_docs import OpDoc
from jtorch._api.sequences import type_name
from jtorch._api.torch_function import ask, overrides_of
from jtorch._backward.view_history import requires_grad
from jtorch._base import late_bindings, warned
from jtorch._nodes import tangents
from jtorch.dispatch import (
    call,
    call_inplace,
    call_view,
    check_inplace,
    fit,
    forward,
    make_node,
    restrict,
    row_of,
    view_of,
    write_with_history,
)
from jtorch.engine import batched, call_of, policy
from jtorch.no_grad import mode
from jtorch.ops import check
from jtorch.ops.promotion import warn_of_lost
from jtorch.ops.registry import OPS, T
from jtorch.storage import check_writable, value_of
from jtorch.tensor import Tensor, class_of

_INTS = (int, np.integer)
_MASKS = ("bool", "uint8")      # the dtypes of masks
_INDICES = ("int64", "int32", *_MASKS)
_LONG = dtypes.int64


def getitem(t: Tensor, index: Any) -> Tensor:
    """Return ``t[index]``."""
    if index.__class__ is int:
        rows = t._storage.rows
        row = row_of(t, rows, index) if rows is not None else None
        if row is not None:
            return row
        if storage.aval_of(t).shape:
            return _select(t, 0, index)
    if index.__class__ is slice and storage.aval_of(t).shape:
        return _slice(t, 0, index, always=True)
    try:
        viewed, tensors = _split(t, index)
    except _Foreign:
        return _asked(Tensor.__getitem__, t, index)
    if tensors is None:
        return viewed if viewed is not t else _alias_view(t)
    return _advanced(viewed, tensors)


def _advanced(t: Tensor, tensors: Sequence[Tensor | None]) -> Tensor:
    marks = tuple([None if x is None else T for x in tensors])
    return call(call_of(OPS["index"], (T, marks)), [t, *[x for x in tensors if x is not None]])


def _alias_view(t: Tensor) -> Tensor:
    return call_view(call_of(OPS["alias"], (T,)), (t,))


def _select(t: Tensor, dim: int, i: int, place: tuple[tuple, int, int] | None = None) -> Tensor:
    """Return ``t`` at index ``i`` of a dim. ``place``: the arguments of ``_place``, which gives the dim in PyTorch's error."""
    shape = storage.aval_of(t).shape
    if not -shape[dim] <= i < shape[dim]:
        named = dim if place is None else _place(*place)
        raise IndexError(f"index {i} is out of bounds for dimension {named} with size {shape[dim]}")
    part = _part_of(t, dim, i % shape[dim], 1, -1)
    return part if part is not None else call_view(call_of(OPS["select"], (T, dim, i % shape[dim])), (t,))


def _split(t: Tensor, index: Any, *, written: bool = False, filled: bool = False) -> tuple[Tensor, list[Tensor | None] | None]:
    """Return the view of the basic part of an index, and the index tensors for the view's dims.

    ``written``: the view will be written to, so errors of leaves come before errors of masks. ``filled``: see ``_columns``.
    """
    if index.__class__ in (slice, int) or isinstance(index, np.integer):
        _check_of_one(t, index)
    given = _as_tuple(index)
    items = _expanded(t, given)
    dim = 0
    tensors: list[Tensor | None] = []
    for k, item in enumerate(items):
        if item is None:
            t = call_view(call_of(OPS["unsqueeze"], (T, dim)), (t,))
            dim += 1
        elif isinstance(item, slice):
            t = _slice(t, dim, item)
            dim += 1
        elif _is_bool(item):
            t = call_view(call_of(OPS["unsqueeze"], (T, dim)), (t,))
            tensors += [None] * (dim - len(tensors))
            tensors.append(tensor([0] if bool(item) else [], dtype=_LONG))
            dim += 1
        elif _is_int(item):
            t = _select(t, dim, int(item), (given, k, len(items)))
        else:
            tensors += [None] * (dim - len(tensors))
            try:
                columns = _columns(t, dim, item, filled)
            except IndexError:
                if written:
                    check_inplace(t, mode.grad and requires_grad(t), once=False)
                raise
            tensors += columns
            dim += len(columns)
    return t, tensors or None


def _is_bool(item: Any) -> bool:
    if not isinstance(item, Tensor):
        return isinstance(item, bool)
    own = storage.aval_of(item)
    return not own.shape and own.dtype.name in _MASKS


def _is_int(item: Any) -> bool:
    """Return whether an item selects one index: an int, or a 0-dim tensor that need not stay a tensor."""
    return isinstance(item, _INTS) or (not storage.aval_of(item).shape and not requires_index(item))


def _place(given: tuple, k: int, count: int) -> int:
    """Return the position in the given index of item ``k`` of ``count`` items after expanding the ellipsis."""
    at = next((i for i, x in enumerate(given) if x is Ellipsis), None)
    return k if at is None or k < at else len(given) - (count - k)


def requires_index(item: Tensor) -> bool:
    """Return whether a 0-dim index must stay a tensor, since its value is unknown under a JAX transformation."""
    return storage.aval_of(item).traced


def _as_tuple(index: Any) -> tuple:
    if isinstance(index, tuple):
        return index
    if isinstance(index, list) and len(index) < 32 and any(isinstance(x, _NOT_NUMBERS) for x in index):
        warned.warn("Using a non-tuple sequence for multidimensional indexing is deprecated and will be changed in pytorch "
                    "2.9; use x[tuple(seq)] instead of x[seq]. In pytorch 2.9 this will be interpreted as tensor index, "
                    "x[torch.tensor(seq)], which will result either in an error or a different result")
        return tuple(index)
    return (index,)


_NOT_NUMBERS = (slice, Tensor, list, tuple, type(None), type(...))


def _expanded(t: Tensor, index: tuple) -> list:
    """Return the items of an index, with the ellipsis expanded and sequences converted to tensors."""
    try:
        items = [_item(x) for x in index]
    except (TypeError, IndexError, ValueError):
        _raise_earlier(t, index)
        raise
    used = sum(_dims_used(x) for x in index)        # a NumPy mask counts as one dim, as in PyTorch
    if used > len(storage.aval_of(t).shape):
        raise _too_many(t)
    at = [i for i, x in enumerate(items) if x is Ellipsis]
    if len(at) > 1:
        at = at[:1]
        items = [x for i, x in enumerate(items) if x is not Ellipsis or i == at[0]]
    if at:
        items[at[0]:at[0] + 1] = [slice(None)] * (t.dim() - used)
    return items


def _raise_earlier(t: Tensor, index: tuple) -> None:
    """Raise errors that precede an item's own error: too many items, or an error of an earlier item."""
    if sum([_dims_used(x) for x in index]) > t.dim():
        raise _too_many(t)
    good = list(itertools.takewhile(_is_item, index))
    _split(t, (*good, *[slice(None)] * sum([_dims_used(x) for x in index[len(good):]])))


def _is_item(x: Any) -> bool:
    try:
        _item(x)
    except (TypeError, IndexError, ValueError):
        return False
    return True


def _check_of_one(t: Tensor, index: Any) -> None:
    """Raise IndexError for ``t[0]`` or ``t[:]`` of a 0-dim tensor."""
    if not storage.aval_of(t).shape:
        raise IndexError("slice() cannot be applied to a 0-dim tensor." if isinstance(index, slice) else
                         "invalid index of a 0-dim tensor. Use `tensor.item()` in Python or `tensor.item<T>()` in C++ to "
                         "convert a 0-dim tensor to a number")


def _too_many(t: Tensor) -> IndexError:
    return IndexError(f"too many indices for tensor of dimension {len(storage.aval_of(t).shape)}")


def _dims_used(x: Any) -> int:
    if x is None or x is Ellipsis or isinstance(x, bool):
        return 0
    if isinstance(x, Tensor) and storage.aval_of(x).dtype.name in _MASKS:
        return len(storage.aval_of(x).shape)
    return 1


class _Foreign(Exception):
    """An index has ``__torch_function__`` and is no tensor."""


def _asked(method: Any, t: Tensor, *args: Any) -> Any:
    """Return a call's result from the classes of its arguments and of the index's items, as ``ask`` does."""
    items = args[0] if isinstance(args[0], tuple) else args[:1]
    return ask(method, (t, *items, *args[1:]), (t, *args), {})


def _item(x: Any) -> Any:
    if x is None or x is Ellipsis or isinstance(x, (slice, bool, *_INTS)):
        return x
    if isinstance(x, str):
        raise TypeError("new(): invalid data type 'str'")
    if isinstance(x, Tensor):
        _check_index_dtype(x)
        return x
    if isinstance(x, (list, tuple, np.ndarray, range)):
        made = _tensor_of(x)
        return made.to(_LONG) if not made.numel() else _item(made)      # type: ignore[attr-defined]
    if hasattr(x, "__index__") and not isinstance(x, np.bool_):
        return x.__index__()
    if overrides_of(x.__class__) is not None:
        raise _Foreign
    raise IndexError("only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid indices (got "
                     f"{type_name(x)})")


def _tensor_of(x: Any) -> Tensor:
    if isinstance(x, np.ndarray):
        return as_tensor(x)
    try:
        return tensor(list(x) if isinstance(x, range) else x)
    except ValueError as error:
        if "'str'" in str(error):
            raise TypeError("new(): invalid data type 'str'") from None
        raise


def _check_index_dtype(x: Tensor) -> None:
    own = storage.aval_of(x)
    if own.dtype.name not in _INDICES and (own.shape or own.dtype.is_floating_point or own.dtype.is_complex):
        raise IndexError("tensors used as indices must be long, int, byte or bool tensors")


def _columns(t: Tensor, dim: int, item: Tensor, filled: bool = False) -> list[Tensor]:
    """Return an index tensor as int64, or a mask as index tensors. ``filled``: one number is written at the mask."""
    own, shape = storage.aval_of(item), storage.aval_of(t).shape
    if own.dtype.name not in _MASKS:
        return [item if own.dtype is _LONG else class_of(item).to(item, _LONG)]        # type: ignore[attr-defined]
    if own.dtype.name == "uint8" and not filled:
        warned.warn("indexing with dtype torch.uint8 is now deprecated, please use a dtype torch.bool instead.")
    for k, n in enumerate(own.shape):
        if n != shape[dim + k]:
            raise IndexError(f"The shape of the mask {list(own.shape)} at index {k} does not match the shape of the indexed "
                             f"tensor {list(shape)} at index {dim + k}")
    if own.dtype.name == "uint8" and filled:
        raise RuntimeError("masked_fill_ only supports boolean masks, but got mask with dtype unsigned char")
    if own.traced:
        batched.refuse(storage.value_of(item), batched.MASKED)
    return list(functions.nonzero(item, as_tuple=True)) if own.shape else []


def _slice(t: Tensor, dim: int, s: slice, *, always: bool = False) -> Tensor:
    start, stop, step = [None if x is None else _bound(x) for x in (s.start, s.stop, s.step)]
    step = 1 if step is None else step
    if step <= 0:
        raise ValueError("slice step cannot be zero" if not step else "step must be greater than zero")
    n = storage.aval_of(t).shape[dim]
    if not start and (stop is None or stop >= n) and step == 1 and not always:
        return t
    start, stop, _ = slice(start, stop, step).indices(n)
    part = _part_of(t, dim, start, step, len(range(start, stop, step)))
    return part if part is not None else call_view(call_of(OPS["slice"], (T, dim, start, max(stop, start), step)), (t,))


def _part_of(t: Tensor, dim: int, start: int, step: int, count: int) -> Tensor | None:
    """Return a slice of ``t`` as a view without a recorded call.

    The slice is index ``start`` if ``count`` is -1, else ``count`` indices at distance ``step``.

    A call for each index would need its own kernel and its own state in the trie. So parts of a tensor that was indexed many
    times, such as a data set, become new inputs of the trace. Return None for other tensors.
    """
    s, view = t._storage, t._view
    if requires_grad(t) or tangents.opened or (late_bindings.aten is not None and late_bindings.aten.is_on()):
        return None
    if not _is_taken_apart(s, (dim, start, step, count)):
        return None
    if t._inference or t._creation is not None or t._view_op is not None or t._through:
        return None
    aval, stride, offset = (s.aval, None, 0) if view is None else (view.aval, view.stride, view.offset)
    if aval.device is not engine.CPU or aval.traced:
        return None
    shown, inner, apart, in_order = _shown(aval, stride, dim, step, count)
    if view is None and count < 0 and dim == 0:
        s.rows = aval, aval.shape[0], shown, inner, apart
    offset += start * apart
    value = None
    if s.host is None:
        value = storage.host_slice(s, shown, inner, offset, in_order)
        if value is None:
            return None
    made = view_of(t, shown, inner, offset, in_order, value)
    if not mode.grad:
        restrict(made, "no_grad")
    return made


def _is_taken_apart(s: Any, part: tuple[int, int, int, int]) -> bool:
    """Count a part (dim, start, step, count) of a storage, and return whether further parts need no recorded calls."""
    dim, start, step, count = part
    if dim == 0:
        s.sliced += 1
        if s.sliced <= policy.DOZENS:
            elsewhere = _begins_elsewhere(s, start) if count < 0 else _is_cut_elsewhere(s, start, (step, count))
            if elsewhere:
                s.sliced = policy.DOZENS + 1
        return s.sliced > policy.DOZENS
    if s.parts is None:
        s.parts = set()
    if len(s.parts) <= policy.OFTEN:
        s.parts.add(part)
    return len(s.parts) > policy.OFTEN


def _begins_elsewhere(s: Any, row: int) -> bool:
    """Return whether ``row`` is the first row of ``s`` that this trace reads, and an earlier trace began at another row.

    A loop over a data set reads another row in each turn. A loop over the steps of a series begins with the same row again.
    """
    number, last = engine.current().number, s.first_row
    if last is not None and last[0] == number:
        return False
    s.first_row = number, row
    return last is not None and last[1] != row


def _is_cut_elsewhere(s: Any, start: int, length: tuple[int, int]) -> bool:
    """Return whether a slice of this length began elsewhere before, as batches of a data set do."""
    if s.offsets is None:
        s.offsets = {}
    return len(s.offsets) < policy.OFTEN and s.offsets.setdefault(length, start) != start


@functools.lru_cache(4096)
def _shown(aval: engine.Aval, stride: tuple[int, ...] | None, dim: int, step: int,
           count: int) -> tuple[engine.Aval, tuple, int, bool]:
    """Return (aval of a part, its strides, the stride between parts, is a part contiguous)."""
    stride = storage.contiguous_strides(aval.shape) if stride is None else stride
    shape = (*aval.shape[:dim], *(() if count < 0 else (count,)), *aval.shape[dim + 1:])
    inner = (*stride[:dim], *(() if count < 0 else (stride[dim] * step,)), *stride[dim + 1:])
    return engine.aval_of(shape, aval.np, aval.device), inner, stride[dim], inner == storage.contiguous_strides(shape)


def _bound(x: Any) -> int:
    if not hasattr(x, "__index__"):
        raise TypeError("slice indices must be integers or None or have an __index__ method")
    return int(x.item()) if isinstance(x, Tensor) else x.__index__()


# ---------------------------------------------------------------- writing

def setitem(t: Tensor, index: Any, value: Any) -> None:
    """Write ``value`` to ``t[index]``."""
    if index.__class__ is int and isinstance(value, Tensor) and _is_row(t, index, value):
        check_inplace(value, tracked=False, once=False)
        storage.count_write(value)      # the row keeps its elements, so the write only counts as a new version
        return
    if _is_written(t, index, value):
        return
    number = not isinstance(value, Tensor)
    if number:
        if overrides_of(value.__class__) is not None:
            _asked(Tensor.__setitem__, t, index, value)
            return
        value = _value_like(t, value)
    seen = late_bindings.aten is not None and late_bindings.aten.takes_over([t, value])
    if seen and number:
        value = _lifted(value)
    if isinstance(index, bool):
        if index:
            _assign(call_view(call_of(OPS["unsqueeze"], (T, 0)), (t,)), value)
        return
    if (number or not value.dim()) and not seen and _is_fitting_mask(t, index):
        mask = index.reshape(*index.shape, *[1] * (t.dim() - index.dim()))     # type: ignore[attr-defined]
        call_inplace(call_of(OPS["masked_fill"], (T, T, T)), (t, mask, value), name="IndexPutBackward0")
        return
    given = index if index.__class__ is tuple else (index,)
    masked = _only_mask([x for x in given if isinstance(x, (Tensor, np.ndarray))])
    try:
        viewed, tensors = _split(t, index, written=True, filled=masked and value.numel() == 1)
    except _Foreign:
        _asked(Tensor.__setitem__, t, index, value)
        return
    if t is not viewed:
        storage.drop_view_cache(t)
    if tensors is not None:
        _put(viewed, tensors, _number_at_mask(t, value) if masked else value)
    elif not value.dim() and viewed.dim():
        overridden.fill_(viewed, value)
    else:
        _assign(viewed, value)


def _is_written(t: Tensor, index: Any, value: Any) -> bool:
    """Write to basic indices without making a view, and return whether that was possible.

    All unusual cases, and those that PyTorch refuses, return False.
    """
    if late_bindings.aten is not None or tangents.opened or t._inference or (mode.grad and requires_grad(t)):
        return False
    part = _part_at(t, index if index.__class__ is tuple else (index,))
    if part is None:
        return False
    given = _value_for(t, part[0], value) if isinstance(value, Tensor) else _number_of(part[0], value)
    return given is not None and storage.write_part(t, part, given)


def _part_at(t: Tensor, items: tuple) -> tuple[engine.Aval, tuple[int, ...], int] | None:
    """Return (aval, strides, offset) of the part of a tensor at ints and slices; None for other indices."""
    size, stride, offset = storage.geometry_of(t)
    if len(items) > len(size):
        return None
    shape, strides = [], []
    for item, n, apart in zip(items, size, stride, strict=False):
        if item.__class__ is int:
            if not -n <= item < n:
                return None
            offset += item % n * apart
        elif item.__class__ is slice:
            if not _is_plain_slice(item):
                return None
            start, stop, step = item.indices(n)
            shape.append(len(range(start, stop, step)))
            strides.append(apart * step)
            offset += start * apart
        else:
            return None
    own, left = storage.aval_of(t), len(items)
    shown = (*shape, *size[left:])
    return (engine.aval_of(shown, own.np, own.device), (*strides, *stride[left:]), offset) if 0 not in shown else None


def _is_plain_slice(s: slice) -> bool:
    return all([x is None or x.__class__ is int for x in (s.start, s.stop, s.step)]) and (s.step is None or s.step > 0)


def _value_for(t: Tensor, aval: engine.Aval, value: Tensor) -> engine.Value | None:
    """Return the value of a tensor that fits a part of ``t``; None if it has to be cast, broadcast, moved or tracked."""
    if storage.aval_of(value) is not aval or value._storage is t._storage or (mode.grad and requires_grad(value)):
        return None
    view = value._view
    part = None if view is None else storage.host_slice(value._storage, aval, view.stride, view.offset, bool(view.in_order))
    return value_of(value) if part is None else part


def _number_of(aval: engine.Aval, value: Any) -> Any:
    """Return a number as an array of a dtype that can hold it; None if the number needs a check or a cast."""
    kind = aval.np.kind
    if (kind == "f" and value.__class__ in (int, float) and aval.np.itemsize >= 4 and abs(value) < _SAFE) \
            or (kind == "b" and value.__class__ is bool) or (aval.np == np.int64 and value.__class__ is int
                                                            and abs(value) < _SAFE):
        return np.array(value, aval.np)
    return None


_SAFE = 1 << 62     # numbers below this limit fit float32, float64 and int64


def _lifted(value: Tensor) -> Tensor:
    """Dispatch ``lift_fresh`` of a tensor made from a number to the modes; return its result, or ``value`` without a mode."""
    made = late_bindings.aten.created("lift_fresh", {"self": value})
    return value if made is None else made


def _is_row(t: Tensor, i: int, value: Tensor) -> bool:
    """Return whether ``value`` is the row ``t[i]`` itself, as after ``t[i] += 1``, and autograd does not track the write."""
    view = value._view
    if value._storage is not t._storage or view is None or value._counter is not t._counter:
        return False
    size, stride, offset = storage.geometry_of(t)
    return len(size) > 0 and -size[0] <= i < size[0] and view.offset == offset + i % size[0] * stride[0] \
        and view.aval.shape == size[1:] and view.stride == stride[1:] and view.aval.np == storage.aval_of(t).np \
        and not (mode.grad and (requires_grad(t) or requires_grad(value)))


def _put(viewed: Tensor, tensors: Sequence[Tensor | None], value: Tensor) -> None:
    marks = tuple([None if x is None else T for x in tensors])
    c = call_of(OPS["index_put"], (T, marks, T, False))
    call_inplace(c, [viewed, *[x for x in tensors if x is not None], _without_leading_ones(value)])


def _is_fitting_mask(t: Tensor, index: Any) -> bool:
    """Return whether an index is a mask of the tensor's first dims."""
    return isinstance(index, Tensor) and index.dtype.name in _MASKS and index.dim() > 0 \
        and index.shape == t.shape[:index.dim()]


def _assign(viewed: Tensor, value: Tensor) -> None:
    size = tuple(viewed.shape)
    value = _fitting(value, size)
    # As PyTorch does, expand before the check for overlaps, which depends on the expanded tensor's strides.
    if value._storage is viewed._storage and tuple(value.shape) != size:
        value = value.view(value.shape).expand(size)        # type: ignore[attr-defined]
    copy_(viewed, value)


def _only_mask(tensors: Sequence[Tensor | np.ndarray]) -> bool:
    """Return whether the index is a single mask. ``masked_fill_`` then writes a number; it refuses uint8 masks."""
    return len(tensors) == 1 and tensors[0].dtype.name in _MASKS and len(tensors[0].shape) > 0


def _number_at_mask(t: Tensor, value: Tensor) -> Tensor:
    """Return the value to write at a mask. A single number is cast to the tensor's dtype if it fits, as in ``masked_fill_``."""
    if value.dtype is t.dtype or value.numel() != 1:
        return value
    if not storage.aval_of(value).traced:
        dtypes.check_fits(value.item(), t.dtype)
    real = value.dtype.is_complex and not t.dtype.is_complex and t.dtype.name != "bool"
    return (value.real if real else value).to(t.dtype)      # type: ignore[attr-defined]


def delitem(t: Tensor, index: Any) -> None:
    """Raise TypeError, since tensors do not support ``del``."""
    raise TypeError("Tensor does not support deleting items")


def _value_like(t: Tensor, value: Any) -> Tensor:
    """Return a number as a 0-dim tensor with the dtype of ``t``."""
    if isinstance(value, np.integer) and not t.dtype.is_floating_point and not t.dtype.is_complex:
        value = int(value)
    if not isinstance(value, (int, float, complex)):
        raise TypeError(f"can't assign a {type_name(value)} to a {t.type()}")       # type: ignore[attr-defined]
    if isinstance(value, int) and not -2**63 <= value < 2**63:
        raise ValueError("Overflow when unpacking long long")
    dtypes.check_fits(value, t.dtype, scalar=True)
    value = value.real if isinstance(value, complex) and not t.dtype.is_complex and t.dtype.name != "bool" else value
    with np.errstate(over="ignore"):
        return from_host(np.asarray(value).astype(t.dtype.np), t.device)


def _without_leading_ones(value: Tensor) -> Tensor:
    while value.dim() and value.shape[0] == 1:
        value = value[0]        # type: ignore[index]
    return value


def _fitting(value: Tensor, size: tuple[int, ...]) -> Tensor:
    """Return ``value`` with a shape that broadcasts to ``size``. Raise RuntimeError if that is impossible."""
    shape = storage.aval_of(value).shape
    if shape != size and len(shape) and shape[0] == 1:
        value = _without_leading_ones(value)
        shape = storage.aval_of(value).shape
    if len(shape) > len(size):
        kind = check.type_name(value.dtype.np)
        raise RuntimeError(f"expand({kind}{{{list(shape)}}}, size={list(size)}): the number of sizes provided ({len(size)}) "
                           f"must be greater or equal to the number of dimensions in the tensor ({len(shape)})")
    lead = len(size) - len(shape)
    for d in range(len(size) - 1, lead - 1, -1):
        if shape[d - lead] not in (1, size[d]):
            raise RuntimeError(f"The expanded size of the tensor ({size[d]}) must match the existing size ({shape[d - lead]}) at "
                               f"non-singleton dimension {d}.  Target sizes: {list(size)}.  Tensor sizes: {list(shape)}")
    return value


def _shows_same(target: Tensor, src: Tensor) -> bool:
    return src._storage is target._storage and storage.aval_of(src) is storage.aval_of(target) and \
        storage.geometry_of(src) == storage.geometry_of(target)


def copy_(target: Tensor, other: Any, non_blocking: bool = False) -> Tensor:
    """Write ``other``, broadcast and cast, into the tensor. See torch.Tensor.copy_."""
    if non_blocking.__class__ is not bool:
        raise TypeError(f"copy_(): argument 'non_blocking' (position 2) must be bool, not {type(non_blocking).__name__}")
    if not isinstance(other, Tensor):
        if not isinstance(other, (bool, int, float, complex)):
            raise TypeError(f"copy_(): argument 'other' (position 1) must be Tensor, not {type(other).__name__}")
        other = tensor(other)
    if _shows_same(target, other):
        return _copied_onto_itself(target, other)
    if tangents.opened and forward.written(target, other, copy_) is not None:
        return target
    if late_bindings.aten is not None:
        made = late_bindings.aten.call_inplace(call_of(OPS["_copy_over"], (T, T)), (target, other), None)
        if made is not None:
            return made
    storage.check_overlap(target, other)
    if other.device != target.device:
        other = other.to(target.device)     # type: ignore[attr-defined]
    tracked = mode.grad and (requires_grad(target) or requires_grad(other))
    aval = storage.aval_of(target)
    tracked = tracked and bool(aval.is_inexact)
    check_inplace(target, tracked)
    warn_of_lost(other.dtype.np, aval.np)
    if tracked:
        flat = [target, other]
        c = call_of(OPS["_copy_over"], (T, T))
    else:
        flat = [other]
        c = call_of(OPS["_copy_into"], (T, aval.shape, aval.dtype))
    args = [value_of(t) for t in flat]
    out = engine.record(c, args)
    node = make_node(c, flat, args) if len(flat) == 2 else None
    write_with_history(target, fit(out, aval), node)
    return target


def _copied_onto_itself(target: Tensor, src: Tensor) -> Tensor:
    """Do the work of ``copy_`` for a source with the target's elements. Only history and version change."""
    tracked = mode.grad and (requires_grad(target) or requires_grad(src))
    check_inplace(target, tracked, once=False)
    if not (tracked and storage.aval_of(target).is_inexact):
        storage.count_write(target)
        return target
    args = [value_of(target), value_of(src)]
    c = call_of(OPS["_copy_over"], (T, T))
    write_with_history(target, engine.record(c, args), make_node(c, [target, src], args))
    return target


def fill_(self: Tensor, value: Any) -> Tensor:
    """Write one number to all elements. See torch.Tensor.fill_."""
    if not isinstance(value, Tensor):
        if not isinstance(value, (bool, int, float, complex, np.generic)):
            raise TypeError("fill_() received an invalid combination of arguments - got "
                            f"({type_name(value)}), but expected one of: * (Tensor value) * (Number value)")
        dtypes.check_fits(value, self.dtype, scalar=self.numel() == 1)
    return overridden.fill_(self, value)


def masked_select(input: Tensor, mask: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the elements where the mask is True, in one dim. See torch.masked_select."""
    if storage.aval_of(mask).dtype.name != "bool":
        raise RuntimeError("masked_select: expected BoolTensor for mask")
    input, mask = functions.broadcast_tensors(input, mask)
    found = _advanced(input, _columns(input, 0, mask)) if storage.aval_of(input).shape else getitem(input, mask)
    if found._node is not None:
        found._node.__class__ = tape.node_class("MaskedSelectBackward0")
    if out is not None:
        from jtorch.dispatch import write_resized
        if out.dtype is not found.dtype:
            raise RuntimeError("masked_select(): self and result must have the same scalar type")
        check_writable(out)
        write_resized(out, value_of(found))
        return out
    return found


def _check_put(input: Tensor, indices: Any, values: Tensor, inplace: bool) -> None:
    for k, x in enumerate(indices):
        if not isinstance(x, Tensor):
            raise TypeError(f"expected Tensor as element {k} in argument 0, but got {type_name(x)}")
    if inplace:
        check_inplace(input, mode.grad and (requires_grad(input) or requires_grad(values)), once=False)
    n = len(storage.aval_of(input).shape)
    if len(indices) > n:
        raise IndexError(f"too many indices for tensor of dimension {n} (got {len(indices)})")
    for x in indices:
        if storage.aval_of(x).dtype.name not in _INDICES:
            raise IndexError("tensors used as indices must be long, int, byte or bool tensors")


def _index_put(form: str):
    do: Any = call_inplace if form == "index_put_" else call

    def index_put(input: Tensor, indices: Any, values: Tensor, accumulate: bool = False) -> Tensor:
        _check_put(input, indices, values, inplace=form == "index_put_")
        filled = len(indices) == 1 and not accumulate and storage.aval_of(indices[0]).dtype.name in _MASKS \
            and storage.aval_of(values).numel == 1
        tensors: list[Tensor] = []
        for x in indices:
            tensors += _columns(input, len(tensors), x, filled)
        if filled:
            values = _number_at_mask(input, values)
            if not indices[0].dim():
                number = values.reshape(())     # type: ignore[attr-defined]
                return do(call_of(OPS["masked_fill"], (T, T, T)), (input, indices[0], number))
        check.require(len(tensors) > 0, "index_put_ needs an index of at least one dim")
        c = call_of(OPS["index_put"], (T, (T,) * len(tensors), T, bool(accumulate)))
        return do(c, [input, *tensors, values])
    index_put.__name__ = form
    index_put.__doc__ = f"``values`` written (or added) at index tensors. See torch.Tensor.{form}."
    return index_put


def bind() -> None:
    """Add indexing and ``copy_`` to Tensor."""
    ours = {"index_put": _index_put("index_put"), "index_put_": _index_put("index_put_"), "masked_select": masked_select,
            "fill_": fill_}
    put(functions, ours, replaces=True)
    put(Tensor, ours, replaces=True)
    getitem.__name__, setitem.__name__ = "__getitem__", "__setitem__"       # __torch_function__ sees these names
    put(Tensor, {"__getitem__": getitem, "__setitem__": setitem, "__delitem__": delitem, "copy_": copy_})
    put(Tensor, {name: _property_of_view(name) for name in ("T", "mT", "H", "mH", "real", "imag")})


def _property_of_view(name: str) -> property:
    c = call_of(OPS[name], (T,))
    if name not in ("real", "imag"):
        return property(lambda self: call_view(c, (self,)), doc=OpDoc.of(OPS[name]))

    def part(self: Tensor) -> Tensor:
        return call_view(c, (self,)) if name == "imag" or self.dtype.is_complex else self

    def write(self: Tensor, value: Any) -> None:
        part(self).copy_(value) if isinstance(value, Tensor) else part(self).fill_(value)       # type: ignore[attr-defined]
    return property(part, write, doc=OpDoc.of(OPS[name]))
