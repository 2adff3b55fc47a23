"""torch._dynamo._trace_wrapped_higher_order_op: indices in functions that ``vmap`` maps."""
from __future__ import annotations

from jtorch.overrides import TorchFunctionMode


class TransformGetItemToIndex(TorchFunctionMode):
    """A block in which ``t[i]`` may have an index that ``vmap`` maps, which it may anyway."""
