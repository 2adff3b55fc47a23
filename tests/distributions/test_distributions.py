"""torch.distributions against PyTorch: samples of the same seed, densities, moments, gradients, divergences, errors."""
from __future__ import annotations

import importlib
import itertools
import sys

import numpy as np
import pytest

# Maps a distribution's name to arguments for a batch of 3.
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
    "LowRankMultivariateNormal": ({"loc": [[0.0, 1.0]] * 3, "cov_factor": [[1.0], [0.5]], "cov_diag": [0.5, 2.0]},),
    "Gamma": ({"concentration": [0.3, 2.0, 30.0], "rate": [1.0, 0.5, 2.0]},),
    "Chi2": ({"df": [0.5, 2.0, 9.0]},),
    "StudentT": ({"df": [0.9, 1.5, 9.0], "loc": [0.0, 1.0, -2.0], "scale": [1.0, 0.5, 2.0]},),
    "FisherSnedecor": ({"df1": [1.0, 3.0, 9.0], "df2": [1.5, 3.0, 9.0]},),
    "Dirichlet": ({"concentration": [[0.3, 0.5, 0.9], [2.0, 1.0, 3.0], [9.0, 20.0, 0.5]]},),
    "Beta": ({"concentration1": [0.3, 2.0, 30.0], "concentration0": [0.5, 3.0, 20.0]},),
    "InverseGamma": ({"concentration": [0.9, 1.5, 9.0], "rate": [1.0, 0.5, 2.0]},),
    "HalfCauchy": ({"scale": [1.0, 0.5, 2.0]},),
    "Kumaraswamy": ({"concentration1": [0.9, 1.5, 9.0], "concentration0": [1.5, 0.5, 2.0]},),
    "Weibull": ({"scale": [1.0, 0.5, 2.0], "concentration": [1.0, 1.5, 4.0]},),
    "Pareto": ({"scale": [1.0, 0.5, 2.0], "alpha": [0.9, 1.5, 4.0]},),
    "GeneralizedPareto": ({"loc": [0.0, 1.0, -2.0], "scale": [1.0, 0.5, 2.0], "concentration": [-0.3, 0.0, 0.7]},),
    "LogisticNormal": ({"loc": [[0.0, 1.0]] * 3, "scale": [[1.0, 0.5]] * 3},),
    "VonMises": ({"loc": [0.0, 1.0, -2.0], "concentration": [0.5, 2.0, 9.0]},),
    "Binomial": ({"total_count": 5, "probs": [0.2, 0.5, 0.9]}, {"total_count": [40.0], "logits": [-1.0, 0.3, 2.0]}),
    "NegativeBinomial": ({"total_count": [3.0, 4.0, 5.0], "probs": [0.2, 0.5, 0.9]}, {"total_count": 3, "logits": [-1.0, 0.0, 2.0]}),
    "Multinomial": ({"total_count": 5, "probs": [[1.0, 2.0], [0.5, 1.0], [3.0, 1.0]]},),
    "ContinuousBernoulli": ({"probs": [0.2, 0.5, 0.9]}, {"logits": [-1.0, 0.001, 2.0]}),
    "RelaxedBernoulli": ({"temperature": 0.7, "probs": [0.2, 0.5, 0.9]},),
    "RelaxedOneHotCategorical": ({"temperature": 0.7, "probs": [[1.0, 2.0], [0.5, 1.0], [3.0, 1.0]]},),
    "LKJCholesky": ({"dim": 3, "concentration": [0.5, 1.0, 3.0]},),
    "Wishart": ({"df": [3.0, 4.0, 5.0], "covariance_matrix": [[2.0, 0.3], [0.3, 1.0]]},),
}
EVERY = [(name, kw) for name, kws in CASES.items() for kw in kws]
IDS = [f"{name}-{'-'.join(kw)}" for name, kw in EVERY]
ATTRIBUTES = ("mean", "mode", "variance", "stddev", "batch_shape", "event_shape", "has_rsample", "has_enumerate_support")


