"""torch.utils.tensorboard.summary: tensorboardX's functions that make summaries, for tensors of this library."""
from __future__ import annotations

import functools
import importlib
from typing import Any

from jtorch.utils import tensorboard


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(f"module 'torch.utils.tensorboard.summary' has no attribute {name!r}")
    tensorboard.required()
    found = getattr(importlib.import_module("tensorboardX.summary"), name)
    return _with_arrays(found) if callable(found) else found


def _with_arrays(make: Any) -> Any:
    @functools.wraps(make)
    def of_arrays(*args: Any, **kwargs: Any) -> Any:
        return make(*[tensorboard.arrays(a) for a in args], **{k: tensorboard.arrays(v) for k, v in kwargs.items()})
    return of_arrays
