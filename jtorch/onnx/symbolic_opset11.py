"""torch.onnx.symbolic_opset11: imported by packages that describe operators to an exporter of TorchScript, which is not here."""
from __future__ import annotations

from jtorch._base.not_built import placeholders

__getattr__ = placeholders("onnx.symbolic_opset11")
