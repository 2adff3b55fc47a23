"""``python -m jtorch`` runs a script as Python does: its path, its arguments, its ``__main__`` until the end."""
from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SCRIPT = """
import atexit, os, pickle, sys, torch

class Mine:
    pass

print(os.path.isabs(__file__), os.path.basename(__file__), sys.argv, __name__, __spec__, sys.path[0] == os.path.dirname(__file__))
print(pickle.loads(pickle.dumps(Mine())).__class__ is Mine, sys.modules["__main__"].Mine is Mine)
os.chdir("/")
print(os.path.exists(__file__))
atexit.register(lambda: print(Mine.__name__, torch.ones(1).item()))
raise ValueError("the end")
"""


@pytest.mark.parametrize("start", [pytest.param([], marks=pytest.mark.conformance), ["-m", "jtorch"]])
def test_what_a_script_sees(start, tmp_path):
    (tmp_path / "script.py").write_text(SCRIPT)
    path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    ran = subprocess.run([sys.executable, *start, "script.py", "a", "-b"], cwd=tmp_path, capture_output=True, text=True, check=False,
                         env={**os.environ, "PYTHONPATH": path})
    assert ran.stdout.splitlines() == ["True script.py ['script.py', 'a', '-b'] __main__ None True", "True True", "True", "Mine 1.0"]
    assert ran.returncode == 1
    assert ran.stderr.splitlines()[-3:] == [f'  File "{tmp_path / "script.py"}", line 12, in <module>', '    raise ValueError("the end")',
                                            "ValueError: the end"]


# PyTorch's behaviour changes with its version only, so it is looked at in the nightly lane.
STARTS = [pytest.param([], marks=[pytest.mark.conformance, pytest.mark.nightly]), ["-m", "jtorch"]]


def run(start, *args, folder, given=None, **env):
    return subprocess.run([sys.executable, *start, *args], cwd=folder, capture_output=True, text=True, check=False, input=given,
                          env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]), **env})


TEXT = """
import sys, torch
import beside

class Mine:
    pass

print(sys.argv, repr(sys.path[0]), __name__, globals().get("__file__"), __spec__, sorted(globals()))
print(sys.modules["__main__"].Mine is Mine, torch.ones(2).sum().item(), beside.__name__, __annotations__)
raise ValueError("the end")
"""


@pytest.mark.parametrize("start", STARTS)
@pytest.mark.parametrize("is_code", [True, False])
def test_a_program_given_as_text(start, is_code, tmp_path):
    (tmp_path / "beside.py").write_text("")
    args = ["-c", TEXT, "a", "-b"] if is_code else ["-", "a", "-b"]
    ran = run(start, *args, folder=tmp_path, given=None if is_code else TEXT)
    names = ["Mine", "__annotations__", "__builtins__", "__doc__", "__loader__", "__name__", "__package__", "__spec__", "beside",
             "sys", "torch"]
    file = None if is_code else "<stdin>"
    if not is_code:
        names = sorted({*names, "__file__", "__cached__"})
    assert ran.stdout.splitlines() == [f"{['-c' if is_code else '-', 'a', '-b']} '' __main__ {file} None {names}",
                                       "True 2.0 beside {}"], ran.stderr
    assert ran.returncode == 1
    assert ran.stderr.splitlines()[-1] == "ValueError: the end"


@pytest.mark.parametrize("start", STARTS)
def test_a_module_with_arguments(start, tmp_path):
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "__main__.py").write_text("import sys, torch\nprint(sys.argv[1:], __name__, torch.ones(2).sum().item())\n")
    assert run(start, "-m", "package", "a", "-b", folder=tmp_path).stdout == "['a', '-b'] __main__ 2.0\n"


@pytest.mark.parametrize("start", STARTS)
@pytest.mark.parametrize("name", ["jax", "scipy", "ml_dtypes"])
@pytest.mark.parametrize("how", ["script", "text"])
def test_a_file_with_the_name_of_a_library_beside_the_program(start, name, how, tmp_path):
    (tmp_path / f"{name}.py").write_text("raise RuntimeError('imported')\n")
    program = "import torch\nprint(torch.ones(2).sum().item())\n"
    (tmp_path / "script.py").write_text(program)
    ran = run(start, *(["script.py"] if how == "script" else ["-c", program]), folder=tmp_path)
    assert ran.stdout == "2.0\n", ran.stderr
    if start:
        assert f"`import {name}` gives the library. Rename the file to import it." in ran.stderr


def test_a_file_with_the_name_of_a_library_beside_a_program_that_imports_jtorch(tmp_path):
    (tmp_path / "jax.py").write_text("raise RuntimeError('imported')\n")
    (tmp_path / "script.py").write_text("import jtorch as torch\nprint(torch.linalg.svdvals(torch.eye(2)).sum().item())\n")
    assert run([], "script.py", folder=tmp_path).stdout == "2.0\n"