@pytest.fixture(autouse=True)
def validated(monkeypatch):
    """Turn the checks of arguments on, as at first. PyTorch's compiler turns them off in some other tests."""
    for name in ("torch", "jtorch"):
        distribution = getattr(sys.modules.get(f"{name}.distributions"), "Distribution", None)
        if distribution is not None:
            monkeypatch.setattr(distribution, "_validate_args", True)


def made(xp, name, kw, grad=False, dtype="float32"):
    """Return (distribution, its parameters)."""
    given = {k: v if isinstance(v, int) else xp.tensor(v, requires_grad=grad, dtype=getattr(xp, dtype)) for k, v in kw.items()}
    tensors = [v for v in given.values() if not isinstance(v, int)]
    return getattr(distributions(xp), name)(**given), tensors


def distributions(xp):
    return importlib.import_module(f"{xp.__name__}.distributions")


def same(ours, theirs, rtol=2e-5, atol=2e-6):
    np.testing.assert_allclose(np.asarray(ours.detach().tolist()), np.asarray(theirs.detach().tolist()), rtol=rtol, atol=atol)


def attempt(f, *args):
    """Return the result of ``f``, or the class of its error."""
    try:
        return f(*args)
    except (NotImplementedError, AttributeError) as error:
        return NotImplementedError if isinstance(error, NotImplementedError) else type(error)


@pytest.mark.conformance
@pytest.mark.filterwarnings("ignore:Singular sample")       # PyTorch warns at each Wishart sample
@pytest.mark.parametrize(("name", "kw"), EVERY, ids=IDS)
def test_like_pytorch(torch, name, kw):
    """A distribution's attributes, samples and functions of samples are PyTorch's."""
    import jtorch
    found = {}
    for xp in (torch, jtorch):
        d, parameters = made(xp, name, kw, grad=True)
        xp.manual_seed(3)
        drawn = [d.sample(), d.sample((2,)), d.expand((2, 3)).sample(), *([d.rsample((2,))] if d.has_rsample else [])]
        values = [attempt(f, *arguments) for f, *arguments in (
            (d.log_prob, drawn[1]), (d.entropy,), (d.icdf, xp.tensor([0.1, 0.5, 0.9])), (d.cdf, drawn[1]))]
        known = [v for v in values if not isinstance(v, type)]
        # The last value is the cdf. For these distributions it is igamma, which has no gradient.
        sum([v.sum() for v in (known[:-1] if "Gamma" in name or name == "Chi2" else known)]).backward()
        listed = [attempt(d.enumerate_support), attempt(d.enumerate_support, False)]
        found[xp.__name__] = drawn + values + listed, [p.grad for p in parameters], [attempt(getattr, d, a) for a in ATTRIBUTES], repr(d)
    theirs, ours = found["torch"], found["jtorch"]
    drawings = len(drawn)
    for i, (a, b) in enumerate(zip(ours[0] + ours[1], theirs[0] + theirs[1], strict=True)):
        assert isinstance(a, type) == isinstance(b, type)
        assert (a is None) == (b is None)
        if a is not None and not isinstance(a, type):
            assert str(a.dtype) == str(b.dtype)
            assert tuple(a.shape) == tuple(b.shape)
            same(a, b, atol=2e-6 if i < drawings else 5e-5)     # densities are small differences of large logarithms
    for what, a, b in zip(ATTRIBUTES, ours[2], theirs[2], strict=True):
        same(a, b) if hasattr(a, "tolist") else pytest.fail(what) if tuple(np.ravel(a)) != tuple(np.ravel(b)) else None
    assert ours[3] == theirs[3]


def other_parameters(kw):
    """Return parameters of another distribution than that of ``kw``."""
    return {k: v if isinstance(v, int) or k in ("loc", "low", "total_count") else (np.asarray(v) / (1.5 if k == "probs" else 0.77)).tolist()
            for k, v in kw.items()}


