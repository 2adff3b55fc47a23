"""torch.distributions: distributions of numbers, indices, vectors and matrices, and transforms of samples.

Samples are PyTorch's for the same seed.
"""
from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

from jtorch.distributions import constraint_registry as constraint_registry
from jtorch.distributions import constraints as constraints
from jtorch.distributions import kl as kl
from jtorch.distributions import kl_pairs as _pairs  # noqa: F401  (registers)
from jtorch.distributions import relaxed as _relaxed
from jtorch.distributions import transforms as transforms
from jtorch.distributions import utils as utils
from jtorch.distributions.constraint_registry import biject_to as biject_to
from jtorch.distributions.constraint_registry import transform_to as transform_to
from jtorch.distributions.continuous import Cauchy as Cauchy
from jtorch.distributions.continuous import Exponential as Exponential
from jtorch.distributions.continuous import Laplace as Laplace
from jtorch.distributions.continuous import Normal as Normal
from jtorch.distributions.continuous import Uniform as Uniform
from jtorch.distributions.counts import Binomial as Binomial
from jtorch.distributions.counts import Multinomial as Multinomial
from jtorch.distributions.counts import NegativeBinomial as NegativeBinomial
from jtorch.distributions.discrete import Bernoulli as Bernoulli
from jtorch.distributions.discrete import Categorical as Categorical
from jtorch.distributions.discrete import Geometric as Geometric
from jtorch.distributions.discrete import OneHotCategorical as OneHotCategorical
from jtorch.distributions.discrete import OneHotCategoricalStraightThrough as OneHotCategoricalStraightThrough
from jtorch.distributions.discrete import Poisson as Poisson
from jtorch.distributions.distribution import Distribution as Distribution
from jtorch.distributions.distribution import ExponentialFamily as ExponentialFamily
from jtorch.distributions.gamma import Beta as Beta
from jtorch.distributions.gamma import Chi2 as Chi2
from jtorch.distributions.gamma import Dirichlet as Dirichlet
from jtorch.distributions.gamma import FisherSnedecor as FisherSnedecor
from jtorch.distributions.gamma import Gamma as Gamma
from jtorch.distributions.gamma import StudentT as StudentT
from jtorch.distributions.kl import kl_divergence as kl_divergence
from jtorch.distributions.kl import register_kl as register_kl
from jtorch.distributions.matrices import LKJCholesky as LKJCholesky
from jtorch.distributions.matrices import Wishart as Wishart
from jtorch.distributions.others import GeneralizedPareto as GeneralizedPareto
from jtorch.distributions.others import MixtureSameFamily as MixtureSameFamily
from jtorch.distributions.others import VonMises as VonMises
from jtorch.distributions.relaxed import ContinuousBernoulli as ContinuousBernoulli
from jtorch.distributions.relaxed import RelaxedBernoulli as RelaxedBernoulli
from jtorch.distributions.relaxed import RelaxedOneHotCategorical as RelaxedOneHotCategorical
from jtorch.distributions.transformed import Gumbel as Gumbel
from jtorch.distributions.transformed import HalfCauchy as HalfCauchy
from jtorch.distributions.transformed import HalfNormal as HalfNormal
from jtorch.distributions.transformed import InverseGamma as InverseGamma
from jtorch.distributions.transformed import Kumaraswamy as Kumaraswamy
from jtorch.distributions.transformed import LogisticNormal as LogisticNormal
from jtorch.distributions.transformed import LogNormal as LogNormal
from jtorch.distributions.transformed import Pareto as Pareto
from jtorch.distributions.transformed import TransformedDistribution as TransformedDistribution
from jtorch.distributions.transformed import Weibull as Weibull
from jtorch.distributions.transforms import AbsTransform as AbsTransform
from jtorch.distributions.transforms import AffineTransform as AffineTransform
from jtorch.distributions.transforms import CatTransform as CatTransform
from jtorch.distributions.transforms import ComposeTransform as ComposeTransform
from jtorch.distributions.transforms import CorrCholeskyTransform as CorrCholeskyTransform
from jtorch.distributions.transforms import CumulativeDistributionTransform as CumulativeDistributionTransform
from jtorch.distributions.transforms import ExpTransform as ExpTransform
from jtorch.distributions.transforms import IndependentTransform as IndependentTransform
from jtorch.distributions.transforms import LowerCholeskyTransform as LowerCholeskyTransform
from jtorch.distributions.transforms import PositiveDefiniteTransform as PositiveDefiniteTransform
from jtorch.distributions.transforms import PowerTransform as PowerTransform
from jtorch.distributions.transforms import ReshapeTransform as ReshapeTransform
from jtorch.distributions.transforms import SigmoidTransform as SigmoidTransform
from jtorch.distributions.transforms import SoftmaxTransform as SoftmaxTransform
from jtorch.distributions.transforms import SoftplusTransform as SoftplusTransform
from jtorch.distributions.transforms import StackTransform as StackTransform
from jtorch.distributions.transforms import StickBreakingTransform as StickBreakingTransform
from jtorch.distributions.transforms import TanhTransform as TanhTransform
from jtorch.distributions.transforms import Transform as Transform
from jtorch.distributions.transforms import identity_transform as identity_transform
from jtorch.distributions.vectors import Independent as Independent
from jtorch.distributions.vectors import LowRankMultivariateNormal as LowRankMultivariateNormal
from jtorch.distributions.vectors import MultivariateNormal as MultivariateNormal

