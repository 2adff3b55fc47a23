"""A step of an optax transformation as one op. This module only calls the transformation and does not import optax."""
from __future__ import annotations

from collections.abc import Callable

import jax

from jtorch.ops.registry import Tensor, op


class Transformation:
    """An optax ``GradientTransformation`` as a static argument, compared by identity, with the structure of its state."""

    def __init__(self, update: Callable, apply: Callable, tree: object):
        self.update, self.apply, self.tree = update, apply, tree


@op(name="_optax_step", function=False, method=False, out=False, tested=False)
def optax_step(params: list[Tensor], grads: list[Tensor], leaves: list[Tensor], extra: list[Tensor], names: tuple[str, ...],
               transformation: object):
    """Return the new parameters and leaves of the state in their old dtypes. ``extra``: further arguments, such as ``value``."""
    with jax.numpy_dtype_promotion("standard"), jax.numpy_rank_promotion("allow"):
        state = jax.tree.unflatten(transformation.tree, leaves)         # type: ignore[attr-defined]
        updates, state = transformation.update(grads, state, params,    # type: ignore[attr-defined]
                                               **dict(zip(names, extra, strict=True)))
        new = transformation.apply(params, updates)                     # type: ignore[attr-defined]
    return [n.astype(o.dtype) for n, o in zip([*new, *jax.tree.leaves(state)], [*params, *leaves], strict=True)]
