"""The reader of a package's pickles."""
from __future__ import annotations

import pickle
from typing import Any

from jtorch.package.importer import Importer, attribute
from jtorch.serialization import names


class PackageUnpickler(pickle._Unpickler):     # type: ignore[name-defined]
    """Finds the names of a pickle in an environment of modules. PyTorch's names are jtorch's."""

    def __init__(self, importer: Importer, *args: Any, **kwargs: Any):
        super().__init__(*args, **kwargs)
        self._importer = importer

    def find_class(self, module: str, name: str) -> Any:
        """Return the object with a name."""
        if self.proto < 3 and self.fix_imports:     # type: ignore[attr-defined]
            module, name = names.python3_name(module, name)
        if names.is_torch(module):
            return names.find(module, name)
        return attribute(self._importer.import_module(module), name)[0]
