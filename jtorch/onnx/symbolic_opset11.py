"""torch.onnx.symbolic_opset11: imported by packages that describe operators to an exporter of TorchScript, which is not here."""
from __future__ import annotations

from typing import Any

from jtorch._base.not_built import placeholder


def __getattr__(name: str) -> Any:
    """What raises NotImplementedError when it is called."""
    if name.startswith("_"):
        raise AttributeError(name)
    return placeholder("onnx.symbolic_opset11", name)
