"""Conversion of convolutions' weights to another memory format."""
from __future__ import annotations

from typing import Any


def _convert(module: Any, memory_format: Any, layers: tuple[str, ...]) -> Any:
    for m in module.modules():
        if any([cls.__name__ in layers for cls in type(m).__mro__]):
            m.weight.data = m.weight.detach().clone(memory_format=memory_format)
    return module


def convert_conv2d_weight_memory_format(module: Any, memory_format: Any) -> Any:
    """Convert the weights of all 2-d convolutions to a memory format.

    See torch.nn.utils.convert_conv2d_weight_memory_format.
    """
    return _convert(module, memory_format, ("Conv2d", "ConvTranspose2d"))


def convert_conv3d_weight_memory_format(module: Any, memory_format: Any) -> Any:
    """Convert the weights of all 3-d convolutions to a memory format.

    See torch.nn.utils.convert_conv3d_weight_memory_format.
    """
    return _convert(module, memory_format, ("Conv3d", "ConvTranspose3d"))


__all__ = ["convert_conv2d_weight_memory_format", "convert_conv3d_weight_memory_format"]
