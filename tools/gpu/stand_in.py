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
    if stand_in:
        importlib.import_module("jtorch.device").let_cpus_stand_in()
    return importlib.import_module("jtorch")
