"""Threads that compile for the first time at once share objects that are made once."""
from __future__ import annotations

import threading
import time
import warnings

import pytest

from jtorch._base import warned
from jtorch._base.once import once

PROGRAM = """
import threading, warnings
import jtorch as torch

def parts(k):
    torch.manual_seed(k)
    layers = torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3, padding=1), torch.nn.BatchNorm2d(8), torch.nn.ReLU(),
                                 torch.nn.Flatten(), torch.nn.Linear(8 * 256, 4))
    return layers, torch.randn(2, 3, 16, 16)

made = [parts(k) for k in range(6)]
before, start, found = list(warnings.filters), threading.Barrier(6), {}

def work(k):
    start.wait()
    layers, x = made[k]
    optimizer = torch.optim.Adam(layers.parameters())
    for _ in range(STEPS):
        optimizer.zero_grad()
        loss = layers(x).square().mean() + torch.linalg.svdvals(x[0, 0] @ x[0, 0].T + k).sum()
        loss.backward()
        optimizer.step()
        found[k] = loss.item()

threads = [threading.Thread(target=work, args=(k,)) for k in range(6)]
[t.start() for t in threads]
[t.join() for t in threads]
print(len(found), warnings.filters == before, [f"{x:.2f}" for _, x in sorted(found.items())])
"""


@pytest.mark.one_mode
def test_threads_that_compile_at_once(run_forked):
    assert run_forked(f"STEPS = 4{PROGRAM}", {"JTORCH_ENGINE": "hot"}).startswith("6 True ")


@pytest.mark.nightly
@pytest.mark.parametrize("mode", ["auto", "hot"])
def test_threads_that_compile_at_once_often(run_forked, mode):
    printed = {run_forked(f"STEPS = 12{PROGRAM}", {"JTORCH_ENGINE": mode}) for _ in range(20)}
    assert len(printed) == 1
    assert printed.pop().startswith("6 True ")


def together(*calls):
    threads = [threading.Thread(target=call) for call in calls]
    [t.start() for t in threads]
    [t.join() for t in threads]


def test_what_runs_once_runs_once_in_all_threads():
    made = []

    @once
    def slow():
        time.sleep(0.01)
        made.append(object())
        return made[-1]

    found = []
    together(*[lambda: found.append(slow())] * 6)
    assert len(made) == 1
    assert found == made * 6


def test_filters_of_warnings_are_as_before_when_threads_have_ignored_them_at_once():
    before = list(warnings.filters)
    both_in, first_is_out = threading.Barrier(2), threading.Event()

    def first():
        with warned.ignored():
            both_in.wait()
        first_is_out.set()

    def second():
        with warned.ignored():
            both_in.wait()
            first_is_out.wait()
            warnings.warn("ignored", stacklevel=1)

    together(first, second)
    assert warnings.filters == before
