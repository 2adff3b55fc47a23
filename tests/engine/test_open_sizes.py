"""One trace for many sizes: the arithmetic of open sizes, and calls whose sizes vary."""
from __future__ import annotations

import ast
import json
import operator
import subprocess
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jax import lax

from jtorch.engine import families, policy
from jtorch.engine.affine_sizes import AffineSizes
from jtorch.engine.host import Plan, Unsupported, trace
from jtorch.engine.host.sizes import Size, Unknowns

ARITHMETIC = [operator.add, operator.sub, operator.mul, operator.floordiv, operator.mod, max, min]
COMPARISONS = [operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge]


# A slow machine must not fail the test.
@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.integers(0, 40), st.integers(0, 40),
       st.lists(st.tuples(st.sampled_from([*ARITHMETIC, *COMPARISONS]), st.integers(0, 30), st.integers(0, 30), st.integers(-5, 70)),
                max_size=12))
def test_an_admitted_size_takes_the_same_way(example, n, steps):
    """Arithmetic with an open size gives the integers' results for each size that gives its comparisons the same answers."""
    def way(size):
        values, answers = [size], []
        for fn, i, j, constant in steps:
            a = values[i % len(values)]
            b = values[j % len(values)] if j % 2 else constant
            if fn in COMPARISONS:
                answers.append(fn(a, b))
            elif fn not in (operator.floordiv, operator.mod) or b != 0:
                values.append(fn(a, b))
        return values, answers

    unknown = Unknowns(example)
    try:
        values, answers = way(unknown.size(0, 1))
    except TypeError:       # The quotient is no polynomial.
        return
    if unknown.admit((n,)):
        assert ([v.at((n,)) if isinstance(v, Size) else v for v in values], answers) == way(n)


def test_sizes_are_no_integers():
    n = Unknowns(3).size(0, 1)
    for wants_an_integer in (operator.index, int, float, range, lambda n: [0] * n, lambda n: np.zeros(n), lambda n: n * 0.5):
        with pytest.raises(TypeError):
            wants_an_integer(n)
    assert n != Unknowns(3).size(0, 1) and n - n == 0 and (n * n - n) // n == n - 1 and hash(n) == hash(n + 0)


def test_closed_unknowns_take_no_notice():
    unknown = Unknowns(3)
    n = unknown.size(0, 1)
    assert n != 7 and not unknown.admit((7,))
    unknown.close()
    assert n != 8 and unknown.admit((8,))


FUNCTIONS = {
    "matmul": lambda x: x @ jnp.ones((5, 3), x.dtype),
    "gram": lambda x: x.swapaxes(1, 2) @ x,
    "mean": lambda x: x.mean(1),
    "var": lambda x: x.var((0, 1)),
    "softmax": lambda x: jax.nn.softmax(x, 1),
    "flat": lambda x: x.reshape(-1),
    "rows": lambda x: x.reshape(x.shape[0] * x.shape[1], 5),
    "last": lambda x: lax.index_in_dim(x, x.shape[1] - 1, 1),
    "tril": lambda x: jnp.tril(jnp.broadcast_to(x[:, :, :1], (2, x.shape[1], x.shape[1]))),
    "outer": lambda x: x[:, :, None, 0] * x[:, None, :, 0],
    "cat": lambda x: jnp.concatenate([x, x], 1),
    "cumsum": lambda x: jnp.cumsum(x, 1),
    "argmax": lambda x: x.argmax(1),
    "count": lambda x: x * x.shape[1] + jnp.arange(x.shape[1], dtype=x.dtype)[None, :, None],
    "pad": lambda x: lax.pad(x, x.dtype.type(0), ((0, 0, 0), (2, 1, 0), (0, 0, 0))),
    "sliding": lambda x: x[:, 1:] - x[:, :-1],
    "small or large": lambda x: x + 1 if x.shape[1] < 6 else x - 1,
    "one of a kind": lambda x: x.sum(1) if x.shape[1] != 7 else x.max(1),
    "gradient": jax.grad(lambda x: (jax.nn.softmax(x, 1) ** 3).sum()),
}


def sizes_served_by_one_trace(name):
    """Return the sizes that a trace at size 4 admits. At each its plan gives JAX's results."""
    fn, unknown, served = FUNCTIONS[name], Unknowns(4), []
    jax.clear_caches()      # JAX compares a size with all known sizes, and the comparisons split the traces.
    with jax.enable_x64(True), jax.numpy_rank_promotion("allow"), jax.numpy_dtype_promotion("standard"):
        plan = Plan(*trace(fn, [jax.ShapeDtypeStruct((2, unknown.size(0, 1), 5), np.float32)]), has_open=True)
        for n in (0, 1, 2, 3, 4, 5, 6, 7, 8, 64, 1000):
            if unknown.admit((n,)):
                x = np.random.default_rng(n).normal(size=(2, n, 5)).astype(np.float32)
                got, want = plan.at((n,))([x])[0], np.asarray(jax.jit(fn)(jnp.asarray(x)))
                assert got.dtype == want.dtype and got.shape == want.shape
                np.testing.assert_allclose(got, want, 1e-4, 1e-4)
                served.append(n)
    return served


