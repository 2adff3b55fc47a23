"""``stack``, ``cat`` and ``pad_sequence``, and their backward, of any number of tensors.

JAX would trace an op for each number of tensors. The number often changes: a list grows by one tensor at a time, the episodes
of a game have different lengths, or a batch of sentences is padded.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate, pairwise
from typing import Any

import jax
import numpy as np

from jtorch.engine import cost
from jtorch.engine.host.program import HostProgram, of_function
from jtorch.ops.registry import Op, T


def _work(parts: int, elements: int) -> cost.Work:
    seconds = elements * cost.CHEAP
    return cost.Work(cost.HOST_STEP + parts * cost.LIST_PART + seconds, seconds * cost.FUSED, parts * cost.COMPILING)


def joined(op: Op, template: tuple, avals: Sequence[Any]) -> HostProgram | None:
    """Return the host program of ``stack`` or ``cat``, or of its backward; None if an array is empty or sizes do not fit."""
    kind, backward = op.name.removesuffix(".vjp"), op.is_backward
    (tensors, dim), needs = (template[0], template[2]) if backward else (template, ())
    inputs, rank = avals[:len(tensors)], len(avals[0].shape) + (kind == "stack")
    if set(tensors) != {T} or dim.__class__ is not int or not -rank <= dim < rank or not _fit(kind, inputs, dim % rank):
        return None
    dim %= rank
    if backward and (avals[-1].np != inputs[0].np or avals[-1].shape != _joined(kind, inputs, dim)):
        return None
    return _backward(kind, inputs, dim, needs) if backward else _forward(kind, inputs, dim)


def padded(op: Op, template: tuple, avals: Sequence[Any]) -> HostProgram | None:
    """Return the host program of ``pad_sequence``, or of its backward.

    Return None if a sequence is empty or has no dims, or if the sequences differ in dtype or in a size other than the first.
    """
    backward = op.is_backward
    tensors, batch_first, _, left = template[0] if backward else template
    inputs = avals[:len(tensors)]
    if not all([a.shape for a in inputs]) or not _fit("cat", inputs, 0):
        return None
    longest = max([a.shape[0] for a in inputs])
    ends = [(longest - a.shape[0], longest) if left else (0, a.shape[0]) for a in inputs]
    places = [(i, slice(*e)) if batch_first else (slice(*e), i) for i, e in enumerate(ends)]
    first = (len(inputs), longest) if batch_first else (longest, len(inputs))
    shape, dtype = (*first, *inputs[0].shape[1:]), inputs[0].np
    if backward:
        return _parts(len(avals) - 1, inputs, places, template[2]) if (avals[-1].shape, avals[-1].np) == (shape, dtype) else None

    def pad(*arrays):
        made = np.full(shape, arrays[-1].astype(dtype), dtype)
        for place, x in zip(places, arrays, strict=False):      # the last array is the padding value
            made[place] = x
        return made
    return _joining(pad, len(inputs) + 1, jax.ShapeDtypeStruct(shape, dtype))


def _fit(kind: str, inputs: Sequence[Any], dim: int) -> bool:
    """Return whether arrays can be joined along ``dim``: equal dtypes, equal other sizes, and no empty array."""
    if kind == "stack":
        return len(set(inputs)) == 1 and 0 not in inputs[0].shape
    others = {(a.np, *a.shape[:dim], None, *a.shape[dim + 1:]) for a in inputs}
    return len(others) == 1 and all([0 not in a.shape for a in inputs])


def _joined(kind: str, inputs: Sequence[Any], dim: int) -> tuple[int, ...]:
    shape = inputs[0].shape
    if kind == "stack":
        return (*shape[:dim], len(inputs), *shape[dim:])
    return (*shape[:dim], sum([a.shape[dim] for a in inputs]), *shape[dim + 1:])


def _forward(kind: str, inputs: Sequence[Any], dim: int) -> HostProgram:
    shape = _joined(kind, inputs, dim)
    one = (*shape[:dim], 1, *shape[dim + 1:])

    def cat(*arrays):
        return np.concatenate(arrays, dim)

    def stack(*arrays):
        return np.concatenate([x.reshape(one) for x in arrays], dim)
    return _joining(stack if kind == "stack" else cat, len(inputs), jax.ShapeDtypeStruct(shape, inputs[0].np))


def _joining(join: Callable, n: int, out: jax.ShapeDtypeStruct) -> HostProgram:
    return of_function(join, (True,) * n, [out], _work(n, out.size), is_tuple=False)


def _backward(kind: str, inputs: Sequence[Any], dim: int, needs: tuple[int, ...]) -> HostProgram:
    before = (slice(None),) * dim
    ends = accumulate([1 if kind == "stack" else a.shape[dim] for a in inputs], initial=0)
    return _parts(len(inputs), inputs, [(*before, a if kind == "stack" else slice(a, b)) for a, b in pairwise(ends)], needs)


def _parts(n: int, inputs: Sequence[Any], places: list[tuple], needs: tuple[int, ...]) -> HostProgram:
    """Return a host program that takes parts of a gradient, which is argument ``n``.

    ``places`` has the index of each input's part. ``needs`` are the numbers of the inputs that need a gradient.
    """
    wanted = [places[i] for i in needs]

    def parts(gradient):
        return [gradient[place] for place in wanted]
    outs = [inputs[i].sds for i in needs]
    return of_function(parts, (False,) * n + (True,), outs, _work(len(needs), sum([o.size for o in outs])), is_tuple=True)
