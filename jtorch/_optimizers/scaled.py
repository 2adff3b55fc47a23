"""A fused optimizer's step under a GradScaler: it unscales gradients, and reverts the step after an overflow.

The host does not read the flag. One op computes the new values and selects between them and the old values.
"""
from __future__ import annotations

from typing import Any

from jtorch import engine
from jtorch._optimizers.states import filled
from jtorch.engine import call_of
from jtorch.no_grad import no_grad
from jtorch.ops.registry import OPS, T
from jtorch.storage import value_of, values_of, write_all
from jtorch.tensor import Tensor

_DEVICES = ["mps", "cuda", "xpu", "hpu", "cpu", "mtia", "privateuseone"]


@no_grad()
def step(optimizer: Any) -> bool:
    """Update all groups by ``optimizer.grad_scale`` and ``optimizer.found_inf``; return False without a scaler."""
    params = [p for group in optimizer.param_groups for p in group["params"] if p._grad is not None]
    for p in params:
        if not p.dtype.is_floating_point:
            raise RuntimeError("`fused=True` requires all the params to be floating point Tensors of supported devices: "
                               f"{_DEVICES} but {p.dtype} and {p.device.type}")
    if "found_inf" not in optimizer.__dict__:
        return False
    if params:
        _update(optimizer, params)
    return True


def _update(optimizer: Any, params: list[Tensor]) -> None:
    if optimizer.grad_scale is not None:
        _unscale([p._grad for p in params], optimizer.grad_scale)
    before = {id(t): value_of(t) for t in _touched(optimizer, params)}
    for group in optimizer.param_groups:
        optimizer._update(group)
    touched = _touched(optimizer, params)
    old = [before[id(t)] if id(t) in before else value_of(filled(t)) for t in touched]
    marks = (T,) * len(touched)
    write_all(touched, engine.record(call_of(OPS["_amp_undo"], (T, marks, marks)),
                                     [value_of(optimizer.found_inf), *old, *values_of(touched)]))


def _touched(optimizer: Any, params: list[Tensor]) -> list[Tensor]:
    """Return the parameters and the tensors of their states."""
    states = [t for p in params for t in optimizer.state.get(p, {}).values() if isinstance(t, Tensor)]
    return [*params, *states]


def _unscale(grads: list[Any], scale: Any) -> None:
    inverse = scale.double().reciprocal().float()
    given = [*values_of(grads), value_of(filled(scale)), value_of(inverse)]
    write_all(grads, engine.record(call_of(OPS["_amp_unscale"], ((T,) * len(grads), T, T)), given)[:len(grads)])
