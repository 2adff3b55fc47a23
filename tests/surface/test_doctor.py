"""python -m jtorch: doctor, --version, --help."""
from __future__ import annotations

import re
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from jtorch import speedups
from jtorch.install import doctor
from jtorch.version import jtorch_version

ROOT = Path(__file__).resolve().parents[2]


def examined() -> tuple[int, list[str]]:
    """Return the doctor's status and lines, in a thread of its own, because earlier tests may have used up this
    one's time for compiling.
    """
    lines: list[str] = []
    status: list[int] = []
    thread = threading.Thread(target=lambda: status.append(doctor.main(lines.append)))
    thread.start()
    thread.join()
    return status[0], lines


def test_doctor_says_what_there_is():
    _, lines = examined()
    text = "\n".join(lines)
    assert f"jtorch {jtorch_version}" in text
    for title in doctor.CHECKS:
        assert title in lines
    assert "devices: cpu:0" in text
    assert "ok a gradient is JAX's" in text
    assert "ok seeds give PyTorch's numbers" in text
    assert "ok a loop is compiled" in text


def test_doctor_says_what_is_ill(monkeypatch):
    monkeypatch.setattr(speedups, "native", None)
    monkeypatch.setattr("jtorch._base.config.SPEEDUPS", True)
    monkeypatch.setattr(doctor, "_gradient", lambda: False)
    monkeypatch.setattr(doctor, "_seed", lambda: 1 // 0)
    status, lines = examined()
    assert status == 1
    ill = [line for line in lines if line.startswith("  !!")]
    assert "the extension" in ill[0]
    assert "a gradient is JAX's" in ill[1]
    assert "ZeroDivisionError" in ill[2]
    assert lines[-1].startswith("3 things to look at")


@pytest.mark.parametrize(("argument", "says"), [("--version", rf"jtorch {re.escape(jtorch_version)} \(PyTorch 2\.13"), ("--help", "doctor")])
def test_options(argument, says):
    done = subprocess.run([sys.executable, "-m", "jtorch", argument], cwd=ROOT, text=True, capture_output=True, check=True)
    assert re.search(says, done.stdout)


def test_a_script_called_doctor_is_run(tmp_path):
    (tmp_path / "doctor").write_text("print('mine')")
    done = subprocess.run([sys.executable, "-m", "jtorch", "doctor"], cwd=tmp_path, env=_environment(), text=True, capture_output=True,
                          check=True)
    assert done.stdout == "mine\n"


def _environment():
    import os
    return {**os.environ, "PYTHONPATH": str(ROOT)}