# Maps each of PyTorch's module names to the classes in the module.
_MODULES: dict[str, tuple[Any, ...]] = {
    "exp_family": (ExponentialFamily,),
    "half_cauchy": (HalfCauchy,), "half_normal": (HalfNormal,), "inverse_gamma": (InverseGamma,),
    "bernoulli": (Bernoulli,), "beta": (Beta,), "binomial": (Binomial,), "categorical": (Categorical,), "cauchy": (Cauchy,),
    "chi2": (Chi2,), "continuous_bernoulli": (ContinuousBernoulli,), "dirichlet": (Dirichlet,), "exponential": (Exponential,),
    "fishersnedecor": (FisherSnedecor,), "generalized_pareto": (GeneralizedPareto,), "geometric": (Geometric,),
    "gumbel": (Gumbel,), "independent": (Independent,), "kumaraswamy": (Kumaraswamy,), "laplace": (Laplace,),
    "lkj_cholesky": (LKJCholesky,), "log_normal": (LogNormal,), "logistic_normal": (LogisticNormal,),
    "lowrank_multivariate_normal": (LowRankMultivariateNormal,), "mixture_same_family": (MixtureSameFamily,),
    "multinomial": (Multinomial,), "multivariate_normal": (MultivariateNormal,), "negative_binomial": (NegativeBinomial,),
    "normal": (Normal,), "one_hot_categorical": (OneHotCategorical, OneHotCategoricalStraightThrough), "pareto": (Pareto,),
    "poisson": (Poisson,), "relaxed_bernoulli": (RelaxedBernoulli, _relaxed.LogitRelaxedBernoulli),
    "relaxed_categorical": (RelaxedOneHotCategorical, _relaxed.ExpRelaxedCategorical), "studentT": (StudentT,),
    "transformed_distribution": (TransformedDistribution,), "uniform": (Uniform,), "von_mises": (VonMises,),
    "weibull": (Weibull,), "wishart": (Wishart,),
}


def _make_modules() -> None:
    for name, classes in _MODULES.items():
        full = f"{__name__}.{name}"
        # setdefault, since multivariate_normal is already a module: jtorch has a file of this name
        module = sys.modules.setdefault(full, ModuleType(full, f"torch.distributions.{name}"))
        vars(module).update({c.__name__: c for c in classes}, __all__=[c.__name__ for c in classes])
        globals()[name] = module


_make_modules()
