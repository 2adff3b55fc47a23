"""Check that the workflows call scripts that exist, on the Pythons of the classifiers."""
from __future__ import annotations

import os
import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
WORKFLOWS = {path.name: path.read_text() for path in sorted((ROOT / ".github" / "workflows").glob("*.yml"))}
pytestmark = pytest.mark.skipif(not WORKFLOWS, reason="a source distribution has no workflows")


@pytest.mark.parametrize("name", WORKFLOWS)
def test_scripts_can_be_run(name):
    called = set(re.findall(r"(?:scripts|\.ci)/\w+", WORKFLOWS[name]))
    assert called
    assert not [script for script in called if not os.access(ROOT / script, os.X_OK)]


def test_pythons_are_those_of_the_classifiers():
    classifiers = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["classifiers"]
    supported = {c.rpartition(" ")[2] for c in classifiers if re.search(r":: 3\.\d+$", c)}
    named = {name: set(re.findall(r'"(3\.\d+)"', text)) for name, text in WORKFLOWS.items()}
    assert named["pull_request.yml"] == supported
    assert set().union(*named.values()) <= supported
