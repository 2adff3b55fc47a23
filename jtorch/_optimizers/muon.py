"""Muon."""
from __future__ import annotations

from typing import Any

from jtorch._optimizers.multi_tensor import MultiTensorOptimizer
from jtorch._optimizers.states import filled
from jtorch.tensor import Tensor


class Muon(MultiTensorOptimizer):
    """Orthogonalized momentum for matrices of hidden layers. See torch.optim.Muon.

    Args:
        params: as in every optimizer, but matrices only (2 dims), of a floating dtype.
        lr (float or Tensor of one element): the learning rate.
        weight_decay (float): each step, the parameter loses this times ``lr`` of itself; the gradient is left alone
            (decoupled).
        momentum (float): the fraction of the previous step's change that is kept.
        nesterov (bool): whether to use Nesterov momentum.
        ns_coefficients (float, float, float): the coefficients of the Newton-Schulz iteration's polynomial.
        eps (float): the smallest norm by which a matrix is divided.
        ns_steps (int): the number of iterations, below 100.
        adjust_lr_fn (str or None): the dependence of the rate on the matrix's shape: "original" (also None) or
            "match_rms_adamw".

    Raises:
        ValueError: an option outside of its range, no parameters, or a parameter in two groups.
        TypeError: parameters that are no Tensors.

    Source: Jordan et al. 2024, Muon: an optimizer for hidden layers; Liu et al. 2025, arXiv:2502.16982.

    Example::

        >>> w = torch.eye(2, requires_grad=True)
        >>> opt = torch.optim.Muon([w], lr=0.1, weight_decay=0.0)
        >>> w.sum().backward()
        >>> opt.step()
        >>> tuple(w.shape), bool((w < torch.eye(2)).all())
        ((2, 2), True)

    """

    rule, shared, supports_complex = "_muon_step", (), False

    def __init__(self, params, lr=1e-3, weight_decay: float = 0.1, momentum: float = 0.95, nesterov: bool = True,
                 ns_coefficients: tuple[float, float, float] = (3.4445, -4.7750, 2.0315), eps: float = 1e-7, ns_steps: int = 5,
                 adjust_lr_fn: str | None = None):
        if isinstance(lr, Tensor) and lr.numel() != 1:      # type: ignore[attr-defined]
            raise ValueError("Tensor lr must be 1-element")
        for label, value in (("Learning rate", lr), ("momentum", momentum), ("weight decay", weight_decay)):
            if not value >= 0.0:
                raise ValueError(f"{label} should be >= 0 but is: {value}")
        if adjust_lr_fn not in (None, "original", "match_rms_adamw"):
            raise ValueError(f"Adjust learning rate function {adjust_lr_fn} is not supported")
        super().__init__(params, dict(lr=lr, weight_decay=weight_decay, momentum=momentum, nesterov=nesterov,
                                      ns_coefficients=ns_coefficients, eps=eps, ns_steps=ns_steps, adjust_lr_fn=adjust_lr_fn))
        for p in (p for group in self.param_groups for p in group["params"]):
            if p.ndim != 2:
                raise ValueError(f"Muon only supports 2D parameters whereas we found a parameter with size: {p.size()}")  # type: ignore[attr-defined]

    def _start(self, p: Tensor, group: dict[str, Any]) -> dict[str, Any]:
        return {"momentum_buffer": filled(p)}

    def _columns(self, group: dict[str, Any], state: dict[str, Any]) -> tuple[str, ...]:
        return ("momentum_buffer",)

    def _numbers(self, group: dict[str, Any]) -> dict[str, Any]:
        if len(group["ns_coefficients"]) != 3:
            raise ValueError("Coefficients must be a tuple of exactly 3 values")
        if group["ns_steps"] >= 100:
            raise ValueError("Number of steps must be less than 100 for computational efficiency")
        a, b, c = group["ns_coefficients"]
        return {**{k: group[k] for k in ("lr", "weight_decay", "momentum", "eps")}, "a": a, "b": b, "c": c}

    def _options(self, group: dict[str, Any]) -> dict[str, Any]:
        return {"maximize": False, "nesterov": bool(group["nesterov"]), "ns_steps": group["ns_steps"],
                "adjust": group["adjust_lr_fn"]}
