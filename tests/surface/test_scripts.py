"""A script run by ``python -m jtorch`` meets what Python gives it: its path, its arguments, its ``__main__`` until the end."""
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
