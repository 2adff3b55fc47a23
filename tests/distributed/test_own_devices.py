"""A mesh of the devices of one process: eight virtual CPUs, in a process of their own."""
from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest
from lanes import cases
from process_programs import PROGRAMS, virtual_devices

from tools.mesh_costs import sent

PROGRAM = PROGRAMS / "own_devices.py"
CHECKS = [name.strip() for name in re.search(r"^CHECKS = \[(.*?)\]", PROGRAM.read_text(), re.DOTALL | re.MULTILINE)[1].split(",")]


def alone(*arguments, devices=8):
    """Run a program without a job, on virtual devices."""
    there = {name: x for name, x in os.environ.items() if name not in ("RANK", "WORLD_SIZE")}
    there.pop("XLA_FLAGS", None)
    if devices is not None:
        there |= virtual_devices(devices)
    return subprocess.run([sys.executable, "-W", "error", *map(str, arguments)], env=there, capture_output=True, text=True,
                          timeout=600, check=False)


@pytest.fixture(scope="module")
def said(request):
    """Return the program's report about the checks of this run."""
    wanted = [item.callspec.params["check"] for item in request.session.items
              if getattr(item, "originalname", "") == "test_on_eight_devices"]
    ran = alone(PROGRAM, *wanted)
    assert ran.returncode == 0, ran.stderr[-3000:]
    return ran.stdout


FAST = {"batches_are_split", "fully_sharded", "where_results_lie", "redistributing"}


@pytest.mark.parametrize("check", cases(CHECKS, FAST))
def test_on_eight_devices(check, said):
    found = re.search(rf"^{check} (.*?)(?=^held|\Z)", said, re.DOTALL | re.MULTILINE)
    assert f"held {check}\n" in said, found[1] if found else said[-3000:]


def test_without_enough_devices_the_error_says_how_to_have_them():
    ran = alone("-c", "import jtorch as torch; torch.distributed.device_mesh.init_device_mesh('cpu', (2, 4))", devices=1)
    assert "needs as many, and this process has 1. For virtual devices set XLA_FLAGS=--xla_force_host_platform_device_count=8" \
        in ran.stderr, ran.stderr[-2000:]


def test_importing_changes_no_setting_of_jax():
    """It changes neither the number of devices nor the backend, so the user may still choose them."""
    ran = alone("-c", "import jtorch.distributed.tensor, jax; jax.config.update('jax_num_cpu_devices', 3)\n"
                      "import jtorch as torch; from jtorch.distributed.device_mesh import init_device_mesh\n"
                      "print(init_device_mesh('cpu', (3,)), len(jax.devices()))", devices=None)
    assert ran.stdout == "DeviceMesh((3,), 'cpu', stride=(1,)) 3\n", (ran.stdout, ran.stderr[-2000:])


def test_what_a_device_sends_is_read_off_xlas_text():
    """In a ring an all-reduce sends twice the other parts, and an all-gather sends them once."""
    ours = "replica_groups=mesh['axis_0'=2,'axis_1'=4] {'axis_1'}, use_global_device_ids=true"
    assert sent(f"%a = f32[4096,512]{{1,0}} all-gather(%p), channel_id=1, {ours}") == ("all-gather", 4096 * 512 * 4 * 3 / 4)
    assert sent(f"%a = (f32[8]{{0}}, bf16[4,4]{{1,0}}) all-reduce(%p, %q), {ours}") == ("all-reduce", (32 + 32) * 2 * 3 / 4)
    assert sent("%a = f32[8]{0} reduce-scatter(%p), replica_groups=[2,4]<=[8]") == ("reduce-scatter", 32 * 3)
    assert sent("%a = f32[8]{0} all-to-all(%p), replica_groups={{0,1},{2,3}}") == ("all-to-all", 16)
    assert sent("%a = f32[8]{0} add(%p, %q)") is None
