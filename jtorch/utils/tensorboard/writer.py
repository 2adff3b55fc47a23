"""torch.utils.tensorboard.writer: SummaryWriter, and the writer of event files."""
from __future__ import annotations

import importlib
from typing import Any

from jtorch.utils import tensorboard

__all__ = ["FileWriter", "SummaryWriter"]  # noqa: F822 (made when they are asked for)


def __getattr__(name: str) -> Any:
    if name == "SummaryWriter":
        return tensorboard.SummaryWriter
    if name == "FileWriter":
        tensorboard.required()
        return importlib.import_module("tensorboardX.writer").FileWriter
    raise AttributeError(f"module 'torch.utils.tensorboard.writer' has no attribute {name!r}")
