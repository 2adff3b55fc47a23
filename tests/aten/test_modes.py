"""TorchDispatchMode: the modes that see a call, and the use of their results."""
from __future__ import annotations

import importlib

import pytest


@pytest.fixture
def dispatch(xp):
    return importlib.import_module(f"{xp.__name__}.utils._python_dispatch")


def mode(dispatch, fn):
    """Make a mode that handles each call with ``fn(self, func, args, kwargs)``."""
    class Mode(dispatch.TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            return fn(self, func, args, kwargs or {})
    return Mode()


def naming(dispatch, name, seen):
    def note(self, func, args, kwargs):
        seen.append(f"{name} {func}")
        return func(*args, **kwargs)
    return mode(dispatch, note)


def test_an_inner_mode_hands_on_to_the_outer_one(xp, dispatch):
    seen = []
    x = xp.ones(2)
    outer, inner = naming(dispatch, "outer", seen), naming(dispatch, "inner", seen)
    with outer:
        with inner:
            x + 1
        x * 2
    x - 1
    assert seen == ["inner aten.add.Tensor", "outer aten.add.Tensor", "outer aten.mul.Tensor"]


def test_a_mode_is_entered_twice(xp, dispatch):
    seen = []
    twice = naming(dispatch, "m", seen)
    with twice, twice:
        xp.ones(2)
    assert seen == ["m aten.ones.default"] * 2


def test_a_mode_is_off_in_its_own_handler(xp, dispatch):
    stacks = []

    def look(self, func, args, kwargs):
        stacks.append(len(dispatch._get_current_dispatch_mode_stack()))
        xp.ones(3) * 2      # No mode sees this call.
        return func(*args, **kwargs)

    with mode(dispatch, look):
        xp.ones(2)
        assert len(dispatch._get_current_dispatch_mode_stack()) == 1
    assert stacks == [0]


def test_a_mode_is_entered_in_its_own_handler(xp, dispatch):
    seen = []

    def again(self, func, args, kwargs):
        seen.append(str(func))
        if len(seen) > 1:
            return func(*args, **kwargs)
        with self:
            return func(*args, **kwargs)

    x = xp.ones(2)
    with mode(dispatch, again):
        x + 1
    assert seen == ["aten.add.Tensor"] * 2


def test_an_error_leaves_no_mode_on(xp, dispatch):
    def fail(self, func, args, kwargs):
        raise ValueError("no")

    x, seen = xp.ones(2), []
    with pytest.raises(ValueError, match="no"), naming(dispatch, "m", seen), mode(dispatch, fail):
        x.sin()
    assert dispatch._get_current_dispatch_mode_stack() == [] and dispatch._get_current_dispatch_mode() is None
    assert x.sin().shape == (2,) and seen == []


def test_declining_is_an_error(xp, dispatch):
    x = xp.ones(2)
    with pytest.raises(TypeError, match="all __torch_dispatch__ handlers returned NotImplemented"), \
            mode(dispatch, lambda self, func, args, kwargs: NotImplemented):
        x.sin()


def test_modes_are_switched_off(xp, dispatch):
    seen = []
    x, one = xp.ones(2), naming(dispatch, "m", seen)
    with one:
        with dispatch._disable_current_modes() as off:
            x + 1
        assert off == [one] and dispatch._get_current_dispatch_mode() is one
        x * 2
    assert seen == ["m aten.mul.Tensor"]


def test_what_a_mode_returns_gets_the_history_of_the_call(xp, dispatch):
    def more(self, func, args, kwargs):
        out = func(*args, **kwargs)
        assert not out.requires_grad
        return out + 100 if func is xp.ops.aten.mul.Tensor else out

    x = xp.ones(2, requires_grad=True)
    with mode(dispatch, more):
        y = x * 3
    assert y.tolist() == [103, 103] and type(y.grad_fn).__name__ == "MulBackward0"
    y.sum().backward()
    assert x.grad.tolist() == [3, 3]


def test_the_same_tensor_comes_out(xp, dispatch):
    made = []

    def keep(self, func, args, kwargs):
        made.append(func(*args, **kwargs))
        return made[-1]

    x = xp.ones(2, requires_grad=True)
    with mode(dispatch, keep):
        y = x.exp()
    assert y is made[0] and y.requires_grad


def test_views_and_writes_have_their_history(xp, dispatch):
    x, seen = xp.ones(4, requires_grad=True), []
    with naming(dispatch, "m", seen):
        y = x.clone()
        y[1:3].mul_(5)
        y.add_(1)
    assert seen == ["m aten.clone.default", "m aten.slice.Tensor", "m aten.mul_.Tensor", "m aten.add_.Tensor"]
    assert y.tolist() == [2, 6, 6, 2] and y._version == 2
    y.sum().backward()
    assert x.grad.tolist() == [1, 5, 5, 1]


def test_leaves_are_not_written_to(xp, dispatch):
    x = xp.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad is being used in an in-place operation"), \
            naming(dispatch, "m", []):
        x.add_(1)
    assert x.tolist() == [1, 1]


def test_calls_with_out_and_of_random_numbers_are_seen(xp, dispatch):
    seen = []
    with naming(dispatch, "m", seen):
        out = xp.empty(2)
        xp.add(xp.zeros(2), 1, out=out)
        xp.empty(2).normal_()
        xp.rand(2).bernoulli_(0.5)
        xp.tensor([1.0]).item()
    assert [s.removeprefix("m aten.") for s in seen] == [
        "empty.memory_format", "zeros.default", "add.out", "empty.memory_format", "normal_.default", "rand.default",
        "bernoulli_.float", "lift_fresh.default", "_local_scalar_dense.default"]
    assert out.tolist() == [1, 1]


def test_random_numbers_are_those_without_a_mode(xp, dispatch):
    def drawn():
        xp.manual_seed(3)
        return [xp.randn(3).tolist(), xp.nn.functional.dropout(xp.ones(5)).tolist(), xp.randperm(4).tolist()]

    with naming(dispatch, "m", []):
        seen = drawn()
    assert seen == drawn()


def test_backward_of_a_graph_made_before(xp, dispatch):
    w, seen = xp.ones(3, 2, requires_grad=True), []
    loss = xp.nn.functional.linear(xp.ones(4, 2), w).sum()
    with naming(dispatch, "m", seen):
        loss.backward()
    assert "m aten.mm.default" in seen and w.grad.tolist() == [[4, 4]] * 3


def test_gradients_accumulate(xp, dispatch):
    x, seen = xp.ones(2, requires_grad=True), []
    (x * 2).sum().backward()
    with naming(dispatch, "m", seen):
        (x * 3).sum().backward()
    assert x.grad.tolist() == [5, 5] and "m aten.add_.Tensor" in seen


def test_second_derivatives(xp, dispatch):
    x, seen = xp.tensor([1.0, 2.0], requires_grad=True), []
    with naming(dispatch, "m", seen):
        (g,) = xp.autograd.grad((x.exp() * x).sum(), x, create_graph=True)
        (h,) = xp.autograd.grad(g.sum(), x)
    assert xp.allclose(h, (x.exp() * (x + 2)).detach()) and "m aten.exp.default" in seen


def test_registered_operators_are_seen(xp, dispatch):
    @xp.library.custom_op(f"test_modes_{xp.__name__}::twice", mutates_args=(), schema="(Tensor x) -> Tensor")
    def twice(x):
        return x * 2

    seen = []
    with naming(dispatch, "m", seen):
        made = twice(xp.ones(2))
    assert made.tolist() == [2, 2] and seen == ["m aten.ones.default", f"m test_modes_{xp.__name__}.twice.default"]


def test_operators_are_called_themselves(xp, dispatch):
    seen, x = [], xp.ones(2, 3)
    with naming(dispatch, "m", seen):
        xp.ops.aten._softmax.default(x, 1, False)
        xp.ops.aten.linear.default(x, x, None)
    assert seen == ["m aten._softmax.default", "m aten.t.default", "m aten.mm.default"]


def test_a_mode_belongs_to_its_thread(xp, dispatch):
    import threading
    seen = []
    with naming(dispatch, "m", seen):
        other = threading.Thread(target=lambda: xp.ones(2) + 1)
        other.start()
        other.join()
    assert seen == []


def test_the_mode_of_the_base_class_calls_operators_as_they_are(xp, dispatch):
    with dispatch.BaseTorchDispatchMode():
        assert dispatch.is_in_torch_dispatch_mode()
        assert (xp.ones(2) + 1).tolist() == [2, 2]
    assert not dispatch.is_in_torch_dispatch_mode()


def test_a_rule_for_an_operator_and_a_mode(xp, dispatch):
    name = f"test_modes_{xp.__name__}::rule"

    @xp.library.custom_op(name, mutates_args=(), schema="(Tensor x) -> Tensor")
    def rule(x):
        return x.clone()

    class Mode(dispatch.TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            return func(*args, **(kwargs or {}))

    @xp.library.register_torch_dispatch(name, Mode)
    def _(mode, func, types, args, kwargs):
        return args[0] + 1

    x = xp.ones(2)
    with Mode():
        inside = rule(x)
    assert inside.tolist() == [2, 2] and rule(x).tolist() == [1, 1]
