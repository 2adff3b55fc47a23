"""laplace-torch: posteriors of weights around a trained network."""

import torch
from laplace import Laplace, marglik_training
from torch.utils.data import DataLoader, TensorDataset


def _trained(classify):
    x = torch.rand(40, 1) * 6
    y = (x[:, 0] > 3).long() if classify else x.sin() + 0.1 * torch.randn(40, 1)
    loader = DataLoader(TensorDataset(x, y), batch_size=20)
    model = torch.nn.Sequential(torch.nn.Linear(1, 8), torch.nn.Tanh(), torch.nn.Linear(8, 2 if classify else 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
    lossfunc = torch.nn.functional.cross_entropy if classify else torch.nn.functional.mse_loss
    for _ in range(10):
        for bx, by in loader:
            optimizer.zero_grad()
            lossfunc(model(bx), by).backward()
            optimizer.step()
    return model, loader


def _fitted(classify, weights, structure, **options):
    model, loader = _trained(classify)
    posterior = Laplace(model, "classification" if classify else "regression", weights, structure, **options)
    posterior.fit(loader)
    return posterior, torch.linspace(0, 6, 5)[:, None]


def last_layer_of_regression():
    posterior, x = _fitted(False, "last_layer", "full")
    posterior.optimize_prior_precision(method="marglik", n_steps=5)
    return posterior(x), posterior.log_marginal_likelihood(), posterior.prior_precision


def last_layer_of_classifier():
    posterior, x = _fitted(True, "last_layer", "kron")
    return posterior(x, link_approx="probit"), posterior(x, link_approx="mc", n_samples=20)


def all_weights_kron():
    posterior, x = _fitted(True, "all", "kron")
    return posterior(x), posterior.log_marginal_likelihood()


def all_weights_diagonal():
    posterior, x = _fitted(False, "all", "diag")
    return posterior(x), posterior.functional_variance(posterior.model(x)[:, :, None].detach().new_ones(5, 1, 25))


def all_weights_full():
    posterior, x = _fitted(False, "all", "full")
    return posterior(x), posterior.posterior_precision


def subnetwork():
    from laplace.utils import LargestMagnitudeSubnetMask

    model, loader = _trained(False)
    indices = LargestMagnitudeSubnetMask(model, n_params_subnet=6).select()
    posterior = Laplace(model, "regression", "subnetwork", "full", subnetwork_indices=indices)
    posterior.fit(loader)
    return indices, posterior(torch.linspace(0, 6, 5)[:, None])


def marginal_likelihood_training():
    model, loader = _trained(False)
    posterior, _, likelihoods, _ = marglik_training(
        model, loader, "regression", n_epochs=3, n_hypersteps=2, n_epochs_burnin=1, marglik_frequency=1
    )
    return likelihoods, posterior.prior_precision
