"""torch.distributed.fsdp._runtime_utils: what PyTorch does around a call of a wrapped module."""
from __future__ import annotations

from jtorch.distributed.lazy_exports import lazy_getattr

__getattr__ = lazy_getattr(__name__, {}, not_built="_lazy_init _post_backward_final_callback _post_backward_hook _post_forward "
                                               "_pre_forward _root_pre_forward")
