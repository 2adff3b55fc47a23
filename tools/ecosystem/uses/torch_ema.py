"""torch-ema: moving averages of parameters."""

import torch
from torch_ema import ExponentialMovingAverage


def average():
    model = torch.nn.Linear(3, 2)
    kept = ExponentialMovingAverage(model.parameters(), decay=0.9)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        optimizer.zero_grad()
        model(torch.ones(2, 3)).sum().backward()
        optimizer.step()
        kept.update()
    with kept.average_parameters():
        averaged = model.weight.clone()
    return averaged, model.weight, kept.state_dict()["shadow_params"]
