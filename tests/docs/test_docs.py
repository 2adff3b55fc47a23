"""The Python blocks of README.md and docs/*.md run, in order, and print what the text blocks after them say.

A block that begins ```python skip is shown but not run. ``...`` in a text block stands for anything.
"""
from __future__ import annotations

import contextlib
import doctest
import io
import re
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = [p for p in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))] if p.exists()]
FENCED = re.compile(r"^```(?P<kind>[^\n`]*)\n(?P<body>.*?)^```[ \t]*$", re.MULTILINE | re.DOTALL)
SAME = doctest.OutputChecker()


class Block(NamedTuple):
    """Python code of a page, the line it starts at, and what it is to print (None: not checked)."""

    code: str
    line: int
    printed: str | None


def blocks(text: str) -> list[Block]:
    found = list(FENCED.finditer(text))
    made = []
    for m, after in zip(found, [*found, None][1:], strict=True):
        if m["kind"].strip() == "python":
            follows = after is not None and after["kind"].strip() == "text" and not text[m.end():after.start()].strip()
            made.append(Block(m["body"], text.count("\n", 0, m.start("body")), after["body"] if follows else None))
    return made


def run(block: Block, page: str, scope: dict) -> str:
    """What the block prints; its traceback names the page's own line."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile("\n" * block.line + block.code, page, "exec"), scope)
    return out.getvalue()


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_page(page):
    name, scope = str(page.relative_to(ROOT)), {"__name__": "__main__"}
    for block in blocks(page.read_text(encoding="utf-8")):
        got = run(block, name, scope)
        if block.printed is not None and not SAME.check_output(block.printed, got, doctest.ELLIPSIS):
            pytest.fail(f"{name}:{block.line} prints\n{got}\nbut the page says\n{block.printed}")


def test_blocks_are_found():
    text = ("a\n```python\nx = 1\n```\n\n```text\n1\n```\n```python skip\n?\n```\n"
            "```python\ny\n```\nno\n```text\n2\n```\n")
    assert blocks(text) == [Block("x = 1\n", 2, "1\n"), Block("y\n", 12, None)]


def test_a_wrong_page_fails(tmp_path, monkeypatch):
    (tmp_path / "page.md").write_text("```python\nprint(1 + 1)\n```\n```text\n3\n```\n")
    monkeypatch.setitem(globals(), "ROOT", tmp_path)
    with pytest.raises(pytest.fail.Exception, match="page.md:1 prints\n2"):
        test_page(tmp_path / "page.md")
