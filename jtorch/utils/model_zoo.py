"""torch.utils.model_zoo: a deprecated name of torch.hub's ``load_state_dict_from_url``. In jtorch it downloads nothing."""
from __future__ import annotations

from typing import Any

from jtorch import hub as _hub
from jtorch.hub import load_state_dict_from_url as load_url

__all__ = ["load_url"]


def __getattr__(name: str) -> Any:
    if name == "tqdm":
        return _hub.tqdm        # type: ignore[attr-defined]
    raise AttributeError(f"module 'torch.utils.model_zoo' has no attribute {name!r}")
