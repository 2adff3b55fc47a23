"""The overloads of normal: with a size, the parameters are numbers."""
from __future__ import annotations

import pytest


def test_with_a_size(xp):
    assert xp.normal(xp.tensor(0.0), xp.tensor(1.0), (5,)).shape == (5,)
    assert xp.normal(0.0, xp.tensor(1.0), size=(2, 3)).shape == (2, 3)
    assert xp.normal(2.0, 0.0, (2,)).tolist() == [2.0, 2.0]
    assert xp.normal(xp.zeros(5), 1.0).shape == (5,) and xp.normal(0.0, xp.ones(4)).shape == (4,)


def test_with_a_size_tensors_of_dims_are_refused(xp):
    for mean, std in ((xp.zeros(5), 1.0), (0.0, xp.ones(5)), (xp.zeros(1), xp.ones(1))):
        with pytest.raises(TypeError):
            xp.normal(mean, std, (5,))
