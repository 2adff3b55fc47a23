"""Environments of modules: Python's own, those of packages, and several in order."""
from __future__ import annotations

import contextlib
import importlib
import logging
import pickle
from abc import ABC, abstractmethod
from types import ModuleType
from typing import Any

from jtorch.package._mangling import demangle, get_mangle_prefix, is_mangled
from jtorch.serialization.names import is_torch

__all__ = ["Importer", "ObjMismatchError", "ObjNotFoundError", "OrderedImporter"]
log = logging.getLogger(__name__)


class ObjNotFoundError(Exception):
    """Raised when an environment has no object with a name."""


class ObjMismatchError(Exception):
    """Raised when an environment has another object with the same name."""


def attribute(module: Any, name: str) -> tuple[Any, Any]:
    """Return the object with a qualified name in a module, and the object that has it as an attribute."""
    found = parent = module
    for part in name.split("."):
        if part == "<locals>":
            raise AttributeError(f"Can't get local attribute {name!r} on {module!r}")
        parent, found = found, getattr(found, part)
    return found, parent


class Importer(ABC):
    """An environment of modules. Packages have environments of their own, in which names may mean other modules.

    ``import_module`` returns a module by name, ``get_name`` the module's and the object's name of an object. For each object
    ``getattr(import_module(module), name)`` is that object, or ``get_name`` raises.
    """

    modules: dict[str, ModuleType]

    @abstractmethod
    def import_module(self, module_name: str) -> ModuleType:
        """Return a module. Raise ModuleNotFoundError if there is none."""

    def get_name(self, obj: Any, name: str | None = None) -> tuple[str, str]:
        """Return the module's name and the object's.

        Raises:
            ObjNotFoundError: the module does not exist here or has no such name
            ObjMismatchError: the module has another object with this name

        """
        name = name or _own_name(obj)
        module_name = demangle(self.whichmodule(obj, name))
        try:
            found, _ = attribute(self.import_module(module_name), name)
        except (ImportError, KeyError, AttributeError):
            raise ObjNotFoundError(f"{obj} was not found as {module_name}.{name}") from None
        if found is obj:
            return module_name, name
        raise ObjMismatchError(_mismatch(self.whichmodule(obj, name), self.whichmodule(found, name)))

    def whichmodule(self, obj: Any, name: str) -> str:
        """Return the name of the module to which an object belongs, ``"__main__"`` if no module of this environment has it."""
        module_name = getattr(obj, "__module__", None)
        if module_name is not None:
            return module_name
        for module_name, module in self.modules.copy().items():
            if module_name not in ("__main__", "__mp_main__") and module is not None:
                with contextlib.suppress(AttributeError):
                    if attribute(module, name)[0] is obj:
                        return module_name
        return "__main__"


def _own_name(obj: Any) -> str:
    """Return an object's name: a string that its ``__reduce__`` returns, or its qualified name."""
    if obj and type(obj) not in pickle._Pickler.dispatch:     # type: ignore[attr-defined]
        with contextlib.suppress(Exception):
            reduced = obj.__reduce__()
            if isinstance(reduced, str):
                return reduced
    found = getattr(obj, "__qualname__", None)
    return obj.__name__ if found is None else found


def _mismatch(given: str, found: str) -> str:
    """Return the text for an object of the module ``given``, whose name means an object of the module ``found``."""
    def place(module: str) -> tuple[str, str]:
        if is_mangled(module):
            return get_mangle_prefix(module), f"the importer for {get_mangle_prefix(module)}"
        return "the current Python environment", "'sys_importer'"

    return (f"\n\nThe object provided is from '{given}', which is coming from {place(given)[0]}."
            f"\nHowever, when we import '{found}', it's coming from {place(found)[0]}."
            f"\nTo fix this, make sure this 'PackageExporter's importer lists {place(given)[1]} before {place(found)[1]}.")


def imported(name: str) -> ModuleType:
    """Return a module of Python's own environment. PyTorch's modules are jtorch's."""
    if is_torch(name):
        from jtorch._import_hook import _jtorch_module
        return _jtorch_module("torch" + name.removeprefix("jtorch").removeprefix("torch"))
    return importlib.import_module(name)


class _SysImporter(Importer):
    """Python's own environment."""

    def import_module(self, module_name: str) -> ModuleType:
        return imported(module_name)

    def whichmodule(self, obj: Any, name: str) -> str:
        return getattr(obj, "__module__", None) or pickle.whichmodule(obj, name)      # type: ignore[attr-defined]


sys_importer = _SysImporter()


class OrderedImporter(Importer):
    """Several environments. The first one that has a module or an object counts."""

    def __init__(self, *args: Importer):
        self._importers = list(args)

    def get_name(self, obj: Any, name: str | None = None) -> tuple[str, str]:
        """Return the module's name and the object's. See ``Importer.get_name``."""
        for importer in self._importers:
            try:
                return importer.get_name(obj, name)
            except (ObjNotFoundError, ObjMismatchError) as e:
                log.warning("Tried to call get_name with obj %s, and name %s on %s and got %s", obj, name, importer, e)
        raise ObjNotFoundError(f"Could not find obj {obj} and name {name} in any of the importers {self._importers}")

    def import_module(self, module_name: str) -> ModuleType:
        """Return a module. A package that stands only for its modules, without code, does not count."""
        last: ModuleNotFoundError | None = None
        for importer in self._importers:
            if not isinstance(importer, Importer):
                raise TypeError(f"{importer} is not a Importer. All importers in OrderedImporter must inherit from Importer.")
            try:
                module = importer.import_module(module_name)
            except ModuleNotFoundError as e:
                last = e
            else:
                if not _has_no_code(module):
                    return module
        raise last or ModuleNotFoundError(module_name)

    def whichmodule(self, obj: Any, name: str) -> str:
        """Return the name of the module to which an object belongs."""
        found = (importer.whichmodule(obj, name) for importer in self._importers)
        return next((module for module in found if module != "__main__"), "__main__")


def _has_no_code(module: Any) -> bool:
    return bool(getattr(module, "__torch_package__", False)) and hasattr(module, "__path__") \
        and getattr(module, "__file__", None) is None
