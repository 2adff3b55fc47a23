"""Check a project: read its files, look its names up, and sort them."""
from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from jtorch.check import files, reading
from jtorch.check.known import Known, Verdict
from jtorch.check.statements import REFUSED, Statement, instead_of

MAX_STEPS = 6           # the number of re-exports that are followed from file to file
_FROM = re.compile(r"^\s*from\s+\.*([\w.]*)\s+import\b", re.MULTILINE)
_MARKS = ("torch", "import *")


@dataclass(frozen=True, slots=True)
class Place:
    """A place that uses a name."""

    file: str
    line: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}" if self.line.isdigit() else f"{self.file} ({self.line})"


@dataclass(slots=True)
class Finding:
    """A name with a kind of problem: a message, a replacement, and the places that use the name."""

    kind: str
    name: str
    says: str = ""
    instead: str = ""
    places: list[Place] = field(default_factory=list)


@dataclass
class Report:
    """The findings, and the names that the sources use."""

    findings: dict[tuple[str, str, str], Finding] = field(default_factory=dict)
    names: set[str] = field(default_factory=set)
    absent: set[str] = field(default_factory=set)
    read: int = 0
    using: int = 0
    unreadable: list[str] = field(default_factory=list)
    version: str = ""

    def add(self, kind: str, name: str, place: Place, says: str = "", instead: str = "") -> None:
        """Note one use."""
        found = self.findings.setdefault((kind, name, says), Finding(kind, name, says, instead))
        if place not in found.places:
            found.places.append(place)

    def of(self, *kinds: str) -> list[Finding]:
        """Return the findings of some kinds, by name."""
        return sorted((f for f in self.findings.values() if f.kind in kinds), key=lambda f: f.name)

    @property
    def here(self) -> int:
        """The number of names that jtorch has."""
        return len(self.names - self.absent)


@dataclass(frozen=True, slots=True)
class _Read:
    source: files.Source
    result: reading.Result | None       # None if the file is not Python


def check(paths: Iterable[Path]) -> Report:
    """Return a report of the PyTorch names that projects use, without running the projects."""
    known = Known()
    report = Report(version=known.version)
    found = [(path, root) for root in paths for path in files.find(root)]
    report.read = len(found)
    loaded = [source for path, root in found if (source := _load(path, root, report)) is not None]
    modules = frozenset(m for s in loaded for m in (s.module, s.module.removesuffix(".__init__")))
    facts = reading.Facts(known.functions, known.methods, known.noted, modules)
    marked = [source for source in loaded if any(mark in source.text for mark in _MARKS)]
    results = [_read(source, facts) for source in marked]
    results += [_read(source, facts) for source in _importing(loaded, marked, results)]
    _Lookup(known, report, results).run()
    return report


def _importing(loaded: list[files.Source], marked: list[files.Source], results: list[_Read]) -> list[files.Source]:
    """Return the files without the word torch that import from a file which exports names of torch."""
    names = {r.source.module.removesuffix(".__init__").rpartition(".")[2] for r in results if r.result and r.result.exports}
    rest = set(loaded) - set(marked)
    return [s for s in loaded if s in rest and any(m.rpartition(".")[2] in names for m in _FROM.findall(s.text))]


def _load(path: Path, root: Path, report: Report) -> files.Source | None:
    source = files.load(path, root if root.is_dir() else root.parent)
    if source is None:
        report.unreadable.append(str(path))
    return source


def _read(source: files.Source, facts: reading.Facts) -> _Read:
    tree = files.parse(source.text)
    try:
        return _Read(source, None if tree is None else reading.read(tree, source.module, facts))
    except RecursionError:
        return _Read(source, None)


def _is_harmless(use: reading.Use, name: str) -> bool:
    """Return whether a use of a refused name raises nothing: an import, a class in isinstance, an operator that is compared."""
    may_stand = name.rpartition(".")[2][:1].isupper() or name.startswith("torch.ops.")
    return use.how == "import" or (may_stand and use.keywords is None and use.how != "base")


