"""Hooks on saved tensors see the result if PyTorch's node keeps it for its derivative."""
from __future__ import annotations

import pytest

POINTWISE = "tanh sigmoid exp exp2 expm1 sqrt rsqrt reciprocal relu tan sin log abs square erf norm std var prod".split()
CALLS = {name: (lambda xp, x, name=name: getattr(x, name)()) for name in POINTWISE} | {
    "softmax": lambda xp, x: x.softmax(1),
    "log_softmax": lambda xp, x: x.log_softmax(1),
    "logsumexp": lambda xp, x: x.logsumexp(1),
    "amax": lambda xp, x: x.amax(1),
    "max": lambda xp, x: x.max(),
    "cumprod": lambda xp, x: x.cumprod(1),
    "prod along a dim": lambda xp, x: x.prod(1),
    "norm along a dim": lambda xp, x: x.norm(dim=1),
    "std along a dim": lambda xp, x: x.std(1),
    "hypot": lambda xp, x: xp.hypot(x, x * 2),
    "relu_": lambda xp, x: (x * 1).relu_(),
    "tanh_": lambda xp, x: (x * 1).tanh_(),
    "exp_": lambda xp, x: (x * 1).exp_(),
    "conv1d": lambda xp, x: xp.nn.functional.conv1d(x[None], xp.ones(1, 2, 2)),
    "mul": lambda xp, x: x * x,
    "softplus": lambda xp, x: xp.nn.functional.softplus(x),
}


def started(xp):
    return xp.tensor([[1.5, 0.3, 0.7], [0.2, 0.4, 0.9]], requires_grad=True)


@pytest.mark.parametrize("name", CALLS)
def test_what_is_packed_and_what_is_used(same, name):
    """The unpack hook doubles its value, so the gradient shows whether backward uses it."""
    def run(xp):
        packed, x = [], started(xp)

        def pack(t):
            packed.append([round(v, 4) for v in t.flatten().tolist()])
            return t.detach()
        with xp.autograd.graph.saved_tensors_hooks(pack, lambda t: t * 2):
            y = CALLS[name](xp, x)
        return sorted(packed), xp.autograd.grad(y.sum(), x)
    same(run)


@pytest.mark.parametrize("name", ["tanh", "exp", "sqrt", "softmax", "prod", "norm", "relu", "hypot", "mul", "sin"])
def test_second_derivatives_go_through_what_was_packed(same, name):
    def run(xp):
        x = started(xp)
        with xp.autograd.graph.saved_tensors_hooks(lambda t: t.detach(), lambda t: t):
            y = CALLS[name](xp, x)
            first, = xp.autograd.grad(y.sum() ** 2, x, create_graph=True)
        return first, xp.autograd.grad((first * first).sum(), x)
    same(run)


def test_a_write_to_what_was_packed_is_no_error(xp):
    x = started(xp)
    with xp.autograd.graph.saved_tensors_hooks(lambda t: t.clone(), lambda t: t):
        y = x.exp()
    expected = y.detach().clone()
    y.detach().zero_()
    y.sum().backward()
    assert xp.equal(x.grad, expected)


@pytest.mark.parametrize(("name", "saved"), [("tanh", "result"), ("exp", "result"), ("sin", "self"), ("softmax", "result")])
def test_hooks_on_one_saved_tensor(same, name, saved):
    def run(xp):
        packed, x = [], started(xp)
        y = CALLS[name](xp, x)
        kept = getattr(y.grad_fn, f"_raw_saved_{saved}")
        kept.register_hooks(lambda t: (packed.append(t.tolist()), t.detach())[1], lambda t: t * 2)
        try:
            kept.register_hooks(lambda t: t, lambda t: t)
        except RuntimeError as error:
            packed.append(str(error))
        return type(kept).__name__, packed, xp.autograd.grad(y.sum(), x)
    same(run)


def test_hooks_that_cannot_be(xp):
    y = started(xp).tanh()
    kept = y.grad_fn._raw_saved_result
    with pytest.raises(TypeError, match="incompatible function arguments"):
        kept.register_hooks(1, lambda t: t)
    y.sum().backward()
    with pytest.raises(RuntimeError, match="on a saved tensor after it has been freed"):
        kept.register_hooks(lambda t: t, lambda t: t)
    with pytest.raises(RuntimeError, match="with value None is forbidden"):
        (started(xp) * 2).grad_fn._raw_saved_self.register_hooks(lambda t: t, lambda t: t)
    with pytest.raises(AttributeError, match="_raw_saved_dim"):
        _ = started(xp).sum(0).grad_fn._raw_saved_dim
    with pytest.raises(RuntimeError, match="forbidden"):
        type(kept)()
