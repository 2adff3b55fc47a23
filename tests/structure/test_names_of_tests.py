"""Test files and their helper modules have unique names, because they are imported by name alone."""
from __future__ import annotations

import ast
from collections import Counter
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
MODULES = [p for p in TESTS.rglob("*.py") if "programs" not in p.parts]      # Tests run the programs and do not import them.


def test_no_two_have_one_name():
    counts = Counter(p.name for p in MODULES if p.name not in ("conftest.py", "__init__.py", "__main__.py"))
    assert not [name for name, count in counts.items() if count > 1]


def test_nothing_is_imported_from_a_conftest():
    imports = [(p, node) for p in MODULES for node in ast.walk(ast.parse(p.read_text())) if isinstance(node, ast.ImportFrom)]
    assert not [p for p, node in imports if node.module == "conftest"]
