"""Tangents: the forward derivatives that tensors carry in forward mode, one for each level.

A dual tensor holds a tangent for each level at which it is dual. Closing a level removes its tangents from all tensors.
Levels nest: a computation at a level is differentiated at the levels opened before.
"""
from __future__ import annotations

import contextlib
import itertools
import math
import threading
import weakref
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from jtorch import engine, storage
from jtorch._base import late_bindings
from jtorch.ops.registry import OPS, T

if TYPE_CHECKING:
    from jtorch.engine import Value
    from jtorch.tensor import Tensor


class Tangents(dict):
    """The tangents of one tensor, by level."""

    __slots__ = ("__weakref__",)


class _State(threading.local):
    below: float = math.inf     # calls see the levels with smaller numbers
    enabled = True


state = _State()
opened: dict[int, weakref.WeakValueDictionary[int, Tangents]] = {}      # each open level's tangents
on_first: list[Callable[[bool], None]] = []         # called when the first level opens (True) and the last one closes (False)
_numbers = itertools.count()
_lock = threading.Lock()


def open_level() -> int:
    """Open a level and return its number, which is larger than all earlier ones."""
    with _lock:
        number = next(_numbers)
        opened[number] = weakref.WeakValueDictionary()
        if len(opened) == 1:
            _tell(True)
    return number


def close_level(number: int) -> None:
    """Close a level and remove its tangents from all tensors."""
    with _lock:
        for held in list(opened.pop(number).values()):
            held.pop(number, None)
        if not opened:
            _tell(False)


def _tell(active: bool) -> None:
    for told in on_first:
        told(active)


@contextlib.contextmanager
def only_below(level: float) -> Iterator[None]:
    """Let calls in the block see only the levels opened before this one."""
    before, state.below = state.below, level
    try:
        yield
    finally:
        state.below = before


def own(t: Tensor, level: int) -> Tensor | None:
    """Return the tangent that the tensor itself holds, without looking at its base."""
    held = t._tangents
    return None if held is None else held.get(level)


def of(t: Tensor, level: int) -> Tensor | None:
    """Return the tangent of a tensor. A view without one gets a view of its base's tangent."""
    found = own(t, level)
    if found is None:
        base = base_of(t)
        of_base = own(base, level) if base is not None else None
        if of_base is not None:
            found = shown_by(t, base, of_base)     # type: ignore[arg-type]
            hold(t, level, found)
    return found


def base_of(t: Tensor) -> Tensor | None:
    """Return the tensor that a view shares its tangent with. The results of ``make_dual`` and ``detach`` share none."""
    return t.__dict__["_dual_base"] if "_dual_base" in t.__dict__ else t._base


def shown_by(t: Tensor, base: Tensor, tangent: Tensor) -> Tensor:
    """Return the view of a base's tangent that corresponds to a view of the base."""
    tangent = alike(tangent, base)
    if storage.aval_of(t).dtype.is_complex is not storage.aval_of(base).dtype.is_complex:
        raise NotImplementedError("the forward gradient of a real view of a complex tensor that got its own after the view was "
                                  "made is not built; take the view again")
    size, stride, offset = storage.geometry_of(t)
    start = offset - storage.geometry_of(base)[2] + storage.geometry_of(tangent)[2]
    return tangent.as_strided(size, stride, start)


def alike(tangent: Tensor, t: Tensor) -> Tensor:
    """Return the tangent with the tensor's strides: itself, or a copy."""
    size, stride, _ = storage.geometry_of(t)
    theirs = storage.geometry_of(tangent)[1]
    if all([n == 1 or a == b for n, a, b in zip(size, stride, theirs, strict=True)]) or not storage.aval_of(t).numel:
        return tangent
    made = late_bindings.call(engine.call_of(OPS["clone"], (T,)), [tangent])
    storage.lay_out(made, stride)
    return made


def hold(t: Tensor, level: int, tangent: Tensor) -> None:
    """Set a tensor's tangent at a level."""
    held = t._tangents
    if held is None:
        held = t._tangents = Tangents()
    held[level] = tangent
    opened[level][id(held)] = held


def highest(flat: Any) -> int | None:
    """Return the latest level at which an argument of a call is dual, among those that calls see now."""
    if not state.enabled:
        return None
    for level in sorted(opened, reverse=True):
        if level < state.below and any([_is_dual(t, level) for t in flat]):
            return level
    return None


def _is_dual(t: Any, level: int) -> bool:
    return hasattr(t, "_tangents") and of(t, level) is not None


def is_dual(t: Any) -> bool:
    """Return whether a tensor has a tangent that calls see now."""
    return bool(opened) and highest((t,)) is not None


def carry(source: Tensor, made: Tensor) -> Tensor:
    """Copy the tangents of ``source`` to its alias ``made``, which is returned."""
    for level in opened:
        tangent = of(source, level)
        if tangent is not None:
            hold(made, level, tangent)
    return made


def take(source: Tensor, made: Tensor) -> None:
    """Replace the tangents of ``made`` by those of ``source``."""
    if opened:
        made._tangents = None
        carry(source, made)


# ---------------------------------------------------------------- tangents of saved values

saved: weakref.WeakKeyDictionary[Any, dict[int, list]] = weakref.WeakKeyDictionary()     # keyed by node and level


def of_saved(node: Any) -> dict[int, list]:
    """Return the tangents of a node's saved values at the levels that are still open."""
    return {level: found for level, found in saved.get(node, {}).items() if level in opened}


def dress(tensors: list, tangents: dict[int, list]) -> list:
    """Give tensors made from saved values their saved tangents, and return the tensors."""
    for level, found in tangents.items():
        for t, tangent in zip(tensors, found, strict=False):
            if tangent is not None:
                hold(t, level, tangent)
    return tensors


def value_unless_more(grad: Any, as_value: Callable[[Any], Value]) -> Any:
    """Return a gradient as a value, but a dual or sparse gradient as a tensor."""
    if grad.__class__ is engine.Value:
        return grad
    return grad if (opened and grad._tangents) or grad._storage.__class__ is not storage.Storage else as_value(grad)
