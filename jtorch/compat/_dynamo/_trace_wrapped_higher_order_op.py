"""torch._dynamo._trace_wrapped_higher_order_op: batched indices in functions under ``vmap``."""
from __future__ import annotations

from jtorch.overrides import TorchFunctionMode


class TransformGetItemToIndex(TorchFunctionMode):
    """A block in which ``t[i]`` accepts a batched index. It changes nothing, since jtorch always accepts one."""
