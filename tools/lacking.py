"""Write jtorch/check/lacking.json: which of PyTorch's names jtorch lacks. ``python -m tools.lacking``; ``--check`` compares.

PyTorch need not be installed: its names are those that ``tools/pytorch_names.py`` has recorded. The command serves
``import torch`` by jtorch, as ``python -m jtorch script.py`` does, and looks each name up.
"""
from __future__ import annotations

import contextlib
import dis
import gzip
import importlib
import inspect
import io
import json
import re
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

from jtorch._base.not_built import BUILT, NotBuilt, NotBuiltMeta
from jtorch._import_hook import install
from jtorch._library.aten import function_of, schemas
from tools.pages import write_or_check
from tools.pytorch_names import MEMBERS, NAMES, is_public

TABLE = NAMES.with_name("lacking.json")
ABSENT = object()
# Classes whose members user code does not name: TorchScript's types, enums of C++, the old names of a dtype's tensors.
_UNNAMED = re.compile(r"torch\.(\w+Type|\w+Tensor|(sparse|cuda)\.\w+Tensor|DispatchKey\w*|Node|Graph|Block|Tag)$")
_BY_ENUMS = {"name", "value"}
BY_EXTRAS = {"torch.utils.tensorboard.SummaryWriter"}       # names of jtorch that need another package


def read(file: Path) -> Any:
    """Return what a gzipped JSON file holds."""
    return json.loads(gzip.decompress(file.read_bytes()))


def module(path: str) -> ModuleType | None:
    """Return the module that ``import torch.x`` gives, or a namespace of operators; None if it fails."""
    if path.startswith("torch.ops."):
        return look(importlib.import_module("torch").ops, path.rpartition(".")[2])[0]
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            return importlib.import_module(path)
    except Exception:  # noqa: BLE001 (modules of any kind)
        return None


def look(owner: Any, name: str) -> tuple[Any, str]:
    """Return an attribute or ABSENT, and the text by which it is refused ("" if it is not)."""
    try:
        found = getattr(owner, name)
    except NotImplementedError as error:
        return ABSENT, str(error)
    except Exception:  # noqa: BLE001 (properties of modules may raise anything)
        return ABSENT, ""
    return found, refusal(found)


def refusal(thing: Any) -> str:
    """Return the text of the NotImplementedError that each use of a function or class raises; "" if it can be used."""
    if isinstance(thing, NotBuiltMeta):
        return thing.__doc__ or ""
    if isinstance(thing, type):
        made = [vars(thing)[n] for n in ("__new__", "__init__") if n in vars(thing)]
        return next((text for f in made if (text := _raised(f, thing))), "")
    return _raised(thing) if isinstance(thing, FunctionType) else ""


def _raised(function: Any, *first: Any) -> str:
    """Return the error text of a function that only raises NotImplementedError; "" for other functions."""
    function = getattr(function, "__func__", function)
    code = getattr(inspect.unwrap(function), "__code__", None) if isinstance(function, FunctionType) else None
    if code is None or "NotImplementedError" not in code.co_names or len(code.co_code) > 60 or _branches(code):
        return ""
    try:
        function(*[*first, *[None] * code.co_argcount][:code.co_argcount])
    except NotImplementedError as error:
        return str(error)
    except Exception:  # noqa: BLE001 (it does more than refuse)
        return ""
    return ""


def _branches(code: Any) -> bool:
    """Return whether code has jumps, that is branches or loops."""
    return any("JUMP" in step.opname for step in dis.get_instructions(code))


