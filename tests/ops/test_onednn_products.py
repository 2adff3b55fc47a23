"""Products of matrices by oneDNN: numbers in all positions, refused kinds, and programs with products."""
from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from jtorch.ops import _onednn
from jtorch.ops._onednn import product

pytestmark = pytest.mark.skipif(_onednn.version() is None, reason="oneDNN is not installed, or turned off")

# Dimensions of the left and the right array, with the positions of the summed and of the batch dimensions.
POSITIONS = {
    "rows by columns": ("mk", "kn"), "right transposed": ("mk", "nk"), "left transposed": ("km", "kn"), "both": ("km", "nk"),
    "several": ("bmk", "bkn"), "several, right transposed": ("bmk", "bnk"), "several, left transposed": ("bkm", "bkn"),
    "of two": ("bhmk", "bhnk"), "more rows": ("lmk", "nk"), "a sum over two": ("lmk", "lmn"),
}
SIZES = {"b": 3, "h": 5, "l": 7, "m": 83, "k": 65, "n": 97}


def _given(left, right):
    generator = np.random.default_rng(0)
    x, y = (generator.standard_normal([SIZES[d] for d in dims]).astype(np.float32) for dims in (left, right))
    several = [d for d in left if d in "bh" and d in right]
    summed = [d for d in left if d in right and d not in several]
    numbers = [tuple([tuple(map(dims.index, some)) for dims in (left, right)]) for some in (summed, several)]
    kept = "".join(several) + "".join([d for d in left + right if d not in several and d not in summed])
    return x, y, tuple(numbers), np.einsum(f"{left},{right}->{kept}", x.astype(np.float64), y)


def _lowered(x, y, numbers, spreads=True, beside=False):
    return _onednn.lowered(jax.jit(lambda x, y: lax.dot_general(x, y, numbers)).trace(x, y), spreads, beside)


@pytest.mark.parametrize("spreads", [True, False])
@pytest.mark.parametrize("position", POSITIONS)
def test_numbers(monkeypatch, position, spreads):
    for name in ("LEAST", "LEAST_OF_ONE", "LEAST_LENGTH_ALONE"):
        monkeypatch.setattr(product, name, 0)
    x, y, numbers, expected = _given(*POSITIONS[position])
    lowered = _lowered(x, y, numbers, spreads)
    assert _onednn.products_in(lowered.as_text()) == 1
    run = lowered.compile()
    found = run(x, y)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)
    assert np.array_equal(found, run(x, y))


@pytest.mark.parametrize(("rows", "length", "columns"), [(16, 4096, 16), (1000, 64, 17), (17, 64, 1000), (33, 100, 300)])
def test_shares_of_odd_sizes(rows, length, columns):
    generator = np.random.default_rng(0)
    x, y = (generator.standard_normal(size).astype(np.float32) for size in ((rows, length), (length, columns)))
    found = _lowered(x, y, (((1,), (0,)), ((), ()))).compile()(x, y)
    np.testing.assert_allclose(found, x.astype(np.float64) @ y, rtol=1e-4, atol=1e-3)


def test_what_stays():
    plain = (((1,), (0,)), ((), ()))
    large = np.ones((256, 256), np.float32)

    def count(x, y, numbers=plain, **how):
        return _onednn.products_in(_lowered(x, y, numbers, **how).as_text())
    assert count(large, large) == count(large, large, spreads=False) == count(large, large, beside=True) == 1
    assert count(large[:8], large[:, :8]) == 0              # There is too little work.
    assert count(large[:2], large) == 0                     # There are too few rows: XLA is as fast.
    assert count(large.astype(np.float16), large.astype(np.float16)) == 0
    huge = np.ones((512, 512), np.float32)
    assert count(huge, huge) == 1 and count(huge, huge, beside=True) == 0
    apart = np.ones((64, 3, 64), np.float32)
    assert count(apart, apart, (((0,), (0,)), ((1,), (1,)))) == 0      # One operand would have to be transposed.
    with jax.enable_x64(True):
        assert count(large.astype(np.float64), large.astype(np.float64)) == 0


TRANSPOSED = {
    "right": (lambda x, y: x @ y.T, 1), "result": (lambda x, y: (x @ y.T).T, 1), "both": (lambda x, y: (y @ x.T).T + 1, 1),
    "left of several": (lambda x, y: jnp.swapaxes(x.reshape(4, 64, 300), 1, 2) @ x.reshape(4, 64, 300), 1),
    "heads": (lambda x, y: jnp.swapaxes(x.reshape(2, 128, 3, 100), 1, 2) @ jnp.moveaxis(x.reshape(2, 128, 3, 100), 1, 3), 1),
    "channels in front": (lambda x, y: jnp.moveaxis(jnp.moveaxis(x.reshape(4, 300, 8, 8), 1, 3) @ y.T, 3, 1), 0),
    "result that is read as it is, too": (lambda x, y: (lambda z: (z.T, jnp.cos(z)))(x @ y.T), 0),
    "result of more dimensions": (lambda x, y: jnp.moveaxis(x.reshape(8, 32, 300) @ y.T, 2, 0), 0),
}


@pytest.mark.parametrize("name", TRANSPOSED)
def test_transposed(name):
    """Rows and columns may be transposed for free; otherwise XLA keeps the product."""
    function, count = TRANSPOSED[name]
    x, y = (np.random.default_rng(0).standard_normal(size).astype(np.float32) for size in ((256, 300), (128, 300)))
    lowered = _onednn.lowered(jax.jit(function).trace(x, y), True, False)
    assert _onednn.products_in(lowered.as_text()) == count
    for found, expected in zip(jax.tree.leaves(lowered.compile()(x, y)), jax.tree.leaves(function(x, y)), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


def test_in_a_loop_of_a_program():
    """The last thread to finish continues the program."""
    weight = np.random.default_rng(0).standard_normal((128, 128)).astype(np.float32) / 16

    def run(x):
        def turn(x, _):
            return jnp.tanh(x @ weight) + x.T @ weight, None
        return lax.scan(turn, x, None, length=50)[0]
    lowered = _onednn.lowered(jax.jit(run).trace(weight), True, False)
    assert _onednn.products_in(lowered.as_text()) == 2
    found = [lowered.compile()(weight) for _ in range(3)]
    expected = weight.astype(np.float64)
    for _ in range(50):
        expected = np.tanh(expected @ weight) + expected.T @ weight
    np.testing.assert_allclose(found[0], expected, rtol=1e-3, atol=1e-3 * np.abs(expected).max())
    assert np.array_equal(found[0], found[1]) and np.array_equal(found[0], found[2])
