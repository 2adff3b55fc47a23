"""``data_ptr()`` is an address for reads and writes of other code, and stays the tensor's address."""
from __future__ import annotations

import copy
import ctypes
import gc
import importlib
import pickle

import numpy as np
import pytest
from bodies import Programs, words, written
from libraries import library

pytestmark = pytest.mark.core


def memory(t, kind=None) -> np.ndarray:
    """Return the memory at the address of a contiguous tensor, as numbers of a NumPy dtype or as bytes."""
    raw = (ctypes.c_char * (t.numel() * t.element_size())).from_address(t.data_ptr())
    return np.frombuffer(raw, kind or np.uint8)


NUMBERS = "float64 float32 float16 int64 int32 int16 int8 uint8 uint16 uint32 uint64 bool complex64 complex128"
PARTS = {"bfloat16": [0x3F80, 0x4000, 0x4040], "float8_e5m2": [0x3C, 0x40, 0x42], "float8_e4m3fn": [0x38, 0x40, 0x44]}


@pytest.mark.parametrize("name", NUMBERS.split())
def test_numbers(xp, name):
    t = xp.tensor([1, 0, 3]).to(getattr(xp, name))
    seen = memory(t, name)
    np.testing.assert_array_equal(seen, np.array([1, 0, 3]).astype(name))
    seen[1] = 1
    assert t.tolist() == np.array([1, 1, 3]).astype(name).tolist()
    t.fill_(2)
    np.testing.assert_array_equal(seen, np.full(3, 2).astype(name))


@pytest.mark.parametrize("name", PARTS)
def test_numbers_that_numpy_does_not_know(xp, name):
    t = xp.tensor([1.0, 2.0, 3.0]).to(getattr(xp, name))
    seen = memory(t, np.uint16 if name == "bfloat16" else np.uint8)
    assert seen.tolist() == PARTS[name]
    seen[0] = PARTS[name][2]
    assert t.float().tolist() == [3, 2, 3]
    t.copy_(xp.tensor([2.0, 2.0, 1.0]))
    assert seen.tolist() == [PARTS[name][i] for i in (1, 1, 0)]


def test_interfaces_of_numpy(xp):
    t = xp.arange(6.0).reshape(2, 3)
    pointer = ctypes.cast(t.data_ptr(), ctypes.POINTER(ctypes.c_float))
    by_ctypeslib = np.ctypeslib.as_array(pointer, shape=(2, 3))

    class Interface:
        __array_interface__ = {"version": 3, "shape": (3,), "typestr": "<f4", "data": (t[1].data_ptr(), False)}

    second = np.asarray(Interface())
    second[0] = 30
    by_ctypeslib[0, 0] = -1
    assert t.tolist() == by_ctypeslib.tolist() == [[-1, 1, 2], [30, 4, 5]]
    assert second.tolist() == [30, 4, 5]


writes = Programs()


@writes
def add_(xp, t):
    t.add_(1)


@writes
def mul_by_itself(xp, t):
    t.mul_(t)


@writes
def a_row(xp, t):
    t[1] = 7


@writes
def a_number(xp, t):
    t[0, 1] = 7


@writes
def a_column_from_another(xp, t):
    t[:, 1] = t[:, 0]


@writes
def the_transpose_zeroed(xp, t):
    t.t().zero_()


@writes
def data_filled(xp, t):
    t.data.fill_(3)


@writes
def detach_negated(xp, t):
    t.detach().neg_()


@writes
def a_mask(xp, t):
    t[t > 2] = 0


@writes
def exp_into_itself(xp, t):
    xp.exp(t, out=t)


@writes
def copy_(xp, t):
    t.copy_(xp.ones(2, 3))


@writes
def a_slice_of_a_view_added_to(xp, t):
    t.view(-1)[2:4].add_(5)


@writes
def index_fill_(xp, t):
    t.index_fill_(1, xp.tensor([0]), 9)


@writes
def clamp_(xp, t):
    t.clamp_(1, 3)


@writes
def a_row_of_the_array(xp, t):
    t.numpy()[1] = 8


@writes
def random_numbers(xp, t):
    t.normal_()


@writes
def set_to_itself(xp, t):
    t.set_(t)


@writes
def transpose_(xp, t):
    t.transpose_(0, 1)


@writes
def bytes_of_the_storage(xp, t):
    t.untyped_storage().fill_(0)


