"""Adamax, NAdam, RAdam and SparseAdam."""
from __future__ import annotations

from typing import Any

from jtorch._optimizers.adam import AdamLike
from jtorch._optimizers.arguments import with_dense_gradients
from jtorch._optimizers.multi_tensor import check, check_betas, check_lr
from jtorch._optimizers.optimizer import Optimizer
from jtorch._optimizers.states import filled, scalar
from jtorch.tensor import Tensor


def _check(lr, betas, eps, weight_decay) -> None:
    check_lr(lr)
    check(epsilon=eps)
    check_betas(betas)
    check(weight_decay=weight_decay)


class Adamax(AdamLike):
    """Adam with the infinity norm. See torch.optim.Adamax.

    Args:
        params: an iterable of parameters (Tensors of a floating or complex dtype, any shapes), of (name, parameter)
            pairs, or of dicts, each a group with its own options.
        lr (float or Tensor of one element): the learning rate.
        betas (float, float): the fractions of the gradient's running average and largest magnitude kept each step.
        eps (float): added to the gradient's magnitude, so that the denominator is not 0.
        weight_decay (float): the factor of an L2 penalty: this times the parameter is added to the gradient.
        foreach, capturable (bool or None): accepted; a step is one compiled call for all parameters in any case.
        maximize (bool): whether to maximize the objective instead of minimizing it.
        differentiable (bool): whether to record the step, so that gradients flow through it.

    Raises:
        ValueError: an option outside of its range, no parameters, or a parameter in two groups.
        TypeError: parameters that are no Tensors.

    Source: Kingma and Ba 2015, arXiv:1412.6980, section 7.1.

    Example::

        >>> w = torch.tensor([1.0], requires_grad=True)
        >>> opt = torch.optim.Adamax([w], lr=0.1)
        >>> (w * w).sum().backward()
        >>> opt.step()
        >>> w
        tensor([0.9000], requires_grad=True)

    """

    rule, second = "_adamax_step", "exp_inf"

    def __init__(self, params, lr=2e-3, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8, weight_decay: float = 0,
                 foreach: bool | None = None, *, maximize: bool = False, differentiable: bool = False, capturable: bool = False):
        _check(lr, betas, eps, weight_decay)
        super().__init__(params, dict(lr=lr, betas=betas, eps=eps, weight_decay=weight_decay, foreach=foreach, maximize=maximize,
                                      differentiable=differentiable, capturable=capturable))


class NAdam(AdamLike):
    """Adam with Nesterov momentum. See torch.optim.NAdam.

    Args:
        params: an iterable of parameters (Tensors of a floating or complex dtype, any shapes), of (name, parameter)
            pairs, or of dicts, each a group with its own options.
        lr (float or Tensor of one element): the learning rate.
        betas (float, float): the fractions of the running averages of the gradient and its square kept each step.
        eps (float): added to the denominator, so that it is not 0.
        weight_decay (float): the factor of an L2 penalty: this times the parameter is added to the gradient.
        momentum_decay (float): the rate at which the momentum grows towards ``betas[0]``.
        decoupled_weight_decay (bool): whether to decay weights as AdamW does.
        foreach, capturable (bool or None): accepted; a step is one compiled call for all parameters in any case.
        maximize (bool): whether to maximize the objective instead of minimizing it.
        differentiable (bool): whether to record the step, so that gradients flow through it.

    Raises:
        ValueError: an option outside of its range, no parameters, or a parameter in two groups.
        TypeError: parameters that are no Tensors.

    Source: Dozat 2016, Incorporating Nesterov momentum into Adam.

    Example::

        >>> w = torch.tensor([1.0], requires_grad=True)
        >>> opt = torch.optim.NAdam([w], lr=0.1)
        >>> (w * w).sum().backward()
        >>> opt.step()
        >>> w
        tensor([0.8944], requires_grad=True)

    """

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