class Table:
    """The recorded names that jtorch lacks or refuses, and the names that only jtorch has."""

    def __init__(self) -> None:
        self.theirs = {path: names.split() for path, names in read(NAMES)["modules"].items()}
        self.absent: set[str] = set()
        self.names: dict[str, list[str]] = {}
        self.refused: dict[str, str] = {}
        self.extra: dict[str, list[str]] = {}
        for path in sorted(self.theirs):
            self._add_module(path)

    def _add_module(self, path: str) -> None:
        own = None if path.rpartition(".")[0] in self.absent else module(path)
        if own is None:
            self.absent.add(path)
        elif isinstance(own, NotBuilt):
            above = _prefix(path.rpartition(".")[0], self.refused)
            if above is None or _advice(own.__doc__ or "") != _advice(self.refused[above]):
                self.refused[path] = own.__doc__ or ""
            own_names = {n for n, thing in vars(own).items() if n[0] != "_" and not isinstance(thing, ModuleType)}
            answers = sorted(own_names.union(*BUILT.get(path.removeprefix("torch."), ())[:1]))
            self.extra.update({path: answers} if answers else {})
        else:
            self._add_names(path, own)

    def _add_names(self, path: str, own: ModuleType) -> None:
        for name in self.theirs[path]:
            full = f"{path}.{name}"
            if full in self.theirs and module(full) is not None:
                continue
            found, text = look(own, name)
            if text:
                self.refused[full] = text
            elif found is ABSENT and full not in self.theirs and full not in BY_EXTRAS:
                self.names.setdefault(path, []).append(name)
        if is_public(path):
            more = {n for n in dir(own) if n[0] != "_"} - set(self.theirs[path])
            mine = sorted(n for n in more if f"{path}.{n}" not in self.theirs and not _is_imported(getattr(own, n, None)))
            self.extra.update({path: mine} if mine else {})

    def members(self, listed: dict[str, str]) -> Iterator[tuple[str, str]]:
        """Yield jtorch's classes with PyTorch's public members that they lack; for Tensor also private ones."""
        for path, names in sorted(listed.items()):
            own = self._own(path)
            if not isinstance(own, type) or refusal(own) or _UNNAMED.match(path) or hasattr(own, "__getattr__"):
                continue
            kinds = [own, *_of_layouts()] if path == "torch.Tensor" else [own]
            wanted = [n for n in names.split() if (n[0] != "_" or path == "torch.Tensor") and not any(_has(k, n) for k in kinds)]
            words = _words_of(own) if wanted else set()
            lacks = [n for n in wanted if n not in words]
            if lacks and not _BY_ENUMS.issuperset(lacks):
                yield path, " ".join(lacks)

    def parameters(self, listed: dict[str, str]) -> Iterator[tuple[str, str]]:
        """Yield jtorch's functions and classes with PyTorch's parameters that they do not take by name."""
        for path, names in sorted(listed.items()):
            own = self._own(path)
            taken = _taken(own) if callable(own) and not refusal(own) else None
            lacks = [n for n in names.split() if n[0] != "_" and n not in taken] if taken is not None else []
            if lacks and len(lacks) < len(names.split()):       # a function that takes none has another form on purpose
                yield path, " ".join(lacks)

    def calls(self) -> Iterator[tuple[str, str]]:
        """Yield ``torch.ops.aten`` with its operators that exist in jtorch and cannot be called."""
        names = [n for n in self.theirs["torch.ops.aten"] if n in schemas() and function_of(n) is None]
        yield "torch.ops.aten", " ".join(sorted(names))

    def _own(self, path: str) -> Any:
        parent, _, name = path.rpartition(".")
        own = module(parent)
        return None if own is None or isinstance(own, NotBuilt) else look(own, name)[0]


def _advice(text: str) -> str:
    """Return the docstring of a module that is not built, without the module's name."""
    return text.partition(": ")[2]


def _is_imported(thing: Any) -> bool:
    home = thing.__name__ if isinstance(thing, ModuleType) else getattr(thing, "__module__", None) or "torch"
    return str(home).split(".")[0] not in ("torch", "jtorch")


def _of_layouts() -> list[type]:
    """Return the classes of sparse tensors, whose methods PyTorch's class Tensor has itself."""
    from jtorch.sparse.tensor import CompressedTensor, CooTensor
    return [CooTensor, CompressedTensor]


def _has(kind: type, name: str) -> bool:
    try:
        return hasattr(kind, name)
    except Exception:  # noqa: BLE001 (class properties may raise anything)
        return True


def _words_of(kind: type) -> set[str]:
    """Return all words in the sources of a class and its bases, among them the attributes that only instances have."""
    found: set[str] = set()
    for one in kind.__mro__:
        with contextlib.suppress(OSError, TypeError):
            found.update(re.findall(r"\w+", inspect.getsource(one)) if one is not object else ())
        found.update(*[[s] if isinstance(s, str) else s for s in [vars(one).get("__slots__", ())]])
    return found


def _taken(thing: Any) -> set[str] | None:
    """Return the names of a callable's parameters; None if it takes any."""
    try:
        listed = inspect.signature(thing).parameters.values()
    except (ValueError, TypeError, NameError):
        return None
    return None if any(p.kind is p.VAR_KEYWORD for p in listed) else {p.name for p in listed if p.kind is not p.POSITIONAL_ONLY}


def _by_names(listed: dict[str, str]) -> dict[str, str]:
    """Return the paths of classes by the members that they lack."""
    found: dict[str, list[str]] = {}
    for path, names in listed.items():
        found.setdefault(names, []).append(path)
    return {names: " ".join(paths) for names, paths in found.items()}


def _prefix(path: str, among: dict[str, str]) -> str | None:
    parts = path.split(".")
    return next((p for i in range(len(parts), 0, -1) if (p := ".".join(parts[:i])) in among), None)


def text() -> str:
    """Return the file's text."""
    listed = read(MEMBERS)
    with contextlib.redirect_stdout(io.StringIO()):
        table = Table()
        found = {"modules": sorted(m for m in table.absent if m.rpartition(".")[0] not in table.absent),
                 "names": {m: " ".join(n) for m, n in table.names.items()}, "refused": dict(sorted(table.refused.items())),
                 "members": _by_names(dict(table.members(listed["members"]))),
                 "calls": dict(table.calls()), "parameters": dict(table.parameters(listed["parameters"])),
                 "extra": {m: " ".join(n) for m, n in table.extra.items()}}
    return json.dumps(found, indent=0, ensure_ascii=False) + "\n"


def main() -> int:
    """Write the file, or say whether it is up to date."""
    warnings.simplefilter("ignore")
    install()
    return write_or_check(TABLE, text(), "tools.lacking", f"{TABLE.name} is written.", print)


if __name__ == "__main__":
    sys.exit(main())
