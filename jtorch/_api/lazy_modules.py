"""Parts of the package that are imported when they are first asked for: ``torch.distributions``, ``torch.compile``, …"""
from __future__ import annotations

import importlib
from typing import Any

from jtorch._base.not_built import NotBuiltError

MODULES = ("accelerator", "compiler", "distributions", "hub", "jit", "multiprocessing", "overrides", "profiler", "testing",
           "types")
NAMES = {"compile": "compiler"}
_NO_TENSORS = {
    "sparse": ("sparse_coo_tensor", "sparse_csr_tensor", "sparse_csc_tensor", "sparse_bsr_tensor", "sparse_bsc_tensor",
               "sparse_compressed_tensor"),
    "quantized": ("quantize_per_tensor", "quantize_per_channel", "quantize_per_tensor_dynamic", "quint8",
                  "qint8", "qint32", "quint4x2", "quint2x4"),
}


def load(name: str) -> Any:
    """What ``jtorch.<name>`` is; AttributeError if there is no such thing."""
    if name in MODULES:
        return importlib.import_module(f"jtorch.{name}")
    if name in NAMES:
        return getattr(importlib.import_module(f"jtorch.{NAMES[name]}"), name)
    for kind, names in _NO_TENSORS.items():
        if name in names:
            raise NotBuiltError(f"torch.{name}: {kind} tensors are not built")
    raise AttributeError(f"module 'torch' has no attribute {name!r}")
