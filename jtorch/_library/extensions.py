"""Replacements for compiled libraries of other packages."""
from __future__ import annotations

import importlib
import os

# Maps (folder, beginning of the file name) to the module that registers the same operators.
_INSTEAD = {("torchvision", "_C"): "jtorch._vision.registered", ("torchvision", "image"): "jtorch._vision.images"}


def load(path: str) -> bool:
    """Register the replacement for a library. Return whether there is one."""
    if not os.path.isfile(path):
        return False
    folder, name = os.path.basename(os.path.dirname(path)), os.path.basename(path)
    for (package, start), module in _INSTEAD.items():
        if folder == package and (name.startswith((start + ".", start + "_stable"))):
            importlib.import_module(module)
            return True
    return False
