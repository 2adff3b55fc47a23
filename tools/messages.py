"""Write docs/messages.md, the messages of common mistakes, from the tests' mistakes. ``python -m tools.messages``.

``--check`` only compares.
"""
from __future__ import annotations

import fractions
import io
import re
import sys
import textwrap
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import numpy as np

import jtorch
from tests.docs.mistakes import LEARNING, PORTING, Mistake
from tools.pages import write_or_check

PAGE = Path(__file__).parent.parent / "docs" / "messages.md"
INTRO = """\
# What errors say

`python -m tools.messages` writes this page from `tests/docs/mistakes.py`. The tests make each mistake and run its fix. An
error has PyTorch's text. Its notes name the fix, and Python prints them below the error.
"""


def run(code: str) -> tuple[str, str, list[str]] | None:
    """Run code. Return the kind of its error or warning, the message and the notes; None without a message."""
    scope: dict[str, Any] = {"torch": jtorch, "jax": jax, "np": np, "io": io, "fractions": fractions}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            exec(code, scope)
        except Exception as error:
            return type(error).__name__, str(error), list(getattr(error, "__notes__", []))
    return (caught[0].category.__name__, str(caught[0].message), []) if caught else None


def section(mistake: Mistake) -> str:
    """Return the part of the page about one mistake."""
    said = run(mistake.wrong)
    assert said is not None, mistake.title
    kind, message, notes = said
    shown = "\n".join(textwrap.fill(line, 120) for line in [f"{kind}: {_plain(message)}", *(n for n in notes if not _is_jaxs(n))])
    return "\n\n".join([f"### {mistake.title}", f"```python skip\n{mistake.wrong}\n```", f"```text\n{shown}\n```", "Instead:",
                        f"```python skip\n{mistake.instead}\n```"])


def _plain(message: str) -> str:
    """Return a message without colours and without its note on where the error occurred, cut to about 600 characters."""
    first = re.sub(r"\x1b\[\d+m", "", message).partition("\nThe error occurred")[0]
    return first if len(first) < 600 else first[:600].rpartition(". ")[0] + ". …"


def _is_jaxs(note: str) -> bool:
    return "JAX has removed" in note


def page() -> str:
    """Return the text of docs/messages.md."""
    parts = [("## While learning", LEARNING), ("## While porting", PORTING)]
    return "\n\n".join([INTRO.rstrip(), *(s for title, group in parts for s in (title, *map(section, group)))]) + "\n"


def main(write: Callable[[str], object] = print) -> int:
    """Write the page, or with --check report a stale page."""
    return write_or_check(PAGE, page(), "tools.messages", f"{len(LEARNING) + len(PORTING)} mistakes", write)


if __name__ == "__main__":
    sys.exit(main())
