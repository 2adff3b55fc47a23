"""Adagrad, Adadelta, RMSprop, Rprop, ASGD and Adafactor."""
from __future__ import annotations

from typing import Any

from jtorch._optimizers.multi_tensor import MultiTensorOptimizer, check, check_lr, or_none
from jtorch._optimizers.states import filled, scalar
from jtorch.tensor import Tensor


def _both(p: Tensor, x: float) -> complex:
    """Return a state's first value; a complex parameter has it in both parts."""
    return complex(x, x) if p.dtype.is_complex else x


class Adagrad(MultiTensorOptimizer):
    """Adagrad: gradients divided by the root of the sum of their squares. See torch.optim.Adagrad.

    Args:
        params: an iterable of parameters (Tensors of a floating or complex dtype, any shapes), of (name, parameter)
            pairs, or of dicts, each a group with its own options.
        lr (float or Tensor of one element): the learning rate.
        lr_decay (float): the rate is divided by 1 + (step - 1) times this.
        weight_decay (float): the factor of an L2 penalty: this times the parameter is added to the gradient.
        initial_accumulator_value (float): the first value of the sums of squares.
        eps (float): added to the denominator, so that it is not 0.
        foreach (bool or None): accepted; a step is one compiled call for all parameters in any case.
        maximize (bool): whether to maximize the objective instead of minimizing it.
        differentiable (bool): whether to record the step, so that gradients flow through it.
        fused (bool or None): accepted; a step is one compiled call for all parameters in any case.

    Raises:
        ValueError: an option outside of its range, no parameters, or a parameter in two groups.
        TypeError: parameters that are no Tensors.

    Source: Duchi, Hazan and Singer 2011, Adaptive subgradient methods.

    Example::

        >>> w = torch.tensor([1.0], requires_grad=True)
        >>> opt = torch.optim.Adagrad([w], lr=0.1)
        >>> (w * w).sum().backward()
        >>> opt.step()
        >>> w
        tensor([0.9000], requires_grad=True)

    """

    rule, sparse_step = "_adagrad_step", "adagrad"

    def __init__(self, params, lr=1e-2, lr_decay: float = 0, weight_decay: float = 0, initial_accumulator_value: float = 0,
                 eps: float = 1e-10, foreach: bool | None = None, *, maximize: bool = False, differentiable: bool = False,
                 fused: bool | None = None):
        check_lr(lr)
        check(lr_decay=lr_decay, weight_decay=weight_decay, initial_accumulator_value=initial_accumulator_value, epsilon=eps)
        super().__init__(params, dict(lr=lr, lr_decay=lr_decay, eps=eps, weight_decay=weight_decay,
                                      initial_accumulator_value=initial_accumulator_value, foreach=foreach, maximize=maximize,
                                      differentiable=differentiable, fused=fused))
        if fused and differentiable:
            raise RuntimeError("`fused` does not support `differentiable`")
        if fused and foreach:
            raise RuntimeError("`fused` and `foreach` cannot be `True` together.")
        for group in self.param_groups:
            for p in group["params"]:
                self.state[p] = self._start(p, group)

    def _start(self, p: Tensor, group: dict[str, Any]) -> dict[str, Any]:
        return {"step": scalar(0.0), "sum": filled(p, _both(p, self.defaults["initial_accumulator_value"]))}

    def _columns(self, group: dict[str, Any], state: dict[str, Any]) -> tuple[str, ...]:
        return ("sum",)

    def _numbers(self, group: dict[str, Any]) -> dict[str, Any]:
        return {"lr": group["lr"], "lr_decay": group["lr_decay"], "eps": group["eps"],
                "weight_decay": or_none(group["weight_decay"])}


