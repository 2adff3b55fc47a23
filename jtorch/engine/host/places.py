"""Reads and writes of the elements that a view shows of a storage or of its base, and their backward.

The call has the view's geometry. So a loop over ``x[i][j] = number`` would make a JAX trace for each element.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np

from jtorch.engine import cost
from jtorch.engine.host.program import HostProgram, of_function
from jtorch.engine.host.rules import in_copy
from jtorch.ops.registry import Op
from jtorch.ops.strided import extent, is_contiguous, overlaps


def written(op: Op, template: tuple, avals: Sequence[Any]) -> HostProgram | None:
    """Return the host program of ``_write_view`` or ``_write_through``, or of its backward.

    Return None unless the view's elements are distinct.
    """
    geometry, (content, value) = (template[0] if op.is_backward else template)[2:], avals[:2]
    shown = _shown(geometry, content, [value, avals[-1]])
    if shown is None or value.shape != geometry[-4]:
        return None
    if not op.is_backward:
        def write(content, value):
            shown(content)[...] = value
            return content
        return of_function(in_copy(write), (True, True), [content.sds], cost.of_places(value.numel), is_tuple=False)
    needs = template[2]
    return of_function(lambda gradient: _gradients_of_write(shown, gradient, needs), (False, False, True),
                       [(content, value)[i].sds for i in needs], cost.of_copying(2 * content.numel), is_tuple=True)


def read(op: Op, template: tuple, avals: Sequence[Any]) -> HostProgram | None:
    """Return the host program of ``_read_view`` or ``_read_through``, or of its backward.

    Return None unless the view's elements are distinct.
    """
    geometry, content = (template[0] if op.is_backward else template)[1:], avals[0]
    shown = _shown(geometry, content, [avals[-1]])
    if shown is None:
        return None
    if not op.is_backward:
        out = jax.ShapeDtypeStruct(geometry[-4], content.np)
        return of_function(lambda content: shown(np.ascontiguousarray(content)), (True,), [out], cost.of_copying(0),
                           is_tuple=False)
    return of_function(lambda gradient: [_with_part(shown, np.zeros(content.shape, content.np), gradient)], (False, True),
                       [content.sds], cost.of_copying(content.numel), is_tuple=True)


def _shown(geometry: tuple, content: Any, others: list) -> Callable | None:
    """Return a function that makes the view of a contiguous array.

    Return None if elements of the view overlap or lie outside the array, or if dtypes differ. ``geometry`` has the size,
    strides, offset and dtype of the view. A view of a base has the base's size and strides before these.
    """
    *base, size, stride, offset, dtype = geometry
    if {content.dtype, *[a.dtype for a in others]} != {dtype} or (base and not _is_whole(content, *base)) or 0 in size \
            or not 0 <= offset <= content.numel - extent(size, stride) or overlaps(size, stride):
        return None
    steps, start, np_dtype = tuple([s * content.np.itemsize for s in stride]), offset * content.np.itemsize, content.np
    return lambda array: np.ndarray(size, np_dtype, array, start, steps)


def _is_whole(base: Any, size: tuple[int, ...], stride: tuple[int, ...]) -> bool:
    """Return whether a base has this size and these strides, and is contiguous."""
    return base.shape == size and is_contiguous(size, stride)


def _with_part(shown: Callable, content: np.ndarray, value: np.ndarray) -> np.ndarray:
    made = np.array(content, order="C")
    shown(made)[...] = value
    return made


def _gradients_of_write(shown: Callable, gradient: np.ndarray, needs: tuple[int, ...]) -> list[np.ndarray]:
    """Return the gradients that ``needs`` names: of the content (0) and of the written value (1).

    The gradient of the content is 0 for overwritten elements.
    """
    made = np.array(gradient, order="C")
    part = shown(made)
    both = made, part.copy()
    part[...] = 0
    return [both[i] for i in needs]
