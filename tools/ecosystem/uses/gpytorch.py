"""gpytorch: exact and variational Gaussian processes."""

import gpytorch
import torch


class _Exact(gpytorch.models.ExactGP):
    def __init__(self, x, y, likelihood, kernel):
        super().__init__(x, y, likelihood)
        self.mean_module, self.covar_module = gpytorch.means.ConstantMean(), gpytorch.kernels.ScaleKernel(kernel)

    def forward(self, x):
        return gpytorch.distributions.MultivariateNormal(self.mean_module(x), self.covar_module(x))


def _train(model, likelihood, objective, x, y, steps=4):
    model.train()
    likelihood.train()
    optimizer = torch.optim.Adam([*model.parameters(), *likelihood.parameters()], lr=0.1)
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = -objective(model(x), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    model.eval()
    likelihood.eval()
    with torch.no_grad(), gpytorch.settings.fast_pred_var():
        found = likelihood(model(torch.linspace(0, 1, 5)))
    return losses, found.mean, found.variance


def _exact(kernel):
    x = torch.linspace(0, 1, 20)
    y = torch.sin(6 * x) + 0.1 * torch.randn(20)
    likelihood = gpytorch.likelihoods.GaussianLikelihood()
    model = _Exact(x, y, likelihood, kernel)
    objective = gpytorch.mlls.ExactMarginalLogLikelihood(likelihood, model)
    losses = []
    model.train()
    likelihood.train()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
    for _ in range(4):
        optimizer.zero_grad()
        loss = -objective(model(x), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    model.eval()
    likelihood.eval()
    with torch.no_grad():
        found = likelihood(model(torch.linspace(0, 1, 5)))
        return losses, found.mean, found.variance, found.confidence_region(), model.state_dict()


def exact_rbf():
    return _exact(gpytorch.kernels.RBFKernel())


def exact_matern():
    return _exact(gpytorch.kernels.MaternKernel(2.5))


def exact_periodic():
    return _exact(gpytorch.kernels.PeriodicKernel() + gpytorch.kernels.LinearKernel())


def exact_spectral_mixture():
    return _exact(gpytorch.kernels.RQKernel() * gpytorch.kernels.CosineKernel())


def variational():
    class Model(gpytorch.models.ApproximateGP):
        def __init__(self, points):
            distribution = gpytorch.variational.CholeskyVariationalDistribution(len(points))
            super().__init__(gpytorch.variational.VariationalStrategy(self, points, distribution))
            self.mean_module, self.covar_module = gpytorch.means.ZeroMean(), gpytorch.kernels.RBFKernel()

        def forward(self, x):
            return gpytorch.distributions.MultivariateNormal(self.mean_module(x), self.covar_module(x))

    x = torch.linspace(0, 1, 30)
    model, likelihood = Model(x[::6].clone()), gpytorch.likelihoods.BernoulliLikelihood()
    return _train(model, likelihood, gpytorch.mlls.VariationalELBO(likelihood, model, 30), x, (x > 0.5).float())


def conjugate_gradients():
    with gpytorch.settings.max_cholesky_size(1), gpytorch.settings.num_trace_samples(4):
        return _exact(gpytorch.kernels.RBFKernel())[1:3]
