"""JAX: arrays in and out without a copy, jtorch code under jax.grad, jit and vmap, and unchanged global settings."""
from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jtorch

pytestmark = pytest.mark.core


def test_no_copy_in_or_out():
    array = jnp.arange(4096.0)
    t = jtorch.from_jax(array)
    assert t.jax().unsafe_buffer_pointer() == array.unsafe_buffer_pointer()
    assert t.detach().jax().unsafe_buffer_pointer() == array.unsafe_buffer_pointer()
    u = t + 1
    assert u.jax().unsafe_buffer_pointer() == u.jax().unsafe_buffer_pointer()


def test_what_jax_sees_does_not_change():
    t = jtorch.arange(3.0)
    before = t.jax()
    t += 1
    assert before.tolist() == [0, 1, 2]
    assert t.jax().tolist() == [1, 2, 3]


def test_dtypes_go_through():
    for name in ("float64", "int64", "bfloat16", "bool", "complex128", "uint8"):
        t = jtorch.ones(2, dtype=getattr(jtorch, name))
        assert t.jax().dtype == jnp.dtype(name)
        assert jtorch.from_jax(t.jax()).dtype is t.dtype


def test_a_tensor_is_a_pytree():
    t = jtorch.arange(3.0)
    leaves, tree = jax.tree.flatten({"a": t, "b": [t + 1]})
    assert [np.asarray(x).tolist() for x in leaves] == [[0, 1, 2], [1, 2, 3]]
    back = jax.tree.unflatten(tree, leaves)
    assert isinstance(back["a"], jtorch.Tensor)
    doubled = jax.tree.map(lambda x: x * 2, {"a": t})
    assert doubled["a"].tolist() == [0, 2, 4]


def f(x):
    """Compute with views, writes, indexing and the number of elements of a tensor."""
    y = x * 2
    y[0] = y[1].clone() * x[2]
    y[1:].mul_(x[:-1])
    z = y.view(-1, 1) @ x.view(1, -1)
    return (z.tanh() * jtorch.arange(float(x.numel()))).sum() + x[jtorch.tensor([0, 2])].exp().mean()


def _raw(x):
    return f(jtorch.from_jax(x)).jax()


POINT = np.array([0.3, -0.7, 0.5, 0.2], np.float32)


def test_grad_is_the_tapes():
    x = jtorch.tensor(POINT, requires_grad=True)
    f(x).backward()
    np.testing.assert_allclose(np.asarray(jax.grad(_raw)(jnp.asarray(POINT))), x.grad.numpy(), rtol=2e-5, atol=1e-6)


def test_value_under_jit_and_vmap():
    expected = f(jtorch.tensor(POINT)).item()
    assert float(jax.jit(_raw)(jnp.asarray(POINT))) == pytest.approx(expected, rel=1e-5)
    batch = np.stack([POINT, POINT[::-1], POINT * 2])
    got = jax.vmap(_raw)(jnp.asarray(batch))
    assert got.tolist() == pytest.approx([f(jtorch.tensor(row.copy())).item() for row in batch], rel=1e-5)


def test_tensors_as_arguments_of_transformed_functions():
    x = jtorch.tensor(POINT)
    assert jax.jit(f)(x).item() == pytest.approx(f(x).item(), rel=1e-5)
    slope = jax.grad(lambda t: f(t).jax())(x)
    y = jtorch.tensor(POINT, requires_grad=True)
    f(y).backward()
    np.testing.assert_allclose(slope.numpy(), y.grad.numpy(), rtol=2e-5, atol=1e-6)


@pytest.mark.slow
def test_nested_transformations():
    x = jnp.asarray(POINT)
    hessian = jax.hessian(_raw)(x)
    t = jtorch.tensor(POINT, requires_grad=True)
    first, = jtorch.autograd.grad(f(t), t, create_graph=True)
    rows = [jtorch.autograd.grad(first[k], t, retain_graph=True)[0].tolist() for k in range(4)]
    np.testing.assert_allclose(np.asarray(hessian), np.array(rows), rtol=5e-4, atol=1e-5)
    assert jax.jit(jax.vmap(jax.grad(_raw)))(jnp.stack([x, x])).shape == (2, 4)


def test_constants_inside_a_users_jit():
    w = jtorch.tensor([1.0, 2.0]) + 1      # The value may still be deferred.

    @jax.jit
    def g(x):
        t = jtorch.from_jax(x)
        return ((t * w + jtorch.ones(2)) / jtorch.tensor(2.0)).jax()
    assert g(jnp.ones(2)).tolist() == [1.5, 2.0]
    assert (w * 2).tolist() == [4, 6]


def test_a_tracer_has_no_value():
    def g(x):
        return jtorch.from_jax(x).sum().item() + jtorch.from_jax(x).jax()
    with pytest.raises(jax.errors.ConcretizationTypeError):
        jax.jit(lambda x: jnp.asarray(bool(jtorch.from_jax(x).sum() > 0)))(jnp.ones(2))
    with pytest.raises(jax.errors.JAXTypeError):
        jax.jit(lambda x: jtorch.from_jax(x).numpy())(jnp.ones(2))


def test_the_tape_works_inside_jit():
    @jax.jit
    def g(x):
        t = jtorch.from_jax(x).requires_grad_()
        (t * t).sum().backward()
        return t.grad.jax()
    assert g(jnp.arange(3.0)).tolist() == [0, 2, 4]


@pytest.mark.one_mode
def test_importing_changes_no_setting(run_python):
    out = run_python("""
import jax, jax.numpy as jnp
before = dict(jax.config.values)
import jtorch
x = (jtorch.ones(3, dtype=jtorch.float64) * 2).sum()
x.item()
assert {k: v for k, v in jax.config.values.items() if before[k] != v} == {}
assert not jax.config.jax_enable_x64
assert jnp.ones(3).dtype == jnp.float32 and jnp.arange(3).dtype == jnp.int32
print((jtorch.arange(3).jax() + 1).dtype, jnp.ones(3).dtype)
""")
    assert out.split()[1] == "float32"
