"""nflows: flows of transforms, trained and sampled."""

import torch
from nflows import distributions, flows, transforms


def _train(made):
    torch.manual_seed(0)
    flow = flows.Flow(transforms.CompositeTransform(made()), distributions.StandardNormal([2]))
    optimizer = torch.optim.SGD(flow.parameters(), lr=1e-2)
    losses = []
    for _ in range(3):
        loss = -flow.log_prob(torch.randn(20, 2) * 2 + 1).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    with torch.no_grad():
        return losses, flow.sample(4)


def masked_autoregressive():
    return _train(lambda: [transforms.ReversePermutation(2), transforms.MaskedAffineAutoregressiveTransform(2, 8)])


def splines():
    return _train(
        lambda: [
            transforms.MaskedPiecewiseRationalQuadraticAutoregressiveTransform(
                2, 8, num_bins=4, tails="linear", tail_bound=4.0
            )
        ]
    )


def linear():
    return _train(
        lambda: [
            transforms.LULinear(2, identity_init=True),
            transforms.RandomPermutation(2),
            transforms.SVDLinear(2, 2),
        ]
    )
