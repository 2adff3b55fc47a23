"""The overload of ``torch.ops.aten`` for a call of an op, and its arguments."""
from __future__ import annotations

import functools
import typing
from collections.abc import Callable, Iterator
from typing import Any

from jtorch._base.aten_schemas import schemas
from jtorch._base.layout import strided
from jtorch._library.arguments import default
from jtorch._library.namespaces import OpOverload, ops
from jtorch._library.schema import Argument, FunctionSchema
from jtorch.engine import Call
from jtorch.ops.registry import Frozen, Marker
from jtorch.tensor import Tensor


class Named(typing.NamedTuple):
    """A call of an overload: the overload, its arguments, and a function that picks the op's results."""

    func: OpOverload
    args: tuple
    kwargs: dict
    pick: Callable[[Any], Any] | None = None


def thawed(value: Any) -> Any:
    """Return a static argument in the form that programs pass."""
    if value.__class__ is Frozen:
        return value[0](value[1])
    return [thawed(v) for v in value] if value.__class__ is tuple else value


def _filled(t: Any, left: Iterator) -> Any:
    if t.__class__ is Marker:
        return next(left)
    if t.__class__ is tuple:
        return [_filled(x, left) for x in t]
    return thawed(t)


def arguments(c: Call, flat: Any) -> dict[str, Any]:
    """Return the arguments of a call by the names of the op's parameters."""
    left = iter(flat)
    return {p.name: _filled(t, left) for p, t in zip(c.op.params, c.template, strict=True)}


# ---------------------------------------------------------------- fitting arguments to an overload

# Functions whose tensor arguments may be numbers, as PyTorch's parser allows.
_NUMBERS_AS_TENSORS = set("add sub mul div true_divide divide multiply subtract floor_divide copy_".split())
LISTS = (list, tuple)


def _fits(value: Any, a: Argument, name: str) -> bool:
    """Return whether a schema's argument accepts a value."""
    kind = a.type
    if kind.is_optional:
        if value is None:
            return True
        kind = kind.element     # type: ignore[assignment]
    if kind.is_list:
        if kind.base() == "Tensor":
            return value.__class__ in LISTS
        return value.__class__ in LISTS or (kind.size is not None and value is not None and not isinstance(value, Tensor))
    if kind.name == "Tensor":
        return isinstance(value, Tensor) or (name.removesuffix("_") in _NUMBERS_AS_TENSORS and a.name != "self"
                                             and isinstance(value, (int, float, complex)))
    if isinstance(value, Tensor) or value is None or value.__class__ in LISTS:
        return False
    if kind.name in ("int", "SymInt") and value.__class__ is not int:
        return False
    return isinstance(value, str) <= (kind.name in ("str", "Device")) and (kind.name != "str" or isinstance(value, str))


def _coerced(value: Any, a: Argument) -> Any:
    """Return a value converted to the type of a schema's argument."""
    kind = a.type.element if a.type.is_optional and a.type.element is not None else a.type
    if value is None:
        return None
    if kind.is_list and value.__class__ not in LISTS:
        return [value]
    if kind.is_list:
        return list(value)
    return float(value) if kind.name == "float" and value.__class__ is int else value


def bound(schema: FunctionSchema, given: dict[str, Any]) -> tuple[tuple, dict] | None:
    """Bind arguments to a schema. Return (args, kwargs), or None if they do not fit."""
    name, left = schema.name.partition("::")[2], dict(given)
    args: list = []
    kwargs: dict = {}
    for a in schema.arguments:
        if a.name in left:
            value = left.pop(a.name)
            if not _fits(value, a, name):
                return None
            value = _coerced(value, a)
        elif a.given_default:
            value = default(a)
        else:
            return None
        if not a.kwarg_only:
            args.append((value, a))
        elif not _is_default(value, a):
            kwargs[a.name] = value
    if left:
        return None
    while args and _is_default(*args[-1]):
        args.pop()
    return tuple([v for v, _ in args]), kwargs


def _is_default(value: Any, a: Argument) -> bool:
    if not a.given_default or isinstance(value, Tensor):
        return False
    expected = default(a)
    if value.__class__ in LISTS:
        return expected.__class__ in LISTS and not any([isinstance(v, Tensor) for v in value]) and list(value) == list(expected)
    return (value.__class__ is expected.__class__ and value == expected) or value is expected


