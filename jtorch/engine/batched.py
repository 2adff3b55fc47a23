"""Values of one sample under ``torch.vmap``. Such a value refers to the value of all samples, which has one more dim in front.

A call of samples is recorded as one call for all samples. Its op is a ``BatchedOp``, whose function is ``jax.vmap`` of the op's
function. So the calls of a vmapped function run on the host or in programs like all others, and JAX traces each op only once.
"""
from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np

from jtorch.engine import stats
from jtorch.engine.kernel import Call, call_of
from jtorch.engine.values import Aval, Value, traced_aval
from jtorch.ops.registry import OPS, Op, T

DEPENDS_ON_DATA = ("vmap: It looks like you're attempting to use a Tensor in some data-dependent control flow. We don't support "
                   "that yet, please file an issue at https://github.com/pytorch/pytorch/issues .")
ITEM = ("vmap: It looks like you're calling .item() on a Tensor. We don't support vmap over calling .item() on a Tensor, please "
        "try to rewrite what you're doing with other operations. If error is occurring somewhere inside PyTorch internals, "
        "please file a bug report.")


ESCAPED = ("Either your tensor may have escaped from inside a function being vmapped and this is a user error (see "
           "https://pytorch.org/functorch/stable/ux_limitations.html), or there is an internal functorch error in "
           "`gen_vmap_plumbing` Please file an issue if it looks like the latter")
CAPTURED = ("vmap: inplace arithmetic(self, *extra_args) is not possible because there exists a Tensor `other` in extra_args "
            "that has more elements than `self`. This happened due to `other` being vmapped over but `self` not being vmapped "
            "over in a vmap. Please try to use out-of-place operators instead of inplace arithmetic. If said operator is being "
            "called inside the PyTorch framework, please file a bug report instead.")


MASKED = ("vmap: We do not support batching operators that can support dynamic shape. Attempting to batch over indexing with a "
          "boolean mask.")
NO_MEMORY = "Cannot access data pointer of Tensor that doesn't have storage"


class NeedsTracers(Exception):
    """Raised if an operation under ``vmap`` needs JAX's tracers. The caller then runs the function on tracers."""


class _Local(threading.local):
    depth = 0       # Number of nested ``vmap`` that the thread is running.


_local = _Local()


class Level:
    """A ``vmap`` that is running. Its ``depth`` counts the nesting.

    ``wholes`` maps the storages of samples to tensors that show them for all samples. ``replaced`` has the earlier content of
    each outside storage that the samples have written to.
    """

    __slots__ = ("depth", "is_over", "replaced", "wholes")

    def __init__(self) -> None:
        self.depth, self.is_over = 0, True
        self.wholes: dict[Any, Any] = {}
        self.replaced: dict[Any, Value] = {}

    def __enter__(self) -> Level:
        self.depth, self.is_over = _local.depth + 1, False
        _local.depth = self.depth
        return self

    def __exit__(self, *exception: object) -> None:
        self.is_over = True
        _local.depth -= 1


def is_running() -> bool:
    """Return whether the thread is running a ``vmap``."""
    return _local.depth > 0


class BatchedValue:
    """The array of a sample's value: a reference to the value of all samples, with one more dim in front."""

    __slots__ = ("level", "value")

    def __init__(self, level: Level, value: Value):
        self.level, self.value = level, value

    def __array__(self, *args: Any, **kwargs: Any) -> np.ndarray:
        raise RuntimeError(DEPENDS_ON_DATA)


def of_samples(value: Value, level: Level) -> Value:
    """Return the value of one sample for a value of all samples."""
    return Value(aval_of_sample(value.aval), BatchedValue(level, value))


def traced_like(shape: tuple[int, ...], dtype: Any, device: Any) -> Aval:
    """Return a new aval of a sample's value."""
    return traced_aval(jax.ShapeDtypeStruct(shape, dtype), device)


def aval_of_sample(whole: Aval) -> Aval:
    """Return the aval of one sample for the aval of all samples."""
    return traced_like(whole.shape[1:], whole.np, whole.device)


def level_of(value: Any) -> Level | None:
    """Return the level of the innermost ``vmap`` that has the value as a sample; None if there is none."""
    return value.array.level if value.__class__ is Value and value.array.__class__ is BatchedValue else None


def samples_of(value: Value, level: Level) -> Value | None:
    """Return the value of all samples of a ``vmap``; None if the value is the same for all samples."""
    return value.array.value if level_of(value) is level else None


def is_batched(value: Any) -> bool:
    """Return whether a value belongs to one sample of a ``vmap``."""
    return level_of(value) is not None


