"""torch._C._functorch: queries about tensors inside function transforms."""
from __future__ import annotations

from typing import Any

import jax

from jtorch._base.not_built import placeholder
from jtorch.engine.batched import is_batched
from jtorch.func._vmap import add_batch_dim as _add_batch_dim  # noqa: F401
from jtorch.func._vmap import remove_batch_dim as _remove_batch_dim  # noqa: F401
from jtorch.storage import value_of
from jtorch.tensor import Tensor


def is_batchedtensor(t: Any) -> bool:
    """Return whether a tensor stands for all samples of a running ``vmap``."""
    if not isinstance(t, Tensor):
        return False
    value = value_of(t.detach())
    return is_batched(value) or isinstance(value.array, jax.core.Tracer)


is_functorch_wrapped_tensor = is_batchedtensor


def is_legacy_batchedtensor(t: Any) -> bool:
    """Return False: jtorch has none of PyTorch's other classes of wrapped tensors."""
    return False


is_gradtrackingtensor = is_functionaltensor = is_dead_tensor_wrapper = is_legacy_batchedtensor


def get_unwrapped(t: Any) -> Any:
    """Return the tensor; NotImplementedError for a batched one, whose batch JAX does not expose."""
    if is_batchedtensor(t):
        raise NotImplementedError("torch._C._functorch.get_unwrapped is not built: a batch inside jax.vmap cannot be had")
    return t


_vmap_increment_nesting, _vmap_decrement_nesting = (
    placeholder("_C._functorch", name) for name in ("_vmap_increment_nesting", "_vmap_decrement_nesting"))
