"""torch._vmap_internals: the older interface of torch.vmap, which packages import."""
from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from jtorch._base import warned
from jtorch.func._vmap import vmap as _of_samples


def _vmap(func: Callable, in_dims: Any = 0, out_dims: Any = 0, allow_none_pass_through: bool = False) -> Callable:
    """Return a function of batches, given a function of samples. With ``allow_none_pass_through`` results may be None."""
    if not allow_none_pass_through:
        return _of_samples(func, in_dims, out_dims)

    @functools.wraps(func)
    def wrapped(*args: Any) -> Any:
        are_none: list[bool] = []

        def of_tensors(*samples: Any) -> Any:
            results = func(*samples)
            if not isinstance(results, tuple):
                return results
            are_none[:] = [r is None for r in results]
            return tuple(r for r in results if r is not None)
        found = _of_samples(of_tensors, in_dims)(*args)
        if not are_none:
            return found.movedim(0, out_dims)
        tensors = iter(found)
        dims = out_dims if isinstance(out_dims, tuple) else (out_dims,) * len(are_none)
        return tuple(None if none else next(tensors).movedim(0, d) for none, d in zip(are_none, dims, strict=True))
    return wrapped


def vmap(func: Callable, in_dims: Any = 0, out_dims: Any = 0) -> Callable:
    """Return a function of batches, given a function of samples. See torch.vmap."""
    warned.warn("Please use `torch.vmap` instead of `torch._vmap_internals.vmap`.", FutureWarning)
    return _vmap(func, in_dims, out_dims)
