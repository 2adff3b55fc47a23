"""torch.distributed.algorithms.ddp_comm_hooks.debugging_hooks: a hook that sends nothing, to time a step without
communication.
"""
from __future__ import annotations

from typing import Any

from jtorch.futures import Future

__all__ = ["noop_hook"]


def noop_hook(_: Any, bucket: Any) -> Any:
    """Return each rank's own gradients unchanged. See PyTorch's hook of this name."""
    made: Future = Future()
    made.set_result(bucket.buffer())
    return made
