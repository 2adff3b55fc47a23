"""torch.utils.hooks: hooks that are not saved with a tensor, and their handles."""
from __future__ import annotations

from typing import Any

from jtorch._nodes.hooks import RemovableHandle as RemovableHandle
from jtorch._nodes.hooks import warn_not_saved
from jtorch.nn.modules._hooks import BackwardHook as BackwardHook


def unserializable_hook(f: Any) -> Any:
    """Mark a hook as not to be saved with its tensor."""
    f.__torch_unserializable__ = True
    return f


def warn_if_has_hooks(tensor: Any) -> None:
    """Warn about each hook of a tensor that is not marked as unserializable."""
    warn_not_saved(tensor._own_hooks())


__all__ = ["BackwardHook", "RemovableHandle", "unserializable_hook", "warn_if_has_hooks"]
