"""torch.utils._ordered_set: sets that keep the order of insertion."""
from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, MutableSet, Reversible
from collections.abc import Set as AbstractSet
from typing import Any, Generic, TypeVar

T = TypeVar("T", bound=Hashable)

__all__ = ["OrderedSet"]


class OrderedSet(MutableSet[T], Reversible[T], Generic[T]):
    """A set in the order of insertion. Methods that ``set`` has return ordered sets."""

    __slots__ = ("_dict",)

    def __init__(self, iterable: Iterable[T] | None = None):
        self._dict: dict[T, None] = dict.fromkeys(iterable or ())

    def __contains__(self, elem: object) -> bool:
        return elem in self._dict

    def __iter__(self) -> Iterator[T]:
        return iter(self._dict)

    def __len__(self) -> int:
        return len(self._dict)

    def __reversed__(self) -> Iterator[T]:
        return reversed(self._dict)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({list(self)})"

    def __getstate__(self) -> list[T]:
        return list(self)

    def __setstate__(self, state: list[T]) -> None:
        self._dict = dict.fromkeys(state)

    def add(self, elem: T) -> None:
        """Add an element at the end, unless the set contains it."""
        self._dict[elem] = None

    def discard(self, elem: T) -> None:
        """Remove an element if the set contains it."""
        self._dict.pop(elem, None)

    def clear(self) -> None:
        """Remove all elements."""
        self._dict.clear()

    def pop(self) -> T:
        """Remove and return the last element; KeyError if the set is empty."""
        if not self._dict:
            raise KeyError("pop from an empty set")
        return self._dict.popitem()[0]

    def copy(self) -> OrderedSet[T]:
        """Return a set of the same elements."""
        return OrderedSet(self)

    def update(self, *others: Iterable[T]) -> None:
        """Add the elements of other iterables."""
        for other in others:
            self._dict.update(dict.fromkeys(other))

    def union(self, *others: Iterable[T]) -> OrderedSet[T]:
        """Return the elements of this set, followed by those of the others."""
        made = self.copy()
        made.update(*others)
        return made

    def difference(self, *others: Iterable[T]) -> OrderedSet[T]:
        """Return the elements that none of the others contains."""
        gone = {elem for other in others for elem in other}
        return OrderedSet(elem for elem in self if elem not in gone)

    def difference_update(self, *others: Iterable[T]) -> None:
        """Remove the elements that the others contain."""
        self._dict = self.difference(*others)._dict

    def intersection(self, *others: Iterable[T]) -> OrderedSet[T]:
        """Return the elements that all of the others contain."""
        kept = [set(other) for other in others]
        return OrderedSet(elem for elem in self if all(elem in other for other in kept))

    def intersection_update(self, *others: Iterable[T]) -> None:
        """Keep the elements that all of the others contain."""
        self._dict = self.intersection(*others)._dict

    def issubset(self, other: Iterable[Any]) -> bool:
        """Return whether another iterable contains all elements of this set."""
        return self <= _as_set(other)

    def issuperset(self, other: Iterable[Any]) -> bool:
        """Return whether this set contains all elements of another iterable."""
        return self >= _as_set(other)

    def symmetric_difference(self, other: Iterable[T]) -> OrderedSet[T]:
        """Return the elements that exactly one of both contains."""
        return OrderedSet(self ^ _as_set(other))


def _as_set(other: Iterable[Any]) -> AbstractSet:
    return other if isinstance(other, AbstractSet) else OrderedSet(other)
