"""The programs in the README print the documented text; commands, links and files named in the docs exist."""
from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text()
PROGRAMS = re.findall(r"```python\n(.*?)```.*?```text\n(.*?)```", README, re.DOTALL)


@pytest.mark.core
@pytest.mark.parametrize(("program", "printed"), PROGRAMS)
def test_programs(program, printed, run_python):
    assert run_python(program) == printed


@pytest.mark.conformance
@pytest.mark.parametrize(("program", "printed"), PROGRAMS)
def test_pytorch_prints_the_same(program, printed, run_python):
    assert run_python(program.replace("import jtorch as torch", "import torch")) == printed


def test_there_is_a_program():
    assert PROGRAMS


def test_commands_and_links():
    for command in re.findall(r"\bscripts/\w+", README):
        assert os.access(ROOT / command, os.X_OK), command
    for link in re.findall(r"\]\(([\w/.]+)\)", README):
        assert (ROOT / link).exists(), link


PAGES = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md"),
                *[p for top in ("jtorch", "tests", "benchmarks", "tools") for p in (ROOT / top).rglob("README.md")]])
SOURCES = [p.relative_to(ROOT).as_posix() for top in ("jtorch", "tests", "benchmarks", "tools", "docs", "examples")
           for p in (ROOT / top).rglob("*.*")] + [p.name for p in ROOT.iterdir()]


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_files_that_are_named_are_there(page):
    """A page may shorten paths by its own folders: ``trace.py``, ``engine/trace.py``."""
    named = set(re.findall(r"`([\w./]+\.(?:py|c|h|md))`", page.read_text()))
    assert not [name for name in named if not any(f"/{source}".endswith(f"/{name}") for source in SOURCES)]


def test_the_speed_table_has_rows_of_the_measurements():
    rows = [line for line in README.splitlines() if line.startswith("|") and line.count("|") == 7]
    assert len(rows) > 4
    measured = (ROOT / "docs" / "measurements" / "speed.md").read_text().splitlines()
    assert not [row for row in rows if row not in measured]
