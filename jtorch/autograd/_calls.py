"""Operations on tensors that autograd itself needs."""
from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from jtorch import engine
from jtorch.dispatch import call
from jtorch.engine import Aval, Value, call_of
from jtorch.ops.registry import OPS, T
from jtorch.storage import aval_of
from jtorch.tensor import Tensor, wrap


def filled(aval: Aval, number: int) -> Tensor:
    """Return a new tensor filled with one number."""
    array = np.full(aval.shape, number, aval.np)
    return wrap(Value(aval, array if aval.device is engine.CPU else engine.put(array, aval.device)))


def zeros_like(t: Tensor) -> Tensor:
    """Return a new tensor of zeros with the shape, dtype and device of ``t``."""
    return filled(aval_of(t), 0)


def stack(tensors: Sequence[Tensor]) -> Tensor:
    """Stack tensors along a new first dim."""
    return call(call_of(OPS["stack"], ((T,) * len(tensors), 0)), list(tensors))
