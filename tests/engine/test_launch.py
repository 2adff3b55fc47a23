"""One step of C runs a program, with the results of JAX's own call. With an unknown JAX no buffer is donated."""
from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from jtorch.engine import launch


def step(w, m, g):
    m = 0.9 * m + g
    return w - 0.1 * m, m


def compiled():
    arrays = [jnp.arange(6.0), jnp.ones(6), jnp.full(6, 2.0)]
    return jax.jit(step, donate_argnums=(0, 1), keep_unused=True).lower(*arrays).compile(), arrays


def test_programs_run_without_python_between():
    """If this fails, JAX's private names have changed. Programs still run, with copies of their donated inputs."""
    made, arrays = compiled()
    executable = launch.Executable(made, 2)
    assert executable.is_direct
    expected = [np.asarray(x) for x in step(*arrays)]
    results: list[list] = []
    executable.run([], arrays, results)
    for got, want in zip(results[0], expected, strict=True):
        np.testing.assert_array_equal(np.asarray(got), want)
    assert arrays[0].is_deleted()
    assert arrays[1].is_deleted()
    assert not arrays[2].is_deleted()


def test_another_jax_gets_copies(monkeypatch):
    monkeypatch.setattr(launch, "_steps", lambda compiled: (None, None))
    made, arrays = compiled()
    results: list[list] = []
    launch.Executable(made, 2).run([], arrays, results)
    assert [x.is_deleted() for x in arrays] == [False] * 3
    np.testing.assert_array_equal(np.asarray(results[0][1]), np.full(6, np.float32(2.9)))
