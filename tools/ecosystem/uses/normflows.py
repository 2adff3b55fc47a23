"""normflows: real NVP, splines and planar flows."""

import normflows as nf
import torch


def _train(layers):
    torch.manual_seed(0)
    model = nf.NormalizingFlow(nf.distributions.base.DiagGaussian(2), layers())
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    losses = []
    for _ in range(3):
        loss = model.forward_kld(torch.randn(20, 2) * 2 + 1)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    with torch.no_grad():
        return losses, model.sample(4)


def real_nvp():
    return _train(
        lambda: [
            layer
            for _ in range(2)
            for layer in (
                nf.flows.AffineCouplingBlock(nf.nets.MLP([1, 8, 8, 2], init_zeros=True)),
                nf.flows.Permute(2, mode="swap"),
            )
        ]
    )


def splines():
    return _train(lambda: [nf.flows.AutoregressiveRationalQuadraticSpline(2, 1, 8), nf.flows.LULinearPermute(2)])


def reverse_divergence():
    torch.manual_seed(0)
    model = nf.NormalizingFlow(
        nf.distributions.base.DiagGaussian(2),
        [nf.flows.Planar((2,)) for _ in range(3)],
        nf.distributions.target.TwoMoons(),
    )
    loss = model.reverse_kld(10)
    loss.backward()
    return loss, [p.grad for p in model.parameters()]
