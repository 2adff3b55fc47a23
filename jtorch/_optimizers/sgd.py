"""SGD."""
from __future__ import annotations

from typing import Any

from jtorch._optimizers import groups
from jtorch._optimizers.arguments import check_option
from jtorch._optimizers.multi_tensor import MultiTensorOptimizer, or_none
from jtorch.tensor import Tensor


class SGD(MultiTensorOptimizer):
    """Stochastic gradient descent, with momentum and weight decay. See torch.optim.SGD.

    Args:
        params: an iterable of parameters (Tensors of a floating or complex dtype, any shapes), of (name, parameter)
            pairs, or of dicts, each a group with its own options.
        lr (float or Tensor of one element): the learning rate.
        momentum (float): the fraction of the previous step's change that is kept.
        dampening (float): the fraction of the gradient that does not enter the momentum.
        weight_decay (float): the factor of an L2 penalty: this times the parameter is added to the gradient.
        nesterov (bool): whether to use Nesterov momentum; needs ``momentum > 0`` and ``dampening == 0``.
        maximize (bool): whether to maximize the objective instead of minimizing it.
        foreach (bool or None): accepted; a step is one compiled call for all parameters in any case.
        differentiable (bool): whether to record the step, so that gradients flow through it.
        fused (bool or None): accepted; a step is one compiled call for all parameters in any case.

    Raises:
        ValueError: an option outside of its range, no parameters, or a parameter in two groups.
        TypeError: parameters that are no Tensors.

    Source: Sutskever et al. 2013, On the importance of initialization and momentum in deep learning (the momentum
    is not scaled by ``lr`` here, as in PyTorch).

    Example::

        >>> w = torch.tensor([1.0], requires_grad=True)
        >>> opt = torch.optim.SGD([w], lr=0.1)
        >>> (w * w).sum().backward()
        >>> opt.step()
        >>> w
        tensor([0.8000], requires_grad=True)

    """

    rule, shared, uniform, sparse_step = "_sgd_step", (), False, "sgd"

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

    def _start(self, p: Tensor, group: dict[str, Any]) -> dict[str, Any]:
        return {}

    def _by_columns(self, group: dict[str, Any], params: list[Tensor]) -> list:
        if group["momentum"] == 0 and params:
            return [((), params, [])]       # Without momentum there is no state.
        return super()._by_columns(group, params)

    def _columns(self, group: dict[str, Any], state: dict[str, Any]) -> tuple[str, ...]:
        return ("momentum_buffer",) if state.get("momentum_buffer") is not None else ()

    def _begun(self, group: dict[str, Any]) -> str:
        return "momentum_buffer"

    def _numbers(self, group: dict[str, Any]) -> dict[str, Any]:
        return {"lr": group["lr"], "momentum": or_none(group["momentum"]), "dampening": or_none(group["dampening"]),
                "weight_decay": or_none(group["weight_decay"])}

    def _options(self, group: dict[str, Any]) -> dict[str, Any]:
        return {"maximize": bool(group["maximize"]), "nesterov": bool(group["nesterov"])}
