"""torch.utils.weak: identity-keyed weak dictionaries, and weak references to tensors."""
from __future__ import annotations

import weakref
from collections.abc import Iterator, Mapping, MutableMapping
from typing import Any

from jtorch.tensor import Tensor

WeakRef = weakref.ref


class WeakIdRef(weakref.ref):
    """A weak reference that equals another if both refer to one object, regardless of the object's ``__eq__``."""

    __slots__ = ("_id",)

    def __init__(self, key: Any, callback: Any = None):
        super().__init__(key, callback)     # type: ignore[call-arg]
        self._id = id(key)

    def __call__(self) -> Any:
        """Return the object; None if it is gone."""
        return super().__call__()

    def __hash__(self):
        return self._id

    def __eq__(self, other):
        mine, theirs = self(), other()
        return mine is theirs if mine is not None and theirs is not None else self is other


class WeakIdKeyDictionary(MutableMapping):
    """A dictionary that compares keys by identity, and drops a key that is no longer referenced elsewhere."""

    def __init__(self, dict: Any = None, ref_type: Any = WeakIdRef):
        self.data: Any = {}
        self.ref_type = ref_type
        if dict is not None:
            self.update(dict)

    def _ref(self, key: Any) -> Any:
        return self.ref_type(key)

    def __getitem__(self, key: Any) -> Any:
        return self.data[self._ref(key)]

    def __setitem__(self, key: Any, value: Any) -> None:
        me = weakref.ref(self)

        def forget(ref: Any) -> None:
            table = me()
            if table is not None:
                table.data.pop(ref, None)
        self.data[self.ref_type(key, forget)] = value

    def __delitem__(self, key: Any) -> None:
        del self.data[self._ref(key)]

    def __iter__(self) -> Iterator:
        for ref in list(self.data):
            key = ref()
            if key is not None:
                yield key

    def __len__(self) -> int:
        return sum([ref() is not None for ref in list(self.data)])

    def __contains__(self, key: object) -> bool:
        try:
            return self._ref(key) in self.data
        except TypeError:
            return False

    def __repr__(self):
        return f"<{type(self).__name__} at {id(self):#x}>"

    def update(self, dict: Any = None, **kwargs: Any) -> None:      # type: ignore[override]
        """Take the items of a dictionary, or of anything from which ``dict`` makes one."""
        given = dict if dict is None or hasattr(dict, "items") else type({})(dict)
        for key, value in [*(given.items() if given is not None else ()), *kwargs.items()]:
            self[key] = value

    def popitem(self) -> tuple:
        """Remove the item that was added last, and return its key and value; KeyError if there is none."""
        while True:
            ref, value = self.data.popitem()
            key = ref()
            if key is not None:
                return key, value

    def __ior__(self, other: Any) -> WeakIdKeyDictionary:
        self.update(other)
        return self

    def __or__(self, other: Any) -> WeakIdKeyDictionary:
        return self.copy().__ior__(other) if isinstance(other, Mapping) else NotImplemented

    def __ror__(self, other: Any) -> WeakIdKeyDictionary:
        return type(self)(other).__ior__(self) if isinstance(other, Mapping) else NotImplemented

    def copy(self) -> WeakIdKeyDictionary:
        """Return a dictionary with the same keys and values."""
        return type(self)(self, ref_type=self.ref_type)

    __copy__ = copy

    def keyrefs(self) -> list:
        """Return the weak references to the keys."""
        return list(self.data)


WeakTensorKeyDictionary = WeakIdKeyDictionary


class TensorWeakRef:
    """A weak reference to a tensor; calling it returns the tensor, or None."""

    def __init__(self, tensor: Tensor):
        if not isinstance(tensor, Tensor):
            raise AssertionError(f"expected torch.Tensor, got {type(tensor)}")
        self.ref = weakref.ref(tensor)

    def __call__(self) -> Tensor | None:
        return self.ref()
