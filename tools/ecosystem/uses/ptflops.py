"""ptflops: counts of multiplications and parameters, by hooks of modules and by calls of aten."""

import torch
from ptflops import get_model_complexity_info
from ptflops.pytorch_engine import get_flops_pytorch


def _convolutional():
    return torch.nn.Sequential(
        torch.nn.Conv2d(3, 8, 3, padding=1), torch.nn.BatchNorm2d(8), torch.nn.ReLU(), torch.nn.MaxPool2d(2),
        torch.nn.ConvTranspose2d(8, 4, 2, 2), torch.nn.GELU(), torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten(),
        torch.nn.Linear(4, 5), torch.nn.Softmax(1),
    )  # fmt: skip


def _counts(model, shape, **options):
    return get_model_complexity_info(
        model, shape, as_strings=False, print_per_layer_stat=False, verbose=False, **options
    )


def by_modules():
    return _counts(_convolutional(), (3, 16, 16), backend="pytorch")


def by_aten():
    return _counts(_convolutional(), (3, 16, 16), backend="aten")


def attention():
    model = torch.nn.TransformerEncoderLayer(16, 4, 32, batch_first=True)
    return [_counts(model, (6, 16), backend=backend) for backend in ("pytorch", "aten")]


def recurrent():
    return [_counts(kind(4, 8, 2), (6, 4), backend="pytorch") for kind in (torch.nn.RNN, torch.nn.GRU, torch.nn.LSTM)]


class _Functional(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(4, 6))

    def forward(self, x):
        x = torch.nn.functional.linear(x, self.weight)
        x = torch.nn.functional.silu(x) * 2 + x
        return torch.matmul(x.unsqueeze(1), x.unsqueeze(2)).squeeze(1)


def functions():
    return [_counts(_Functional(), (6,), backend=backend) for backend in ("pytorch", "aten")]


def table():
    lines = []

    class Out:
        def write(self, text):
            lines.append(text)

        def flush(self):
            pass

    get_model_complexity_info(_convolutional(), (3, 8, 8), ost=Out(), backend="pytorch", print_per_layer_stat=True)
    return "".join(lines), callable(get_flops_pytorch)
