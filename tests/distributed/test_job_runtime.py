"""Jobs of one JAX runtime: several processes with several virtual devices each."""
from __future__ import annotations

import os
import subprocess
import sys

import pytest
from process_programs import PROGRAMS, launched, virtual_devices

CHECKS = ["parts_and_wholes", "trains_on_batches_of_each_process", "trains_sharded", "trains_in_two_dimensions",
          "trains_a_residual_net_with_synchronized_norms"]


def on(processes: int, devices: int, program: str, *args: str, **environment: str) -> subprocess.CompletedProcess:
    return launched("jtorch", processes, program, *args, DEVICES=str(devices), **virtual_devices(devices), **environment)


@pytest.mark.parametrize(("processes", "devices", "checks"), [
    (2, 4, CHECKS[:2]), pytest.param(2, 4, CHECKS[2:], marks=pytest.mark.slow), pytest.param(4, 2, CHECKS, marks=pytest.mark.nightly)])
def test_programs_print_what_they_print_alone(processes, devices, checks):
    """Nothing else is on stdout, so that programs can be compared and piped."""
    ran = on(processes, devices, "job.py", *checks)
    assert ran.returncode == 0, ran.stderr[-3000:]
    assert ran.stdout.splitlines() == [f"held {name}" for name in checks]


@pytest.mark.nightly
def test_many_steps_with_reads_of_one_rank():
    ran = on(2, 4, "job.py", "trains_on_batches_of_each_process", STEPS="200")
    assert ran.returncode == 0, ran.stderr[-3000:]


@pytest.mark.slow
def test_checkpoints_load_on_other_numbers_of_processes_and_devices(tmp_path):
    saved = on(2, 4, "job.py", "save", str(tmp_path)).stdout
    assert {p.name for p in tmp_path.iterdir()} == {".metadata", "__0_0.distcp", "__1_0.distcp"}
    assert on(1, 8, "job.py", "load", str(tmp_path)).stdout == saved
    assert on(4, 1, "job.py", "load", str(tmp_path)).stdout == saved
    alone = {k: v for k, v in os.environ.items() if k not in ("RANK", "WORLD_SIZE")}
    ran = subprocess.run([sys.executable, str(PROGRAMS / "job.py"), "load", str(tmp_path)], capture_output=True, text=True, env=alone,
                         timeout=600, check=False)
    assert ran.stdout == saved, ran.stderr[-3000:]


HERE = "job_mistakes.py:"


@pytest.mark.slow
@pytest.mark.parametrize(("case", "says", "ranks"), [
    ("programs", ["rank 0 is at mul(float32[8], 2) at ", HERE, "but rank 1 is at add(float32[8], 1) at "], "01"),
    ("data", ["rank 0 is at putting other data on the mesh, float32[4] at ", HERE], "01"),
    ("numbers", ["rank 0 is at mul(float32[8], 2.0) at ", "but rank 1 is at mul(float32[8], 3.0) at ", HERE], "01"),
    ("uneven", ["float32[16]", "float32[8]", HERE], "01"),
    ("reads alone", ["Timed out after 2 s: rank 1 has not come to a read at ", HERE, "All ranks must read such a value"], "01"),
    ("leaves", ["rank 1 has left the job, and rank 0 waits for it at a read at ", HERE], "0"),
    ("dies before", ["rank 1 has ended"], "0"),
    ("dies during", ["rank 1 has ended"], "0"),
    ("started", ['init_process_group("xla") came too late', "Move it to the beginning of the program"], "01"),
    ("a part of the mesh", ["has all 4 cpu devices of the job; got 2 of them"], "01"),
    ("another thread", ["belong to the thread that called init_process_group()"], "01")])
def test_each_rank_that_waits_gets_an_error_with_ranks_and_lines(case, says, ranks, tmp_path):
    ran = on(2, 2, "job_mistakes.py", case, SAID=str(tmp_path))
    for rank in ranks:
        # A rank whose collective never returns prints the error and ends.
        said = (tmp_path / rank).read_text() if (tmp_path / rank).exists() or case != "dies during" else ran.stderr
        assert all(text in said for text in says), (rank, said)
    assert not [name for name in os.listdir(tmp_path) if name not in ranks]
