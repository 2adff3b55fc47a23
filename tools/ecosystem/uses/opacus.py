"""opacus: training with differential privacy."""

import torch
from opacus import GradSampleModule, PrivacyEngine
from opacus.accountants import GaussianAccountant, RDPAccountant
from opacus.accountants.utils import get_noise_multiplier
from opacus.layers import DPLSTM, DPMultiheadAttention
from opacus.validators import ModuleValidator
from torch.utils.data import DataLoader, TensorDataset


def _made():
    x = torch.randn(32, 4)
    model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2))
    loader = DataLoader(TensorDataset(x, (x.sum(1) > 0).long()), batch_size=8)
    return model, torch.optim.SGD(model.parameters(), lr=0.1), loader


def _train(model, optimizer, loader):
    losses = []
    for x, y in loader:
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def private():
    model, optimizer, loader = _made()
    engine = PrivacyEngine()
    model, optimizer, loader = engine.make_private(
        module=model, optimizer=optimizer, data_loader=loader, noise_multiplier=1.1, max_grad_norm=1.0, poisson_sampling=False,
        noise_generator=torch.Generator().manual_seed(3),
    )  # fmt: skip
    return _train(model, optimizer, loader), model.state_dict(), engine.get_epsilon(1e-5)


def poisson_sampling():
    model, optimizer, loader = _made()
    model, optimizer, loader = PrivacyEngine().make_private(
        module=model, optimizer=optimizer, data_loader=loader, noise_multiplier=0.0, max_grad_norm=1.0
    )
    return _train(model, optimizer, loader)


def gradients_of_samples():
    model = GradSampleModule(torch.nn.Sequential(torch.nn.Conv1d(2, 4, 3), torch.nn.Flatten(), torch.nn.Linear(24, 2)))
    model(torch.randn(5, 2, 8)).square().sum().backward()
    return {name: p.grad_sample for name, p in model.named_parameters()}


def gradients_by_functions():
    model = GradSampleModule(torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.LayerNorm(3)), force_functorch=True)
    model(torch.randn(5, 4)).square().sum().backward()
    return {name: p.grad_sample for name, p in model.named_parameters()}


def ghost_clipping():
    model, optimizer, loader = _made()
    criterion = torch.nn.CrossEntropyLoss()
    model, optimizer, criterion, loader = PrivacyEngine().make_private(
        module=model, optimizer=optimizer, data_loader=loader, criterion=criterion, noise_multiplier=0.0, max_grad_norm=1.0,
        poisson_sampling=False, grad_sample_mode="ghost",
    )  # fmt: skip
    losses = []
    for x, y in loader:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses, model.state_dict()


def layers():
    lstm, attention = DPLSTM(4, 6, batch_first=True), DPMultiheadAttention(8, 2)
    x = torch.randn(3, 5, 8)
    return lstm(torch.randn(3, 5, 4))[0], attention(x, x, x)[0]


def validation():
    model = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.BatchNorm2d(4))
    return len(ModuleValidator.validate(model, strict=False)), repr(ModuleValidator.fix(model))


def accounting():
    accountants = RDPAccountant(), GaussianAccountant()
    for accountant in accountants:
        for _ in range(100):
            accountant.step(noise_multiplier=1.0, sample_rate=0.01)
    multiplier = get_noise_multiplier(target_epsilon=3.0, target_delta=1e-5, sample_rate=0.01, epochs=2)
    return [accountant.get_epsilon(1e-5) for accountant in accountants], multiplier
