"""The code blocks of a page, with their expected output. ``python tools/blocks.py page.md`` runs pages.

A ```python skip block is shown but not run. A block with a package name (```python optax) is run if the package is installed.
``...`` in a text block matches anything. A block with a title (```python title="train.py") is a file, and the ```bash block
after it is run beside it.
"""
from __future__ import annotations

import contextlib
import doctest
import importlib.util
import io
import re
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

FENCED = re.compile(r"^```(?P<kind>[^\n`]*)\n(?P<body>.*?)^```[ \t]*$", re.MULTILINE | re.DOTALL)
_SAME = doctest.OutputChecker()


class Block(NamedTuple):
    """Python code of a page, its first line, and its expected output (None: not checked)."""

    code: str
    line: int
    printed: str | None


class Command(NamedTuple):
    """A command of a page, its files, the package it needs, and its expected output."""

    line: str
    files: dict[str, str]
    needs: str
    printed: str


def blocks(text: str) -> list[Block]:
    """Return the Python blocks of a page."""
    found = list(FENCED.finditer(text))
    made = []
    for m, after in zip(found, [*found, None][1:], strict=True):
        if runs(m["kind"]):
            follows = after is not None and after["kind"].strip() == "text" and not text[m.end():after.start()].strip()
            made.append(Block(m["body"], text.count("\n", 0, m.start("body")), after["body"] if after and follows else None))
    return made


def runs(kind: str) -> bool:
    """Return whether to run a block of this kind: plain Python, or Python for an installed package."""
    language, _, needs = kind.strip().partition(" ")
    named = needs.isidentifier() and needs != "skip" and importlib.util.find_spec(needs) is not None
    return language == "python" and (not needs or named)


def commands(text: str) -> list[Command]:
    """Return the commands of a page that run beside files of the page."""
    made, files, found = [], {}, list(FENCED.finditer(text))
    for m, after in zip(found, [*found, None][1:], strict=True):
        titled = re.fullmatch(r'python title="([\w.]+)"', m["kind"])
        if titled:
            files[titled[1]] = m["body"]
        elif m["kind"].split()[:1] == ["bash"] and files:
            printed = after["body"] if after is not None and after["kind"] == "text" else ""
            made.append(Command(m["body"].strip(), files, m["kind"].partition(" ")[2], printed))
            files = {}
    return made


def run(block: Block, page: str, scope: dict[str, Any]) -> str:
    """Run a block and return its output. The traceback of an error names the line of the page."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile("\n" * block.line + block.code, page, "exec"), scope)
    return out.getvalue()


def wrong(page: Path, name: str) -> str | None:
    """Run a page in an empty folder. Return the first difference from its expected output, None if there is none."""
    scope: dict[str, Any] = {"__name__": "__main__"}
    found = blocks(page.read_text(encoding="utf-8"))
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        for block in found:
            got = run(block, name, scope)
            if block.printed is not None and not _SAME.check_output(block.printed, got, doctest.ELLIPSIS):
                return f"{name}:{block.line} prints\n{got}\nbut the page says\n{block.printed}"
    return None


def main(pages: list[str], write: Callable[[str], object] = print) -> int:
    """Run pages and report each. Return the exit status."""
    found = [(page, wrong(Path(page), page)) for page in pages]
    for page, text in found:
        write(text or f"{page} is right.")
    return int(any(text for _, text in found))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
