"""The pages of the API reference: every public function and class, its docstring, and its differences from PyTorch."""
from __future__ import annotations

import functools
import importlib
import inspect
import re
import types
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jtorch
from jtorch.check.differences import DIFFERENCES
from jtorch.ops.registry import OPS
from tools.site.headings import ENGINE, FUNCTIONAL, NN, PLAIN, TORCH
from tools.site.markup import markdown, text

COVERAGE = Path(__file__).parents[2] / "docs" / "coverage.md"
RECORDS = {full: op for op in OPS.values() for full in (op.name, *op.aliases)}
KINDS = {"b": "bool", "i": "integers", "h": "16-bit floats", "f": "floats", "c": "complex numbers"}


@dataclass(frozen=True)
class Entry:
    """A public name: PyTorch's path, the object, and the file of its definition."""

    path: str           # For example torch.nn.functional.relu.
    value: Any
    home: str           # For example activation.

    @property
    def name(self) -> str:
        """Return the last part of the path: ``relu``."""
        return self.path.rpartition(".")[2]

    @property
    def record(self) -> Any:
        """Return the op's record, if the entry is an op."""
        return RECORDS.get(self.path.removeprefix("torch.").removeprefix("Tensor."))


def pages() -> tuple[dict[str, str], list[str]]:
    """Return the reference's pages by their place in the site, and the names without a docstring."""
    found = dict(_grouped())
    wrong = [f"{e.path} has no docstring" for entries in found.values() for e in entries[1] if not _doc(e.value)]
    out = {f"reference/{place}.md": _page(title, entries) for place, (title, entries) in found.items()}
    out["reference/index.md"] = _contents(found)
    return out, wrong


def anchors(pages: Mapping[str, str]) -> dict[str, str]:
    """Return the page of each name: ``torch.add`` -> ``reference/torch/pointwise-ops.md``."""
    return {name: page for page, body in pages.items() for name in re.findall(r"\{ #([\w.]+) \}$", body, re.MULTILINE)}


def _grouped() -> Iterator[tuple[str, tuple[str, list[Entry]]]]:
    yield from _by_heading("torch", "torch", TORCH, jtorch)
    yield "tensor", ("torch.Tensor", [e for e in _members(jtorch.Tensor) if not e.name.endswith("_")])
    yield from _by_heading("nn", "torch.nn", NN, jtorch.nn)
    yield from _by_heading("functional", "torch.nn.functional", FUNCTIONAL, jtorch.nn.functional)
    for space, title in PLAIN.items():
        yield space, (title, list(_public(f"torch.{space}", importlib.import_module(f"jtorch.{space}"))))
    engine = importlib.import_module("jtorch.engine")
    named = [Entry(f"jtorch.engine.{n}", getattr(engine, n), "engine") for n in ENGINE if hasattr(engine, n)]
    yield "engine", ("jtorch.engine", named)


def _by_heading(folder: str, path: str, headings: Mapping[str, str],
                module: Any) -> Iterator[tuple[str, tuple[str, list[Entry]]]]:
    entries = list(_public(path, module))
    of = {home: heading for heading, homes in headings.items() for home in homes.split()}
    for heading in headings:
        chosen = [e for e in entries if of.get(e.home, of["*"]) == heading]
        if chosen:
            slug = re.sub(r"\W+", "-", heading.lower())
            yield f"{folder}/{slug}", (f"{path}: {heading}", chosen)


def _public(path: str, module: Any) -> Iterator[Entry]:
    """Yield the library's own functions and classes in a module."""
    for name in sorted(getattr(module, "__all__", None) or dir(module), key=str.lower):
        if name.startswith("_") or (name.endswith("_") and "init" not in path and hasattr(module, name[:-1])):
            continue
        try:
            value = getattr(module, name)
        except ImportError:         # The name needs another package.
            continue
        home = str(getattr(value, "__module__", ""))
        if not home.startswith("jtorch") or not (inspect.isclass(value) or isinstance(value, types.FunctionType)):
            continue
        yield Entry(f"{path}.{name}", value, _home(path, name, home))


def _members(cls: type) -> Iterator[Entry]:
    for name in sorted((n for n in dir(cls) if not n.startswith("_")), key=str.lower):
        value = inspect.getattr_static(cls, name)
        if isinstance(value, (types.FunctionType, property, classmethod, staticmethod)):
            yield Entry(f"torch.Tensor.{name}", value, "tensor")


