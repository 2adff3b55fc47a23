"""Optimizer steps as one op for all parameters of a group.

Changing scalars (learning rate, step) are computed in float64, as PyTorch does in Python, and then cast.
"""
from __future__ import annotations

from collections.abc import Callable
from itertools import chain, repeat
from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np

from jtorch.ops import promotion
from jtorch.ops.elementwise import widen
from jtorch.ops.named import traced_once
from jtorch.ops.registry import Tensor, op


def split(x: jax.Array) -> jax.Array:
    """Return a complex array as a real array with the parts in a last dim."""
    return jnp.stack([x.real, x.imag], -1) if jnp.iscomplexobj(x) else x


def joined(x: jax.Array, like: jax.Array) -> jax.Array:
    """Undo ``split`` if ``like`` is complex, else round to its dtype."""
    return jax.lax.complex(x[..., 0], x[..., 1]) if jnp.iscomplexobj(like) else x.astype(like.dtype)


def _rounded(x: jax.Array, like: jax.Array) -> jax.Array:
    """Return ``x``, rounded to the dtype of ``like`` if that has 16 bits."""
    return x.astype(like.dtype) if np.dtype(like.dtype) in promotion.OPMATH else x


class Options(SimpleNamespace):
    """The options of a rule's group. An option that is off is None."""

    def __getattr__(self, name: str) -> None:
        return None


def _counted(o, step):
    return (step + 1,)


def _as_before(template: tuple) -> list[int]:
    """Return the arguments whose shardings the new parameters and states keep on a mesh."""
    n, columns = len(template[0]), len(template[2])
    return [*range(n), *range(2 * n, 2 * n + columns)]


def rule(name: str, shared: Callable = _counted, real: bool = True):
    """Declare the op ``name`` from a rule. ``shared`` returns the new shared scalars from the old ones.

    For 16-bit floats a rule is computed in float32 and rounded once, since a ``beta2`` of 0.999 is 1 in bfloat16.
    ``numbers`` are runtime scalars with the names ``names``; ``options`` are static. ``of`` gives
    the position of each parameter's scalars in ``scalars``, in units of ``width``. Results are the new parameters,
    the new ``columns`` and columns that the rule adds, each for all parameters, and the new scalars.
    """
    def declare(one: Callable) -> Callable:
        def body(params: list[Tensor], grads: list[Tensor], columns: list[Tensor], scalars: list[Tensor], numbers: list[Tensor],
                 names: tuple[str, ...] = (), options: tuple[tuple, ...] = (), of: tuple[int, ...] = (), width: int = 1):
            def options_of(wide):
                return Options(**dict(zip(names, wide, strict=True)), **dict(options))

            @traced_once
            def new(wide, given, before, after):
                return one(options_of(wide), *given, SimpleNamespace(before=before, after=after))
            wide = [jnp.asarray(x).astype(np.float64) for x in numbers]
            o = options_of(wide)
            before = [[s.astype(np.float64) for s in scalars[i:i + width]] for i in range(0, len(scalars), width)]
            after = [shared(o, *b) for b in before]
            n, out = len(params), []
            parts, whole = (split, joined) if real else (lambda x: x, _rounded)
            for i, (p, g) in enumerate(zip(params, grads, strict=True)):
                state = columns[i::n]
                given = [parts(widen(x)) for x in (p, -g if o.maximize else g, *state)]
                b, a = (before[of[i]], after[of[i]]) if of else ((), ())
                made = new(wide, given, b, a)
                likes = chain((p, *state), repeat(p))
                out.append([whole(x, like) for x, like in zip(made, likes, strict=False)])
            flat = [row[k] for k in range(len(out[0])) for row in out]
            return flat + [x.astype(s.dtype) for x, s in zip([x for a in after for x in a], scalars, strict=True)]
        body.__doc__ = one.__doc__
        op(body, name=name, function=False, method=False, out=False, tested=False, sharding_rule=_as_before)
        return one
    return declare
