"""``scripts/gpu``: its checks with JAX's CPU device in the GPU's place, and its report."""
from __future__ import annotations

import json
import subprocess
import sys

import pytest
from process_programs import virtual_devices

from tools.gpu import report
from tools.gpu.bench import _reason_against
from tools.gpu.child import ROOT, environment, run
from tools.gpu.line import FAILED, KNOWN, LATE, PASSED, SKIPPED, Line
from tools.gpu.workloads import workloads

MACHINE = {"gpus": [], "pytorch": None, "pytorch_has_cuda": False}


@pytest.mark.nightly
def test_the_checks_pass_with_a_cpu_in_the_gpus_place(tmp_path):
    done = subprocess.run([sys.executable, "-m", "tools.gpu", str(tmp_path), "--tiny", "--only", "checks"], cwd=ROOT, text=True,
                          env=environment(tiny=False), capture_output=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    told = json.loads((tmp_path / "report.json").read_text())
    assert not told["gpu"]
    assert len(told["lines"]) > 30
    assert {line["status"] for line in told["lines"]} == {PASSED, KNOWN, SKIPPED}
    page = (tmp_path / "report.md").read_text()
    assert "There was no GPU" in page
    assert "| GradScaler with float16 | passed |" in page


def test_a_program_that_hangs_or_fails_is_a_line(tmp_path):
    late = run(["-c", "import time; time.sleep(600)"], 0.5, False, tmp_path).line("benchmarks", "a")
    failed = run(["-c", "raise ValueError('what went wrong')"], 60, False, tmp_path).line("benchmarks", "b")
    assert (late.status, failed.status, failed.detail) == (LATE, FAILED, "ValueError: what went wrong")


def test_the_table_of_steps():
    lines = [Line("benchmarks", f"MLP, {who}", PASSED, figures={"first_s": 2.0, "step_ms": ms})
             for who, ms in (("jtorch", 3.0), ("torch", 4.0))] + [Line("examples", "x.py", FAILED, detail="a | b")]
    page = report.markdown({"gpus": ["NVIDIA H100"]}, lines, False, 5.0)
    assert page.startswith("# jtorch on NVIDIA H100\n")
    assert "| MLP | torch | 2.00 | 4.00 | 0.75 |" in page
    assert "| x.py | **failed** | 0.0 | a \\| b |" in page
    assert "There was no GPU" not in page


@pytest.mark.parametrize(("who", "reason"), [("jtorch", ""), ("torch", "PyTorch is not installed"), ("jax.jit", "")])
def test_what_is_measured(who, reason):
    assert _reason_against(workloads(tiny=True)[0], who, MACHINE, tiny=False) == reason


LOOP = """
import jtorch as torch
from jtorch import engine
{prepare}
x = torch.arange(4.0, device="{device}")
w = torch.zeros(3, device="{device}", requires_grad=True)
for _ in range(40):
    ((w - x[:3]) ** 2).sum().backward()
    with torch.no_grad():
        w -= 0.1 * w.grad
    w.grad = None
print(x.jax().devices().pop().id, str(w.device), [round(n, 2) for n in w.tolist()], engine.stats.counters.loaded > 0)
"""
STAND_IN = "from tools.gpu.stand_in import jtorch_with\njtorch_with(True)"


def test_what_is_given_no_arrays_runs_on_its_own_device(run_forked):
    """The device is not JAX's default device."""
    printed = run_forked(LOOP.format(prepare=STAND_IN, device="cuda"), virtual_devices(2))
    assert printed == "1 cuda:0 [0.0, 1.0, 2.0] False\n"


@pytest.mark.slow
def test_programs_on_disk_are_of_one_device(run_forked, tmp_path):
    """One device does not read another device's programs."""
    env = {**virtual_devices(2), "JTORCH_CACHE": str(tmp_path / "cache"), "JTORCH_ENGINE": "hot"}
    printed = [run_forked(LOOP.format(prepare="", device=device), env) for device in ("cpu", "cpu:1", "cpu:1")]
    assert [text.split()[:2] for text in printed] == [["0", "cpu"], ["1", "cpu:1"], ["1", "cpu:1"]]
    assert [text.split()[-1] for text in printed] == ["False", "False", "True"]
