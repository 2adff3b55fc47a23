"""First values of optimizer states."""
from __future__ import annotations

import numpy as np

import jtorch.dtype as dtypes
from jtorch import engine, storage
from jtorch.engine import Value
from jtorch.tensor import Tensor, wrap


def filled(p: Tensor, x: complex = 0.0, shape: tuple | None = None) -> Tensor:
    """Return a tensor filled with one number, like a parameter or of another shape."""
    aval = storage.aval_of(p)
    array = np.full(aval.shape if shape is None else shape, x, aval.np)
    spec = storage.value_of(p).aval.spec if shape is None and aval.device.type == "mesh" else None
    placed = engine.aval_of(array.shape, aval.np, aval.device, spec)
    return wrap(Value(placed, array if aval.device is engine.CPU else engine.put(array, aval.device, spec)))


_scalars: dict[tuple, Value] = {}


def scalar(x: float) -> Tensor:
    """Return a scalar state. Equal states share one value, so that one scalar counts the steps of many parameters."""
    dtype = np.dtype(np.float64 if dtypes.get_default_dtype().name == "float64" else np.float32)
    key = (x, dtype)
    if key not in _scalars:
        if len(_scalars) > 256:
            _scalars.clear()
        _scalars[key] = Value(engine.aval_of((), dtype, engine.CPU), np.asarray(x, dtype))
    return wrap(_scalars[key])
