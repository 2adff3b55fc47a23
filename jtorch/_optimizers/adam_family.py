"""Adamax, NAdam, RAdam and SparseAdam."""
from __future__ import annotations

from typing import Any

from jtorch._optimizers.arguments import with_gradients
from jtorch._optimizers.multi_tensor import MultiTensorOptimizer, check, check_betas, check_lr, or_none
from jtorch._optimizers.optimizer import Optimizer
from jtorch._optimizers.states import filled, scalar
from jtorch.tensor import Tensor


class _AdamLike(MultiTensorOptimizer):
    second = "exp_avg_sq"

    def _start(self, p: Tensor, group: dict[str, Any]) -> dict[str, Any]:
        return {"step": scalar(0.0), "exp_avg": filled(p), self.second: filled(p)}

    def _columns(self, group: dict[str, Any], state: dict[str, Any]) -> tuple[str, ...]:
        return "exp_avg", self.second

    def _numbers(self, group: dict[str, Any]) -> dict[str, Any]:
        beta1, beta2 = group["betas"]
        return {"lr": group["lr"], "beta1": beta1, "beta2": beta2, "eps": group["eps"],
                "weight_decay": or_none(group["weight_decay"])}

    def _options(self, group: dict[str, Any]) -> dict[str, Any]:
        return {"maximize": bool(group["maximize"]), "decoupled_weight_decay": bool(group.get("decoupled_weight_decay"))}


def _check(lr, betas, eps, weight_decay) -> None:
    check_lr(lr)
    check(epsilon=eps)
    check_betas(betas)
    check(weight_decay=weight_decay)


class Adamax(_AdamLike):
    """Adam with the infinity norm. See torch.optim.Adamax."""

    rule, second = "_adamax_step", "exp_inf"

    def __init__(self, params, lr=2e-3, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8, weight_decay: float = 0,
                 foreach: bool | None = None, *, maximize: bool = False, differentiable: bool = False, capturable: bool = False):
        _check(lr, betas, eps, weight_decay)
        super().__init__(params, dict(lr=lr, betas=betas, eps=eps, weight_decay=weight_decay, foreach=foreach, maximize=maximize,
                                      differentiable=differentiable, capturable=capturable))


class NAdam(_AdamLike):
    """Adam with Nesterov momentum. See torch.optim.NAdam."""

    rule, shared = "_nadam_step", ("step", "mu_product")

    def __init__(self, params, lr=2e-3, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8, weight_decay: float = 0,
                 momentum_decay: float = 4e-3, decoupled_weight_decay: bool = False, *, foreach: bool | None = None,
                 maximize: bool = False, capturable: bool = False, differentiable: bool = False):
        _check(lr, betas, eps, weight_decay)
        check(momentum_decay=momentum_decay)
        super().__init__(params, dict(lr=lr, betas=betas, eps=eps, weight_decay=weight_decay, momentum_decay=momentum_decay,
                                      decoupled_weight_decay=decoupled_weight_decay, maximize=maximize, foreach=foreach,
                                      capturable=capturable, differentiable=differentiable))

    def _start(self, p: Tensor, group: dict[str, Any]) -> dict[str, Any]:
        return {"step": scalar(0.0), "mu_product": scalar(1.0), "exp_avg": filled(p), "exp_avg_sq": filled(p)}

    def _numbers(self, group: dict[str, Any]) -> dict[str, Any]:
        return {**super()._numbers(group), "momentum_decay": group["momentum_decay"]}

    def _options(self, group: dict[str, Any]) -> dict[str, Any]:
        rounded = any(s.get("mu_product") is not None and s["mu_product"].dtype.name == "float32" for s in self.state.values())
        return {**super()._options(group), "rounded": rounded}


class RAdam(_AdamLike):
    """Adam with a rectified learning rate. See torch.optim.RAdam."""

    rule = "_radam_step"

    def __init__(self, params, lr=1e-3, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8, weight_decay: float = 0,
                 decoupled_weight_decay: bool = False, *, foreach: bool | None = None, maximize: bool = False,
                 capturable: bool = False, differentiable: bool = False):
        _check(lr, betas, eps, weight_decay)
        super().__init__(params, dict(lr=lr, betas=betas, eps=eps, weight_decay=weight_decay, maximize=maximize, foreach=foreach,
                                      capturable=capturable, decoupled_weight_decay=decoupled_weight_decay,
                                      differentiable=differentiable))


class SparseAdam(Optimizer):
    """Adam for sparse gradients, of which there are none here: a dense gradient is an error, as in PyTorch."""

    def __init__(self, params, lr=1e-3, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8, maximize: bool = False):
        if isinstance(lr, Tensor) and lr.numel() != 1:      # type: ignore[attr-defined]
            raise ValueError("Tensor lr must be 1-element")
        if not lr > 0.0:
            raise ValueError(f"Invalid learning rate: {lr}")
        if not eps > 0.0:
            raise ValueError(f"Invalid epsilon value: {eps}")
        check_betas(betas)
        super().__init__(params, dict(lr=lr, betas=betas, eps=eps, maximize=maximize))
        found = [[i, k] for i, g in enumerate(self.param_groups) for k, p in enumerate(g["params"]) if p.dtype.is_complex]
        if found:
            raise ValueError(f"Complex params at indices {found}: SparseAdam does not support complex parameters")

    def _update(self, group: dict[str, Any]) -> None:
        if with_gradients(group):
            raise RuntimeError("SparseAdam does not support dense gradients, please consider Adam instead")
