"""The threads of compiled code: small programs run in the waiting thread, with and without the cache."""
from __future__ import annotations

import jax
import numpy as np
import pytest

from jtorch.engine import cache, stats, threads
from jtorch.engine.threads import ELSEWHERE, Threads

pytestmark = pytest.mark.core
WAITED_FOR = Threads(inline=True, pool=False)


def _some_work(x):
    """Compute for a while in one thread."""
    for _ in range(20):
        x = x @ x * 1e-3
    return x


def _lowered():
    return jax.jit(lambda x: _some_work(x)).lower(jax.ShapeDtypeStruct((400, 400), np.float32))


@pytest.fixture
def folder(tmp_path):
    before = cache.get_cache_dir()
    cache.set_cache_dir(tmp_path)
    yield tmp_path
    cache.set_cache_dir(before)


def _argument():
    return jax.device_put(np.full((400, 400), 0.01, np.float32))


def test_what_is_waited_for_is_done_when_the_call_returns(folder):
    x = _argument()
    made, before = cache.kernel(_lowered(), WAITED_FOR), stats.counters.loaded
    loaded = cache.kernel(_lowered(), WAITED_FOR)
    assert (len(list(folder.iterdir())), stats.counters.loaded) == (1, before + 1)
    for program in (made, loaded):
        program(x).block_until_ready()      # The first call of a jit takes a slower path.
        assert all([program(x).is_ready() for _ in range(3)])


def test_programs_from_disk_run_on_the_threads_asked_for(folder):
    x = _argument()
    here, there = [[cache.kernel(_lowered(), on) for _ in range(2)][1] for on in (WAITED_FOR, WAITED_FOR._replace(inline=False))]
    for program in (here, there):
        program(x).block_until_ready()
        assert type(program._call).__name__ == "PjitFunction"       # JAX's fast path has this type.
    assert all([here(x).is_ready() for _ in range(3)])
    assert not all([there(x).is_ready() for _ in range(3)])


def test_other_programs_are_done_later(folder):
    program, x = cache.kernel(_lowered(), ELSEWHERE), _argument()
    program(x).block_until_ready()
    assert not all([program(x).is_ready() for _ in range(3)])


def test_both_give_the_same(folder):
    x = _argument()
    here, there = cache.kernel(_lowered(), WAITED_FOR), cache.kernel(_lowered(), ELSEWHERE)
    np.testing.assert_allclose(here(x), there(x), rtol=1e-4)


def test_a_jax_without_these_private_names_compiles_as_ever(monkeypatch):
    class Lowered:
        def compile(self, options):
            return "a program"

    monkeypatch.setattr(threads, "_works", True)
    assert threads.compiled(Lowered(), WAITED_FOR, {}) == "a program"
    assert not threads.are_awaited(WAITED_FOR)      # The program may run in other threads after the call.
