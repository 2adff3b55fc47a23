"""The vmap rules of registered operators."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from jtorch._api.creation import from_jax
from jtorch._library.operators import Operator
from jtorch.dispatch.sample_rules import VmapInfo as VmapInfo
from jtorch.dispatch.sample_rules import call_rule
from jtorch.tensor import Tensor


def make_batched(op: Operator, rule: Callable) -> Callable:
    """Return a function of (args, kwargs) that calls ``op`` on batched tensors by its vmap rule."""
    def batched(args: tuple, kwargs: dict) -> Any:
        found = call_rule(rule, args, kwargs)
        if found is not None:
            return found
        places = [i for i, a in enumerate(args) if isinstance(a, Tensor)]
        forms: list = []

        def filled(arrays: Any) -> list:
            values = list(args)
            for i, array in zip(places, arrays, strict=True):
                values[i] = from_jax(array)
            return values

        def alone(*arrays: Any) -> tuple:
            kernel = op.fake or op.backend("CPU")       # only shapes are needed
            assert kernel is not None
            result = kernel(*filled(arrays), **kwargs)
            forms[:] = [type(result) if isinstance(result, (tuple, list)) else None]
            return tuple([_array(t) for t in (result if forms[0] else (result,))])

        def of_batch(size: int, which: list, *arrays: Any) -> tuple:
            dims: list = [None] * len(args)
            for i, mapped in zip(places, which, strict=True):
                dims[i] = 0 if mapped else None
            result, out_dims = rule(VmapInfo(size, "error"), tuple(dims), *filled(arrays), **kwargs)
            results = result if isinstance(result, (tuple, list)) else (result,)
            outs = out_dims if isinstance(out_dims, (tuple, list)) else (out_dims,) * len(results)
            made = [_array(t) if d is None else jnp.moveaxis(_array(t), d, 0) for t, d in zip(results, outs, strict=True)]
            return tuple(made), tuple([d is not None for d in outs])

        call = jax.custom_batching.custom_vmap(alone)
        call.def_vmap(of_batch)
        made = [from_jax(array) for array in call(*[_array(args[i]) for i in places])]
        return made[0] if forms[0] is None else forms[0](made)

    return batched


def _array(t: Tensor) -> Any:
    from jtorch.autograd.function_traced import _array as of
    return of(t)
