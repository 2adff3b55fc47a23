"""Forward mode: calls on dual tensors return dual tensors.

``late_bindings.forward`` is this file's ``call`` while a level is open.

A call runs twice at the latest level at which an argument is dual: once for its results and once for their tangents. Both
runs see only levels opened before, so that levels nest. Both are recorded for backward.
"""
from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from jtorch import storage
from jtorch._base import late_bindings
from jtorch._nodes import tangents
from jtorch._nodes.jvp import jvp_call
from jtorch._nodes.tangents import hold, only_below
from jtorch.dispatch import calls, views, writes
from jtorch.dispatch.calls import NUMBER_TYPES
from jtorch.engine import Call
from jtorch.no_grad import mode
from jtorch.tensor import Tensor


def call(c: Call, flat) -> Any:
    """Return the result of a call on dual tensors, or None if no argument is dual."""
    level = tangents.highest(flat)
    if level is None or not c.op.differentiable:
        return None
    with only_below(level):
        with _noting(c, flat, level):
            made = calls.call(c, flat)
        changes = _changes(c, flat, level)
        outs = made if made.__class__ is list else [made]
        for t, change in zip([t for t in outs if storage.aval_of(t).is_inexact], changes, strict=True):
            hold(t, level, change)
        if c.op.saves.idempotent and outs[0]._node is not None:
            tangents.saved.setdefault(outs[0]._node, {})[level] = changes
    return made


def _changes(c: Call, flat, level: int) -> list:
    """Return the tangents of a call's results."""
    own = [None if t.__class__ in NUMBER_TYPES else tangents.of(t, level) for t in flat]
    which = tuple([i for i, t in enumerate(own) if t is not None])
    made = calls.call(jvp_call(c, which), [*flat, *[own[i] for i in which]])
    return made if made.__class__ is list else [made]


@contextlib.contextmanager
def _noting(c: Call, flat, level: int) -> Iterator[None]:
    """Record the arguments' tangents with the nodes that are made in the block."""
    if not mode.grad or mode.inference:
        yield
        return
    found = [None if t.__class__ in NUMBER_TYPES else tangents.of(t, level) for t in flat]
    before, special = mode.on_node, mode.special

    def on_node(node: Any, args: Any) -> None:
        if node.call is c and not c.op.saves.idempotent:
            tangents.saved.setdefault(node, {})[level] = found
        if before is not None:
            before(node, args)
    mode.on_node, mode.special = on_node, True
    try:
        yield
    finally:
        mode.on_node, mode.special = before, special


# ---------------------------------------------------------------- views

def call_view(c: Call, flat) -> Any:
    """Return the result of a view op, with a view of the base's tangent. Return None if the base is not dual."""
    level = tangents.highest(flat[:1])
    if level is None:
        return None
    base = flat[0]
    with only_below(level):
        made = views.call_view(c, flat)
        if made is base or not c.op.differentiable:
            return made
        change = views.call_view(c, (tangents.alike(tangents.of(base, level), base), *flat[1:]))      # type: ignore[arg-type]
    for t, tangent in zip(*[x if x.__class__ is list else [x] for x in (made, change)], strict=True):
        if storage.aval_of(t).is_inexact:
            hold(t, level, tangent)
            _share(t, base)
    return made


def _share(view: Tensor, base: Tensor) -> None:
    """Let a view share tangents with its base, so that writes to one change the tangent of the other."""
    if view._storage is base._storage:
        above = tangents.base_of(base)
        view._dual_base = base if above is None else above      # type: ignore[attr-defined]


def cut_off(t: Tensor) -> Tensor:
    """Stop an alias from sharing tangents with its tensor."""
    t._dual_base = None         # type: ignore[attr-defined]
    return t


# ---------------------------------------------------------------- writes

def call_inplace(c: Call, flat, name: str | None = None) -> Any:
    """Call ``c``, and write its result and tangent into its first argument. Return None if no argument is dual."""
    level = tangents.highest(flat)
    if level is None:
        return None
    target = flat[0]
    cast = calls.computing_in(c, target.dtype) if c.op.out.takes_dtype else c
    with only_below(level):
        change = _changes(cast, flat, level)[0] if c.op.differentiable and storage.aval_of(target).is_inexact else None
        with _noting(cast, flat, level):
            writes.call_inplace(c, flat, name)
        if storage.aval_of(target).is_inexact:
            _write(target, level, change)
    return target


def written(target: Tensor, source: Tensor, write: Callable[[Tensor, Tensor], Tensor]) -> Any:
    """Run ``write(target, source)``, such as ``copy_``, on the tensors and their tangents. Return None if neither is dual."""
    level = tangents.highest((target, source))
    if level is None:
        return None
    with only_below(level):
        change = tangents.of(source, level)
        write(target, source)
        if storage.aval_of(target).is_inexact:
            _write(target, level, change)
    return target


def drawn(made: Tensor, sources: Sequence[Any]) -> None:
    """Give random numbers zero tangents if a parameter in ``sources`` is dual. Tangents that they already have become zero."""
    level = tangents.highest(sources)
    if level is None:
        return
    with only_below(level):
        if tangents.of(made, level) is not None:
            _write(made, level, None)
        else:
            hold(made, level, made.new_zeros(made.shape))
        drawn(made, sources)


def refuse(name: str, sources: Sequence[Any]) -> None:
    """Raise NotImplementedError if a parameter of random numbers is dual."""
    if tangents.opened and tangents.highest(sources) is not None:
        raise NotImplementedError(f"Trying to use forward AD with {name} that does not support it.")


def _write(target: Tensor, level: int, change: Tensor | None) -> None:
    """Write ``change`` (None means zeros) into the tangent of a tensor that was written to."""
    have = tangents.of(target, level)
    if have is None:
        have = _begun(target, level, change)
        if have is None:
            return
    if change is None:
        have.zero_()
    elif change is not have:
        have.copy_(change)


def _begun(target: Tensor, level: int, change: Tensor | None) -> Tensor | None:
    """Make the first tangent of a tensor that was written to.

    For a view, the base gets a tangent of zeros, and the view's part of that tangent is returned. Another tensor gets a copy of
    ``change``, and None is returned.
    """
    base = tangents.base_of(target)
    if base is None:
        if change is not None:
            change = _cast(change, target)
            hold(target, level, tangents.alike(change.clone(), target))
        return None
    if change is None:
        return None
    if tangents.own(base, level) is None:
        hold(base, level, tangents.alike(base.new_zeros(base.shape), base))
    return tangents.of(target, level)


def _cast(change: Tensor, target: Tensor) -> Tensor:
    change = change if change.dtype is target.dtype else change.to(target.dtype)
    return change if tuple(change.shape) == tuple(target.shape) else change.expand(target.shape).clone()


def switch(active: bool) -> None:
    """Install this module's functions in ``late_bindings``, or remove them."""
    late_bindings.forward = call if active else None
    calls.detour()
    late_bindings.forward_view = call_view if active else None
    late_bindings.forward_write = call_inplace if active else None


tangents.on_first.append(switch)
