"""Write jtorch/_import_hook/paths.json, PyTorch's module paths of jtorch's names. ``python -m tools.torch_paths``;
``--check`` compares.

With this file, jtorch imported as torch has PyTorch's module paths, and classes and functions have them as ``__module__``.
"""
from __future__ import annotations

import importlib
import inspect
import json
import pkgutil
import sys
import warnings
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

from jtorch.serialization import names, rebuild
from tools.pages import write_or_check

TABLE = Path(__file__).parent.parent / "jtorch" / "_import_hook" / "paths.json"
# The search leaves out these packages of PyTorch. jtorch lacks them, or has something else under the same name.
LEFT_OUT = tuple("""
    _custom_op _custom_ops _decomp _dynamo _export _functorch _higher_order_ops _inductor _lazy _library _logging
    _meta_registrations _numpy _ops _prims _prims_common _refs _strobelight _subclasses _vendor ao autograd._functions
    backends classes contrib csrc distributed export fx library masked mps mtia nativert nested onnx ops package
    profiler._ quantization sparse testing._internal utils._ utils.benchmark utils.bundled_inputs utils.cpp_
    utils.data.datapipes utils.hipify utils.jit utils.model_dump utils.serialization utils.tensorboard utils.viz xpu
""".split())
KEPT = ("backends.cuda", "backends.cudnn", "backends.mkl", "backends.mps", "utils._contextlib", "utils._foreach_utils",
        "utils._python_dispatch", "utils._pytree")


# These are documented additions to PyTorch's names.
EXTRAS = {"optim": {"Optax"}, "utils.viz": {"Graph", "ModelSummary", "graph", "summary"}}


def modules() -> dict[str, ModuleType]:
    """Return PyTorch's modules, by their path without ``torch.``; "" is torch itself."""
    import torch
    found = {"": torch}
    for info in pkgutil.walk_packages(torch.__path__, "torch.", onerror=lambda name: None):
        path = info.name.removeprefix("torch.")
        if _is_left_out(path):
            continue
        try:
            found[path] = importlib.import_module(info.name)
        except Exception:  # noqa: BLE001, S112 (needs what is not installed)
            continue
    found.update({n: sys.modules[f"torch.{n}"] for n in ("_C", "_C._nn", "_C._functorch")})
    return found


def _is_left_out(path: str) -> bool:
    def within(names: tuple[str, ...]) -> bool:
        return any(path == n or path.startswith(f"{n}.") or (n.endswith("_") and path.startswith(n)) for n in names)
    return within(LEFT_OUT) and not within(KEPT)


def own_module(path: str) -> ModuleType | None:
    """Return the jtorch module at a path of PyTorch's."""
    try:
        made = importlib.import_module(f"jtorch.{path}" if path else "jtorch")
    except ImportError:
        return None
    return made if isinstance(made, ModuleType) and type(made).__name__ != "NotBuilt" else None


def _is_named(thing: Any) -> bool:
    """Return whether a thing is a class or function of the library. These have names and modules."""
    return (isinstance(thing, (type, FunctionType)) or inspect.isbuiltin(thing)) and (
        str(thing.__module__ or "torch").split(".")[0] in ("torch", "jtorch"))


