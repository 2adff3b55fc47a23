"""SGD."""
from __future__ import annotations

from typing import Any

from jtorch import engine
from jtorch._optimizers import differentiable, groups
from jtorch._optimizers.arguments import check_option, scalars, tensor_marks, with_gradients
from jtorch._optimizers.optimizer import Optimizer
from jtorch.engine import call_of
from jtorch.ops.registry import OPS
from jtorch.storage import values_of, write_all
from jtorch.tensor import Tensor, wrap


class SGD(Optimizer):
    """Stochastic gradient descent, with momentum and weight decay. See torch.optim.SGD."""

    def __init__(self, params, lr=1e-3, momentum: float = 0, dampening: float = 0, weight_decay: float = 0,
                 nesterov: bool = False, *, maximize: bool = False, foreach: bool | None = None, differentiable: bool = False,
                 fused: bool | None = None):
        groups.check_tensor(lr, "lr")
        check_option("learning rate", lr, not lr < 0.0)
        check_option("momentum value", momentum, not momentum < 0.0)
        check_option("weight_decay value", weight_decay, not weight_decay < 0.0)
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("Nesterov momentum requires a momentum and zero dampening")
        super().__init__(params, dict(lr=lr, momentum=momentum, dampening=dampening, weight_decay=weight_decay, nesterov=nesterov,
                                      maximize=maximize, foreach=foreach, differentiable=differentiable, fused=fused))

    def _update(self, group: dict[str, Any]) -> None:
        params = with_gradients(group)
        if group["momentum"] == 0:
            self._update_some(group, params, [])
            return
        known = [p for p in params if self.state[p].get("momentum_buffer") is not None]
        fresh = [p for p in params if self.state[p].get("momentum_buffer") is None]
        self._update_some(group, known, [self.state[p]["momentum_buffer"] for p in known])
        self._update_some(group, fresh, [])

    def _update_differentiable(self, group: dict[str, Any], params: list[Tensor]) -> None:
        differentiable.sgd(self, group, params)

    def _update_some(self, group: dict[str, Any], params: list[Tensor], buffers: list[Tensor]) -> None:
        if not params:
            return
        n, decay, momentum = len(params), group["weight_decay"], group["momentum"] != 0
        options, marks = scalars((group["lr"], group["momentum"], group["dampening"], *((decay,) if decay else ())))
        template = (tensor_marks(n), tensor_marks(n), tensor_marks(len(buffers)), *marks, *(() if decay else (None,)),
                    bool(group["nesterov"]), bool(group["maximize"]), momentum)
        args = values_of([*params, *[p._grad for p in params], *buffers])       # type: ignore[list-item]
        outs = engine.record(call_of(OPS["_sgd_step"], template), [*args, *options])
        write_all([*params, *buffers], outs if buffers else outs[:n])
        if momentum and not buffers:
            for p, v in zip(params, outs[n:], strict=True):
                self.state[p]["momentum_buffer"] = wrap(v)
