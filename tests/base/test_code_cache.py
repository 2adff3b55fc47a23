"""Generated code is compiled once and kept in Python's bytecode cache."""
from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

from jtorch._base import code_cache

SOURCE = "x = 1 + 1\n"


@pytest.fixture
def module(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    monkeypatch.setattr(sys, "pycache_prefix", str(tmp_path / "cache"))
    return str(tmp_path / "module.py")


def kept(module) -> list[Path]:
    return list(Path(importlib.util.cache_from_source(module)).parent.glob("*"))


def made(source, module, monkeypatch) -> tuple[dict, int]:
    """Return the names set by the code, and the number of compilations."""
    count = []
    monkeypatch.setattr(code_cache, "compile", lambda *args: count.append(1) or compile(*args), raising=False)
    space: dict = {}
    exec(code_cache.compiled(source, "<made>", module), space)
    return space, len(count)


def test_what_was_compiled_is_read_the_next_time(module, monkeypatch):
    assert made(SOURCE, module, monkeypatch)[1] == 1
    space, compiled = made(SOURCE, module, monkeypatch)
    assert (space["x"], compiled, len(kept(module))) == (2, 0, 1)


def test_another_source_is_compiled(module, monkeypatch):
    made(SOURCE, module, monkeypatch)
    space, compiled = made("x = 5\n", module, monkeypatch)
    assert (space["x"], compiled) == (5, 1)


@pytest.mark.parametrize("content", [b"", b"short", 40])
def test_a_damaged_file_is_compiled_again(module, monkeypatch, content):
    made(SOURCE, module, monkeypatch)
    file = kept(module)[0]
    file.write_bytes(file.read_bytes()[:content] if isinstance(content, int) else content)
    space, compiled = made(SOURCE, module, monkeypatch)
    assert (space["x"], compiled) == (2, 1)
    assert made(SOURCE, module, monkeypatch)[1] == 0


def test_nothing_is_written_where_python_writes_nothing(module, monkeypatch):
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    assert made(SOURCE, module, monkeypatch)[1] == 1
    assert kept(module) == []


def test_a_place_that_cannot_be_written_to_is_no_error(module, monkeypatch, tmp_path):
    (tmp_path / "cache").write_text("a file where the folder would be")
    assert made(SOURCE, module, monkeypatch)[0]["x"] == 2
