"""Calls of vmap rules that users define for custom operators and functions."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from jtorch._base.pytree import flatten, spread, unflatten
from jtorch.dispatch.sample_random import outside_of
from jtorch.dispatch.samples import sample_of, whole_of
from jtorch.engine import batched
from jtorch.storage import value_of
from jtorch.tensor import Tensor


class VmapInfo(NamedTuple):
    """The first argument of a vmap rule. See torch._functorch.autograd_function.VmapInfo."""

    batch_size: int
    randomness: str


def call_rule(rule: Callable, args: tuple, kwargs: dict) -> Any:
    """Return the results of a vmap rule for tensors of samples, also within lists. None if no tensor belongs to samples."""
    leaves, form = flatten(args)
    level = batched.innermost([value_of(t) for t in leaves if isinstance(t, Tensor)])
    if level is None:
        return None
    wholes = [whole_of(t, level) if isinstance(t, Tensor) else None for t in leaves]
    dims = unflatten([None if w is None else 0 for w in wholes], form)
    given = unflatten([t if w is None else w for t, w in zip(leaves, wholes, strict=True)], form)
    with outside_of(level) as (size, randomness):
        result = rule(VmapInfo(size, randomness), dims, *given, **kwargs)
    if not (isinstance(result, tuple) and len(result) == 2):
        found = f"{len(result)} returns" if isinstance(result, tuple) else f"a {type(result)}"
        raise RuntimeError("Expected the vmap staticmethod to have two returns, an output and out_dims with pytree structure "
                           f"compatible with the output. Got {found} instead")
    outs, form = flatten(result[0])
    out_dims = spread(result[1], form)
    if out_dims is None:
        raise ValueError("The vmap rule's out_dims do not fit the structure of its outputs.")
    # The rule may return one of its arguments unchanged. Then the result is the tensor that the caller has passed.
    theirs = {id(w): t for t, w in zip(leaves, wholes, strict=True) if w is not None}
    return unflatten([t if d is None else theirs.get(id(t)) or _sample(t, d, level)
                      for t, d in zip(outs, out_dims, strict=True)], form)


def _sample(t: Tensor, dim: int, level: batched.Level) -> Tensor:
    return sample_of(t, dim % t.dim(), level)
