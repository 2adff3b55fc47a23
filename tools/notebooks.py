"""Make notebooks of the tutorials: ``python -m tools.notebooks folder``. ``--run`` runs each in a kernel of its own.

Each Python block of a page is a cell. ``--run`` compares the cells' output with the page.
"""
from __future__ import annotations

import argparse
import doctest
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tools.blocks import FENCED, runs

PAGES = Path(__file__).parent.parent / "docs" / "tutorials"


def cells(text: str) -> Iterator[tuple[str, str, str | None]]:
    """Yield (``markdown`` or ``code``, source, expected output) for each cell of a page."""
    at = 0
    found = list(FENCED.finditer(text))
    for k, m in enumerate(found):
        if not runs(m["kind"]):
            continue
        if text[at:m.start()].strip():
            yield "markdown", text[at:m.start()].strip(), None
        at = m.end()
        after = found[k + 1] if k + 1 < len(found) else None
        printed = None
        if after is not None and after["kind"].strip() == "text" and not text[m.end():after.start()].strip():
            printed, at = after["body"], after.end()        # The notebook prints the output itself.
        yield "code", m["body"].rstrip(), printed
    if text[at:].strip():
        yield "markdown", text[at:].strip(), None


def notebook(text: str) -> Any:
    """Return a page as a notebook."""
    import nbformat.v4 as form
    made = []
    for kind, source, printed in cells(re.sub(r"\]\((\w+)\.md\)", r"](\1.ipynb)", text)):
        if kind == "markdown":
            made.append(form.new_markdown_cell(source))
        else:
            made.append(form.new_code_cell(source, metadata={"prints": printed} if printed is not None else {}))
    for k, cell in enumerate(made):
        cell["id"] = f"cell-{k}"        # A fixed id keeps the file equal in each run.
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    return form.new_notebook(cells=made, metadata={"kernelspec": kernel})


def run(made: Any, name: str) -> list[str]:
    """Run a notebook. Return the differences from the expected output."""
    from nbclient import NotebookClient
    NotebookClient(made, timeout=300).execute()
    same, wrong = doctest.OutputChecker(), []
    for cell in made.cells:
        wanted = cell.metadata.get("prints")
        got = "".join(o.text for o in cell.get("outputs", ()) if o.output_type == "stream" and o.name == "stdout")
        if wanted is not None and not same.check_output(wanted, got, doctest.ELLIPSIS):
            wrong.append(f"{name}, {cell['id']}: prints\n{got}\nbut the page says\n{wanted}")
    return wrong


def main(argv: list[str] | None = None) -> int:
    """Write the notebooks. With --run also run them, and keep their output."""
    parser = argparse.ArgumentParser("python -m tools.notebooks", description="The tutorials as notebooks.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--run", action="store_true")
    parser.add_argument("--only", default="", help="a word in the page's name")
    given = parser.parse_args(argv)
    import nbformat
    given.folder.mkdir(parents=True, exist_ok=True)
    wrong: list[str] = []
    for page in sorted(p for p in PAGES.glob("*.md") if p.stem != "index" and given.only in p.stem):
        made = notebook(page.read_text(encoding="utf-8"))
        if given.run:
            wrong += run(made, page.stem)
        nbformat.write(made, given.folder / f"{page.stem}.ipynb")
        print(f"{page.stem}.ipynb{' ran' if given.run else ''}")
    print("\n".join(wrong) or "Notebooks are right.")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
