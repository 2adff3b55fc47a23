"""torch.utils.data.datapipes: datasets that are composed of each other."""
from __future__ import annotations

from jtorch.utils.data.datapipes import iter as iter
from jtorch.utils.data.datapipes import map as map
