"""Modules without initial values."""
from __future__ import annotations

import inspect
from typing import Any

from jtorch import random
from jtorch.nn.modules.module import Module


def skip_init(module_cls: Any, *args: Any, **kwargs: Any) -> Any:
    """Return a module whose parameters and buffers are zeros, without drawing random numbers.

    See torch.nn.utils.skip_init.

        >>> torch.nn.utils.skip_init(torch.nn.Linear, 2, 1).weight.shape
        torch.Size([1, 2])
    """
    if not issubclass(module_cls, Module):
        raise RuntimeError(f"Expected a Module; got {module_cls}")
    if "device" not in inspect.signature(module_cls).parameters:
        raise RuntimeError("Module must support a 'device' arg to skip initialization")
    device = kwargs.pop("device", "cpu")
    state = random.get_rng_state()      # Restored below. PyTorch draws nothing, since it creates the module on meta.
    try:
        made = module_cls(*args, **kwargs, device=device)
    finally:
        random.set_rng_state(state)
    return made.to_empty(device=device)