@pytest.mark.parametrize("write", writes, ids=words)
def test_writes_show_at_the_address(xp, write):
    t = xp.arange(6.0).reshape(2, 3) + 0
    whole = t.detach().view(-1)
    at = t.data_ptr()
    seen = memory(whole, np.float32)
    write(xp, t)
    gc.collect()
    assert t.data_ptr() == at
    assert seen.tolist() == whole.tolist()
    seen[:] = 5
    assert (t + 0).flatten().tolist() == [5.0] * 6


def test_reads_see_what_was_written(xp):
    t = xp.zeros(2, 3)
    part, turned = t[1], t.t()
    seen = memory(t, np.float32)
    for i in range(4):
        seen[:] = np.arange(6) + i
        assert (t * 1).flatten().tolist() == seen.tolist()
        assert part.sum().item() == 12 + 3 * i
        assert turned[2].tolist() == [2 + i, 5 + i]
        assert t.to(xp.int64).tolist() == (np.arange(6).reshape(2, 3) + i).tolist()


@pytest.mark.parametrize("make", [
    lambda xp: xp.tensor(np.arange(6.).reshape(2, 3).T),
    lambda xp: xp.ones(2, 3).t(),
    lambda xp: xp.arange(12.)[3:9],
    lambda xp: xp.ones(4, 1).expand(4, 5),
    lambda xp: xp.arange(6)[::2],
    lambda xp: xp.ones(2, 3, 4, 4).to(memory_format=xp.channels_last),
    lambda xp: xp.empty_strided((2, 2), (5, 2)).fill_(1),
    lambda xp: xp.ones(3) * 2,
    lambda xp: xp.zeros(3).sum(),
    lambda xp: xp.from_numpy(np.arange(4.)[1:]),
    lambda xp: xp.ones(2, 3, 4).permute(2, 0, 1)[1:],
    lambda xp: xp.tensor(5),
], ids=written)
def test_a_tensor_lies_where_its_geometry_says(xp, make):
    t = make(xp)
    start, width = t.untyped_storage().data_ptr(), t.element_size()
    assert t.data_ptr() == start + t.storage_offset() * width
    raw = (ctypes.c_char * t.untyped_storage().nbytes()).from_address(start)
    kind = str(t.dtype).removeprefix("torch.")
    flat = np.frombuffer(raw, kind)[t.storage_offset():]
    shown = np.lib.stride_tricks.as_strided(flat, t.shape, [s * width for s in t.stride()])
    assert shown.tolist() == t.tolist()


def test_which_addresses_are_equal(xp):
    t = xp.arange(12.0).reshape(3, 4)
    for same in (t.detach(), t.data, t.view(4, 3), t.t(), t[:2], xp.nn.Parameter(t), t.contiguous(), t.float(), t.expand(2, 3, 4)):
        assert same.data_ptr() == t.data_ptr()
    assert t[1].data_ptr() - t.data_ptr() == t.view(xp.int32)[1].data_ptr() - t.data_ptr() == 16
    assert t.untyped_storage().data_ptr() == t[2].untyped_storage().data_ptr() == t.data_ptr()
    alive = [t.clone(), t + 0, copy.deepcopy(t), pickle.loads(pickle.dumps(t)), xp.zeros(3, 4), t.double()]
    assert len({x.data_ptr() for x in [t, *alive]}) == 7
    array = np.arange(4.0)
    assert xp.from_numpy(array).data_ptr() == array.ctypes.data
    assert t.numpy().ctypes.data == t.data_ptr() == t.numpy().ctypes.data
    u = xp.ones(3)
    assert u.numpy().ctypes.data == u.data_ptr()


def test_where_there_is_no_memory(xp):
    t = xp.ones(3)
    for empty in (xp.empty(0), xp.empty(0, 3), t[:0], xp.empty(3, device="meta"), xp.empty(3, device="meta").untyped_storage()):
        assert empty.data_ptr() == 0
    assert t[:0].untyped_storage().data_ptr() == t.data_ptr() != 0
    with pytest.raises(RuntimeError, match="Cannot access data pointer of Tensor that doesn't have storage"):
        xp.func.vmap(lambda x: x * x.data_ptr())(xp.ones(3, 2))


def test_tracers_have_no_address():
    import jax
    torch = library("jtorch")
    for transform in (jax.jit, jax.grad, jax.vmap):
        with pytest.raises(RuntimeError, match="Cannot access data pointer of Tensor that doesn't have storage"):
            transform(lambda x: (torch.from_jax(x) * torch.from_jax(x).data_ptr()).sum().jax())(jax.numpy.ones(3))