class _Lookup:
    """Look up the names that files use."""

    def __init__(self, known: Known, report: Report, results: list[_Read]) -> None:
        self.known, self.report, self.results = known, report, results
        self.exports = {name: r.result for r in results if r.result is not None
                        for name in (r.source.module, r.source.module.removesuffix(".__init__"))}
        self.defined = {name for r in results if r.result is not None for name in r.result.defines}
        self.verdicts: dict[str, Verdict] = {}

    def run(self) -> None:
        """Fill the report."""
        for one in self.results:
            if one.result is None:
                self.report.unreadable.append(one.source.path)
                continue
            before = len(self.report.names)
            asked = {path for name in one.result.asked for path in self.spelled(name)}
            uses = [(use, path) for use in one.result.uses for path in self.spelled(use.path)]
            for use, path in uses:
                self.note(use, path, asked, Place(one.source.path, one.source.place(use.line)))
            self.report.using += bool(uses) or len(self.report.names) > before

    def spelled(self, path: str, steps: int = 0) -> list[str]:
        """Return the PyTorch paths that a use's path stands for. A name of another file is resolved by that file's imports."""
        if not path.startswith("@"):
            return [path]
        module, _, rest = path[1:].partition(":")
        name, dot, more = rest.partition(".")
        result = self.exports.get(module)
        if result is None or steps > MAX_STEPS:
            return []
        if name in result.exports:
            return self.spelled(f"{result.exports[name]}{dot}{more}", steps + 1)
        starred = (reading.path_in(s, rest) for s in result.stars)
        return [p for s in starred for p in self.spelled(s, steps + 1) if self.verdict(p).kind != "unknown"]

    def verdict(self, path: str) -> Verdict:
        found = self.verdicts.get(path)
        if found is None:
            found = self.verdicts[path] = self.known.verdict(path)
        return found

    def note(self, use: reading.Use, path: str, asked: set[str], place: Place) -> None:
        """Add one use to the report, if there is something to say about it."""
        if use.how == "attribute":
            self._note_attribute(use, path, asked, place)
            return
        owner = path.rpartition(".")[0] if use.how == "stored" else path
        found = self.verdict(owner)
        if use.how == "member" and ((found.kind == "here" and found.name == path) or path.rpartition(".")[2] in self.defined):
            return
        if use.how == "value" and found.kind != "refused":
            return
        if found.kind == "here":
            self._note_here(use, path, found.name, place)
        elif found.kind != "unknown" or use.how != "star":
            self._note_absent(use, found, asked, place)

    def _note_here(self, use: reading.Use, path: str, name: str, place: Place) -> None:
        if name not in self.known.modules:
            self.report.names.add(name)
        for one in self.known.statements(path, name, use.keywords):
            shown = path if any(n in (path, f"{path.rpartition('.')[0]}.*") for n in one.names) else name
            self._say(one, shown, place)

    def _say(self, one: Statement, name: str, place: Place) -> None:
        argument = "" if not one.keyword else f"(…) without {one.keyword}=" if one.without else f"({one.keyword}=…)"
        self.report.add(one.kind, name + argument, place, one.says, one.instead)

    def _note_absent(self, use: reading.Use, found: Verdict, asked: set[str], place: Place) -> None:
        if found.kind == "unknown":
            self.report.add("unknown", found.name, place)
            return
        if found.kind == "device":
            self.report.add("device", found.name, place)
            return
        self.report.names.add(found.name)
        if found.kind == "refused" and _is_harmless(use, found.name):
            return
        self.report.absent.add(found.name)
        kind = "guarded" if self._is_guarded(use, found.name, asked) else "refused" if found.kind == "refused" else "missing"
        self.report.add(kind, found.name, place, instead=found.says or instead_of(found.name))

    def _note_attribute(self, use: reading.Use, name: str, asked: set[str], place: Place) -> None:
        """Report an attribute of an object of unknown type, if only tensors have it or a ``Statement`` is about its calls."""
        if name in self.defined:
            return
        path = f"torch.Tensor.{name}"
        if name in self.known.of_tensors_only:
            self._note_absent(use, Verdict("missing", path), asked, place)
        elif use.keywords is not None:
            for one in self.known.statements(path, path, use.keywords):
                if path in one.names:
                    self._say(one, path, place)

    def _is_guarded(self, use: reading.Use, name: str, asked: set[str]) -> bool:
        if any(name == path or name.startswith(f"{path}.") or path.startswith(f"{name}.") for path in asked):
            return True
        return any(g.why in ("caught", "types") or all(self._is_here(p) for p in g.paths) for g in use.guards)

    def _is_here(self, path: str) -> bool:
        found = [self.verdict(p).kind == "here" for p in self.spelled(path)]
        return bool(found) and all(found)


def is_missing(finding: Finding) -> bool:
    """Return whether a finding makes the command's status 1."""
    return finding.kind in ("missing", REFUSED)
