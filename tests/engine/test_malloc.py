"""The memory of a large program's temporaries is kept between its runs, as far as programs in use need it."""
from __future__ import annotations

import os
import platform
import subprocess
import sys

import pytest

from jtorch.engine import malloc

pytestmark = pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc's malloc is told what to keep")

STEPS = """
import resource
import jtorch as torch
x = torch.ones(2500, 20)
w = torch.ones(20, 2500, requires_grad=True)
def step():
    y = (x @ w).flip(1)
    z = (y.T @ x).flip(0) @ w
    (z * z * y).sum().backward()
    w.grad = None
    return w.sum().item()
for _ in range(3):
    step()
def faults():
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt
def faults_of_a_step():
    before = faults()
    step()
    return faults() - before
print(torch.engine.stats.counters.kept_temporaries, min(faults_of_a_step() for _ in range(16)))
"""


def _run(**settings: str) -> tuple[int, int]:
    environment = {k: v for k, v in os.environ.items() if not k.startswith("MALLOC_")}
    environment |= {"JTORCH_ENGINE": "hot", "JTORCH_CACHE": "0"} | settings
    printed = subprocess.run([sys.executable, "-c", STEPS], env=environment, stdout=subprocess.PIPE, check=True, text=True).stdout
    told, faults = map(int, printed.split())
    return told, faults


@pytest.fixture(scope="module")
def untouched() -> tuple[int, int]:
    return _run(JTORCH_KEEP_TEMPORARIES="0")


@pytest.mark.slow
def test_pages_are_not_cleared_anew_in_each_run(untouched):
    told, faults = _run()
    assert told >= 1
    # Kept memory saves at least 16 MiB of page faults, but not in a step with a trim or with memory of another thread's heap.
    assert untouched[1] - faults > 16 * 2**20 // 4096


@pytest.mark.slow
def test_it_can_be_switched_off(untouched):
    assert untouched[0] == 0


@pytest.mark.slow
def test_who_has_set_malloc_by_the_environment_keeps_that():
    assert _run(MALLOC_TOP_PAD_="0")[0] == 0


class Compiled:
    def __init__(self, megabytes: int):
        self.temp_size_in_bytes = megabytes << 20

    def memory_analysis(self):
        return self


def test_limits_follow_the_programs_in_use(monkeypatch):
    told = []
    monkeypatch.setattr(malloc, "_may_be_set", lambda: True)
    monkeypatch.setattr(malloc, "_mallopt", lambda: lambda which, size: told.append(size >> 20))
    monkeypatch.setattr(malloc, "_in_use", type(malloc._in_use)())
    monkeypatch.setattr(malloc, "_kept", 0)
    small, large, huge = Compiled(40), Compiled(100), Compiled(5000)
    malloc.keep_those_of(small)
    malloc.keep_those_of(large)
    malloc.keep_those_of(huge)
    assert told == [41, 80, 101, 200]
    del large
    malloc.keep_those_of(Compiled(1))
    assert told[4:] == [41, 80]
    del small
    malloc.keep_those_of(Compiled(1))
    assert told[6:] == [33, 64]