class Adadelta(MultiTensorOptimizer):
    """Adadelta: gradients scaled by the ratio of running averages of steps and gradients. See torch.optim.Adadelta.

    Args:
        params: an iterable of parameters (Tensors of a floating or complex dtype, any shapes), of (name, parameter)
            pairs, or of dicts, each a group with its own options.
        lr (float or Tensor of one element): a factor of the step.
        rho (float): the fraction of the running averages kept each step.
        eps (float): added to both running averages, so that their ratio is finite and not 0.
        weight_decay (float): the factor of an L2 penalty: this times the parameter is added to the gradient.
        foreach, capturable (bool or None): accepted; a step is one compiled call for all parameters in any case.
        maximize (bool): whether to maximize the objective instead of minimizing it.
        differentiable (bool): whether to record the step, so that gradients flow through it.

    Raises:
        ValueError: an option outside of its range, no parameters, or a parameter in two groups.
        TypeError: parameters that are no Tensors.

    Source: Zeiler 2012, arXiv:1212.5701.

    Example::

        >>> w = torch.tensor([1.0], requires_grad=True)
        >>> opt = torch.optim.Adadelta([w], lr=1.0)
        >>> (w * w).sum().backward()
        >>> opt.step()
        >>> w
        tensor([0.9968], requires_grad=True)

    """

    rule = "_adadelta_step"

    def __init__(self, params, lr=1.0, rho: float = 0.9, eps: float = 1e-6, weight_decay: float = 0, foreach: bool | None = None,
                 *, capturable: bool = False, maximize: bool = False, differentiable: bool = False):
        check_lr(lr)
        if not 0.0 <= rho <= 1.0:
            raise ValueError(f"Invalid rho value: {rho}")
        check(epsilon=eps, weight_decay=weight_decay)
        super().__init__(params, dict(lr=lr, rho=rho, eps=eps, weight_decay=weight_decay, maximize=maximize,
                                      capturable=capturable, foreach=foreach, differentiable=differentiable))

    def _start(self, p: Tensor, group: dict[str, Any]) -> dict[str, Any]:
        return {"step": scalar(0.0), "square_avg": filled(p), "acc_delta": filled(p)}

    def _columns(self, group: dict[str, Any], state: dict[str, Any]) -> tuple[str, ...]:
        return "square_avg", "acc_delta"

    def _numbers(self, group: dict[str, Any]) -> dict[str, Any]:
        return {"lr": group["lr"], "rho": group["rho"], "eps": group["eps"], "weight_decay": or_none(group["weight_decay"])}


class RMSprop(MultiTensorOptimizer):
    """RMSprop: gradients divided by the root of their mean square. See torch.optim.RMSprop.

    Args:
        params: an iterable of parameters (Tensors of a floating or complex dtype, any shapes), of (name, parameter)
            pairs, or of dicts, each a group with its own options.
        lr (float or Tensor of one element): the learning rate.
        alpha (float): the fraction of the mean square kept each step.
        eps (float): added to the denominator, so that it is not 0.
        weight_decay (float): the factor of an L2 penalty: this times the parameter is added to the gradient.
        momentum (float): the fraction of the previous step's change that is kept.
        centered (bool): whether to divide by an estimate of the standard deviation instead.
        foreach, capturable (bool or None): accepted; a step is one compiled call for all parameters in any case.
        maximize (bool): whether to maximize the objective instead of minimizing it.
        differentiable (bool): whether to record the step, so that gradients flow through it.

    Raises:
        ValueError: an option outside of its range, no parameters, or a parameter in two groups.
        TypeError: parameters that are no Tensors.

    Source: Hinton 2012, lecture 6e of Neural networks for machine learning; centered: Graves 2013, arXiv:1308.0850.

    Example::

        >>> w = torch.tensor([1.0], requires_grad=True)
        >>> opt = torch.optim.RMSprop([w], lr=0.05)
        >>> (w * w).sum().backward()
        >>> opt.step()
        >>> w
        tensor([0.5000], requires_grad=True)

    """

    rule = "_rmsprop_step"

    def __init__(self, params, lr=1e-2, alpha: float = 0.99, eps: float = 1e-8, weight_decay: float = 0, momentum: float = 0,
                 centered: bool = False, capturable: bool = False, foreach: bool | None = None, maximize: bool = False,
                 differentiable: bool = False):
        check_lr(lr)
        check(epsilon=eps, momentum=momentum, weight_decay=weight_decay, alpha=alpha)
        super().__init__(params, dict(lr=lr, momentum=momentum, alpha=alpha, eps=eps, centered=centered,
                                      weight_decay=weight_decay, capturable=capturable, foreach=foreach, maximize=maximize,
                                      differentiable=differentiable))

    def _start(self, p: Tensor, group: dict[str, Any]) -> dict[str, Any]:
        names = ("square_avg", *(("momentum_buffer",) if group["momentum"] > 0 else ()),
                 *(("grad_avg",) if group["centered"] else ()))
        return {"step": scalar(0.0), **{name: filled(p) for name in names}}

    def _columns(self, group: dict[str, Any], state: dict[str, Any]) -> tuple[str, ...]:
        return ("square_avg", *(("momentum_buffer",) if group["momentum"] > 0 else ()),
                *(("grad_avg",) if group["centered"] else ()))

    def _numbers(self, group: dict[str, Any]) -> dict[str, Any]:
        return {"lr": group["lr"], "alpha": group["alpha"], "eps": group["eps"], "momentum": group["momentum"],
                "weight_decay": or_none(group["weight_decay"])}

    def _options(self, group: dict[str, Any]) -> dict[str, Any]:
        return {"maximize": bool(group["maximize"]), "centered": bool(group["centered"]), "has_momentum": group["momentum"] > 0}


