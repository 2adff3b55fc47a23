"""torch.masked._reduction_identity: the neutral element of a reduction."""
from __future__ import annotations

import math
from types import ModuleType
from typing import Any

import jtorch.dtype as dtypes
from jtorch._api.creation import tensor
from jtorch._api.names import put
from jtorch._base.dtype_info import iinfo
from jtorch.tensor import Tensor

_CONSTANT = {"sum": 0, "cumsum": 0, "prod": 1, "cumprod": 1}
_LEAST, _GREATEST = {"amax", "argmax", "logaddexp", "logsumexp"}, {"amin", "argmin"}


def _reduction_identity(op_name: str, input: Tensor, *args: Any) -> Tensor | None:
    """Return the neutral element of a reduction as a 0-dim tensor, or None if there is none."""
    name, found = op_name.rsplit(".", 1)[-1], input.dtype
    if name in ("mean", "var", "std"):
        return None
    if name == "median":
        return tensor(math.nan, dtype=found if found.is_floating_point else dtypes.named("float32"), device=input.device)
    if name == "norm":
        return tensor(math.inf if args and args[0] == -math.inf else 0, dtype=found, device=input.device)
    if name in _CONSTANT:
        return tensor(_CONSTANT[name], dtype=found, device=input.device)
    end = _end(name, found)
    if end is None:
        raise NotImplementedError(f"identity of {name} on {found} input")
    return tensor(end, dtype=found, device=input.device)


def _end(name: str, d: dtypes.dtype) -> Any:
    if name not in _LEAST | _GREATEST or (d.is_complex and name != "logsumexp") or d.np.kind == "b":
        return None
    least = name in _LEAST
    if d.is_floating_point or d.is_complex:
        return -math.inf if least else math.inf
    return iinfo(d).min if least else iinfo(d).max


def bind_to(masked: ModuleType) -> None:
    """Add the function to torch.masked."""
    put(masked, {"_reduction_identity": _reduction_identity})
