"""The words of MT19937 in C, and the numbers made from them in C or on a shorter path."""
from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from jtorch._base import late_bindings
from jtorch._base.mt19937 import Stream
from jtorch.ops import _box_muller


@pytest.mark.skipif(late_bindings.draw_words is None, reason="the extension is not there")
def test_words_drawn_in_c_are_those_of_numpy(monkeypatch):
    ours, numpys, draw_words = Stream(5), Stream(5), late_bindings.draw_words
    for n in (0, 1, 3, 623, 624, 625, 10_000, 2, 100_003):
        monkeypatch.setattr(late_bindings, "draw_words", draw_words)
        words = ours.words(n)
        monkeypatch.setattr(late_bindings, "draw_words", None)
        np.testing.assert_array_equal(words, numpys.words(n))
        np.testing.assert_array_equal(ours.get_state(), numpys.get_state())
    for state, out in ((np.zeros(624, np.uint32), words), (np.zeros(625, np.uint32), np.zeros(3, np.uint8))):
        with pytest.raises(ValueError, match="625 words"):
            draw_words(state, out)


@pytest.mark.skipif(late_bindings.normals is None, reason="the extension is not there")
def test_normals_made_in_c_are_those_of_numpy(monkeypatch):
    integers = np.concatenate([Stream(3).low_bits(1 << 20), np.arange(16, dtype=np.int32), 0xFFFFFF - np.arange(16, dtype=np.int32)])
    made = np.empty(integers.size, np.float32)
    late_bindings.normals(integers, made)
    monkeypatch.setattr(late_bindings, "normals", None)
    np.testing.assert_array_equal(made, _box_muller.normals32(integers))


@pytest.mark.skipif(late_bindings.fuse is None, reason="the extension is not there")
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_products_with_sums_are_rounded_once(dtype):
    x = np.random.default_rng(0).normal(size=1001).astype(dtype)
    b, c = dtype(1 / 3), dtype(-0.7)
    exact = [Fraction(float(v)) * Fraction(float(b)) + Fraction(float(c)) for v in x]
    late_bindings.fuse(x, b, c)
    for v, e in zip(x, exact, strict=True):
        error = abs(Fraction(float(v)) - e)
        assert all(error <= abs(Fraction(float(np.nextafter(v, dtype(to)))) - e) for to in (-np.inf, np.inf))


@pytest.mark.skipif(late_bindings.fuse is None, reason="the extension is not there")
def test_wrong_arrays_are_errors():
    floats, longs = np.zeros(16, np.float32), np.zeros(2, np.int64)
    for call in (lambda: late_bindings.normals(np.zeros(8, np.int32), floats), lambda: late_bindings.normals(np.zeros(3, np.int32), floats[:3]),
                 lambda: late_bindings.fuse(longs, 1., 2.), lambda: late_bindings.swap_places(longs, np.array([2, 0])),
                 lambda: late_bindings.swap_places(longs, np.array([-1])), lambda: late_bindings.swap_places(longs, np.zeros(3, np.int64))):
        with pytest.raises(ValueError, match="takes"):
            call()
    with pytest.raises(TypeError):
        late_bindings.fuse(floats, "a", 1.)
    with pytest.raises((TypeError, ValueError, BufferError)):
        late_bindings.fuse(np.broadcast_to(floats[:1], 4), 1., 1.)


@pytest.mark.parametrize("p", [0, 1, 0.5, 0.1, 0.9, 1 / 3, 2.0**-30, 1 - 2.0**-53, 2.0**-60])
def test_numbers_below_a_bound_are_found_by_their_high_bits(p):
    ours, others = Stream(7), Stream(7)
    for n in (0, 1, 100, 70_000):
        np.testing.assert_array_equal(ours.below(n, p), others.doubles(n) < p)
    bound = Stream(7).doubles(1)[0]     # The bound equals a drawn number, or is the next larger float.
    assert (Stream(7).below(1, bound)[0], Stream(7).below(1, np.nextafter(bound, 1))[0]) == (False, True)
