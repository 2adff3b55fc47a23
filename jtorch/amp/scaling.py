"""The two tensor operations of a GradScaler: unscaling gradients, and updating the scale."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jtorch import engine
from jtorch._api import functions
from jtorch._api.names import put
from jtorch.engine import call_of
from jtorch.no_grad import no_grad
from jtorch.ops.registry import NUMBERS, OPS, T
from jtorch.storage import value_of, write_all
from jtorch.tensor import Tensor


@no_grad()
def unscale_(grads: Sequence[Tensor], found_inf: Tensor, inv_scale: Tensor) -> None:
    """Multiply gradients in place by ``inv_scale``, and set ``found_inf`` to 1 if an element is not finite."""
    given = [value_of(t) for t in (*grads, found_inf, inv_scale.to(device=found_inf.device))]
    write_all([*grads, found_inf], engine.record(call_of(OPS["_amp_unscale"], ((T,) * len(grads), T, T)), given))


@no_grad()
def update_scale_(scale: Tensor, tracker: Tensor, found: Tensor | Sequence[Tensor], growth: float, backoff: float,
                  interval: int) -> Tensor:
    """Shrink the scale if ``found`` is nonzero; grow it after ``interval`` steps without overflow."""
    found = [found] if isinstance(found, Tensor) else found
    options: list[Any] = [float(growth), float(backoff), int(interval)]
    template = (T, T, (T,) * len(found), *[NUMBERS[o.__class__] for o in options])
    given = [value_of(t) for t in (scale, tracker, *found)]
    write_all([scale, tracker], engine.record(call_of(OPS["_amp_update_scale"], template), [*given, *options]))
    return scale


def bind() -> None:
    """Bind both functions to PyTorch's names."""
    put(functions, {"_amp_foreach_non_finite_check_and_unscale_": unscale_, "_amp_update_scale_": update_scale_})
