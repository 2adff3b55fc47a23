"""Without free memory, calls raise PyTorch's error and the program continues."""
from __future__ import annotations

import sys

import pytest

PROGRAM = """
import resource
import jtorch as torch

def step():
    optimizer.zero_grad()
    loss = model(x).square().mean()
    loss.backward()
    optimizer.step()
    return loss.item()

torch.manual_seed(0)
model = torch.nn.Linear(64, 64)
optimizer = torch.optim.Adam(model.parameters())
x = torch.randn(32, 64)
model(x).sum().item() if BEFORE == 0 else [step() for _ in range(BEFORE)]
size = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (size + (150 << 20), -1))
n = 1 << 30

def attempt(call):
    try:
        call()
    except RuntimeError as error:
        print(str(error)[:7], str(error).partition("DefaultCPUAllocator: ")[2])

attempt(lambda: torch.empty(n).sum().item())
attempt(lambda: torch.randn(n))
attempt(lambda: torch.arange(n).sum().item())
attempt(lambda: torch.nn.Linear(30000, 30000))
attempt(lambda: torch.UntypedStorage(n))
kept = []
def fill():
    while True:
        kept.append(torch.randn(1 << 18))
try:
    fill()
except RuntimeError as error:
    print("can't allocate memory" in str(error))
kept.clear()
step()
print("done")
"""

WORDS = "can't allocate memory: you tried to allocate {} bytes. Error code 12 (Cannot allocate memory)"
EXPECTED = [f"[enforc {WORDS.format(size)}" for size in
            (4 << 30, 4 << 30, 8 << 30, 4 * 30000 * 30000, 1 << 30)]


@pytest.mark.skipif(sys.platform != "linux", reason="RLIMIT_AS is Linux's")
@pytest.mark.one_mode
@pytest.mark.parametrize("speedups", ["1", pytest.param("0", marks=pytest.mark.slow)])
@pytest.mark.parametrize("before", [0, pytest.param(30, marks=pytest.mark.slow)])
def test_a_program_goes_on_after_an_allocation_has_failed(run_forked, before, speedups):
    printed = run_forked(f"BEFORE = {before}\n{PROGRAM}", {"JTORCH_SPEEDUPS": speedups, "JTORCH_ENGINE": "auto"})
    assert printed.splitlines() == [*EXPECTED, "True", "done"]
