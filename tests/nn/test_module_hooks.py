"""Hooks of modules: order, arguments and changes."""
from __future__ import annotations

import copy
import pickle
import warnings

import pytest


class Logged:
    """Hooks that log their name."""

    def __init__(self):
        self.log = []

    def __call__(self, name):
        return lambda *args: self.log.append(name)


def global_hooks(xp):
    return xp.nn.modules.module


def test_order_of_all_hooks(xp):
    note, g = Logged(), global_hooks(xp)
    layer = xp.nn.Linear(2, 2)
    handles = [
        layer.register_forward_pre_hook(note("pre")), layer.register_forward_pre_hook(note("first pre"), prepend=True),
        layer.register_forward_hook(note("post")), layer.register_forward_hook(note("first post"), prepend=True),
        layer.register_full_backward_pre_hook(note("back pre")),
        layer.register_full_backward_pre_hook(note("first back pre"), prepend=True),
        layer.register_full_backward_hook(note("back")), layer.register_full_backward_hook(note("first back"), prepend=True),
        g.register_module_forward_pre_hook(note("all pre")), g.register_module_forward_hook(note("all post")),
        g.register_module_full_backward_pre_hook(note("all back pre")), g.register_module_full_backward_hook(note("all back")),
    ]
    try:
        layer(xp.ones(1, 2, requires_grad=True)).sum().backward()
    finally:
        for h in handles:
            h.remove()
    assert note.log == ["all pre", "first pre", "pre", "all post", "first post", "post", "all back pre", "first back pre",
                        "back pre", "all back", "first back", "back"]
    layer(xp.ones(1, 2, requires_grad=True)).sum().backward()
    assert len(note.log) == 12


def test_hooks_replace_arguments_and_results(xp):
    class Scale(xp.nn.Module):
        def forward(self, x, by=1):
            return x * by

    m = Scale()
    m.register_forward_pre_hook(lambda m, args: args[0] + 1)
    m.register_forward_pre_hook(lambda m, args, kwargs: (args, {"by": kwargs["by"] * 10}), with_kwargs=True)
    m.register_forward_hook(lambda m, args, kwargs, out: out + kwargs["by"], with_kwargs=True)
    m.register_forward_hook(lambda m, args, out: (out, args[0]))
    out, seen = m(xp.tensor(1.0), by=2)
    assert (out.item(), seen.item()) == (60.0, 2.0)
    bad = Scale()
    bad.register_forward_pre_hook(lambda m, args, kwargs: (args,), with_kwargs=True)
    with pytest.raises(RuntimeError, match="forward pre-hook must return None or a tuple of \\(new_args, new_kwargs\\), but got"):
        bad(xp.tensor(1.0))


def test_gradients_are_replaced(xp):
    class Two(xp.nn.Module):
        def forward(self, x, flag, y):
            return x * 2, y * 3

    m, x, y = Two(), xp.ones(2, requires_grad=True), xp.ones(2, requires_grad=True)
    seen = []
    m.register_full_backward_pre_hook(lambda m, go: (go[0] * 10, go[1]))
    m.register_full_backward_hook(lambda m, gi, go: (gi[0] + 1, gi[1], None))
    m.register_full_backward_hook(lambda m, gi, go: seen.append((gi[1], gi[2], go[0].tolist())))
    a, b = m(x, "flag", y)
    (a + b).sum().backward()
    assert x.grad.tolist() == [21.0, 21.0]
    assert y.grad is None
    assert seen == [(None, None, [10.0, 10.0])]


def test_wrong_numbers_of_gradients(xp):
    for register, text in (("register_full_backward_hook", "Backward hook returned an invalid number of grad_input, got 2, but "
                            "expected 1"), ("register_full_backward_pre_hook", "Backward pre hook returned an invalid number of "
                                            "grad_output, got 2, but expected 1")):
        m = xp.nn.Identity()
        getattr(m, register)(lambda m, *grads: (None, None))
        with pytest.raises(RuntimeError, match=text):
            m(xp.ones(1, requires_grad=True)).backward()


def test_backward_hook_without_gradient_of_inputs(xp):
    layer, seen = xp.nn.Linear(1, 1), []
    layer.register_full_backward_hook(lambda m, gi, go: seen.append(gi))
    with pytest.warns(UserWarning, match="Full backward hook is firing when gradients are computed with respect to module outputs"):
        layer(xp.ones(1, 1)).sum().backward()
    assert seen == [(None,)]


def test_output_that_is_no_tensor(xp):
    class Dict(xp.nn.Module):
        def forward(self, x):
            return {"y": x}

    m = Dict()
    m.register_full_backward_hook(lambda *args: None)
    with pytest.warns(UserWarning, match="For backward hooks to be called, module output should be a Tensor or a tuple of Tensors "
                      "but received <class 'dict'>"):
        assert list(m(xp.ones(1, requires_grad=True))) == ["y"]


def test_always_called(xp):
    class Fails(xp.nn.Module):
        def forward(self, x):
            raise KeyError("forward")

    m, note, g = Fails(), Logged(), global_hooks(xp)
    m.register_forward_hook(note("not called"))
    m.register_forward_hook(note("own"), always_call=True)
    m.register_forward_hook(lambda m, args, kwargs, out: note.log.append((out, kwargs)), always_call=True, with_kwargs=True)
    handle = g.register_module_forward_hook(note("all"), always_call=True)
    try:
        with pytest.raises(KeyError, match="forward"):
            m(1)
    finally:
        handle.remove()
    assert note.log == ["all", "own", (None, {})]
    m.register_forward_hook(lambda *args: 1 / 0, always_call=True)
    with pytest.warns(UserWarning, match="module forward hook with ``always_call=True`` raised an exception that was silenced as "
                      "another error was raised in forward: division by zero"), pytest.raises(KeyError):
        m(1)


