"""torch.export.decomp_utils: decomposition tables of operators, which programs of JAX do not need."""
from __future__ import annotations

from jtorch._base.not_built import placeholder

CustomDecompTable = placeholder("export.decomp_utils", "CustomDecompTable")
