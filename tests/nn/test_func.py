"""torch.func: one body for PyTorch and jtorch."""
from __future__ import annotations

import numpy as np
import pytest
from bodies import written

import jtorch


def close(a, b):
    np.testing.assert_allclose(a.detach().numpy(), np.asarray(b), rtol=1e-5, atol=1e-6)


def test_grad_nests(xp):
    x = xp.tensor(0.5)
    g = xp.func.grad
    for k, wanted in enumerate((np.cos(0.5), -np.sin(0.5), -np.cos(0.5)), 1):
        f = xp.sin
        for _ in range(k):
            f = g(f)
        found = f(x)
        close(found, wanted)
        assert not found.requires_grad
    with xp.no_grad():
        close(g(xp.sin)(x), np.cos(0.5))


def test_grad_of_trees(xp):
    def loss(params, x):
        return ((x @ params["w"] + params["b"][0]) ** 2).sum(), {"x": x}

    params = {"w": xp.tensor([1.0, 2.0]), "b": [xp.tensor(1.0)]}
    found, aux = xp.func.grad(loss, has_aux=True)(params, xp.tensor([[1.0, 1.0]]))
    assert list(found) == ["w", "b"]
    close(found["w"], [8.0, 8.0])
    close(found["b"][0], 8.0)
    assert aux["x"].tolist() == [[1.0, 1.0]]
    (gx, gy), value = xp.func.grad_and_value(lambda x, y: x * y, argnums=(0, -1))(xp.tensor(2.0), xp.tensor(3.0))
    assert (gx.item(), gy.item(), value.item(), value.requires_grad) == (3.0, 2.0, 6.0, False)


def test_an_unused_argument_gets_zeros(xp):
    assert xp.func.grad(lambda x, y: y * y)(xp.ones(()), xp.ones(())).item() == 0.0


def test_grad_and_what_is_outside(xp):
    w, x = xp.tensor(3.0, requires_grad=True), xp.tensor(2.0)
    found = xp.func.grad(lambda x: w * x ** 2)(x)
    found.backward()
    assert (found.item(), w.grad.item()) == (12.0, 4.0)
    y = xp.tensor(2.0, requires_grad=True)
    xp.func.grad(lambda y: y ** 3)(y).backward()
    assert y.grad.item() == 12.0


@pytest.mark.parametrize("mode", ["no_grad", "inference_mode"])
@pytest.mark.parametrize("made_inside", [False, True])
def test_outside_modes_do_not_reach_in(xp, mode, made_inside):
    with getattr(xp, mode)() if made_inside else xp.enable_grad():
        x, w, v = xp.tensor([1.0, 2.0]), xp.tensor(3.0), xp.ones(2)
    seen = []

    def f(x):
        seen.append((xp.is_grad_enabled(), xp.is_inference_mode_enabled()))
        return x ** 3 * w

    with getattr(xp, mode)():
        out, back = xp.func.vjp(f, x)
        found = [out, back(v)[0], *xp.func.grad_and_value(lambda x: f(x).sum())(x), xp.func.jacrev(f)(x), *xp.func.jvp(f, (x,), (v,)),
                 xp.func.jacfwd(f)(x), xp.func.hessian(lambda x: f(x).sum())(x), xp.func.vmap(xp.func.grad(f))(x)]
    value, slope = [3.0, 24.0], [9.0, 36.0]
    matrix = np.diag(slope)
    for got, wanted in zip(found, [value, slope, slope, 27.0, matrix, value, slope, matrix, np.diag([18.0, 36.0]), slope], strict=True):
        close(got, wanted)
        assert (got.requires_grad, got.is_inference()) == (False, False)
    assert seen[0] == (True, False)
    assert not any([inference for _, inference in seen])


def test_a_graph_made_under_no_grad_is_there_for_later(xp):
    x, w = xp.tensor([1.0, 2.0], requires_grad=True), xp.tensor(3.0, requires_grad=True)
    with xp.no_grad():
        out, back = xp.func.vjp(lambda x: x ** 2 * w, x)
        assert not back(xp.ones(2))[0].requires_grad
    assert not out.requires_grad
    back(xp.ones(2))[0].sum().backward()
    assert (x.grad.tolist(), w.grad.item()) == ([6.0, 6.0], 6.0)


def test_inference_tensors_that_a_graph_outside_would_save(xp):
    with xp.inference_mode():
        w = xp.tensor(3.0)
    with pytest.raises(RuntimeError, match="Inference tensors cannot be saved for backward"):
        xp.func.grad(lambda x: x * w)(xp.tensor(2.0, requires_grad=True))


def test_modes_after_an_error(xp):
    def fail(x):
        xp.set_grad_enabled(False)
        raise KeyError("inside")

    for transform in (xp.func.grad, xp.func.jacrev, lambda f: lambda x: xp.func.vjp(f, x)):
        with pytest.raises(KeyError, match="inside"):
            transform(fail)(xp.tensor(2.0))
        assert xp.is_grad_enabled()
        assert xp.func.grad(lambda x: x * x)(xp.tensor(2.0)).item() == 4.0


