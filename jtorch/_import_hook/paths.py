"""PyTorch's module paths for ``import torch``: the places from which names are imported, and the ``__module__`` of objects.

``paths.json``, which a tool generates from PyTorch, has four tables of paths without the prefix ``torch.``:

- ``own``: the modules that jtorch has at PyTorch's path, and that take its name (``torch.nn.__name__`` is ``torch.nn``).
- ``homes``: maps a module to its objects and the modules in which PyTorch defines them, which become their ``__module__``.
- ``spaces``: maps a module of PyTorch to names that jtorch has elsewhere: ``path:name``, or a module's path.
  The module's ``__getattr__`` looks them up on first access. A module that jtorch lacks consists of such names only.
- ``hidden``: maps a module to the names that PyTorch's lacks, which ``dir`` does not list.
"""
from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

TABLE = Path(__file__).with_suffix(".json")


def _own_name(path: str) -> str:
    return f"jtorch.{path}" if path else "jtorch"


def _torch_name(path: str) -> str:
    return f"torch.{path}" if path else "torch"


class Paths:
    """The tables of ``paths.json``, and the operations that apply them to modules."""

    def __init__(self) -> None:
        table = json.loads(TABLE.read_text())
        self.own, self.homes, self.spaces, self.hidden = set(table["own"]), table["homes"], table["spaces"], table["hidden"]
        self.named: set[str] = set()
        self.files: dict[str, str] = {}
        self.below: dict[str, set[str]] = {}
        for path in (*self.own, *self.spaces):
            parent, _, short = path.rpartition(".")
            self.below.setdefault(parent, set()).add(short)

    def name(self, module: ModuleType, path: str) -> None:
        """Give a module PyTorch's name, its objects their ``__module__``, and a lookup of missing names; repeated calls are
        harmless.
        """
        if path in self.own:
            module.__name__ = _torch_name(path)
            sys.modules.setdefault(_torch_name(path), module)
        for home, names in self.homes.get(path, {}).items():
            of = _torch_name(home)
            for name in names.split():
                self._set_home(vars(module).get(name), name, of)
        self._set_file(module, path)
        if path in self.hidden:
            _hide_names(module, self.hidden[path])
        if path in self.spaces or path in self.below:
            _add_lookup(module, path, self._finder(path))

    def name_all(self, just_run: ModuleType | None = None) -> None:
        """Call ``name`` for each module of jtorch that was loaded or created since the last call."""
        for full, module in list(sys.modules.items()):
            ours = (full == "jtorch" or full.startswith("jtorch.")) and full not in self.named
            if ours and (module is just_run or not getattr(module.__spec__, "_initializing", False)):
                self.named.add(full)
                self.name(module, full.partition(".")[2])

    def _finder(self, path: str) -> Callable[[str], Any]:
        space, below = self.spaces.get(path, {}), self.below.get(path, ())

        def find(name: str) -> Any:
            if name in space:
                where, _, what = space[name].partition(":")
                found = importlib.import_module(_own_name(where))
                return getattr(found, what) if what else found
            if name in below:
                return importlib.import_module(_torch_name(f"{path}.{name}" if path else name))
            raise AttributeError(f"module '{_torch_name(path)}' has no attribute {name!r}")
        return find

    def _set_home(self, thing: Any, name: str, home: str) -> None:
        if not isinstance(thing, (type, FunctionType)):
            return
        file = getattr(sys.modules.get(thing.__module__), "__file__", None)
        if isinstance(thing, FunctionType):
            thing.__qualname__ = name
        else:
            if file is not None:
                self.files.setdefault(home, file)
            self._register_home(thing, sys.modules.get(thing.__module__), home)
        line = vars(thing).get("__firstlineno__")
        thing.__module__ = home
        # Python 3.13 removes __firstlineno__ when __module__ is assigned. inspect.getsource needs the attribute.
        if line is not None:
            thing.__firstlineno__ = line        # type: ignore[union-attr]

    def _register_home(self, kind: type, written_in: ModuleType | None, home: str) -> None:
        """Register the module in which ``typing.get_type_hints`` evaluates a class's annotations, under the name in
        ``__module__``.
        """
        path = home.partition(".")[2]
        if written_in is None:
            return
        if path in self.own and written_in.__spec__ is not None and written_in.__spec__.name == _own_name(path):
            sys.modules.setdefault(home, written_in)
            return
        made = sys.modules[home] if home in sys.modules else self.make(path)
        if made is not None and path not in self.own:
            hints = " ".join(map(str, vars(kind).get("__annotations__", {}).values()))
            named = {name: vars(written_in)[name] for name in re.findall(r"\w+", hints) if name in vars(written_in)}
            vars(made).update({name: value for name, value in named.items() if name not in vars(made)})
            sys.modules[home] = made

    def _set_file(self, module: ModuleType, path: str) -> None:
        """Give a module without a file the file of its classes, so that ``inspect.getsource`` finds them."""
        file = self.files.get(_torch_name(path))
        if file is not None and "__file__" not in vars(module):
            module.__file__ = file

    def make(self, path: str) -> ModuleType | None:
        """Create a PyTorch module that jtorch lacks, from names that jtorch has elsewhere; None if PyTorch has no such
        module.
        """
        if path not in self.spaces or path in self.own:
            return None
        made = ModuleType(_torch_name(path), f"What PyTorch has in {_torch_name(path)}.")
        _add_lookup(made, path, self._finder(path))
        self._set_file(made, path)
        made.__dir__ = lambda: sorted({n for n in vars(made) if n[:2] == "__"} | {*self.spaces[path]})     # type: ignore[method-assign]
        return made


