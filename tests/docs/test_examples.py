"""The examples run as users run them, each in a Python of its own."""
from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from process_programs import virtual_devices

import jtorch as torch

ROOT = Path(__file__).resolve().parents[2]
DEMO = [name for name in ("sklearn", "matplotlib", "tqdm") if importlib.util.find_spec(name) is None]
needs_demo = pytest.mark.skipif(bool(DEMO), reason=f"{', '.join(DEMO)} not installed (pip install jtorch-jax[demo])")
DIGITS = ("--epochs", "20", "--out", "curve.png", "--checkpoint", "digits.pt")


def environment(**changes: str) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT), "JAX_PLATFORMS": "cpu", **changes}


def run(name: str, *arguments: str, cwd: Path, **env: str) -> subprocess.CompletedProcess:
    """Run an example in ``cwd``, on the CPU."""
    return subprocess.run([sys.executable, str(ROOT / "examples" / name), *arguments], cwd=cwd, env=environment(**env), text=True,
                          capture_output=True, timeout=300, check=False)


def is_picture(path: Path) -> bool:
    return path.read_bytes().startswith(b"\x89PNG")


def succeeded(done: subprocess.CompletedProcess) -> str:
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    assert not done.stderr, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    """Return the output of an undisturbed run of ``train_digits.py``, and its folder."""
    folder = tmp_path_factory.mktemp("digits")
    return succeeded(run("train_digits.py", *DIGITS, cwd=folder)), folder


@needs_demo
@pytest.mark.slow
def test_train_digits(undisturbed):
    printed, folder = undisturbed
    accuracy = re.search(r"test accuracy ([\d.]+)% after 20 epochs", printed)
    assert accuracy, printed
    assert float(accuracy[1]) >= 97
    assert is_picture(folder / "curve.png")


@needs_demo
@pytest.mark.nightly
def test_train_digits_goes_on_after_it_was_killed(undisturbed, tmp_path):
    _, folder = undisturbed
    command = [sys.executable, str(ROOT / "examples" / "train_digits.py"), *DIGITS]
    killed = subprocess.Popen(command, cwd=tmp_path, env=environment(PYTHONUNBUFFERED="1"), text=True, stdout=subprocess.PIPE)
    with killed:
        assert any(line.startswith("epoch  10") for line in killed.stdout), "it ended before half of its epochs"
        killed.kill()
    assert killed.returncode < 0
    printed = succeeded(run("train_digits.py", *DIGITS, cwd=tmp_path))
    done = int(re.match(r"going on after epoch (\d+) of digits.pt\n", printed)[1])
    assert 10 <= done < 20
    got, wanted = (torch.load(path / "digits.pt")["curve"] for path in (tmp_path, folder))
    assert len(got) == 20
    assert np.allclose(got, wanted, rtol=0.01, atol=0)


@needs_demo
@pytest.mark.nightly
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


@needs_demo
@pytest.mark.slow
def test_compare_with_jax_grad(tmp_path):
    printed = succeeded(run("compare_with_jax_grad.py", cwd=tmp_path))
    assert float(re.search(r"largest difference (\S+)", printed)[1]) < 1e-5
    assert is_picture(tmp_path / "gradients.png")


@pytest.mark.slow
def test_engine_report(tmp_path):
    printed = succeeded(run("engine_report.py", cwd=tmp_path, JTORCH_ENGINE="auto"))
    assert "which compiled" in printed
    assert re.search(r"engine_report\.py:\d+, compiled in .*, ran [1-9]\d* times", printed)
    assert "; 3 departures" in printed, "each of the three steps that print leaves the compiled path, and no other does"


@needs_demo
@pytest.mark.slow
def test_char_lm(tmp_path):
    printed = succeeded(run("char_lm.py", "--steps", "20", "--batch", "4", "--write", "10", cwd=tmp_path))
    first, last = map(float, re.search(r"^loss ([\d.]+) -> ([\d.]+) in", printed, re.MULTILINE).groups())
    assert first > last + 0.3
    written = printed.partition(" s\n")[2].removesuffix("\nloss curve in char_lm_loss.png\n")
    assert is_picture(tmp_path / "char_lm_loss.png")
    assert written.startswith("The ")
    assert len(written) == len("The ") + 10


@needs_demo
@pytest.mark.slow
def test_vae_digits(tmp_path):
    printed = succeeded(run("vae_digits.py", "--epochs", "3", "--out", "made_up.png", cwd=tmp_path))
    first, last = map(float, re.search(r"loss ([\d.]+) -> ([\d.]+) after 3 epochs", printed).groups())
    assert last < first - 4
    assert is_picture(tmp_path / "made_up.png")


@needs_demo
@pytest.mark.slow
def test_sharded_lm_on_two_processes(tmp_path):
    start = ["-m", "jtorch", "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
    done = subprocess.run([sys.executable, *start, str(ROOT / "examples/sharded_lm.py"), "--steps=21"], cwd=tmp_path, text=True,
                          env=environment(TMPDIR=str(tmp_path)), capture_output=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    losses = [float(x) for x in re.findall(r"loss ([\d.]+)", done.stdout)]
    assert losses[0] > 3 and losses[-1] < 1 and "rank 0 holds 34431 of 68781 parameters" in done.stdout
    assert is_picture(tmp_path / "sharded_lm_loss.png")
    assert {p.name for p in tmp_path.glob("*/*")} >= {".metadata", "__0_0.distcp", "__1_0.distcp"}


@needs_demo
@pytest.mark.parametrize(("processes", "steps"), [pytest.param(1, 8, marks=pytest.mark.slow),
                                                  pytest.param(2, 8, marks=pytest.mark.nightly),
                                                  pytest.param(4, 8, marks=pytest.mark.nightly)])
def test_eight_devices_lm(processes, steps, tmp_path):
    launcher = ["-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={processes}"] if processes > 1 else []
    done = subprocess.run([sys.executable, "-m", "jtorch", *launcher, str(ROOT / "examples/eight_devices_lm.py"), f"--steps={steps}"],
                          cwd=tmp_path, text=True, env=environment(**virtual_devices(8 // processes)), capture_output=True,
                          timeout=600, check=False)
    assert done.returncode == 0, done.stderr
    assert float(re.search(r"largest difference (\S+)", done.stdout)[1]) < 1e-5
    assert is_picture(tmp_path / "eight_devices_lm_loss.png")
    assert "layers      losses" in done.stdout and "a weight lies as (Shard(dim=0),)" in done.stdout