def test_an_always_called_hook_runs_once(xp):
    m, note = xp.nn.Identity(), Logged()
    m.register_forward_hook(note("once"), always_call=True)
    m.register_forward_hook(lambda *args: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        m(1)
    assert note.log == ["once"]


def test_old_backward_hooks(xp):
    layer, seen = xp.nn.Tanh(), []
    layer.register_backward_hook(lambda m, gi, go: seen.append((len(gi), go[0].tolist())))
    with pytest.raises(RuntimeError, match="Cannot use both regular backward hooks and full backward hooks on a single Module"):
        layer.register_full_backward_hook(lambda *args: None)
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        layer(xp.ones(1, requires_grad=True) * 1).backward()
    assert seen == [(1, [1.0])]
    assert not found
    several = xp.nn.Sequential(xp.nn.Tanh(), xp.nn.Tanh())
    several.register_backward_hook(lambda *args: None)
    with pytest.warns(FutureWarning, match="Using a non-full backward hook when the forward contains multiple autograd Nodes is "
                      "deprecated"):
        several(xp.ones(1, requires_grad=True) * 1)


def test_global_registration_hooks(xp):
    g, log = global_hooks(xp), []
    handles = [g.register_module_parameter_registration_hook(lambda m, name, p: log.append(("parameter", name))),
               g.register_module_buffer_registration_hook(lambda m, name, b: b + 1),
               g.register_module_module_registration_hook(lambda m, name, c: log.append(("module", name)))]
    try:
        m = xp.nn.Module()
        m.p, m.child = xp.nn.Parameter(xp.ones(1)), xp.nn.Module()
        m.register_buffer("b", xp.ones(1))
    finally:
        for h in handles:
            h.remove()
    assert log == [("parameter", "p"), ("module", "child")]
    assert m.b.item() == 2.0


def test_hooks_are_copied_and_pickled_with_their_module(xp):
    m = xp.nn.Linear(2, 2)
    handle = m.register_forward_hook(add_one)
    m.register_load_state_dict_pre_hook(remember)
    m.handle = handle
    for other in (copy.deepcopy(m), pickle.loads(pickle.dumps(m))):
        assert other(xp.ones(2)).tolist() == m(xp.ones(2)).tolist()
        other.handle.remove()
        assert len(other._forward_hooks) == 0
        assert len(m._forward_hooks) == 1
        other.load_state_dict(m.state_dict())
        assert other.loaded
        assert not hasattr(m, "loaded")
    later = m.register_forward_hook(add_one)
    assert later.id != handle.id


def add_one(module, args, out):
    return out + 1


def remember(module, *args):
    module.loaded = True


def test_state_dict_hooks(xp):
    m, log = xp.nn.Linear(1, 1), []
    m.register_state_dict_pre_hook(lambda m, prefix, keep_vars: log.append((prefix, keep_vars)))
    m.register_state_dict_post_hook(lambda m, state, prefix, meta: state.pop(f"{prefix}bias") and None)
    m._register_state_dict_hook(lambda m, state, prefix, meta: {**state, "extra": meta})
    assert list(m.state_dict(prefix="a.", keep_vars=True)) == ["a.weight", "extra"]
    assert log == [("a.", True)]
    m.register_state_dict_post_hook(lambda *args: 1)
    with pytest.raises(RuntimeError, match="state_dict post-hook must return None"):
        m.state_dict()


def test_load_state_dict_hooks(xp):
    m = xp.nn.Linear(1, 1)
    m.register_load_state_dict_pre_hook(lambda m, state, prefix, *rest: state.pop("old", None))
    m.register_load_state_dict_post_hook(lambda m, keys: keys.missing_keys.clear())
    assert m.load_state_dict({"weight": xp.zeros(1, 1), "old": 1}).missing_keys == []
    m.register_load_state_dict_post_hook(lambda m, keys: keys)
    with pytest.raises(AssertionError, match="Hooks registered with ``register_load_state_dict_post_hook`` are not expected to return"):
        m.load_state_dict(m.state_dict())


KINDS = {"full": "register_full_backward_hook", "pre": "register_full_backward_pre_hook"}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("first", [True, False])
def test_hooks_leave_constants_constant(xp, kind, first):
    seen = []

    class Product(xp.nn.Module):
        def forward(self, a, b):
            seen.append([(t.requires_grad, t.grad_fn is None) for t in (a, b)])
            (b if first else a).mul_(2)
            return a * b, b if first else a, 3

    module = Product()
    getattr(module, KINDS[kind])(lambda *given: seen.append([[None if g is None else g.tolist() for g in gs] for gs in given[1:]]))
    a, b = xp.ones(2, requires_grad=first), xp.ones(2, requires_grad=not first)
    product, constant, number = module(a, b)
    assert seen.pop() == [(first, not first), (not first, first)]
    assert (product.requires_grad, constant.requires_grad, number) == (True, False, 3)
    product.sum().backward()
    assert (a.grad is not None, b.grad is not None) == (first, not first)
    came = [[1.0, 1.0], None, None]
    given = [[2.0, 2.0], [0.0, 0.0]] if first else [[0.0, 0.0], [2.0, 2.0]]
    assert seen == [[given, came] if kind == "full" else [came]]
