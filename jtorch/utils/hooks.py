"""torch.utils.hooks."""
from __future__ import annotations

from typing import Any

from jtorch._nodes.hooks import RemovableHandle as RemovableHandle
from jtorch.nn.modules._hooks import BackwardHook as BackwardHook


def unserializable_hook(f: Any) -> Any:
    """Marks a hook as one that is not saved with its tensor."""
    f.__torch_unserializable__ = True
    return f


__all__ = ["BackwardHook", "RemovableHandle", "unserializable_hook"]