def test_memory_grows_where_no_array_shares_it(xp):
    t = xp.ones(3)
    seen = memory(t, np.float32)
    seen[0] = 4
    assert t.resize_(2, 3).shape == (2, 3)
    assert t[0].tolist() == [4, 1, 1]
    t.fill_(7)
    assert memory(t, np.float32).tolist() == [7] * 6
    t.numpy()
    with pytest.raises(RuntimeError, match="Trying to resize storage that is not resizable"):
        t.resize_(10)


def test_what_backward_needs_is_what_is_in_memory(xp):
    x = xp.tensor([1.0, 2.0], requires_grad=True)
    memory(x.detach(), np.float32)[0] = 5
    y = (x * x).sum()
    memory(x.detach(), np.float32)[1] = 3
    y.backward()
    assert x.grad.tolist() == [10, 6]
    z = x * 3
    z.data_ptr()
    w = z.exp()
    memory(w.detach(), np.float32)[:] = 2
    x.grad = None
    w.sum().backward()
    assert x.grad.tolist() == [6, 6]


def test_versions_count_the_tensors_own_writes(xp):
    x = xp.ones(2, requires_grad=True)
    y = x * 2
    z = y * y
    before = y._version
    memory(y.detach(), np.float32)[0] = 3
    assert y._version == before
    y.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        z.sum().backward()


@pytest.mark.parametrize("kind", ["SGD", "Adam"])
def test_training_goes_on(xp, kind):
    def trained(*, by_address: bool) -> list:
        xp.manual_seed(0)
        model = xp.nn.Sequential(xp.nn.Linear(3, 4), xp.nn.Tanh(), xp.nn.BatchNorm1d(4), xp.nn.Linear(4, 1))
        optimizer = getattr(xp.optim, kind)(model.parameters(), lr=0.1)
        x, y = xp.randn(16, 3), xp.randn(16, 1)
        at = []
        for step in range(30):
            if by_address and step in (0, 12):
                at = [(t.data_ptr(), t) for t in [x, *model.parameters(), *model.buffers()]]
            loss = ((model(x) - y) ** 2).mean()
            optimizer.zero_grad()
            loss.backward()
            if by_address:
                assert [p.grad.data_ptr() for p in model.parameters()]
            optimizer.step()
        for address, t in at:
            assert t.data_ptr() == address
            assert memory(t.detach()).tobytes() == t.detach().numpy().tobytes()
        again = copy.deepcopy(model)
        again.load_state_dict(pickle.loads(pickle.dumps(model.state_dict())))
        return [t.tolist() for t in (*model.state_dict().values(), *again.state_dict().values(), again(x))]

    for found, expected in zip(trained(by_address=True), trained(by_address=False), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


def test_tied_parameters(xp):
    model = xp.nn.ModuleDict({"a": xp.nn.Linear(2, 2, bias=False), "b": xp.nn.Linear(2, 2, bias=False)})
    model["b"].weight = model["a"].weight
    memory(model["a"].weight.detach(), np.float32)[:] = [1, 2, 3, 4]
    again = copy.deepcopy(model)
    assert again["a"].weight is again["b"].weight
    assert again["a"].weight.data_ptr() != model["a"].weight.data_ptr()
    model["b"](xp.ones(1, 2)).sum().backward()
    assert model["a"].weight.grad.tolist() == [[1, 1], [1, 1]]
    assert again["b"].weight.tolist() == [[1, 2], [3, 4]]


def test_the_memory_lives_as_long_as_a_tensor_shows_it(xp):
    t = xp.arange(4.0) + 0
    seen = memory(t, np.float32)
    part = t[2:]
    del t
    gc.collect()
    part.add_(1)
    assert seen.tolist() == [0, 1, 3, 4]


def test_identity_without_an_address(tmp_path):
    """A comparison of identities gives a tensor no address, because each read would then copy it."""
    torch = library("jtorch")
    model = torch.nn.Linear(2, 2)
    tied = torch.nn.utils.parametrizations.weight_norm(torch.nn.Linear(2, 2))
    torch.save([model, tied.state_dict()], tmp_path / "x")
    importlib.import_module("jtorch.utils.safetensors").save_file(dict(model.named_parameters()), tmp_path / "y")
    assert model.weight.untyped_storage() == model.weight.detach().untyped_storage() != model.bias.untyped_storage()
    assert model.weight.untyped_storage()._cdata == model.weight[1].untyped_storage()._cdata
    copy.deepcopy(model)
    assert all(p._storage.host is None for p in [*model.parameters(), *tied.parameters()])
