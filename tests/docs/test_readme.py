"""The programs in the README print what it says they print, and the commands and files it names are there."""
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