class RAdam(AdamLike):
    """Adam with a rectified learning rate. See torch.optim.RAdam.

    Args:
        params: an iterable of parameters (Tensors of a floating or complex dtype, any shapes), of (name, parameter)
            pairs, or of dicts, each a group with its own options.
        lr (float or Tensor of one element): the learning rate.
        betas (float, float): the fractions of the running averages of the gradient and its square kept each step.
        eps (float): added to the denominator, so that it is not 0.
        weight_decay (float): the factor of an L2 penalty: this times the parameter is added to the gradient.
        decoupled_weight_decay (bool): whether to decay weights as AdamW does.
        foreach, capturable (bool or None): accepted; a step is one compiled call for all parameters in any case.
        maximize (bool): whether to maximize the objective instead of minimizing it.
        differentiable (bool): whether to record the step, so that gradients flow through it.

    Raises:
        ValueError: an option outside of its range, no parameters, or a parameter in two groups.
        TypeError: parameters that are no Tensors.

    Source: Liu et al. 2020, arXiv:1908.03265.

    Example::

        >>> w = torch.tensor([1.0], requires_grad=True)
        >>> opt = torch.optim.RAdam([w], lr=0.1)
        >>> (w * w).sum().backward()
        >>> opt.step()
        >>> w
        tensor([0.8000], requires_grad=True)

    """

    rule = "_radam_step"

    def __init__(self, params, lr=1e-3, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8, weight_decay: float = 0,
                 decoupled_weight_decay: bool = False, *, foreach: bool | None = None, maximize: bool = False,
                 capturable: bool = False, differentiable: bool = False):
        _check(lr, betas, eps, weight_decay)
        super().__init__(params, dict(lr=lr, betas=betas, eps=eps, weight_decay=weight_decay, maximize=maximize, foreach=foreach,
                                      capturable=capturable, decoupled_weight_decay=decoupled_weight_decay,
                                      differentiable=differentiable))


class SparseAdam(Optimizer):
    """Adam for sparse gradients: a dense gradient is an error. See torch.optim.SparseAdam.

    Args:
        params: an iterable of parameters (Tensors of a floating dtype, any shapes), of (name, parameter)
            pairs, or of dicts, each a group with its own options.
        lr (float or Tensor of one element): the learning rate.
        betas (float, float): the fractions of the running averages of the gradient and its square kept each step.
        eps (float): added to the denominator, so that it is not 0.
        maximize (bool): whether to maximize the objective instead of minimizing it.

    Raises:
        ValueError: an option outside of its range, no parameters, a parameter in two groups, or a sparse or complex one.
        TypeError: parameters that are no Tensors.

    Source: Kingma and Ba 2015, arXiv:1412.6980, for the rows that have a gradient.

    Example::

        >>> table = torch.nn.Embedding(3, 1, sparse=True)
        >>> opt = torch.optim.SparseAdam(table.parameters())
        >>> table(torch.tensor([1])).sum().backward()
        >>> opt.step()

    """

    sparse_step = "sparse_adam"

    def __init__(self, params, lr=1e-3, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8, maximize: bool = False):
        if isinstance(lr, Tensor) and lr.numel() != 1:      # type: ignore[attr-defined]
            raise ValueError("Tensor lr must be 1-element")
        if not lr > 0.0:
            raise ValueError(f"Invalid learning rate: {lr}")
        if not eps > 0.0:
            raise ValueError(f"Invalid epsilon value: {eps}")
        check_betas(betas)
        super().__init__(params, dict(lr=lr, betas=betas, eps=eps, maximize=maximize))
        at = [([i, k], p) for i, g in enumerate(self.param_groups) for k, p in enumerate(g["params"])]
        for kind, found, reason in (
                ("Sparse", [i for i, p in at if p.is_sparse], "requires dense parameter tensors"),
                ("Complex", [i for i, p in at if p.dtype.is_complex], "does not support complex parameters")):
            if found:
                raise ValueError(f"{kind} params at indices {found}: SparseAdam {reason}")

    def _update(self, group: dict[str, Any]) -> None:
        if with_dense_gradients(self, group):
            raise RuntimeError("SparseAdam does not support dense gradients, please consider Adam instead")
