"""sbi: inference from simulations by neural networks."""

import torch
from sbi.analysis import pairplot  # noqa: F401
from sbi.inference import NLE, NPE, NRE, simulate_for_sbi
from sbi.neural_nets import classifier_nn, likelihood_nn, posterior_nn
from sbi.utils import BoxUniform, process_prior, process_simulator
from sbi.utils.metrics import c2st, unbiased_mmd_squared


def _simulated(count=80):
    prior, _, _ = process_prior(BoxUniform(-torch.ones(2), torch.ones(2)))
    simulator = process_simulator(lambda theta: theta + 0.1 * torch.randn_like(theta), prior, False)
    theta, x = simulate_for_sbi(simulator, prior, count, seed=3, show_progress_bar=False)
    return prior, theta, x


def _trained(kind, net):
    prior, theta, x = _simulated()
    trainer = kind(prior, net)
    trainer.append_simulations(theta, x).train(max_num_epochs=3, training_batch_size=20)
    return trainer, theta, x


def posterior_maf():
    trainer, theta, x = _trained(NPE, posterior_nn("maf", hidden_features=8, num_transforms=2))
    posterior = trainer.build_posterior()
    samples = posterior.sample((20,), x=x[:1], show_progress_bars=False)
    return samples, posterior.log_prob(theta[:3], x=x[:1]), trainer.summary["validation_loss"]


def posterior_spline():
    trainer, theta, x = _trained(NPE, posterior_nn("nsf", hidden_features=8, num_transforms=2))
    return trainer.build_posterior().log_prob(theta[:3], x=x[:1]), trainer.summary["training_loss"]


def posterior_mixture():
    trainer, theta, x = _trained(NPE, posterior_nn("mdn", hidden_features=8, num_components=3))
    return trainer.build_posterior().log_prob(theta[:3], x=x[:1])


def likelihood():
    trainer, theta, x = _trained(NLE, likelihood_nn("maf", hidden_features=8, num_transforms=2))
    posterior = trainer.build_posterior(mcmc_method="slice_np", mcmc_parameters={"num_chains": 2, "warmup_steps": 2, "thin": 1})
    return posterior.potential(theta[:3], x=x[:1])


def ratio():
    trainer, theta, x = _trained(NRE, classifier_nn("resnet", hidden_features=8))
    return trainer.build_posterior().potential(theta[:3], x=x[:1])


def measures():
    x, y = torch.randn(60, 2), torch.randn(60, 2) + 0.5
    return unbiased_mmd_squared(x, y), c2st(x, y, seed=1, n_folds=2)
