"""torch.distributed.checkpoint.state_dict: see torch.distributed.checkpoint."""
from __future__ import annotations

from jtorch.distributed.lazy_exports import lazy_getattr

__getattr__ = lazy_getattr(__name__, {
    "_parallel.checkpoint.state_dict":
        "StateDictOptions get_model_state_dict get_optimizer_state_dict get_state_dict "
        "set_model_state_dict set_optimizer_state_dict set_state_dict _init_optim_state",
})
