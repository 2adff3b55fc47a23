"""The state dict keys of torch.nn.utils.weight_norm."""
from __future__ import annotations

from typing import Any


class OldKeys:
    """A hook that loads state dicts of torch.nn.utils.weight_norm."""

    def __init__(self, name: str):
        self.name = name

    def __call__(self, state_dict: dict, prefix: str, *_: Any) -> None:
        old = [f"{prefix}{self.name}_g", f"{prefix}{self.name}_v"]
        if all([key in state_dict for key in old]):
            for i, key in enumerate(old):
                state_dict[f"{prefix}parametrizations.{self.name}.original{i}"] = state_dict.pop(key)

    __name__ = "_weight_norm_compat_hook"
