"""Python numbers in calls: a check for overflow (an ``alpha`` of 300 in an int8 call), and integers beyond int64."""
from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import jtorch.dtype as dtypes
from jtorch import storage
from jtorch.engine import NUMBER_AVALS, Call, call_of, kernel_of
from jtorch.ops.check import HALVES
from jtorch.ops.registry import NUMBERS, Marker


def check_numbers(c: Call, flat: Sequence) -> None:
    """Raise RuntimeError if a number overflows in the dtype that the call computes in. Errors of shapes come first.

    The rules of ``Op.fits``: "" checks against the result's dtype, ``opmath`` against the dtype that kernels compute in.
    ``scalar`` does not check 16-bit floats, nor does ``fill`` if the result has one element. ``many`` checks only if the result
    has several elements.
    """
    avals = _avals(flat)
    if any([a.traced for a in avals]):
        return
    out = (c.kernels.get(avals) or kernel_of(c, avals)).outs[0]
    made = dtypes.of_numpy(out.np)
    for number, how in _numbers(c, flat):
        if how != "many" or out.numel > 1:
            wide = how == "opmath" and made.name in HALVES
            scalar = how == "scalar" or (how == "fill" and out.numel == 1)
            dtypes.check_fits(number, dtypes.float32 if wide else made, scalar=scalar)


def may_overflow(flat: Iterable[Any]) -> bool:
    """Return whether some number of a call may overflow in some dtype. In C, ``is_doubtful`` (calls.c) is more exact."""
    numbers: list[Any] = [t for t in flat if t.__class__ in NUMBER_AVALS]
    return any([t.__class__ is complex or not 0 <= t <= 127 for t in numbers])


def _numbers(c: Call, flat: Sequence) -> Iterator[tuple[Any, str]]:
    """Yield the numbers of a call that must fit, each with its rule."""
    rules, left = dict(c.op.fits), iter(flat)
    for p, t in zip(c.op.params, c.template, strict=True):      # no op with rules takes a list of tensors
        if t.__class__ is Marker:
            given = next(left)
            if t.number_type is not None and p.name in rules:
                yield given, rules[p.name]


def _avals(flat: Sequence) -> tuple:
    return tuple([NUMBER_AVALS[t.__class__] if t.__class__ in NUMBER_AVALS else storage.aval_of(t) for t in flat])


def has_large_integer(flat: Sequence) -> bool:
    """Return whether some number of a call is an integer beyond int64."""
    return any([t.__class__ is int and not -2**63 <= t < 2**63 for t in flat])


def in_int64(c: Call, flat: Sequence) -> tuple[Call, list]:
    """Return a call and arguments without integers beyond int64.

    An integer of 64 bits becomes a float if the call computes with floats, else it wraps around.
    """
    for n in flat:
        if n.__class__ is int and not -2**63 <= n < 2**64:
            raise OverflowError("int too big to convert" if n > 0 else "can't convert negative int to unsigned")
    if c.op.fits:
        check_numbers(c, flat)
    avals = _avals(flat)
    dtypes_of = [a for a, t in zip(avals, flat, strict=True) if t.__class__ not in NUMBER_AVALS and not c.creates]
    floats = any([a.is_inexact for a in dtypes_of or kernel_of(c, avals).outs])
    left = iter(flat)
    template = tuple([_float_marker(t, next(left)) if floats and t.__class__ is Marker else t for t in c.template])
    small = [t if t.__class__ is not int or t < 2**63 else float(t) if floats else t - 2**64 for t in flat]
    return call_of(c.op, template, c.creates), small


def _float_marker(marker: Marker, given: Any) -> Marker:
    return NUMBERS[float] if given.__class__ is int and given >= 2**63 else marker
