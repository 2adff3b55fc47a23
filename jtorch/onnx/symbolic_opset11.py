"""torch.onnx.symbolic_opset11: imported by packages that register operators with the TorchScript exporter, which is absent."""
from __future__ import annotations

from jtorch._base.not_built import placeholders

__getattr__ = placeholders("onnx.symbolic_opset11")
