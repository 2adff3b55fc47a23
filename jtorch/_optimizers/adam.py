"""Adam and AdamW."""
from __future__ import annotations

import functools
from typing import Any

import numpy as np

from jtorch import engine, storage
from jtorch._optimizers import differentiable, groups
from jtorch._optimizers.arguments import check_option, scalars, tensor_marks, with_gradients
from jtorch._optimizers.optimizer import Optimizer
from jtorch.engine import Value, call_of
from jtorch.ops.registry import OPS
from jtorch.storage import values_of, write_all
from jtorch.tensor import Tensor, wrap


class Adam(Optimizer):
    """Adam. See torch.optim.Adam."""

    _decoupled = False

    def __init__(self, params, lr=1e-3, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8, weight_decay: float = 0,
                 amsgrad: bool = False, *, foreach: bool | None = None, maximize: bool = False, capturable: bool = False,
                 differentiable: bool = False, fused: bool | None = None, decoupled_weight_decay: bool = False):
        groups.check_tensor(lr, "lr", foreach=foreach and not capturable)
        check_option("learning rate", lr, 0.0 <= lr)
        check_option("epsilon value", eps, 0.0 <= eps)
        check_option("beta parameter at index 0", betas[0], 0.0 <= betas[0] < 1.0)
        check_option("beta parameter at index 1", betas[1], 0.0 <= betas[1] < 1.0)
        check_option("weight_decay value", weight_decay, 0.0 <= weight_decay)
        betas = groups.checked_betas(betas, foreach=foreach and not capturable)
        super().__init__(params, dict(lr=lr, betas=betas, eps=eps, weight_decay=weight_decay, amsgrad=amsgrad, maximize=maximize,
                                      foreach=foreach, capturable=capturable, differentiable=differentiable, fused=fused,
                                      decoupled_weight_decay=self._decoupled or decoupled_weight_decay))

    def _start(self, p: Tensor, amsgrad: bool) -> dict[str, Tensor]:
        """The state of a parameter that is updated for the first time."""
        state, aval = self.state[p], storage.aval_of(p)
        state["step"] = wrap(_zero_step())
        for name in ("exp_avg", "exp_avg_sq", *(("max_exp_avg_sq",) if amsgrad else ())):
            state[name] = wrap(_zeros(aval))
        return state

    def _update(self, group: dict[str, Any]) -> None:
        params = with_gradients(group)
        if not params:
            return
        amsgrad, known, decay = group["amsgrad"], self.state, group["weight_decay"]
        states = [known[p] or self._start(p, amsgrad) for p in params]
        n = len(params)
        targets = [*params, *[s["exp_avg"] for s in states], *[s["exp_avg_sq"] for s in states]]
        if amsgrad:
            targets += [s["max_exp_avg_sq"] for s in states]
        counters = [s["step"] for s in states]
        steps = values_of(counters)
        distinct = [steps[0]] if steps.count(steps[0]) == n else list(dict.fromkeys(steps))
        options, marks = scalars((group["lr"], *group["betas"], group["eps"], *((decay,) if decay else ())))
        c = _adam_call(n, amsgrad, len(distinct), () if len(distinct) == 1 else tuple(map(distinct.index, steps)), marks,
                       bool(self._decoupled or group.get("decoupled_weight_decay")), bool(group["maximize"]))
        arguments = values_of([*params, *[p._grad for p in params], *targets[n:]])      # type: ignore[list-item]
        outs = engine.record(c, [*arguments, *distinct, *options])
        new = dict(zip(distinct, outs[len(targets):], strict=True))
        write_all([*targets, *counters], outs[:len(targets)] + [new[v] for v in steps])

    def _update_differentiable(self, group: dict[str, Any], params: list[Tensor]) -> None:
        if params:
            differentiable.adam(self, group, params)


@functools.lru_cache(256)
def _adam_call(n: int, amsgrad: bool, distinct: int, places: tuple[int, ...], marks: tuple, decoupled: bool,
               maximize: bool) -> engine.Call:
    """The call of a step of ``n`` parameters, of which number ``i`` has step number ``places[i]``."""
    columns = (*[tensor_marks(n)] * 4, tensor_marks(n) if amsgrad else ())
    options = marks if len(marks) == 5 else (*marks, None)
    return call_of(OPS["_adam_step"], (*columns, tensor_marks(distinct), *options, places or (0,) * n, decoupled, maximize))


class AdamW(Adam):
    """Adam with decoupled weight decay. See torch.optim.AdamW."""

    _decoupled = True

    def __init__(self, params, lr=1e-3, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8, weight_decay: float = 1e-2,
                 amsgrad: bool = False, *, maximize: bool = False, foreach: bool | None = None, capturable: bool = False,
                 differentiable: bool = False, fused: bool | None = None):
        super().__init__(params, lr, betas, eps, weight_decay, amsgrad, foreach=foreach, maximize=maximize, capturable=capturable,
                         differentiable=differentiable, fused=fused)


_STEP_ZERO: list[Value] = []


def _zero_step() -> Value:
    """Step 0, one value for all parameters, so that one scalar counts for all that are in step."""
    if not _STEP_ZERO:
        _STEP_ZERO.append(Value(engine.aval_of((), np.dtype(np.float32), engine.CPU), np.zeros((), np.float32)))
    return _STEP_ZERO[0]


def _zeros(aval: engine.Aval) -> Value:
    zeros = np.zeros(aval.shape, aval.np)
    return Value(aval, zeros if aval.device is engine.CPU else engine.put(zeros, aval.device))