def divergences(xp):
    """Return the divergences between the first cases of all classes: a tensor, or an error."""
    D = distributions(xp)
    pairs = {name: tuple([made(xp, name, kw, dtype="float64")[0] for kw in (kws[0], other_parameters(kws[0]))])
             for name, kws in CASES.items()}
    return {(p, q): attempt(D.kl_divergence, pairs[p][0], pairs[q][1]) for p, q in itertools.product(pairs, repeat=2)}


@pytest.mark.conformance
def test_divergences(torch):
    """The pairs known to both libraries agree; the other pairs raise."""
    import jtorch
    theirs, ours = divergences(torch), divergences(jtorch)
    for pair, expected in theirs.items():
        if isinstance(expected, type):
            assert ours[pair] is expected, pair
        elif pair != ("Wishart", "Wishart"):        # PyTorch sums this divergence over the batch.
            same(ours[pair], expected, rtol=1e-9, atol=1e-9)
    assert sum([not isinstance(d, type) for d in theirs.values()]) >= 80


def test_divergence_of_an_exponential_family(xp):
    """Without a formula for the pair, the Bregman divergence is used."""
    D = distributions(xp)
    p, q = (D.Wishart(xp.tensor(df), covariance_matrix=xp.tensor([[2.0, 0.3], [0.3, 1.0]])) for df in (3.0, 5.0))
    assert float(D.kl_divergence(p, p).detach()) == pytest.approx(0, abs=1e-5)
    assert float(D.kl_divergence(p, q).detach()) == pytest.approx(0.9461908, rel=1e-4)
    assert float(D.ExponentialFamily.entropy(D.Normal(0.0, 2.0)).detach()) == pytest.approx(float(D.Normal(0.0, 2.0).entropy()), rel=1e-5)


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
    ("Gamma", {"concentration": [-1.0], "rate": [1.0]}, "Expected parameter concentration .* to satisfy the constraint GreaterThan"),
    ("Chi2", {"df": [-1.0]}, "Expected parameter df .Tensor of shape .1,.. of distribution Chi2"),
    ("Dirichlet", {"concentration": 1.0}, "`concentration` parameter must be at least one-dimensional."),
    ("Dirichlet", {"concentration": [1.0, -1.0]}, r"constraint IndependentConstraint\(GreaterThan\(lower_bound=0.0\), 1\)"),
    ("Beta", {"concentration1": [1.0], "concentration0": [0.0]}, "Expected parameter concentration .* of distribution Dirichlet"),
    ("Uniform", {"low": [1.0], "high": [0.0]}, "Expected parameter low .*"),
    ("Binomial", {"total_count": [1.5], "probs": [0.5]}, r"constraint IntegerGreaterThan\(lower_bound=0\)"),
    ("Binomial", {"total_count": 3}, "Either `probs` or `logits` must be specified, but not both."),
    ("NegativeBinomial", {"total_count": 3, "probs": [1.0]}, r"HalfOpenInterval\(lower_bound=0.0, upper_bound=1.0\)"),
    ("LKJCholesky", {"dim": 1}, "Expected dim to be an integer greater than or equal to 2. Found dim=1."),
    ("Wishart", {"df": 1.0, "covariance_matrix": [[1.0, 0.0], [0.0, 1.0]]}, "expected to be greater than ndim - 1 = 1."),
    ("LowRankMultivariateNormal", {"loc": [0.0], "cov_factor": [1.0], "cov_diag": [1.0]}, "cov_factor must be at least two-dim"),
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


@pytest.mark.parametrize(("name", "kw", "value"), [
    ("Beta", {"concentration1": [1.0], "concentration0": [1.0]}, [1.5]), ("Binomial", {"total_count": 3, "probs": [0.5]}, [4.0]),
    ("Dirichlet", {"concentration": [1.0, 2.0]}, [0.5, 0.6]), ("Pareto", {"scale": [1.0], "alpha": [1.0]}, [0.5]),
    ("Multinomial", {"total_count": 3, "probs": [0.5, 0.5]}, [3.0, 1.0]), ("HalfCauchy", {"scale": [1.0]}, [-1.0]),
    ("LKJCholesky", {"dim": 2}, [[1.0, 0.0], [0.5, 0.5]]),
])
def test_values_outside_the_support(xp, name, kw, value):
    with pytest.raises(ValueError, match="to be within the support"):
        made(xp, name, kw)[0].log_prob(xp.tensor(value))


