"""8-bit floats are rounded as by PyTorch, and ops that move elements accept them."""
from __future__ import annotations

import numpy as np
import pytest

NAMES = ["float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz", "float8_e8m0fnu"]
EDGES = [448., 449., 464., 465., 57344., 57345., 61440., 61441., 1e9, float("inf"), -float("inf"), float("nan"), 0., -0., 241.,
         1e-40, 3e-39, -3., 6., 5e-8]


def _numbers():
    drawn = np.random.default_rng(0).standard_normal(400)
    return [*EDGES, *np.concatenate([drawn * s for s in (1e-8, 1e-3, 1., 300., 1e5)]).tolist()]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("source", ["float32", "float64", "bfloat16", "float16"])
def test_rounding(name, source, torch):
    import jtorch

    wanted, found = (lib.tensor(_numbers(), dtype=getattr(lib, source)).to(getattr(lib, name)).float().numpy()
                     for lib in (torch, jtorch))
    np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("name", NAMES)
def test_what_is_made_of_numbers(name, xp):
    dtype = getattr(xp, name)
    wanted = xp.tensor(_numbers()).to(dtype).float().numpy()
    np.testing.assert_array_equal(xp.tensor(_numbers(), dtype=dtype).float().numpy(), wanted)
    np.testing.assert_array_equal(xp.as_tensor(np.array(_numbers(), np.float32), dtype=dtype).float().numpy(), wanted)
    np.testing.assert_array_equal(xp.empty(len(wanted), dtype=dtype).copy_(xp.tensor(_numbers())).float().numpy(), wanted)


@pytest.mark.parametrize("name", NAMES)
def test_elements_move(name, xp):
    x = xp.tensor([1., 2., 4., 8.]).to(getattr(xp, name))
    assert x[1:3].float().tolist() == [2, 4]
    assert x.clone()[1:].clone().float().tolist() == [2, 4, 8]
    assert x.reshape(2, 2).t().contiguous().float().tolist() == [[1, 4], [2, 8]]
    assert x[xp.tensor([3, 0])].float().tolist() == [8, 1]
    assert xp.cat([x, x])[3:6].float().tolist() == [8, 1, 2]
    assert x.view(xp.uint8).shape == (4,)
    y = x.clone()
    y[1:3] = y[0]
    assert y.float().tolist() == [1, 1, 1, 8]
    assert "float8" in repr(x[::2])
