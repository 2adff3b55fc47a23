"""higher: gradients through the steps of an inner loop."""

import higher
import torch


def _inner(optimizer):
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(3, 5), torch.nn.Tanh(), torch.nn.Linear(5, 1))
    x, y = torch.randn(8, 3), torch.randn(8, 1)
    with higher.innerloop_ctx(model, optimizer(model), copy_initial_weights=False) as (functional, different):
        for _ in range(3):
            different.step((functional(x) - y).square().mean())
        loss = (functional(x + 1) - y).square().mean()
        loss.backward()
    return loss, [p.grad for p in model.parameters()]


def sgd():
    return _inner(lambda m: torch.optim.SGD(m.parameters(), lr=0.1, momentum=0.9))


def adam():
    return _inner(lambda m: torch.optim.Adam(m.parameters(), lr=0.01))


def functional_modules():
    model = torch.nn.Linear(3, 2)
    functional = higher.patch.monkeypatch(model)
    return functional(torch.ones(1, 3), params=[p * 2 for p in model.parameters()]), model(torch.ones(1, 3))
