"""torch-optimizer: steps of its optimizers."""

import torch
import torch_optimizer


def _steps(name, **options):
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
    optimizer = getattr(torch_optimizer, name)(model.parameters(), **options)
    x = torch.randn(16, 4)
    losses = []
    for _ in range(4):
        loss = (model(x) - x.sum(1, keepdim=True)).square().mean()
        optimizer.zero_grad()
        loss.backward(create_graph=name == "Adahessian")
        optimizer.step()
        losses.append(loss.item())
    return losses, list(model.parameters()), len(optimizer.state_dict()["state"])


def adam_like():
    return [
        _steps(name)
        for name in (
            "AdaBound",
            "AdaMod",
            "AdaBelief",
            "AdamP",
            "DiffGrad",
            "Lamb",
            "NovoGrad",
            "RAdam",
            "Yogi",
            "Apollo",
            "SWATS",
        )
    ]


def sgd_like():
    return [_steps(name, lr=1e-2) for name in ("AccSGD", "AggMo", "PID", "SGDP", "SGDW")]


def second_order():
    return _steps("Shampoo", lr=1e-2), _steps("Adahessian", lr=1e-2), _steps("Adafactor"), _steps("Ranger")


def lookahead():
    model = torch.nn.Linear(3, 1)
    optimizer = torch_optimizer.Lookahead(torch_optimizer.Yogi(model.parameters(), lr=0.1), k=2)
    for _ in range(4):
        optimizer.zero_grad()
        model(torch.ones(2, 3)).square().mean().backward()
        optimizer.step()
    return model.weight
