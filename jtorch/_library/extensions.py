"""Compiled libraries of other packages that this package has the operators of."""
from __future__ import annotations

import importlib
import os

# A file, by its folder and the beginning of its name: the module that registers the same operators.
_INSTEAD = {("torchvision", "_C"): "jtorch._vision.registered", ("torchvision", "image"): "jtorch._vision.images"}


def load(path: str) -> bool:
    """Registers what stands in for a library; whether anything does."""
    if not os.path.isfile(path):
        return False
    folder, name = os.path.basename(os.path.dirname(path)), os.path.basename(path)
    for (package, start), module in _INSTEAD.items():
        if folder == package and (name.startswith((start + ".", start + "_stable"))):
            importlib.import_module(module)
            return True
    return False
