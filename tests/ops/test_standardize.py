"""The function shared by normalizing layers, and its derivative."""
from __future__ import annotations

import jax
import numpy as np
import pytest
from libraries import library

from jtorch.ops.nn._standardize import standardize

AXES, SHAPE = (0, 2), (4, 3, 5)


def arrays(*shapes):
    generator = np.random.default_rng(0)
    return [generator.standard_normal(shape) for shape in shapes]


def plain(x, weight, bias):
    """Compute the same with JAX's derivative."""
    mean = x.mean(AXES, keepdims=True)
    var = ((x - mean) ** 2).mean(AXES, keepdims=True)
    out = (x - mean) / jax.numpy.sqrt(var + 1e-5)
    out = out if weight is None else out * weight
    return out if bias is None else out + bias, mean, var


def of_arrays(*given):
    return standardize(*given, AXES, 1e-5)


@pytest.mark.parametrize("affine", [(True, True), (True, False), (False, True), (False, False)])
def test_derivatives_of_all_kinds(affine):
    with jax.enable_x64(True):
        x, *vectors = arrays(SHAPE, (1, 3, 1), (1, 3, 1))
        given = (3 + 2 * x, *[v if wanted else None for v, wanted in zip(vectors, affine, strict=True)])
        weights = arrays(SHAPE, (1, 3, 1), (1, 3, 1))

        def all_of(function):
            def total(given):
                return sum([(a * jax.numpy.sin(w + a)).sum() for a, w in zip(function(*given), weights, strict=True)])

            def of_gradient(given):
                return sum([(g ** 2).sum() for g in jax.tree.leaves(jax.grad(total)(given))])
            return function(*given), jax.jvp(total, (given,), (given,)), jax.grad(total)(given), jax.grad(of_gradient)(given)
        made = jax.jit(lambda: (all_of(of_arrays), all_of(plain)))()
        for found, expected in zip(*map(jax.tree.leaves, made), strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


def test_the_gradient_takes_two_sums_over_all_elements():
    """One sum gives the gradients of bias and input, the other those of weight and input."""
    def gradients(x, weight, bias, gradient):
        return jax.vjp(lambda *given: of_arrays(*given)[0], x, weight, bias)[1](gradient)
    traced = jax.make_jaxpr(gradients)(*arrays(SHAPE, (1, 3, 1), (1, 3, 1), SHAPE))
    sums = [e for e in traced.eqns if e.primitive.name == "reduce_sum" and e.invars[0].aval.shape == SHAPE]
    assert len(sums) == 2


@pytest.mark.parametrize("given", [{}, {"momentum": 0.25}, {"momentum": 1}, {"momentum": 0.0}], ids=str)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_running_statistics_are_those_of_pytorch(torch, dtype, given):
    def moved(lib):
        d = getattr(lib, dtype)
        x, out = lib.arange(24.0, dtype=d).reshape(2, 3, 4) ** 2, []
        for norm in (lib.nn.functional.batch_norm, lib.nn.functional.instance_norm):
            for affine in ((), (lib.ones(3, dtype=d), None, True)):
                mean, var = lib.full((3,), 0.5, dtype=d), lib.ones(3, dtype=d)
                for _ in range(20):
                    norm(x, mean, var, *affine, **(given if affine or norm is lib.nn.functional.instance_norm else given | {"training": True}))
                    x = x + 0.1
                out += [mean.tolist(), var.tolist()]
        return out
    np.testing.assert_allclose(moved(library("jtorch")), moved(torch), rtol=1e-4)
