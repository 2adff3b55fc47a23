"""Write generated pages of the docs, or check them."""
from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path


def write_or_check(page: Path, text: str, module: str, done: str, write: Callable[[str], object]) -> int:
    """Write ``text`` to a page and report ``done``. With --check compare instead, and return 1 if the page is stale."""
    name = f"{page.parent.name}/{page.name}"
    if "--check" in sys.argv:
        stale = not page.exists() or page.read_text() != text
        write(f"{name} is stale: run `python -m {module}`" if stale else f"{name} is right.")
        return int(stale)
    page.write_text(text)
    write(done)
    return 0
