"""Adam and AdamW."""
from __future__ import annotations

from typing import Any

from jtorch._optimizers import groups
from jtorch._optimizers.arguments import check_option
from jtorch._optimizers.multi_tensor import MultiTensorOptimizer, or_none
from jtorch._optimizers.states import filled, scalar
from jtorch.tensor import Tensor


class AdamLike(MultiTensorOptimizer):
    """An optimizer with running averages of the gradient and of a power of its magnitude."""

    second = "exp_avg_sq"
    _decoupled = False      # True if weight decay is decoupled by default.

    def _start(self, p: Tensor, group: dict[str, Any]) -> dict[str, Any]:
        return {"step": scalar(0.0), "exp_avg": filled(p), self.second: filled(p)}

    def _columns(self, group: dict[str, Any], state: dict[str, Any]) -> tuple[str, ...]:
        return "exp_avg", self.second

    def _numbers(self, group: dict[str, Any]) -> dict[str, Any]:
        beta1, beta2 = group["betas"]
        return {"lr": group["lr"], "beta1": beta1, "beta2": beta2, "eps": group["eps"],
                "weight_decay": or_none(group["weight_decay"])}

    def _options(self, group: dict[str, Any]) -> dict[str, Any]:
        decoupled = self._decoupled or group.get("decoupled_weight_decay")
        return {"maximize": bool(group["maximize"]), "decoupled_weight_decay": bool(decoupled)}


class Adam(AdamLike):
    """Adam: steps scaled by running averages of the gradient and its square. See torch.optim.Adam.

    Args:
        params: an iterable of parameters (Tensors of a floating or complex dtype, any shapes), of (name, parameter)
            pairs, or of dicts, each a group with its own options.
        lr (float or Tensor of one element): the learning rate.
        betas (float, float): the fractions of the running averages of the gradient and its square kept each step.
        eps (float): added to the denominator, so that it is not 0.
        weight_decay (float): the factor of an L2 penalty: this times the parameter is added to the gradient.
        amsgrad (bool): whether to divide by the largest second moment so far (Reddi et al. 2018, arXiv:1904.09237).
        foreach, capturable (bool or None): accepted; a step is one compiled call for all parameters in any case.
        maximize (bool): whether to maximize the objective instead of minimizing it.
        differentiable (bool): whether to record the step, so that gradients flow through it.
        fused (bool or None): accepted; a step is one compiled call for all parameters in any case.
        decoupled_weight_decay (bool): whether to decay weights as AdamW does.

    Raises:
        ValueError: an option outside of its range, no parameters, or a parameter in two groups.
        TypeError: parameters that are no Tensors.

    Source: Kingma and Ba 2015, arXiv:1412.6980.

    Example::

        >>> w = torch.tensor([1.0], requires_grad=True)
        >>> opt = torch.optim.Adam([w], lr=0.1)
        >>> (w * w).sum().backward()
        >>> opt.step()
        >>> w
        tensor([0.9000], requires_grad=True)

    """

    rule = "_adam_step"

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

    def _start(self, p: Tensor, group: dict[str, Any]) -> dict[str, Any]:
        return {"step": scalar(0.0), **{name: filled(p) for name in self._columns(group, {})}}

    def _columns(self, group: dict[str, Any], state: dict[str, Any]) -> tuple[str, ...]:
        return ("exp_avg", "exp_avg_sq", "max_exp_avg_sq") if group["amsgrad"] else ("exp_avg", "exp_avg_sq")


class AdamW(Adam):
    """Adam with decoupled weight decay. See torch.optim.AdamW.

    Args:
        params: an iterable of parameters (Tensors of a floating or complex dtype, any shapes), of (name, parameter)
            pairs, or of dicts, each a group with its own options.
        lr (float or Tensor of one element): the learning rate.
        betas (float, float): the fractions of the running averages of the gradient and its square kept each step.
        eps (float): added to the denominator, so that it is not 0.
        weight_decay (float): each step, the parameter loses this times ``lr`` of itself; the gradient is left alone
            (decoupled).
        amsgrad (bool): whether to divide by the largest second moment so far (Reddi et al. 2018, arXiv:1904.09237).
        maximize (bool): whether to maximize the objective instead of minimizing it.
        foreach, capturable (bool or None): accepted; a step is one compiled call for all parameters in any case.
        differentiable (bool): whether to record the step, so that gradients flow through it.
        fused (bool or None): accepted; a step is one compiled call for all parameters in any case.

    Raises:
        ValueError: an option outside of its range, no parameters, or a parameter in two groups.
        TypeError: parameters that are no Tensors.

    Source: Loshchilov and Hutter 2019, arXiv:1711.05101.

    Example::

        >>> w = torch.tensor([1.0], requires_grad=True)
        >>> opt = torch.optim.AdamW([w], lr=0.1, weight_decay=0.5)
        >>> (w * w).sum().backward()
        >>> opt.step()
        >>> w
        tensor([0.8500], requires_grad=True)

    """

    _decoupled = True

    def __init__(self, params, lr=1e-3, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8, weight_decay: float = 1e-2,
                 amsgrad: bool = False, *, maximize: bool = False, foreach: bool | None = None, capturable: bool = False,
                 differentiable: bool = False, fused: bool | None = None):
        super().__init__(params, lr, betas, eps, weight_decay, amsgrad, foreach=foreach, maximize=maximize, capturable=capturable,
                         differentiable=differentiable, fused=fused)
