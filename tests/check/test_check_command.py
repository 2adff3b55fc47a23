"""``python -m jtorch check``: which names it lists of a project, with which lines, and that it runs nothing."""
from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from jtorch.check import command, files
from jtorch.check.project import check

pytestmark = pytest.mark.one_mode
ROOT = Path(__file__).resolve().parents[2]


def found(folder: Path, **sources: str) -> set[tuple[str, str, str]]:
    """Return the findings (kind, name, line) of a check of these files, given as name=text."""
    for name, text in sources.items():
        path = folder / f"{name.replace('__in__', '/')}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    report = check([folder])
    return {(f.kind, f.name, p.line) for f in report.of(*command._HEADS) for p in f.places}


@pytest.mark.parametrize(("text", "wanted"), [
    ("import torch\ntorch.cuda.comm.gather", {("missing", "torch.cuda.comm", "2")}),
    ("import torch as th\nx = th.cuda.comm", {("missing", "torch.cuda.comm", "2")}),
    ("from torch.cuda import comm", {("missing", "torch.cuda.comm", "1")}),
    ("def f():\n    from torch import cuda as c\n    return c.comm", {("missing", "torch.cuda.comm", "3")}),
    ("import torch\nc = torch.cuda\ndef f(): c.comm", {("missing", "torch.cuda.comm", "3")}),
    ("import torch\ngetattr(torch.cuda, 'comm')", {("missing", "torch.cuda.comm", "2")}),
    ("import importlib\nimportlib.import_module('torch.cuda.comm')", {("missing", "torch.cuda.comm", "2")}),
    ("import torch\ntorch.empty_quantized(x, t)", {("refused", "torch.empty_quantized", "2")}),
    ("import torch\ntorch.ops.aten._weight_int4pack_mm_for_cpu, torch.ops.aten._thnn_fused_gru_cell.default", set()),
    ("import torch\ntorch.ops.aten._pdist_forward.default(x)", {("refused", "torch.ops.aten._pdist_forward", "2")}),
    ("from torch.ao.quantization import quantize_dynamic", set()),
    ("from torch.ao.quantization import quantize_dynamic\nx(quantize_dynamic)", set()),
    ("from torch.ao.quantization import prepare\nx(prepare)", {("refused", "torch.ao.quantization.prepare", "2")}),
    ("from torch.utils.cpp_extension import load\nload()", {("refused", "torch.utils.cpp_extension.load", "2")}),
    ("from torch.utils.cpp_extension import CUDA_HOME\nprint(CUDA_HOME)", set()),
    ("from torch.distributed.rpc import rpc_sync\n@rpc_sync\ndef f(): pass", {("refused", "torch.distributed.rpc.rpc_sync", "2")}),
    ("import torch\ntorch.distributed.rpc.is_available()", set()),
    ("import torch.nn.functional as F\nF.avg_pool2d(x, 2,\n  out=y)", {("refused", "torch.nn.functional.avg_pool2d(out=…)", "2")}),
    ("import torch.distributed as dist\ndist.barrier(timeout=3)", {("refused", "torch.distributed.barrier(timeout=…)", "2")}),
    ("import torch\n@torch.compile\ndef f(): pass", {("nothing", "torch.compile", "2")}),
    ("import torch\ntorch.backends.cudnn.benchmark = True", {("nothing", "torch.backends.cudnn.benchmark", "2")}),
    ("import torch\ntorch._dynamo.config.suppress_errors = True", {("nothing", "torch._dynamo.config.suppress_errors", "2")}),
    ("from torch.utils.data import DataLoader\nDataLoader(d, pin_memory=True)\nDataLoader(d, pin_memory=False)",
     {("nothing", "torch.utils.data.DataLoader(pin_memory=…)", "2")}),
    ("import torch\ntorch.topk(x, 2)", {("differs", "torch.topk", "2")}),
    ("import torch\ntorch.xpu.synchronize(), torch.xpu.is_available()", {("device", "torch.xpu.synchronize", "2")}),
    ("import torch\ntorch.no_such_name", {("unknown", "torch.no_such_name", "2")}),
    ("import torch\ntorch.ops.quantized.add, torch.ops.mine.f, torch.ops.aten.add", {("missing", "torch.ops.quantized.add", "2")}),
    ("from torch.nn import *\nLinear(2, 1), len(x), mine", set()),
    ("import jtorch as torch\ntorch.engine.report(), torch.cuda.comm", {("missing", "torch.cuda.comm", "2")}),
    ("import torch\nisinstance(x, torch.cuda.CUDAGraph)\ntorch.cuda.CUDAGraph()", {("refused", "torch.cuda.CUDAGraph", "3")}),
], ids=str)
def test_names_of_a_file(tmp_path, text, wanted):
    assert found(tmp_path, a=text) == wanted


@pytest.mark.parametrize("text", [
    "import torch\ny = torch.ones(2) + 1\ny.to_mkldnn()",
    "import torch\n\ndef f(x: torch.Tensor): x.view(3).to_mkldnn()".replace("\n\n", "\n\n", 1),
    "import torch\n\nunknown.to_mkldnn()",
])
def test_methods_of_tensors(tmp_path, text):
    assert found(tmp_path, a=text) == {("missing", "torch.Tensor.to_mkldnn", "3")}


