"""torch.UntypedStorage: bytes of tensors, of numbers and of files."""
from __future__ import annotations

import numpy as np
import pytest

pytestmark = pytest.mark.core


def test_made_of_numbers(xp):
    assert xp.UntypedStorage().tolist() == []
    assert len(xp.UntypedStorage(3)) == xp.UntypedStorage(3).size() == xp.UntypedStorage(3).nbytes() == 3
    assert xp.UntypedStorage([1, 2, 300]).tolist() == [1, 2, 44]
    assert xp.UntypedStorage(3, device="meta").device.type == "meta"
    for odd in (3.5, "a", [1.5]):
        with pytest.raises(RuntimeError, match=r"torch.UntypedStorage\(\): "):
            xp.UntypedStorage(odd)


def test_bytes_of_a_tensor(xp):
    t = xp.arange(6.0) + 0
    s = t.untyped_storage()
    assert s[4:8].tolist() == list(s)[4:8] == [0, 0, 128, 63]
    assert (s[7], s[-1], len(s), s.element_size()) == (63, 64, 24, 1)
    s[4:8] = 0
    s[8:12].copy_(s[12:16])
    assert t.tolist() == [0, 0, 3, 3, 4, 5]
    copied = s.clone()
    s.fill_(0)
    assert (t.sum().item(), xp.asarray(copied, dtype=xp.float32).tolist()) == (0, [0, 0, 3, 3, 4, 5])
    assert bytes(s[:2]) == b"\0\0"
    assert s.untyped().nbytes() == 24
    assert repr(xp.UntypedStorage([1, 2])) == " 1\n 2\n[torch.storage.UntypedStorage(device=cpu) of size 2]"


def test_storages_become_tensors(xp):
    t = xp.arange(6.0)
    for same in (xp.asarray(t.untyped_storage(), dtype=xp.uint8), xp.as_tensor(t.untyped_storage(), dtype=xp.uint8)):
        assert (same.shape, same.data_ptr()) == ((24,), t.data_ptr())
    part = xp.asarray(t.untyped_storage()[4:12], dtype=xp.uint8).view(xp.float32)
    part.mul_(10)
    assert t.tolist() == [0, 10, 20, 3, 4, 5]
    assert xp.asarray(t.untyped_storage()[:7], dtype=xp.float32).tolist() == [0]
    assert xp.empty(0).set_(t.untyped_storage()).tolist() == t.tolist()


def test_errors(xp):
    s = xp.arange(4, dtype=xp.uint8).untyped_storage()
    for at, error in ((4, IndexError), (-5, IndexError), (1.5, TypeError), ("a", TypeError), (None, TypeError)):
        with pytest.raises(error, match="index"):
            s[at]
    with pytest.raises(RuntimeError, match="Trying to slice with a step of 2, but only a step of 1 is supported"):
        s[::2]
    with pytest.raises(RuntimeError, match="size does not match, self was 4 bytes but src was 5 bytes"):
        s.copy_(xp.UntypedStorage(5))
    with pytest.raises(NotImplementedError):
        xp.empty(3, device="meta").untyped_storage().tolist()


def test_files(xp, tmp_path):
    path = str(tmp_path / "x")
    (tmp_path / "x").write_bytes(bytes(range(16)))
    private = xp.UntypedStorage.from_file(path, nbytes=8)
    private.fill_(9)
    assert (private.nbytes(), private.filename, private.resizable()) == (8, None, False)
    shared = xp.UntypedStorage.from_file(path, shared=True, nbytes=20)
    xp.asarray(shared, dtype=xp.float32)[1:3] = 1
    assert shared.filename == path
    np.testing.assert_array_equal(np.frombuffer((tmp_path / "x").read_bytes()[4:12], np.float32), [1, 1])
    assert (tmp_path / "x").stat().st_size == 20
    with pytest.raises(RuntimeError, match=r"size <20> is smaller than the required mapping size <21>"):
        xp.UntypedStorage.from_file(path, nbytes=21)
    with pytest.raises(RuntimeError, match=r"unable to open file <.*> in read-only mode: No such file or directory \(2\)"):
        xp.UntypedStorage.from_file(path + "y", nbytes=1)