class Rprop(MultiTensorOptimizer):
    """Rprop: step sizes that depend only on the signs of gradients. See torch.optim.Rprop.

    Args:
        params: an iterable of parameters (Tensors of a floating or complex dtype, any shapes), of (name, parameter)
            pairs, or of dicts, each a group with its own options.
        lr (float or Tensor of one element): the first step's size.
        etas (float, float): the factors of a step's size where the gradient's sign has changed, and where it has
            not.
        step_sizes (float, float): the smallest and the largest step size.
        foreach, capturable (bool or None): accepted; a step is one compiled call for all parameters in any case.
        maximize (bool): whether to maximize the objective instead of minimizing it.
        differentiable (bool): whether to record the step, so that gradients flow through it.

    Raises:
        ValueError: an option outside of its range, no parameters, or a parameter in two groups.
        TypeError: parameters that are no Tensors.

    Source: Riedmiller and Braun 1993, A direct adaptive method for faster backpropagation learning.

    Example::

        >>> w = torch.tensor([1.0], requires_grad=True)
        >>> opt = torch.optim.Rprop([w], lr=0.1)
        >>> (w * w).sum().backward()
        >>> opt.step()
        >>> w
        tensor([0.9000], requires_grad=True)

    """

    rule = "_rprop_step"

    def __init__(self, params, lr=1e-2, etas: tuple[float, float] = (0.5, 1.2), step_sizes: tuple[float, float] = (1e-6, 50), *,
                 capturable: bool = False, foreach: bool | None = None, maximize: bool = False, differentiable: bool = False):
        check_lr(lr)
        if not 0.0 < etas[0] < 1.0 < etas[1]:
            raise ValueError(f"Invalid eta values: {etas[0]}, {etas[1]}")
        super().__init__(params, dict(lr=lr, etas=etas, step_sizes=step_sizes, foreach=foreach, maximize=maximize,
                                      differentiable=differentiable, capturable=capturable))

    def _start(self, p: Tensor, group: dict[str, Any]) -> dict[str, Any]:
        return {"step": scalar(0.0), "prev": filled(p), "step_size": filled(p, _both(p, float(group["lr"])))}

    def _columns(self, group: dict[str, Any], state: dict[str, Any]) -> tuple[str, ...]:
        return "prev", "step_size"

    def _numbers(self, group: dict[str, Any]) -> dict[str, Any]:
        (eta1, eta2), (smallest, largest) = group["etas"], group["step_sizes"]
        return {"eta1": eta1, "eta2": eta2, "smallest": smallest, "largest": largest}


class ASGD(MultiTensorOptimizer):
    """Averaged stochastic gradient descent. See torch.optim.ASGD.

    Args:
        params: an iterable of parameters (Tensors of a floating or complex dtype, any shapes), of (name, parameter)
            pairs, or of dicts, each a group with its own options.
        lr (float or Tensor of one element): the learning rate.
        lambd (float): the decay of the rate and of the weights.
        alpha (float): the power of the rate's decay.
        t0 (float): the step from which on the average is computed.
        weight_decay (float): the factor of an L2 penalty: this times the parameter is added to the gradient.
        foreach, capturable (bool or None): accepted; a step is one compiled call for all parameters in any case.
        maximize (bool): whether to maximize the objective instead of minimizing it.
        differentiable (bool): whether to record the step, so that gradients flow through it.

    Raises:
        ValueError: an option outside of its range, no parameters, or a parameter in two groups.
        TypeError: parameters that are no Tensors.

    Source: Polyak and Juditsky 1992, Acceleration of stochastic approximation by averaging.

    Example::

        >>> w = torch.tensor([1.0], requires_grad=True)
        >>> opt = torch.optim.ASGD([w], lr=0.1)
        >>> (w * w).sum().backward()
        >>> opt.step()
        >>> w
        tensor([0.8000], requires_grad=True)

    """

    rule, shared = "_asgd_step", ("step", "eta", "mu")

    def __init__(self, params, lr=1e-2, lambd: float = 1e-4, alpha: float = 0.75, t0: float = 1e6, weight_decay: float = 0,
                 foreach: bool | None = None, maximize: bool = False, differentiable: bool = False, capturable: bool = False):
        check_lr(lr)
        check(weight_decay=weight_decay)
        super().__init__(params, dict(lr=lr, lambd=lambd, alpha=alpha, t0=t0, weight_decay=weight_decay, foreach=foreach,
                                      maximize=maximize, differentiable=differentiable, capturable=capturable))

    def _start(self, p: Tensor, group: dict[str, Any]) -> dict[str, Any]:
        return {"step": scalar(0.0), "eta": scalar(float(group["lr"])), "mu": scalar(1.0), "ax": filled(p)}

    def _columns(self, group: dict[str, Any], state: dict[str, Any]) -> tuple[str, ...]:
        return ("ax",)

    def _numbers(self, group: dict[str, Any]) -> dict[str, Any]:
        return {**{k: group[k] for k in ("lr", "lambd", "alpha", "t0")}, "weight_decay": or_none(group["weight_decay"])}


