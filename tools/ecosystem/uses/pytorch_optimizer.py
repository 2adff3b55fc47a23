"""pytorch-optimizer: steps of its optimizers, schedules and losses."""

import pytorch_optimizer
import torch


def _steps(name, **options):
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
    optimizer = pytorch_optimizer.load_optimizer(name)(model.parameters(), **options)
    x = torch.randn(16, 4)
    losses = []
    for _ in range(4):
        loss = (model(x) - x.sum(1, keepdim=True)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses, list(model.parameters())


def adam_like():
    return [
        _steps(n)
        for n in ("adabelief", "adamp", "adan", "diffgrad", "lamb", "lion", "madgrad", "radam", "yogi", "adapnm")
    ]


def sgd_like():
    return [_steps(n) for n in ("accsgd", "sgdp", "asgd", "signsgd", "sgdw", "lars", "tiger")]


def newer():
    return [
        _steps(n)
        for n in ("prodigy", "dadaptadam", "came", "shampoo", "adafactor", "grokfastadamw", "ademamix")
    ]


def soap():
    return _steps("soap")


def losses():
    x, y = torch.randn(4, 3, requires_grad=True), torch.randint(0, 2, (4, 3)).float()
    made = [pytorch_optimizer.BCEFocalLoss(), pytorch_optimizer.SoftF1Loss()]
    values = [loss(x, y) for loss in made]
    sum(values).backward()
    return values, x.grad


def sharpness_aware():
    model = torch.nn.Linear(3, 1)
    optimizer = pytorch_optimizer.SAM(model.parameters(), torch.optim.SGD, lr=0.1)
    for _ in range(3):
        model(torch.ones(2, 3)).square().mean().backward()
        optimizer.first_step(zero_grad=True)
        model(torch.ones(2, 3)).square().mean().backward()
        optimizer.second_step(zero_grad=True)
    return model.weight
