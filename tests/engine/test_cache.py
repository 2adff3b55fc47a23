"""Programs that an earlier process has compiled are read from disk."""
from __future__ import annotations

import os
import re
from pathlib import Path

import jax
import numpy as np
import pytest

from jtorch.engine import cache

LOOP = """
import jtorch as torch
torch.manual_seed(0)
w = torch.randn(8, 8, requires_grad=True)
x = torch.randn(4, 8)
for _ in range(4):
    loss = ((x @ w).tanh() ** 2).mean()
    loss.backward()
    with torch.no_grad():
        w -= 0.1 * w.grad
        w.grad = None
    last = loss.item()
print(last)
print(torch.engine.report())
"""


@pytest.fixture
def run(run_python, tmp_path):
    """Runs the loop in a process of its own: its last loss, and how many programs it compiled and how many it read."""
    def run_loop(directory: str | None = None):
        printed = run_python(LOOP, {"JTORCH_CACHE": str(tmp_path / "cache") if directory is None else directory, "JTORCH_ENGINE": "hot"})
        programs, kernels, loaded = re.search(r"(\d+) programs and (\d+) kernels compiled in .*\((\d+) read from disk\)",
                                              printed).groups()
        return printed.splitlines()[0], int(programs) + int(kernels), int(loaded)
    return run_loop


def files(tmp_path: Path) -> list[Path]:
    return sorted((tmp_path / "cache").iterdir())


def test_a_second_process_reads_what_the_first_compiled(run, tmp_path):
    first, made, loaded = run()
    assert made > 0
    assert loaded == 0
    assert len(files(tmp_path)) == made
    second, made, loaded = run()
    assert loaded == made > 0
    assert second == first


@pytest.mark.slow
def test_a_program_of_known_calls_is_read_without_being_traced(run_python, tmp_path):
    code = LOOP + "print(torch.engine.stats.counters.read_untraced, torch.engine.stats.counters.programs)"
    settings = {"JTORCH_CACHE": str(tmp_path), "JTORCH_ENGINE": "hot"}
    untraced, programs = run_python(code, settings).split()[-2:]
    assert int(untraced) == 0 < int(programs)
    again, as_many = run_python(code, settings).split()[-2:]
    assert again == as_many == programs
    twice_as_fine = "import jax\njax.config.update('jax_default_matmul_precision', 'highest')\n" + code
    assert run_python(twice_as_fine, settings).split()[-2] == "0"


def test_a_damaged_file_is_made_anew(run, tmp_path):
    first, _, _ = run()
    for path in files(tmp_path):
        path.write_bytes(path.read_bytes()[:100])
    again, _, loaded = run()
    assert again == first
    assert loaded == 0
    assert min(path.stat().st_size for path in files(tmp_path)) > 100


def test_a_directory_that_others_may_write_to_is_not_used(run, tmp_path):
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache").chmod(0o777)
    run()
    assert files(tmp_path) == []


@pytest.mark.parametrize("off", ["", "0"])
def test_off(run, tmp_path, off):
    _, _, loaded = run(off)
    assert loaded == 0
    assert not (tmp_path / "cache").exists()


def test_the_oldest_files_go(tmp_path, monkeypatch):
    monkeypatch.setattr(cache, "MAX_BYTES", 250)
    monkeypatch.setattr(cache, "_trimmed", 0.0)
    for age, name in enumerate("abcd"):
        (tmp_path / name).write_bytes(bytes(100))
        os.utime(tmp_path / name, (1000 - age, 1000 - age))
    cache._trim(tmp_path)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a", "b"]


def test_programs_that_leave_out_other_arguments_are_told_apart(tmp_path):
    """JAX drops an argument that is not used, and then two programs have one text: both double the one that they take."""
    before = cache.get_cache_dir()
    cache.set_cache_dir(tmp_path)
    try:
        given = np.ones(3, np.float32), np.full(3, 5, np.float32)
        made = [cache.kernel(jax.jit(f).lower(*given)) for f in (lambda x, y: x * 2, lambda x, y: y * 2)]
        made.append(cache.kernel(jax.jit(lambda x: x * 2).lower(given[0])))
        assert [made[0](*given)[0], made[1](*given)[0], made[2](given[1])[0]] == [2, 10, 10]
    finally:
        cache.set_cache_dir(before)


LINALG = """
import jtorch as torch
a = torch.eye(40) + torch.arange(1600.0).reshape(40, 40) / 4000
for _ in range(40):
    q, r = torch.linalg.qr(a)
    x = torch.linalg.solve(a, torch.ones(40, 1))
    total = (q @ r).sum() + torch.linalg.cholesky(a.mT @ a).diagonal().log().sum() + x.sum() + torch.linalg.svdvals(a)[0]
    last = total.item()
counters = torch.engine.stats.counters
print(round(last, 2), counters.programs > 0, counters.read_untraced)
"""


@pytest.mark.slow
def test_programs_that_call_lapack_are_read_by_a_process_that_has_not_traced_one(run_python, tmp_path):
    """JAX looks LAPACK's functions up when it lowers a call of one, and the program would jump nowhere."""
    env = {"JTORCH_CACHE": str(tmp_path / "cache"), "JTORCH_ENGINE": "hot"}
    first, second = [run_python(LINALG, env).split() for _ in range(2)]
    assert first[:2] == second[:2] and first[1] == "True"
    assert (int(first[2]), int(second[2]) > 0) == (0, True)
