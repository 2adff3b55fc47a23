"""Programs that put functions of their own in torch, and what ``__torch_function__`` of a Tensor subclass gets of calls."""
from __future__ import annotations

import jtorch as torch


def test_as_subclass_in_the_namespace_is_asked_of_nobody():
    class Kept(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return super().__torch_function__(func, types, args, kwargs or {})

        def clone(self):
            return torch.as_subclass(self, torch.Tensor).clone().as_subclass(Kept)

    torch.as_subclass = torch.Tensor.as_subclass
    try:
        with torch.overrides.BaseTorchFunctionMode():
            pass
        made = torch.ones(3).as_subclass(Kept).clone()
    finally:
        del torch.as_subclass
    assert type(made) is Kept
    assert made.tolist() == [1, 1, 1]


def test_function_that_a_program_adds_is_asked_of_nobody():
    asked = []

    class Named(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            asked.append(func.__name__)
            return super().__torch_function__(func, types, args, kwargs or {})

    def mine(x):
        return 5

    torch.mine = mine
    try:
        class Later(Named):
            pass
        assert torch.mine(torch.ones(2).as_subclass(Later)) == 5
    finally:
        del torch.mine
    assert "mine" not in asked


def test_layers_give_their_tensors_by_position():
    seen = {}

    class Weight(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            seen[func.__name__] = len(args), sorted(kwargs or {})
            return super().__torch_function__(func, types, args, kwargs or {})

    linear, conv = torch.nn.Linear(3, 2), torch.nn.Conv1d(1, 1, 2, stride=2)
    for layer in (linear, conv):
        layer.weight = torch.nn.Parameter(layer.weight.detach().as_subclass(Weight))
    linear(torch.ones(1, 3))
    conv(torch.ones(1, 1, 4))
    assert seen["linear"] == (3, [])
    assert seen["conv1d"][0] >= 4
    assert seen["conv1d"][1] == []


def test_names_of_the_namespaces():
    assert {"fft", "rfft", "fftshift"} <= set(torch.fft.__all__)
    assert {"expit", "bessel_j0", "softmax"} <= set(torch.special.__all__)
