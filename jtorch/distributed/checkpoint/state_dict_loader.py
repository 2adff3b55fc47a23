"""torch.distributed.checkpoint.state_dict_loader: see torch.distributed.checkpoint."""
from __future__ import annotations

from jtorch.distributed.lazy_exports import lazy_getattr

__getattr__ = lazy_getattr(__name__, {"_parallel.checkpoint.loading": "load load_state_dict _load_state_dict"})
