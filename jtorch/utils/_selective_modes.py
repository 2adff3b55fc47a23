"""The modes of selective checkpoints, which see the operators of the first run and of the recomputation."""
from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from typing import Any

from jtorch._base.pytree import tree_map
from jtorch._library.namespaces import OpOverload, OpOverloadPacket
from jtorch.tensor import Tensor
from jtorch.utils._python_dispatch import TorchDispatchMode
from jtorch.utils._selective import CheckpointPolicy, SelectiveCheckpointContext, _policy_from_bool

_RECOMPUTE, _CONSUMED = object(), object()
_MISMATCH = ("This can happen if the operations in the checkpointed region are nondeterministic or depend on global state that "
             "changed between forward and backward.")


def check_overloads(ops: list) -> None:
    """Raise ValueError for an element that is no overload of an operator."""
    for op in ops:
        if not isinstance(op, OpOverload):
            advice = ("Please update the OpOverloadPacket to a specific OpOverload.For example, if you have `torch.ops.aten.mm`, "
                      "change it to `torch.ops.aten.mm.default`.") if isinstance(op, OpOverloadPacket) else ""
            raise ValueError(f"Expected op in `op_list` to be an OpOverload but got: {op} of type {type(op)}. {advice}")


class _Kept:
    """A kept result; for a tensor also its version."""

    def __init__(self, value: Any):
        self.value = value.detach() if isinstance(value, Tensor) else value
        self.version = value._version if isinstance(value, Tensor) else None

    def read(self, may_be_mutated: bool) -> Any:
        """Return the result; raise RuntimeError if it was written to."""
        if self.version is not None and not may_be_mutated and self.value._version != self.version:
            raise RuntimeError("Tensor cached during selective activation checkpoint has been mutated")
        return self.value


class _Counting(TorchDispatchMode):
    """A mode that numbers the calls of each operator. ``detach`` is passed on, since checkpoints call it themselves."""

    def __init__(self, kept: dict[Any, dict[int, Any]]):
        super().__init__()
        self.storage = kept
        self.func_counter: dict[Any, int] = defaultdict(int)

    def __torch_dispatch__(self, func: Callable, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if str(func) == "aten.detach.default":
            return func(*args, **(kwargs or {}))
        self.func_counter[func] += 1
        return self.call(func, self.func_counter[func] - 1, args, kwargs or {})

    def call(self, func: Callable, number: int, args: Any, kwargs: dict) -> Any:
        """Handle call ``number`` of an operator, counted from 0; subclasses define this method."""
        raise NotImplementedError


class Caching(_Counting):
    """The mode of the first run, which asks the policy and keeps results."""

    def __init__(self, policy: Callable, kept: dict[Any, dict[int, Any]]):
        super().__init__(kept)
        self.policy_fn = policy

    def call(self, func: Callable, number: int, args: Any, kwargs: dict) -> Any:
        """Call the operator, and keep its result if the policy says so."""
        out = func(*args, **kwargs)
        policy = self.policy_fn(SelectiveCheckpointContext(is_recompute=False, op_output=out), func, *args, **kwargs)
        policy = _policy_from_bool(policy) if isinstance(policy, bool) else policy
        keeps = policy in (CheckpointPolicy.MUST_SAVE, CheckpointPolicy.PREFER_SAVE)
        self.storage[func][number] = tree_map(_Kept, out) if keeps else _RECOMPUTE
        return out


class Cached(_Counting):
    """The mode of the recomputation, which returns the kept results."""

    def __init__(self, kept: dict[Any, dict[int, Any]], allow_cache_entry_mutation: bool):
        super().__init__(kept)
        self.allow_cache_entry_mutation = allow_cache_entry_mutation

    def __enter__(self) -> Any:
        self.func_counter.clear()
        return super().__enter__()

    def call(self, func: Callable, number: int, args: Any, kwargs: dict) -> Any:
        """Return the kept result of this call; call the operator again if the policy did not keep it."""
        if func not in self.storage:
            raise RuntimeError(f"{func} encountered during backward but not found in storage. {_MISMATCH}")
        entry = self.storage[func].get(number)
        if entry is None:
            raise RuntimeError(f"{func} invocation index {number} encountered during backward but not found in storage. "
                               f"{_MISMATCH}")
        if entry is _CONSUMED:
            raise RuntimeError("Trying to backward an extra time. You are only allowed to backward once on any region computed "
                               "under selective activation checkpoint.")
        if entry is _RECOMPUTE:
            return func(*args, **kwargs)
        self.storage[func][number] = _CONSUMED
        return tree_map(lambda k: k.read(self.allow_cache_entry_mutation), entry)