def _home(path: str, name: str, module: str) -> str:
    record = RECORDS.get(f"{path}.{name}".removeprefix("torch."))
    module = record.body.__module__ if record is not None and hasattr(record, "body") else module
    return module.rpartition(".")[2] if record is not None or module != "jtorch" else "*"


def _doc(value: Any) -> str:
    if isinstance(value, (classmethod, staticmethod)):
        value = value.__func__
    return (inspect.getdoc(value) or "").strip()


def _page(title: str, entries: list[Entry]) -> str:
    return "\n\n".join([f"# {title}", *(_section(e) for e in entries)]) + "\n"


def _section(entry: Entry) -> str:
    kind = "class" if inspect.isclass(entry.value) else "property" if isinstance(entry.value, property) else ""
    signature = _signature(entry)
    doc = _doc(entry.value)
    if entry.record is not None:        # The first line of an op's docstring is its signature.
        first, _, doc = doc.partition("\n\n") if doc.startswith(f"{entry.record.name}(") else ("", "", doc)
        signature = entry.name + first[len(entry.record.name):] if first else signature
    shown = f"```python\n{kind + ' ' if kind == 'class' else ''}{signature}\n```"
    parts = [f"## {entry.path} {{ #{entry.path} }}", shown, markdown(doc), *_differs(entry)]
    return "\n\n".join(p for p in parts if p)


def _signature(entry: Entry) -> str:
    value = entry.value.__func__ if isinstance(entry.value, (classmethod, staticmethod)) else entry.value
    try:
        given = str(inspect.signature(value)) if not isinstance(value, property) else ""
    except (TypeError, ValueError):
        given = "(…)"
    return entry.name + re.sub(r" at 0x[0-9a-f]+", "", re.sub(r"\(self(, )?", "(", given))


def _differs(entry: Entry) -> list[str]:
    """Return the differences of an entry from PyTorch as a note."""
    said = differences().get(entry.path.removeprefix("torch.").removeprefix("Tensor."), [])
    lines = [f"    - {line}" for line in said]
    return ["\n".join(['!!! note "Differs from PyTorch"', "", *lines])] if lines else []


@functools.cache
def differences() -> dict[str, list[str]]:
    """Return the known differences by op, from the op matrix and from the coverage page."""
    found: dict[str, list[str]] = {}
    for d in DIFFERENCES:
        of = f"{', '.join(d.checks)}{' of ' + ', '.join(d.dtypes) if d.dtypes else ''}"
        line = f"{text(d.reason)} ({of})"
        said = found.setdefault(_op(d.op), [])
        if line not in said:
            said.append(line)
    for name, kinds in _dtypes_not_taken():
        found.setdefault(name, []).append(f"dtypes that PyTorch takes and this does not: {', '.join(KINDS[k] for k in kinds)}")
    return found


def _op(name: str) -> str:
    """Return the op of a record: ``linalg.norm.subgradients_at_zero`` -> ``linalg.norm``."""
    while name not in RECORDS and "." in name and not _is_here(name):
        name = name.rpartition(".")[0]
    return name


def _is_here(name: str) -> bool:
    at: Any = jtorch
    for part in name.split("."):
        at = getattr(at, part, None)
    return at is not None


def _dtypes_not_taken() -> Iterator[tuple[str, str]]:
    for path, body in re.findall(r"^## ([\w.]+)\n(.*?)(?=^## |\Z)", COVERAGE.read_text(), re.MULTILINE | re.DOTALL):
        if path != "torch.Tensor":
            for name, struck in re.findall(r"^\| `(\w+)` \| ✓ \| \w*~~(\w+)~~", body, re.MULTILINE):
                yield f"{path}.{name}".removeprefix("torch."), struck


def _contents(found: Mapping[str, tuple[str, list[Entry]]]) -> str:
    lines = ["# API reference", "", "Made from the docstrings of the library, under PyTorch's headings. A note says "
                                    "where something "
             "differs from PyTorch's; [Differences](../differences.md) has all of them, [Coverage](../coverage.md) "
             "what is missing. "
             "In code, `torch` is `import jtorch as torch`.", "", "| page | names |", "|---|---|"]
    lines += [f"| [{title}]({place}.md) | {', '.join(e.name for e in entries[:6])}{', …' if len(entries) > 6 else ''} |"
              for place, (title, entries) in found.items()]
    return "\n".join(lines).replace("_", r"\_") + "\n"
