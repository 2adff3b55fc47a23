"""``tools.ecosystem.names`` finds the names of PyTorch in packages' sources, and those that jtorch lacks or refuses."""
from __future__ import annotations

import io
import tarfile
import zipfile
from pathlib import Path

import pytest

from tools.ecosystem.names import __main__ as command
from tools.ecosystem.names import reading, resolve, sources


@pytest.mark.parametrize(("text", "found"), [
    ("import torch\ntorch.nn.functional.relu(torch.ones(2).sum())", {"torch", "torch.nn.functional.relu", "torch.ones"}),
    ("import torch as th\nth.cuda.nccl", {"torch", "torch.cuda.nccl"}),
    ("import torch.nn.functional as F\nF.relu", {"torch.nn.functional", "torch.nn.functional.relu"}),
    ("import torch.utils.data\ntorch.hub", {"torch.utils.data", "torch.hub"}),
    ("def f():\n    from torch import nn as n\n    return n.Linear(2, 3).weight", {"torch.nn", "torch.nn.Linear"}),
    ("from torch.optim import *\nSGD", {"torch.optim"}),
    ("import torch\ntorch.new = 3\ntorch.new.x", {"torch", "torch.new.x"}),
    ("from .torch import nn\nnn.Linear", set()),
    ("torch.nn", set()),
    ("import torchvision\ntorchvision.ops", set()),
    ("print 'Python 2'", set()),
])
def test_names_of_a_file(text, found):
    assert reading.names(text) == found


@pytest.fixture
def archives(tmp_path):
    folder = tmp_path / "one"
    folder.mkdir()
    (folder / "a.py").write_text("import torch.a")
    (folder / "b.txt").write_text("no Python")
    (folder / "c.py").write_bytes(b"\xff\xfe")
    wheel, source = tmp_path / "Some_One-1.0-py3-none-any.whl", tmp_path / "one-1.0.tar.gz"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("one/a.py", "import torch.a")
    with tarfile.open(source, "w:gz") as archive:
        member = tarfile.TarInfo("one/a.py")
        member.size = len(b"import torch.a")
        archive.addfile(member, io.BytesIO(b"import torch.a"))
    return {folder: "one", wheel: "some-one", source: "one", folder / "a.py": "a"}


def test_packages_are_folders_wheels_and_source_distributions(archives):
    assert {place: sources.name_of(place) for place in archives} == archives
    assert all(list(sources.files(place)) == ["import torch.a"] for place in archives)
    assert command.used(archives) == {"torch.a": {"one", "some-one", "a"}}


def test_a_path_is_followed_through_modules_and_classes(monkeypatch):
    assert resolve.follow("pathlib.Path.home.anything") == ("pathlib.Path.home", "")
    assert resolve.follow("xml.dom.minidom.Node") == ("xml.dom.minidom.Node", "")
    assert resolve.follow("pathlib.Absent.more") == ("pathlib.Absent", "lacks")
    assert resolve.follow("jtorch.mps.empty_cache") == ("jtorch.mps.empty_cache", "refuses")


def test_what_is_lacking_is_of_pytorchs_names(monkeypatch):
    answers = {(): {"torch.a.b": ("torch.a.b", ""), "torch.c": ("torch.c", "lacks"), "torch.d": ("torch.d", "")},
               ("-m", "jtorch"): {"torch.a.b": ("torch.a", "lacks"), "torch.d": ("torch.d", "refuses")}}
    monkeypatch.setattr(command, "_ask", lambda names, *how: answers[how])
    found = command.lacking({"torch.a.b": {"x"}, "torch.c": {"y"}, "torch.d": {"z"}})
    assert found["lacks"] == {"torch.a": command.Found({"x"}, {"b"})}
    assert found["refuses"] == {"torch.d": command.Found({"z"})}


@pytest.mark.conformance
def test_the_command_says_what_jtorch_lacks(tmp_path: Path, monkeypatch, capsys):
    (tmp_path / "a.py").write_text("import torch\ntorch.nn.Linear, torch.no_such_name, torch.mps.empty_cache")
    monkeypatch.setattr("sys.argv", ["names", str(tmp_path)])
    assert command.main() == 0
    assert "jtorch lacks 0 " in (said := capsys.readouterr().out) and f"torch.mps.empty_cache: {sources.name_of(tmp_path)}" in said
