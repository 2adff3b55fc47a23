"""Hooks and custom functions during backward: modes they leave on, nested backwards, errors."""
from __future__ import annotations

import pytest
from libraries import HAS_TORCH, library

pytestmark = pytest.mark.core


@pytest.fixture(autouse=True)
def blocks_of_autocast_have_ended():
    """End the autocast blocks that some tests enter and never leave, since the libraries count nested blocks."""
    yield
    for name in ("torch", "jtorch") if HAS_TORCH else ("jtorch",):
        xp = library(name)
        depth = xp.autocast_increment_nesting()
        while depth > 0:
            depth = xp.autocast_decrement_nesting()


def leaf(xp, *values):
    return xp.tensor(list(values), requires_grad=True)


# ---------------------------------------------------------------- modes

def modes(xp):
    return (xp.is_grad_enabled(), xp.is_inference_mode_enabled(), xp.is_autocast_enabled("cpu"), str(xp.empty(1).device))


def pack_all(xp, packed):
    return xp.autograd.graph.saved_tensors_hooks(lambda t: packed.append(0) or t, lambda t: t)


MODES = {
    "grad": lambda xp: xp.set_grad_enabled(True), "autocast": lambda xp: xp.autocast("cpu"),
    "device": lambda xp: xp.device("meta"),
    "saved": lambda xp: pack_all(xp, []), "refused": lambda xp: xp.autograd.graph.disable_saved_tensors_hooks("refused")}


@pytest.mark.filterwarnings("ignore:Using backward.. with create_graph=True")
@pytest.mark.parametrize("create_graph", [False, True])
@pytest.mark.parametrize("name", MODES)
def test_what_a_hook_turns_on_ends_with_its_node(xp, name, create_graph):
    seen, packed = [modes(xp)], []
    x = leaf(xp, 1.0, 2.0)
    y = x * 2
    z = y * 3
    context = MODES[name](xp)
    xp.set_grad_enabled(True)
    z.register_hook(lambda g: context.__enter__() and None)
    for t in (y, x):
        t.register_hook(lambda g: seen.append(modes(xp)))
    z.sum().backward(create_graph=create_graph)
    seen.append(modes(xp))
    assert seen == [(True, False, False, "cpu"), *[(create_graph, False, False, "cpu")] * 2, (True, False, False, "cpu")]
    with pack_all(xp, packed):
        x.sin()
    assert packed == [0]
    x.grad = None


def test_what_a_custom_backward_turns_on_ends_with_its_node(xp):
    class On(xp.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        def backward(ctx, grad):
            xp.set_grad_enabled(True)
            xp.autocast("cpu").__enter__()
            return grad

    seen = []
    x = leaf(xp, 1.0)
    y = x * 2
    y.register_hook(lambda g: seen.append(modes(xp)))
    On.apply(y).sum().backward()
    assert seen == [(False, False, False, "cpu")]
    assert modes(xp) == (True, False, False, "cpu")


# ---------------------------------------------------------------- backwards in a backward

def nested(xp, at_the_end=None):
    """Return a custom function whose backward calls backward, nested as deep as its argument says."""
    class Nested(xp.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            with xp.enable_grad():
                ctx.x = x.detach().requires_grad_() - 1
            return ctx.x.detach()

        @staticmethod
        def backward(ctx, grad):
            if ctx.x < 0:
                return at_the_end(grad) if at_the_end is not None else grad
            with xp.enable_grad():
                Nested.apply(ctx.x).sum().backward()
            return grad
    return Nested.apply


@pytest.mark.parametrize("times", [10, 1000])
def test_a_backward_in_a_backward_and_so_on(xp, times):
    x = leaf(xp, float(times))
    nested(xp)(x).sum().backward()
    assert x.grad.tolist() == [1.0]


def test_modes_deep_in_backwards(xp):
    seen = []
    x = leaf(xp, 100.0)
    y = nested(xp, lambda grad: seen.append(modes(xp)) or grad)(x).sum()
    with xp.autocast("cpu"):
        y.backward()
    assert seen == [(False, False, True, "cpu")]
    assert modes(xp) == (True, False, False, "cpu")


def test_autocast_in_threads_of_deep_backwards_ends_with_them():
    """The process counts the threads with autocast on. Calls and layers check dtypes only if there are some."""
    import jtorch
    from jtorch._base import late_bindings
    test_modes_deep_in_backwards(jtorch)
    assert late_bindings.autocast is None


def test_an_error_deep_in_backwards(xp):
    def fail(grad):
        raise KeyError("deep")

    x = leaf(xp, 100.0)
    with pytest.raises(KeyError, match="deep"):
        nested(xp, fail)(x).sum().backward()
    assert x.grad is None
    assert modes(xp) == (True, False, False, "cpu")
    nested(xp)(x).sum().backward()
    assert x.grad.tolist() == [1.0]


@pytest.mark.filterwarnings("ignore:None of the inputs")
@pytest.mark.parametrize("reentrant", [True, False])
def test_checkpoints_in_one_another(xp, reentrant):
    checkpoint = xp.utils.checkpoint.checkpoint

    def nest(times):
        return (lambda x: checkpoint(nest(times - 1), x * 0.5, use_reentrant=reentrant)) if times else (lambda x: x * x)

    x = leaf(xp, 2.0)
    nest(50)(x).sum().backward()
    assert x.grad.item() == 4 * 0.5 ** 100
