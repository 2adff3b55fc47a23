"""torch.utils.data.datapipes: datasets that are derived from other datasets by methods such as ``map``."""
from __future__ import annotations

from jtorch.utils.data.datapipes import iter as iter
from jtorch.utils.data.datapipes import map as map
