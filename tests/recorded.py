"""PyTorch's outcomes of the bodies of ``same``, recorded for comparisons without PyTorch.

``scripts/test --record`` writes ``recorded.json.gz``. It maps tests and their bodies to outcomes as plain JSON, and names the
version of PyTorch.
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
    """Return the recorded outcomes of a test, by the texts of its bodies."""
    return _file()["outcomes"].get(name, {})


def is_of(version: str) -> bool:
    """Return whether the record is of this version of PyTorch."""
    return _file()["torch"] == version


def write(made: dict[str, dict[str, Any]], version: str) -> None:
    """Replace the recorded outcomes of the tests in ``made``, and keep those of other tests."""
    outcomes = short(dict(sorted({**_file()["outcomes"], **made}.items())))
    text = json.dumps({"torch": version, "outcomes": outcomes}, separators=(",", ":"))
    FILE.write_bytes(gzip.compress(text.encode(), mtime=0))


def short(x: Any) -> Any:
    """Return the outcomes with floats rounded to nine digits, more than tests compare."""
    if isinstance(x, dict):
        return {k: short(v) for k, v in x.items()}
    if isinstance(x, list):
        return [short(v) for v in x]
    return float(f"{x:.9g}") if isinstance(x, float) else x


def text_of(body: Callable) -> str:
    """Return the key of a body: its label or its source, so that an outcome from before a change is not found."""
    return getattr(body, "label", None) or source(body)


def numbered(texts: list[str]) -> list[str]:
    """Return each text once: repeated texts get a number."""
    return [text if text not in texts[:k] else f"{text} ({texts[:k].count(text) + 1})" for k, text in enumerate(texts)]


class Same:
    """Run bodies for one test, ``name``, and compare their outcomes with PyTorch's present or recorded outcomes."""

    made: ClassVar[dict[str, dict[str, Any]]] = {}      # The outcomes recorded in this run.

    def __init__(self, name: str, record: bool):
        self.name, self.record = name, record

    def __call__(self, *bodies: Callable, rtol: float = 1e-5) -> None:
        """Fail if the outcome of a body (a function of ``xp``) differs from PyTorch's, floats to ``rtol``."""
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
    """Return an outcome as JSON: lists for tuples, and marked pairs for types that JSON lacks."""
    if isinstance(x, dict):
        return {"dict": [[plain(k), plain(v)] for k, v in sorted(x.items(), key=repr)]}
    if isinstance(x, (list, tuple)):
        return [plain(v) for v in x]
    if isinstance(x, complex):
        return {"complex": [x.real, x.imag]}
    if isinstance(x, int) and not isinstance(x, bool):
        return int(x)       # The number may be a member of an enumeration.
    return {"bytes": x.hex()} if isinstance(x, bytes) else x