@pytest.fixture(scope="module")
def served():
    """Return the sizes by function name, from a process of its own, since JAX's caches know the sizes of other tests."""
    made = subprocess.run([sys.executable, __file__], capture_output=True, text=True, check=False)
    assert made.returncode == 0, made.stderr
    return json.loads(made.stdout)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_one_trace_serves_for_all_sizes_it_admits(name, served):
    # A trace of these two serves at most six of the sizes, and hash collisions cost one or two of them.
    least = 3 if name in ("small or large", "tril") else 6
    assert len(served[name]) >= least, served[name]
    assert 7 not in served[name] or name != "one of a kind"


def test_a_reshape_that_fits_one_size_only():
    """JAX does not check whether the elements of an open size fit."""
    unknown = Unknowns(5)
    plan = Plan(*trace(lambda x: lax.reshape(x, (5, 5)), [jax.ShapeDtypeStruct((5, unknown.size(0, 1)), np.float32)]), has_open=True)
    assert plan.at((5,))([np.ones((5, 5), np.float32)])[0].shape == (5, 5)
    with pytest.raises(Unsupported):
        plan.at((6,))


def test_a_loop_over_an_open_size_is_refused():
    with pytest.raises(TypeError, match="left open"):
        Plan(*trace(lambda x: lax.fori_loop(0, 3, lambda i, c: c + x, x), [jax.ShapeDtypeStruct((Unknowns(5).size(0, 1),), np.float32)]),
             has_open=True)


def test_lines():
    line = AffineSizes.through((2, 5, 3, 7), (4, 5, 7, 9))
    assert line.unknowns_of((2, 5, 3, 7)) == (2,) and line.unknowns_of((20, 5, 39, 25)) == (20,)
    assert line.unknowns_of((20, 5, 39, 26)) is None and line.unknowns_of((20, 6, 39, 25)) is None
    assert AffineSizes.through((2, 3), (4, 6)) is None
    assert AffineSizes.through((2, 3, 1), (4, 6, 2)).unknowns_of((6, 9, 3)) == (3,)
    assert AffineSizes.through((2, 3), (2, 3)) is None


def test_planes():
    plane = AffineSizes.through((16, 3, 7, 10), (16, 5, 7, 12), (16, 5, 8, 13))
    assert plane.at == (1, 2) and plane.unknowns_of((16, 20, 30, 50)) == (20, 30)
    assert plane.unknowns_of((16, 20, 30, 51)) is None and plane.unknowns_of((17, 20, 30, 50)) is None
    assert all(plane.unknowns_of(p) is not None for p in plane.points((4, 9)))
    assert AffineSizes.through((1, 2), (2, 3), (3, 4)) is None        # The points lie on a line.
    space = AffineSizes.through((9, 8, 7, 24), *plane.points((4, 9)))
    assert space is None or space.unknowns_of((9, 8, 7, 24)) is not None


def test_few_traces(monkeypatch):
    """Growing sequences are traced a few times, not once for each length."""
    import jtorch as torch
    traced = []
    monkeypatch.setattr(families, "trace", lambda *args, **kw: traced.append(1) or trace(*args, **kw))
    families.clear()
    torch.manual_seed(0)
    layer = torch.nn.TransformerEncoderLayer(16, 2, 32, batch_first=True).eval()
    with torch.no_grad():
        counts = []
        for n in range(3, 40):
            layer(torch.ones(1, n, 16))[:, -1].argmax(-1)
            counts.append(len(traced))
    assert counts[-1] <= counts[3] + 4 and counts[-1] < 80, counts


def test_bodies_take_open_sizes_for_integers():
    """``isinstance(size, int)`` is False for an open size, so the JAX trace would take a wrong branch."""
    # These files handle the caller's arguments.
    facts = {"autocast.py", "facts.py", "layout.py", "out_dtypes.py", "registry.py"}
    for path in (Path(families.__file__).parents[1] / "ops").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("isinstance", "type"):
                names = {n.id for n in ast.walk(node.args[-1]) if isinstance(n, ast.Name)}
                assert "int" not in names or path.name in facts, f"{path.name}:{node.lineno}: use check.Int"


def test_families_are_bounded(monkeypatch):
    import jtorch as torch
    monkeypatch.setattr(policy, "MAX_KERNELS", 5)
    for i in range(12):
        torch.ones(1, 2).add(torch.ones([1] * (i + 1)))
    assert len(families._families) <= 5
    family = families.Family(1, short=True)
    for i in range(40):
        family.program((i, i * i * 7), lambda sizes: None)
    assert len(family.met) <= policy.OFTEN and len(family.plans) <= policy.OFTEN


if __name__ == "__main__":
    print(json.dumps({name: sizes_served_by_one_trace(name) for name in FUNCTIONS}))
