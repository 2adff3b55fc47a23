"""Forward mode: dual tensors through ops, views, writes, backward and custom functions."""
from __future__ import annotations

import numpy as np
import pytest

import jtorch as torch


@pytest.fixture
def fw(xp):
    """Return the module of forward mode, and close all levels after a test."""
    module = xp.autograd.forward_ad
    yield module
    while module._current_level >= 0:
        module.exit_dual_level()


def tangent(fw, t):
    """Return the tangent of a tensor as numbers."""
    found = fw.unpack_dual(t).tangent
    return None if found is None else found.detach().numpy()


def dual(xp, fw, values=(1.0, 2.0, 3.0), direction=(1.0, 0.5, -1.0)):
    """Make a dual tensor."""
    return fw.make_dual(xp.tensor(values, dtype=xp.float64), xp.tensor(direction, dtype=xp.float64))


@pytest.mark.parametrize(("f", "slope"), [
    (lambda xp, x: x.sin(), np.cos), (lambda xp, x: x * x, lambda v: 2 * v), (lambda xp, x: 3 / x, lambda v: -3 / v ** 2),
    (lambda xp, x: xp.stack([x, x]).sum(0), lambda v: 2 + 0 * v), (lambda xp, x: xp.nn.functional.softplus(x), lambda v: 1 / (1 + np.exp(-v)))])
def test_an_ops_tangent_is_its_derivative_times_that_of_the_argument(xp, fw, f, slope):
    v, d = np.array([1.0, 2.0, 3.0]), np.array([1.0, 0.5, -1.0])
    with fw.dual_level():
        np.testing.assert_allclose(tangent(fw, f(xp, dual(xp, fw))), slope(v) * d)


def test_a_level_ends_all_tangents(xp, fw):
    with fw.dual_level() as level:
        assert level == 0
        y = dual(xp, fw) * 2
        with pytest.raises(RuntimeError, match="Nested forward mode AD is not supported at the moment"):
            fw.enter_dual_level()
    assert tangent(fw, y) is None
    with fw.dual_level():
        assert tangent(fw, y) is None
    with pytest.raises(RuntimeError, match="no level exists"):
        fw.make_dual(y, y)


def test_what_make_dual_refuses(xp, fw):
    with fw.dual_level():
        x = dual(xp, fw)
        with pytest.raises(RuntimeError, match="has a different size than that of the original Tensor"):
            fw.make_dual(xp.ones(2), xp.ones(3))
        with pytest.raises(ValueError, match="Expected primal to be floating point or complex"):
            fw.make_dual(xp.ones(2, dtype=xp.int64), xp.ones(2))
        with pytest.raises(RuntimeError, match="has a forward gradient at the same level"):
            fw.make_dual(xp.ones(3), x)
        with pytest.raises(NotImplementedError, match="because it is an out= function"):
            xp.add(x, x, out=xp.ones(3))


def test_the_tangent_is_kept_as_it_is(xp, fw):
    t = xp.ones(2)
    with fw.dual_level():
        x = fw.make_dual(xp.zeros(2), t)
        primal, found = fw.unpack_dual(x)
        assert found is t and fw.unpack_dual(primal).tangent is None and "tangent=" in str(x)


def test_writes_and_views(xp, fw):
    with fw.dual_level():
        x = dual(xp, fw)
        y = xp.zeros(3, dtype=xp.float64)
        view = y[1:]
        view.copy_(x[:2])
        np.testing.assert_allclose(tangent(fw, y), [0, 1, 0.5])
        y.mul_(2)
        np.testing.assert_allclose(tangent(fw, view), [2, 1])
        y[0] = x[2]
        np.testing.assert_allclose(tangent(fw, y), [-1, 2, 1])
        y.fill_(1)
        assert not tangent(fw, y).any() and tangent(fw, x.detach()) is None
        z = x.clone().reshape(3, 1).t()
        z += 1
        np.testing.assert_allclose(tangent(fw, z), [[1, 0.5, -1]])


def test_no_grad_does_not_stop_tangents(xp, fw):
    with fw.dual_level(), xp.no_grad():
        y = dual(xp, fw) * 3
        y.mul_(2)
        np.testing.assert_allclose(tangent(fw, y), [6, 3, -6])


def test_backward_of_dual_tensors_gives_dual_gradients(xp, fw):
    w = xp.tensor([1.0, 2.0], dtype=xp.float64, requires_grad=True)
    with fw.dual_level():
        x = fw.make_dual(w, xp.tensor([1.0, 10.0], dtype=xp.float64))
        found, = xp.autograd.grad((x ** 3).sum(), w)
        np.testing.assert_allclose(tangent(fw, found), [6, 120])
        (x ** 3).sum().backward()
        assert w.grad.tolist() == [3, 12] and tangent(fw, w.grad) is None


