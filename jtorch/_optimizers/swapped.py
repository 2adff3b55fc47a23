"""A context in which an optimizer has other parameters and states."""
from __future__ import annotations

import contextlib
from collections import defaultdict
from collections.abc import Iterator
from itertools import islice
from typing import Any

from jtorch.tensor import Tensor

_NAME = "swap_in_optimizer_params_and_state requires"


@contextlib.contextmanager
def swap_in_optimizer_params_and_state(optimizer: Any, swapin_parameters: dict[str, Tensor],
                                       swapin_optim_state: dict[str, Any]) -> Iterator[None]:
    """Give an optimizer other parameters, states and options within a block, and restore its own afterwards.

    Args:
        optimizer: an optimizer that has states.
        swapin_parameters: the parameters, in the order of the optimizer's groups.
        swapin_optim_state: what ``state_dict`` of such an optimizer gives. Its tensors are written to; its dicts are not.

    Returns:
        a context manager.

    Raises:
        RuntimeError: one does not fit the other.

    Example::

        >>> w, other = torch.zeros(1, requires_grad=True), torch.ones(1, requires_grad=True)
        >>> opt = torch.optim.SGD([w], lr=0.1, momentum=0.9)
        >>> w.sum().backward()
        >>> opt.step()
        >>> with torch.optim.swap_in_optimizer_params_and_state(opt, {"w": other}, opt.state_dict()):
        ...     opt.param_groups[0]["params"][0] is other
        True

    """
    state, groups = _checked(optimizer, swapin_optim_state)
    numbers = [k for g in groups for k in g["params"]]
    params = list(swapin_parameters.values())
    if len(params) < len(numbers):
        raise RuntimeError(f"{_NAME} the explicit parameter state to match optimizer.param_groups ordering.")
    if extra := [k for k in state if k not in numbers]:
        raise RuntimeError(f"{_NAME} swapin_optim_state['state'] to be keyed only by packed parameter ids from "
                           f"param_groups[*]['params']; got extra keys {extra!r}.")
    kept, snapshots = optimizer.state, [dict(g) for g in optimizer.param_groups]
    left = iter(params)
    try:
        for group, new in zip(optimizer.param_groups, groups, strict=True):
            group.update({**new, "params": list(islice(left, len(new["params"])))})
        optimizer.state = defaultdict(dict, {p: dict(state.get(k, {})) for p, k in zip(params, numbers, strict=False)})
        yield
    finally:
        for group, snapshot in zip(optimizer.param_groups, snapshots, strict=True):
            group.clear()
            group.update(snapshot)
        optimizer.state = kept


def _require(ok: bool, message: str) -> None:
    if not ok:
        raise RuntimeError(message)


def _checked(optimizer: Any, given: Any) -> tuple[dict, list[dict]]:
    """Check that a state dict fits an optimizer, and return its states and groups."""
    _require(bool(optimizer.state), f"{_NAME} initialized optimizer state.")
    _require(isinstance(given, dict), f"{_NAME} a DCP-style optimizer state_dict.")
    state, groups = given.get("state"), given.get("param_groups")
    _require(isinstance(state, dict), f"{_NAME} swapin_optim_state['state'] to be a dict mapping packed parameter ids to "
             f"per-param state dicts, got {type(state).__name__}.")
    _require(not any(isinstance(k, Tensor) for k in state), f"{_NAME} optimizer.state_dict()-style state keyed by packed "
             "parameter ids.")
    _require(all(isinstance(v, dict) for v in state.values()), f"{_NAME} per-parameter optimizer state entries to be "
             "dictionaries.")
    _require(isinstance(groups, list), f"{_NAME} swapin_optim_state['param_groups'] to be a list of param-group dicts, got "
             f"{type(groups).__name__}.")
    _require(len(groups) == len(optimizer.param_groups), "swapin_optim_state has a different number of parameter groups than "
             "the live optimizer.")
    for at, (mine, theirs) in enumerate(zip(optimizer.param_groups, groups, strict=True)):
        _check_group(at, mine, theirs)
    return state, groups


def _check_group(at: int, mine: dict, theirs: Any) -> None:
    _require(isinstance(theirs, dict), f"{_NAME} each optimizer param group to be a dictionary.")
    numbers = theirs.get("params")
    _require(isinstance(numbers, list) and all(isinstance(n, int) for n in numbers), f"{_NAME} optimizer.state_dict()-style "
             "param_groups[*]['params'] entries keyed by packed parameter ids.")
    _require(len(numbers) == len(mine["params"]), f"swapin_optim_state param group {at} has a different number of params than "
             "the live optimizer param group.")
    new, gone = [k for k in theirs if k not in mine], [k for k in mine if k not in theirs]
    _require(not new and not gone, f"{_NAME} optimizer.state_dict()-style param group keys to exactly match the live optimizer "
             f"group keys for group {at}. Keys only in swap-in: {new}. Keys only in live: {gone}.")
