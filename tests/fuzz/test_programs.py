"""A slice of the fuzzer with a fixed seed, and programs with a past difference, each under a name."""
from __future__ import annotations

import gc
import warnings

import pytest
from found import FOUND
from libraries import library
from programs import Looks, Pair, replay, run

pytestmark = [pytest.mark.core, pytest.mark.conformance]


@pytest.fixture
def jtorch():
    """Return the package under test."""
    return library("jtorch")


@pytest.fixture(autouse=True, scope="module")
def frozen():
    """Freeze the objects of earlier tests, so that collections and searches for referrers skip them."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


@pytest.fixture(autouse=True)
def quiet():
    """Ignore warnings, since PyTorch warns of many statements once per process."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@pytest.mark.parametrize("part", range(4))
def test_random_programs_do_what_they_do_with_pytorch(part, torch, jtorch):
    for seed in range(part * 12, part * 12 + 12):
        found = run(seed, torch, jtorch)
        assert found is None, f"program {seed}:\n{found}"


@pytest.mark.parametrize("history_every", [1, 100])
@pytest.mark.parametrize("name", FOUND)
def test_what_the_fuzzer_has_found_stays_mended(name, history_every, torch, jtorch):
    lines = [line for line in FOUND[name].strip().splitlines() if line]
    found = replay(lines, torch, jtorch, Looks(1, history_every))
    assert found is None, str(found)


def test_a_difference_is_seen_and_shrunk(torch, jtorch, monkeypatch):
    """The fuzzer finds an in-place sine that does not count its version."""
    real = Pair.step

    def step(self, line, last=False):
        what = real(self, line, last)
        if "sin_()" in line and what is None:
            t = self.jtorch.names["t1"]
            t._storage.version -= 1
            return real(self, "pass", last)
        return what
    monkeypatch.setattr(Pair, "step", step)
    found = replay(["t1 = xp.ones(2)", "t2 = xp.ones(3)", "t1.sin_()"], torch, jtorch, Looks())
    assert found is not None
    assert "version" in found.what
