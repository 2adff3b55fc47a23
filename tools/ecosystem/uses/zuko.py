"""zuko: normalizing flows, conditional on a context."""

import torch
import zuko


def _train(flow):
    optimizer = torch.optim.Adam(flow.parameters(), lr=1e-2)
    losses = []
    for _ in range(3):
        x = torch.randn(16, 3)
        loss = -flow(x[:, :2] * 0.5).log_prob(x).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    with torch.no_grad():
        return losses, flow(torch.ones(2)).sample((4,))


def masked_autoregressive():
    return _train(zuko.flows.MAF(3, 2, transforms=2, hidden_features=(16,)))


def neural_spline():
    return _train(zuko.flows.NSF(3, 2, transforms=1, hidden_features=(16,)))


def continuous():
    return _train(zuko.flows.CNF(3, 2, hidden_features=(16,)))


def mixture():
    return _train(zuko.flows.GMM(3, 2, hidden_features=(16,)))
