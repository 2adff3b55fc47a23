"""Functions of quantized tensors: by their integers, or by the numbers that these stand for."""
from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

from jtorch._api import functions
from jtorch._api.creation import tensor as make_tensor
from jtorch._quantized.tensor import QuantizedTensor, in_words, integers_of, like, per_channel, per_tensor, range_of
from jtorch.dtype import float32
from jtorch.tensor import Tensor

# Maps the name of a function to its rule, a function of (function, arguments, named arguments).
RULES: dict[str, Callable] = {}

# Functions that choose, move or compare elements. Their results have the scale and the zero point of the first argument.
_BY_INTEGERS = (
    "__getitem__ __iter__ amax amin as_strided cat chunk concat expand expand_as flatten flip gather "
    "index_select max max_pool1d max_pool2d min movedim narrow permute repeat reshape reshape_as select sort split squeeze stack "
    "swapaxes swapdims t take topk transpose unbind unflatten unfold unsqueeze view view_as")
# These work with a scale for each channel too.
_SAME_SHAPE = frozenset("clone contiguous cpu cuda detach empty_like requires_grad_".split())
_COMPARISONS = "eq ne lt le gt ge __eq__ __ne__ __lt__ __le__ __gt__ __ge__ less greater less_equal greater_equal not_equal"
_CASTS = "float double half bfloat16 int long short"


def rule(*names: str) -> Callable:
    """Return a decorator that makes ``function(*args, **kwargs)`` the rule of these functions."""
    def register(function: Callable) -> Callable:
        RULES.update(dict.fromkeys(names, lambda func, args, kwargs: function(*args, **kwargs)))
        return function
    return register


def by_integers(func: Callable, args: tuple, kwargs: dict) -> Any:
    """Apply a function to the integers, and return its results as quantized tensors. Indices stay as they are."""
    given = _tensors([*args, *kwargs.values()])
    first = given[0]
    if first._axis is not None and func.__name__ not in _SAME_SHAPE:
        raise _not_built(func, "a tensor with a scale for each channel")
    if any(t._parameters() != first._parameters() for t in given[1:]):
        raise _not_built(func, "tensors with different scales")
    return as_first(first, func(*_mapped(args, integers_of), **_mapped(kwargs, integers_of)))


def _not_built(func: Callable, of: str) -> NotImplementedError:
    return NotImplementedError(f"torch.{func.__name__} of {of} is not built; x.dequantize() is a tensor of floats")


def as_first(first: QuantizedTensor, result: Any) -> Any:
    """Return the tensors of a result that hold integers of ``first`` as quantized tensors."""
    if isinstance(result, Tensor):
        return like(first, result) if result.dtype is integers_of(first).dtype else result
    if isinstance(result, (tuple, list)) and any([isinstance(x, Tensor) for x in result]):
        return type(result)([as_first(first, x) for x in result])       # type: ignore[call-arg]
    return map(functools.partial(as_first, first), result) if isinstance(result, Iterator) else result


def _by_numbers(func: Callable, args: tuple, kwargs: dict) -> Any:
    return func(*_mapped(args, QuantizedTensor.dequantize), **_mapped(kwargs, QuantizedTensor.dequantize))


def _mapped(x: Any, change: Callable) -> Any:
    """Return arguments with each quantized tensor changed, also in lists, tuples and dicts."""
    if isinstance(x, QuantizedTensor):
        return change(x)
    if type(x) in (tuple, list):
        return type(x)([_mapped(one, change) for one in x])
    return {k: _mapped(one, change) for k, one in x.items()} if type(x) is dict else x


def _tensors(args: Any) -> list[QuantizedTensor]:
    """Return the quantized tensors of arguments, also those in lists and tuples."""
    return [t for x in args for t in ([x] if isinstance(x, QuantizedTensor) else _tensors(x) if type(x) in (tuple, list) else [])]


RULES.update(dict.fromkeys((*_BY_INTEGERS.split(), *_SAME_SHAPE), by_integers))
RULES.update(dict.fromkeys(_COMPARISONS.split(), _by_numbers))


# ---------------------------------------------------------------- elementwise functions

def _level(t: QuantizedTensor, number: float) -> int:
    """Return the integer that stands for a number."""
    t._require(t._axis is None)
    return int(integers_of(per_tensor(make_tensor(number, dtype=float32), t._scale, t._zero_point, t.dtype)).item())


@rule("clamp", "clip", "hardtanh")
def clamp(t: QuantizedTensor, min: float | None = None, max: float | None = None, *, min_val: float = -1.0, max_val: float = 1.0,
          inplace: bool = False) -> QuantizedTensor:
    """Limit the numbers to a range."""
    low, high = (min_val, max_val) if min is None and max is None else (min, max)
    limits = [limit if x is None else _level(t, x) for x, limit in zip((low, high), range_of(t.dtype), strict=True)]
    levels = functions.clamp(integers_of(t), *limits)
    return copy_(t, like(t, levels)) if inplace else like(t, levels)


