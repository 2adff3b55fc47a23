"""What goes wrong in an export to ONNX. See torch.onnx.errors."""
from __future__ import annotations

__all__ = ["OnnxExporterError", "SymbolicValueError", "UnsupportedOperatorError"]


class OnnxExporterError(RuntimeError):
    """A model that can't be written as ONNX. See torch.onnx.OnnxExporterError."""


class UnsupportedOperatorError(OnnxExporterError):
    """A step that there is no ONNX for."""


class SymbolicValueError(OnnxExporterError):
    """A value of PyTorch's TorchScript exporter: never raised here."""
