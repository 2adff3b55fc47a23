"""thop: counts of multiplications and parameters by hooks."""

import torch
from thop import clever_format, profile


def _model():
    return torch.nn.Sequential(
        torch.nn.Conv2d(3, 8, 3, padding=1), torch.nn.BatchNorm2d(8), torch.nn.ReLU(), torch.nn.AvgPool2d(2),
        torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten(), torch.nn.Linear(8, 4), torch.nn.Softmax(1),
    )  # fmt: skip


def counts():
    macs, params = profile(_model(), (torch.randn(1, 3, 16, 16),), verbose=False)
    return macs, params, clever_format([macs, params], "%.3f")


def layers():
    found = profile(_model(), (torch.randn(1, 3, 16, 16),), verbose=False, ret_layer_info=True)
    return found[0], found[1], {name: list(info[:2]) for name, info in found[2].items()}


def recurrent():
    return [profile(kind(4, 8), (torch.randn(5, 2, 4),), verbose=False) for kind in (torch.nn.LSTM, torch.nn.GRU, torch.nn.RNN)]


def own_counts():
    class Twice(torch.nn.Module):
        def forward(self, x):
            return x * 2

    def count(module, given, _):
        module.total_ops += torch.DoubleTensor([given[0].numel()])

    return profile(torch.nn.Sequential(Twice(), torch.nn.Linear(4, 2)), (torch.randn(3, 4),), {Twice: count}, verbose=False)
