"""Errors of the export to ONNX. See torch.onnx.errors."""
from __future__ import annotations

__all__ = ["OnnxExporterError", "SymbolicValueError", "UnsupportedOperatorError"]


class OnnxExporterError(RuntimeError):
    """A model that cannot be written as ONNX. See torch.onnx.OnnxExporterError."""


class UnsupportedOperatorError(OnnxExporterError):
    """An operation that ONNX lacks."""


class SymbolicValueError(OnnxExporterError):
    """An error of PyTorch's TorchScript exporter, which is never raised in jtorch."""
