"""torch.distributed._tensor.api: the old place of torch.distributed.tensor."""
from __future__ import annotations

from jtorch.distributed.later import names

__getattr__ = names(__name__, {"_parallel.dtensor": "DTensor", "_parallel.create": "distribute_tensor",
                               "_parallel.modules": "distribute_module"})
