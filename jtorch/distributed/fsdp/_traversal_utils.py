"""torch.distributed.fsdp._traversal_utils: PyTorch's states of wrapped modules, which are not built."""
from __future__ import annotations

from jtorch.distributed.lazy_exports import lazy_getattr

__getattr__ = lazy_getattr(__name__, {}, not_built="_get_fsdp_handles _get_fsdp_states _get_fsdp_states_with_modules")
