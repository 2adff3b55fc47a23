"""torch.nn._reduction: PyTorch's numbers for reductions, and deprecated arguments of losses."""
from __future__ import annotations

from jtorch._base import warned

_NUMBERS = {"none": 0, "mean": 1, "elementwise_mean": 1, "sum": 2}


def get_enum(reduction: str) -> int:
    """Return the number of a reduction; raise ValueError for an unknown name."""
    if reduction not in _NUMBERS:
        raise ValueError(f"{reduction} is not a valid value for reduction")
    if reduction == "elementwise_mean":
        warned.warn("reduction='elementwise_mean' is deprecated. Please use reduction='mean' instead.")
    return _NUMBERS[reduction]


def legacy_get_string(size_average: bool | None, reduce: bool | None, emit_warning: bool = True) -> str:
    """Return the reduction for the deprecated arguments ``size_average`` and ``reduce``."""
    mean, reduced = size_average is None or size_average, reduce is None or reduce
    found = ("mean" if mean else "sum") if reduced else "none"
    if emit_warning:
        warned.warn(f"size_average and reduce args will be deprecated, please use reduction='{found}' instead.")
    return found


def legacy_get_enum(size_average: bool | None, reduce: bool | None, emit_warning: bool = True) -> int:
    """Return the reduction's number for the deprecated arguments ``size_average`` and ``reduce``."""
    return get_enum(legacy_get_string(size_average, reduce, emit_warning))
