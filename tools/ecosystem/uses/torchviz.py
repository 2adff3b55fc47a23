"""torchviz: the graph of a backward as dot."""

import torch
from torchviz import make_dot


def _names(dot):
    """Return the labels of the nodes without ids of objects."""
    return sorted(
        line.split("label=")[1].split(" ")[0].strip('"]') if "label=" in line else ""
        for line in dot.source.splitlines()
    )


def convolutional():
    model = torch.nn.Sequential(torch.nn.Conv2d(1, 2, 3), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(72, 3))
    return _names(make_dot(model(torch.randn(1, 1, 8, 8)).mean(), params=dict(model.named_parameters())))


def attributes():
    x = torch.ones(2, 2, requires_grad=True)
    return _names(make_dot((x * x.exp()).sum(), params={"x": x}, show_attrs=True))