@pytest.mark.parametrize("text", [
    "import torch\ny = torch.ones(2)\ny.index(3)",
    "class A:\n    def to_mkldnn(self): pass\nA().to_mkldnn()",
    "import torch\nx = torch.ones(2)\nx = [1]\nx.resize(3)",
    "torch = 3\ntorch.cuda.comm",
    "import torch\ndef f(torch): torch.cuda.comm",
    "import torch\ntry:\n    import apex as torch2\nexcept ImportError:\n    torch2 = torch",
])
def test_names_that_are_no_names_of_torch(tmp_path, text):
    assert {kind for kind, name, _ in found(tmp_path, a=text) if name != "torch.Tensor.index"} == set()


@pytest.mark.parametrize("text", [
    "try:\n    from torch.cuda import comm\nexcept ImportError:\n    comm = None",
    "import torch\ntry:\n    torch.cuda.comm\nexcept AttributeError: pass",
    "import torch\nfrom contextlib import suppress\nwith suppress(ImportError, AttributeError):\n    torch.cuda.comm",
    "import torch\nif hasattr(torch.cuda, 'comm'):\n    torch.cuda.comm.gather",
    "import torch\nhere = hasattr(torch.cuda, 'comm') and torch.cuda.comm.gather",
    "import torch\ngetattr(torch.cuda, 'comm', None)",
    "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from torch.cuda import comm",
    "import torch\nif not hasattr(torch, 'ones'):\n    torch.cuda.comm",
    "import torch\ny = torch.ones if hasattr(torch, 'ones') else torch.cuda.comm",
    "try:\n    from torch import ones\nexcept ImportError:\n    from torch.cuda import comm",
])
def test_guarded_names(tmp_path, text):
    assert {(kind, name) for kind, name, _ in found(tmp_path, a=text)} == {("guarded", "torch.cuda.comm")}


def test_a_fallback_that_runs_is_no_guard(tmp_path):
    text = "try:\n    from torch.cuda import comm\nexcept ImportError:\n    from torch.cuda import jiterator"
    assert found(tmp_path, a=text) == {("guarded", "torch.cuda.comm", "2"), ("missing", "torch.cuda.jiterator", "4")}
    raised = "try:\n    from torch.cuda import comm\nexcept ImportError as e:\n    raise RuntimeError from e"
    assert ("missing", "torch.cuda.comm", "2") in found(tmp_path, b=raised)


def test_names_through_other_files(tmp_path):
    found_names = found(tmp_path, p__in____init__="", p__in__compat="import torch as th\nfrom torch import cuda",
                        p__in__a="from .compat import th, cuda\nth.cuda.comm\ncuda.jiterator",
                        p__in__b="from p.compat import *\nth.cuda.comm\nlen(th)")
    assert found_names == {("missing", "torch.cuda.comm", "2"), ("missing", "torch.cuda.jiterator", "3")}


def test_notebooks(tmp_path):
    cells = [{"cell_type": "markdown", "source": "torch.cuda.comm"}, {"cell_type": "code", "source": ["%pip install x\n", "import torch"]},
             {"cell_type": "code", "source": "!ls\nif True:\n    %time f()\ntorch.cuda.comm"}, {"cell_type": "code", "source": "%%bash\nls"}]
    (tmp_path / "a.ipynb").write_text(json.dumps({"cells": cells}))
    assert found(tmp_path) == {("missing", "torch.cuda.comm", "cell 2, line 4")}


def test_files_that_are_not_read(tmp_path):
    (tmp_path / "old.py").write_text("print 'torch'")
    (tmp_path / ".venv").mkdir()
    (tmp_path / ".venv" / "a.py").write_text("import torch.cuda.comm")
    assert [p.name for p in files.find(tmp_path)] == ["old.py"]
    assert check([tmp_path]).unreadable == [str(tmp_path / "old.py")]


def test_what_the_command_prints(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("net.py").write_text("import torch\n\nfrom torch.cuda import comm\n\ntorch.manual_seed(0)\nnet = torch.compile(torch.nn.Linear(2, 1))\n")
    assert command.main(["net.py"]) == 1
    assert capsys.readouterr().out == """\
Missing: reading the name raises AttributeError or ImportError (1)
  torch.cuda.comm  net.py:3
      instead: `torch.distributed`'s collectives

Accepted, and does nothing (1)
  torch.compile  net.py:6
      gives back what it is given: what repeats is compiled without being asked
      instead: keep it, or leave it out; `torch.engine.report()` says what was compiled

3 of 4 names are here, in 1 of 1 files: 1 missing, 1 without effect.
"""
    assert command.main(["--json", "net.py"]) == 1
    said = json.loads(capsys.readouterr().out)
    assert (said["names"], said["here"]) == (4, 3)
    assert said["findings"][1]["places"] == [{"file": "net.py", "line": 3}]
    Path("net.py").write_text("import torch\ntorch.ones(2)\n")
    assert command.main(["."]) == 0
    assert capsys.readouterr().out == "1 of 1 names are here, in 1 of 1 files.\n"
    assert command.main(["absent"]) == 2


def test_the_command_needs_no_jax(tmp_path):
    (tmp_path / "jax.py").write_text("raise SystemExit('JAX is imported')")
    (tmp_path / "a.py").write_text("import torch\ntorch.cuda.comm")
    env = {**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}"}
    done = subprocess.run([sys.executable, "-m", "jtorch", "check", "a.py"], cwd=tmp_path, env=env, text=True, capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (1, "")
    assert "torch.cuda.comm  a.py:2" in done.stdout


def test_a_package_that_imports_jtorch_may_have_a_command_of_this_name(tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "__init__.py").write_text("import jtorch")
    (tmp_path / "mine" / "__main__.py").write_text("import sys; print('mine', sys.argv[1:])")
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-m", "mine", "check", "x"], cwd=tmp_path, env=env, text=True, capture_output=True, check=False)
    assert done.stdout == "mine ['check', 'x']\n"