def _should(name: str, relation: str, value: Any, ok: bool) -> None:
    if not ok:
        raise ValueError(f"{name} should be {relation} but is: {value}")


class Adafactor(MultiTensorOptimizer):
    """Adafactor: second moments stored as one row and one column per matrix. See torch.optim.Adafactor.

    Args:
        params: an iterable of parameters (Tensors of a floating dtype, any shapes), of (name, parameter)
            pairs, or of dicts, each a group with its own options.
        lr (float or Tensor of one element): the largest relative step.
        beta2_decay (float): the exponent of the step number in the decay of second moments.
        eps (float or None, float): the smallest root of a second moment (None: the dtype's machine epsilon), and the
            smallest scale of a parameter.
        d (float): the limit of an update's root mean square.
        weight_decay (float): each step, the parameter loses this times ``lr`` of itself; the gradient is left alone
            (decoupled).
        foreach (bool or None): accepted; a step is one compiled call for all parameters in any case.
        maximize (bool): whether to maximize the objective instead of minimizing it.

    Raises:
        ValueError: an option outside of its range, no parameters, or a parameter in two groups.
        TypeError: parameters that are no Tensors.

    Source: Shazeer and Stern 2018, arXiv:1804.04235.

    Example::

        >>> w = torch.tensor([1.0], requires_grad=True)
        >>> opt = torch.optim.Adafactor([w], lr=0.1)
        >>> (w * w).sum().backward()
        >>> opt.step()
        >>> w
        tensor([0.9000], requires_grad=True)

    """

    rule, supports_complex, uniform = "_adafactor_step", False, False

    def __init__(self, params, lr=1e-2, beta2_decay: float = -0.8, eps: tuple[float | None, float] = (None, 1e-3), d: float = 1.0,
                 weight_decay: float = 0.0, *, foreach: bool | None = None, maximize: bool = False):
        if isinstance(lr, Tensor) and lr.numel() != 1:      # type: ignore[attr-defined]
            raise ValueError("Tensor lr must be 1-element")
        _should("Learning rate", ">= 0", lr, lr >= 0.0)
        _should("beta2_decay", "<= 0", beta2_decay, beta2_decay <= 0.0)
        _should("epsilon1", ">= 0", eps[0], eps[0] is None or eps[0] >= 0.0)
        _should("epsilon2", ">= 0", eps[1], eps[1] >= 0.0)
        _should("Clipping threshold d", ">= 1", d, d >= 1.0)
        _should("weight_decay", ">= 0", weight_decay, weight_decay >= 0.0)
        super().__init__(params, dict(lr=lr, beta2_decay=beta2_decay, eps=eps, d=d, weight_decay=weight_decay, foreach=foreach,
                                      maximize=maximize))

    def _start(self, p: Tensor, group: dict[str, Any]) -> dict[str, Any]:
        shape = tuple(p.shape)
        if len(shape) < 2:
            return {"step": scalar(0.0), "variance": filled(p)}
        return {"step": scalar(0.0), "row_var": filled(p, shape=(*shape[:-1], 1)),
                "col_var": filled(p, shape=(*shape[:-2], 1, shape[-1]))}

    def _columns(self, group: dict[str, Any], state: dict[str, Any]) -> tuple[str, ...]:
        return ("row_var", "col_var") if "row_var" in state else ("variance",)

    def _numbers(self, group: dict[str, Any]) -> dict[str, Any]:
        return {"lr": group["lr"], "beta2_decay": group["beta2_decay"], "eps1": group["eps"][0], "eps2": group["eps"][1],
                "d": group["d"], "weight_decay": or_none(group["weight_decay"])}
