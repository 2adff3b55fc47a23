"""The Python blocks of README.md and the pages of docs/ run in order, and print the text blocks after them.

``tools/blocks.py`` says which blocks are run.
"""
from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from jtorch import backends, engine
from jtorch.engine import stats
from tools.blocks import Block, blocks, commands, main, wrong

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
TUTORIALS = [p for p in PAGES if p.parent.name == "tutorials"]


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_page(page, monkeypatch):
    monkeypatch.setattr(backends.cudnn, "benchmark", False)     # Restored after the test, since a page sets it.
    engine.forget()
    stats.reset()       # The counters of the engine on the pages start at 0.
    found = wrong(page, str(page.relative_to(ROOT)))
    if found is not None:
        pytest.fail(found)


@pytest.mark.slow
@pytest.mark.parametrize(("page", "command"), [(p, c) for p in TUTORIALS for c in commands(p.read_text(encoding="utf-8"))],
                         ids=lambda x: x.name if isinstance(x, Path) else "command")
def test_command(page, command, tmp_path):
    """Run a tutorial's program in a shell, as a reader would."""
    if command.needs:
        pytest.importorskip(command.needs)
    for name, code in command.files.items():
        (tmp_path / name).write_text(code, encoding="utf-8")
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    env = {**os.environ, "PYTHONPATH": str(ROOT), "JAX_PLATFORMS": "cpu", "PATH": path}
    done = subprocess.run(command.line, shell=True, cwd=tmp_path, env=env, text=True, capture_output=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    assert command.printed in done.stdout       # Gloo, which torch.distributed uses, prints too.


def test_blocks_are_found():
    text = ("a\n```python\nx = 1\n```\n\n```text\n1\n```\n```python skip\n?\n```\n"
            "```python\ny\n```\nno\n```text\n2\n```\n")
    assert blocks(text) == [Block("x = 1\n", 2, "1\n"), Block("y\n", 12, None)]


def test_a_wrong_page_is_found(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("```python\nprint(1 + 1)\n```\n```text\n3\n```\n")
    assert wrong(page, "page.md").startswith("page.md:1 prints\n2")
    said: list[str] = []
    assert main([str(page)], said.append) == 1
    page.write_text("```python\nprint(1 + 1)\n```\n```text\n2\n```\n")
    assert main([str(page)], said.append) == 0


def test_commands_are_found():
    (found,) = commands('```python title="a.py"\nprint(1)\n```\n```bash optax\npython a.py\n```\n```text\n1\n```\n```bash\nls\n```\n')
    assert found == ("python a.py", {"a.py": "print(1)\n"}, "optax", "1\n")
