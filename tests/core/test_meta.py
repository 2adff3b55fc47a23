"""Tensors on the meta device: shapes without elements, in every engine mode."""
from __future__ import annotations

import gc

import pytest
from bodies import written


def test_calls_give_shapes(xp):
    x = xp.empty(2, 3, device="meta")
    y = (x.t() + 1).sum(0)
    assert x.is_meta
    assert y.is_meta
    assert y.shape == (2,)
    assert x.t().stride() == (1, 3)
    assert (x @ xp.empty(3, 4, device="meta")).shape == (2, 4)
    x.add_(1).mul_(2)[0].zero_()
    assert x._version == 3
    assert not xp.zeros(2).is_meta


def test_what_shapes_decide_is_still_refused(xp):
    with pytest.raises(RuntimeError):
        xp.empty(3, 3, device="meta") @ xp.empty(4, 2, device="meta")
    with pytest.raises(IndexError):
        xp.empty(3, device="meta")[5]


@pytest.mark.parametrize(("ask", "error", "message"), [
    (lambda x: x.tolist(), NotImplementedError, "Cannot copy out of meta tensor; no data!"),
    (lambda x: x.cpu(), NotImplementedError, "Cannot copy out of meta tensor; no data!"),
    (lambda x: x.to('cpu'), NotImplementedError, "Cannot copy out of meta tensor; no data!"),
    (lambda x: x[0].item(), RuntimeError, "cannot be called on meta tensors"),
    (lambda x: bool(x[0]), RuntimeError, "cannot be called on meta tensors"),
    (lambda x: x.numpy(), TypeError, "can't convert meta device type tensor to numpy"),
], ids=written)
def test_elements_cannot_be_read(xp, ask, error, message):
    with pytest.raises(error, match=message):
        ask(xp.empty(2, device="meta"))


def test_tensors_move_there_but_not_back(xp):
    x = xp.ones(2, 3).t().to("meta")
    assert x.is_meta
    assert x.shape == (3, 2)
    assert x.get_device() == -1


def test_gradients_flow(xp):
    x = xp.empty(3, device="meta", requires_grad=True)
    (x * 2).sum().backward()
    assert x.grad.is_meta
    assert x.grad.shape == (3,)


def test_a_layer_is_made_without_memory_and_filled_later(xp):
    layer = xp.nn.Linear(3, 2, device="meta")
    assert layer.weight.is_meta
    layer = layer.to_empty(device="cpu")
    assert not layer.weight.is_meta
    with xp.no_grad():
        layer.weight.fill_(1)
        layer.bias.zero_()
    assert layer(xp.ones(1, 3)).tolist() == [[3, 3]]


def test_a_record_of_both_devices_ends_well(xp):
    x, y = xp.empty(3, device="meta"), xp.ones(3)
    kept = [x + 1, y + 1, x * 2, y * 2]
    del x
    gc.collect()
    assert kept[3].tolist() == [2, 2, 2]
    assert kept[1].sum().item() == 6
