"""PyTorch's error where an accelerator has no memory left."""
from __future__ import annotations

import re

import jax

from jtorch._base.accelerated import is_accelerated
from jtorch.device import OutOfMemoryError

_TRIED = re.compile(r"allocate ([\d.]+) ?(\w+)")


def told(error: jax.errors.JaxRuntimeError) -> Exception:
    """What PyTorch raises where JAX raises ``error``: the same, unless an accelerator's memory is full."""
    text = str(error)
    if not text.startswith("RESOURCE_EXHAUSTED") or not is_accelerated():
        return error
    size = _TRIED.search(text)
    tried = f" Tried to allocate {size[1]} {size[2]}." if size else ""
    made = OutOfMemoryError(f"CUDA out of memory.{tried}")
    made.__cause__ = error
    return made
