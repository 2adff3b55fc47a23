"""What the pickles of a package refer to: storages, and objects that functions of the package make."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from jtorch.serialization.legacy import text
from jtorch.serialization.loading import Archive


class PackageStorages(Archive):
    """The storages and further persistent ids of one pickle."""

    record_of = ".data/{}.storage"

    def __init__(self, importer: Any, restore: Callable):
        super().__init__(importer.zip_reader, restore, None)
        self.importer = importer
        self.reduced: dict[int, Any] = {}

    def persistent_load(self, saved: Any) -> Any:
        """Return the storage of a persistent id, or the object that a function of the package makes."""
        if not isinstance(saved, tuple):
            raise AssertionError(f"saved_id must be a tuple, got {type(saved).__name__}")       # noqa: TRY004 (PyTorch's type)
        if text(saved[0]) != "reduce_package":
            return super().persistent_load((*saved[:2], str(saved[2]), *saved[3:]))      # PyTorch's numbers are integers.
        if len(saved) == 3:     # Packages of older versions have no number, and such objects are made each time.
            return saved[1](self.importer, *saved[2])
        number, function, args = saved[1:]
        if number not in self.reduced:
            self.reduced[number] = function(self.importer, *args)
        return self.reduced[number]
