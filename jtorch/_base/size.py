"""torch.Size: the shape of a tensor, a tuple of ints."""
from __future__ import annotations

import math
import operator


def _type_name(value) -> str:
    kind = type(value)
    return f"numpy.{kind.__name__}" if kind.__module__ == "numpy" else kind.__name__


def _ints(values):
    for i, value in enumerate(values):
        if type(value) is int or hasattr(value, "is_nested_int"):       # The size of a ragged dim has no value.
            yield value
            continue
        try:
            yield operator.index(value)
        except TypeError:
            raise TypeError(f"torch.Size() takes an iterable of 'int' (item {i} is '{_type_name(value)}')") from None


class Size(tuple):
    """A tuple of ints that prints as ``torch.Size([2, 3])`` and stays a Size when sliced, added or repeated."""

    __slots__ = ()

    def __new__(cls, iterable=(), /):
        return tuple.__new__(cls, _ints(iterable))

    def numel(self) -> int:
        """Return the number of elements of a tensor of this size."""
        return math.prod(self)

    def __repr__(self):
        return f"torch.Size({list(self)})"

    def __reduce__(self):
        return (Size, (tuple(self),))

    def __getitem__(self, key):
        found = tuple.__getitem__(self, key)
        return of(found) if type(key) is slice else found

    def __add__(self, other):
        if not isinstance(other, tuple):
            reflected = getattr(type(other), "__radd__", None)
            made = NotImplemented if reflected is None else reflected(other, self)
            if made is not NotImplemented:
                return made
            raise TypeError(f"can only concatenate tuple (not {_type_name(other)}) to torch.Size")
        return Size(tuple.__add__(self, other))

    def __radd__(self, other):
        return Size(tuple.__add__(other, self)) if isinstance(other, tuple) else NotImplemented

    def __mul__(self, count):
        if not hasattr(count, "__index__"):
            raise TypeError(f"can't multiply sequence by non-int of type '{_type_name(count)}'")
        return of(tuple.__mul__(self, count))

    __rmul__ = __mul__


def of(shape: tuple[int, ...]) -> Size:
    """Return the Size of a tuple of ints, without checks."""
    return tuple.__new__(Size, shape)


NO_DIMS = Size()
