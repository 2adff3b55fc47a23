"""torch.distributed.checkpoint.state_dict_saver: see torch.distributed.checkpoint."""
from __future__ import annotations

from jtorch.distributed.later import names

__getattr__ = names(__name__, {"_parallel.checkpoint.saving": "async_save save save_state_dict _save_state_dict"})
