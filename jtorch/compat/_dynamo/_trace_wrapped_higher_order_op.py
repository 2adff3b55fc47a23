"""torch._dynamo._trace_wrapped_higher_order_op: batched indices in functions under ``vmap``."""
from __future__ import annotations

from typing import Any, Self

from jtorch.overrides import BaseTorchFunctionMode


class TransformGetItemToIndex(BaseTorchFunctionMode):
    """A block in which ``t[i]`` accepts a batched index. It changes nothing, since jtorch always accepts one."""

    def __enter__(self) -> Self:
        """Return the mode. Calls are not intercepted: that takes longer than making a mask."""
        return self

    def __exit__(self, exc_type: Any, exc_val: Any, exc_tb: Any) -> None:
        """Do nothing."""
