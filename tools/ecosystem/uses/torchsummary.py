"""torchsummary: what a model's layers give, as a table."""

import contextlib
import io

import torch
from torchsummary import summary


def _printed(model, shape, **options):
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        summary(model, shape, device="cpu", **options)
    return out.getvalue()


def convolutional():
    model = torch.nn.Sequential(
        torch.nn.Conv2d(3, 8, 3), torch.nn.ReLU(), torch.nn.MaxPool2d(2), torch.nn.Flatten(), torch.nn.Linear(392, 4)
    )
    return _printed(model, (3, 16, 16), batch_size=2)


class _TwoInputs(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = torch.nn.Linear(4, 3), torch.nn.Linear(5, 3)

    def forward(self, x, y):
        return self.a(x) * self.b(y)


def several_inputs():
    return _printed(_TwoInputs(), [(4,), (5,)])


def nested():
    block = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.BatchNorm1d(4), torch.nn.Dropout())
    return _printed(torch.nn.Sequential(block, torch.nn.Linear(4, 2, bias=False)), (4,))
