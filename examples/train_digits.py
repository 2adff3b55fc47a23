"""Trains a network on scikit-learn's handwritten digits: a PyTorch script, but for the import and the missing modules.

    python examples/train_digits.py --epochs 30 --out digits.png

The parameters are plain tensors and the loop is the usual one: forward, backward, step, print. Nothing is decorated and
nothing is marked for compilation.
"""
from __future__ import annotations

import argparse
import sys
import time

import jtorch as torch
import jtorch.nn.functional as F

try:
    import matplotlib
    from sklearn.datasets import load_digits
    from tqdm import tqdm
except ModuleNotFoundError as error:
    sys.exit(f"This example needs {error.name.partition('.')[0]}. Install what it uses with: pip install jtorch-jax[demo]")

matplotlib.use("Agg")
from matplotlib import pyplot as plt  # noqa: E402
from matplotlib.ticker import PercentFormatter  # noqa: E402

GOAL = 0.97         # of the digits that the network has not seen
BATCH = 64
HIDDEN = 128


def load_data(device):
    """The 1797 digits of 8x8 pixels in random order, as ``(X, y)`` to train on and ``(X, y)`` to test on."""
    images, labels = load_digits(return_X_y=True)
    X = torch.from_numpy(images).float() / 16
    y = torch.from_numpy(labels).long()
    order = torch.randperm(len(X))
    X, y = X[order].to(device), y[order].to(device)
    return (X[360:], y[360:]), (X[:360], y[:360])


def make_parameters(sizes, device):
    """Weights and biases of a network with layers of these sizes."""
    parameters = []
    for n_in, n_out in zip(sizes, sizes[1:]):  # noqa: B905
        weight = torch.randn(n_out, n_in, device=device) * (2 / n_in) ** 0.5
        parameters += [weight.requires_grad_(), torch.zeros(n_out, device=device, requires_grad=True)]
    return parameters


def predict(parameters, X):
    """The network's scores for each of the ten digits."""
    w1, b1, w2, b2, w3, b3 = parameters
    X = F.relu(F.linear(X, w1, b1))
    X = F.relu(F.linear(X, w2, b2))
    return F.linear(X, w3, b3)


@torch.no_grad()
def evaluate(parameters, X, y):
    """Mean loss and accuracy."""
    scores = predict(parameters, X)
    return F.cross_entropy(scores, y).item(), (scores.argmax(dim=1) == y).float().mean().item()


def train_epoch(parameters, optimizer, X, y):
    """One pass over the data in random order. Returns the mean loss."""
    total = 0.0
    for batch in torch.randperm(len(X), device=X.device).split(BATCH):
        loss = F.cross_entropy(predict(parameters, X[batch]), y[batch])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item() * len(batch)
    return total / len(X)
