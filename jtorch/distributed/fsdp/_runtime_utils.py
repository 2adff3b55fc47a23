"""torch.distributed.fsdp._runtime_utils: PyTorch's hooks around a wrapped module's call, which are not built."""
from __future__ import annotations

from jtorch.distributed.lazy_exports import lazy_getattr

__getattr__ = lazy_getattr(__name__, {}, not_built="_lazy_init _post_backward_final_callback _post_backward_hook _post_forward "
                                               "_pre_forward _root_pre_forward")