SAMPLERS = {"Gamma": {"concentration": [0.2, 0.9, 3.0, 50.0], "rate": [1.0, 2.0, 0.5, 1.0]},
            "Beta": {"concentration1": [0.2, 0.9, 3.0, 50.0], "concentration0": [1.0, 0.4, 30.0, 20.0]},
            "Dirichlet": {"concentration": [0.2, 0.9, 3.0, 50.0]}, "StudentT": {"df": [0.5, 3.0, 20.0]},
            "InverseGamma": {"concentration": [0.9, 3.0, 9.0], "rate": 1.0}, "Weibull": {"scale": [1.0, 2.0], "concentration": 1.5}}


@pytest.mark.conformance
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", SAMPLERS)
def test_gradients_of_samples(torch, name, dtype):
    """PyTorch's gradients of gamma samples have errors of up to 0.001, so the comparison allows this difference."""
    import jtorch
    found = []
    for xp in (torch, jtorch):
        d, parameters = made(xp, name, SAMPLERS[name], grad=True, dtype=dtype)
        xp.manual_seed(5)
        drawn = d.rsample((20,))
        (drawn * xp.arange(drawn.numel(), dtype=drawn.dtype).reshape(drawn.shape)).sum().backward()
        found.append([drawn, *[p.grad for p in parameters]])
    for theirs, ours in zip(*found, strict=True):
        assert str(ours.dtype) == str(theirs.dtype)
        same(ours, theirs, rtol=1e-3, atol=1e-6)


def test_gradient_of_a_gamma_sample(xp):
    """It is minus the slope of the distribution function by the concentration, divided by the density."""
    alpha, x, h = xp.tensor([1.0, 1.0, 3.0], dtype=xp.float64), xp.tensor([0.5, 2.0, 2.5], dtype=xp.float64), 1e-5
    slope = (xp.special.gammainc(alpha + h, x) - xp.special.gammainc(alpha - h, x)) / (2 * h)
    density = ((alpha - 1) * x.log() - x - alpha.lgamma()).exp()
    np.testing.assert_allclose(xp._standard_gamma_grad(alpha, x).tolist(), (-slope / density).tolist(), rtol=1e-3)
    with pytest.raises(NotImplementedError, match="the derivative for '_standard_gamma_grad' is not implemented"):
        xp._standard_gamma_grad(alpha.requires_grad_(), x).sum().backward()


def test_scalar_parameters(xp):
    D = distributions(xp)
    for d in (D.Gamma(2.0, 3.0), D.Beta(2.0, 3.0), D.StudentT(4.0), D.Weibull(1.0, 2.0), D.Binomial(3, xp.tensor(0.5)), D.HalfCauchy(1.0)):
        assert (d.batch_shape, d.event_shape, d.sample().shape, d.sample((2,)).shape) == ((), (), (), (2,))


