"""Allowed writes of a function under vmap, and unchanged tensors after a refused write."""
from __future__ import annotations

import pytest

WRITES = {
    "add_": lambda xp, kept, y: kept.add_(y),
    "a part": lambda xp, kept, y: kept[:2].copy_(y[:2]),
    "an element": lambda xp, kept, y: kept.__setitem__(0, y[0]),
    "fill_": lambda xp, kept, y: kept.fill_(y[0]),
    "index_add_": lambda xp, kept, y: kept.index_add_(0, xp.tensor([0]), y[:1]),
    "masked_fill_": lambda xp, kept, y: kept.masked_fill_(y > 0, 1.0),
    "out": lambda xp, kept, y: xp.add(y, 1, out=kept),
    "data": lambda xp, kept, y: setattr(kept, "data", y),
}


@pytest.mark.parametrize("name", WRITES)
def test_a_captured_tensor_stays_as_it_was(xp, name):
    kept = xp.zeros(5)

    def sample(y):
        WRITES[name](xp, kept, y)
        return y
    with pytest.raises(RuntimeError):
        xp.vmap(sample)(xp.ones(3, 5))
    assert kept.tolist() == [0.0] * 5
    assert xp.vmap(lambda y: y + kept)(xp.ones(2, 5)).tolist() == [[1.0] * 5] * 2
    assert kept.add_(1).tolist() == [1.0] * 5


def test_what_is_the_same_for_all_samples_may_be_written(xp):
    kept = xp.zeros(2)
    xp.vmap(lambda y: (kept.add_(1), y)[1])(xp.ones(3, 2))
    assert kept.tolist() == [1.0, 1.0]


MAKERS = {
    "zeros_like": lambda xp, y: xp.zeros_like(y),
    "full_like": lambda xp, y: xp.full_like(y, 2.0),
    "new_zeros": lambda xp, y: y.new_zeros(5),
    "new_full": lambda xp, y: y.new_full((5,), 1.0),
    "new_empty": lambda xp, y: y.new_empty(5).zero_(),
    "new_empty_strided": lambda xp, y: y.new_empty_strided((5,), (1,)).zero_(),
    "clone": lambda xp, y: y.clone(),
}


@pytest.mark.parametrize("name", MAKERS)
def test_a_tensor_of_the_samples_kind_may_be_written(xp, name):
    def sample(y):
        made = MAKERS[name](xp, y)
        made[0] = y[1]
        return made
    x = xp.arange(15.0).view(3, 5)
    assert xp.vmap(sample)(x)[:, 0].tolist() == [1.0, 6.0, 11.0]
    assert xp.vmap(sample, in_dims=1)(x.t().contiguous())[:, 0].tolist() == [1.0, 6.0, 11.0]
    assert xp.vmap(xp.vmap(sample))(x[None])[0, :, 0].tolist() == [1.0, 6.0, 11.0]


def test_no_backward_under_vmap(xp):
    weight = xp.ones(5, requires_grad=True)

    def sample(y):
        (weight * y).sum().backward()
        return y
    with pytest.raises(RuntimeError, match=r"backward\(\) called inside a functorch transform"):
        xp.vmap(sample)(xp.ones(3, 5))
    assert weight.grad is None
    (weight * 2).sum().backward()
    assert weight.grad.tolist() == [2.0] * 5


def test_an_escaped_tensor_says_so(xp):
    kept = []
    xp.vmap(lambda y: (kept.append(y * 2), y)[1])(xp.ones(3, 5))
    assert kept[0].shape == (5,) and "BatchedTensor" in repr(kept[0])
    for use in (lambda t: t + 1, lambda t: t.sum(), lambda t: t[0], lambda t: t.clone()):
        with pytest.raises(RuntimeError, match="Either your tensor may have escaped from inside a function being vmapped"):
            use(kept[0])


REFUSED = {
    "equal": lambda xp, x: xp.equal(x, x),
    "nonzero": lambda xp, x: xp.nonzero(x),
    "where": lambda xp, x: xp.where(x > 0),
    "a mask": lambda xp, x: x[x > 0],
    "masked_select": lambda xp, x: xp.masked_select(x, x > 0),
    "unique": lambda xp, x: xp.unique(x),
    "one_hot": lambda xp, x: xp.nn.functional.one_hot(x.long()),
    "mm": lambda xp, x: xp.mm(x, x),
    "mv": lambda xp, x: xp.mv(x, x),
    "data": lambda xp, x: x.data,
    "numpy": lambda xp, x: x.numpy(),
    "tolist": lambda xp, x: x.tolist(),
    "data_ptr": lambda xp, x: x.data_ptr(),
    "storage": lambda xp, x: x.untyped_storage(),
    "channels last": lambda xp, x: x.view(1, 1, 1, 3).clone(memory_format=xp.channels_last),
    "is channels last": lambda xp, x: x.is_contiguous(memory_format=xp.channels_last),
    "out": lambda xp, x: xp.abs(x, out=x),
}


def test_one_hot_of_a_given_number_of_classes(xp):
    x, one_hot = xp.tensor([[0, 2], [1, 3]]), xp.nn.functional.one_hot
    assert xp.vmap(lambda y: one_hot(y, 4))(x).tolist() == one_hot(x, 4).tolist() == xp.eye(4, dtype=xp.int64)[x].tolist()
    for classes in (3, 0, -2):
        with pytest.raises(RuntimeError, match="Class values must be smaller than num_classes"):
            one_hot(x, classes).tolist()


@pytest.mark.parametrize("name", REFUSED)
def test_errors(same, name):
    same(lambda xp: xp.vmap(lambda x: REFUSED[name](xp, x))(xp.arange(6.0).view(2, 3)))


def test_arguments(same):
    same(lambda xp: xp.vmap(lambda x: x, out_dims="lol")(xp.ones(2, 3)),
         lambda xp: xp.vmap(lambda x: x, in_dims=(None,))(1),
         lambda xp: [t.tolist() for t in xp.vmap(xp.slogdet)(xp.ones(2, 1, 1))])
