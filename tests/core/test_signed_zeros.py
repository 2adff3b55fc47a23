"""``0.0 == -0.0``, but a call with one of them must not get the result cached for the other."""
from __future__ import annotations

import math

import pytest

pytestmark = pytest.mark.core
CALLS = {
    "full": lambda xp, z: xp.full((2,), z),
    "full_like": lambda xp, z: xp.full_like(xp.ones(2), z) * 2,
    "mul": lambda xp, z: xp.ones(2) * z * xp.ones(2),
    "complex": lambda xp, z: xp.full((2,), complex(1, z)).imag,
    "pad": lambda xp, z: xp.nn.functional.pad(xp.ones(1), (1, 0), value=z)[:1],
    "masked_fill": lambda xp, z: xp.ones(2).masked_fill(xp.ones(2) > 0, z),
    "fill_": lambda xp, z: xp.ones(2).fill_(z),
    "nan_to_num": lambda xp, z: xp.full((2,), math.nan).nan_to_num(nan=z),
}


@pytest.mark.parametrize("name", CALLS)
def test_calls(xp, name):
    for _ in range(40):
        for z in (0.0, -0.0, -0.0):
            assert math.copysign(1, CALLS[name](xp, z)[0].item()) == math.copysign(1, z)


def test_gradients(xp):
    for _ in range(40):
        for z in (0.0, -0.0, -0.0):
            x = xp.tensor([2.0, 3.0], requires_grad=True)
            (x.sum() * z).backward()
            assert math.copysign(1, x.grad[0].item()) == math.copysign(1, z)
