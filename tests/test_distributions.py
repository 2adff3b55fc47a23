"""torch.distributions against PyTorch: samples of the same seed, densities, moments, gradients, divergences, errors."""
from __future__ import annotations

import importlib
import itertools

import numpy as np
import pytest

# name: arguments that make a distribution over a batch of 3.
CASES = {
    "Bernoulli": ({"probs": [0.2, 0.5, 0.9]}, {"logits": [-1.0, 0.0, 2.0]}),
    "Geometric": ({"probs": [0.2, 0.5, 0.9]},),
    "Poisson": ({"rate": [0.5, 2.0, 9.0]},),
    "Categorical": ({"probs": [[1.0, 2.0], [0.0, 1.0], [3.0, 1.0]]}, {"logits": [[0.0, 1.0], [2.0, 1.0], [0.0, 0.0]]}),
    "OneHotCategorical": ({"probs": [[1.0, 2.0], [0.5, 1.0], [3.0, 1.0]]},),
    "Normal": ({"loc": [0.0, 1.0, -2.0], "scale": [1.0, 0.5, 2.0]},),
    "LogNormal": ({"loc": [0.0, 1.0, -2.0], "scale": [1.0, 0.5, 0.2]},),
    "HalfNormal": ({"scale": [1.0, 0.5, 2.0]},),
    "Laplace": ({"loc": [0.0, 1.0, -2.0], "scale": [1.0, 0.5, 2.0]},),
    "Cauchy": ({"loc": [0.0, 1.0, -2.0], "scale": [1.0, 0.5, 2.0]},),
    "Gumbel": ({"loc": [0.0, 1.0, -2.0], "scale": [1.0, 0.5, 2.0]},),
    "Exponential": ({"rate": [0.5, 2.0, 9.0]},),
    "Uniform": ({"low": [0.0, 1.0, -2.0], "high": [1.0, 1.5, 2.0]},),
    "MultivariateNormal": ({"loc": [[0.0, 1.0]] * 3, "scale_tril": [[1.0, 0.0], [0.5, 2.0]]},
                           {"loc": [0.0, 1.0], "covariance_matrix": [[[2.0, 0.3], [0.3, 1.0]]] * 3},
                           {"loc": [0.0, 1.0], "precision_matrix": [[[2.0, 0.3], [0.3, 1.0]]] * 3}),
}
EVERY = [(name, kw) for name, kws in CASES.items() for kw in kws]
IDS = [f"{name}-{'-'.join(kw)}" for name, kw in EVERY]
ATTRIBUTES = ("mean", "mode", "variance", "stddev", "batch_shape", "event_shape", "has_rsample", "has_enumerate_support")


def made(xp, name, kw, grad=False):
    """(distribution, its parameters)."""
    given = {k: xp.tensor(v, requires_grad=grad) for k, v in kw.items()}
    return getattr(importlib.import_module(f"{xp.__name__}.distributions"), name)(**given), list(given.values())


def same(ours, theirs):
    np.testing.assert_allclose(np.asarray(ours.detach().tolist()), np.asarray(theirs.detach().tolist()), rtol=2e-5, atol=2e-6)


@pytest.mark.conformance
@pytest.mark.parametrize(("name", "kw"), EVERY, ids=IDS)
def test_like_pytorch(torch, name, kw):
    """What a distribution says of itself, draws, and gives for what it has drawn."""
    import jtorch
    found = {}
    for xp in (torch, jtorch):
        d, parameters = made(xp, name, kw, grad=True)
        xp.manual_seed(3)
        drawn = [d.sample(), d.sample((2,)), d.expand((2, 3)).sample(), *([d.rsample((2,))] if d.has_rsample else [])]
        values = [d.log_prob(drawn[1]), *([d.entropy()] if name != "Poisson" else [])]
        values += [f(drawn[1]) for f in (d.cdf,) if name in ("Normal", "Laplace", "Uniform", "Exponential", "Cauchy", "HalfNormal")]
        sum([v.sum() for v in values]).backward()
        listed = [d.enumerate_support(), d.enumerate_support(expand=False)] if d.has_enumerate_support else []
        found[xp.__name__] = drawn + values + listed, [p.grad for p in parameters], [getattr(d, a) for a in ATTRIBUTES], repr(d)
    theirs, ours = found["torch"], found["jtorch"]
    for a, b in zip(ours[0] + ours[1], theirs[0] + theirs[1], strict=True):
        assert (a is None) == (b is None)
        if a is not None:
            assert str(a.dtype) == str(b.dtype)
            assert tuple(a.shape) == tuple(b.shape)
            same(a, b)
    for what, a, b in zip(ATTRIBUTES, ours[2], theirs[2], strict=True):
        same(a, b) if hasattr(a, "detach") else pytest.fail(what) if tuple(np.ravel(a)) != tuple(np.ravel(b)) else None
    assert ours[3] == theirs[3]


