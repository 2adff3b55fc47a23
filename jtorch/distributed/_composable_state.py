"""torch.distributed._composable_state: the state that ``fully_shard`` keeps for a module."""
from __future__ import annotations

from typing import Any


def _get_module_state(module: Any) -> Any:
    """Return the state that ``fully_shard`` keeps for a module; None for other modules."""
    found = getattr(type(module), "_get_fsdp_state", None)
    return None if found is None else found(module)
