"""Tangents: what forward-mode differentiation knows of tensors, level by level.

A dual tensor holds a tangent for each level at which it is one. Levels are opened and closed; closing one takes its tangents
from all tensors. They nest: what is computed at a level is differentiated at those that were opened before it.
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
from jtorch._base import seam
from jtorch.ops.registry import OPS, T

if TYPE_CHECKING:
    from jtorch.engine import Value
    from jtorch.tensor import Tensor


class Tangents(dict):
    """The tangents of one tensor, by level."""

    __slots__ = ("__weakref__",)


class _State(threading.local):
    below: float = math.inf     # the levels that a call sees: while one is at work, those opened before it
    enabled = True


state = _State()
opened: dict[int, weakref.WeakValueDictionary[int, Tangents]] = {}      # what tensors hold at each open level
on_first: list[Callable[[bool], None]] = []         # called when the first level opens, and when the last has been closed
_numbers = itertools.count()
_lock = threading.Lock()


def open_level() -> int:
    """Opens a level; its number is larger than those of all before."""
    with _lock:
        number = next(_numbers)
        opened[number] = weakref.WeakValueDictionary()
        if len(opened) == 1:
            _tell(True)
    return number


def close_level(number: int) -> None:
    """Closes a level: no tensor is dual at it any more."""
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
    """Calls see the levels that were opened before this one."""
    before, state.below = state.below, level
    try:
        yield
    finally:
        state.below = before


def own(t: Tensor, level: int) -> Tensor | None:
    """The tangent that a tensor holds itself."""
    held = t._tangents
    return None if held is None else held.get(level)


def of(t: Tensor, level: int) -> Tensor | None:
    """The tangent of a tensor; that of a view may be a view of its base's."""
    found = own(t, level)
    if found is None:
        base = base_of(t)
        of_base = own(base, level) if base is not None else None
        if of_base is not None:
            found = shown_by(t, base, of_base)     # type: ignore[arg-type]
            hold(t, level, found)
    return found


def base_of(t: Tensor) -> Tensor | None:
    """The tensor that a view shares its tangent with; PyTorch's other views (``make_dual``, ``detach``) have none."""
    return t.__dict__["_dual_base"] if "_dual_base" in t.__dict__ else t._base


def shown_by(t: Tensor, base: Tensor, tangent: Tensor) -> Tensor:
    """What of a base's tangent lies where a view lies in its base."""
    tangent = alike(tangent, base)
    if storage.aval_of(t).dtype.is_complex is not storage.aval_of(base).dtype.is_complex:
        raise NotImplementedError("the forward gradient of a real view of a complex tensor that got its own after the view was "
                                  "made is not built; take the view again")
    size, stride, offset = storage.geometry_of(t)
    start = offset - storage.geometry_of(base)[2] + storage.geometry_of(tangent)[2]
    return tangent.as_strided(size, stride, start)


def alike(tangent: Tensor, t: Tensor) -> Tensor:
    """A tangent that lies in memory as the tensor does: itself, or a copy."""
    size, stride, _ = storage.geometry_of(t)
    theirs = storage.geometry_of(tangent)[1]
    if all([n == 1 or a == b for n, a, b in zip(size, stride, theirs, strict=True)]) or not storage.aval_of(t).numel:
        return tangent
    made = seam.call(engine.call_of(OPS["clone"], (T,)), [tangent])
    storage.lay_out(made, stride)
    return made


def hold(t: Tensor, level: int, tangent: Tensor) -> None:
    """Makes ``tangent`` that of a tensor at a level."""
    held = t._tangents
    if held is None:
        held = t._tangents = Tangents()
    held[level] = tangent
    opened[level][id(held)] = held


def highest(flat: Any) -> int | None:
    """The latest level at which an argument of a call is dual, among those that calls see now."""
    if not state.enabled:
        return None
    for level in sorted(opened, reverse=True):
        if level < state.below and any([_is_dual(t, level) for t in flat]):
            return level
    return None


def _is_dual(t: Any, level: int) -> bool:
    return hasattr(t, "_tangents") and of(t, level) is not None


def is_dual(t: Any) -> bool:
    """Whether a tensor has a tangent that calls see now."""
    return bool(opened) and highest((t,)) is not None


def carry(source: Tensor, made: Tensor) -> Tensor:
    """``made`` with the tangents of ``source``, of which it is an alias."""
    for level in opened:
        tangent = of(source, level)
        if tangent is not None:
            hold(made, level, tangent)
    return made


def take(source: Tensor, made: Tensor) -> None:
    """Gives a tensor that is to show what ``source`` shows the tangents of that."""
    if opened:
        made._tangents = None
        carry(source, made)


# ---------------------------------------------------------------- what nodes have saved

saved: weakref.WeakKeyDictionary[Any, dict[int, list]] = weakref.WeakKeyDictionary()     # the tangents of it, by node and level


def of_saved(node: Any) -> dict[int, list]:
    """The tangents of what a node has saved, at the levels that are still open."""
    return {level: found for level, found in saved.get(node, {}).items() if level in opened}


def dress(tensors: list, tangents: dict[int, list]) -> list:
    """Gives tensors made of saved values the tangents that were saved with them."""
    for level, found in tangents.items():
        for t, tangent in zip(tensors, found, strict=False):
            if tangent is not None:
                hold(t, level, tangent)
    return tensors


def value_unless_more(grad: Any, as_value: Callable[[Any], Value]) -> Any:
    """A gradient as a value, or as the tensor that it is where it is dual, or sparse."""
    if grad.__class__ is engine.Value:
        return grad
    return grad if (opened and grad._tangents) or grad._storage.__class__ is not storage.Storage else as_value(grad)
