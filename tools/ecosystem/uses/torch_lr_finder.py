"""torch-lr-finder: the loss at growing learning rates."""

import torch
from torch.utils.data import DataLoader, TensorDataset
from torch_lr_finder import LRFinder


def _made():
    x = torch.randn(64, 4)
    model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2))
    loader = DataLoader(TensorDataset(x, (x.sum(1) > 0).long()), batch_size=8)
    return model, torch.optim.SGD(model.parameters(), lr=1e-3), loader


def exponential():
    model, optimizer, loader = _made()
    finder = LRFinder(model, optimizer, torch.nn.CrossEntropyLoss(), device="cpu")
    finder.range_test(loader, end_lr=10, num_iter=20)
    history = {key: list(values) for key, values in finder.history.items()}
    finder.reset()
    return history, model.state_dict()


def linear_with_validation():
    model, optimizer, loader = _made()
    finder = LRFinder(model, optimizer, torch.nn.CrossEntropyLoss(), device="cpu")
    finder.range_test(loader, val_loader=loader, end_lr=1, num_iter=10, step_mode="linear", accumulation_steps=2)
    return finder.history
