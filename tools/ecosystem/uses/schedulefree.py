"""schedulefree: optimizers without a schedule, for training and evaluation."""

import schedulefree
import torch


def _steps(make):
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
    optimizer = make(model.parameters())
    x = torch.randn(16, 4)
    optimizer.train()
    losses = []
    for _ in range(4):
        loss = (model(x) - x.sum(1, keepdim=True)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    optimizer.eval()
    return losses, list(model.parameters()), len(optimizer.state_dict()["state"])


def adamw():
    return _steps(lambda p: schedulefree.AdamWScheduleFree(p, lr=0.01, warmup_steps=2, foreach=True))


def sgd():
    return _steps(lambda p: schedulefree.SGDScheduleFree(p, lr=0.1, foreach=False))


def radam():
    return _steps(lambda p: schedulefree.RAdamScheduleFree(p, lr=0.01))


def closures():
    model = torch.nn.Linear(3, 1)
    optimizer = schedulefree.AdamWScheduleFreeClosure(model.parameters(), lr=0.01)

    def closure():
        optimizer.zero_grad()
        loss = model(torch.ones(2, 3)).square().mean()
        loss.backward()
        return loss

    return [optimizer.step(closure).item() for _ in range(3)], model.weight
