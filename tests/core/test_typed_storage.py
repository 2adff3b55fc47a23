"""torch.TypedStorage, torch.FloatStorage and the other typed storages, and torch.from_file."""
from __future__ import annotations

import copy
import pickle

import pytest

pytestmark = [pytest.mark.core, pytest.mark.filterwarnings("ignore:TypedStorage is deprecated")]


def test_elements_of_a_tensor(xp):
    t = xp.arange(4.0) + 0
    s = t.storage()
    assert (s.dtype, s.size(), len(s), s.nbytes(), s.element_size(), s.type()) == (xp.float32, 4, 4, 16, 4, "torch.FloatStorage")
    assert isinstance(s, xp.FloatStorage) and not isinstance(s, xp.DoubleStorage) and xp.is_storage(s)
    s[1] = 7
    s[2:] = 5
    assert t.tolist() == s.tolist() == [0, 7, 5, 5]
    assert s.fill_(2)[-1] == 2 and t.sum().item() == 8
    assert xp.tensor([]).set_(s).tolist() == xp.FloatTensor(s).tolist() == t.tolist()
    with pytest.raises(RuntimeError, match="Expected a Storage of type .* or an UntypedStorage"):
        xp.tensor([], dtype=xp.float64).set_(s)
    with pytest.raises(IndexError):
        s[4]


def test_made_of_numbers(xp):
    assert xp.FloatStorage([1, 2]).tolist() == [1.0, 2.0]
    assert xp.IntStorage([1, 2, -3]).double().tolist() == [1.0, 2.0, -3.0]
    assert xp.TypedStorage([1, 2], dtype=xp.bfloat16).type() == "torch.BFloat16Storage"
    assert repr(xp.TypedStorage([1, 2], dtype=xp.int64)) == (
        " 1\n 2\n[torch.storage.TypedStorage(dtype=torch.int64, device=cpu) of size 2]")
    for wrong, error in ((lambda: xp.FloatStorage(1, 2), "Too many positional"), (lambda: xp.FloatStorage(device="cpu"), "'device'"),
                         (lambda: xp.storage._LegacyStorage(), "Only child classes")):
        with pytest.raises(RuntimeError, match=error):
            wrong()


def test_copies(xp):
    t = xp.arange(3.0)
    s = t.storage()
    for made in (copy.copy(s), copy.deepcopy(s), pickle.loads(pickle.dumps(s)), s.clone()):
        t.zero_()
        assert made.tolist() == [0, 1, 2] and made.dtype is xp.float32
        t.copy_(xp.arange(3.0))
    tensor, shared = copy.deepcopy([t, t.storage()])
    tensor.fill_(9)
    assert shared.tolist() == [9, 9, 9]


def test_files(xp, tmp_path):
    xp.save(xp.FloatStorage([1, 2]), tmp_path / "s.pt")
    found = xp.load(tmp_path / "s.pt", weights_only=False)
    assert isinstance(found, xp.FloatStorage) and found.tolist() == [1, 2]
    name = str(tmp_path / "memory")
    t = xp.from_file(name, shared=True, size=3, dtype=xp.float64).fill_(4)
    assert xp.DoubleStorage.from_file(name, True, 3).tolist() == t.tolist() == [4, 4, 4]


def test_bytes(xp):
    s = xp.UntypedStorage([1, 2, 3, 4])
    s.byteswap(xp.int16)
    assert s.tolist() == [2, 1, 4, 3]
    assert s.resize_(2).tolist() == [2, 1] and s.resize_(3).nbytes() == 3
    assert xp.UntypedStorage.from_buffer(b"\1\2", "big", dtype=xp.int16).tolist() == [2, 1]


def test_memory_that_grows_is_the_tensors(xp):
    t = xp.ones(2)
    t.untyped_storage().resize_(16)
    assert t.tolist() == [1, 1] and t.untyped_storage().nbytes() == 16


def test_nothing_is_in_meta_memory(xp):
    s = xp.TypedStorage([1, 2], dtype=xp.int32, device="meta")
    assert (s.size(), s.data_ptr(), s.device.type) == (2, 0, "meta")
    for wrong in (s.tolist, s.cpu, lambda: s[0], lambda: xp.IntStorage(2).copy_(s)):
        with pytest.raises(NotImplementedError):
            wrong()
