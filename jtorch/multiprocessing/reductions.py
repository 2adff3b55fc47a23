"""torch.multiprocessing.reductions: pickling of tensors for other processes, and weak references to storages."""
from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

from jtorch._api.shared_memory import reduced_tensor
from jtorch._base.refused import refused
from jtorch.tensor import Tensor


class StorageWeakRef:
    """A weak reference to a storage. References to the same storage are equal."""

    __slots__ = ("_ref", "cdata")

    def __init__(self, storage: Any):
        untyped = getattr(storage, "_untyped_storage", storage)
        self.cdata: int = untyped._cdata
        self._ref = weakref.ref(untyped._storage)

    def expired(self) -> bool:
        """Return whether the storage was freed."""
        return self._ref() is None

    def __hash__(self) -> int:
        return self.cdata

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, StorageWeakRef) and self.cdata == other.cdata)


def reduce_tensor(tensor: Tensor) -> tuple[Callable[..., Tensor], tuple]:
    """Return a function and arguments that rebuild the tensor in another process."""
    make, arguments, *state = reduced_tensor(tensor)
    return (_with_state, (make, arguments, state[0])) if state and state[0] is not None else (make, arguments)


def _with_state(make: Callable[..., Any], arguments: tuple, state: Any) -> Any:
    made = make(*arguments)
    made.__setstate__(state)
    return made


rebuild_cuda_tensor = refused("multiprocessing.reductions.rebuild_cuda_tensor",
                              "a GPU's memory cannot be shared between processes here")
rebuild_event = refused("multiprocessing.reductions.rebuild_event", "events are of one process")
