"""torch.distributed.checkpoint.state_dict_loader: see torch.distributed.checkpoint."""
from __future__ import annotations

from jtorch.distributed.later import names

__getattr__ = names(__name__, {"_parallel.checkpoint.loading": "load load_state_dict _load_state_dict"})
