"""torch.distributed.checkpoint.state_dict_saver: see torch.distributed.checkpoint."""
from __future__ import annotations

from jtorch.distributed.lazy_exports import lazy_getattr

__getattr__ = lazy_getattr(__name__, {"_parallel.checkpoint.saving": "async_save save save_state_dict _save_state_dict"})
