"""Helpers for the constructors of modules: new parameters on a device."""
from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

import jtorch.dtype as dtypes
from jtorch._api import functions, torch_function
from jtorch._api.creation import from_host, place_of
from jtorch._api.sizes import size_of
from jtorch.engine import out_of_memory, zero_stride_array
from jtorch.ops import check
from jtorch.tensor import Parameter, Tensor


def empty(*shape: int, device: Any = None, dtype: Any = None) -> Tensor:
    """Return a tensor of zeros, which the caller fills. Modes of ``__torch_function__`` see a call of torch.empty."""
    if torch_function.state.modes:
        return functions.empty(*shape, device=device, dtype=dtype)
    shape = size_of("empty", shape) if len(shape) > 1 else size_of("empty", *shape)
    found = dtypes.as_dtype(dtype, "empty") or dtypes.get_default_dtype()
    place = place_of(device)
    check.storable(shape, found.np)
    if place.type == "meta":
        return from_host(zero_stride_array(shape, found.np), place)
    return from_host(out_of_memory.allocated(np.zeros, shape, found.np), place)


def parameter(*shape: int, device: Any = None, dtype: Any = None) -> Parameter:
    """Return a parameter of zeros, which the caller fills."""
    return Parameter(empty(*shape, device=device, dtype=dtype))


def ntuple(x: Any, n: int) -> tuple:
    """Return ``x`` as a tuple, repeating a single number ``n`` times."""
    return tuple(x) if isinstance(x, Iterable) else (x,) * n
