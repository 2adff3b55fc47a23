"""Use JAX's second virtual CPU device in the GPU's place.

``cuda`` is then a device of its own, as on a real machine: values must be moved to it, and mixed devices raise. This does not
test XLA's code for a GPU, nor its speed.
"""
from __future__ import annotations

import importlib
from typing import Any

# These variables must be set before JAX starts.
ENVIRONMENT = {"JAX_PLATFORMS": "cpu", "XLA_FLAGS": "--xla_force_host_platform_device_count=2"}


def jtorch_with(stand_in: bool) -> Any:
    """Return the module ``jtorch``. Its ``cuda`` is JAX's GPU or, with ``stand_in``, a CPU."""
    torch = importlib.import_module("jtorch")
    if stand_in:
        import jax
        cpu, gpu = jax.devices("cpu")[:2]
        importlib.import_module("jtorch.device")._JAX_DEVICES.update(cpu=(cpu,), cuda=(gpu,), xla=(gpu,), mps=())
    return torch