def traced(value: Value, refused: str = "") -> Any:
    """Return the JAX tracer of a value under a transformation.

    A sample's value has no tracer. Raise RuntimeError with the text ``refused``, or NeedsTracers if that is empty.
    """
    if not is_batched(value):
        return value.array
    raise RuntimeError(refused) if refused else NeedsTracers


def refuse(value: Value, message: str, error: type[Exception] = RuntimeError) -> None:
    """Raise an error with this message for a sample's value."""
    if is_batched(value):
        raise error(message)


def refuse_choice(value: Value) -> None:
    """Raise RuntimeError if control flow would depend on a sample's value."""
    refuse(value, DEPENDS_ON_DATA)


def levels_of_value(value: Any) -> list[tuple[Level, int]]:
    """Return (level, number of samples) for each ``vmap`` that has the value as a sample, the innermost first."""
    found = []
    while is_batched(value):
        found.append((value.array.level, value.array.value.aval.shape[0]))
        value = value.array.value
    return found


def check_writable(shown: Value | None, new: Value | None, message: str) -> None:
    """Raise RuntimeError if values that differ between samples would be written into a tensor that is the same for all."""
    if not {level for level, _ in levels_of_value(new)} <= {level for level, _ in levels_of_value(shown)}:
        raise RuntimeError(message)


def spread(value: Value, levels: Sequence[tuple[Level, int]], record_call: Callable) -> Value:
    """Return a value with a sample in each ``vmap`` of ``levels``, the innermost first.

    Raise RuntimeError if the value belongs to samples of another ``vmap``.
    """
    if not levels:
        if is_batched(value):
            raise RuntimeError(CAPTURED)
        return value
    (level, size), own = levels[0], level_of(value)
    if own is level:
        whole = value.array.value
    elif own is not None and own.depth > level.depth:
        raise RuntimeError(CAPTURED)
    else:
        whole = record_call(call_of(OPS["expand"], (T, (size, *value.aval.shape), False)), (value,))
    return of_samples(spread(whole, levels[1:], record_call), level)


def innermost(args: Sequence[Any]) -> Level | None:
    """Return the level of the innermost ``vmap`` that has an argument of a call as a sample; None if there is none."""
    return max([found for found in map(level_of, args) if found is not None], key=lambda found: found.depth, default=None)


def record(record_call: Callable, call: Call, args: Sequence[Any], level: Level) -> Any:
    """Record ``call`` for all samples of a ``vmap``. Raise RuntimeError if that ``vmap`` has ended."""
    if level.is_over:
        raise RuntimeError(ESCAPED)
    which = tuple([level_of(a) is level for a in args])
    stats.counters.batched += 1
    given = [a.array.value if one else a for a, one in zip(args, which, strict=True)]
    try:
        out = record_call(_batched(call, which), given)
    except RuntimeError as error:
        _check_ranks(call.op.name, args, error)
        raise
    return [of_samples(v, level) for v in out] if out.__class__ is list else of_samples(out, level)


_RANKS = {"mm": (2, 2), "mv": (2, 1), "bmm": (3, 3)}      # numbers of dims that PyTorch's batching rules demand


def _check_ranks(name: str, args: Sequence[Any], error: RuntimeError) -> None:
    """Raise PyTorch's error for the arguments of a product with another number of dims."""
    if name in _RANKS:
        a, b = [len(v.aval.shape) for v in args[:2]]
        if (a, b) != _RANKS[name]:
            raise RuntimeError(f"Shape mismatch: Got incorrect dims for {name}(a, b). a has dim {a}and b has dim {b}but expected "
                               f"them to have dim {_RANKS[name][0]} and dim {_RANKS[name][1]}") from error


class BatchedOp(Op):
    """An op on all samples at once. Its template also says which arguments have samples."""

    __slots__ = ()

    @property
    def is_backward(self) -> bool:      # type: ignore[override]
        """Whether the op is the backward of another op."""
        return self.body.is_backward    # type: ignore[attr-defined]

    def function_of(self, template: tuple) -> Callable:
        """Return the function of the arrays. Arrays of samples have one more dim in front."""
        alone, which = template
        return jax.vmap(self.body.function_of(alone), [0 if one else None for one in which])    # type: ignore[attr-defined]

    def read_from(self, template: tuple, count: int) -> int:
        """Return ``read_from`` of the op for one sample."""
        return self.body.read_from(template[0], count)      # type: ignore[attr-defined]


_ops: dict[Op, BatchedOp] = {}


def _batched(call: Call, which: tuple[bool, ...]) -> Call:
    op = _ops.get(call.op)
    if op is None:
        op = _ops[call.op] = BatchedOp(f"{call.op.name}.batched", call.op, (), "", loops=call.op.loops)     # type: ignore[arg-type]
    return call_of(op, (call.template, which), call.creates)
