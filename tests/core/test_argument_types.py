"""Errors for arguments of wrong types name the parameter, the expected and the given type, as PyTorch's."""
from __future__ import annotations

import numpy as np
import pytest

pytestmark = pytest.mark.core

WRONG = {
    "allclose(): argument 'input' (position 1) must be Tensor, not int": lambda xp, x: xp.allclose(1, x),
    "allclose(): argument 'rtol' (position 3) must be float, not str": lambda xp, x: xp.allclose(x, x, "a"),
    "add(): argument 'alpha' must be Number, not str": lambda xp, x: xp.add(x, x, alpha="a"),
    "add(): argument 'alpha' must be Number, not NoneType": lambda xp, x: xp.add(x, x, alpha=None),
    "addmv(): argument 'beta' must be Number, not list": lambda xp, x: xp.addmv(x[0], x, x[0], beta=[1]),
    "amax(): argument 'dim' (position 2) must be tuple of ints, not str": lambda xp, x: xp.amax(x, "a"),
    "softmax(): argument 'dim' (position 2) must be int, not float": lambda xp, x: xp.softmax(x, 1.5),
    "leaky_relu(): argument 'negative_slope' (position 2) must be Number, not str": lambda xp, x: xp.nn.functional.leaky_relu(x, "a"),
    "linalg_det(): argument 'A' (position 1) must be Tensor, not int": lambda xp, x: xp.linalg.det(1),
    "triu(): argument 'diagonal' (position 2) must be int, not complex": lambda xp, x: xp.triu(x, 1j),
    "isclose(): argument 'equal_nan' (position 5) must be bool, not str": lambda xp, x: xp.isclose(x, x, 0, 0, "a"),
    "amax(): argument 'keepdim' (position 3) must be bool, not numpy.bool": lambda xp, x: xp.amax(x, 0, np.bool_(True)),
    "cat(): argument 'tensors' (position 1) must be tuple of Tensors, not int": lambda xp, x: xp.cat(1),
    "pad(): argument 'value' (position 4) must be float, not complex": lambda xp, x: xp.nn.functional.pad(x, (1, 1), "constant", 1j),
    "full(): argument 'dtype' must be torch.dtype, not float": lambda xp, x: xp.full((2,), 1, dtype=1.5),
    "zeros_like(): argument 'dtype' must be torch.dtype, not bool": lambda xp, x: xp.zeros_like(x, dtype=True),
    "add(): argument 'other' (position 2) must be Tensor, not numpy.ndarray": lambda xp, x: xp.add(x, x.numpy()),
    "scalar_tensor(): argument 's' (position 1) must be Number, not str": lambda xp, x: xp.scalar_tensor("a"),
    "rot90(): argument 'dims' (position 3) must be tuple of ints, not dict": lambda xp, x: xp.rot90(x, 1, {}),
}


@pytest.mark.parametrize("message", WRONG)
def test_an_argument_of_a_wrong_type(xp, message):
    with pytest.raises(TypeError) as raised:
        WRONG[message](xp, xp.ones(2, 2))
    assert str(raised.value).splitlines()[0] == message


def test_a_bool_is_not_an_int(xp):
    """A cached call with True does not accept 1, although ``1 == True``."""
    x = xp.ones(2)
    for _ in range(2):
        xp.cummax(x, 0)
        assert xp.sum(x, 0, keepdim=True).tolist() == [2]
        with pytest.raises(TypeError):
            xp.sum(x, 0, keepdim=1)


def test_numpys_numbers_are_arguments(xp):
    x = xp.ones(2, 3)
    assert xp.sum(x, np.int64(0)).tolist() == [2, 2, 2]
    assert xp.nn.functional.leaky_relu(-x, np.float32(0.5)).tolist() == (-0.5 * x).tolist()
    assert xp.add(x, x, alpha=np.int64(2)).tolist() == (3 * x).tolist()
