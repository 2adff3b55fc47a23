"""torch.distributed.algorithms.model_averaging.utils: average parameters over processes."""
from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from jtorch._api.flattening import flattened, unflattened
from jtorch.distributed.collectives import all_reduce
from jtorch.distributed.membership import _group_or_default, _rank_not_in_group
from jtorch.no_grad import no_grad
from jtorch.tensor import Parameter, Tensor

__all__ = ["average_parameters", "average_parameters_or_parameter_groups", "get_params_to_average"]


def average_parameters(params: Iterable[Tensor], process_group: Any = None) -> None:
    """Replace parameters by their mean over a group, in one message. See torch.distributed.algorithms.model_averaging.utils."""
    if _rank_not_in_group(process_group):
        return
    given, pg = list(params), _group_or_default(process_group)
    with no_grad():
        flat: Any = flattened([p.detach() for p in given])
        all_reduce(flat.div_(pg.size()), group=pg)
        for p, mean in zip(given, unflattened(flat, given), strict=True):
            p.copy_(mean)       # type: ignore[attr-defined]


def get_params_to_average(params: Iterable[Any]) -> list[Tensor]:
    """Return the parameters that have a gradient, out of a module's parameters or an optimizer's groups."""
    found: list[Tensor] = []
    for p in params:
        if not isinstance(p, (Parameter, dict)):
            raise NotImplementedError(f"Parameter input of type {type(p)} is not supported")
        found += [q for q in ([p] if isinstance(p, Parameter) else p["params"]) if q.grad is not None]
    return found


def average_parameters_or_parameter_groups(params: Iterable[Any], process_group: Any = None) -> None:
    """Replace the parameters that have a gradient by their mean over a group."""
    average_parameters(get_params_to_average(params), process_group)
