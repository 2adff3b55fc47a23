"""torch.nn.modules.utils: what layers and those who load their weights share."""
from __future__ import annotations

import functools
from typing import Any

from jtorch.nn.modules._make import ntuple


def _ntuple(n: int, name: str = "parse") -> Any:
    """Return a function that makes a number ``n`` equal ones, and anything else a tuple."""
    made = functools.partial(ntuple, n=n)
    made.__name__ = name        # type: ignore[attr-defined]
    return made


_single, _pair = _ntuple(1, "_single"), _ntuple(2, "_pair")
_triple, _quadruple = _ntuple(3, "_triple"), _ntuple(4, "_quadruple")


def consume_prefix_in_state_dict_if_present(state_dict: dict[str, Any], prefix: str) -> None:
    """Take a prefix off the keys of a state dict, in place: that of DistributedDataParallel (``module.``), say."""
    for key in list(state_dict):
        if key.startswith(prefix):
            state_dict[key[len(prefix):]] = state_dict.pop(key)
    metadata = getattr(state_dict, "_metadata", None) or {}
    for key in list(metadata):
        if key and (key == prefix.replace(".", "") or key.startswith(prefix)):
            metadata[key[len(prefix):]] = metadata.pop(key)


__all__ = ["consume_prefix_in_state_dict_if_present"]