def _hide_names(module: ModuleType, hidden: str) -> None:
    """Remove names from the result of ``dir`` of a module."""
    before = vars(module).get("__dir__", lambda: vars(module))
    if not hasattr(before, "hides"):
        def listed() -> list[str]:
            return sorted(set(before()) - {"__dir__", "__getattr__", *hidden.split()})
        listed.hides = hidden       # type: ignore[attr-defined]
        module.__dir__ = listed     # type: ignore[method-assign]


def _add_lookup(module: ModuleType, path: str, find: Callable[[str], Any]) -> None:
    """Extend a module's ``__getattr__`` by a lookup of PyTorch's names that the module lacks."""
    before = vars(module).get("__getattr__")
    if getattr(before, "of_paths", None) == path:
        return

    def look(name: str) -> Any:
        if before is None:
            return find(name)
        try:
            return before(name)
        except AttributeError as error:
            missing = error
        try:
            return find(name)
        except AttributeError:
            raise missing from None
    look.of_paths = path            # type: ignore[attr-defined]
    module.__getattr__ = look       # type: ignore[method-assign]


class NamingFinder(importlib.abc.MetaPathFinder):
    """An import finder that gives each module of jtorch PyTorch's names after its import."""

    def __init__(self, paths: Paths) -> None:
        self.paths = paths

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> Any:
        """Find a module of jtorch as Python does, and let its loader call ``name_all``."""
        if not fullname.startswith("jtorch."):
            return None
        spec = importlib.machinery.PathFinder.find_spec(fullname, path, target)
        if spec is not None and spec.loader is not None:
            self._wrap_loader(spec.loader)
        return spec

    def _wrap_loader(self, loader: Any) -> None:
        run = loader.exec_module

        def exec_module(module: ModuleType) -> None:
            run(module)
            self.paths.name_all(module)
        loader.exec_module = exec_module


def install() -> Paths:
    """Give the loaded modules PyTorch's names, and install one finder that does so for later ones."""
    found = next((f for f in sys.meta_path if isinstance(f, NamingFinder)), None)
    if found is None:
        found = NamingFinder(Paths())
        sys.meta_path.insert(0, found)
    found.paths.named.clear()
    found.paths.name_all()
    return found.paths
