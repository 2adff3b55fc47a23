"""Objects of other libraries as indices, values and data."""
from __future__ import annotations

import numpy as np
import pytest

pytestmark = pytest.mark.core


class Foreign:
    """Takes over the functions that it is given to."""

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return func.__name__, len(args)


class Exported:
    """Speaks DLPack."""

    def __dlpack__(self, **kw):
        return np.arange(3.0).__dlpack__()

    def __dlpack_device__(self):
        return 1, 0


@pytest.mark.parametrize("index", [lambda f: f, lambda f: (f, 0), lambda f: (slice(None), f)])
def test_an_index_takes_over(xp, index):
    assert xp.ones(3, 2)[index(Foreign())] == ("__getitem__", 2)


def test_assigning_asks_index_and_value(xp):
    x = xp.ones(3)
    x[Foreign()] = 1
    x[0] = Foreign()
    assert x.tolist() == [1.0, 1.0, 1.0]


def test_numpy_numbers_are_assigned(xp):
    x = xp.zeros(2, dtype=xp.int64)
    x[0], x[1] = np.int16(5), np.uint8(7)
    assert x.tolist() == [5, 7]
    with pytest.raises(TypeError, match="can't assign a numpy.float32 to a torch.LongTensor"):
        x[1] = np.float32(2.7)


def test_dlpack_gives_data(xp):
    assert xp.tensor(Exported()).tolist() == [0.0, 1.0, 2.0]
    assert xp.as_tensor(Exported(), dtype=xp.float32).dtype is xp.float32
    assert type(xp.ones(2).__dlpack__(stream=-1)).__name__ == "PyCapsule"
    with pytest.raises(AssertionError, match="stream should be None on cpu"):
        xp.ones(2).__dlpack__(stream=1)
    with pytest.raises(TypeError, match="stream must be ``int`` or ``none``"):
        xp.ones(2).__dlpack__(stream="1")


def test_slogdet_has_a_type_of_its_own(xp):
    assert type(xp.eye(2).slogdet()).__name__ == type(xp.slogdet(xp.eye(2))).__name__ == "slogdet"
    assert type(xp.linalg.slogdet(xp.eye(2))).__name__ == "linalg_slogdet"
    assert type(xp.slogdet(xp.eye(2))) is xp.return_types.slogdet


def test_functional_call_takes_tensors_only(xp):
    with pytest.raises(TypeError, match="3 is not an instance of torch.Tensor"):
        xp.func.functional_call(xp.nn.Linear(2, 2), {"weight": 3}, xp.ones(1, 2))
    m = xp.nn.Linear(2, 2)
    m.foo = 0.5
    with pytest.raises(TypeError, match="attribute `foo`: 0.5 is not an instance of torch.Tensor"):
        xp.func.functional_call(m, {"foo": xp.ones(1)}, xp.ones(1, 2))
