"""The name by which pickles of earlier versions refer to ``jtorch._parallel.spmd``."""
from __future__ import annotations

import sys

from jtorch._parallel.spmd import dtensor

sys.modules[f"{__name__}.dtensor"] = dtensor
