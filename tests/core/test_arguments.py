"""Forms of arguments: NumPy's names, the order of old overloads, and errors for too many or too few."""
from __future__ import annotations

import warnings

import pytest
from bodies import bodies

pytestmark = pytest.mark.core


NUMPYS_NAMES = [
    lambda xp, x: xp.sum(x(), axis=1),
    lambda xp, x: x().sum(axis=0, keepdims=True),
    lambda xp, x: xp.mean(a=x(), axis=-1),
    lambda xp, x: xp.add(x1=x(), x2=x()),
    lambda xp, x: x().mul(x2=2),
    lambda xp, x: xp.exp(x=x()),
    lambda xp, x: xp.cat([x(), x()], axis=1),
    lambda xp, x: xp.stack([x(), x()], axis=2),
    lambda xp, x: x().max(axis=1),
    lambda xp, x: xp.argsort(x(), axis=0),
    lambda xp, x: xp.cumsum(x(), axis=0),
    lambda xp, x: x().all(axis=0, keepdims=True),
    lambda xp, x: x().unsqueeze(axis=0),
    lambda xp, x: xp.atan2(x1=x(), x2=x()),
    lambda xp, x: x().std(axis=1, keepdims=True),
    lambda xp, x: xp.squeeze(x().unsqueeze(0), axis=0),
    lambda xp, x: xp.norm(x()),
    lambda xp, x: x().gather(axis=1, index=xp.zeros(2, 1, dtype=xp.int64)),
]


def of_a_matrix(xp, call):
    return call(xp, lambda: xp.arange(6.0).reshape(2, 3))


def test_numpys_names(same):
    same(*bodies(of_a_matrix, NUMPYS_NAMES))


DIMS = [
    lambda x: x.squeeze(0, 2),
    lambda x: x.squeeze(2, 3),
    lambda x: x.squeeze(0, 1, -1),
    lambda x: x.squeeze((0, 2)),
    lambda x: x.squeeze(),
    lambda x: x.squeeze(axis=(0, 2)),
    lambda x: x.squeeze_(0, 2),
    lambda x: x.squeeze(0, 7),
    lambda x: x.permute(3, 1, 0, 2),
    lambda x: x.requires_grad_().squeeze(0, 2).grad_fn.name(),
]


def of_dims_of_one(xp, call):
    return call(xp.ones(1, 3, 1, 1))


def test_dims_one_by_one(same):
    same(*bodies(of_dims_of_one, DIMS))


def test_numpys_names_write(same):
    def add(xp):
        x = xp.ones(2)
        x.add_(x2=3)
        return x, xp.add(x1=x, x2=1, out=xp.empty(2))
    same(add)


OLD_OVERLOADS = [
    lambda xp, a, b: xp.add(a(), 2, b()),
    lambda xp, a, b: xp.sub(a(), 2, b()),
    lambda xp, a, b: xp.addcmul(a(), 2, b(), b()),
    lambda xp, a, b: xp.addcdiv(a(), 0.5, b(), b()),
    lambda xp, a, b: xp.addmm(2, a(), 3, a(), b()),
    lambda xp, a, b: xp.addmm(2, a(), a(), b()),
    lambda xp, a, b: xp.addmv(2, xp.ones(2), a(), xp.ones(2)),
    lambda xp, a, b: xp.addr(2, a(), 3, xp.ones(2), xp.ones(2)),
    lambda xp, a, b: xp.baddbmm(2, a()[None], 3, a()[None], b()[None]),
    lambda xp, a, b: a().addcmul_(2, b(), b()),
    lambda xp, a, b: a().addmm(2, 3, a(), b()),
    lambda xp, a, b: a().add_(2, b()),
]


def of_two_matrices(xp, call):
    return call(xp, lambda: xp.arange(4.0).reshape(2, 2), lambda: xp.ones(2, 2))


@pytest.mark.filterwarnings("ignore:This overload")
def test_old_overloads(same):
    same(*bodies(of_two_matrices, OLD_OVERLOADS))


def test_an_old_overload_warns(xp):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        xp.addcmul(xp.ones(1), 2, xp.ones(1), xp.ones(1))
    assert len(caught) <= 1 and all("This overload of addcmul is deprecated" in str(w.message) for w in caught)     # once in PyTorch


def test_too_many_and_too_few(xp):
    x = xp.ones(2, 2)
    with pytest.raises(TypeError, match=r"cumsum\(\) takes 2 positional arguments but 3 were given"):
        xp.cumsum(x, 0, 1)
    with pytest.raises(TypeError, match=r'cumsum\(\) missing 1 required positional arguments: "dim"'):
        xp.cumsum(x)
    with pytest.raises(TypeError, match=r'transpose\(\) missing 2 required positional argument: "dim0", "dim1"'):
        xp.transpose(x)
    with pytest.raises(TypeError, match="got an unexpected keyword argument 'foo'"):
        xp.exp(x, foo=1)
    for wrong in (lambda: xp.add(x), lambda: xp.mul(x, x, x, x), lambda: xp.mm(x)):
        with pytest.raises(TypeError):
            wrong()
