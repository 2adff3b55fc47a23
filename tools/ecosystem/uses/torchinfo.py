"""torchinfo: a table of a model's layers."""

import torch
from torchinfo import summary


def summaries():
    model = torch.nn.Sequential(
        torch.nn.Conv2d(3, 8, 3),
        torch.nn.BatchNorm2d(8),
        torch.nn.ReLU(),
        torch.nn.Flatten(),
        torch.nn.Linear(8 * 36, 10),
    )
    found = summary(model, input_size=(2, 3, 8, 8), verbose=0)
    return str(found), found.total_params, found.total_mult_adds


def recurrent():
    return str(
        summary(
            torch.nn.LSTM(4, 8, 2, batch_first=True),
            input_size=(2, 5, 4),
            verbose=0,
            col_names=("input_size", "output_size", "num_params", "kernel_size", "mult_adds"),
        )
    )