def test_backward_through_a_tangent(xp, fw):
    w = xp.tensor([1.0, 2.0], dtype=xp.float64, requires_grad=True)
    with fw.dual_level():
        y = fw.make_dual(w, xp.ones(2, dtype=xp.float64)) ** 3
        found, = xp.autograd.grad(fw.unpack_dual(y).tangent.sum(), w)
    assert found.tolist() == [6, 12]


def test_custom_functions(xp, fw):
    class Cube(xp.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_forward(x)
            return x ** 3

        @staticmethod
        def jvp(ctx, t):
            x, = ctx.saved_tensors
            return 3 * x ** 2 * t

    class Plain(xp.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

    with fw.dual_level():
        np.testing.assert_allclose(tangent(fw, Cube.apply(dual(xp, fw))), [3, 6, -27])
        with pytest.raises(NotImplementedError, match="You must implement the jvp function"):
            Plain.apply(dual(xp, fw))


def test_gradcheck(xp):
    x = xp.rand(3, 2, dtype=xp.float64, requires_grad=True)
    z = xp.rand(2, dtype=xp.complex128, requires_grad=True)
    assert xp.autograd.gradcheck(xp.sin, x, check_forward_ad=True, check_batched_forward_grad=True)
    assert xp.autograd.gradcheck(lambda z: z * z.abs(), z, check_forward_ad=True)
    assert xp.autograd.gradgradcheck(xp.sin, x, check_fwd_over_rev=True)


def test_a_wrong_jvp_is_found(xp):
    class Wrong(xp.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return 2 * g

        @staticmethod
        def jvp(ctx, t):
            return 3 * t

    x = xp.ones(2, dtype=xp.float64, requires_grad=True)
    with pytest.raises(RuntimeError, match="Jacobian computed with forward mode mismatch for output 0 with respect to input 0"):
        xp.autograd.gradcheck(Wrong.apply, x, check_forward_ad=True)


def test_levels_nest_in_torch_func(xp):
    def f(x):
        return (x ** 3).sum() * x[0]
    x, v = xp.tensor([1.0, 2.0]), xp.ones(2)
    twice = xp.func.jvp(lambda y: xp.func.jvp(f, (y,), (v,))[1], (x,), (v,))[1]
    np.testing.assert_allclose(twice.item(), (v @ xp.func.hessian(f)(x) @ v).item(), rtol=1e-6)
    np.testing.assert_allclose(xp.func.jacfwd(xp.func.jacfwd(f))(x).numpy(), xp.func.jacrev(xp.func.jacrev(f))(x).numpy(), rtol=1e-6)
    by_reverse = xp.func.grad(lambda x: xp.func.jvp(f, (x,), (v,))[1])(x)
    np.testing.assert_allclose(by_reverse.numpy(), (xp.func.hessian(f)(x) @ v).numpy(), rtol=1e-6)


def test_jacobian_by_forward_mode(xp):
    def f(x, y):
        return x * y.sum(), y
    x, y = xp.tensor([1.0, 2.0]), xp.tensor([3.0, 4.0, 5.0])
    forward = xp.autograd.functional.jacobian(f, (x, y), vectorize=True, strategy="forward-mode")
    for row, other in zip(forward, xp.autograd.functional.jacobian(f, (x, y)), strict=True):
        for a, b in zip(row, other, strict=True):
            assert a.tolist() == b.tolist()


@pytest.mark.parametrize("kind", ["RNN", "GRU", "LSTM"])
def test_recurrent_layers(kind):
    """Recurrent layers have a backward of their own and no forward derivative."""
    torch.manual_seed(0)
    layer = getattr(torch.nn, kind)(3, 4).double()
    x, t = torch.randn(5, 2, 3, dtype=torch.float64), torch.randn(5, 2, 3, dtype=torch.float64)
    value, tangent = torch.func.jvp(lambda x: layer(x)[0], (x,), (t,))
    by_difference = (layer(x + 1e-6 * t)[0] - layer(x - 1e-6 * t)[0]) / 2e-6
    np.testing.assert_allclose(tangent.detach().numpy(), by_difference.detach().numpy(), rtol=1e-5, atol=1e-8)
    np.testing.assert_array_equal(value.detach().numpy(), layer(x)[0].detach().numpy())
