"""torch.export.decomp_utils: tables of operators made of simpler ones, which JAX's programs need not."""
from __future__ import annotations

from jtorch._base.not_built import placeholder

CustomDecompTable = placeholder("export.decomp_utils", "CustomDecompTable")
