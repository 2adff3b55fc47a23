"""torch.distributions: the distributions of numbers, indices and vectors that reinforcement learning and VAEs draw from.

Samples are PyTorch's for the same seed. Not built: Gamma, Beta, Dirichlet and what is made of them, Binomial, mixtures,
transforms.
"""
from __future__ import annotations

from typing import Any

from jtorch.distributions import constraints as constraints
from jtorch.distributions import kl as kl
from jtorch.distributions.continuous import Cauchy as Cauchy
from jtorch.distributions.continuous import Exponential as Exponential
from jtorch.distributions.continuous import Gumbel as Gumbel
from jtorch.distributions.continuous import HalfNormal as HalfNormal
from jtorch.distributions.continuous import Laplace as Laplace
from jtorch.distributions.continuous import LogNormal as LogNormal
from jtorch.distributions.continuous import Normal as Normal
from jtorch.distributions.continuous import Uniform as Uniform
from jtorch.distributions.discrete import Bernoulli as Bernoulli
from jtorch.distributions.discrete import Categorical as Categorical
from jtorch.distributions.discrete import Geometric as Geometric
from jtorch.distributions.discrete import OneHotCategorical as OneHotCategorical
from jtorch.distributions.discrete import OneHotCategoricalStraightThrough as OneHotCategoricalStraightThrough
from jtorch.distributions.discrete import Poisson as Poisson
from jtorch.distributions.distribution import Distribution as Distribution
from jtorch.distributions.kl import kl_divergence as kl_divergence
from jtorch.distributions.kl import register_kl as register_kl
from jtorch.distributions.vectors import Independent as Independent
from jtorch.distributions.vectors import MultivariateNormal as MultivariateNormal
from jtorch.not_built import placeholder

_NOT_BUILT = {"AbsTransform", "AffineTransform", "Beta", "Binomial", "CatTransform", "Chi2", "ComposeTransform",
              "ContinuousBernoulli", "CorrCholeskyTransform", "CumulativeDistributionTransform", "Dirichlet", "ExpTransform",
              "ExponentialFamily", "FisherSnedecor", "Gamma", "GeneralizedPareto", "HalfCauchy", "IndependentTransform",
              "InverseGamma", "Kumaraswamy", "LKJCholesky", "LogisticNormal", "LowRankMultivariateNormal",
              "LowerCholeskyTransform", "MixtureSameFamily", "Multinomial", "NegativeBinomial", "Pareto",
              "PositiveDefiniteTransform", "PowerTransform", "RelaxedBernoulli", "RelaxedOneHotCategorical",
              "ReshapeTransform", "SigmoidTransform", "SoftmaxTransform", "SoftplusTransform", "StackTransform",
              "StickBreakingTransform", "StudentT", "TanhTransform", "Transform", "TransformedDistribution", "VonMises",
              "Weibull", "Wishart", "biject_to", "identity_transform", "transform_to"}


def __getattr__(name: str) -> Any:
    if name in _NOT_BUILT:
        return placeholder("distributions", name)
    raise AttributeError(f"module 'torch.distributions' has no attribute {name!r}")
