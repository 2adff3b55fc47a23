"""Tensors without memory of their own in checkpoints and pickles."""
from __future__ import annotations

import pickle

import pytest

import jtorch as torch


class Scaled(torch.Tensor):
    """An int8 tensor and a scale that look like one float tensor."""

    @staticmethod
    def __new__(cls, codes, scale):
        return torch.Tensor._make_wrapper_subclass(cls, codes.shape, dtype=scale.dtype, device=codes.device)

    def __init__(self, codes, scale):
        self.codes, self.scale = codes, scale

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        if func is torch.ops.aten.detach.default:
            return cls(args[0].codes, args[0].scale)
        raise NotImplementedError(f"{func}")


def _made():
    return Scaled(torch.tensor([[1, -2], [3, 4]], dtype=torch.int8), torch.tensor(0.5))


def _check(again):
    assert type(again) is Scaled
    assert again.shape == (2, 2)
    assert again.dtype is torch.float32
    assert again.codes.tolist() == [[1, -2], [3, 4]]
    assert again.scale.item() == 0.5


def test_saved_and_loaded(tmp_path):
    torch.save({"w": _made()}, tmp_path / "file.pt")
    _check(torch.load(tmp_path / "file.pt", weights_only=False)["w"])
    with pytest.raises(pickle.UnpicklingError, match="Scaled"):
        torch.load(tmp_path / "file.pt", weights_only=True)
    with torch.serialization.safe_globals([Scaled]):
        _check(torch.load(tmp_path / "file.pt", weights_only=True)["w"])


def test_plain_pickle():
    _check(pickle.loads(pickle.dumps(_made())))


def test_state_of_an_object():
    x = torch.ones(2)
    x.note = 3
    state = torch._utils._get_obj_state(x)
    assert torch._utils._set_obj_state(torch.zeros(2), state).note == 3
