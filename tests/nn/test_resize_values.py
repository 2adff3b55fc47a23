"""Resized images round to the same bytes, as in transforms of images."""
from __future__ import annotations

import numpy as np
import pytest
from libraries import library


@pytest.mark.parametrize("mode", ["bilinear", "bicubic"])
def test_antialiased_weights_are_those_of_float32(torch, mode):
    image = np.random.RandomState(0).randint(0, 256, (1, 3, 40, 40)).astype(np.float32)

    def work(xp):
        return xp.nn.functional.interpolate(xp.from_numpy(image), (24, 24), mode=mode, antialias=True).numpy()

    np.testing.assert_allclose(work(library("jtorch")), work(torch), rtol=0, atol=2e-4)
