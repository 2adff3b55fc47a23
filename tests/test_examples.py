"""The examples run as their users run them, each in a Python of its own."""
from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
DEMO = [name for name in ("sklearn", "matplotlib", "tqdm") if importlib.util.find_spec(name) is None]
needs_demo = pytest.mark.skipif(bool(DEMO), reason=f"{', '.join(DEMO)} not installed (pip install jtorch-jax[demo])")


def run(name: str, *arguments: str, cwd: Path, **env: str) -> subprocess.CompletedProcess:
    """Runs an example in ``cwd``, on the CPU."""
    settings = {**os.environ, "PYTHONPATH": str(ROOT), "JAX_PLATFORMS": "cpu", **env}
    return subprocess.run([sys.executable, str(ROOT / "examples" / name), *arguments], cwd=cwd, env=settings, text=True,
                          capture_output=True, timeout=300, check=False)


def succeeded(done: subprocess.CompletedProcess) -> str:
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    assert not done.stderr, done.stderr
    return done.stdout


@needs_demo
def test_train_digits(tmp_path):
    printed = succeeded(run("train_digits.py", "--epochs", "12", "--out", "curve.png", cwd=tmp_path))
    accuracy = re.search(r"test accuracy ([\d.]+)% after 12 epochs", printed)
    assert accuracy, printed
    assert float(accuracy[1]) >= 97
    assert (tmp_path / "curve.png").read_bytes().startswith(b"\x89PNG")


@needs_demo
def test_train_digits_fails_below_its_goal(tmp_path):
    done = run("train_digits.py", "--epochs", "1", cwd=tmp_path)
    assert done.returncode == 1
    assert done.stderr == "That is below the goal of 97%.\n"
    assert (tmp_path / "digits_learning_curve.png").exists()


@pytest.mark.parametrize("module", ["sklearn", "matplotlib", "tqdm"])
def test_train_digits_says_what_to_install(tmp_path, module):
    for name in ("sklearn", "matplotlib", "tqdm"):
        (tmp_path / f"{name}.py").write_text(f"raise ModuleNotFoundError('No module', name='{module}')")
    done = run("train_digits.py", cwd=tmp_path, PYTHONPATH=os.pathsep.join([str(tmp_path), str(ROOT)]))
    assert done.returncode == 1
    assert f"{module} is not installed" in done.stderr
    assert "pip install jtorch-jax[demo]" in done.stderr
    assert "Traceback" not in done.stderr


def test_compare_with_jax_grad(tmp_path):
    printed = succeeded(run("compare_with_jax_grad.py", cwd=tmp_path))
    assert float(re.search(r"largest difference (\S+)", printed)[1]) < 1e-5


def test_engine_report(tmp_path):
    printed = succeeded(run("engine_report.py", cwd=tmp_path, JTORCH_ENGINE="auto"))
    assert "which compiled" in printed
    assert re.search(r"engine_report\.py:\d+, compiled in .*, ran [1-9]\d* times", printed)
    assert "; 3 departures" in printed, "each of the three steps that print leaves the compiled path, and no other does"
