"""torch.export._trace: parts of PyTorch's exporter that packages import. torch.export.export traces with JAX."""
from __future__ import annotations

from jtorch._base.not_built import placeholder, placeholders

__getattr__ = placeholders("export._trace")
_export, _export_for_training, _export_to_torch_ir = (
    placeholder("export._trace", name) for name in ("_export", "_export_for_training", "_export_to_torch_ir"))
