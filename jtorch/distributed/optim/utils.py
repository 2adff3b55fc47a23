"""Optimizers that are given gradients, by the optimizers with the same rules."""
from __future__ import annotations

from jtorch.distributed.lazy_exports import lazy_getattr

__getattr__ = lazy_getattr(__name__, {
    "_optimizers.functional": "as_functional_optim functional_optim_map register_functional_optim"})