class Table:
    """The contents of the file."""

    def __init__(self) -> None:
        self.theirs = modules()
        self.own = {path: m for path in self.theirs for m in [own_module(path)] if m is not None}
        self.where: dict[int, tuple[str, str]] = {}      # Maps the id of a PyTorch object to (path, name) in jtorch.
        self.homes: dict[str, dict[str, str]] = {}
        self.settled: set[int] = set()
        self.spaces: dict[str, dict[str, str]] = {}
        for path in sorted(self.own, key=lambda p: (p.count("."), len(p), p)):
            self._pair(path)
        self._settle_saved()
        for path, module in self.theirs.items():
            self._fill(path, module)

    def _pair(self, path: str) -> None:
        theirs, own = self.theirs[path], self.own[path]
        named = [(name, thing) for name, thing in sorted(vars(theirs).items()) if _is_named(thing)]
        for name, thing in sorted(named, key=lambda item: item[1].__name__ != item[0]):
            mine = getattr(own, name, None)
            if not _is_named(mine) or isinstance(thing, type) != isinstance(mine, type) or self._is_only_used(path, name, thing):
                continue
            if id(thing) in self.where and (name.startswith("_") or thing.__name__ != name):
                continue
            self.where.setdefault(id(thing), (path, name))
            self._settle(path, name, thing, mine)

    def _is_only_used(self, path: str, name: str, thing: Any) -> bool:
        """Return whether a module has only imported a name that both libraries have in another module."""
        home = str(thing.__module__).removeprefix("torch.")
        if home == path or home.startswith((f"{path}.", "_")) or not path or home not in self.own:
            return False
        return hasattr(self.own[home], name) and vars(self.theirs[home]).get(name) is thing

    def _settle(self, path: str, name: str, thing: Any, mine: Any) -> None:
        """Record the ``__module__`` for an object of jtorch, in the entry of its module."""
        if not isinstance(mine, (type, FunctionType)) or not str(mine.__module__).startswith("jtorch"):
            return
        # A name that this module loads lazily is recorded with the module that defines the name.
        if id(mine) in self.settled or vars(self.own[path]).get(name) is not mine:
            return
        self.settled.add(id(mine))
        home = thing.__module__ if str(thing.__module__).split(".")[0] == "torch" else None
        short = (home or f"torch.{path}".rstrip(".")).removeprefix("torch").removeprefix(".")
        if thing.__name__ != name or (short and short not in self.theirs):
            short = path
        self.homes.setdefault(path, {})[name] = short

    def _settle_saved(self) -> None:
        """Record the names used in pickles for the functions that rebuild tensors. A pickle may need them before
        their module is imported.
        """
        for name, thing in sorted(vars(rebuild).items()):
            home = names.torch_name(thing) if isinstance(thing, FunctionType) and thing.__module__ == rebuild.__name__ else None
            if home is not None and home[1] == name and home[0] != "torch.serialization.rebuild":
                self.homes.setdefault("serialization.rebuild", {})[name] = home[0].removeprefix("torch.")

    def _fill(self, path: str, module: ModuleType) -> None:
        """Record the names that a PyTorch module has and jtorch's lacks, with their place in jtorch."""
        own = self.own.get(path)
        names: dict[str, str] = {}
        for name, thing in sorted(vars(module).items()):
            if own is not None and (name in vars(own) or hasattr(own, name)):
                continue
            place = self._place(thing)
            if place is not None:
                names[name] = place
        if own is None and not any(getattr(vars(module)[name], "__module__", None) == module.__name__ for name in names):
            return      # jtorch has no name of this module.
        if names:
            self.spaces[path] = names

    def _place(self, thing: Any) -> str | None:
        if isinstance(thing, ModuleType):
            path = thing.__name__.removeprefix("torch").removeprefix(".")
            return path if thing.__name__.split(".")[0] == "torch" and path in self.own else None
        found = self.where.get(id(thing)) if _is_named(thing) else None
        return None if found is None else ":".join(found)

    def text(self) -> str:
        """Return the text of the file."""
        homes = {path: _by_home(names) for path, names in sorted(self.homes.items())}
        table = {"own": sorted(self.own), "homes": homes, "spaces": dict(sorted(self.spaces.items())), "hidden": hidden()}
        return json.dumps(table, indent=0, sort_keys=False, separators=(",", ":")) + "\n"


def hidden() -> dict[str, str]:
    """Return the names to hide in each public module: its imports and helpers."""
    import torch
    found = {}
    for info in pkgutil.walk_packages(torch.__path__, "torch.", onerror=lambda name: None):
        path = info.name.removeprefix("torch.")
        theirs, own = sys.modules.get(info.name), own_module(path)
        if theirs is None or own is None or any(part.startswith("_") for part in path.split(".")):
            continue
        names = sorted(n for n in set(vars(own)) - set(dir(theirs)) - EXTRAS.get(path, set()) if not n.startswith("__"))
        if names:
            found[path] = " ".join(names)
    return dict(sorted(found.items()))


def _by_home(names: dict[str, str]) -> dict[str, str]:
    found: dict[str, list[str]] = {}
    for name, home in sorted(names.items()):
        found.setdefault(home, []).append(name)
    return {home: " ".join(listed) for home, listed in sorted(found.items())}


def main() -> int:
    """Write the table, or with --check report a stale table."""
    warnings.simplefilter("ignore")
    return write_or_check(TABLE, Table().text(), "tools.torch_paths", f"{TABLE.name} is written.", print)


if __name__ == "__main__":
    sys.exit(main())
