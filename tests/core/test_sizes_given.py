"""PyTorch's errors for invalid sizes of new tensors."""
from __future__ import annotations

import pytest
from bodies import bodies, written

pytestmark = pytest.mark.core

SIZES = {
    "a negative size": lambda make: make(-1),
    "a negative second size": lambda make: make(2, -1),
    "a tuple with a negative size": lambda make: make((2, -1)),
    "a string": lambda make: make("a"),
    "a string as second size": lambda make: make(2, "a"),
    "a float": lambda make: make(2.0),
}
SIZES_OF_RANDOM_NUMBERS = {
    "a list of a string": lambda make: make(["a"]),
    "a list with a float": lambda make: make([2, 2.5]),
    "None": lambda make: make(None),
}
WRONG = [
    lambda xp: xp.full((-1,), 1.0),
    lambda xp: xp.ones(2).new_ones(-1),
    lambda xp: xp.randperm(-1),
    lambda xp: xp.randperm("a"),
    lambda xp: xp.randint("a", (2,)),
    lambda xp: xp.randint(5, (-2,)),
    lambda xp: xp.arange("3"),
    lambda xp: xp.nn.Linear("a", 2),
    lambda xp: xp.nn.Linear(2, 2.5),
    lambda xp: xp.nn.Linear(-1, 2),
    lambda xp: xp.nn.Conv2d(3, 4, "x"),
    lambda xp: xp.nn.Embedding("a", 2),
    lambda xp: xp.nn.BatchNorm1d("a"),
    lambda xp: xp.ones(2, 3).index_select(0, xp.ones(2, 3)),
]


def call(xp, sizes, name):
    return sizes(getattr(xp, name))


def test_what_is_no_size_is_refused(same):
    for name in ("ones", "rand", "randn", "zeros"):
        same(*bodies(call, SIZES, name))
    for name in ("rand", "randn"):
        same(*bodies(call, SIZES_OF_RANDOM_NUMBERS, name))
    same(*WRONG)


@pytest.mark.parametrize("call", [
    lambda xp: xp.randn(),
    lambda xp: xp.rand(),
    lambda xp: xp.randint(0, 2, 2),
    lambda xp: xp.randint(0, 2, "a"),
    lambda xp: xp.arange(0, "3"),
    lambda xp: xp.arange(),
], ids=written)
def test_what_fits_no_form_is_refused(xp, call):
    with pytest.raises(TypeError, match=r"received an invalid combination of arguments - got \("):
        call(xp)
