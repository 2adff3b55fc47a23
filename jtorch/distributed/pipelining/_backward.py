"""torch.distributed.pipelining._backward: see torch.distributed.pipelining."""
from __future__ import annotations

from jtorch.distributed.lazy_exports import lazy_getattr

__getattr__ = lazy_getattr(__name__, {
    "_parallel.pipelining.backward":
        "_autograd_grad_for_inputs _null_coalesce_accumulate get_param_groups stage_backward stage_backward_input "
        "stage_backward_weight",
})
