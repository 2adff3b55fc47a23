"""torch.distributed.fsdp._flat_param: flat parameters, which are not built."""
from __future__ import annotations

from jtorch.distributed.lazy_exports import lazy_getattr

__getattr__ = lazy_getattr(__name__, {}, not_built="FlatParamHandle FlatParameter HandleShardingStrategy "
                                                    "_safe_setattr_tensor_or_param")