@pytest.mark.parametrize("make", [
    lambda D, t: D.TransformedDistribution(D.Normal(t(0.0), t([1.0, 2.0])), [D.AffineTransform(1.0, 2.0), D.ExpTransform()]),
    lambda D, t: D.TransformedDistribution(D.Normal(t([0.0, 1.0]), 1.0), D.StickBreakingTransform()),
    lambda D, t: D.TransformedDistribution(D.Uniform(t(0.0), 1.0), [D.SigmoidTransform().inv, D.AffineTransform(t([1.0, 2.0]), -1.0)]),
    lambda D, t: D.TransformedDistribution(D.Normal(t([0.0, 1.0, 2.0]), 1.0), D.CorrCholeskyTransform()),
    lambda D, t: D.MixtureSameFamily(D.Categorical(t([0.3, 0.7])), D.Normal(t([0.0, 1.0]), t([1.0, 2.0]))),
    lambda D, t: D.MixtureSameFamily(D.Categorical(t([[0.3, 0.7]] * 3)), D.Independent(D.Normal(t([[[0.0, 1.0]] * 2] * 3), 1.0), 1)),
    lambda D, t: D.Independent(D.Gamma(t([[1.0, 2.0]] * 3), 1.0), 1),
])
def test_made_of_others(torch, make):
    import jtorch
    found = []
    for xp in (torch, jtorch):
        d = make(distributions(xp), xp.tensor)
        xp.manual_seed(1)
        drawn = d.sample((3,))
        found.append([drawn, d.log_prob(drawn), d.expand((2, *d.batch_shape)).sample(), str(d.support), repr(d),
                      *[attempt(f) for f in (lambda d=d: d.mean, lambda d=d: d.variance, d.entropy, lambda d=d, x=drawn: d.cdf(x))]])
    for theirs, ours in zip(*found, strict=True):
        same(ours, theirs, atol=1e-5) if hasattr(theirs, "shape") else pytest.fail(f"{ours} {theirs}") if ours != theirs else None


TRANSFORMS = {
    "exp": (lambda D, t: D.ExpTransform(), [0.5, -1.0]), "abs": (lambda D, t: D.AbsTransform(), [0.5, -1.0]),
    "power": (lambda D, t: D.PowerTransform(t([2.0, 0.5])), [0.5, 3.0]), "sigmoid": (lambda D, t: D.SigmoidTransform(), [0.5, -1.0]),
    "softplus": (lambda D, t: D.SoftplusTransform(), [0.5, -1.0]), "tanh": (lambda D, t: D.TanhTransform(), [0.5, -1.0]),
    "affine": (lambda D, t: D.AffineTransform(1.0, t([[2.0, 3.0]]), event_dim=1), [[0.5, -1.0]] * 2),
    "softmax": (lambda D, t: D.SoftmaxTransform(), [[0.5, -1.0]] * 2), "stick": (lambda D, t: D.StickBreakingTransform(), [[0.5, -1.0]] * 2),
    "lower": (lambda D, t: D.LowerCholeskyTransform(), [[0.5, -1.0], [0.3, 1.0]]),
    "positive": (lambda D, t: D.PositiveDefiniteTransform(), [[0.5, -1.0], [0.3, 1.0]]),
    "corr": (lambda D, t: D.CorrCholeskyTransform(), [[0.5, -1.0, 0.2]]),
    "cdf": (lambda D, t: D.CumulativeDistributionTransform(D.Normal(0.0, 1.0)), [0.5, -1.0]),
    "reshape": (lambda D, t: D.ReshapeTransform((4,), (2, 2)), [[1.0, 2.0, 3.0, 4.0]]),
    "independent": (lambda D, t: D.IndependentTransform(D.ExpTransform(), 1), [[0.5, -1.0]]),
    "compose": (lambda D, t: D.ComposeTransform([D.AffineTransform(0.0, 2.0), D.StickBreakingTransform()]), [[0.5, -1.0]]),
    "cat": (lambda D, t: D.CatTransform([D.ExpTransform(), D.TanhTransform()], dim=0, lengths=[1, 2]), [0.5, -1.0, 0.2]),
    "stack": (lambda D, t: D.StackTransform([D.ExpTransform(), D.TanhTransform()], dim=-1), [[0.5, -1.0]] * 2),
    "cached": (lambda D, t: D.ComposeTransform([D.ExpTransform(), D.AffineTransform(1.0, 2.0)], cache_size=1).inv, [5.0, 2.0]),
}