@functools.cache
def overloads(name: str) -> tuple[OpOverload, ...]:
    """Return the overloads of ``aten::name``, those with ``out=`` last, or () for an unknown operator."""
    if name not in schemas():
        return ()
    found = getattr(ops.aten, name).op_overloads()
    return tuple(sorted(found, key=lambda f: any([a.is_out for a in f._schema.arguments])))


def overload(name: str) -> OpOverload:
    """Return the overload of ``torch.ops.aten`` for a name such as ``add.Tensor``."""
    name, _, last = name.partition(".")
    return getattr(getattr(ops.aten, name), last or "default")


def fitting(name: str, given: dict[str, Any]) -> Named | None:
    """Return the first overload of ``aten::name`` that accepts the arguments."""
    for func in overloads(name):
        found = bound(func._schema, given)
        if found is not None:
            return Named(func, *found)
    return None


# ---------------------------------------------------------------- from ops to operators

# Maps names of ops' parameters to names in PyTorch's schemas.
_RENAMED = {"input": "self", "equation": "equation"}
_PLACE = ("dtype", "layout", "device", "pin_memory")


def plain_name(name: str) -> str:
    """Return an op's operator name without overload, or "" if no operator corresponds."""
    whole = name.replace(".", "_")
    if whole in schemas():
        return whole
    space, _, short = name.rpartition(".")
    return short if space in ("", "nn.functional") else ""


def given_of(c: Call, flat: Any) -> dict[str, Any]:
    """Return a call's arguments under the names of PyTorch's schemas, without None, and without numbers and strings that are
    defaults.
    """
    return {_RENAMED.get(name, name): value for name, value in arguments(c, flat).items() if not _is_left_out(c, name, value)}


def _is_left_out(c: Call, name: str, value: Any) -> bool:
    p = next(p for p in c.op.params if p.name == name)
    return value is None or (not isinstance(value, Tensor) and value.__class__ not in LISTS
                             and value.__class__ is p.default.__class__ and value == p.default)


def generic(c: Call, flat: Any, suffix: str = "", extra: dict[str, Any] | None = None) -> Named | None:
    """Return a call as the operator with the op's name. ``suffix``: "_" for the in-place form."""
    name = plain_name(c.op.name) + suffix
    given = {**given_of(c, flat), **(extra or {})}
    if c.creates is not None:
        like = next((t for t in flat if isinstance(t, Tensor)), None)
        place = {} if like is not None and like.device == c.creates else {"device": c.creates}
        given = {**given, **place, "pin_memory": False}
    for names in _spellings(c, given):
        found = fitting(name, names)
        if found is not None:
            return found
    return _by_position(c, name, given)


def _by_position(c: Call, name: str, given: dict[str, Any]) -> Named | None:
    """Return the first overload that accepts the arguments in the order of the op's parameters."""
    order = [_RENAMED.get(p.name, p.name) for p in c.op.params]
    for func in overloads(name):
        there = [a.name for a in func._schema.arguments if not a.is_out]
        renamed = dict(zip(order, there, strict=False))
        found = bound(func._schema, {renamed.get(k, k): v for k, v in given.items()})
        if found is not None:
            return Named(func, *found)
    return None


def _spellings(c: Call, given: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the arguments under the different names that schemas use."""
    yield given
    first = next(iter(given), None)
    if first is not None and first != "self" and "self" not in given:
        yield {("self" if k == first else k): v for k, v in given.items()}
    if "self" in given:
        yield {("input" if k == "self" else k): v for k, v in given.items()}
    for old, new in _OTHER_NAMES:
        if old in given:
            yield {new if k == old else k: v for k, v in given.items()}
    everything = {_RENAMED.get(p.name, p.name): None for p in c.op.params}
    yield {k: v for k, v in given.items() if k in everything or k in _PLACE}


_OTHER_NAMES = (("size", "shape"), ("shape", "size"), ("dims", "dim"), ("dim", "dims"), ("other", "exponent"), ("n", "p"),
                ("chunks", "split_size"), ("value", "fill_value"), ("src", "value"), ("end_dim", "end"))


def described(dtype: Any, device: Any) -> dict[str, Any]:
    """Return dtype, layout and device as keyword arguments."""
    return {"dtype": dtype, "layout": strided, "device": device}
