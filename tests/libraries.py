"""PyTorch and jtorch by name, for tests that run one body with both."""
from __future__ import annotations

import functools
import importlib
import importlib.util
import sys
import warnings
from types import ModuleType

HAS_TORCH = importlib.util.find_spec("torch") is not None
NO_TORCH = "PyTorch is not installed (pip install jtorch-jax[conformance])"


@functools.cache
def library(name: str) -> ModuleType:
    """Import ``torch`` or ``jtorch`` without its own warnings and with its generator at seed 0; PyTorch on one thread.

    A warning that is usually shown once in a process is shown each time.
    """
    is_new = name not in sys.modules
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = importlib.import_module(name)
    if name == "torch":
        found.set_num_threads(1)    # Several tests run at once.
    if is_new:
        found.manual_seed(0)
    found.set_warn_always(True)     # Otherwise an earlier test could use up a warning that is shown once.
    return found
