"""Cuts of a sequence of calls into equal pieces."""
from itertools import pairwise

import pytest

from jtorch.engine import policy, repeated_regions

LAYER = [f"call {k}" for k in range(20)]
BACK = [f"call {k} back" for k in range(21)]


SECONDS = 0.007      # Compile time of each call in seconds.


def cuts_of(items):
    return repeated_regions.cuts(items, [SECONDS] * len(items))


def pieces(items):
    cuts = cuts_of(items)
    return [tuple(items[a:b]) for a, b in pairwise([0, *cuts, len(items)]) if a != b]


def test_layers_of_a_net_and_their_gradients():
    items = ["embed", *LAYER * 24, "head", "loss", *BACK * 24, "step"]
    found = pieces(items)
    assert sum(found, ()) == tuple(items)
    assert len(set(found)) == 5 and len(found) == 27
    assert tuple(LAYER * 2) in found and tuple(BACK * 2) in found


@pytest.mark.parametrize("items", [[], ["a"], list(range(500)), LAYER * 3, [*LAYER, *BACK] * 2], ids=len)
def test_what_repeats_little_is_not_cut(items):
    assert cuts_of(items) == []


def test_short_periods_are_taken_together(monkeypatch):
    found = pieces(["a", "b"] * 59)
    assert {len(p) for p in found} == {28, 6} and len(set(found)) == 2
    monkeypatch.setattr(policy, "PIECE", 0.7)
    assert cuts_of(["a", "b"] * 59) == []


def test_pieces_run_much_longer_than_their_start():
    assert repeated_regions.cuts(["a", "b"] * 100, [SECONDS] * 200, [1e-6] * 200) == []
    cuts = repeated_regions.cuts(["a", "b"] * 100, [SECONDS] * 200, [1e-5] * 200)
    assert len(cuts) > 2
    assert all((b - a) * 1e-5 >= policy.shortest_piece() for a, b in pairwise(cuts))


def test_a_part_that_differs_lies_between():
    items = LAYER * 8 + ["other"] + LAYER * 9
    found = pieces(items)
    assert sum(found, ()) == tuple(items)
    assert len(set(found)) == 3 and len(found) == 8
