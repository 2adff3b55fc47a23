"""torch.distributed.checkpoint.stateful: objects that have a state dict."""
from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

__all__ = ["Stateful"]


@runtime_checkable
class Stateful(Protocol):
    """An object with a state dict that checkpoints save and load. See torch.distributed.checkpoint.stateful.Stateful."""

    def state_dict(self) -> dict[str, Any]:
        """Return the state to save."""
        ...

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Load a saved state."""
        ...
