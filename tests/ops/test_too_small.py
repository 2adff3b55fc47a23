"""Inputs smaller than a cut or a window raise, with any padding."""
from __future__ import annotations

import pytest


@pytest.mark.parametrize("pad", [(0, 4, -2, 2), (-7, 3), (-4, -4), (3, -7)])
def test_more_cut_off_than_there_is(xp, pad):
    with pytest.raises(RuntimeError, match="length must be non-negative"):
        xp.nn.functional.pad(xp.ones(1, 3, 1, 6), pad)


@pytest.mark.parametrize("size", [(6, 2, 4), (3, 3, 4)])
def test_average_of_windows_larger_than_the_volume(xp, size):
    with pytest.raises(RuntimeError, match="smaller than kernel size"):
        xp.nn.functional.avg_pool3d(xp.ones(1, 1, *size), (4, 3, 4), 1, (1, 1, 2))
