"""Which objects may be sizes, dims and counts: PyTorch's rules for ``int``, ``SymInt`` and lists of them."""
from __future__ import annotations

import numpy as np
import pytest
from bodies import bodies

pytestmark = pytest.mark.core

NUMBERS = {
    "True": lambda xp: True,
    "NumPy's bool": lambda xp: np.bool_(True),
    "a float": lambda xp: 1.0,
    "NumPy's float": lambda xp: np.float64(1),
    "NumPy's int": lambda xp: np.int64(1),
    "a 0-dim array": lambda xp: np.array(1),
    "a 0-dim tensor": lambda xp: xp.tensor(1),
    "a tensor of one element": lambda xp: xp.tensor([1]),
    "a tensor of a bool": lambda xp: xp.tensor(True),
    "a tensor of a float": lambda xp: xp.tensor(1.0),
}


class Index:
    """An object that Python takes for an index."""

    def __index__(self):
        return 1


CALLS = {
    "one size": lambda xp, n: tuple(xp.zeros(n).shape),
    "a later size": lambda xp, n: tuple(xp.zeros(2, n).shape),
    "the first of several": lambda xp, n: tuple(xp.ones(1, 3).expand(n, 3).shape),
    "a list": lambda xp, n: tuple(xp.ones([n, 2]).shape),
    "a repetition": lambda xp, n: xp.ones(2).repeat(n),
    "a permutation": lambda xp, n: tuple(xp.randperm(n).shape),
    "a limit": lambda xp, n: tuple(xp.randint(n, (2,)).shape),
    "a count": lambda xp, n: xp.topk(xp.arange(3.0), n)[0],
    "a dim": lambda xp, n: xp.arange(6.0).reshape(2, 3).cumsum(n),
    "a dim or dims": lambda xp, n: xp.arange(6.0).reshape(2, 3).amax(n),
    "a list of dims": lambda xp, n: xp.arange(6.0).reshape(2, 3).sum([n]),
    "a later dim": lambda xp, n: xp.arange(6.0).reshape(2, 3).sum([0, n]),
    "a shift": lambda xp, n: xp.roll(xp.arange(3), n),
    "a stride": lambda xp, n: xp.nn.functional.conv2d(xp.ones(1, 1, 3, 3), xp.ones(1, 1, 2, 2), stride=n),
    "groups": lambda xp, n: xp.nn.functional.conv2d(xp.ones(1, 1, 3, 3), xp.ones(1, 1, 2, 2), groups=n),
    "a length": lambda xp, n: xp.arange(3).narrow(0, 1, n),
    "strides": lambda xp, n: xp.empty_strided((2, 2), (2, n)).stride(),
}


# Maps an object to the arguments for which PyTorch fails in an internal assertion if it is given.
TRAPS = {
    "a 0-dim array": {"a dim or dims", "a shift", "a stride"},
    "a tensor of a bool": {"a permutation", "a limit", "a count", "groups", "a length"},
}


def call(xp, make, number):
    return make(xp, number(xp))


@pytest.mark.parametrize("name", NUMBERS)
def test_what_is_an_int(same, name):
    calls = {text: make for text, make in CALLS.items() if text not in TRAPS.get(name, ())}
    same(*bodies(call, calls, NUMBERS[name]))


WHOLE = [
    lambda xp: xp.zeros(np.array([2, 3])),
    lambda xp: xp.zeros(size=2),
    lambda xp: xp.ones(2, 3).sum(xp.tensor([0])),
    lambda xp: xp.ones(2, 3).sum(np.array([0, 1])),
    lambda xp: xp.ones(2, 3).sum({0, 1}),
    lambda xp: xp.ones(2, 3).permute(range(2)),
    lambda xp: xp.empty_strided(2, (1,)),
    lambda xp: xp.fft.fftn(xp.ones(4), 4).shape,
    lambda xp: xp.roll(xp.ones(0, 2), 1, (0, 1)),
    lambda xp: xp.unravel_index(xp.tensor(2), (np.int64(2), 3)),
    lambda xp: [int(x) for x in xp.unravel_index(xp.tensor(2), (True, 3))],
]


def test_what_is_a_list_of_ints(same):
    same(*WHOLE)


def test_an_object_with_an_index(xp):
    assert xp.zeros(Index(), 2).shape == (1, 2)
    assert xp.topk(xp.arange(3.0), Index())[0].tolist() == [2]
    with pytest.raises(TypeError, match=r"cumsum\(\) received an invalid combination|argument 'dim' .*must be int, not Index"):
        xp.ones(2, 2).cumsum(Index())