def test_vjp_and_jvp(xp):
    x, v = xp.tensor([1.0, 2.0]), xp.tensor([1.0, 10.0])
    out, back = xp.func.vjp(lambda x, y: (x * y, x.sum()), x, x + 1)
    close(out[0], [2.0, 6.0])
    for _ in range(2):
        gx, gy = back((v, xp.tensor(100.0)))
        close(gx, [102.0, 130.0])
        close(gy, [1.0, 20.0])
    assert not out[0].requires_grad
    out, change = xp.func.jvp(lambda x, y: x * y, (x, x + 1), (v, xp.ones(2)))
    close(change, [3.0, 32.0])
    close(xp.func.grad(lambda x: xp.func.jvp(lambda x: x ** 3, (x,), (xp.tensor(1.0),))[1])(xp.tensor(2.0)), 12.0)


def test_linearize():
    import jtorch as torch
    _, push = torch.func.linearize(lambda x: x ** 2, torch.tensor([1.0, 2.0]))
    close(push(torch.tensor([1.0, 10.0])), [2.0, 40.0])


def test_jacobians(xp):
    x = xp.tensor([1.0, 2.0])
    for jac in (xp.func.jacrev, xp.func.jacfwd):
        close(jac(lambda x: xp.stack([x[0] * x[1], x[0] ** 2, x[1]]))(x), [[2, 1], [2, 0], [0, 1]])
        a, b = jac(lambda x, y: {"s": x.sum() * y}, argnums=(0, 1))(x, xp.tensor(3.0))["s"]
        close(a, [3, 3])
        close(b, 3)
    close(xp.func.hessian(lambda x: (x ** 3).sum())(x), [[6, 0], [0, 12]])


def test_vmap(xp):
    x, w = xp.arange(6.0).reshape(3, 2), xp.tensor([1.0, 10.0])
    v = xp.func.vmap
    close(v(xp.dot, in_dims=(0, None))(x, w), [10, 32, 54])
    close(v(lambda x: x * 2, in_dims=1, out_dims=1)(x), x.numpy() * 2)
    a, (b,) = v(lambda d: (d["x"].sum(), [d["x"] + d["k"]]), in_dims=({"x": 0, "k": None},))({"x": x, "k": 1})
    close(a, [1, 5, 9])
    close(b, x.numpy() + 1)
    close(v(v(xp.mul), in_dims=(0, None))(x, w), x.numpy() * w.numpy())
    close(v(lambda x: x.sum(), chunk_size=2)(x), [1, 5, 9])
    close(xp.vmap(lambda i: x[i])(xp.tensor([2, 0])), x.numpy()[[2, 0]])


def test_gradients_of_single_samples(xp):
    m = xp.nn.Sequential(xp.nn.Linear(2, 3), xp.nn.Tanh(), xp.nn.Linear(3, 1))
    params = {k: p.detach() for k, p in m.named_parameters()}
    x, y = xp.randn(4, 2), xp.randn(4, 1)

    def loss(params, x, y):
        return ((xp.func.functional_call(m, params, (x[None],)) - y) ** 2).mean()

    found = xp.func.vmap(xp.func.grad(loss), in_dims=(None, 0, 0))(params, x, y)
    for i in range(4):
        m.zero_grad()
        ((m(x[i:i + 1]) - y[i]) ** 2).mean().backward()
        for name, p in m.named_parameters():
            close(found[name][i], p.grad.numpy())


def test_vmap_and_what_is_outside(xp):
    w, x = xp.tensor([1.0, 2.0], requires_grad=True), xp.ones(3, 2, requires_grad=True)
    xp.func.vmap(lambda x: (x * w).sum())(x.detach()).sum().backward()
    assert w.grad.tolist() == [3.0, 3.0]
    xp.func.vmap(lambda x: (x ** 2).sum())(x).sum().backward()
    assert x.grad.tolist() == [[2.0, 2.0]] * 3
    close(xp.func.jacrev(xp.func.vmap(xp.sin))(xp.zeros(2)), np.eye(2))


def test_ensembles(xp):
    models = [xp.nn.Linear(2, 1) for _ in range(3)]
    params, buffers = xp.func.stack_module_state(models)
    assert (params["weight"].shape, params["weight"].requires_grad, buffers) == ((3, 1, 2), True, {})
    x = xp.ones(2)
    out = xp.func.vmap(lambda p, b: xp.func.functional_call(models[0], (p, b), (x,)))(params, buffers)
    close(out, [m(x).tolist() for m in models])
    out.sum().backward()
    assert params["bias"].grad.tolist() == [[1.0]] * 3


def test_randomness(xp):
    x = xp.zeros(3, 4)
    with pytest.raises(RuntimeError, match="vmap: called random operation while in randomness error mode"):
        xp.func.vmap(lambda x: x + xp.randn(4))(x)
    xp.randn(1)
    same = xp.func.vmap(lambda x: x + xp.randn(4), randomness="same")(x)
    assert xp.equal(same[0], same[2])
    different = xp.func.vmap(lambda x: x + xp.randn(4), randomness="different")(x)
    assert not xp.equal(different[0], different[2])


