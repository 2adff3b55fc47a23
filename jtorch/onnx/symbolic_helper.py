"""Names of PyTorch's exporter of TorchScript, which packages take when they are imported. See torch.onnx.symbolic_helper.

What they describe, how a TorchScript operator becomes ONNX, is not asked here: torch.onnx.export turns JAX's steps into ONNX.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn


def parse_args(*arg_descriptors: str) -> Callable[[Callable], Callable]:
    """Return a decorator that gives the function itself. See torch.onnx.symbolic_helper.parse_args."""
    return lambda fn: fn


def quantized_args(*arg_q_descriptors: bool, scale: Any = None, zero_point: Any = None,
                   quantize_output: bool = True) -> Callable[[Callable], Callable]:
    """Return a decorator that gives the function itself. See torch.onnx.symbolic_helper.quantized_args."""
    return lambda fn: fn


def __getattr__(name: str) -> Any:
    """What symbolic functions call: it can be imported, and raises when it is called."""
    if name.startswith("__"):
        raise AttributeError(name)

    def refuse(*args: Any, **kwargs: Any) -> NoReturn:
        raise NotImplementedError(f"torch.onnx.symbolic_helper.{name} is not built: there is no TorchScript graph to write to. "
                                  "torch.onnx.export turns a model's steps into ONNX itself.")
    refuse.__name__ = name
    return refuse
