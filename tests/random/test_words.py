"""The words of MT19937 in C, and what is made of them in a shorter way."""
from __future__ import annotations

import numpy as np
import pytest

from jtorch._base import seam
from jtorch._base.mt19937 import Stream


@pytest.mark.skipif(seam.draw_words is None, reason="the extension is not there")
def test_words_drawn_in_c_are_those_of_numpy(monkeypatch):
    ours, numpys, draw_words = Stream(5), Stream(5), seam.draw_words
    for n in (0, 1, 3, 623, 624, 625, 10_000, 2, 100_003):
        monkeypatch.setattr(seam, "draw_words", draw_words)
        words = ours.words(n)
        monkeypatch.setattr(seam, "draw_words", None)
        np.testing.assert_array_equal(words, numpys.words(n))
        np.testing.assert_array_equal(ours.get_state(), numpys.get_state())
    for state, out in ((np.zeros(624, np.uint32), words), (np.zeros(625, np.uint32), np.zeros(3, np.uint8))):
        with pytest.raises(ValueError, match="625 words"):
            draw_words(state, out)


@pytest.mark.parametrize("p", [0, 1, 0.5, 0.1, 0.9, 1 / 3, 2.0**-30, 1 - 2.0**-53, 2.0**-60])
def test_numbers_below_a_bound_are_found_by_their_high_bits(p):
    ours, others = Stream(7), Stream(7)
    for n in (0, 1, 100, 70_000):
        np.testing.assert_array_equal(ours.below(n, p), others.doubles(n) < p)
    bound = Stream(7).doubles(1)[0]     # equal to a number, and right above it
    assert (Stream(7).below(1, bound)[0], Stream(7).below(1, np.nextafter(bound, 1))[0]) == (False, True)
