"""Modules in wrappers that recompute instead of saving have the results, gradients and names of the inner modules."""
from __future__ import annotations

import importlib

import pytest


@pytest.fixture
def wrapping(xp):
    return importlib.import_module(f"{xp.__name__}.distributed.algorithms._checkpoint.checkpoint_wrapper")


class Counted:
    """A maker of modules that count their calls and take a factor by name."""

    def __new__(cls, xp):
        class Twice(xp.nn.Module):
            calls = 0

            def __init__(self):
                super().__init__()
                self.weight = xp.nn.Parameter(xp.tensor([2.0]))

            def forward(self, x, factor=1.0):
                self.calls += 1
                return (x * self.weight).sin() * factor
        return Twice()


@pytest.mark.parametrize("kind", ["REENTRANT", "NO_REENTRANT"])
def test_what_is_saved_is_computed_again(xp, wrapping, kind):
    inner = Counted(xp)
    layer = wrapping.checkpoint_wrapper(inner, checkpoint_impl=wrapping.CheckpointImpl[kind])
    x = xp.tensor([0.5], requires_grad=True)
    out = layer(x, factor=3.0)
    out.backward()
    assert xp.allclose(out, xp.tensor([3.0]) * xp.tensor([1.0]).sin())
    assert xp.allclose(x.grad, 6.0 * xp.tensor([1.0]).cos()) and xp.allclose(inner.weight.grad, 1.5 * xp.tensor([1.0]).cos())
    assert inner.calls == 2


def test_names_are_the_inner_modules(xp, wrapping):
    layer = wrapping.checkpoint_wrapper(xp.nn.Sequential(xp.nn.Linear(2, 3), xp.nn.Linear(3, 1)))
    names = ["0.weight", "0.bias", "1.weight", "1.bias"]
    assert list(layer.state_dict()) == [name for name, _ in layer.named_parameters()] == names
    plain = xp.nn.Sequential(xp.nn.Linear(2, 3), xp.nn.Linear(3, 1))
    plain.load_state_dict(layer.state_dict())
    layer.load_state_dict({name: t * 2 for name, t in plain.state_dict().items()})
    assert xp.equal(layer[1].weight, plain[1].weight * 2) and layer.__len__() == 2
    outer = xp.nn.ModuleDict({"a": layer})
    assert list(outer.state_dict()) == [f"a.{name}" for name in names]
    outer.load_state_dict(outer.state_dict())


def test_modules_within_are_wrapped(xp, wrapping):
    net = xp.nn.Sequential(xp.nn.Linear(2, 2), xp.nn.Sequential(xp.nn.Linear(2, 2), xp.nn.ReLU()))
    wrapping.apply_activation_checkpointing(net, check_fn=lambda m: isinstance(m, xp.nn.Linear))
    wrapped = [isinstance(m, wrapping.CheckpointWrapper) for m in (net, net[0], net[1], net[1][0], net[1][1])]
    assert wrapped == [False, True, False, True, False]
    assert list(net.state_dict()) == ["0.weight", "0.bias", "1.0.weight", "1.0.bias"]
    net(xp.ones(1, 2)).sum().backward()
    assert all(p.grad is not None for p in net.parameters())


def test_policies_see_what_is_not_wrapped_yet(xp, wrapping):
    wrap = importlib.import_module(f"{xp.__name__}.distributed.fsdp.wrap")
    net = xp.nn.Sequential(xp.nn.Sequential(xp.nn.Linear(2, 2), xp.nn.Linear(9, 9)), xp.nn.Linear(3, 3))

    def policy(module, recurse, nonwrapped_numel):
        return wrap.size_based_auto_wrap_policy(module, recurse, nonwrapped_numel, min_num_params=12)
    wrapping.apply_activation_checkpointing(net, auto_wrap_policy=policy)
    assert [isinstance(m, wrapping.CheckpointWrapper) for m in (net[0], net[0][0], net[0][1], net[1])] == [False, False, True, True]


def test_ways_of_ones_own(xp, wrapping):
    seen = []
    layer = wrapping.checkpoint_wrapper(xp.nn.Linear(1, 1), checkpoint_fn=lambda m, x, note: seen.append(note) or m(x), note="a")
    layer(xp.ones(1, 1))
    kept = wrapping.offload_wrapper(Counted(xp))
    if xp.__name__ != "torch":      # PyTorch pins memory, for which it wants an accelerator
        kept(xp.ones(1)).backward()
        assert kept.weight.grad is not None
    assert seen == ["a"] and isinstance(kept, wrapping.OffloadWrapper)


def test_the_old_name_of_hub(xp):
    zoo = importlib.import_module(f"{xp.__name__}.utils.model_zoo")
    assert zoo.load_url is xp.hub.load_state_dict_from_url and zoo.tqdm is not None
