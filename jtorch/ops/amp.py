"""The ops of a gradient scaler. See torch.amp.GradScaler."""
from __future__ import annotations

import jax.numpy as jnp

from jtorch.ops.elementwise import widen
from jtorch.ops.registry import Number, Tensor, op


@op(name="_amp_unscale", function=False, method=False, out=False, tested=False, differentiable=False)
def amp_unscale(grads: list[Tensor], found_inf: Tensor, inv_scale: Tensor):
    """Return the gradients times ``inv_scale``, and 1 in place of ``found_inf`` if an element is not finite."""
    bad = jnp.stack([~jnp.isfinite(g).all() for g in grads]).any()
    wide = [widen(g) for g in grads]
    scaled = [(w * inv_scale.astype(w.dtype)).astype(g.dtype) for w, g in zip(wide, grads, strict=True)]
    return [*scaled, jnp.where(bad, jnp.ones_like(found_inf), found_inf)]


@op(name="_amp_update_scale", function=False, method=False, out=False, tested=False, differentiable=False)
def amp_update_scale(scale: Tensor, tracker: Tensor, found_infs: list[Tensor], growth: Number, backoff: Number, interval: Number):
    """Return the new scale, and the number of good steps since it last changed. A step is good if all ``found_infs`` are 0."""
    bad = jnp.stack([f > 0 for f in found_infs]).any()
    good = tracker + jnp.ones_like(tracker)
    grown = scale * growth.astype(scale.dtype)
    due = good == interval.astype(good.dtype)
    new = jnp.where(due & jnp.isfinite(grown), grown, scale)
    return [jnp.where(bad, scale * backoff.astype(scale.dtype), new), jnp.where(bad | due, jnp.zeros_like(good), good)]


@op(name="_amp_undo", function=False, method=False, out=False, tested=False, differentiable=False)
def amp_undo(found_inf: Tensor, before: list[Tensor], after: list[Tensor]):
    """Return the values after a step, or the values before it if an infinity was found."""
    return [jnp.where(found_inf > 0, b, a) for b, a in zip(before, after, strict=True)]
