"""python -m jtorch.install: ``import torch`` for an environment, and its removal."""
from __future__ import annotations

import importlib.metadata
import os
import subprocess
import sys
from pathlib import Path

import pytest

from jtorch import install as installer

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def places(tmp_path, monkeypatch):
    monkeypatch.setattr(installer, "_check_importable", lambda: None)  # During tests jtorch may be on PYTHONPATH only.
    (tmp_path / "site").mkdir()
    return tmp_path / "site", tmp_path / "bin"


def _run(places, *command):
    environment = {**os.environ, "PYTHONPATH": f"{places[0]}{os.pathsep}{ROOT}"}
    return subprocess.run([sys.executable, *command], env=environment, capture_output=True, text=True, timeout=300, check=False)


def test_other_processes_import_it(places):
    installer.install(*places)
    ran = _run(places, "-c", "import torch, importlib.metadata as m, torch.nn.functional as F\n"
                             "print(m.version('torch'), torch.__version__, F is torch.nn.functional, torch.ones(2).sum().item())")
    assert ran.stdout.split() == [installer.__version__, installer.__version__, "True", "2.0"], ran.stderr
    found = next(iter(importlib.metadata.distributions(name="torch", path=[str(places[0])])))
    assert all(file.locate().exists() for file in found.files)
    assert (places[1] / "torchrun").stat().st_mode & 0o111


def test_environments_that_an_earlier_version_installed_still_work(places):
    installer.install(*places)
    start = places[0] / "torch" / "__init__.py"
    start.write_text(start.read_text().replace("_import_hook", "_as_torch"))
    ran = _run(places, "-c", "import torch; print(torch.nn.__name__, torch.ones(2).sum().item())")
    assert ran.stdout.split() == ["torch.nn", "2.0"], ran.stderr


def test_removing_leaves_nothing(places):
    installer.install(*places)
    _run(places, "-c", "import torch, functorch.compile")
    assert installer.remove(*places) and not installer.remove(*places)
    assert not list(places[0].iterdir()) and not list(places[1].iterdir())


def test_pytorch_is_left_alone(places):
    theirs = places[0] / "torch-2.4.0.dist-info"
    theirs.mkdir()
    (theirs / "METADATA").write_text("Metadata-Version: 2.1\nName: torch\nVersion: 2.4.0\n")
    (theirs / "INSTALLER").write_text("pip\n")
    for do in (installer.install, installer.remove):
        with pytest.raises(installer.InstallError, match="PyTorch 2.4.0"):
            do(*places)
    assert [p.name for p in places[0].iterdir()] == ["torch-2.4.0.dist-info"]


def test_a_folder_of_the_name_is_left_alone(places):
    (places[0] / "torch").mkdir()
    with pytest.raises(installer.InstallError, match="exists already"):
        installer.install(*places)


def test_the_version_is_written_once_more():
    metadata = (installer.TEMPLATE / "torch.dist-info" / "METADATA").read_text()
    assert f"Version: {installer.__version__}\n" in metadata