@pytest.mark.conformance
def test_divergences(torch):
    """Every pair of classes that both know; the other pairs say that there is no formula."""
    import jtorch
    known = 0
    for (p, kw), (q, other) in itertools.product([(n, kws[0]) for n, kws in CASES.items()], repeat=2):
        if p != q and (p, q) != ("Normal", "Laplace"):
            continue
        other = {k: (v if k in ("loc", "low") else (np.asarray(v) * 1.3).tolist()) for k, v in other.items()}
        if "probs" in other:
            other["probs"] = (np.asarray(other["probs"]) / 1.5).tolist()
        results = []
        for xp in (torch, jtorch):
            kl = importlib.import_module(f"{xp.__name__}.distributions").kl_divergence
            try:
                results.append(kl(made(xp, p, kw)[0], made(xp, q, other)[0]))
            except NotImplementedError as error:
                results.append(str(error))
        if isinstance(results[0], str):
            assert results[0] == results[1]
        else:
            known += 1
            same(results[1], results[0])
    assert known >= 12


def test_independent(xp):
    D = importlib.import_module(f"{xp.__name__}.distributions")
    d = D.Independent(D.Normal(xp.zeros(2, 3), xp.ones(2, 3)), 1)
    assert (d.batch_shape, d.event_shape, d.log_prob(xp.zeros(2, 3)).shape) == ((2,), (3,), (2,))
    assert repr(d) == "Independent(Normal(loc: torch.Size([2, 3]), scale: torch.Size([2, 3])), 1)"
    assert float(D.kl_divergence(d, d).sum()) == 0
    with pytest.raises(ValueError, match="Expected reinterpreted_batch_ndims"):
        D.Independent(d, 2)


@pytest.mark.parametrize(("name", "kw", "message"), [
    ("Normal", {"loc": [0.0], "scale": [-1.0]}, "Expected parameter scale .Tensor of shape .1,.. of distribution Normal"),
    ("Categorical", {}, "Either `probs` or `logits` must be specified, but not both."),
    ("Categorical", {"probs": 0.5}, "`probs` parameter must be at least one-dimensional."),
    ("Bernoulli", {"probs": [1.5]}, r"to satisfy the constraint Interval\(lower_bound=0.0, upper_bound=1.0\)"),
    ("MultivariateNormal", {"loc": [0.0]}, "Exactly one of covariance_matrix or precision_matrix"),
])
def test_bad_parameters(xp, name, kw, message):
    with pytest.raises(ValueError, match=message):
        made(xp, name, kw)


def test_bad_values(xp):
    d, _ = made(xp, "Categorical", {"probs": [0.5, 0.5]})
    with pytest.raises(ValueError, match="to be within the support"):
        d.log_prob(xp.tensor(2))
    with pytest.raises(ValueError, match="The value argument to log_prob must be a Tensor"):
        d.log_prob(1)
    d, _ = made(xp, "Normal", {"loc": [0.0, 1.0], "scale": [1.0, 1.0]})
    with pytest.raises(ValueError, match="Value is not broadcastable"):
        d.log_prob(xp.zeros(3))


def test_what_is_not_built():
    from jtorch.distributions import Beta
    with pytest.raises(NotImplementedError, match="torch.distributions.Beta is not built"):
        Beta(1.0, 1.0)


def test_policy_gradient(xp):
    """The classic use: the gradient of -log_prob * reward reaches the policy."""
    D = importlib.import_module(f"{xp.__name__}.distributions")
    policy = xp.nn.Linear(4, 2)
    d = D.Categorical(policy(xp.ones(1, 4)).softmax(-1))
    action = d.sample()
    assert not action.requires_grad
    (-d.log_prob(action) * 2.0).sum().backward()
    assert policy.weight.grad.abs().sum() > 0
