"""``x.data = other`` with another shape, while a graph has saved ``x``."""
from __future__ import annotations

import pytest

pytestmark = pytest.mark.core

MISMATCH = r"^The size of tensor a \(3\) must match the size of tensor b \(4\) at non-singleton dimension 0"


@pytest.mark.parametrize("f", [lambda xp, x: x * x, lambda xp, x: x.sin(), lambda xp, x: x ** 3, lambda xp, x: xp.atan2(x, x)],
                         ids=["mul", "sin", "pow", "atan2"])
def test_a_saved_tensor_that_has_another_shape(xp, f):
    x = xp.ones(3, requires_grad=True)
    y = f(xp, x).sum()
    x.data = xp.ones(4)
    with pytest.raises(RuntimeError, match=MISMATCH):
        y.backward()
    assert x.grad is None


def test_grad_says_so_too(xp):
    x = xp.ones(3, requires_grad=True)
    y = (x * x).sum()
    x.data = xp.ones(4)
    with pytest.raises(RuntimeError, match=MISMATCH):
        xp.autograd.grad(y, x)


def test_a_result_that_was_saved(xp):
    x = xp.ones(3, requires_grad=True)
    y = x * 2
    z = (y * y).sum()
    y.data = xp.ones(4)
    with pytest.raises(RuntimeError, match=MISMATCH):
        z.backward()


def test_a_graph_that_has_not_saved_the_tensor(xp):
    x = xp.ones(3, requires_grad=True)
    y = (x * 2).sum()
    x.data = xp.ones(4)
    y.backward()
    assert x.grad.tolist() == [2, 2, 2]


def test_a_graph_made_afterwards(xp):
    x = xp.ones(3, requires_grad=True)
    y = x * x
    del y
    x.data = xp.full((4,), 2.0)
    (x * x).sum().backward()
    assert x.grad.tolist() == [4, 4, 4, 4]


def test_meta_tensors_and_others_are_not_exchanged(xp):
    x = xp.ones(3)
    with pytest.raises(RuntimeError, match="Attempted to call `variable.set_data.tensor.`, but"):
        x.data = xp.ones(3, device="meta")