WRONG = [
    lambda torch, func: func.grad(lambda x: x)(torch.ones(2)),
    lambda torch, func: func.grad(lambda x: 3)(torch.ones(2)),
    lambda torch, func: func.grad(lambda x: x, has_aux=True)(torch.ones(())),
    lambda torch, func: func.grad(lambda x: x, argnums=1)(torch.ones(())),
    lambda torch, func: func.grad(lambda x: x, argnums=())(torch.ones(())),
    lambda torch, func: func.grad(lambda x: x, argnums=(0, 0))(torch.ones(())),
    lambda torch, func: func.grad(lambda x: x, argnums='a')(torch.ones(())),
    lambda torch, func: func.vjp(lambda x: 3, torch.ones(2)),
    lambda torch, func: func.vjp(lambda x: x.long(), torch.ones(2)),
    lambda torch, func: func.jvp(lambda x: x, torch.ones(2), (torch.ones(2),)),
    lambda torch, func: func.jvp(lambda x: x, (torch.ones(2),), torch.ones(2)),
    lambda torch, func: func.jvp(lambda x: torch.ones(1), (torch.ones(2),), (torch.ones(2),), strict=True),
    lambda torch, func: func.jacrev(lambda x: x, chunk_size=0),
    lambda torch, func: func.vmap(lambda x: x)(),
    lambda torch, func: func.vmap(lambda x: x)(3),
    lambda torch, func: func.vmap(lambda x: x, in_dims=2)(torch.ones(2)),
    lambda torch, func: func.vmap(lambda x: x, in_dims='a')(torch.ones(2)),
    lambda torch, func: func.vmap(lambda x: 3)(torch.ones(2)),
    lambda torch, func: func.vmap(lambda x: x, randomness='x'),
    lambda torch, func: func.vmap(lambda x: x, chunk_size=0),
    lambda torch, func: func.stack_module_state([]),
    lambda torch, func: func.stack_module_state([torch.nn.Linear(1, 1), torch.nn.ReLU()]),
    lambda torch, func: func.stack_module_state([torch.nn.Linear(1, 1), torch.nn.Linear(1, 1).eval()]),
]


@pytest.mark.conformance
@pytest.mark.parametrize("call", WRONG, ids=written)
def test_errors(torch, call):
    import jtorch

    def message(xp):
        with pytest.raises(Exception) as e:
            call(xp, xp.func)
        return type(e.value).__name__, str(e.value).split(". ")[0].replace("jtorch", "torch")
    assert message(jtorch) == message(torch)


def test_values_that_decide_under_vmap(xp):
    with pytest.raises(RuntimeError, match="vmap: It looks like you're"):
        xp.func.vmap(lambda x: x if x.sum() > 0 else -x)(xp.ones(2, 2))


def test_numbers_of_samples_are_aligned_with_the_samples(xp):
    """``x / y`` has one number ``y`` for each sample. NumPy would align it with the last dim."""
    x, y = xp.arange(1.0, 10.0).view(3, 3), xp.tensor([1.0, 2.0, 4.0])
    for f in (xp.div, xp.fmod, xp.remainder, xp.floor_divide):
        assert xp.equal(xp.vmap(f)(x, y), xp.stack([f(a, b) for a, b in zip(x, y, strict=True)]))


@pytest.mark.filterwarnings("ignore:There is a performance drop")
def test_a_loop_goes_on_until_all_samples_are_done(xp):
    x, n = xp.linspace(0.1, 0.9, 6).view(2, 3), xp.tensor([2, 5])
    made = xp.vmap(xp.special.hermite_polynomial_he)(x, n)
    assert xp.equal(made, xp.stack([xp.special.hermite_polynomial_he(a, m) for a, m in zip(x, n, strict=True)]))


def test_what_a_tensor_inside_is_shown_as(xp):
    shown = []
    xp.vmap(xp.vmap(lambda a: (shown.append(repr(a)), a)[1]))(xp.arange(2.0).view(1, 2))
    assert shown == ["BatchedTensor(lvl=2, bdim=0, value=\n    BatchedTensor(lvl=1, bdim=0, value=\n        tensor([[0., 1.]])\n"
                     "    )\n)"]


def test_running_statistics_of_samples_are_an_error(xp):
    norm, x = xp.nn.BatchNorm1d(3), xp.randn(2, 4, 3)
    with pytest.raises(RuntimeError, match="Batch norm got a batched tensor as input while the running_mean"):
        xp.vmap(norm)(x)
    assert norm.running_mean.tolist() == [0, 0, 0]
    assert norm.eval()(x[0]).shape == (4, 3)


def test_where_only_jax_can_map_its_tracers_are_used():
    import jax.numpy as jnp
    x = jtorch.arange(6.0).view(2, 3)
    made = jtorch.vmap(lambda a: jtorch.from_jax(jnp.flip((2 * a).jax())))(x)
    assert jtorch.equal(made, (2 * x).flip(1))
    with pytest.raises(ValueError, match="can not return a BatchedTensor when out_dim is None"):
        jtorch.vmap(lambda a: a, out_dims=None)(x)
