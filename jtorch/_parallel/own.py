"""The earlier name of ``jtorch._parallel.spmd``, which older pickles refer to."""
from __future__ import annotations

import sys

from jtorch._parallel.spmd import dtensor

sys.modules[f"{__name__}.dtensor"] = dtensor
