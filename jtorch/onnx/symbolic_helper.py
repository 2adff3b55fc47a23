"""Names of PyTorch's TorchScript exporter that packages import. See torch.onnx.symbolic_helper.

They describe the conversion of TorchScript operators, which jtorch does not have: torch.onnx.export converts JAX's
operations.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn


def parse_args(*arg_descriptors: str) -> Callable[[Callable], Callable]:
    """Return a decorator that returns the function unchanged. See torch.onnx.symbolic_helper.parse_args."""
    return lambda fn: fn


def quantized_args(*arg_q_descriptors: bool, scale: Any = None, zero_point: Any = None,
                   quantize_output: bool = True) -> Callable[[Callable], Callable]:
    """Return a decorator that returns the function unchanged. See torch.onnx.symbolic_helper.quantized_args."""
    return lambda fn: fn


def __getattr__(name: str) -> Any:
    """Return a helper of symbolic functions, which raises NotImplementedError when it is called."""
    if name.startswith("__"):
        raise AttributeError(name)

    def refuse(*args: Any, **kwargs: Any) -> NoReturn:
        raise NotImplementedError(f"torch.onnx.symbolic_helper.{name} is not built: there is no TorchScript graph to write to. "
                                  "torch.onnx.export turns a model's steps into ONNX itself.")
    refuse.__name__ = name
    return refuse
