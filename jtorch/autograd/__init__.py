"""torch.autograd: backward, grad, modes, custom functions and checks."""
from __future__ import annotations

from jtorch.autograd.anomaly import detect_anomaly, set_detect_anomaly
from jtorch.autograd.run import backward, grad
from jtorch.no_grad import (
    enable_grad,
    inference_mode,
    no_grad,
    set_grad_enabled,
)
from jtorch.tensor import Tensor as Variable

__all__ = ["Variable", "backward", "detect_anomaly", "enable_grad", "grad", "inference_mode", "no_grad",
           "set_detect_anomaly", "set_grad_enabled"]
