"""torch.nn.modules.utils: helpers of layers and of programs that load weights."""
from __future__ import annotations

import functools
from typing import Any

from jtorch.nn.modules._make import ntuple


def _ntuple(n: int, name: str = "parse") -> Any:
    """Return a function that repeats a number ``n`` times, and converts other iterables to tuples."""
    made = functools.partial(ntuple, n=n)
    made.__name__ = name        # type: ignore[attr-defined]
    return made


_single, _pair = _ntuple(1, "_single"), _ntuple(2, "_pair")
_triple, _quadruple = _ntuple(3, "_triple"), _ntuple(4, "_quadruple")


def _reverse_repeat_tuple(t: tuple, n: int) -> tuple:
    """Return the items from the last to the first, each ``n`` times, as ``F.pad`` takes the padding of a convolution."""
    return tuple([x for x in reversed(t) for _ in range(n)])


def consume_prefix_in_state_dict_if_present(state_dict: dict[str, Any], prefix: str) -> None:
    """Remove a prefix from a state dict's keys in place, such as DistributedDataParallel's ``module.``."""
    for key in list(state_dict):
        if key.startswith(prefix):
            state_dict[key[len(prefix):]] = state_dict.pop(key)
    metadata = getattr(state_dict, "_metadata", None) or {}
    for key in list(metadata):
        if key and (key == prefix.replace(".", "") or key.startswith(prefix)):
            metadata[key[len(prefix):]] = metadata.pop(key)


__all__ = ["consume_prefix_in_state_dict_if_present"]
