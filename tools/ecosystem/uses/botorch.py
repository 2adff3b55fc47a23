"""botorch: a Gaussian process, acquisition functions, and a step of Bayesian optimization."""

import torch
from botorch.acquisition import LogExpectedImprovement, UpperConfidenceBound, qExpectedImprovement
from botorch.fit import fit_gpytorch_mll
from botorch.models import SingleTaskGP
from botorch.optim import optimize_acqf
from botorch.sampling import SobolQMCNormalSampler
from gpytorch.mlls import ExactMarginalLogLikelihood


def _model():
    x = torch.rand(8, 2, dtype=torch.double)
    return SingleTaskGP(x, (1 - (x - 0.5).norm(dim=1, keepdim=True))), x


def posterior():
    model, _ = _model()
    found = model.posterior(torch.rand(3, 2, dtype=torch.double))
    return found.mean, found.variance


def acquisition():
    model, _ = _model()
    x = torch.rand(3, 1, 2, dtype=torch.double)
    sampler = SobolQMCNormalSampler(torch.Size([16]), seed=1)
    return [
        f(x)
        for f in (
            LogExpectedImprovement(model, 0.8),
            UpperConfidenceBound(model, 0.1),
            qExpectedImprovement(model, 0.8, sampler),
        )
    ]


def fit():
    model, _ = _model()
    fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model), optimizer_kwargs={"options": {"maxiter": 5}})
    return list(model.parameters())


def optimize():
    model, _ = _model()
    bounds = torch.stack([torch.zeros(2), torch.ones(2)]).double()
    return optimize_acqf(
        UpperConfidenceBound(model, 0.1), bounds, q=1, num_restarts=2, raw_samples=8, options={"maxiter": 10, "seed": 0}
    )
