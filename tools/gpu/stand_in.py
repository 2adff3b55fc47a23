"""JAX's second virtual CPU device in the GPU's place, where there is no GPU.

``cuda`` is then a device of its own as on a real machine: values have to be moved to it, and mixing them is an error. What
XLA's code for a GPU does, and how quick it is, is not tried by that.
"""
from __future__ import annotations

import importlib
from typing import Any

# What must be in the environment before JAX starts.
ENVIRONMENT = {"JAX_PLATFORMS": "cpu", "XLA_FLAGS": "--xla_force_host_platform_device_count=2"}


def jtorch_with(stand_in: bool) -> Any:
    """The module ``jtorch``, whose ``cuda`` is JAX's GPU or, if asked, a CPU in its place."""
    torch = importlib.import_module("jtorch")
    if stand_in:
        import jax
        cpu, gpu = jax.devices("cpu")[:2]
        importlib.import_module("jtorch.device")._JAX_DEVICES.update(cpu=(cpu,), cuda=(gpu,), xla=(gpu,), mps=())
    return torch
