"""PyTorch's recorded names, and what jtorch has of each."""
from __future__ import annotations

import gzip
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from jtorch.check.statements import STATEMENTS, Statement

FOLDER = Path(__file__).parent
_OPEN = {"torch.ops", "torch.classes"}      # All names in these modules count as known, since users register some.
DEVICES = ("torch.mps", "torch.xpu", "torch.mtia")


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether jtorch has a name: ``kind`` is "here", "missing", "refused", "device" or "unknown" (PyTorch lacks it too)."""

    kind: str
    name: str
    says: str = ""


class Known:
    """The tables ``pytorch_names.json.gz`` and ``lacking.json``, which tools write, and the statements of ``statements.py``."""

    def __init__(self) -> None:
        theirs = json.loads(gzip.decompress((FOLDER / "pytorch_names.json.gz").read_bytes()))
        lacking = json.loads((FOLDER / "lacking.json").read_text(encoding="utf-8"))
        self.version: str = theirs["version"]
        self.modules, self.aliases, self.tensors = theirs["modules"], theirs["aliases"], theirs["tensors"]
        self.absent, self.lacking, self.refused = set(lacking["modules"]), lacking["names"], lacking["refused"]
        self.members = {kind: names.split() for names, kinds in lacking["members"].items() for kind in kinds.split()}
        self.parameters, self.extra, self.calls = lacking["parameters"], lacking["extra"], lacking["calls"]

    def verdict(self, path: str) -> Verdict:
        """Return whether jtorch has a dotted path. The verdict's ``name`` is the part of the path that decided it."""
        at, *rest = path.split(".")
        for i, name in enumerate(rest):
            full = f"{at}.{name}"
            if name.startswith("__"):
                return Verdict("here", at)
            found = self._own(at, name, rest[i + 1:])
            if found is not None:
                return found
            target = self._module(full)
            if target is None and ".".join(at.split(".")[:2]) in _OPEN:
                return Verdict("here", full)
            if target is None:
                return self._member(full, rest[i + 1:]) if self._is_named(at, name) else Verdict("unknown", full)
            at = target
        return Verdict("here", at)

    def _own(self, at: str, name: str, rest: list[str]) -> Verdict | None:
        """Return the verdict on a missing or refused name, else None. A refused module may have a few functions that work."""
        full = f"{at}.{name}"
        if full in self.refused:
            part = self._named_part(full, rest)
            if part in self.modules or self._is_answer(part):
                return Verdict("here", part)        # an import of the module, or a function of the module that works
            says = next(self.refused[p] for p in (part, *_parents(part)) if p in self.refused)
            return Verdict("device" if full.startswith(DEVICES) else "refused", part, _without_name(says))
        if full in self.absent or name in self._lacking(at):
            return Verdict("missing", full)
        if name in self.calls.get(at, "").split():
            return Verdict("refused", full, "the functions of torch, torch.nn.functional or Tensor that compute the same")
        return None

    def _named_part(self, module: str, rest: list[str]) -> str:
        """Return a path up to the first name that is no module."""
        for name in rest if module in self.modules else ():
            module = f"{module}.{name}"
            if module not in self.modules:
                break
        return module

    def _lacking(self, module: str) -> set[str]:
        return set(self.lacking.get(module, "").split())

    def _module(self, full: str) -> str | None:
        return full if full in self.modules else self.aliases.get(full)

    def _is_named(self, module: str, name: str) -> bool:
        return name in self.modules[module].split() or name in self.extra.get(module, "").split()

    def _member(self, full: str, rest: list[str]) -> Verdict:
        if rest and rest[0] in self.members.get(full, ()):
            return Verdict("missing", f"{full}.{rest[0]}")
        return Verdict("here", full)

    def statements(self, path: str, name: str, keywords: Mapping[str, Any] | None) -> Iterator[Statement]:
        """Yield the statements that apply to a use of a name that jtorch has."""
        spaces = () if self._is_answer(path) else (f"{parent}.*" for parent in _parents(path))
        for key in {path, name, *spaces}:
            yield from (s for s in self._by_name.get(key, ()) if s.applies(keywords))
        for parameter in (keywords or {}) if path == name else ():
            if parameter in self.parameters.get(name, "").split():
                yield Statement((name,), "refused", f"takes no argument `{parameter}`", keyword=parameter)

    def _is_answer(self, path: str) -> bool:
        """Return whether a name works though its module is refused."""
        module, _, name = path.rpartition(".")
        is_refused = any(parent in self.refused for parent in (module, *_parents(module)))
        return is_refused and name in self.extra.get(module, "").split()

    @cached_property
    def _by_name(self) -> dict[str, list[Statement]]:
        found: dict[str, list[Statement]] = {}
        for statement in STATEMENTS:
            for name in statement.names:
                found.setdefault(name, []).append(statement)
        return found

    @cached_property
    def functions(self) -> frozenset[str]:
        """The functions that return one tensor."""
        spaces = {space: names for space, names in self.tensors.items() if space != "torch.Tensor"}
        return frozenset(f"{space}.{n}" for space, names in spaces.items() for n in names.split())

    @cached_property
    def methods(self) -> frozenset[str]:
        """The methods of tensors that return one tensor."""
        return frozenset(self.tensors["torch.Tensor"].split())

    @cached_property
    def noted(self) -> frozenset[str]:
        """The members of objects that have a statement or that jtorch lacks."""
        stated = {name.rpartition(".")[2] for name in self._by_name}
        return frozenset({*stated, *(n for names in self.members.values() for n in names)})

    @cached_property
    def of_tensors_only(self) -> frozenset[str]:
        """The names of Tensor in ``_OF_TENSORS`` that jtorch lacks. No other class has them, as far as one can say."""
        return frozenset(n for n in self.members.get("torch.Tensor", ()) if n in _OF_TENSORS)


_NAMED = re.compile(r"^torch[\w.]*(: not built\.?| is not built[;:.]?|:)\s*")


def _without_name(says: str) -> str:
    """Return a refusal's text without the name: ``torch.x is not built; y does the same`` becomes ``y does the same``."""
    return _NAMED.sub("", says).rstrip(".")


_OF_TENSORS = frozenset("""
    int_repr q_per_channel_axis q_per_channel_scales q_per_channel_zero_points q_scale q_zero_point resize_as_sparse_
    record_stream slice_inverse to_mkldnn grad_dtype chalf
""".split())


def _parents(path: str) -> Iterator[str]:
    while "." in path:
        path = path.rpartition(".")[0]
        yield path