@pytest.mark.conformance
@pytest.mark.parametrize("name", TRANSFORMS)
def test_transforms(torch, name):
    """Transforms agree forward and backward, in the change of volume, shapes, signs and attributes."""
    import jtorch
    make, value = TRANSFORMS[name]
    found = []
    for xp in (torch, jtorch):
        transform, x = make(distributions(xp), xp.tensor), xp.tensor(value)
        y = transform(x)
        found.append([y, transform.inv(y), attempt(transform.log_abs_det_jacobian, x, y), attempt(lambda t=transform: t.sign),
                      tuple(transform.forward_shape(x.shape)), tuple(transform.inverse_shape(y.shape)), transform.bijective,
                      repr(transform), repr(transform.inv), transform.inv.inv == transform,
                      [attempt(lambda c=c: (c.event_dim, c.is_discrete, repr(c))) for c in (transform.domain, transform.codomain)]])
    for theirs, ours in zip(*found, strict=True):
        same(ours, theirs) if hasattr(theirs, "shape") else pytest.fail(f"{ours} {theirs}") if ours != theirs else None


@pytest.mark.parametrize("name", ["real", "positive", "unit_interval", "simplex", "lower_cholesky", "positive_definite", "corr_cholesky",
                                  "real_vector", "interval", "less_than", "greater_than", "stack", "cat", "square"])
def test_transforms_to_constraints(xp, name):
    """Transformed values satisfy the constraint."""
    D = distributions(xp)
    C = D.constraints
    constraint = {"interval": lambda: C.interval(-1.0, 3.0), "less_than": lambda: C.less_than(-1.0),
                  "greater_than": lambda: C.greater_than(2.0), "stack": lambda: C.stack([C.positive, C.real], -1),
                  "cat": lambda: C.cat([C.positive, C.real], -1)}.get(name, lambda: getattr(C, name))()
    if name == "square":
        with pytest.raises(NotImplementedError, match="Cannot transform _Square constraints"):
            D.transform_to(constraint)
        return
    x = xp.tensor([[0.5, -1.0], [0.2, 0.3]]) if name != "corr_cholesky" else xp.tensor([0.5, -1.0, 0.2])
    assert constraint.check(D.transform_to(constraint)(x)).all()


def test_a_distribution_of_ones_own(xp):
    """Missing methods of a subclass raise NotImplementedError, and its samples are not checked."""
    class Own(distributions(xp).Distribution):
        arg_constraints = {}

        def log_prob(self, value):
            self._validate_sample(value)
            return value

    d = Own()
    with pytest.raises(NotImplementedError):
        d.mean
    with pytest.warns(UserWarning, match="does not define `support` to enable sample validation"):
        d.log_prob(xp.tensor(1.0))
    with pytest.raises(NotImplementedError, match="No KL.p .. q. is implemented for p type Own and q type Own"):
        distributions(xp).kl_divergence(d, d)


def test_policy_gradient(xp):
    """The classic use: the gradient of -log_prob * reward reaches the policy."""
    D = importlib.import_module(f"{xp.__name__}.distributions")
    policy = xp.nn.Linear(4, 2)
    d = D.Categorical(policy(xp.ones(1, 4)).softmax(-1))
    action = d.sample()
    assert not action.requires_grad
    (-d.log_prob(action) * 2.0).sum().backward()
    assert policy.weight.grad.abs().sum() > 0


@pytest.mark.parametrize("name", ["poisson", "_standard_gamma", "_sample_dirichlet", "binomial"])
def test_numbers_are_drawn_for_tensors_only(name, xp):
    word = "count" if name == "binomial" else "input"
    with pytest.raises(TypeError, match=rf"{name}\(\): argument '{word}' \(position 1\) must be Tensor, not float"):
        getattr(xp, name)(*[1.0] * (2 if name == "binomial" else 1))


# ---------------------------------------------------------------- subclasses

def arguments(xp, kw):
    return {k: v if isinstance(v, int) else xp.tensor(v) for k, v in kw.items()}


