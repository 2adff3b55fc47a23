"""What the bodies of ``same`` come to in PyTorch, recorded: compared with where PyTorch is not installed.

``scripts/test --record`` writes ``recorded.json.gz``: by test, then by body, an outcome as plain JSON; and of which PyTorch.
"""
from __future__ import annotations

import functools
import gzip
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, ClassVar

import pytest
from bodies import source
from libraries import HAS_TORCH, library
from outcomes import close, compare, outcome

FILE = Path(__file__).with_name("recorded.json.gz")


@functools.cache
def _file() -> dict[str, Any]:
    return json.loads(gzip.decompress(FILE.read_bytes())) if FILE.exists() else {"torch": "", "outcomes": {}}


def recorded(name: str) -> dict[str, Any]:
    """What is recorded of a test: the texts of bodies, and their outcomes."""
    return _file()["outcomes"].get(name, {})


def is_of(version: str) -> bool:
    """Whether it is recorded of this version of PyTorch: others say other things."""
    return _file()["torch"] == version


def write(made: dict[str, dict[str, Any]], version: str) -> None:
    """Replaces what is recorded of the tests in ``made``, and keeps that of others."""
    outcomes = short(dict(sorted({**_file()["outcomes"], **made}.items())))
    text = json.dumps({"torch": version, "outcomes": outcomes}, separators=(",", ":"))
    FILE.write_bytes(gzip.compress(text.encode(), mtime=0))


def short(x: Any) -> Any:
    """The same with floats to nine digits, which is more than tests compare."""
    if isinstance(x, dict):
        return {k: short(v) for k, v in x.items()}
    if isinstance(x, list):
        return [short(v) for v in x]
    return float(f"{x:.9g}") if isinstance(x, float) else x


def text_of(body: Callable) -> str:
    """Return what a body is found by: its label or its source, so that no outcome from before a change is found."""
    return getattr(body, "label", None) or source(body)


def numbered(texts: list[str]) -> list[str]:
    """Each text once: those that are there already get a number."""
    return [text if text not in texts[:k] else f"{text} ({texts[:k].count(text) + 1})" for k, text in enumerate(texts)]


class Same:
    """Runs bodies for one test, ``name``, and compares their outcomes with PyTorch's, which it has now or has recorded."""

    made: ClassVar[dict[str, dict[str, Any]]] = {}      # The outcomes recorded in this run.

    def __init__(self, name: str, record: bool):
        self.name, self.record = name, record

    def __call__(self, *bodies: Callable, rtol: float = 1e-5) -> None:
        """Fail where a body (a function of ``xp``) comes to something else than in PyTorch, floats to ``rtol``."""
        texts = numbered([text_of(b) for b in bodies])
        expected = self._live(bodies, texts, rtol) if HAS_TORCH else self._recorded(texts)
        compare(texts, expected, [plain(outcome(b, library("jtorch"))) for b in bodies], rtol)

    def lines(self, key: str, run: Callable[[], list[str]], *, anew: bool = False) -> list[str]:
        """Return the lines that a program prints with PyTorch, as recorded under ``key``; run it if ``anew`` or not recorded."""
        known = recorded(self.name)
        if not HAS_TORCH and key not in known:
            pytest.skip("not recorded: scripts/test --record does it, with PyTorch")
        if not HAS_TORCH or (key in known and not anew and not self.record):
            return known[key]
        found = run()
        if self.record:
            self.made.setdefault(self.name, {})[key] = found
        return found

    def _live(self, bodies: Sequence[Callable], texts: list[str], rtol: float) -> list[Any]:
        found = [plain(outcome(b, library("torch"))) for b in bodies]
        if self.record:
            self.made.setdefault(self.name, {}).update(zip(texts, found, strict=True))
        elif is_of(library("torch").__version__):
            known = recorded(self.name)
            old = [t for t, now in zip(texts, found, strict=True) if not close(known.get(t, "nothing"), now, rtol)]
            assert not old, f"what is recorded is not what PyTorch gives; scripts/test --record renews it: {old}"
        return found

    def _recorded(self, texts: list[str]) -> list[Any]:
        known = recorded(self.name)
        if not all(t in known for t in texts):
            pytest.skip("not recorded: scripts/test --record does it, with PyTorch")
        return [known[t] for t in texts]


def plain(x: Any) -> Any:
    """An outcome as JSON has it: lists for tuples, and marked pairs for what JSON has not."""
    if isinstance(x, dict):
        return {"dict": [[plain(k), plain(v)] for k, v in sorted(x.items(), key=repr)]}
    if isinstance(x, (list, tuple)):
        return [plain(v) for v in x]
    if isinstance(x, complex):
        return {"complex": [x.real, x.imag]}
    if isinstance(x, int) and not isinstance(x, bool):
        return int(x)       # The number may be a member of an enumeration.
    return {"bytes": x.hex()} if isinstance(x, bytes) else x
