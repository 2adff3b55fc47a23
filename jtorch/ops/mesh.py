"""The sharding of a tensor on a mesh, as an op that can be recorded and differentiated."""
from __future__ import annotations

import jax

from jtorch.ops.registry import Tensor, op


def _as_said(template: tuple) -> list:
    return [template[1]]


@op(name="_lie", function=False, method=False, out=False, saves="none", backward_name="RedistributeBackward", tested=False,
    sharding_rule=_as_said)
def lie(input: Tensor, sharding: object):
    """Return the tensor with another sharding on its mesh."""
    return jax.lax.with_sharding_constraint(input, sharding)