@pytest.mark.filterwarnings("ignore:Singular sample", "ignore:Low df values")
@pytest.mark.parametrize("name", CASES)
def test_subclasses_expand(xp, name):
    cls, given = getattr(xp.distributions, name), arguments(xp, CASES[name][0])
    plain = type("Second", (type("First", (cls,), {}),), {})
    d = plain(**given).expand((2, 3))
    assert (type(d), tuple(d.batch_shape)) == (plain, (2, 3))
    assert tuple(d.log_prob(d.sample()).shape) == (2, 3)

    class Made(cls):
        def __init__(self, *args, **kwargs):
            super().__init__(*args, **kwargs)
            self.mark = 1

    if name == "VonMises":
        assert Made(**given).expand((2, 3)).mark == 1
        return
    with pytest.raises(NotImplementedError, match=f"Subclass Made of {name} that defines a custom __init__ method must also"):
        Made(**given).expand((2, 3))

    class Expanding(Made):
        def expand(self, batch_shape, _instance=None):
            new = self._get_checked_instance(Expanding, _instance)
            new.mark = self.mark + 1
            return super().expand(batch_shape, _instance=new)

    further = type("Further", (Expanding,), {})
    d = further(**given).expand((2, 3))
    assert (type(d), d.mark, tuple(d.batch_shape), tuple(d.event_shape)) == (further, 2, (2, 3), tuple(further(**given).event_shape))
    assert tuple(d.log_prob(d.sample()).shape) == (2, 3)


def lazily(xp, **defined):
    """Make a multivariate normal distribution without the ``__init__`` of its class, and a subclass of it."""
    normal = xp.distributions.MultivariateNormal

    class Lazy(normal):
        def __init__(self, mean, matrix):
            self.loc, self.matrix = mean, matrix
            super(normal, self).__init__(matrix.shape[:-2], mean.shape[-1:], validate_args=False)

    for name, compute in defined.items():
        setattr(Lazy, name, property(compute))
    return Lazy, type("Lazier", (Lazy,), {})


def test_a_normal_distribution_that_computes_its_own_factor(xp):
    mean, matrix = xp.tensor([0.0, 1.0]), xp.tensor([[2.0, 0.3], [0.3, 1.0]])
    wanted = xp.distributions.MultivariateNormal(mean, matrix)
    value = xp.tensor([1.0, 1.0])
    for cls in lazily(xp, _unbroadcasted_scale_tril=lambda self: xp.linalg.cholesky(self.matrix)):
        d = cls(mean, matrix)
        for name in ("scale_tril", "covariance_matrix", "precision_matrix", "variance", "stddev", "mean"):
            assert xp.allclose(getattr(d, name), getattr(wanted, name))
        assert xp.allclose(d.log_prob(value), wanted.log_prob(value))
        assert xp.allclose(d.entropy(), wanted.entropy())
        assert xp.allclose(xp.distributions.kl_divergence(d, wanted), xp.zeros(()), atol=1e-6)
        assert d.rsample((3,)).shape == (3, 2)


def test_a_normal_distribution_without_a_factor(xp):
    for cls in lazily(xp):
        d = cls(xp.zeros(2), xp.eye(2))
        for name in ("scale_tril", "covariance_matrix", "precision_matrix", "variance"):
            with pytest.raises(AttributeError, match="has no attribute '_unbroadcasted_scale_tril'"):
                getattr(d, name)


def test_expand_of_a_class_that_names_pytorchs_module():
    jtorch = importlib.import_module("jtorch")

    class Categorical(distributions(jtorch).Categorical):
        pass

    # Where jtorch serves as torch, the import hook sets ``__module__`` like this.
    Categorical.__mro__[1].__module__, kept = "torch.distributions.categorical", Categorical.__mro__[1].__module__
    try:
        assert Categorical(probs=jtorch.ones(3) / 3).expand((2,)).batch_shape == (2,)
    finally:
        Categorical.__mro__[1].__module__ = kept


@pytest.mark.parametrize("name", ["Bernoulli", "Categorical", "OneHotCategorical", "Binomial"])
def test_enumerating_computes_no_other_parameter(name, xp):
    def attributes(**given):
        d = getattr(xp.distributions, name)(**given)
        d.enumerate_support()
        return "probs" in vars(d), "logits" in vars(d)
    assert attributes(logits=xp.tensor([0.7, 0.2])) == (False, name != "OneHotCategorical")
    assert attributes(probs=xp.tensor([0.7, 0.2])) == (name != "OneHotCategorical", False)
