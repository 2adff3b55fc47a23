"""torch.autograd: backward, grad, modes, custom functions and checks."""
from __future__ import annotations

import importlib as _importlib
from typing import Any as _Any

from jtorch.autograd import anomaly as anomaly_mode
from jtorch.autograd import forward_ad, function, functional, grad_mode, graph, variable
from jtorch.autograd.anomaly import detect_anomaly, set_detect_anomaly
from jtorch.autograd.device_type import DeviceType as DeviceType
from jtorch.autograd.function import Function, NestedIOFunction
from jtorch.autograd.grad_mode import _unsafe_preserve_version_counter as _unsafe_preserve_version_counter
from jtorch.autograd.grad_mode import enforce_grad_layout_policy, set_multithreading_enabled
from jtorch.autograd.gradcheck import gradcheck, gradgradcheck
from jtorch.autograd.run import backward, grad
from jtorch.autograd.variable import Variable
from jtorch.no_grad import enable_grad, inference_mode, no_grad, set_grad_enabled

__all__ = ["Function", "NestedIOFunction", "Variable", "anomaly_mode", "backward", "detect_anomaly", "enable_grad",
           "enforce_grad_layout_policy", "forward_ad", "function", "functional", "grad", "grad_mode", "gradcheck",
           "gradgradcheck", "graph", "inference_mode", "no_grad", "set_detect_anomaly", "set_grad_enabled",
           "set_multithreading_enabled", "variable"]


def __getattr__(name: str) -> _Any:
    if name == "profiler":
        return _importlib.import_module("jtorch.autograd.profiler")
    if name == "torch":         # PyTorch's file imports torch, so torch.autograd.torch exists.
        return _importlib.import_module("jtorch")
    raise AttributeError(f"module 'torch.autograd' has no attribute {name!r}")


def _profiler_enabled() -> bool:
    """Return False: the legacy profiler never runs. ``torch.profiler`` does not use it."""
    return False


def _disable_profiler() -> None:
    """Do nothing: the legacy profiler never runs."""
