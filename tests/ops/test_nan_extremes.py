"""The largest of numbers with nan is nan, and its gradient goes to the nans in equal parts."""
from __future__ import annotations

import math

import pytest


@pytest.mark.parametrize("name", ["max", "min"])
def test_gradients_of_nan(xp, name):
    x = xp.tensor([math.nan, 1.0, math.nan, 2.0], requires_grad=True)
    y = getattr(x, name)()
    y.backward()
    assert y.isnan() and x.grad.tolist() == [0.5, 0.0, 0.5, 0.0]
