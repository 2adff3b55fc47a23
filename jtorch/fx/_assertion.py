"""torch._assert: an assertion that becomes a node if it is given a proxy."""
from __future__ import annotations

from typing import Any

from jtorch._api import torch_function as protocol
from jtorch.tensor import Tensor


def _assert(condition: Any, message: str) -> None:
    """Raise AssertionError unless ``condition`` is true; tracing records the call. See torch._assert."""
    if type(condition) is not Tensor:
        made = protocol.ask(_assert, (condition,), (condition, message), {})
        if made is not protocol.NOT_OVERRIDDEN:
            return made
    if not condition:
        raise AssertionError(message)
    return None


_assert.__module__ = "torch"
