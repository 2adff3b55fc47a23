"""Pickles of a package. Their names are those of an environment of modules."""
from __future__ import annotations

import pickle
from collections.abc import Callable
from types import FunctionType
from typing import Any

from jtorch.package.importer import Importer, ObjMismatchError, ObjNotFoundError, attribute, sys_importer
from jtorch.serialization.names import torch_name
from jtorch.serialization.pickler import Storages, python_pickler


def create_pickler(data_buf: Any, importer: Importer, storages: Storages, reduced: Callable[[Any], Any], protocol: int) -> Any:
    """Return a Pickler that finds names in ``importer``, and persistent ids of other objects than storages by ``reduced``."""

    class PackagePickler(python_pickler(storages)):     # type: ignore[misc]
        def persistent_id(self, obj: Any) -> Any:
            found = super().persistent_id(obj)
            return reduced(obj) if found is None else found

        def save_global(self, obj: Any, name: str | None = None) -> None:
            if importer is sys_importer or torch_name(obj) is not None:
                super().save_global(obj, name)
            else:
                self._save_packed(obj, name)

        def _save_packed(self, obj: Any, name: str | None) -> None:
            try:
                module_name, name = importer.get_name(obj, name)
            except (ObjNotFoundError, ObjMismatchError) as e:
                raise pickle.PicklingError(f"Can't pickle {obj}: {e}") from e
            module = importer.import_module(module_name)
            _, parent = attribute(module, name)
            if self.proto < 4 and parent is not module:
                self.save_reduce(getattr, (parent, name.rpartition(".")[2]), obj=obj)
            else:
                self.save_name(obj, (module_name, name))

        dispatch = {**pickle._Pickler.dispatch, FunctionType: save_global}      # type: ignore[attr-defined]

    return PackagePickler(data_buf, protocol=protocol)
