"""Random numbers under vmap: one call of the whole size, or one sample's numbers for all."""
from __future__ import annotations

import pytest

DRAWS = {
    "rand": lambda xp, t: xp.rand(3),
    "randn": lambda xp, t: xp.randn([2, 3]),
    "randint": lambda xp, t: xp.randint(5, 100, (3,)),
    "normal": lambda xp, t: xp.normal(0.0, 1.0, (3,)),
    "randperm": lambda xp, t: xp.randperm(5),
    "rand_like": lambda xp, t: xp.rand_like(t),
    "rand_like of a captured tensor": lambda xp, t: xp.rand_like(xp.ones(4)),
    "bernoulli": lambda xp, t: xp.bernoulli(t),
    "normal of means": lambda xp, t: xp.normal(t, 1.0),
    "poisson": lambda xp, t: xp.poisson(t * 9),
    "multinomial": lambda xp, t: xp.multinomial(t, 2),
    "normal_": lambda xp, t: t.normal_(),
    "uniform_ of a part": lambda xp, t: (t[1:].uniform_(2, 3), t)[1],
    "exponential_": lambda xp, t: (t * 1).exponential_(2.0),
    "bernoulli_ of probabilities": lambda xp, t: xp.zeros_like(t).bernoulli_(t),
    "normal_ of a captured tensor": lambda xp, t: xp.ones(3).normal_(),
    "out": lambda xp, t: xp.randn(3, out=xp.ones(3)),
    "dropout": lambda xp, t: xp.nn.functional.dropout(t, 0.5),
    "rrelu": lambda xp, t: xp.nn.functional.rrelu(t, training=True),
}


@pytest.mark.parametrize("randomness", ["error", "same", "different"])
@pytest.mark.parametrize("name", DRAWS)
def test_numbers(same, name, randomness):
    def run(xp):
        xp.manual_seed(5)
        x = (xp.arange(12.0).view(3, 4) + 1) / 13
        found = xp.vmap(lambda t: DRAWS[name](xp, t), randomness=randomness)(x)
        return found.tolist(), xp.rand(1).tolist(), x.tolist()
    same(run)


@pytest.mark.parametrize("outer", ["same", "different"])
@pytest.mark.parametrize("inner", ["same", "different"])
def test_nested(same, outer, inner):
    def run(xp):
        xp.manual_seed(5)
        nested = xp.vmap(xp.vmap(lambda t: xp.rand(2) + t * 0, randomness=inner), randomness=outer)
        return nested(xp.zeros(2, 3)).tolist(), xp.rand(1).tolist()
    same(run)


FORWARD = {
    "exponential_": lambda xp, x: (x * 1).exponential_(),
    "normal_": lambda xp, x: (x * 1).normal_(),
    "poisson": lambda xp, x: xp.poisson(x),
    "bernoulli": lambda xp, x: xp.bernoulli(x),
    "normal": lambda xp, x: xp.normal(x, 1.0),
    "binomial": lambda xp, x: xp.binomial(xp.ones(3), x),
}


@pytest.mark.parametrize("name", FORWARD)
def test_forward_derivatives_of_random_numbers(same, name):
    def run(xp):
        ad = xp.autograd.forward_ad
        with ad.dual_level():
            xp.manual_seed(0)
            tangent = ad.unpack_dual(FORWARD[name](xp, ad.make_dual(xp.full((3,), 0.5), xp.ones(3)))).tangent
            return tangent.tolist()
    same(run)
