"""torchbnn: weights with distributions."""

import torch
import torchbnn as bnn


def linear():
    model = torch.nn.Sequential(
        bnn.BayesLinear(prior_mu=0, prior_sigma=0.1, in_features=4, out_features=8),
        torch.nn.ReLU(),
        bnn.BayesLinear(prior_mu=0, prior_sigma=0.1, in_features=8, out_features=3),
    )
    x, y = torch.randn(16, 4), torch.randint(0, 3, (16,))
    divergence = bnn.BKLLoss(reduction="mean", last_layer_only=False)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    losses = []
    for _ in range(4):
        loss = torch.nn.functional.cross_entropy(model(x), y) + 0.01 * divergence(model)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def images():
    model = torch.nn.Sequential(
        bnn.BayesConv2d(prior_mu=0, prior_sigma=0.1, in_channels=2, out_channels=3, kernel_size=3),
        bnn.BayesBatchNorm2d(prior_mu=0, prior_sigma=0.1, num_features=3),
    )
    y = model(torch.randn(2, 2, 6, 6))
    y.square().sum().backward()
    bnn.utils.freeze(model)
    return y, [p.grad for p in model.parameters()], model(torch.ones(1, 2, 5, 5))
