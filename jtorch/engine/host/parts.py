"""Views of parts of a tensor (a selection, a slice, the parts of a split) and their backward.

The call names the part. So a loop over the steps of a sequence would make a JAX trace for each step.
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import numpy as np

from jtorch.engine import cost
from jtorch.engine.host.program import HostProgram, of_function
from jtorch.ops.registry import Op
from jtorch.ops.strided import contiguous_strides


def cut(op: Op, template: tuple, avals: Sequence[Any]) -> HostProgram | None:
    """Return the host program of an op that cuts one dim of its argument, or of its backward.

    Return None if the argument or a result has no elements, or the argument has no dims.
    """
    forward: Any = op.body if op.is_backward else op
    base, given = avals[0], template[0] if op.is_backward else template
    if 0 in base.shape or not base.shape:
        return None
    stride = contiguous_strides(base.shape)
    found = forward.geometry(given, (base.shape, stride, 0), [base])
    several, shown = found.__class__ is list, found if found.__class__ is list else [found]
    if any([0 in size for size, _, _ in shown]):
        return None
    places = [_place(base.shape, stride, *geometry) for geometry in shown]
    if op.is_backward:
        return _backward(base, [places[i] for i in template[3]])
    outs = [jax.ShapeDtypeStruct(tuple(size), base.np) for size, _, _ in shown]
    if several:
        return of_function(lambda x: [x[place] for place in places], (True,), outs, cost.of_copying(0), is_tuple=True)
    return of_function(lambda x, place=places[0]: x[place], (True,), outs, cost.of_copying(0), is_tuple=False)


def _place(shape: tuple[int, ...], stride: tuple[int, ...], size: tuple, step: tuple, offset: int) -> tuple[Any, ...]:
    """Return NumPy's index of a view of a contiguous array. The view cuts one dim, or selects from a dim and drops it.

    ``shape`` and ``stride`` are those of the array; ``size``, ``step`` and ``offset`` are those of the view.
    """
    gone = len(size) < len(shape)
    dim = next((d for d in range(len(shape)) if shape[d:d + 1] != size[d:d + 1] or stride[d:d + 1] != step[d:d + 1]), 0)
    start = offset // stride[dim]
    if gone:
        return (*[slice(None)] * dim, start, ...)
    by = step[dim] // stride[dim]
    return (*[slice(None)] * dim, slice(start, start + (size[dim] - 1) * by + 1, by))


def _backward(base: Any, places: list[tuple]) -> HostProgram:
    shape, dtype = base.shape, base.np

    def placed(*gradients: np.ndarray) -> list[np.ndarray]:
        made = np.zeros(shape, dtype)
        for place, gradient in zip(places, gradients, strict=True):
            made[place] = gradient
        return [made]
    return of_function(placed, (False,) + (True,) * len(places), [base.sds], cost.of_copying(base.numel), is_tuple=True)