@rule("relu")
def relu(t: QuantizedTensor, inplace: bool = False) -> QuantizedTensor:
    """Replace negative numbers by 0."""
    return clamp(t, 0.0, inplace=inplace)


@rule("relu6")
def relu6(t: QuantizedTensor, inplace: bool = False) -> QuantizedTensor:
    """Limit the numbers to the range from 0 to 6."""
    return clamp(t, 0.0, 6.0, inplace=inplace)


# ---------------------------------------------------------------- writing

def _rounded_like(t: QuantizedTensor, numbers: Tensor) -> QuantizedTensor:
    if t._axis is None:
        return per_tensor(numbers, t._scale, t._zero_point, t.dtype)
    return per_channel(numbers, t._scale, t._zero_point, t._axis, t.dtype)


@rule("copy_")
def copy_(t: Any, source: Any, non_blocking: bool = False) -> Any:
    """Write numbers, which are rounded; or another tensor's integers, with its scale and zero point."""
    if not isinstance(t, QuantizedTensor):
        raise RuntimeError("Copying from quantized Tensor to non-quantized Tensor is not allowed, please use dequantize to get a "
                           "float Tensor from a quantized Tensor")
    if not isinstance(source, QuantizedTensor):
        if source.dtype is not float32:
            raise RuntimeError("Quantized copy only works with kFloat as source Tensor")
        source = _rounded_like(t, source)
    if source.dtype is not t.dtype:
        raise RuntimeError("Quantized Copy only works with same quantized dtype")
    t._scale, t._zero_point, t._axis = source._scale, source._zero_point, source._axis
    integers_of(t).copy_(integers_of(source))       # type: ignore[attr-defined]
    return t


@rule("fill_")
def fill_(t: QuantizedTensor, value: Any) -> QuantizedTensor:
    """Write one number to all elements."""
    return copy_(t, functions.full(tuple(t.shape), float(value), dtype=float32))       # type: ignore[no-any-return]


@rule("__setitem__")
def setitem(t: QuantizedTensor, index: Any, value: Any) -> None:
    """Write numbers, which are rounded, to a part of the tensor."""
    if t._axis is not None:
        raise NotImplementedError("Writing to a part of a tensor with a scale for each channel is not built; use copy_()")
    if not isinstance(value, QuantizedTensor):
        value = _rounded_like(t, value if isinstance(value, Tensor) else make_tensor(value, dtype=float32))
    integers_of(t)[index] = integers_of(value)


# ---------------------------------------------------------------- conversions and questions

@rule("equal")
def equal(a: Any, b: Any) -> bool:
    """Return whether two quantized tensors have equal integers, scales and zero points."""
    return (isinstance(a, QuantizedTensor) and isinstance(b, QuantizedTensor) and a.qscheme() is b.qscheme()
            and functions.equal(integers_of(a), integers_of(b))
            and all(bool((x == y if isinstance(x, Tensor) else make_tensor(x == y)).all())       # type: ignore[attr-defined]
                    for x, y in zip(a._parameters()[1:], b._parameters()[1:], strict=True)))


@rule("to")
def to(t: QuantizedTensor, *args: Any, **kwargs: Any) -> QuantizedTensor:
    """Return the tensor on another device. Its dtype stays."""
    made = integers_of(t).to(*args, **kwargs)       # type: ignore[attr-defined]
    return like(t, made) if made.dtype is integers_of(t).dtype else cast(t)


@rule(*_CASTS.split())
def cast(t: QuantizedTensor) -> Any:
    """Raise RuntimeError: only ``dequantize`` gives other dtypes."""
    raise RuntimeError("Creation of quantized tensor requires quantized dtype like torch.quint8")


@rule("dequantize")
def dequantize(t: Any) -> Any:
    """Return the numbers in float32, also those of each tensor of a sequence."""
    return t.dequantize() if isinstance(t, Tensor) else tuple([one.dequantize() for one in t])


@rule("item")
def item(t: QuantizedTensor) -> Any:
    """Return the number of a tensor with one element."""
    return t.dequantize().item()        # type: ignore[attr-defined]


@rule("numpy")
def numpy(t: QuantizedTensor, **kwargs: Any) -> Any:
    """Raise TypeError: NumPy has no quantized arrays."""
    raise TypeError(f"Got unsupported ScalarType {in_words(t)}")


@rule("tolist")
def tolist(t: QuantizedTensor) -> Any:
    """Raise RuntimeError, as PyTorch does."""
    raise RuntimeError("load_scalar: invalid type")


@rule("type")
def type_of(t: QuantizedTensor, dtype: Any = None, non_blocking: bool = False) -> Any:
    """Return the name of the type."""
    return f"torch.quantized.{in_words(t)}Tensor" if dtype is None else cast(t)
